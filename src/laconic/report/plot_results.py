"""Pictures of results: paths, the choice of a number of features, stability, and noise."""

from typing import TYPE_CHECKING, Any

import numpy as np

import laconic.report.plot_parts as parts
from laconic.core.arrays import PROVED
from laconic.core.words import counted
from laconic.report.plot_parts import COLOURS, GREY, INK, PALE, Place, axes_for, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A picture of frequencies or loadings draws at most this many features.
MOST_BARS = 40
# Above this many points of a curve their markers are small.
MANY_POINTS = 40
# The part of noise that a component must exceed is drawn as a cloud of this width.
CLOUD = 0.26


def path(path: Any, *, ax: "Place" = None) -> "Axes":
    """Draw a path: the variance found and the proved upper bound, against the number of features.

    A filled point is optimal. Elsewhere a band reaches from the variance found to the proved upper bound. The number of
    features that the path suggests has a ring.

    Parameters
    ----------
    path : Path
        What `laconic.path` returns.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    if not hasattr(path, "upper_bounds") or not hasattr(path, "cardinalities"):
        raise TypeError(f"path must be what laconic.path returns; a {type(path).__name__} was given.")
    ax = axes_for(ax, (7.6, 4.2))
    k, dense = path.cardinalities, path.dense_variance
    # A matrix that is not semidefinite may have no positive variance. Then there are no shares.
    unit = dense / 100 if dense > 0 else 1.0
    found, bounded = path.values / unit, np.isfinite(path.upper_bounds)
    # No sparse component has more variance than the dense one.
    top = np.where(bounded, np.minimum(path.upper_bounds / unit, np.maximum(dense / unit, found)), np.nan)
    proved = path.upper_bounds - path.values <= PROVED * np.abs(path.values)
    if (bounded & ~proved).any():
        ax.fill_between(k, found, top, color=COLOURS[1], alpha=0.35, linewidth=0, label="still possible", zorder=2)
        ax.plot(k, top, color=COLOURS[1], linewidth=1.4, linestyle="--", label="proved upper bound", zorder=2)
    ax.plot(k, found, color=COLOURS[0], linewidth=1.4, zorder=3)
    size = 5.0 if len(k) <= MANY_POINTS else 3.0
    parts.points(ax, k, found, proved, "found, optimal (proved)", "found", size=size)
    ax.axhline(dense / unit, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1, label="dense component")
    if path.suggested in k:
        _ring(ax, path.suggested, found[k == path.suggested][0], f"suggested: {counted(path.suggested, 'feature')}")
    ax.set_xlabel("Cardinality (number of features)")
    ax.set_ylabel("Variance explained (% of the dense component)" if dense > 0 else "Variance")
    parts.limit_values(ax, np.append(found, dense / unit))
    ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    parts.whole_numbers(ax.xaxis)
    tidy(ax)
    parts.legend_beside(ax, ax.get_legend_handles_labels()[0])
    return ax


def _ring(ax: Any, k: float, y: float, label: str = "_") -> None:
    """Mark a number of features on a curve by a ring and a dotted line."""
    ax.axvline(k, color=INK, linewidth=0.9, linestyle=(0, (1, 3)), zorder=2)
    ax.plot([k], [y], linestyle="none", marker=".", markersize=22, markerfacecolor="none", markeredgecolor=INK,
            markeredgewidth=1.2, zorder=5, label=label)  # fmt: skip


def choice(choice: Any, *, component: int = 1, ax: "Place" = None) -> "Axes":
    """Draw the variance of one component against its number of features, with a ring at the sharpest bend.

    Parameters
    ----------
    choice : Choice
        What `laconic.choose` returns.
    component : int, default=1
        The number of the component, from 1.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    drawn = {one.component: one for one in choice.components if one.bend is not None}
    if not drawn:
        raise ValueError("There is nothing to draw: the numbers of features were given.")
    if component not in drawn:
        raise ValueError(f"component={component!r} must be one of {', '.join(map(str, drawn))}.")
    one = drawn[component]
    curve: Any = one.bend
    ax = axes_for(ax, (7.6, 4.4))
    k, shares = curve.cardinalities, 100 * curve.values / one.dense
    size = 4.0 if len(k) <= MANY_POINTS else 2.5
    ax.plot(k, shares, color=COLOURS[0], linewidth=1.4, marker="o", markersize=size, zorder=4, label="found")
    real = component <= choice.n_components
    _ring(ax, one.cardinality, float(shares[k == one.cardinality][0]),
          f"{'recommended' if real else 'chosen'}: {counted(one.cardinality, 'feature')}")  # fmt: skip
    ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    parts.limit_values(ax, shares)
    ax.set(xlabel="Number of features", ylabel="Variance explained (% of the dense component)")
    parts.whole_numbers(ax.xaxis)
    tidy(ax)
    note = "" if real else " (not counted: no better than noise)"
    ax.set_title(f"Component {component}{note}", loc="left", fontsize=11, fontweight="bold")
    parts.legend_beside(ax, ax.get_legend_handles_labels()[0])
    return ax


