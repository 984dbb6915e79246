"""What the data add to a page: variance against the number of columns, ordinary PCA, and rows by their scores."""

import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from laconic.bounds.names import get_solver
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, Note, warn
from laconic.covariance.make import Made
from laconic.data.rows import open_source
from laconic.model.noise import MOST_ORDINARY, TABLES, Scree, scree_of
from laconic.model.paths import Path, path_of
from laconic.model.scores import scores_of, used_features
from laconic.model.settings import made_of
from laconic.report.colouring import NO_VALUE, OTHERS, Colouring, colouring_of, row_names
from laconic.search.problem import Status, abilities_of

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Paths of so many components are drawn, each with at most so many columns.
MOST_PATHS, LONGEST_PATH, SHORTEST_PATH = 4, 50, 20
# With more columns than this, curves end soon after the component, and have no bounds of their own: both would take
# longer than the fit.
MOST_BOUNDED, FURTHER = 2000, 5
UNBOUNDED = "With so many columns, only the limit of the component itself is drawn; it holds for fewer columns, too."
# The work of all curves: columns of the table times columns of the component, summed over all points. 10^6 take about
# four seconds in a table of 5000 columns.
MOST_WORK = 3_000_000
# A value is better than another if it is larger by this share. A fall of a curve by this share of its height is seen.
BETTER, VISIBLE = 1e-6, 0.003
# Totals of variance that agree to this relative accuracy are those of the same data.
SAME = 1e-8
OTHER_DATA = (
    "These rows are not those that the model was fitted to. The page shows their scores, but neither curves nor the "
    "variances of ordinary PCA."
)
IN_BLOCKS = "The data are read in blocks, so the page has neither rows nor curves nor the variances of ordinary PCA."
NO_ROWS = "The data are read in blocks, so the page does not show their rows."
# A page shows at most this many rows, and the scores of this many components.
MOST_ROWS, MOST_COMPONENTS = 2000, 6
# Groups beyond these are one group, "other". Numbers are divided into as many classes of about equal size.
MOST_GROUPS, CLASSES = 6, 5


@dataclass(frozen=True, eq=False)
class PathPart:
    """The best sets of columns that were found for one component, and proved bounds."""

    component: int  # from 1
    cardinalities: list[int]
    found: list[float]  # the variance that each set adds to the earlier components
    upper: list[float]  # the same, and the proved gap; infinite if nothing is proved
    supports: list[list[int]]  # the columns with the largest loading first
    loadings: list[list[float]]
    chosen: int  # the number of columns of the model's component
    note: str = ""


@dataclass(frozen=True, eq=False)
class DataPart:
    """What the data add."""

    given: str = ""  # "rows" or "covariance"
    same: bool = False  # whether the model was fitted to these data
    notes: list[str] = field(default_factory=list)
    variances: Floats | None = None  # of each column, after scaling
    constant: list[int] = field(default_factory=list)
    paths: list[PathPart] = field(default_factory=list)
    scree: Scree | None = None


def in_blocks(X: Any) -> bool:
    """Say whether data are read in blocks."""
    source = open_source(X)
    return source is not None and source.in_memory() is None


def opened(model: "SparsePCA", X: Any) -> Made | None:
    """Make S of data as the fit made it. Return None for data in blocks, and for data that the fit would not take."""
    if in_blocks(X):
        return None
    certificate = next((one for one in model.certificates_ if one is not None), None)
    n = model.n_features_in_
    # Without a certificate, a square table is a matrix if the fit subtracted no means.
    square = getattr(X, "shape", None) == (n, n) and not model.mean_.any()
    matrix = square if certificate is None else certificate.recipe.given == "covariance"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit has said it all
        try:
            return made_of(model, None if matrix else X, X if matrix else None, None, Monitor())
        except ValueError:  # such as a missing value
            return None


def is_of_fit(model: "SparsePCA", made: Made) -> bool:
    """Say whether a model was fitted to these data: by names, by variance, and by the digest if the model keeps it."""
    if made.covariance.n_features != model.n_features_in_:
        return False
    names, total = getattr(model, "feature_names_in_", None), made.covariance.trace
    if names is not None and made.names is not None and list(names) != list(made.names):
        return False
    # Weights of rows change the variance.
    if abs(total - model.total_variance_) > SAME * abs(total):
        return False
    digests = {one.digest for one in model.certificates_ if one is not None}
    return not digests or made.digest() in digests


