"""Figures of support recovery."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from laconic.report.plot_parts import COLOURS, GREY, INK, tidy
from laconic.studies.support_recovery import (
    APPROXIMATE,
    DIAGONAL,
    DSPCA,
    FULL,
    METHODS,
    POWER,
    THRESHOLDING,
    Roc,
    Transition,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colour, line and marker of each method.
LOOKS = {
    THRESHOLDING: (GREY, "-", "o"),
    APPROXIMATE: (COLOURS[4], ":", "v"),
    FULL: (COLOURS[0], "--", "^"),
    POWER: (COLOURS[1], "-.", "s"),
    DSPCA: (COLOURS[2], "-", "D"),
}
# Colour and marker of each n.
SIZES = ((COLOURS[4], "o"), (COLOURS[0], "s"), (COLOURS[2], "D"))


def plot_roc(curves: Mapping[str, Mapping[str, Sequence[Roc]]], m: int) -> Figure:
    """Draw the mean ROC curve of each method, one panel for each model.

    Parameters
    ----------
    curves
        The ROC curves by model and method.
    m
        The number of samples.
    """
    figure = Figure(figsize=(8.6, 4.9), layout="constrained")
    grid = np.linspace(0, 1, 201)
    axes = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for ax, (model, drawn) in zip(axes, curves.items(), strict=True):
        ax.plot([1, 0], [0, 1], color="#CCCCCC", linewidth=1.0, zorder=1)
        for method in METHODS:
            colour, line, _ = LOOKS[method]
            mean = np.mean([roc.at(grid) for roc in drawn[method]], axis=0)
            ax.plot(1 - grid, mean, color=colour, linestyle=line, linewidth=1.7, label=method)
        ax.set_xlim(1.02, -0.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_aspect("equal")
        ax.set_xlabel("Specificity")
        ax.set_title(f"{model}; m = {m}", fontsize="medium")
        tidy(ax)
    axes[0].set_ylabel("Sensitivity")
    _below(figure, axes[0], len(METHODS))
    return figure


def plot_areas(curves: Mapping[str, Mapping[int, Mapping[str, Sequence[Roc]]]], limits: Mapping[str, float]) -> Figure:
    """Draw the area under ROC against m with standard errors, one panel for each model.

    Parameters
    ----------
    curves
        The ROC curves by model, m and method.
    limits
        The m above which the leading eigenvector is correlated with u, by model.
    """
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    lowest = 1.0
    axes = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for ax, (model, by_m) in zip(axes, curves.items(), strict=True):
        m = np.array(list(by_m), dtype=float)
        ax.axhline(0.5, color="#CCCCCC", linewidth=1.0, zorder=1)
        if limits[model] <= m.max():
            ax.axvline(limits[model], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        for place, method in enumerate(METHODS):
            areas = [np.array([roc.area for roc in drawn[method]]) for drawn in by_m.values()]
            errors = [a.std(ddof=1) / math.sqrt(len(a)) for a in areas]
            lowest = min(lowest, *(float(a.mean()) - e for a, e in zip(areas, errors, strict=True)))
            colour, line, marker = LOOKS[method]
            # A small shift for each method, so that error bars do not cover each other.
            shift = 1 + 0.035 * (place - (len(METHODS) - 1) / 2)
            ax.errorbar(m * shift, [a.mean() for a in areas], yerr=errors, color=colour, linestyle=line, linewidth=1.3,
                        marker=marker, markersize=4, elinewidth=0.9, capsize=2, label=method)  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(m)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.tick_params(axis="x", labelsize="small")
        ax.set_xlabel("Number of samples m")
        ax.set_title(model, fontsize="medium")
        ax.set_ylim(min(0.4, lowest), 1.02)
        tidy(ax)
    axes[0].set_ylabel("Area under ROC")
    _below(figure, axes[0], len(METHODS))
    return figure


def plot_transitions(transitions: Sequence[Transition], repetitions: int) -> Figure:
    """Draw the share of successes against both ratios, one row of panels for each method.

    Parameters
    ----------
    transitions
        The shares of successes, one object for each n.
    repetitions
        The number of runs for each point.
    """
    figure = Figure(figsize=(8.8, 6.6), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True)
    for row, method in zip(axes, (DIAGONAL, DSPCA), strict=True):
        for ax, ratio in zip(row, ("thres", "sdp"), strict=True):
            for t, (colour, marker) in zip(transitions, SIZES, strict=False):
                theta = t.theta_thres if ratio == "thres" else t.theta_sdp
                rate = t.success[method]
                error = np.sqrt(rate * (1 - rate) / repetitions)
                ax.errorbar(theta, rate, yerr=error, color=colour, marker=marker, markersize=4, linewidth=1.3,
                            elinewidth=0.8, capsize=2, label=f"n = {t.n_features}, k = {t.cardinality}")  # fmt: skip
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            ax.set_ylim(-0.04, 1.06)
            name, formula = ("thres", "m / (k² log(n − k))") if ratio == "thres" else ("sdp", "m / (k log(n − k))")
            ax.set_xlabel(rf"$\theta_{{\mathrm{{{name}}}}}$ = {formula}")
            tidy(ax)
        row[0].set_ylabel(f"{method[0].upper()}{method[1:]}:\nshare of exact recoveries")
        own = row[0] if method == DIAGONAL else row[1]
        own.set_title("against its own ratio", fontsize="small", color=INK)
    _below(figure, axes[0, 0], len(transitions))
    return figure


def _below(figure: Figure, ax: "Axes", columns: int) -> None:
    """Draw one legend for all axes, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")
