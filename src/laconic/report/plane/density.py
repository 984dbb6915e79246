"""Very many rows in a plane: how many there are in each cell of a grid, or what most of them are."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize, to_rgb

from laconic.core.arrays import Floats, Indices
from laconic.report.plane.groups import NO_VALUE, OTHERS, Colouring, look
from laconic.report.plane.spots import Spot, number_range
from laconic.report.style import DENSITY, NUMBERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Above this many rows a picture shows cells in place of markers. Markers would cover each other, and a file of them
# would be large.
MOST_MARKERS = 10_000
# The number of cells along each axis.
CELLS = 90
# The opacity of a cell with one row. That of the fullest cell is one.
FAINTEST = 0.35


def draw_density(ax: "Axes", scores: Floats, colouring: Colouring) -> tuple[Any, str, Floats]:
    """Draw cells; return the image if it has a colour bar, the label of that, and the cells that hold rows.

    Without colours, the darkness of a cell is its number of rows, on a logarithmic scale. Numbers are averaged over
    each cell. A cell has the colour of the group that most of its rows belong to, and is fainter where rows are few.
    """
    edges = [_edges(scores[:, axis]) for axis in (0, 1)]
    counts = _per_cell(scores, edges)
    norm: Normalize
    if colouring.codes is not None:
        image = ax.pcolormesh(*edges, _majority(scores, colouring.codes, counts, edges), rasterized=True, zorder=2)
        shown, label = None, ""
    elif colouring.numbers is not None:
        there = np.isfinite(colouring.numbers)
        rows, numbers = scores[there], colouring.numbers[there]
        sums, counts_there = _per_cell(rows, edges, numbers), _per_cell(rows, edges)
        means = np.ma.masked_where(counts_there == 0, sums / np.maximum(counts_there, 1))
        norm = number_range(colouring)
        image = ax.pcolormesh(*edges, means.T, cmap=NUMBERS, norm=norm, rasterized=True, zorder=2)
        shown, label = image, f"mean of {colouring.title or 'color_by'}"
    else:
        norm = LogNorm(1, max(2.0, float(counts.max())))
        masked = np.ma.masked_where(counts == 0, counts)
        image = ax.pcolormesh(*edges, masked.T, cmap=DENSITY, norm=norm, rasterized=True, zorder=2)
        shown, label = image, "rows in a cell"
    ax.margins(0.04)
    x, y = np.nonzero(counts)
    cells = np.column_stack([edges[0][x], edges[1][y], edges[0][x + 1], edges[1][y + 1]])
    return shown, label, cells


def farthest(scores: Floats, count: int) -> list[Spot]:
    """Return markers, which are not drawn, for the rows farthest from the medians, in units of the spread."""
    away = scores - np.median(scores, axis=0)
    spread = np.sqrt((away**2).mean(axis=0))
    distance = np.linalg.norm(away / np.where(spread > 0, spread, 1.0), axis=1)
    rows: Indices = np.argsort(-distance, kind="stable")[:count]
    return [
        Spot(place, float(scores[row, 0]), float(scores[row, 1]), 0, np.array([row]), look(0)[2], 4.0)
        for place, row in enumerate(rows)
    ]


def _per_cell(places: Floats, edges: list[Floats], weights: Floats | None = None) -> Floats:
    """Return the number of places in each cell, or the sum of their weights."""
    return np.asarray(np.histogram2d(places[:, 0], places[:, 1], bins=(edges[0], edges[1]), weights=weights)[0])


def _edges(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, CELLS + 1)


def _majority(scores: Floats, codes: Indices, counts: Floats, edges: list[Floats]) -> Floats:
    """Return the colour of each cell, with its opacity; the first axis is the vertical one."""
    most, colours = np.zeros_like(counts), np.zeros((*counts.shape, 4))
    for code in [OTHERS, NO_VALUE, *range(int(codes.max()) + 1)]:
        rows = scores[codes == code]
        if len(rows):
            own = _per_cell(rows, edges)
            wins = own > most
            colours[wins, :3] = to_rgb(look(code)[2])
            most = np.maximum(most, own)
    fullest = np.log(max(2.0, float(counts.max())))
    colours[..., 3] = np.where(counts > 0, FAINTEST + (1 - FAINTEST) * np.log(np.maximum(counts, 1)) / fullest, 0.0)
    return np.swapaxes(colours, 0, 1)