def data_part(model: "SparsePCA", X: Any, made: Made | None, *, same: bool, time_limit: float | None) -> DataPart:
    """Compute what the page shows of the data that the model was fitted to, if they are the `same`."""
    if in_blocks(X) if made is None else made.covariance.at_hand is not None:
        return DataPart("rows", notes=[IN_BLOCKS])
    if made is None or not same:
        return DataPart("rows" if made is None else made.recipe.given, notes=[OTHER_DATA])
    chosen = model.choice_
    part = DataPart(
        made.recipe.given,
        True,
        variances=made.covariance.diagonal,
        constant=np.flatnonzero(made.constant).tolist(),
        scree=chosen.scree if chosen and chosen.scree else scree_of(made, MOST_ORDINARY, TABLES),
    )
    with Monitor(time_limit) as monitor:
        part.paths.extend(_paths(model, made, monitor, part.notes))
    return part


def _paths(model: "SparsePCA", made: Made, monitor: Monitor, notes: list[str]) -> list[PathPart]:
    """Return the curves of the first components that were found one after the other.

    If one meets better columns for its component, the model is fitted again from them, and all curves begin again. A
    method that was chosen by name keeps its columns. Its component then has no curve, which would run above it.
    """
    if model._joint is not None:
        notes.append("The components were found together, so there is no curve for each of them.")
        return []
    paths, work, n, count = list[PathPart](), 0, made.covariance.n_features, min(model.n_components_, MOST_PATHS)
    for place, support in enumerate(model.supports_[:count]):
        last = min(LONGEST_PATH, len(support) + FURTHER if n > MOST_BOUNDED else max(SHORTEST_PATH, 2 * len(support)))
        work += n * last * (last + 1) // 2
        if work > MOST_WORK or monitor.is_over:
            count = place
            break
        path = _path(model, made, place, last, monitor.part(count - place))
        best = path.solutions[int(np.searchsorted(path.cardinalities, len(support), side="right")) - 1]
        if best.value <= float(model.lower_bound_[place]) * (1 + BETTER):
            paths.append(_with_component(path, made, model, place))
        elif abilities_of(get_solver(model.method)).improvable:
            warn(f"Its curve met better columns for component {place + 1}, which has them now.", Note)
            model._fit_from([*model.supports_[:place], best.support, *model.supports_[place + 1 :]], made, monitor)
            return _paths(model, made, monitor, notes)
        else:
            notes.append(f"Component {place + 1} has no curve: a wider search finds better columns than this method.")
    if count < model.n_components_:
        some = f"Curves are computed for the first {count} of {model.n_components_} components only."
        notes.append(some if count else "No curves are computed, because they would take long.")
    return paths


