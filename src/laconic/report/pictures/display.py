"""What all pictures share: the axes that they are drawn on, and the object that they return."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.gridspec import GridSpecFromSubplotSpec
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What a picture is drawn on: axes, one for each panel if they are several; an empty figure; or a new figure.
Place: TypeAlias = "Axes | Sequence[Axes] | Figure | SubFigure | None"
# Axes in a figure without a layout keep at least this share of their width and height.
LEAST_SHARE = 0.25
# Free space around the words of such axes, in points.
MARGIN = 4.0


class Display:
    """A picture: the numbers that it shows, and after `plot` the axes that it was drawn on.

    Attributes
    ----------
    figure_
        The figure.
    axes_
        All axes that hold data, in an array.
    ax_
        The first of them.
    """

    figure_: Figure
    axes_: "NDArray[Any]"
    ax_: Axes

    def plot(self, ax: Place = None) -> Self:
        """Draw the picture, and return the display itself.

        Parameters
        ----------
        ax
            The axes to draw on. If there are several panels: as many axes, or one that is divided among them. An empty
            figure of matplotlib is filled, and gets the size that the picture needs. By default pyplot makes a figure.
        """
        rows, columns = self._grid()
        # A figure of its own has room for a legend of all panels.
        self._whole_figure = ax is None or isinstance(ax, Figure)
        axes = axes_for(ax, rows, columns, self._size(), self._panels(), self._heights())
        self.axes_, self.ax_ = axes, axes[0]
        # The figure of a subfigure is the one that can be saved.
        self.figure_ = axes[0].figure.figure
        given = {panel: panel.get_tightbbox() for panel in axes} if self.figure_.get_layout_engine() is None else {}
        before = set(self.figure_.axes)
        self._draw(axes)
        bars = [ax for ax in self.figure_.axes if ax not in before] if len(axes) == 1 else []
        for panel, room in given.items():
            keep_inside(panel, room, bars)
        self._annotate(axes)
        return self

    def _grid(self) -> tuple[int, int]:
        """Return the numbers of rows and columns of panels."""
        return 1, 1

    def _panels(self) -> int:
        """Return the number of panels. The last row may have fewer than the others."""
        rows, columns = self._grid()
        return rows * columns

    def _heights(self) -> list[float] | None:
        """Return the heights of the rows of panels, in proportion; None if they are equal."""
        return None

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure, in inches."""
        return 6.4, 4.4

    def _draw(self, axes: "NDArray[Any]") -> None:
        """Draw on the axes."""
        raise NotImplementedError

    def _annotate(self, axes: "NDArray[Any]") -> None:
        """Write words whose places depend on where everything else is."""


def axes_for(
    place: Place,
    rows: int,
    columns: int,
    size: tuple[float, float],
    panels: int,
    heights: list[float] | None = None,
) -> "NDArray[Any]":
    """Return the axes for the panels of a picture, in an array."""
    if place is None:
        # pyplot shows its figures by itself. It is imported only here: it may open windows.
        from matplotlib import pyplot as plt

        place = plt.figure(figsize=size, layout="constrained")
    elif isinstance(place, Figure):
        place.set_size_inches(*size)
        place.set_layout_engine("constrained")
    if isinstance(place, Figure | SubFigure):
        grid = place.add_gridspec(rows, columns, height_ratios=heights)
        return np.array([place.add_subplot(grid[i // columns, i % columns]) for i in range(panels)], dtype=object)
    if isinstance(place, Axes):
        return np.array([place] if panels == 1 else _divided(place, rows, columns, panels, heights), dtype=object)
    given = np.ravel(np.asarray(place, dtype=object))
    if not all(isinstance(ax, Axes) for ax in given):
        raise TypeError(f"ax must be axes or a figure of matplotlib, or None; a {type(place).__name__} was given.")
    if len(given) != panels:
        raise ValueError(f"ax has {len(given)} axes, and the picture has {panels} panels; give one axes for each.")
    return given


def _divided(ax: Axes, rows: int, columns: int, panels: int, heights: list[float] | None) -> list[Axes]:
    """Return axes for several panels in the place of one."""
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(
            f"ax is not part of a grid, and cannot be divided among {panels} panels; give axes of plt.subplots, or one "
            "axes for each panel."
        )
    ax.set_axis_off()
    grid = GridSpecFromSubplotSpec(rows, columns, subplot_spec=spec, height_ratios=heights)
    return [ax.figure.add_subplot(grid[i // columns, i % columns]) for i in range(panels)]


def keep_inside(ax: Axes, room: Any, bars: Sequence[Axes] = ()) -> None:
    """Shrink axes in a figure without a layout, so that their words stay where those of empty axes were.

    `room` is the box in pixels that the empty axes and their tick labels had. `bars` are the axes of colour bars on the
    right, which move along.
    """
    figure: Any = ax.figure.figure
    for _ in range(2):  # the number of ticks may change with the size
        boxes: list[Any] = [one.get_tightbbox() for one in (ax, *bars)]
        box = Bbox.union(boxes)
        place = ax.get_position()
        width, height, free = figure.bbox.width, figure.bbox.height, MARGIN * figure.dpi / 72
        page = figure.bbox
        left = max(0.0, max(room.x0 - 3 * free, page.x0 + free) - box.x0) / width
        right = max(0.0, box.x1 - min(room.x1 + free, page.x1 - free)) / width
        bottom = max(0.0, max(room.y0 - 4 * free, page.y0 + free) - box.y0) / height
        top = max(0.0, box.y1 - min(room.y1 + 4 * free, page.y1 - free)) / height
        across = max(place.width - left - right, LEAST_SHARE * place.width)
        upwards = max(place.height - bottom - top, LEAST_SHARE * place.height)
        ax.set_position((place.x0 + left, place.y0 + bottom, across, upwards))
        for bar in bars:
            own = bar.get_position()
            moved = place.x0 + left + across - place.x1
            bar.set_position((own.x0 + moved, place.y0 + bottom, own.width, upwards))
