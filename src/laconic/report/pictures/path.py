"""Picture: variance against the number of features."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.core.arrays import PROVED
from laconic.report.pictures.display import Display, Place
from laconic.report.pictures.penalty_path import PenaltyPathDisplay
from laconic.report.style import COLOURS, GREY, INK, legend_beside, tidy
from laconic.report.tables import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from laconic.model.cardinality_path import CardinalityPath
    from laconic.model.penalty_path import PenaltyPath

# Above this many points their markers are small.
MANY = 40


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """The variance found, and the proved upper bound, against the number of features.

    Attributes
    ----------
    path
        The path of cardinalities.
    cardinality
        The number of features that is marked, or None.
    """

    path: "CardinalityPath"
    cardinality: int | None = None

    def _size(self) -> tuple[float, float]:
        return 7.6, 4.2

    def _draw(self, axes: "NDArray[Any]") -> None:
        ax = axes[0]
        draw_curve(ax, self.path, self.cardinality)
        legend_beside(ax, ax.get_legend_handles_labels()[0])


def plot_path(
    path: "CardinalityPath | PenaltyPath", *, cardinality: int | None = None, ax: Place = None
) -> "PathDisplay | PenaltyPathDisplay":
    """Draw a path: the variance found and the proved upper bound, against the number of features or the penalty.

    A filled point is optimal. Elsewhere a band reaches from the variance found to the proved upper bound. The path of a
    penalty has two panels: its variance, and its number of features.

    Parameters
    ----------
    path : CardinalityPath or PenaltyPath
        What `cardinality_path` or `penalty_path` returns.
    cardinality : int, optional
        The number of features to mark. By default the suggested one of a path of cardinalities.
    ax : Axes, sequence of Axes, Figure or SubFigure, optional
        The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.

    Returns
    -------
    PathDisplay or PenaltyPathDisplay
        The display. Its `figure_` and its axes can be changed further.

    See Also
    --------
    cardinality_path : Makes a path of cardinalities.
    penalty_path : Makes a path of penalties.

    Examples
    --------
    >>> from laconic import cardinality_path, plot_path
    >>> from laconic.datasets import load_pitprops
    >>> display = plot_path(cardinality_path(load_pitprops().covariance))
    """
    from laconic.model.cardinality_path import CardinalityPath
    from laconic.model.penalty_path import PenaltyPath

    if isinstance(path, PenaltyPath):
        if cardinality is not None and cardinality not in path.cardinalities:
            raise ValueError(f"cardinality={cardinality!r} is not on the path; see path.cardinalities.")
        return PenaltyPathDisplay(path, cardinality).plot(ax)
    if not isinstance(path, CardinalityPath):
        raise TypeError(f"path must come from cardinality_path or penalty_path; a {type(path).__name__} was given.")
    if cardinality is not None:
        path.names(cardinality)  # raises an error if it is not on the path
    return PathDisplay(path, path.suggested if cardinality is None else cardinality).plot(ax)


def draw_curve(ax: "Axes", path: "CardinalityPath", cardinality: int | None) -> None:
    """Draw the curve, the band up to the proved bound, and the number of features that is marked; no legend."""
    k, dense = path.cardinalities, path.dense_variance
    # A matrix that is not semidefinite may have no positive variance. Then there are no shares.
    unit = dense / 100 if dense > 0 else 1.0
    found = path.values / unit
    # No sparse component has more variance than the dense one.
    upper = np.minimum(path.upper_bounds / unit, np.maximum(dense / unit, found))
    bounded = np.isfinite(path.upper_bounds)
    proved = np.array([solution.gap <= PROVED for solution in path.solutions])
    colour, size = COLOURS[0], 5.0 if len(k) <= MANY else 3.0
    if (bounded & ~proved).any():
        top = np.where(bounded, upper, np.nan)
        ax.fill_between(k, found, top, color=COLOURS[1], alpha=0.35, linewidth=0, label="still possible", zorder=2)
        ax.plot(k, top, color=COLOURS[1], linewidth=1.4, linestyle="--", label="proved upper bound", zorder=2)
    ax.plot(k, found, color=colour, linewidth=1.4, zorder=3)
    for which, face, label in ((proved, colour, "found, optimal (proved)"), (~proved, "white", "found")):
        if which.any():
            ax.plot(k[which], found[which], linestyle="none", marker="o", markersize=size, markerfacecolor=face,
                    markeredgecolor=colour, label=label, zorder=4)  # fmt: skip
    ax.axhline(dense / unit, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1, label="dense component")
    if cardinality is not None:
        word = "suggested" if cardinality == path.suggested else "marked"
        mark_cardinality(ax, cardinality, float(found[k == cardinality][0]), f"{word}: {count(cardinality, 'feature')}")
    ax.set_xlabel("Cardinality (number of features)")
    ax.set_ylabel("Variance explained (% of the dense component)" if dense > 0 else "Variance")
    low, high = min(0.0, float(found.min())), max(dense / unit, float(found.max()), 0.0)
    room = 0.06 * (high - low) or 1.0
    # The marker of a value near zero is not cut.
    ax.set_ylim(low - (room if float(found.min()) < room else 0.0), high + room)
    ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    tidy(ax)


def mark_cardinality(ax: "Axes", k: int, y: float, label: str = "_") -> None:
    """Mark a number of features on a curve by a ring and a dotted line."""
    ax.axvline(k, color=INK, linewidth=0.9, linestyle=(0, (1, 3)), zorder=2)
    ax.plot([k], [y], linestyle="none", marker=".", markersize=22, markerfacecolor="none", markeredgecolor=INK,
            markeredgewidth=1.2, zorder=5, label=label)  # fmt: skip
