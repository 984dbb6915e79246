"""Picture: components beside what the same search finds in permuted tables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.report.pictures.display import Display
from laconic.report.style import COLOURS, INK, PALE, legend_beside, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.noise import NoiseComparison

# The width of the cloud of values that were found in noise, in units of the distance between two components.
CLOUD = 0.26


@dataclass(eq=False, repr=False)
class NoiseDisplay(Display):
    """The value of each component beside the values that the same search found in permuted tables.

    A filled point counts. The first component that is no better than noise does not, and nor do those after it. The
    bar is the 95 % quantile of the noise.

    Attributes
    ----------
    comparison
        The values of the components, and those in noise.
    """

    comparison: "NoiseComparison"

    def _size(self) -> tuple[float, float]:
        return min(max(6.0, 3.4 + 0.9 * len(self.comparison)), 13.0), 4.2

    def _draw(self, axes: "NDArray[Any]") -> None:
        ax, records = axes[0], self.comparison.components
        numbers = np.array([record.component for record in records])
        values = np.array([record.value for record in records])
        counts = np.arange(len(records)) < self.comparison.n_real()
        for record in records:
            # The places across have no meaning. They only keep equal values apart.
            spread = CLOUD * np.cos(np.arange(record.permutations) * np.pi * (np.sqrt(5) - 1))
            first = record is records[0]
            ax.plot(record.component + spread, record.noise, linestyle="none", marker="o", markersize=2.5, color=PALE,
                    label="found in permuted tables" if first else "_", zorder=2)  # fmt: skip
            ax.hlines(record.quantile, record.component - CLOUD, record.component + CLOUD, color=INK, linewidth=1.2,
                      label="95 % quantile of them" if first else "_", zorder=3)  # fmt: skip
        for which, face, label in (
            (counts, COLOURS[0], "component"),
            (~counts, "white", "component, does not count"),
        ):
            if which.any():
                ax.plot(numbers[which], values[which], linestyle="none", marker="D", markersize=7, markerfacecolor=face,
                        markeredgecolor=COLOURS[0], label=label, zorder=4)  # fmt: skip
        ax.set_xlabel("Component")
        ax.set_ylabel("Variance found, after earlier components")
        ax.set_xlim(0.4, len(records) + 0.6)
        ax.set_ylim(0, 1.12 * max([*values, *(v for record in records for v in record.noise)]))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        tidy(ax)
        ax.grid(visible=False, axis="x")
        legend_beside(ax, ax.get_legend_handles_labels()[0])
