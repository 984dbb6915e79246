"""Pictures. Each function draws one on the axes given, or on a new figure, and returns the axes.

`ax` may also be an empty figure of matplotlib. It then gets the size that the picture needs, and pyplot is left alone.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

import laconic.report.plot_parts as parts
from laconic.core.arrays import PROVED, Floats
from laconic.core.words import counted, is_whole
from laconic.report.colouring import Colouring, colouring_of, row_names
from laconic.report.plot_parts import COLOURS, GREY, INK, LEGEND_ROWS, LEGEND_WIDTH, Place, axes_for, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from laconic.model.estimator import SparsePCA

# Without a choice of components, bars are drawn for at most this many.
MOST_COMPONENTS = 12
# At most so many rows get a name, and so many arrows that end together.
MOST_LABELS, MOST_NAMES = 14, 6
# The longest arrow reaches this share of the way from the origin to the farthest row, along one of the axes.
REACH = 0.9


def loadings(
    model: "SparsePCA",
    *,
    components: int | Sequence[int] | None = None,
    max_features: int | None = 20,
    ax: "Place" = None,
) -> "Axes":
    """Draw the loadings of components, as signed bars below each other.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA`.
    components : int or sequence of int, optional
        The numbers of the components, from 1. By default all of them, but at most the first twelve.
    max_features : int or None, default=20
        How many features of a component are drawn at most, those with the largest loadings; None for all.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    if max_features is not None and (not is_whole(max_features) or max_features < 1):
        raise ValueError(f"max_features={max_features!r} must be an int of at least 1, or None for all features.")
    check_is_fitted(model)
    everything = range(1, model.n_components_ + 1)
    numbers = parts.checked_components(model, everything[:MOST_COMPONENTS] if components is None else components)
    more = len(everything) - len(numbers) if components is None else 0
    rows, names = model.components_[[number - 1 for number in numbers]], parts.feature_names(model)
    drawn = [np.argsort(-np.abs(row), kind="stable")[: np.count_nonzero(row)][:max_features] for row in rows]
    places = sum(len(features) + 1 for features in drawn) + 0.4 * (len(drawn) - 1)
    ax = axes_for(ax, (6.4, 0.9 + places * parts.bar_height(names[i] for features in drawn for i in features)))
    limit, start, ticks, shown = float(np.abs(rows).max()) * 1.05, 0.0, list[float](), list[str]()
    ax.axvline(0, color=INK, linewidth=0.8)
    for number, row, features in zip(numbers, rows, drawn, strict=True):
        total = int(np.count_nonzero(row))
        cut = f", {len(features)} largest of {total} loadings" if len(features) < total else ""
        ax.annotate(parts.component_title(model, number) + cut, (0, start), (2, 0), xycoords=("axes fraction", "data"),
                    textcoords="offset points", va="center", fontweight="bold", fontsize="small",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        at = start + 1 + np.arange(len(features))
        ax.barh(at, row[features], color=[COLOURS[0] if row[i] > 0 else COLOURS[2] for i in features], height=0.72)
        ticks += at.tolist()
        shown += [names[i] for i in features]
        start += len(features) + 1.4
    ax.set_ylim(start - 0.8, -0.6)
    ax.set_xlim(-limit if (rows < 0).any() else 0, limit)
    ax.set_xlabel("Loading" + (f"\n({more} more components are not drawn)" if more > 0 else ""))
    tidy(ax, "x")
    parts.name_bars(ax, ticks, shown)
    return ax


def scores(
    model: "SparsePCA",
    X: Any,
    *,
    components: int | Sequence[int] = (1, 2),
    color: Any = None,
    labels: Any = None,
    ax: "Place" = None,
) -> "Axes":
    """Draw rows in the plane of two components, or along one.

    Rows at one place are drawn side by side. Above 20,000 rows without colours, hexagons show how many they hold.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA`.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows, as in `SparsePCA.transform`.
    components : int or sequence of int, default=(1, 2)
        The numbers of one or two components, from 1. A model of one component draws that.
    color : array-like of shape (n_samples,) or str, optional
        One value for each row, or a column of `adata.obs`. Numbers get a colour bar. Text, and whole numbers of at most
        ten different values, make groups that differ in colour and shape.
    labels : array-like of shape (n_samples,) or False, optional
        One name for each row. The rows that stand apart get their names where there is room. By default the index of a
        table, if it holds text; False for none.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    return _draw_scores(model, X, components, color, labels, ax)


