"""Rows along one component: a lane for each group."""

from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import Floats
from laconic.report.labels import text_style, wrapped
from laconic.report.plane.groups import Colouring, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The height of the cloud of rows in a lane, and of a histogram, in units of the distance between lanes.
CLOUD, HEIGHT = 0.3, 0.8
# The number of bars of a histogram.
BARS = 80


def lanes_of(scores: Floats, colouring: Colouring) -> Floats:
    """Return places for rows: the score across, and the lane of the group upwards, spread so that rows are visible."""
    lanes = np.zeros(len(scores)) if colouring.codes is None else -_lane_numbers(colouring)
    # The places within a lane have no meaning. They only keep equal scores apart.
    spread = CLOUD * np.cos(np.arange(len(scores)) * np.pi * (np.sqrt(5) - 1)) if len(scores) > 1 else 0.0
    return np.column_stack([scores, lanes + spread])


def draw_histograms(ax: "Axes", scores: Floats, colouring: Colouring) -> None:
    """Draw a histogram of the rows of each group, in its lane. The tallest bar of each has the same height."""
    edges = np.linspace(scores.min(), scores.max(), BARS + 1) if np.ptp(scores) else scores[0] + np.array([-0.5, 0.5])
    lanes = np.zeros(len(scores)) if colouring.codes is None else _lane_numbers(colouring)
    for lane in np.unique(lanes):
        rows = scores[lanes == lane]
        counts = np.histogram(rows, bins=edges)[0]
        code = 0 if colouring.codes is None else int(colouring.codes[lanes == lane][0])
        base = -lane - HEIGHT / 2
        ax.stairs(base + HEIGHT * counts / counts.max(), edges, baseline=base, fill=True, color=look(code)[2], zorder=2)


def name_lanes(ax: "Axes", colouring: Colouring) -> None:
    """Write the names of the groups beside their lanes, with their numbers of rows."""
    labels = [wrapped(handle.get_label(), 24) for handle in colouring.handles()]
    ax.set_yticks(-np.arange(len(labels), dtype=np.float64), labels, **text_style(labels))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-max(1, len(labels)) + 0.4, 0.6)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    if colouring.title:
        ax.set_ylabel(wrapped(colouring.title, 30), **text_style([colouring.title]))


def _lane_numbers(colouring: Colouring) -> Floats:
    """Return the number of the lane of each row: the groups that have rows, in the order of the legend."""
    assert colouring.codes is not None
    codes = np.unique(colouring.codes)
    order = [*codes[codes >= 0], *codes[codes < 0]]
    lane_of = {code: lane for lane, code in enumerate(order)}
    return np.array([lane_of[code] for code in colouring.codes], dtype=np.float64)
