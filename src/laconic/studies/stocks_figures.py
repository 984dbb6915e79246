"""Figures of the study of stocks, and their captions."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch

from laconic.core.arrays import PROVED, Floats
from laconic.model.cardinality_path import CardinalityPath
from laconic.model.comparison import Comparison
from laconic.model.estimator import SparsePCA
from laconic.proof import UpperBound
from laconic.report.plot import planes
from laconic.report.plot_parts import COLOURS, INK, PALE, tidy
from laconic.report.tables import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHER = "other sectors"
SECTORS = {
    "Financials": COLOURS[0],
    "Energy": COLOURS[1],
    "Materials": COLOURS[2],
    "Consumer Discretionary": COLOURS[4],
    "Information Technology": COLOURS[3],
    OTHER: PALE,
}
# From the week in which Lehman Brothers failed to the end of the fall and the first recovery of bank shares.
CRISIS = ("2008-09-15", "2009-05-31")
CAPTIONS = {
    "stocks-curves": "Left: variance of the sparse component against its cardinality. Filled points are optimal "
    "(proved). The band is the range between the value found and the proved bound. Right: cardinality of the l1 "
    "relaxation against the penalty rho.",
    "stocks-sectors": "Left: sectors of the first component at each cardinality. Right: sectors of the second "
    "component, 26 stocks, after each deflation.",
    "stocks-planes": "Days in the plane of two dense components and of two sparse ones (32 and 26 stocks, Hotelling's "
    "deflation). Dense scores are uncorrelated. Sparse scores are correlated, as the paper says. Scores are in units "
    "of log return.",
    "stocks-gaps": "Proved gap of the component found at each cardinality: with row levels only, and after branch and "
    "bound.",
}


def plot_sectors(path: CardinalityPath, sectors: Any, models: dict[str, SparsePCA]) -> Figure:
    """Draw the sectors of the first component by cardinality and of the second by deflation.

    Parameters
    ----------
    path
        The first component at each cardinality.
    sectors
        The sector of each stock.
    models
        The fitted models by deflation.
    """
    figure = Figure(figsize=(10, 4.6), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2)
    steps = np.diff(path.cardinalities, prepend=0)
    k = path.cardinalities[np.cumprod(steps == 1).astype(bool)]
    _stack(left, k, np.array([_numbers(sectors[s]) for s in path.supports[: len(k)]]), horizontal=False)
    left.set_xlabel("Cardinality of the first component (number of stocks)")
    left.set_ylabel("Stocks of each sector")
    left.set_xlim(0, k[-1] + 1)
    places = np.arange(len(models))
    _stack(right, places, np.array([_numbers(sectors[m.supports_[1]]) for m in models.values()]), horizontal=True)
    right.set_yticks(places, [kind.replace("orthogonalized-", "orthogonalized\n") for kind in models])
    right.set_ylim(len(models) - 0.4, -0.6)
    right.set_xlabel("Stocks of each sector in the second component")
    right.set_xlim(0, 27)
    left.set_title("First component")
    right.set_title("Second component, by deflation")
    handles = [Patch(color=colour, label=sector) for sector, colour in SECTORS.items()]
    figure.legend(handles=handles, ncols=6, frameon=False, loc="outside lower center", fontsize=9, columnspacing=1.4)
    return figure


def correlation(scores: Floats) -> float:
    """Return the correlation of the first two columns.

    Parameters
    ----------
    scores
        One row for each day, one column for each component.
    """
    return float(np.asarray(np.corrcoef(scores[:, :2].T))[0, 1])


def count_sectors(chosen: Any) -> str:
    """Return the number of stocks in each sector, largest first, as "16 Energy, 7 Materials".

    Parameters
    ----------
    chosen
        The sector of each stock chosen.
    """
    found = sorted(Counter(str(sector) for sector in chosen).items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number} {sector}" for sector, number in found)


def plot_stock_planes(model: SparsePCA, comparison: Comparison, sectors: Any, days: Any) -> Figure:
    """Draw the days in both planes, with the days of the crisis in another colour and the correlation of the scores.

    Parameters
    ----------
    model, comparison
        The sparse components, and their comparison with the dense ones.
    sectors
        The sector of each stock.
    days
        The index of the returns.
    """
    crisis = (days >= CRISIS[0]) & (days <= CRISIS[1])
    # Groups are drawn in alphabetical order. These names put the days of the crisis on top.
    names = np.where(crisis, "the crisis, Sep 2008-May 2009", "other days")
    labels = [f"{day:%d %b %Y}" for day in days]
    figure = planes(
        model,
        comparison,
        noun="stock",
        groups=list(names),
        labels=labels,
        max_labels=6,
    )
    left, right = figure.axes
    for ax, scores in ((left, comparison.dense_scores), (right, comparison.sparse_scores)):
        assert scores is not None
        for points in ax.collections:
            # Small markers without edges, because more than a thousand days are drawn.
            points.set(linewidth=0, sizes=[11])
        # Adding zero turns -0.0 into 0.0.
        rounded = round(correlation(scores), 2) + 0.0
        ax.text(0.02, 0.98, f"correlation {rounded:.2f}", transform=ax.transAxes, va="top", color=INK)
    ratios = model.explained_variance_ratio_
    for place, set_label in ((0, right.set_xlabel), (1, right.set_ylabel)):
        made_of = count_sectors(sectors[model.supports_[place]])
        set_label(f"Component {place + 1}: {percent(ratios[place])} of the variance\n{made_of}", fontsize=9)
    return figure


def plot_gaps(path: CardinalityPath, bounds: dict[int, UpperBound]) -> Figure:
    """Draw the proved gap against the cardinality.

    Parameters
    ----------
    path
        The components with their final bounds.
    bounds
        The bounds of row levels by cardinality.
    """
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    ax = figure.add_subplot()
    values = {int(k): s.value for k, s in zip(path.cardinalities, path.solutions, strict=True)}
    gaps = [100 * max(min(float(bound), path.dense_variance) / values[k] - 1, 0.0) for k, bound in bounds.items()]
    ax.plot(list(bounds), gaps, color=COLOURS[1], marker="o", markersize=3.5, linewidth=1.2, label="row levels")
    proved = [int(k) for k, s in zip(path.cardinalities, path.solutions, strict=True) if s.gap <= PROVED]
    ax.plot(proved, np.zeros(len(proved)), linestyle="none", marker="s", markersize=4, color=COLOURS[0],
            clip_on=False, zorder=4, label="optimal (proved) (branch and bound)")  # fmt: skip
    ax.set_xscale("log")
    ticks = [k for k in (1, 2, 5, 10, 20, 32, 50, 100, 200, 470) if k <= path.cardinalities[-1]]
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.set_xticks([], minor=True)
    ax.set_ylim(0, 1.25 * max(gaps))
    ax.set_xlabel("Cardinality (number of stocks, logarithmic scale)")
    ax.set_ylabel("Proved gap (% of the variance found)")
    ax.legend(loc="upper left", frameon=False)
    tidy(ax)
    return figure


def _numbers(chosen: Any) -> list[int]:
    known = [int((chosen == sector).sum()) for sector in SECTORS if sector != OTHER]
    return [*known, len(chosen) - sum(known)]


def _stack(ax: "Axes", places: Any, numbers: Any, *, horizontal: bool) -> None:
    before = np.zeros(len(places))
    for column, colour in zip(numbers.T, SECTORS.values(), strict=True):
        if horizontal:
            ax.barh(places, column, left=before, color=colour, height=0.7)
            for place, start, number in zip(places, before, column, strict=True):
                if number:
                    dark = colour in (COLOURS[0], COLOURS[2], COLOURS[3])
                    ax.text(start + number / 2, place, str(number), ha="center", va="center", fontsize=8,
                            color="white" if dark else INK)  # fmt: skip
        else:
            ax.bar(places, column, bottom=before, color=colour, width=0.86)
        before = before + column
    tidy(ax)
    ax.grid(visible=False, axis="y" if horizontal else "x")
