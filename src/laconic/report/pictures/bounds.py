"""Picture: the variance found and the proved upper bound of each component."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import PROVED, Floats
from laconic.core.words import at_most
from laconic.report.pictures.display import Display, Place
from laconic.report.style import COLOURS, GREY, INK, legend_beside, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.estimator import SparsePCA

# From this many components on, the words above the bars are upright.
UPRIGHT = 7


@dataclass(eq=False, repr=False)
class BoundsDisplay(Display):
    """The variance found and the proved upper bound of each component.

    Attributes
    ----------
    lower, upper
        The variance found and the proved upper bound of each component; the bound is infinite if nothing is proved.
    dense
        The variance of the dense component in the same matrix.
    gaps
        (upper - lower) / lower.
    """

    lower: Floats
    upper: Floats
    dense: Floats
    gaps: Floats

    def _size(self) -> tuple[float, float]:
        return min(14.0, max(5.6, 3.6 + 0.8 * len(self.lower))), 4.4

    def _draw(self, axes: "NDArray[Any]") -> None:
        ax, numbers = axes[0], np.arange(1, len(self.lower) + 1)
        optimal, bounded = self.gaps <= PROVED, np.isfinite(self.upper)
        open_gap = bounded & ~optimal
        for which, hatch, label in ((optimal, None, "found, optimal (proved)"), (~optimal, "////", "found")):
            if which.any():
                ax.bar(numbers[which], self.lower[which], width=0.62, zorder=2, label=label,
                       facecolor=COLOURS[0] if hatch is None else "white", edgecolor=COLOURS[0], hatch=hatch,
                       linewidth=1.0)  # fmt: skip
        if open_gap.any():
            rest = (self.upper - self.lower)[open_gap]
            ax.bar(numbers[open_gap], rest, width=0.62, bottom=self.lower[open_gap], zorder=2, facecolor=COLOURS[1],
                   alpha=0.5, label="still possible")  # fmt: skip
            ax.hlines(self.upper[open_gap], numbers[open_gap] - 0.31, numbers[open_gap] + 0.31, color=COLOURS[1],
                      linewidth=2.0, label="proved upper bound", zorder=3)  # fmt: skip
        ax.hlines(self.dense, numbers - 0.42, numbers + 0.42, color=GREY, linewidth=1.2, linestyle=(0, (4, 2)),
                  label="dense component", zorder=1)  # fmt: skip
        tops = np.maximum(np.where(bounded, self.upper, self.lower), np.maximum(self.dense, 0.0))
        room = 0.3 if len(numbers) >= UPRIGHT else 0.12
        # The words are about the bar. They stand above the dashed line only if there is no room below it.
        bars = np.maximum(np.where(bounded, self.upper, self.lower), 0.0)
        places = np.where(self.dense - bars > room * float(tops.max()), bars, tops)
        for number, top, gap in zip(numbers, places, self.gaps, strict=True):
            words = "optimal" if gap <= PROVED else f"gap {at_most(100 * gap, 2)} %" if np.isfinite(gap) else "no bound"
            ax.annotate(words, (number, top), (0, 4), textcoords="offset points", ha="center", va="bottom",
                        fontsize="small", color=INK, rotation=90 if len(numbers) >= UPRIGHT else 0)  # fmt: skip
        ax.axhline(0, color=INK, linewidth=0.8)
        low, high = min(0.0, float(self.lower.min())), max(float(tops.max()), 0.0)
        ax.set_ylim(low - 0.05 * (high - low) * (low < 0), high + room * max(high - low, 1e-12))
        ax.set_xlim(0.4, len(numbers) + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(20, integer=True, min_n_ticks=1))
        ax.set_xlabel("Component")
        ax.set_ylabel("Variance, after earlier components")
        tidy(ax)
        ax.grid(visible=False, axis="x")
        legend_beside(ax, ax.get_legend_handles_labels()[0])


def plot_bounds(model: "SparsePCA", *, ax: Place = None) -> BoundsDisplay:
    """Draw for each component the variance found and the proved upper bound.

    A full bar is optimal. The words give the gap in per cent of the variance found, rounded up.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA`.
    ax : Axes, sequence of Axes, Figure or SubFigure, optional
        The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.

    Returns
    -------
    BoundsDisplay
        The display. Its `figure_` and `ax_` can be changed further.

    See Also
    --------
    plot_path : Both for every number of features.

    Examples
    --------
    >>> from laconic import SparsePCA, plot_bounds
    >>> from laconic.datasets import load_pitprops
    >>> display = plot_bounds(SparsePCA(cardinality=[5, 2, 2]).fit_covariance(load_pitprops().covariance))
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    return BoundsDisplay(model.lower_bound_, model.upper_bound_, model.dense_variance_, model.gap_).plot(ax)
