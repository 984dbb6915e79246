"""Figures of sparse eigenvalues and their bounds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from laconic.core.arrays import Floats, Indices
from laconic.report.plot_parts import COLOURS, GREY, INK, tidy
from laconic.studies.sparse_eigenvalue_bounds import (
    APPROXIMATE,
    BOUNDS,
    FULL,
    L0,
    L1,
    PROPOSITION,
    ROWS,
    TREE,
    EigenvalueCurves,
    IsometryBounds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Marker, colour and size of each bound. Squares, stars and diamonds are the paper's markers.
MARKS = {
    PROPOSITION: ("s", COLOURS[1], 4.5),
    L0: ("*", COLOURS[2], 7.5),
    L1: ("D", COLOURS[4], 4.5),
    ROWS: ("o", COLOURS[0], 4.5),
    TREE: ("x", COLOURS[3], 5.0),
}
LABELS = {
    PROPOSITION: "Proposition 2 on greedy supports",
    L0: "ℓ0 relaxation",
    L1: "DSPCA dual (ℓ1 relaxation)",
    ROWS: "row levels and norms (ours)",
    TREE: "branch and bound (ours)",
}
# The axis of gaps is linear below this many percent and logarithmic above, so that it can show zero.
LINEAR = 0.01
# Light grey of the range that supports attain.
BAND = "#DDDDDD"


def _mark(ax: "Axes", name: str, x: Floats | Indices, values: Floats, *, line: bool = False) -> None:
    marker, colour, size = MARKS[name]
    hollow = marker in "sD"
    ax.plot(
        x,
        values,
        marker=marker,
        markersize=size,
        color=colour,
        markerfacecolor="none" if hollow else colour,
        linestyle="-" if line else "none",
        linewidth=0.9,
        label=LABELS[name],
        zorder=4,
    )


def _gaps(ax: "Axes", curves: EigenvalueCurves, names: tuple[str, ...]) -> None:
    """Draw how far bounds and greedy values are from the best value known, in percent."""
    k = curves.cardinalities
    for name in names:
        _mark(ax, name, k, np.maximum(curves.above(name), 0.0), line=True)
    for method, style, colour in ((APPROXIMATE, ":", GREY), (FULL, "--", INK)):
        ax.plot(k, np.minimum(curves.above(method), 0.0), linestyle=style, color=colour, linewidth=1.4, label=method)
    ax.axhline(0, color=INK, linewidth=1.0)
    ax.set_yscale("symlog", linthresh=LINEAR, linscale=0.4)
    ax.set_yticks([-10, -1, -0.1, 0, 0.1, 1, 10, 100])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:+g}" if y else "0"))
    ax.minorticks_off()
    ax.set_xlabel("Cardinality k")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    tidy(ax)


def _below(figure: Figure, ax: "Axes", columns: int) -> None:
    """Draw one legend for all axes, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def plot_small(exact: Mapping[str, EigenvalueCurves]) -> Figure:
    """Draw sparse eigenvalues against cardinality, and below, the distance to the exact value.

    Parameters
    ----------
    exact
        The curves by title, with exhaustive search.
    """
    figure = Figure(figsize=(7.4, 6.2), layout="constrained")
    axes = figure.subplots(2, 2)
    for (top, bottom), (name, curves) in zip(axes.T, exact.items(), strict=True):
        k = curves.cardinalities
        assert curves.exhaustive is not None
        top.plot(k, curves.exhaustive, color=INK, linewidth=1.6, label="exhaustive search")
        top.plot(k, curves.found[APPROXIMATE], color=GREY, linewidth=1.6, linestyle=":", label="approximate greedy")
        top.plot(k, curves.found[FULL], color=INK, linewidth=1.2, linestyle="--", label="full greedy")
        for bound in (*BOUNDS, TREE):
            _mark(top, bound, k, curves.upper[bound])
        top.set_title(name, fontsize="medium")
        top.set_xlabel("Cardinality k")
        top.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        tidy(top)
        _gaps(bottom, curves, (*BOUNDS, TREE))
        bottom.set_ylim(-5, 60)
    axes[0, 0].set_ylabel("Max. eigenvalue")
    axes[1, 0].set_ylabel("Distance to the truth (%)")
    _below(figure, axes[0, 0], 3)
    return figure


def plot_noise(by_noise: Mapping[float, EigenvalueCurves]) -> Figure:
    """Draw the worst bound over all k against the noise factor.

    Parameters
    ----------
    by_noise
        The curves by noise factor.
    """
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    ax = figure.add_subplot()
    factors = np.array(sorted(by_noise))
    for bound in BOUNDS:
        _mark(ax, bound, factors, np.array([max(by_noise[c].worst(bound), 0.0) for c in factors]), line=True)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=LINEAR, linscale=0.4)
    ax.set_ylim(0, 100)
    ax.set_yticks([0, 0.01, 0.1, 1, 10, 100])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ax.axvline(2, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.annotate("as printed", (2, 0.02), (-4, 0), textcoords="offset points", ha="right", color=GREY, fontsize="small")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_xlabel("Noise factor c in uu'/|u|² + c V'V")
    ax.set_ylabel("Worst bound over all k (% above the truth)")
    tidy(ax)
    _below(figure, ax, 2)
    return figure


def plot_large(large: Mapping[str, EigenvalueCurves]) -> Figure:
    """Draw the distance to the best value known.

    Parameters
    ----------
    large
        The curves by title.
    """
    figure = Figure(figsize=(9.0, 4.9), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (name, curves) in zip(axes, large.items(), strict=True):
        _gaps(ax, curves, (*BOUNDS, TREE))
        ax.set_ylim(-20, 200)
        ax.set_title(name, fontsize="medium")
    axes[0].set_ylabel("Distance to the best value known (%)")
    _below(figure, axes[0], 3)
    return figure


def plot_isometry(bounds: IsometryBounds) -> Figure:
    """Draw the bounds on the largest and smallest sparse eigenvalue, and on the isometry constant.

    Parameters
    ----------
    bounds
        The bounds, and the values that supports attain.
    """
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    k = bounds.cardinalities
    left.fill_between(k, bounds.smallest, bounds.largest, color=BAND, linewidth=0, label="attained by supports found")
    right.fill_between(k, 0, bounds.attained, color=BAND, linewidth=0)
    for bound in (*BOUNDS, TREE):
        _mark(left, bound, k, bounds.above[bound], line=True)
        marker, colour, size = MARKS[bound]
        left.plot(k, bounds.below[bound], marker=marker, markersize=size, color=colour, linewidth=0.9,
                  markerfacecolor="none" if marker in "sD" else colour)  # fmt: skip
        _mark(right, bound, k, bounds.constant(bound), line=True)
    left.set_ylabel("Sparse eigenvalues of F'F")
    right.set_ylabel(r"Isometry constant $\delta_k$")
    right.axhline(1, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    right.annotate("δ = 1", (0.01, 1), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
                   color=GREY, fontsize="small")  # fmt: skip
    top = 1.15 * float(bounds.above[L1].max())
    left.set_ylim(-0.1, top)
    right.set_ylim(0, top - 1)
    for ax in (left, right):
        ax.set_xlabel("Cardinality k")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        tidy(ax)
    _below(figure, left, 3)
    return figure
