"""Colours, marker shapes, legends and the look of axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from laconic.report.labels import text_style, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# Paul Tol's high-contrast scheme. Colour-blind people can tell these colours apart, and so can everybody in grey print.
COLOURS = ("#004488", "#DDAA33", "#BB5566", "#000000", "#66AADD", "#999999")
INK, GREY, PALE = "#222222", "#777777", "#BBBBBB"
# The factor of each shape makes their areas equal, so that the same size means the same number in every group.
MARKERS = (("o", 1.0), ("D", 0.72), ("s", 0.88), ("^", 1.15), ("v", 1.15), ("P", 1.0), ("X", 1.0))
# The number of characters on a line of a legend, and the number of entries in one of its columns.
LEGEND_WIDTH, LEGEND_ROWS = 26, 18


def ramp(name: str, begin: float, end: float) -> LinearSegmentedColormap:
    """Return a part of a colour map whose lightness changes in one direction, so that it is readable in grey.

    The part leaves out what is too light to be seen on white.
    """
    return LinearSegmentedColormap.from_list(f"{name}-part", colormaps[name](np.linspace(begin, end, 256)))


# Few rows are light, and many are dark.
DENSITY = ramp("Blues", 0.28, 1.0)
NUMBERS = ramp("viridis", 0.0, 0.93)


def add_legend(parent: "Axes | Figure", handles: Sequence[Any], *, columns: int, **place: Any) -> "Legend":
    """Add a legend without a frame. A "$" in a name is shown as it is, and does not start a formula."""
    legend = parent.legend(
        handles=list(handles), ncols=max(1, min(columns, len(handles))), frameon=False, handletextpad=0.4, **place
    )
    style = text_style(text.get_text() for text in legend.get_texts())
    for text in [*legend.get_texts(), legend.get_title()]:
        text.update(style)
    return legend


def legend_beside(ax: "Axes", handles: Sequence[Any], title: str = "", away: float = 8.0) -> "Legend":
    """Add a legend on the right of the axes, where it covers nothing, so many points away from them."""
    for handle in handles:
        handle.set_label(wrapped(handle.get_label(), LEGEND_WIDTH))
    beside = ax.transAxes + ScaledTranslation(away / 72, 0, ax.figure.dpi_scale_trans)
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "bbox_transform": beside, "borderaxespad": 0.0}
    legend = add_legend(
        ax,
        handles,
        columns=-(-len(handles) // LEGEND_ROWS),
        labelspacing=0.6,
        columnspacing=1.0,
        fontsize="small",
        **place,
    )
    if title:
        legend.set_title(wrapped(title, LEGEND_WIDTH))
        legend.get_title().update({"fontsize": "small", **text_style([title])})
        legend.set_alignment("left")
    return legend


def legend_above(ax: "Axes", handles: Sequence[Any]) -> "Legend":
    """Add a legend of few entries above the axes, where a colour bar stands on their right."""
    return add_legend(ax, handles, columns=2, loc="lower left", bbox_to_anchor=(0.0, 1.01), borderaxespad=0.0,
                      fontsize="small")  # fmt: skip


def marker_handle(marker: str, colour: str, size: float, label: str, **look: Any) -> Line2D:
    """Return a marker for a legend."""
    look = {"markeredgecolor": "white", **look}
    return Line2D([], [], linestyle="none", marker=marker, markersize=size, color=colour, label=label, **look)


def lay_out(ax: "Axes") -> None:
    """Move the axes of a figure to the places that its layout gives them. Before that, places in pixels are unknown."""
    figure: Any = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def tidy(ax: "Axes") -> None:
    """Remove the upper and right border, and draw a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#EEEEEE", linewidth=0.7)
    ax.set_axisbelow(True)


def tidy_bars(ax: "Axes") -> None:
    """Make axes of horizontal bars tidy: no grid across the bars, and no line or tick beside their names."""
    tidy(ax)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