def biplot(
    model: "SparsePCA",
    X: Any,
    *,
    components: Sequence[int] = (1, 2),
    color: Any = None,
    labels: Any = None,
    ax: "Place" = None,
) -> "Axes":
    """Draw rows in the plane of two components, and an arrow for each feature that one of them uses.

    An arrow ends at the two loadings of its feature, all multiplied by one number: the longest arrow then reaches nine
    tenths of the way to the farthest row, along one of the axes. The axes above and on the right show the loadings.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA` of at least two components.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows, as in `SparsePCA.transform`.
    components : sequence of int, default=(1, 2)
        The numbers of two components, from 1.
    color, labels : array-like of shape (n_samples,), optional
        As in `scores`.
    ax : Axes, optional
        The axes to draw on. By default pyplot makes a figure.
    """
    if len(parts.checked_components(model, components, most=2)) != 2:
        given = "the model has one" if model.n_components_ == 1 else f"components={components!r} has one"
        raise ValueError(f"A biplot needs two components, and {given}; use laconic.plot.scores.")
    return _draw_scores(model, X, components, color, labels, ax, arrows=True)


def _draw_scores(
    model: "SparsePCA", X: Any, components: Any, color: Any, labels: Any, ax: "Place", *, arrows: bool = False
) -> "Axes":
    numbers = parts.checked_components(model, components, most=2)
    values = np.asarray(model.transform(X), dtype=np.float64)[:, [number - 1 for number in numbers]]
    colouring, names = colouring_of(X, color, len(values)), row_names(X, labels, len(values))
    there = np.asarray(np.isfinite(values).all(axis=1))
    if not there.any():
        raise ValueError("X has no row with a score in these components; there is nothing to draw.")
    values, colouring = values[there], colouring.part(there)
    names = None if names is None else [names[i] for i in np.flatnonzero(there)]
    handles = parts.handles_of(colouring)
    if not there.all():
        missing = f"without a score, not drawn ({np.count_nonzero(~there)})"
        handles.append(parts.marker_handle("x", GREY, 5.0, missing, markeredgecolor=GREY))
    if len(numbers) == 1:
        ax = axes_for(ax, (6.8, min(2.6 + 0.35 * max(1, len(colouring.names)), 12.0)))
        _draw_strip(ax, values[:, 0], colouring)
        parts.label_axes(ax, model, numbers)
        return ax
    lines = sum(parts.wrapped(handle.get_label(), LEGEND_WIDTH).count("\n") + 1.6 for handle in handles[:LEGEND_ROWS])
    columns = -(-len(handles) // LEGEND_ROWS)
    ax = axes_for(ax, (6.2 + 1.5 * columns + arrows * 0.4, max(5.2, 0.165 * lines)))
    ends = np.empty((0, 2))
    if arrows:
        row = model.components_[[number - 1 for number in numbers]]
        used = np.flatnonzero(row.any(axis=0))
        ends, arrow_names = _draw_arrows(ax, row[:, used].T, values), [parts.feature_names(model)[i] for i in used]
    places = parts.draw_rows(ax, values, colouring)
    tidy(ax)
    parts.legend_beside(ax, handles, colouring.title if colouring.codes is not None else "", 0.16 if arrows else 0.02)
    parts.label_axes(ax, model, numbers)
    shafts = np.concatenate([ends * t for t in np.linspace(0.1, 0.9, 12)])
    if arrows:
        _name_arrows(ax, ends, arrow_names, places, shafts)
    if names is not None:
        chosen = parts.standing_apart(values, colouring.codes, MOST_LABELS)
        parts.write_names(ax, [names[i] for i in chosen], places[chosen], np.vstack([places, shafts]))
    return ax


def _draw_arrows(ax: Any, vectors: Floats, values: Floats) -> Floats:
    """Draw arrows for features, and axes of loadings above and on the right; return where the arrows end."""
    farthest, longest = np.abs(values).max(axis=0), np.abs(vectors).max(axis=0)
    reached = farthest[longest > 0] / longest[longest > 0]
    factor = REACH * float(reached.min()) if (reached > 0).all() else REACH * float(reached.max()) or 1.0
    ends = np.asarray(factor * vectors)
    ax.axhline(0, color=INK, linewidth=0.5, zorder=1)
    ax.axvline(0, color=INK, linewidth=0.5, zorder=1)
    ax.quiver(np.zeros(len(ends)), np.zeros(len(ends)), *ends.T, angles="xy", scale_units="xy", scale=1,
              color=COLOURS[2], width=0.005, zorder=4)  # fmt: skip
    ax.update_datalim(np.vstack([ends, np.zeros(2)]))
    for side, which in (("top", ax.secondary_xaxis), ("right", ax.secondary_yaxis)):
        other = which(side, functions=(lambda v: v / factor, lambda v: v * factor))
        other.tick_params(colors=COLOURS[2], labelsize="small")
        other.spines[side].set_color(COLOURS[2])
        (other.xaxis if side == "top" else other.yaxis).set_label_text("Loading", color=COLOURS[2])
    return ends


def _name_arrows(ax: Any, ends: Floats, names: Sequence[str], places: Floats, shafts: Floats) -> None:
    """Name arrows, the longest first. Arrows that end at one place share a text. Say how many names have no room."""
    order = np.argsort(-np.linalg.norm(ends, axis=1), kind="stable")
    together = pd.DataFrame(np.round(ends / np.abs(ends).max(), 2)[order]).groupby([0, 1], sort=False).indices
    groups = [[names[i] for i in order[own]] for own in together.values()]
    texts = [parts.listed(group[:MOST_NAMES], 24, len(group)) for group in groups]
    at = ends[[order[own[0]] for own in together.values()]]
    style = {"color": COLOURS[2], "fontweight": "bold", "zorder": 7}
    left = parts.write_names(ax, texts, at, np.vstack([places, shafts]), **style)
    # A name may cover rows if there is no other place, but neither arrows nor other names.
    left = parts.write_names(ax, left, at[[texts.index(text) for text in left]], shafts, **style)
    if left:
        ax.set_title(f"no room for the names of {len(left)} arrows", loc="right", fontsize="small")


def _draw_strip(ax: Any, values: Floats, colouring: Colouring) -> None:
    """Draw rows along one component, with a lane for each group."""
    groups = colouring.groups() or [(0, f"all rows ({len(values)})", np.ones(len(values), dtype=bool))]
    lanes = sum(place * rows for place, (_, _, rows) in enumerate(groups))
    # The places within a lane have no meaning. They only keep equal scores apart.
    across = -lanes + 0.3 * np.cos(np.arange(len(values)) * np.pi * (np.sqrt(5) - 1))
    parts.draw_rows(ax, np.column_stack([values, across]), colouring)
    tidy(ax, "x")
    parts.name_bars(ax, -np.arange(len(groups)), [name for _, name, _ in groups])
    ax.set_ylim(-len(groups) + 0.4, 0.6)
    if colouring.codes is not None:
        ax.set_ylabel(parts.wrapped(colouring.title, 30), **parts.PLAIN)


def path(path: Any, *, ax: "Place" = None) -> "Axes":
    """Draw a path: the variance found and the proved upper bound, against the number of features.

    A filled point is optimal. Elsewhere a band reaches from the variance found to the proved upper bound.

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
    k, dense, total = path.cardinalities, path.dense_variance, path.total_variance
    # A matrix that is not semidefinite may have no positive total variance. Then there are no shares of it.
    unit = total / 100 if 0 < dense <= total * (1 + PROVED) else 1.0
    found, bounded = path.values / unit, np.isfinite(path.upper_bounds)
    # No sparse component has more variance than the ordinary one.
    top = np.where(bounded, np.minimum(path.upper_bounds / unit, np.maximum(dense / unit, found)), np.nan)
    proved = path.upper_bounds - path.values <= PROVED * np.abs(path.values)
    if (bounded & ~proved).any():
        ax.fill_between(k, found, top, color=COLOURS[1], alpha=0.35, linewidth=0, label="still possible", zorder=2)
        ax.plot(k, top, color=COLOURS[1], linewidth=1.4, linestyle="--", label="proved upper bound", zorder=2)
    ax.plot(k, found, color=COLOURS[0], linewidth=1.4, zorder=3)
    for which, face, words in ((proved, COLOURS[0], "found, optimal (proved)"), (~proved, "white", "found")):
        if which.any():
            ax.plot(k[which], found[which], linestyle="none", marker="o", markersize=4.0, markerfacecolor=face,
                    markeredgecolor=COLOURS[0], label=words, zorder=4)  # fmt: skip
    ax.axhline(dense / unit, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1, label="ordinary PCA")
    ax.set_xlabel("Number of features")
    ax.set_ylabel("Share of the variance (%)" if unit != 1.0 else "Variance")
    values = np.array([0.0, *found, dense / unit])
    ax.set_ylim(1.06 * values.min(), 1.06 * values.max())
    ax.set_xlim(0, k[-1] + max(1.0, 0.03 * k[-1]))
    ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    tidy(ax)
    parts.legend_beside(ax, ax.get_legend_handles_labels()[0])
    return ax


def choice(choice: Any, *, ax: Any = None) -> Any:
    """Draw what `laconic.choose` has found: ordinary components beside noise, and variance against features.

    Components above the dashed line are better than noise. The ring is at the bend of the curve.

    Parameters
    ----------
    choice : Choice
        What `laconic.choose` returns.
    ax : sequence of two Axes, optional
        The axes to draw on, or an empty figure. By default pyplot makes a figure. The two axes are returned.
    """
    if not hasattr(choice, "scree") or not hasattr(choice, "held"):
        raise TypeError(f"choice must be what laconic.choose returns; a {type(choice).__name__} was given.")
    if not isinstance(ax, Sequence | np.ndarray):
        right = axes_for(ax, (9.6, 4.2))
        right.set_subplotspec(right.figure.add_gridspec(1, 2)[1])
        ax = right.figure.add_subplot(1, 2, 1), right
    left, right = ax
    unit, share = (choice.total / 100, " (% of the total)") if choice.total > 0 else (1.0, "")
    if choice.scree is None or choice.scree.noise is None:
        left.set_axis_off()
        left.text(0, 0.5, "The components were not\ncompared with noise.", transform=left.transAxes)
    else:
        numbers = 1 + np.arange(len(choice.scree.variances))
        left.plot(numbers, choice.scree.variances / unit, color=COLOURS[0], marker="o", label="ordinary components")
        left.plot(numbers, choice.scree.noise_line / unit, color=GREY, linestyle="--", label="noise: permuted columns")
        left.set_xlabel("Component")
    right.plot(choice.cardinalities, choice.held / unit, color=COLOURS[0], marker=".", label="held together")
    right.axhline(choice.ordinary / unit, color=GREY, linestyle="--", label="ordinary components")
    right.plot([choice.bend], choice.held[choice.cardinalities == choice.bend] / unit, linestyle="none", marker=".",
               markersize=22, markerfacecolor="none", markeredgecolor=INK,
               label=f"bend: {counted(choice.bend, 'feature')}")  # fmt: skip
    right.set_xlabel("Cardinality (number of features of each component)")
    for one in (left, right) if left.axison else (right,):
        one.set_ylabel(f"Variance{share}")
        one.set_ylim(bottom=0)
        one.locator_params(axis="x", integer=True, min_n_ticks=1)
        one.legend(frameon=False)
        tidy(one)
    return np.array([left, right])
