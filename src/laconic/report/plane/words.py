"""Words in axes that cover neither each other nor what must stay visible."""

from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.report.labels import text_style, wrapped
from laconic.report.style import GREY, INK, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Directions from a place to its name, in the order in which they are tried: beside, above or below, at the corners.
WAYS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 0.6), (1, -0.6), (-1, 0.6), (-1, -0.6), (0.5, 1), (-0.5, 1),
                 (0.5, -1), (-0.5, -1)])  # fmt: skip
# Distances from a place to its name in points, and whether a line then joins the two.
DISTANCES = ((2.5, False), (4.0, False), (12.0, True), (20.0, True), (30.0, True), (42.0, True), (58.0, True))
# The number of characters on a line of a name.
WIDTH = 24


class Words:
    """The boxes in axes that words must not cover, in pixels: left, bottom, right, top in each row."""

    def __init__(self, ax: "Axes") -> None:
        self.ax = ax
        root: Any = ax.figure.figure
        lay_out(ax)
        self.point = root.dpi / 72
        window = ax.get_window_extent()
        self._frame = np.array([window.x0, window.y0, window.x1, window.y1])
        self._texts = np.empty((0, 4))

    def boxes_at(self, places: Floats, width: float) -> Floats:
        """Return boxes of a width in points around places in the units of the data."""
        centres = self.ax.transData.transform(np.reshape(places, (-1, 2)))
        return np.hstack([centres - width / 2 * self.point, centres + width / 2 * self.point])

    def write(self, name: str, place: Floats, own: Floats, others: Floats, **look: Any) -> bool:
        """Write a name near a place, given in the units of the data; return False if there is no room.

        A name on several lines is written as it is.

        `own` are the boxes of what is named, and `others` those that the name must not cover. A name far away is joined
        to its place by a line. A name without a line keeps a larger distance from others.
        """
        lines = name if "\n" in name else wrapped(name, WIDTH)
        look = {"fontsize": 8, "color": INK, "zorder": 6, **text_style([lines]), **look}
        text = self.ax.annotate(
            lines, tuple(place), (0, 0), textcoords="offset points", ha="center", va="center", **look
        )
        text.set_in_layout(False)
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height]) + self.point
        found = self._free_place(own, size, others)
        if found is None:
            text.remove()
            return False
        centre, edge = found
        text.set_position(tuple((centre - self.ax.transData.transform(place)) / self.point))
        self._texts = np.vstack([self._texts, [*(centre - size / 2), *(centre + size / 2)]])
        if edge is not None:
            end = np.clip(edge, self._texts[-1, :2], self._texts[-1, 2:])
            line = self.ax.transData.inverted().transform([edge, end])
            self.ax.plot(*line.T, color=GREY, linewidth=0.6, zorder=2.5, scalex=False, scaley=False)
        return True

    def _free_place(self, own: Floats, size: Floats, others: Floats) -> tuple[Floats, Floats | None] | None:
        """Return the centre of the nearest free place for a text, and the start of the line to it if it needs one."""
        low, high = own[:, :2].min(axis=0), own[:, 2:].max(axis=0)
        middle, half = (low + high) / 2, (high - low) / 2
        point = self.point
        frame = self._frame + np.array([2, 2, -2, -2]) * point
        for gap, line in DISTANCES:
            for way in WAYS:
                centre = middle + (half + size / 2 + gap * point) * way
                box = np.concatenate([centre - size / 2, centre + size / 2])
                if (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any() or touches(box, self._texts, point):
                    continue
                if touches(box, others, (2.0 if line else gap + 2.0) * point):
                    continue
                if not line:
                    return centre, None
                end = np.clip(middle, box[:2], box[2:])
                start = np.clip(end, low, high)
                taken = np.vstack([others, self._texts])
                way_points = (start + t * (end - start) for t in np.linspace(0, 1, 12))
                if not any(touches(np.tile(p, 2), taken, 0.5 * point) for p in way_points):
                    return centre, start
        return None


def touches(box: Floats, boxes: Floats, margin: float) -> bool:
    """Say whether a box is nearer than a margin to any of some boxes."""
    apart = (box[:2] >= boxes[:, 2:] + margin) | (box[2:] <= boxes[:, :2] - margin)
    return not bool(apart.any(axis=1).all())
