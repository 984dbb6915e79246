"""Picture: variance and number of features against the penalty."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.report.pictures.display import Display
from laconic.report.style import COLOURS, INK, legend_beside, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from laconic.model.penalty_path import PenaltyPath


@dataclass(eq=False, repr=False)
class PenaltyPathDisplay(Display):
    """Two panels: the variance with its proved bound, and the number of features, against the penalty.

    Attributes
    ----------
    path
        The path of penalties.
    cardinality
        The number of features that is marked, or None.
    """

    path: "PenaltyPath"
    cardinality: int | None = None

    def _grid(self) -> tuple[int, int]:
        return 2, 1

    def _size(self) -> tuple[float, float]:
        return 7.6, 6.0

    def _draw(self, axes: "NDArray[Any]") -> None:
        top, bottom = axes
        path, colour = self.path, COLOURS[0]
        rho, found, upper = path.penalties, path.values, path.upper_bounds
        bounded = np.isfinite(upper)
        if bounded.any():
            limit = np.where(bounded, upper, np.nan)
            top.fill_between(rho, found, limit, color=COLOURS[1], alpha=0.35, linewidth=0, label="still possible",
                             zorder=2)  # fmt: skip
            top.plot(rho, limit, color=COLOURS[1], linewidth=1.4, linestyle="--",
                     label="proved upper bound for this number of features", zorder=2)  # fmt: skip
        top.plot(rho, found, color=colour, linewidth=1.0, marker="o", markersize=4, label="found", zorder=3)
        top.set_ylabel("Variance")
        low, high = min(0.0, float(found.min())), max(0.0, float(np.where(bounded, upper, found).max()))
        top.set_ylim(low * 1.05, high * 1.06 or 1.0)
        top.set_xscale("log")
        tidy(top)
        draw_cardinalities(bottom, path)
        if self.cardinality is not None:
            for ax in axes:
                first, last = rho[path.cardinalities == self.cardinality][[0, -1]]
                ax.axvspan(first, last, facecolor="none", edgecolor=INK, linewidth=0.9, linestyle=(0, (1, 3)), zorder=1,
                           label=f"marked: {self.cardinality} features" if ax is top else "_")  # fmt: skip
        top.sharex(bottom)
        top.tick_params(labelbottom=False)
        legend_beside(top, top.get_legend_handles_labels()[0])


def draw_cardinalities(ax: "Axes", path: "PenaltyPath") -> None:
    """Draw the number of features against the penalty, on a logarithmic scale."""
    ax.step(path.penalties, path.cardinalities, where="mid", color=COLOURS[0], linewidth=1.0, zorder=2)
    ax.plot(path.penalties, path.cardinalities, linestyle="none", marker="o", markersize=4, color=COLOURS[0], zorder=3)
    ax.set_xscale("log")
    ax.set_xlabel("Penalty ρ (units of variance)")
    ax.set_ylabel("Cardinality (number of features)")
    ax.set_ylim(0, 1.05 * float(path.cardinalities.max()))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    tidy(ax)
