"""Figures of the study of newsgroups."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import Floats
from laconic.datasets.tables import Strings
from laconic.report.plot_parts import COLOURS, INK, PALE, add_legend, marker_handle, tidy
from laconic.report.plot_results import draw_curve
from laconic.studies.news_components import RULE, PenaltyRun, RuleRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDINALS = ("1st", "2nd", "3rd")
# Draw one posting in 8. More points would cover each other.
THIN = 8
# Lower end of the axis of the variance explained, in percent. Even a single word explains more.
LOWEST = 45


def plot_cumulative_variance(cumulative: Floats) -> Figure:
    """Draw the cumulative share of the variance against the number of dense components.

    Parameters
    ----------
    cumulative
        The cumulative shares of 1, 2, ... components.
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    ax = figure.add_subplot()
    number = np.arange(1, len(cumulative) + 1)
    ax.plot(number, 100 * cumulative, color=COLOURS[0], linewidth=1.6)
    for most in (3, int(np.argmax(cumulative >= RULE)) + 1):
        share = 100 * cumulative[most - 1]
        ax.plot(most, share, "o", color=COLOURS[0], markersize=6)
        ax.annotate(f"{most} components: {share:.1f} %", (most, share), (12, -8), textcoords="offset points",
                    va="center", color=INK)  # fmt: skip
    ax.set_xlabel("Number of principal components")
    ax.set_ylabel("Variance explained, cumulative (% of the total)")
    ax.set_xlim(0, len(number) + 1)
    ax.set_ylim(0, 103)
    tidy(ax)
    return figure


def plot_projections(
    scores: Mapping[str, Floats], groups: Strings, words: Sequence[Sequence[str]], seed: int
) -> Figure:
    """Draw postings on three dense and on three sparse components.

    Parameters
    ----------
    scores
        Scores of the postings by "dense" and "sparse", three columns each.
    groups
        The group of each posting.
    words
        The words of each sparse component, largest loading first.
    seed
        Seed of the small random shifts that separate postings with the same words.
    """
    figure = Figure(figsize=(11.0, 5.2), layout=ConstrainedLayoutEngine(wspace=0.06, w_pad=0.3))
    labels = np.asarray(groups)[::THIN]
    rng = np.random.default_rng(seed)
    # Draw the points in random order, so that no group covers the others.
    order = rng.permutation(len(labels))
    colour_of = dict(zip(np.unique(labels), COLOURS, strict=False))
    colours = [colour_of[group] for group in labels[order]]
    for place, (kind, values) in enumerate(scores.items(), start=1):
        ax: Any = figure.add_subplot(1, 2, place, projection="3d")
        points = values[::THIN][order] + rng.normal(scale=0.02, size=(len(labels), 3))
        ax.scatter(*points.T, s=6, c=colours, alpha=0.6, linewidth=0, depthshade=False, rasterized=True)
        title = "PCA: 100 words on each axis" if kind == "dense" else "Sparse PCA: few words on each axis"
        ax.set_title(title, fontsize=12, fontweight="bold", y=0.98)
        for axis, ordinal, own in zip("xyz", ORDINALS, words, strict=True):
            label = f"{ordinal} PC"
            if kind == "sparse":
                label += f" ({len(own)} words)\n{', '.join(own[:3])}, ..."
            getattr(ax, f"set_{axis}label")(label, labelpad=12 if axis == "z" and kind == "sparse" else 6)
            getattr(ax, f"{axis}axis").set_major_locator(MaxNLocator(4))
            getattr(ax, f"{axis}axis").set_pane_color("#FAFAFA")
        ax.tick_params(labelsize=8, pad=0)
        ax.view_init(elev=22, azim=-128)
        ax.set_box_aspect(None, zoom=0.9)
    names, numbers = np.unique(groups, return_counts=True)
    handles = [marker_handle("o", colour_of[g], 8.0, f"{g} ({n:,})") for g, n in zip(names, numbers, strict=True)]
    add_legend(figure, handles, columns=4, loc="outside lower center", columnspacing=2.5)
    return figure


