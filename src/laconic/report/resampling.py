"""Pictures and tables of data that were made at random: components beside noise, features by frequency."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter
from rich.console import Group
from rich.text import Text

from laconic.report.style import COLOURS, INK, PALE, clipped, tidy
from laconic.report.tables import MOST_ROWS, new_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from laconic.model.noise import NoiseComparison
    from laconic.model.stability import Stability

# The width of the cloud of values that were found in noise, in units of the distance between two components.
CLOUD = 0.26
# A picture of frequencies draws at most this many features and components, and so many components side by side.
MOST_BARS, MOST_PANELS, SIDE_BY_SIDE = 40, 6, 3


def plot_noise(comparison: "NoiseComparison", ax: "Axes | None" = None) -> "Axes":
    """Draw the value of each component beside the values that the same search found in permuted tables.

    A filled point counts. The first component that is no better than noise does not, and nor do those after it. The
    bar is the 95 % quantile of the noise.
    """
    records = comparison.components
    width = max(4.2, 1.6 + 0.9 * len(records))
    ax = Figure(figsize=(min(width, 12.0), 4.2), layout="constrained").add_subplot() if ax is None else ax
    numbers = np.array([record.component for record in records])
    values = np.array([record.value for record in records])
    counts = np.arange(len(records)) < comparison.n_real()
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
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    return ax


def plot_stability(
    found: "Stability", ax: "Axes | None" = None, *, component: int = 1, threshold: float = 0.75
) -> "Axes":
    """Draw the features of one component by the share of samples that choose them, the most frequent on top.

    Dark bars are features that are chosen from all rows. The line marks a frequency.
    """
    table = found.to_frame()
    table = table[table["component"] == component]
    # A feature that is chosen from all rows is drawn, however rare it is in samples.
    shown = table[table["in_support"] | (table["frequency"].rank(ascending=False, method="first") <= MOST_BARS)]
    left_out = len(table) - len(shown)
    if ax is None:
        ax = Figure(figsize=(6.4, 1.9 + 0.24 * len(shown)), layout="constrained").add_subplot()
    places = np.arange(len(shown))
    colours = [COLOURS[0] if inside else PALE for inside in shown["in_support"]]
    ax.barh(places, shown["frequency"], color=colours, height=0.72)
    ax.axvline(threshold, color=COLOURS[2], linewidth=1.2, linestyle=(0, (4, 3)), zorder=3)
    ax.annotate(f"{100 * threshold:.3g} %", (threshold, 1), (0, 2), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", fontsize="small", color=COLOURS[2])  # fmt: skip
    ax.set_yticks(places, [clipped(str(feature), 28) for feature in shown["feature"]], parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    more = f"\n({left_out} rarer features are not drawn)" if left_out else ""
    ax.set_xlabel(f"Chosen by so many of {len(found.supports)} {found.samples}{more}", fontsize="small")
    low, high = found.intervals[component - 1]
    stability = f"stability {found.indices[component - 1]:.2f} ({low:.2f} to {high:.2f})"
    ax.set_title(f"Component {component}\n{stability}", pad=16, fontsize="medium")
    handles = [
        Patch(color=COLOURS[0], label="chosen from all rows"),
        Patch(color=PALE, label="chosen in samples only"),
    ]
    if not shown["in_support"].all():
        ax.legend(handles=handles, loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize="small")
    tidy(ax)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def stability_figure(found: "Stability", threshold: float = 0.75) -> Figure:
    """Draw the first components side by side."""
    count = min(len(found.components), MOST_PANELS)
    table = found.to_frame()
    longest = min(MOST_BARS, max(int((table["component"] == t + 1).sum()) for t in range(count)))
    rows, columns = -(-count // SIDE_BY_SIDE), min(count, SIDE_BY_SIDE)
    figure = Figure(figsize=(max(6.4, 4.2 * columns), rows * (1.9 + 0.24 * longest)), layout="constrained")
    for place in range(count):
        ax = figure.add_subplot(rows, columns, place + 1)
        plot_stability(found, ax, component=place + 1, threshold=threshold)
        # All panels have room for the same number of bars, so that all bars are equally thick.
        ax.set_ylim(max(longest - 0.4, ax.get_ylim()[0]), -0.6)
    return figure


def stability_tables(found: "Stability") -> list[Group]:
    """Return a table for each component: the features by frequency, and whether all rows choose them."""
    tables, frame = [], found.to_frame()
    for number in range(1, len(found.components) + 1):
        rows = frame[frame["component"] == number]
        table = new_table()
        table.add_column("Feature", overflow="fold")
        table.add_column("Frequency", justify="right", no_wrap=True)
        table.add_column("Chosen from all rows", no_wrap=True)
        shown = rows[:MOST_ROWS]
        for feature, frequency, inside in zip(shown["feature"], shown["frequency"], shown["in_support"], strict=True):
            table.add_row(Text(str(feature)), Text(f"{100 * frequency:.0f} %"), "yes" if inside else "no")
        if len(rows) > MOST_ROWS:
            table.add_row(Text(f"... and {len(rows) - MOST_ROWS} more that are chosen more rarely"))
        tables.append(Group(Text(f"Component {number}: {len(found.supports)} {found.samples}", style="bold"), table))
    return tables
