"""A picture of a choice: variance and criterion against the number of features."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import Floats, Indices
from laconic.report.plots import MOST_PANELS, mark_suggested
from laconic.report.style import COLOURS, GREY, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from laconic.model.choosing.choice import Choice, ComponentChoice

# The axis of each criterion.
LABELS = {
    "cv": "Error in held-out entries\n(% of their variance)",
    "hull": "Scree-test ratio of the convex hull",
    "sparseness": "Index of sparseness",
    "bic": "BIC",
    "ebic": "Extended BIC",
}


def plot_choice(choice: "Choice") -> Figure:
    """Draw a row of two panels for each component: its variance, and the criterion, with the recommendation marked.

    The band of the criterion is one standard error of the difference to the best number of features. At most four
    components are drawn.
    """
    drawn = [one for one in choice.components if one.curves][:MOST_PANELS]
    if not drawn:
        raise ValueError("There is nothing to draw: the numbers of features were given.")
    figure = Figure(figsize=(9.6, 3.5 * len(drawn)), layout="constrained")
    rows = figure.subplots(len(drawn), 2, squeeze=False)
    for one, (left, right) in zip(drawn, rows, strict=True):
        _variance(left, one)
        name = choice.criterion if choice.criterion in one.curves else "hull"
        assert name is not None
        _criterion(right, one, name)
        counted = one.component <= choice.n_components
        note = "" if counted else " (not counted: no better than noise)"
        left.set_title(f"Component {one.component}{note}", loc="left", fontsize=11, fontweight="bold")
    return figure


def _variance(ax: "Axes", one: "ComponentChoice") -> None:
    k, shares = one.path.cardinalities, 100 * one.path.values / one.path.dense
    _line(ax, k, shares)
    ax.set_ylim(0, 108)
    ax.axhline(100, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    ax.annotate("dense component", (1, 100), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
                ha="right", va="bottom", fontsize="small", color=GREY)  # fmt: skip
    mark_suggested(ax, one.cardinality, float(shares[k == one.cardinality][0]), "recommended")
    places: dict[int, list[str]] = {}
    for name, chosen in one.chosen.items():
        places.setdefault(chosen, []).append(name)
    for chosen, names in places.items():
        if chosen:
            ax.annotate(", ".join(names), (chosen, 0), (-2, 3), textcoords="offset points", ha="right", va="bottom",
                        fontsize="x-small", color=GREY, rotation=90)  # fmt: skip
    ax.set_ylabel("Variance explained\n(% of the dense component)")


def _criterion(ax: "Axes", one: "ComponentChoice", name: str) -> None:
    curve, k = one.curves[name], one.path.cardinalities
    values = 100 * curve.values if name == "cv" else curve.values
    if curve.errors is not None:
        band = 100 * curve.errors
        ax.fill_between(k, values - band, values + band, color=COLOURS[0], alpha=0.2, linewidth=0, zorder=2,
                        label="one standard error of the difference to the least")  # fmt: skip
        ax.axhline(100, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        ax.annotate("no component", (1, 100), (0, -3), xycoords=("axes fraction", "data"), textcoords="offset points",
                    ha="right", va="top", fontsize="small", color=GREY)  # fmt: skip
    there = np.isfinite(values)
    _line(ax, k[there], values[there])
    at = values[k == one.cardinality]
    if len(at) and np.isfinite(at[0]):
        mark_suggested(ax, one.cardinality, float(at[0]), "recommended", above=True)
    if curve.errors is not None:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small", borderaxespad=0)
    ax.set_ylabel(LABELS[name])


def _line(ax: "Axes", k: Indices, values: Floats) -> None:
    size = 4.0 if len(k) <= 40 else 2.5
    ax.plot(k, values, color=COLOURS[0], linewidth=1.4, marker="o", markersize=size, zorder=3)
    ax.set_xlabel("Number of features")
    if len(k):
        ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    tidy(ax)
