"""Colours, marker shapes and the look of axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Paul Tol's high-contrast scheme. Colour-blind people can tell these colours apart, and so can everybody in grey print.
COLOURS = ("#004488", "#DDAA33", "#BB5566", "#000000", "#66AADD", "#999999")
# Colours on which white text can be read.
DARK = COLOURS[0], COLOURS[2], COLOURS[3]
INK, GREY, PALE = "#222222", "#777777", "#BBBBBB"
# The factor of each shape makes their areas equal, so that the same size means the same number in every group.
MARKERS = (("o", 1.0), ("D", 0.72), ("s", 0.88), ("^", 1.15), ("v", 1.15), ("P", 1.0), ("X", 1.0))


def legend_handles(groups: Sequence[str]) -> list[Line2D]:
    """Return a marker for each group with its name and its number of rows, in alphabetical order."""
    names, numbers = np.unique(np.asarray(groups, dtype=str), return_counts=True)
    return [
        marker_handle(MARKERS[i % len(MARKERS)][0], COLOURS[i % len(COLOURS)], 7.0, f"{clipped(name, 30)} ({number})")
        for i, (name, number) in enumerate(zip(names, numbers, strict=True))
    ]


def add_legend(parent: "Axes | Figure", handles: list[Line2D], *, columns: int, **place: Any) -> None:
    """Add a legend without a frame. A "$" in a name is shown as it is, and does not start a formula."""
    legend = parent.legend(handles=handles, ncols=min(columns, len(handles)), frameon=False, handletextpad=0.4, **place)
    for text in legend.get_texts():
        text.set_parse_math(False)


def marker_handle(marker: str, colour: str, size: float, label: str) -> Line2D:
    """Return a marker for a legend."""
    return Line2D(
        [], [], linestyle="none", marker=marker, markersize=size, color=colour, markeredgecolor="white", label=label
    )


def tidy(ax: "Axes") -> None:
    """Remove the upper and right border, and draw a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#EEEEEE", linewidth=0.7)
    ax.set_axisbelow(True)


def clipped(text: str, most: int) -> str:
    """Return a text on one line, cut to a length."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."
