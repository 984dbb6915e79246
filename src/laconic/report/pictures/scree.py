"""Picture: the variances of ordinary components beside noise, and beside sparse components."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import Floats
from laconic.report.pictures.display import Display, Place
from laconic.report.style import COLOURS, GREY, INK, PALE, legend_beside, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.estimator import SparsePCA
    from laconic.model.scree import Scree

# Two totals of the variance are of the same data if they differ by less than this share.
SAME = 1e-6


@dataclass(eq=False, repr=False)
class ScreeDisplay(Display):
    """The variances of ordinary components, beside noise and beside sparse components.

    Attributes
    ----------
    scree
        The variances of the ordinary components, and those of permuted tables.
    sparse
        The variance that each sparse component adds, or None.
    """

    scree: "Scree"
    sparse: Floats | None = None

    def _size(self) -> tuple[float, float]:
        return min(12.0, max(6.8, 4.4 + 0.3 * self._count())), 4.2

    def _count(self) -> int:
        return max(len(self.scree), 0 if self.sparse is None else len(self.sparse))

    def _draw(self, axes: "NDArray[Any]") -> None:
        ax, scree = axes[0], self.scree
        unit = scree.total / 100 if scree.total > 0 else 1.0
        numbers = np.arange(1, len(scree) + 1)
        values = scree.variances / unit
        drawn = [values]
        if scree.noise is not None and scree.noise_95 is not None:
            noise, limit = scree.noise / unit, scree.noise_95 / unit
            ax.fill_between(numbers, noise.min(axis=0), limit, color=PALE, alpha=0.6, linewidth=0, zorder=1,
                            label=f"noise: up to the 95 % quantile of {len(noise)} permuted tables")  # fmt: skip
            ax.plot(numbers, limit, color=GREY, linewidth=1.2, linestyle="--", zorder=2)
            if len(numbers) == 1:
                ax.hlines(limit, 0.8, 1.2, color=GREY, linewidth=1.2, linestyle="--", zorder=2)
            drawn.append(limit)
        ax.plot(numbers, values, color=COLOURS[0], linewidth=1.4, zorder=3)
        # A filled point counts: it comes before the first component that is no better than noise.
        above = np.arange(len(scree)) < (len(scree) if scree.n_above_noise is None else scree.n_above_noise)
        for which, face, label in (
            (above, COLOURS[0], "ordinary component"),
            (~above, "white", "ordinary component, not above noise"),
        ):
            if which.any():
                ax.plot(numbers[which], values[which], linestyle="none", marker="o", markersize=6, zorder=4,
                        markerfacecolor=face, markeredgecolor=COLOURS[0], label=label)  # fmt: skip
        if self.sparse is not None:
            sparse = self.sparse / unit
            ax.plot(np.arange(1, len(sparse) + 1), sparse, linestyle=":", linewidth=1.2, color=COLOURS[2], marker="D",
                    markersize=5, zorder=5, label="sparse component: the variance that it adds")  # fmt: skip
            drawn.append(sparse)
        together = np.concatenate(drawn)
        low, high = min(0.0, float(together.min())), max(0.0, float(together.max()))
        room = 0.06 * (high - low) or 1.0
        ax.set_ylim(low - (room if low < 0 else 0.0), high + room)
        if low < 0:
            ax.axhline(0, color=INK, linewidth=0.8)
        ax.set_xlim(0.5, self._count() + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.set_xlabel("Component")
        ax.set_ylabel("Variance (% of the total)" if scree.total > 0 else "Variance")
        tidy(ax)
        legend_beside(ax, ax.get_legend_handles_labels()[0])


def plot_scree(scree: "Scree", *, model: "SparsePCA | None" = None, ax: Place = None) -> ScreeDisplay:
    """Draw the variances of the ordinary components, the band of noise, and the variances of sparse components.

    Parameters
    ----------
    scree : Scree
        What `laconic.scree` returns.
    model : SparsePCA, optional
        A fitted `SparsePCA` of the same data. The variance that each of its components adds is drawn, too.
    ax : Axes, sequence of Axes, Figure or SubFigure, optional
        The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.

    Returns
    -------
    ScreeDisplay
        The display. Its `figure_` and `ax_` can be changed further.

    See Also
    --------
    scree : Computes what is drawn.

    Examples
    --------
    >>> from laconic import plot_scree, scree
    >>> from laconic.datasets import load_senate109
    >>> display = plot_scree(scree(load_senate109().frame))
    """
    if not hasattr(scree, "variances"):
        raise TypeError(f"scree must come from laconic.scree; a {type(scree).__name__} was given.")
    if model is None:
        return ScreeDisplay(scree).plot(ax)
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if abs(model.total_variance_ - scree.total) > SAME * max(abs(scree.total), abs(model.total_variance_)):
        raise ValueError(
            f"The total variance is {scree.total:.6g} in scree and {model.total_variance_:.6g} in model; give both the "
            "same data, center and scale."
        )
    return ScreeDisplay(scree, model.explained_variance_).plot(ax)