def _path(model: "SparsePCA", made: Made, place: int, last: int, monitor: Monitor) -> Path:
    earlier, free, forced = model.components_[:place], np.flatnonzero(~made.constant), model.forced_in
    settings = type(model)(
        proof=None if made.covariance.n_features > MOST_BOUNDED else "fast",
        deflation=model.deflation,
        nonnegative=model.nonnegative,
        forced_in=forced,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit has said it all
        return path_of(
            settings,
            made,
            monitor,
            last=max(min(last, len(free)), 0 if forced is None else len(forced)),
            earlier=earlier,
            free=None if len(free) == made.covariance.n_features else free,
            certified=False,
        )


def _with_component(path: Path, made: Made, model: "SparsePCA", place: int) -> PathPart:
    """Return a curve with the model's own component and bound in its place, as what each set adds to the earlier ones.

    The search and its bounds are about the variance that the earlier components leave, z'Sz. What z adds to them is
    q'Sq with q the part of z orthogonal to them, of unit length. The relative gap of z'Sz is kept.
    """
    found, upper = path.values.copy(), path.upper_bounds.copy()
    pairs = [(s.support, s.loadings) for s in path.solutions]
    support, own, notes = model.supports_[place], float(model.lower_bound_[place]), list[str]()
    k = len(support)
    at = np.flatnonzero(path.cardinalities == k)
    if len(at):
        i = int(at[0])
        found[i], pairs[i] = own, (support, model.components_[place, support])
        upper[i] = min(upper[i], float(model.upper_bound_[place]))
    else:
        notes.append(f"The curve ends at {path.cardinalities[-1]} columns; the component has {k}.")
    # A bound for more columns holds for fewer, too.
    upper = np.minimum.accumulate(upper[::-1])[::-1]
    if model.n_features_in_ > MOST_BOUNDED:
        notes.append(UNBOUNDED)
    if any(s.status is Status.TIME_LIMIT for s in path.solutions):
        notes.append("The time for this curve ran out; a longer time may improve it.")
    ratios = np.maximum(upper, found) / found
    vectors = np.zeros((len(pairs), made.covariance.n_features))
    for vector, (features, loadings) in zip(vectors, pairs, strict=True):
        vector[features] = loadings
    basis = np.linalg.qr(model.components_[:place].T)[0]
    vectors -= vectors @ basis @ basis.T
    images = made.covariance.product(np.ascontiguousarray(vectors.T))
    added = np.einsum("ij,ji->i", vectors, images) / np.einsum("ij,ij->i", vectors, vectors)
    if (np.diff(added) < -VISIBLE * added.max()).any():
        notes.append("It may fall: columns are chosen by what the earlier components leave, not by what they add.")
    orders = [np.argsort(-np.abs(loadings), kind="stable") for _, loadings in pairs]
    return PathPart(
        place + 1,
        path.cardinalities.tolist(),
        added.tolist(),
        (added * ratios).tolist(),
        [features[order].tolist() for (features, _), order in zip(pairs, orders, strict=True)],
        [loadings[order].tolist() for (_, loadings), order in zip(pairs, orders, strict=True)],
        k,
        " ".join(notes),
    )


@dataclass(frozen=True, eq=False)
class Points:
    """Some or all rows of the data."""

    scores: Floats  # a row for each point
    rows: Indices  # the numbers of the rows in the data, from 0
    n_rows: int  # of the data
    rule: str  # how the rows were chosen, in words; empty if all are shown
    labels: list[str] | None = None  # of each point
    groups: list[str] | None = None  # the names of the groups, in order
    sizes: list[int] | None = None  # of the groups, in all rows
    codes: list[int] | None = None  # the group of each point
    ordered: bool = False  # whether the groups are classes of a number
    group_title: str = ""


def points_of(model: "SparsePCA", X: Any, made: Made | None, *, color: Any = None, labels: Any = None) -> Points:
    """Return the rows to draw, of data in memory. If `made` holds them, they need not be read again."""
    names, used = getattr(model, "feature_names_in_", None), used_features(model)
    if (
        made is not None
        and (made.missing is None or made.missing.way != "drop")  # the rows left out have scores, too
        and made.covariance.n_features == model.n_features_in_
        and (made.names is None or names is None or list(made.names) == list(names))
    ):
        everything = scores_of(made.rows[:, used], model.components_[:, used], model.mean_[used], model.scale_[used])
    else:
        everything = np.asarray(model.transform(X), dtype=np.float64)
    n_rows = len(everything)
    step = -(-n_rows // MOST_ROWS)
    rows, rule = np.arange(0, n_rows, step), f"one row in {step:,} of {n_rows:,}" if step > 1 else ""
    names_of_rows = row_names(X, labels, n_rows)
    chosen = None if names_of_rows is None else [names_of_rows[row] for row in rows]
    colouring = colouring_of(X, color, n_rows, few=MOST_GROUPS, most=MOST_GROUPS)
    groups, codes = _groups(colouring)
    sizes = None if groups is None else np.bincount(codes, minlength=len(groups)).tolist()
    drawn = None if groups is None else codes[rows].tolist()
    scores, ordered = everything[rows, :MOST_COMPONENTS], colouring.numbers is not None
    return Points(scores, rows, n_rows, rule, chosen, groups, sizes, drawn, ordered, colouring.title)


def _groups(colouring: Colouring) -> tuple[list[str] | None, Any]:
    """Return the names of groups and the group of each row. Numbers make classes of about equal size."""
    if colouring.numbers is not None:
        classes, edges = pd.qcut(colouring.numbers, CLASSES, retbins=True, duplicates="drop")
        codes = classes.codes.astype(np.intp)  # NO_VALUE where the number is missing
        names = [f"{low:.3g} to {high:.3g}".replace("-", "\u2212") for low, high in pairwise(edges)]
    elif colouring.codes is not None:
        codes, names = colouring.codes, list(colouring.names)
    else:
        return None, None
    for code, name in ((OTHERS, "other"), (NO_VALUE, "(missing)")):
        if (codes == code).any():
            codes = np.where(codes == code, len(names), codes)
            names.append(name)
    return names, codes
