"""Write numbers into markers, and names beside the rows that stand apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgb

from laconic.core.arrays import Floats
from laconic.report.plane.spots import Spot
from laconic.report.plane.words import Words, touches
from laconic.report.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The weights of red, green and blue in the lightness of a colour.
LIGHTNESS = (0.2126, 0.7152, 0.0722)


def annotate(
    words: Words, scores: Floats, spots: list[Spot], labels: Sequence[str] | None, max_labels: int, taken: Floats
) -> None:
    """Write numbers into markers and names beside them. They cover neither markers nor each other.

    Numbers and names that do not fit are left out. At most `max_labels` places get a name. `taken` are boxes in pixels
    that no name may cover, besides the markers.
    """
    if not spots:
        return
    centres = words.ax.transData.transform([(spot.x, spot.y) for spot in spots])
    centres += np.array([spot.shift for spot in spots]) * words.point
    halves = np.array([spot.width / 2 for spot in spots])[:, None] * words.point
    markers = np.hstack([centres - halves, centres + halves])
    _write_numbers(words.ax, spots, markers, words.point)
    for sharing in [] if labels is None else standing_apart(scores, spots, max_labels):
        assert labels is not None
        name = ", ".join(str(labels[row]) for spot in sharing for row in spot.members)
        mine = np.array([spot in sharing for spot in spots])
        place = np.array([sharing[0].x, sharing[0].y])
        words.write(name, place, markers[mine], np.vstack([markers[~mine], taken]))


def standing_apart(scores: Floats, spots: list[Spot], most: int) -> list[list[Spot]]:
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
        if touches(np.concatenate([middle - room, middle + room]), np.delete(markers, i, axis=0), 0.0):
            continue
        dark = float(np.dot(to_rgb(spot.colour), LIGHTNESS)) < 0.5
        ax.annotate(str(len(spot.members)), (spot.x, spot.y), (spot.shift[0], spot.shift[1] - 0.3),
                    textcoords="offset points", ha="center", va="center_baseline", fontsize=size,
                    color="white" if dark else INK, zorder=5).set_in_layout(False)  # fmt: skip
