"""Pictures: variance against cardinality, rows in the plane of two components, loadings.

The functions do not use pyplot. Each draws on the axes that it is given, or on a new figure. The caller saves or shows
the figure.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import Floats
from laconic.core.thresholds import PROVED
from laconic.model.comparison import Comparison
from laconic.report.plane.annotation import annotate
from laconic.report.plane.spots import Spot, draw_spots, find_spots
from laconic.report.style import COLOURS, GREY, INK, PALE, add_legend, clipped, legend_handles, marker_handle, tidy
from laconic.report.tables import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from laconic.model.cardinality_path import CardinalityPath
    from laconic.model.estimator import SparsePCA
    from laconic.model.penalty_path import PenaltyPath


# A picture of two planes draws at most this many rows. More take long to draw and cannot be told apart.
MOST_ROWS = 20_000
# A picture of loadings draws at most this many components, and this many features of each, to fit a page.
MOST_PANELS, MOST_BARS = 4, 25
# The lines of an axis label of a plane are at most this long, in inches: across, and upwards. It has this many names.
ROOM, MOST_NAMES = (4.2, 3.6), 20


def plot_path(path: "CardinalityPath", ax: "Axes | None" = None) -> "Axes":
    """Draw the share of the dense component's variance against the cardinality; return the axes.

    A filled point is optimal. Elsewhere a band reaches from the variance found to the proved upper bound.
    """
    ax = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot() if ax is None else ax
    k, shares = path.cardinalities, 100 * path.shares
    # No sparse component has more variance than the dense one.
    upper = np.minimum(100 * path.upper_bounds / path.dense_variance, np.maximum(100.0, shares))
    bounded = np.isfinite(path.upper_bounds)
    proved = np.array([solution.gap <= PROVED for solution in path.solutions])
    colour = COLOURS[0]
    ax.axhline(100, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    ax.annotate("dense component", (1, 100), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
                ha="right", va="bottom", fontsize="small", color=GREY)  # fmt: skip
    if (bounded & ~proved).any():
        top = np.where(bounded, upper, np.nan)
        ax.fill_between(k, shares, top, color=COLOURS[1], alpha=0.35, linewidth=0, label="still possible", zorder=2)
        ax.plot(k, top, color=COLOURS[1], linewidth=1.2, linestyle="--", label="proved upper bound", zorder=2)
    size = 5.0 if len(k) <= 40 else 3.0
    ax.plot(k, shares, color=colour, linewidth=1.4, zorder=3)
    for which, face, label in ((proved, colour, "found, optimal (proved)"), (~proved, "white", "found")):
        if which.any():
            ax.plot(k[which], shares[which], linestyle="none", marker="o", markersize=size, markerfacecolor=face,
                    markeredgecolor=colour, label=label, zorder=4)  # fmt: skip
    if path.suggested is not None:
        mark_suggested(ax, path.suggested, float(shares[k == path.suggested][0]))
        # Above the axes the words cover nothing, and they never leave the picture on the right.
        side = "left" if 2 * path.suggested <= k[-1] else "right"
        ax.text(path.suggested, 1.01, f"suggested: {path.suggested}", transform=ax.get_xaxis_transform(), ha=side,
                va="bottom", fontsize="small", color=INK)  # fmt: skip
    ax.set_xlabel("Cardinality (number of features)")
    ax.set_ylabel("Variance explained (% of the dense component)")
    ax.set_ylim(0, 108)
    ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    # The curve rises to the right, so the lower right corner is empty.
    ax.legend(loc="lower right", facecolor="white", edgecolor="none", framealpha=1)
    tidy(ax)
    return ax


def mark_suggested(ax: "Axes", k: int, y: float) -> None:
    """Mark a number of features on a curve by a ring and a dotted line."""
    ax.axvline(k, color=INK, linewidth=0.9, linestyle=(0, (1, 3)), zorder=2)
    ax.plot([k], [y], linestyle="none", marker=".", markersize=22, markerfacecolor="none", markeredgecolor=INK,
            markeredgewidth=1.2, zorder=5)  # fmt: skip


def plot_penalty_path(path: "PenaltyPath", ax: "Axes | None" = None) -> "Axes":
    """Draw the cardinality against the l1 penalty, on a logarithmic scale; return the axes."""
    ax = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot() if ax is None else ax
    ax.step(path.penalties, path.cardinalities, where="mid", color=COLOURS[0], linewidth=1.0, zorder=2)
    ax.plot(path.penalties, path.cardinalities, linestyle="none", marker="o", markersize=4, color=COLOURS[0], zorder=3)
    ax.set_xscale("log")
    ax.set_xlabel("Penalty ρ (units of variance)")
    ax.set_ylabel("Cardinality (number of features)")
    ax.set_ylim(0, 1.05 * float(path.cardinalities.max()))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    tidy(ax)
    return ax


def plot_planes(
    model: "SparsePCA",
    comparison: Comparison,
    *,
    noun: str = "feature",
    row_noun: str = "row",
    groups: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    max_labels: int = 14,
) -> Figure:
    """Draw rows in the plane of two dense components and, beside it, in the plane of two sparse ones.

    Each group of rows has its own colour and shape. The rows farthest from the middle of their group are named by their
    labels if there is room, at `max_labels` places at most. If there are very many rows, only every second, third, ...
    row is drawn, and the legend says so. `noun` and `row_noun` are the words for a feature and for a row.
    """
    figure = Figure(figsize=(10, 5.4), layout=ConstrainedLayoutEngine(wspace=0.06))
    axes = figure.subplots(1, 2)
    first, second = (len(support) for support in model.supports_[:2])
    titles = (
        f"Ordinary PCA: {count(model.n_features_in_, noun)} on each axis",
        f"laconic: {first} and {count(second, noun)}",
    )
    axis_labels = (
        [f"Dense component {j}: {percent(r)} of the variance" for j, r in enumerate(comparison.dense_ratios, start=1)],
        [_sparse_axis(model, j, _fits(figure, room)) for j, room in enumerate(ROOM)],
    )
    rows = len(comparison.sparse_scores)
    stride = -(-rows // MOST_ROWS)
    planes = (comparison.dense_scores[::stride], comparison.sparse_scores[::stride])
    groups = None if groups is None else groups[::stride]
    labels = None if labels is None else labels[::stride]
    drawn = []
    for ax, scores, title, (x_label, y_label) in zip(axes, planes, titles, axis_labels, strict=True):
        drawn.append(draw_plane(ax, scores, (x_label, y_label), groups))
        ax.set_title(title, fontsize=12, fontweight="bold", pad=10)
    handles = [] if groups is None else legend_handles(groups)
    if any(len(spot.members) > 1 for spots in drawn for spot in spots):
        handles.append(marker_handle("o", PALE, 13.0, f"number of {row_noun}s at one place"))
    if stride > 1:
        handles.append(marker_handle("o", COLOURS[0], 4.0, f"one {row_noun} in {stride} is drawn"))
    if handles:
        add_legend(figure, handles, columns=5, loc="outside lower center", columnspacing=2.5)
    for ax, scores, spots in zip(axes, planes, drawn, strict=True):
        annotate(ax, scores, spots, labels, max_labels)
    return figure


def plot_loadings(model: "SparsePCA") -> Figure:
    """Draw the loadings of the first components as bars, the largest on top."""
    table = model.loadings()
    shown = min(model.n_components_, MOST_PANELS)
    longest = min(MOST_BARS, max(len(support) for support in model.supports_[:shown]))
    size = (max(5.2, 3.6 * shown), 1.5 + 0.26 * max(3, longest))
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(wspace=0.04))
    for number, ax in enumerate(figure.subplots(1, shown, squeeze=False, sharex=True)[0], start=1):
        rows = table[table["component"] == number]
        features = len(rows)
        rows = rows[:MOST_BARS]
        loadings, places = rows["loading"].to_numpy(), np.arange(len(rows))
        colours = [COLOURS[0] if loading > 0 else COLOURS[2] for loading in loadings]
        ax.barh(places, loadings, color=colours, height=0.72)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(places, [clipped(str(feature), 28) for feature in rows["feature"]], parse_math=False)
        # All panels have room for the same number of bars, so that all bars are equally thick.
        ax.set_ylim(max(3, longest) - 0.4, -0.6)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel("Loading")
        ratio = model.explained_variance_ratio_[number - 1]
        left_out = f"\nthe {len(rows)} largest of {features} loadings" if len(rows) < features else ""
        ax.set_title(f"Component {number}: {percent(ratio)} of the variance{left_out}", fontsize=10)
        tidy(ax)
        ax.grid(visible=False, axis="y")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    return figure


def draw_plane(ax: "Axes", scores: Floats, axis_labels: tuple[str, str], groups: Sequence[str] | None) -> list[Spot]:
    """Draw rows, given by two scores each, as the markers of `find_spots`; return the markers."""
    spots = find_spots(scores, groups)
    draw_spots(ax, spots)
    ax.set_xlabel(axis_labels[0], parse_math=False)
    ax.set_ylabel(axis_labels[1], parse_math=False)
    tidy(ax)
    return spots


def _sparse_axis(model: "SparsePCA", place: int, fits: Callable[[str], bool]) -> str:
    """Return the label of an axis: the number of the component, its share of the variance, and its features."""
    row, support = model.components_[place], model.supports_[place]
    names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    order = support[np.argsort(-np.abs(row[support]), kind="stable")]
    parts = [("\u2212" if row[i] < 0 else "") + " ".join(str(names[i]).split()) for i in order[:MOST_NAMES]]
    share = percent(model.explained_variance_ratio_[place])
    return f"Component {place + 1}: {share} of the variance\n{_names_that_fit(parts, len(order), fits)}"


def _names_that_fit(parts: list[str], total: int, fits: Callable[[str], bool]) -> str:
    """Return the first names on one or two lines that fit, and the number of the others, of `total`."""
    for shown in range(len(parts), 0, -1):
        words = [*parts[:shown], *([f"and {total - shown} more"] if shown < total else [])]
        if fits(", ".join(words)):
            return ", ".join(words)
        for first in range(len(words) - 1, 0, -1):
            lines = ", ".join(words[:first]) + ",", ", ".join(words[first:])
            if fits(lines[0]):
                if fits(lines[1]):
                    return "\n".join(lines)
                break
    # Not even one name fits.
    more = f",\nand {total - 1} more" if total > 1 else ""
    lengths = range(min(len(parts[0]) - 1, 80), 3, -1)
    return next((name for name in (clipped(parts[0], n) for n in lengths) if fits(name + ",")), "...") + more


def _fits(figure: Figure, room: float) -> Callable[[str], bool]:
    """Return a function that says whether a line of an axis label is at most so many inches long."""
    probe = Text(fontsize=rcParams["axes.labelsize"], parse_math=False, figure=figure)

    def fits(line: str) -> bool:
        probe.set_text(line)
        return probe.get_window_extent().width <= room * figure.dpi

    return fits
