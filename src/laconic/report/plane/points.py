"""Rows in a plane: as markers, or as cells if there are very many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.lines import Line2D

from laconic.core.arrays import Floats
from laconic.report.labels import text_style, wrapped
from laconic.report.plane.annotation import annotate
from laconic.report.plane.density import MOST_MARKERS, draw_density, farthest
from laconic.report.plane.groups import NO_VALUE, Colouring, look
from laconic.report.plane.spots import Spot, draw_spots, find_spots, number_range
from laconic.report.plane.words import Words
from laconic.report.style import NUMBERS, PALE, marker_handle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# At most this many places of a picture get the name of their row.
MOST_LABELS = 14


@dataclass(frozen=True, eq=False)
class Points:
    """Rows that were drawn."""

    scores: Floats
    spots: list[Spot]  # the markers; if cells were drawn, some rows that stand apart
    cells: Floats  # the cells that hold rows, if cells were drawn: left, bottom, right, top
    handles: list[Line2D]  # for a legend
    scale: Any = None  # for a colour bar
    scale_label: str = ""

    def add_colour_bar(self, ax: "Axes") -> Any:
        """Draw the colour bar, if there is one."""
        if self.scale is None:
            return None
        root: Any = ax.figure
        bar = root.colorbar(self.scale, ax=ax, fraction=0.05, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(wrapped(self.scale_label, 40), **text_style([self.scale_label]))
        return bar

    def annotate(
        self, words: Words, labels: Sequence[str] | None, taken: Floats | None = None, most: int = MOST_LABELS
    ) -> None:
        """Write numbers into markers, and names beside rows that stand apart, without covering anything."""
        boxes = np.vstack([np.empty((0, 4)) if taken is None else taken, self.cells_in_pixels(words)])
        annotate(words, self.scores, self.spots, labels, most, boxes)

    def cells_in_pixels(self, words: Words) -> Floats:
        """Return the boxes of the cells in pixels."""
        if not len(self.cells):
            return self.cells
        corners = words.ax.transData.transform(self.cells.reshape(-1, 2)).reshape(-1, 4)
        return np.hstack([np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])])


def draw_points(ax: "Axes", scores: Floats, colouring: Colouring, *, row_noun: str = "row") -> Points:
    """Draw rows, given by two coordinates each."""
    handles = colouring.handles()
    if len(scores) > MOST_MARKERS:
        scale, label, cells = draw_density(ax, scores, colouring)
        for handle in handles:
            handle.set_marker("s")
        return Points(scores, farthest(scores, 3 * MOST_LABELS), cells, handles, scale, label)
    spots = find_spots(scores, colouring) if len(scores) else []
    if spots:
        draw_spots(ax, spots)
    if any(len(spot.members) > 1 for spot in spots):
        handles.append(marker_handle("o", PALE, 13.0, f"number of {row_noun}s at one place"))
    scale = None
    if colouring.numbers is not None:
        scale = ScalarMappable(number_range(colouring), NUMBERS)
        missing = int(np.isnan(colouring.numbers).sum())
        if missing:
            handles.append(marker_handle("o", look(NO_VALUE)[2], 6.0, f"no value ({missing})"))
    return Points(scores, spots, np.empty((0, 4)), handles, scale, colouring.title or "color_by")
