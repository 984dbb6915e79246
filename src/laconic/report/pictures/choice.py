"""Picture: variance and criterion against the number of features."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import Floats, Indices
from laconic.report.pictures.display import Display, Place
from laconic.report.pictures.path import mark_cardinality
from laconic.report.style import COLOURS, GREY, INK, PALE, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from laconic.model.choosing.choice import Choice, ComponentChoice

# At most this many components are drawn.
MOST_COMPONENTS = 4
# The axis of each criterion.
LABELS = {
    "cv": "Error in held-out entries\n(% of their variance)",
    "hull": "Scree-test ratio of the convex hull",
    "sparseness": "Index of sparseness",
    "bic": "BIC",
    "ebic": "Extended BIC",
}
# The height of a row of words above the axes, in points, and of one in the strip below zero, in per cent.
ROW, STRIP = 18, 7


@dataclass(eq=False, repr=False)
class ChoiceDisplay(Display):
    """A row of two panels for each component: its variance, and the criterion, with the recommendation marked.

    The band of the criterion is one standard error of the difference to the best number of features. Words in a strip
    below the variance name the criteria, each beside a dot at the number it chooses. At most four components are drawn.

    Attributes
    ----------
    choice
        The numbers that were chosen, and the criteria.
    """

    choice: "Choice"

    def _drawn(self) -> "list[ComponentChoice]":
        return [one for one in self.choice.components if one.curves][:MOST_COMPONENTS]

    def _grid(self) -> tuple[int, int]:
        return len(self._drawn()), 2

    def _size(self) -> tuple[float, float]:
        return 9.6, 3.5 * len(self._drawn())

    def _draw(self, axes: "NDArray[Any]") -> None:
        for one, (left, right) in zip(self._drawn(), axes.reshape(-1, 2), strict=True):
            counted = one.component <= self.choice.n_components
            word = "recommended" if counted else "chosen"
            _variance(left, one, word)
            name = self.choice.criterion if self.choice.criterion in one.curves else "hull"
            assert name is not None
            _criterion(right, one, name, word)
            note = "" if counted else " (not counted: no better than noise)"
            left.set_title(f"Component {one.component}{note}", loc="left", fontsize=11, fontweight="bold", pad=ROW)


def plot_choice(choice: "Choice", *, ax: Place = None) -> ChoiceDisplay:
    """Draw a choice: for each component its variance and its criterion against the number of features."""
    if not any(one.curves for one in choice.components):
        raise ValueError("There is nothing to draw: the numbers of features were given.")
    return ChoiceDisplay(choice).plot(ax)


def _variance(ax: "Axes", one: "ComponentChoice", word: str) -> None:
    k, shares = one.path.cardinalities, 100 * one.path.values / one.path.dense
    _line(ax, k, shares)
    _name_criteria(ax, one)
    ax.axhline(100, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    # On the other side than the dotted line.
    x, side = (0.01, "left") if _at_right(ax, one.cardinality) else (1, "right")
    ax.annotate("dense component", (x, 100), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
                ha=side, va="bottom", fontsize="small", color=GREY)  # fmt: skip
    _mark(ax, one.cardinality, float(shares[k == one.cardinality][0]), word)
    ax.set_ylabel("Variance explained\n(% of the dense component)")


def _name_criteria(ax: "Axes", one: "ComponentChoice") -> None:
    """Name the criteria in a strip below zero: a row for each number that is chosen, so that no word covers another."""
    places: dict[int, list[str]] = {}
    for name, chosen in sorted(one.chosen.items(), key=lambda item: item[1]):
        if chosen:
            places.setdefault(chosen, []).append(name)
    ax.set_ylim(-STRIP * (len(places) + 0.5), 108)
    ax.set_yticks(range(0, 101, 20))
    ax.axhline(0, color=PALE, linewidth=0.8, zorder=1)
    for row, (chosen, names) in enumerate(places.items()):
        y = -STRIP * (row + 0.5)
        side, shift = ("right", -5) if _at_right(ax, chosen) else ("left", 5)
        ax.plot([chosen], [y], linestyle="none", marker="o", markersize=3, color=GREY, zorder=3)
        # The white ground hides the dotted line behind a word.
        ax.annotate(", ".join(names), (chosen, y), (shift, 0), textcoords="offset points", ha=side,
                    va="center_baseline", fontsize="x-small", color=GREY, zorder=3,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip


def _mark(ax: "Axes", k: int, y: float, word: str) -> None:
    """Mark a number of features; the words stand above the axes, where there is nothing to cover."""
    mark_cardinality(ax, k, y)
    side = "right" if _at_right(ax, k) else "left"
    ax.annotate(f"{word}: {k}", (k, 1), (0, 2), xycoords=("data", "axes fraction"), textcoords="offset points",
                ha=side, va="bottom", fontsize="small", color=INK)  # fmt: skip


def _at_right(ax: "Axes", k: int) -> bool:
    """Say whether a number is in the right half of the axes, so that words beside it have more room on its left."""
    return k > sum(ax.get_xlim()) / 2


def _criterion(ax: "Axes", one: "ComponentChoice", name: str, word: str) -> None:
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
        _mark(ax, one.cardinality, float(at[0]), word)
    if curve.errors is not None:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.08), frameon=False, fontsize="small", borderaxespad=0)
    ax.set_ylabel(LABELS[name])


def _line(ax: "Axes", k: Indices, values: Floats) -> None:
    size = 4.0 if len(k) <= 40 else 2.5
    ax.plot(k, values, color=COLOURS[0], linewidth=1.4, marker="o", markersize=size, zorder=3)
    ax.set_xlabel("Number of features")
    if len(k):
        ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    tidy(ax)
