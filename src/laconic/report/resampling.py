"""Pictures of tables that were made at random: components beside noise."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from laconic.model.noise import LEVEL
from laconic.report.style import COLOURS, INK, PALE, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from laconic.model.noise import NoiseComparison

# The width of the cloud of values that were found in noise, in units of the distance between two components.
CLOUD = 0.26


def plot_noise(comparison: "NoiseComparison", ax: "Axes | None" = None) -> "Axes":
    """Draw the value of each component beside the values that the same search found in permuted tables.

    A filled point is better than noise. The bar is the 95 % quantile of the noise.
    """
    records = comparison.components
    width = max(4.2, 1.6 + 0.9 * len(records))
    ax = Figure(figsize=(min(width, 12.0), 4.2), layout="constrained").add_subplot() if ax is None else ax
    numbers = np.array([record.component for record in records])
    values = np.array([record.value for record in records])
    better = np.array([record.p_value <= LEVEL for record in records])
    for record in records:
        # The places across have no meaning. They only keep equal values apart.
        spread = CLOUD * np.cos(np.arange(record.permutations) * np.pi * (np.sqrt(5) - 1))
        first = record is records[0]
        ax.plot(record.component + spread, record.noise, linestyle="none", marker="o", markersize=2.5, color=PALE,
                label="found in permuted tables" if first else "_", zorder=2)  # fmt: skip
        ax.hlines(record.quantile, record.component - CLOUD, record.component + CLOUD, color=INK, linewidth=1.2,
                  label="95 % quantile of them" if first else "_", zorder=3)  # fmt: skip
    for which, face, label in (
        (better, COLOURS[0], "component"),
        (~better, "white", "component, no better than noise"),
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
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    return ax