def plot_paths(run: RuleRun, papers: Sequence[int], penalized: PenaltyRun) -> Figure:
    """Draw the variance against the cardinality for each component.

    Parameters
    ----------
    run
        The components by the 90 % rule.
    papers
        The paper's number of words in each component.
    penalized
        The components by DSPCA with a penalty.
    """
    figure = Figure(figsize=(12.6, 4.4), layout=ConstrainedLayoutEngine(wspace=0.04))
    panels: list[Axes] = list(figure.subplots(1, len(papers), sharey=True))
    for place, (ax, path, k, paper) in enumerate(zip(panels, run.paths, run.cardinalities, papers, strict=True)):
        draw_curve(ax, path, None)
        if place == 0:
            # Only for the first component: the later components of the two runs belong to different matrices.
            number, share = np.array(penalized.tried[place]).T
            ax.plot(number, 100 * share, "x", color=COLOURS[2], markersize=5, label="DSPCA with a penalty", zorder=3)
        ax.axhline(100 * RULE, color=INK, linewidth=0.8, linestyle=":", zorder=1)
        ax.annotate("90 %", (1, 100 * RULE), (0, -2), xycoords=("axes fraction", "data"), textcoords="offset points",
                    ha="right", va="top", fontsize="small", color=INK)  # fmt: skip
        for x, text, side, shift in (
            (k, f"smallest:\n{k} words", "right", -4),
            (paper, f"paper:\n{paper} words", "left", 4),
        ):
            ax.axvline(x, color=PALE, linewidth=0.9, zorder=0)
            ax.annotate(text, (x, LOWEST + 1), (shift, 0), textcoords="offset points", fontsize="small", color=INK,
                        va="bottom", ha=side)  # fmt: skip
        ax.set_ylim(LOWEST, 104)
        ax.set_xlim(0, len(path.cardinalities) + 1)
        ax.set_title(f"{ORDINALS[place]} sparse component", fontsize=11, fontweight="bold")
        ax.set_xlabel("Cardinality (number of words)")
        ax.set_ylabel("Variance explained (% of the dense component)" if place == 0 else "")
    handles: dict[str, Any] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def plot_deflations(runs: Mapping[str, RuleRun]) -> Figure:
    """Draw the numbers of words, the variance and the smallest eigenvalue for each kind of deflation.

    Parameters
    ----------
    runs
        The components by the 90 % rule, by kind of deflation.
    """
    figure = Figure(figsize=(11.0, 3.4), layout=ConstrainedLayoutEngine(wspace=0.05))
    left, middle, right = figure.subplots(1, 3, sharey=True, width_ratios=(1.6, 1, 1))
    places = np.arange(len(runs))
    height = 0.26
    for j, ordinal in enumerate(ORDINALS):
        numbers = [run.cardinalities[j] for run in runs.values()]
        bars = left.barh(places + (j - 1) * height, numbers, height * 0.9, color=COLOURS[j], label=f"{ordinal} PC")
        left.bar_label(bars, padding=2, fontsize=8, color=INK)
    left.set_xlabel("Words that keep 90 %")
    left.set_xlim(0, 1.1 * max(max(run.cardinalities) for run in runs.values()))
    left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, borderaxespad=0.2, handlelength=1.0)
    for ax, values, digits, label in (
        (middle, [100 * run.span for run in runs.values()], 2, "Variance explained together\n(% of the total)"),
        (
            right,
            [round(100 * run.lowest, 1) + 0.0 for run in runs.values()],
            1,
            "Lowest eigenvalue left\n(% of the largest before)",
        ),
    ):
        bars = ax.barh(places, values, 0.6, color=COLOURS[5])
        ax.bar_label(bars, fmt=f"%.{digits}f", padding=3, fontsize=8, color=INK)
        ax.set_xlabel(label)
        low, high = min(*values, 0.0), max(*values, 0.0)
        ax.set_xlim(low - 0.25 * (high - low) * (low < 0), high + 0.25 * (high - low))
        ax.axvline(0, color=INK, linewidth=0.8)
    left.set_yticks(places, list(runs))
    left.invert_yaxis()
    for ax in (left, middle, right):
        tidy(ax)
        ax.grid(visible=False, axis="y")
        ax.tick_params(axis="y", length=0)
    return figure
