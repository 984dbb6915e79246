"""Write numbers into markers and names beside them, where there is room."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.report.plane.spots import Spot
from laconic.report.style import COLOURS, DARK, GREY, INK, clipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Directions from a marker to its name, in the order in which they are tried: beside, above or below, at the corners.
WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 0.6), (1, -0.6), (-1, 0.6), (-1, -0.6), (0.5, 1), (-0.5, 1), (0.5, -1),
         (-0.5, -1))  # fmt: skip


def annotate(ax: "Axes", scores: Floats, spots: list[Spot], labels: Sequence[str] | None, max_labels: int) -> None:
    """Write numbers into markers and names beside them. They cover neither markers nor each other.

    A name far from its marker is joined to it by a line. A name without a line keeps a larger distance from other
    markers. Numbers and names that do not fit are left out. At most `max_labels` places get a name.
    """
    root: Any = ax.figure.figure
    # The layout moves the axes; places in pixels are known only after it.
    root.draw_without_rendering()
    point = root.dpi / 72
    centres = ax.transData.transform([(spot.x, spot.y) for spot in spots])
    centres += np.array([spot.shift for spot in spots]) * point
    halves = np.array([spot.width / 2 for spot in spots])[:, None] * point
    markers = np.hstack([centres - halves, centres + halves])
    _write_numbers(ax, spots, markers, point)
    if labels is not None:
        _write_names(ax, spots, markers, point, _standing_apart(scores, spots, max_labels), labels)


def _standing_apart(scores: Floats, spots: list[Spot], most: int) -> list[list[Spot]]:
    """Return the places to name: small groups first, then the places farthest from the median of their group.

    Distances are divided by the spread of the rows around the medians of their groups. A marker for more than three
    rows gets no names. Rows of different groups at the same place are named together.
    """
    away = np.zeros_like(scores)
    for group in {spot.group for spot in spots}:
        rows = np.concatenate([spot.members for spot in spots if spot.group == group])
        away[rows] = scores[rows] - np.median(scores[rows], axis=0)
    spread = np.sqrt((away**2).mean(axis=0))
    distance = np.linalg.norm(away / np.where(spread > 0, spread, 1.0), axis=1)
    few = [spot for spot in spots if len(spot.members) <= 3]
    small = {g for g in {s.group for s in spots} if sum(len(s.members) for s in spots if s.group == g) <= 2}
    few.sort(key=lambda spot: (spot.group not in small, -distance[spot.members[0]]))
    places: dict[int, list[Spot]] = {}
    for spot in few:
        if len(places) < most or spot.place in places:
            places.setdefault(spot.place, []).append(spot)
    return list(places.values())


def _write_numbers(ax: "Axes", spots: list[Spot], markers: Floats, point: float) -> None:
    for i, spot in enumerate(spots):
        if len(spot.members) == 1:
            continue
        size = 8 if spot.width > 11 else 7
        # Leave half a digit free on each side, because the marker may be round.
        if spot.width < 0.6 * size * (len(str(len(spot.members))) + 1):
            continue
        middle = (markers[i, :2] + markers[i, 2:]) / 2
        room = np.array([0.6 * size * len(str(len(spot.members))), size]) * point / 2
        if _touches(np.concatenate([middle - room, middle + room]), np.delete(markers, i, axis=0), 0.0):
            continue
        dark = COLOURS[spot.group % len(COLOURS)] in DARK
        ax.annotate(str(len(spot.members)), (spot.x, spot.y), (spot.shift[0], spot.shift[1] - 0.3),
                    textcoords="offset points", ha="center", va="center_baseline", fontsize=size,
                    color="white" if dark else INK, zorder=5).set_in_layout(False)  # fmt: skip


def _write_names(
    ax: "Axes", spots: list[Spot], markers: Floats, point: float, chosen: list[list[Spot]], labels: Sequence[str]
) -> None:
    texts = np.empty((0, 4))
    window = ax.get_window_extent()
    frame = np.array([window.x0, window.y0, window.x1, window.y1])
    for sharing in chosen:
        name = ", ".join(clipped(str(labels[row]), 30) for spot in sharing for row in spot.members)
        anchor = ax.transData.transform((sharing[0].x, sharing[0].y))
        text = ax.annotate(name, (sharing[0].x, sharing[0].y), (0, 0), textcoords="offset points", ha="center",
                           va="center", fontsize=8, color=INK, zorder=6, parse_math=False)  # fmt: skip
        text.set_in_layout(False)
        extent = text.get_window_extent()
        mine = np.array([spot in sharing for spot in spots])
        size = np.array([extent.width, extent.height]) + point
        found = _free_place(markers[mine], size, markers[~mine], texts, frame, point)
        if found is None:
            text.remove()
            continue
        centre, edge = found
        text.set_position(tuple((centre - anchor) / point))
        texts = np.vstack([texts, [*(centre - size / 2), *(centre + size / 2)]])
        if edge is not None:
            line = ax.transData.inverted().transform([edge, np.clip(edge, texts[-1, :2], texts[-1, 2:])])
            ax.plot(*line.T, color=GREY, linewidth=0.6, zorder=2, scalex=False, scaley=False)


def _free_place(
    own: Floats, size: Floats, others: Floats, texts: Floats, frame: Floats, point: float
) -> tuple[Floats, Floats | None] | None:
    """Return the centre of the nearest free place for a text, and the start of the line to it if it needs one.

    A box is a row of four numbers in pixels: left, bottom, right, top.
    """
    low, high = own[:, :2].min(axis=0), own[:, 2:].max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    for gap, line in ((1.5, False), (4.0, False), (12.0, True), (20.0, True), (30.0, True), (42.0, True)):
        for way in np.array(WAYS, dtype=np.float64):
            centre = middle + (half + size / 2 + gap * point) * way
            box = np.concatenate([centre - size / 2, centre + size / 2])
            if (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any() or _touches(box, texts, 1.0 * point):
                continue
            if _touches(box, others, (2.0 if line else gap + 2.0) * point):
                continue
            if not line:
                return centre, None
            end = np.clip(middle, box[:2], box[2:])
            start = np.clip(end, low, high)
            if not any(_touches(np.tile(start + t * (end - start), 2), np.vstack([others, texts]), 0.5 * point)
                       for t in np.linspace(0, 1, 12)):  # fmt: skip
                return centre, start
    return None


def _touches(box: Floats, boxes: Floats, margin: float) -> bool:
    apart = (box[:2] >= boxes[:, 2:] + margin) | (box[2:] <= boxes[:, :2] - margin)
    return not bool(apart.any(axis=1).all())