def stability(stability: Any, *, component: int = 1, threshold: float = 0.75, ax: "Place" = None) -> "Axes":
    """Draw the features of a component by the share of samples that choose them, the most frequent on top.

    Dark bars are features that are chosen from all rows. The line marks a frequency.

    Parameters
    ----------
    stability : Stability
        What `laconic.stability` returns.
    component : int, default=1
        The number of the component, from 1.
    threshold : float, default=0.75
        The frequency that is marked.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    table = stability.to_frame()
    table = table[table["component"] == component]
    if not len(table):
        raise ValueError(f"component={component!r} must be a number from 1 to {len(stability.components)}.")
    # A feature that is chosen from all rows is drawn, however rare it is in samples.
    shown = table[table["in_support"] | (table["frequency"].rank(ascending=False, method="first") <= MOST_BARS)]
    ax = axes_for(ax, (7.6, 1.9 + len(shown) * parts.bar_height(shown["feature"])))
    colours = [COLOURS[0] if inside else PALE for inside in shown["in_support"]]
    ax.barh(np.arange(len(shown)), 100 * shown["frequency"], color=colours, height=0.72)
    ax.axvline(100 * threshold, color=COLOURS[2], linewidth=1.2, linestyle=(0, (4, 3)), zorder=3)
    ax.annotate(f"{100 * threshold:.3g} %", (100 * threshold, 1), (0, 2), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", fontsize="small", color=COLOURS[2])  # fmt: skip
    ax.set_xlim(0, 100)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    more = f"\n({len(table) - len(shown)} rarer features are not drawn)" if len(shown) < len(table) else ""
    ax.set_xlabel(f"Chosen by so many of {len(stability.supports)} {stability.samples} (%){more}", fontsize="small")
    low, high = stability.intervals[component - 1]
    index = f"stability {stability.indices[component - 1]:.2f} ({low:.2f} to {high:.2f})"
    ax.set_title(f"Component {component}\n{index}", pad=16, fontsize="medium")
    tidy(ax, "x")
    if not shown["in_support"].all():
        words = ((COLOURS[0], "chosen from all rows"), (PALE, "chosen in samples only"))
        parts.legend_beside(ax, [parts.marker_handle("s", colour, 9.0, label) for colour, label in words])
    parts.name_bars(ax, np.arange(len(shown)), shown["feature"])
    return ax


def noise(noise: Any, *, ax: "Place" = None) -> "Axes":
    """Draw the value of each component beside the values that the same search found in permuted tables.

    A filled point counts. The first component that is no better than noise does not, and nor do those after it.

    Parameters
    ----------
    noise : Noise
        What `laconic.noise` returns.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    records = noise.components
    ax = axes_for(ax, (min(max(6.0, 3.4 + 0.9 * len(records)), 13.0), 4.2))
    for record in records:
        # The places across have no meaning. They only keep equal values apart.
        spread = CLOUD * np.cos(np.arange(record.permutations) * np.pi * (np.sqrt(5) - 1))
        first = record is records[0]
        ax.plot(record.component + spread, record.noise, linestyle="none", marker="o", markersize=2.5, color=PALE,
                label="found in permuted tables" if first else "_", zorder=2)  # fmt: skip
        ax.hlines(record.quantile, record.component - CLOUD, record.component + CLOUD, color=INK, linewidth=1.2,
                  label="95 % quantile of them" if first else "_", zorder=3)  # fmt: skip
    numbers = np.array([record.component for record in records])
    values = np.array([record.value for record in records])
    counts = np.arange(len(records)) < noise.n_real()
    parts.points(ax, numbers, values, counts, "component", "component, does not count", marker="D", size=7.0)
    ax.set(xlabel="Component", ylabel="Variance found, after earlier components")
    ax.set_xlim(0.4, len(records) + 0.6)
    ax.set_ylim(0, 1.12 * max([*values, *(v for record in records for v in record.noise)]))
    parts.whole_numbers(ax.xaxis)
    tidy(ax, "y")
    parts.legend_beside(ax, ax.get_legend_handles_labels()[0])
    return ax
