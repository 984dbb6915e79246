"""Figures of the study of articles on China."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from laconic.core.arrays import Floats
from laconic.model.cardinality_path import CardinalityPath
from laconic.report.plot_parts import COLOURS, GREY, INK, tidy
from laconic.studies.china_tokens import TokenPath


def plot_variance(dspca: CardinalityPath, thresholded: CardinalityPath) -> Figure:
    """Draw the variance that both methods explain, the upper bound, and how much more DSPCA explains.

    Parameters
    ----------
    dspca, thresholded
        The paths of the two methods over the same cardinalities.
    """
    figure = Figure(figsize=(11.0, 4.3), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    k = dspca.cardinalities
    ours, theirs, upper = (
        100 * values / dspca.dense_variance for values in (dspca.values, thresholded.values, dspca.upper_bounds)
    )
    proved = upper - ours <= 1e-6 * ours
    if not proved.all():
        left.fill_between(k, ours, upper, color=COLOURS[1], alpha=0.35, linewidth=0, label="not ruled out")
    left.plot(k, upper, color=COLOURS[1], linewidth=4.0 if proved.all() else 1.2, linestyle="-", alpha=0.8,
              label="proved upper bound, all tokens")  # fmt: skip
    left.plot(k, ours, color=COLOURS[0], linewidth=1.2)
    for which, face, label in ((proved, COLOURS[0], "DSPCA, optimal (proved)"), (~proved, "white", "DSPCA")):
        if which.any():
            left.plot(k[which], ours[which], "o", markersize=4.5, markerfacecolor=face, markeredgecolor=COLOURS[0],
                      label=label, zorder=4)  # fmt: skip
    left.plot(k, theirs, color=COLOURS[2], linewidth=1.2, marker="s", markersize=4, markerfacecolor="white",
              label="thresholded PCA")  # fmt: skip
    left.set_ylabel("Variance explained (% of the dense component)")
    left.legend(loc="upper left", frameon=False)
    left.set_ylim(0, 1.12 * upper.max())
    right.axhline(0, color=INK, linewidth=0.8)
    right.plot(k, 100 * (ours / theirs - 1), color=COLOURS[0], linewidth=1.4, marker="o", markersize=4)
    right.set_ylabel("DSPCA over thresholded PCA (% more variance)")
    right.set_ylim(min(0.0, 110 * float((ours / theirs).min() - 1)), 110 * float((ours / theirs).max() - 1) + 1)
    for ax in (left, right):
        ax.set_xlabel("Cardinality (number of words)")
        ax.set_xlim(0, k[-1] + 1)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(ax)
    return figure


def plot_elimination(variances: Floats, path: TokenPath, penalties: Mapping[float, int]) -> Figure:
    """Draw how many tokens are left at each penalty and at each cardinality.

    Parameters
    ----------
    variances
        The variances of all tokens.
    path
        The components and the number of tokens left at each cardinality.
    penalties
        The number of tokens left by penalty. These points are marked and labelled.
    """
    figure = Figure(figsize=(11.0, 4.2), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2, sharey=True)
    total = len(variances)
    grid = np.geomspace(float(variances[variances > 0].min()), float(variances.max()), 200)
    left.plot(grid, [(variances > rho).sum() for rho in grid], color=COLOURS[0], linewidth=1.5)
    left.plot(list(penalties), list(penalties.values()), "o", color=COLOURS[0], markersize=5)
    for rho, number in penalties.items():
        left.annotate(f"{number:,}", (rho, number), (5, 3), textcoords="offset points", fontsize=8, color=INK)
    left.set_xscale("log")
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    left.set_xlabel("Penalty ρ for each word (units of variance)")
    left.set_ylabel("Tokens that may belong to a best support")
    left.set_title("Penalised form: variance above ρ", fontsize=11, fontweight="bold")
    k = np.arange(1, len(path.solutions) + 1)
    right.plot(k, path.left_by_variances, color=COLOURS[2], marker="s", markersize=4, linewidth=1.2,
               label="test on variances")  # fmt: skip
    right.plot(k, path.left_by_rows, color=COLOURS[0], marker="o", markersize=4, linewidth=1.2,
               label="and on rows of the covariance")  # fmt: skip
    right.plot(k, k, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label="the words of the component")
    right.set_xlabel("Cardinality (number of words)")
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_title("Given cardinality: best value and bound known", fontsize=11, fontweight="bold")
    for ax in (left, right):
        ax.axhline(total, color=GREY, linewidth=0.8, zorder=1)
        ax.annotate(f"all {total:,} tokens", (1, total), (0, 3), xycoords=("axes fraction", "data"),
                    textcoords="offset points", ha="right", fontsize=8, color=GREY)  # fmt: skip
        ax.set_yscale("log")
        ax.set_ylim(0.8, 3 * total)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))
        tidy(ax)
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.62), frameon=False, fontsize=9)
    return figure
