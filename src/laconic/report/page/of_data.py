"""What the data add to a page: variance against the number of variables, and the variances of ordinary PCA."""

import warnings
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arguments import places_of
from laconic.core.arrays import Floats
from laconic.covariance import Covariance
from laconic.covariance.reading import Reading, read_data
from laconic.data.rows import open_source
from laconic.model.cardinality_path import CardinalityPath, cardinality_path
from laconic.model.scree import Scree, scree
from laconic.problem.status import Status
from laconic.report.page.sentences import amount_at_least, total_for_shares

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Paths of so many components are drawn, each with at most so many variables.
MOST_PATHS, LONGEST_PATH, SHORTEST_PATH = 4, 50, 20
# With more variables than this, curves end soon after the component, and have no bounds of their own: both would take
# longer than the fit.
MOST_BOUNDED, FURTHER = 2000, 5
UNBOUNDED = (
    "With so many variables, the bound of the component is the only one drawn; it holds for fewer variables, too."
)
# Permuted tables of the scree plot, and the largest data, in numbers, for which they take little time.
PERMUTATIONS, MOST_NUMBERS = 19, 3_000_000
# Totals of variance that agree to this relative accuracy are those of the same data.
SAME = 1e-8
OTHER_DATA = (
    "These rows are not those that the model was fitted to. The page shows their scores, but neither curves nor the "
    "variances of ordinary PCA."
)
IN_BLOCKS = "The data are read in blocks, so the page has neither curves nor the variances of ordinary PCA."


@dataclass(frozen=True, eq=False)
class PathPart:
    """The best sets of variables that were found for one component, and proved bounds."""

    component: int  # from 1
    cardinalities: list[int]
    found: list[float]  # the variance of each set
    upper: list[float]  # infinite if nothing is proved
    supports: list[list[int]]  # the variables with the largest loading first
    loadings: list[list[float]]
    chosen: int  # the number of variables of the model's component
    suggested: int | None  # where the curve bends most
    note: str = ""


@dataclass(frozen=True, eq=False)
class DataPart:
    """What the data add."""

    given: str = ""  # "rows" or "covariance"
    same: bool = False  # whether the model was fitted to these data
    notes: list[str] = field(default_factory=list)
    variances: Floats | None = None  # of each variable, after scaling
    constant: list[int] = field(default_factory=list)
    paths: list[PathPart] = field(default_factory=list)
    scree: Scree | None = None


def data_part(model: "SparsePCA", X: Any, *, seconds: float) -> DataPart:
    """Read the data once, check that the model was fitted to them, and compute what the page shows of them."""
    source = open_source(X)
    if source is not None and source.in_memory() is None:
        return DataPart("rows", notes=[IN_BLOCKS])
    end = monotonic() + seconds
    with warnings.catch_warnings():
        # The fit has said it all.
        warnings.simplefilter("ignore", UserWarning)
        reading = _read(model, X)
        if reading is None or not _same(model, reading):
            return DataPart("rows", notes=[OTHER_DATA])
        covariance = reading.covariance
        part = DataPart(
            reading.given,
            True,
            variances=covariance.diagonal,
            constant=np.flatnonzero(~covariance.varies).tolist(),
            scree=_scree(model, X, reading),
        )
        part.paths.extend(_paths(model, reading, end - monotonic(), part.notes))
    return part


def _read(model: "SparsePCA", X: Any) -> Reading | None:
    """Return the reading of the data as the model made it, or None if it cannot have been made of them."""
    certificate = next((c for c in model.certificates_ if c is not None), model.joint_certificate_)
    names = getattr(model, "feature_names_in_", None)
    try:
        reading = read_data(
            X,
            "auto" if certificate is None else certificate.matrix.given,
            center=model.center,
            scale=model.scale,
            missing=model.missing,
            indefinite=model.indefinite,
        )
    except ValueError:  # such as a missing value, which the fit would not have taken
        return None
    if reading.covariance.n_features != model.n_features_in_:
        return None
    if names is not None and reading.feature_names is not None and list(names) != list(reading.feature_names):
        return None
    return reading


def _same(model: "SparsePCA", reading: Reading) -> bool:
    """Say whether a model was fitted to these data: by their digest if the model keeps it, and by their variance."""
    total = reading.covariance.trace
    # Weights of rows and a contrast change the variance, which the digest does not show.
    if abs(total - model.total_variance_) > SAME * abs(total):
        return False
    digests = {c.digest for c in [*model.certificates_, model.joint_certificate_] if c is not None}
    return not digests or reading.digest in digests


def _scree(model: "SparsePCA", X: Any, reading: Reading) -> Scree | None:
    rows = reading.given == "rows" and reading.missing is None
    data: Any = X if rows else reading.covariance
    shape = getattr(data, "shape", (0, 0))
    small = int(np.prod(shape)) <= MOST_NUMBERS
    count = PERMUTATIONS if small else 0
    if rows:
        return scree(data, permutations=count, center=model.center, scale=model.scale, given="rows")
    return scree(data, permutations=0)


def _paths(model: "SparsePCA", reading: Reading, seconds: float, notes: list[str]) -> list[PathPart]:
    """Return the paths of the first components that were found one after the other."""
    if model.joint is not None or model.solutions_[0].status is Status.TOGETHER:
        notes.append("The components were found together, so there is no curve for each of them.")
        return []
    count, paths, end = min(model.n_components_, MOST_PATHS), list[PathPart](), monotonic() + seconds
    for place in range(count):
        left = end - monotonic()
        if left <= 0:
            break
        paths.append(_path(model, reading.covariance, place, left / (count - place)))
    if len(paths) < model.n_components_:
        notes.append(f"Curves are computed for the first {len(paths)} of {model.n_components_} components only.")
    return paths


def _path(model: "SparsePCA", covariance: Covariance, place: int, seconds: float) -> PathPart:
    names = getattr(model, "feature_names_in_", None)
    n = covariance.n_features
    out = [] if model.forced_out is None else list(places_of(model.forced_out, names, n, argument="forced_out"))
    if model.disjoint:
        out += [int(j) for j in np.unique(np.concatenate([np.empty(0, np.intp), *model.supports_[:place]]))]
    k, free = int(model.cardinality_[place]), int(np.delete(covariance.varies, out).sum())
    wide = covariance.n_features > MOST_BOUNDED
    longest = min(free, LONGEST_PATH, k + FURTHER if wide else max(SHORTEST_PATH, 2 * k))
    path = cardinality_path(
        covariance,
        max(longest, 0 if model.forced_in is None else len(model.forced_in)),
        proof=None if wide else "fast",
        earlier=model.components_[:place] if place else None,
        deflation=model.deflation,
        nonnegative=model.nonnegative,
        forced_in=model.forced_in,
        forced_out=out or None,
        feature_names=None if names is None else [str(name) for name in names],
        time_limit=max(seconds, 0.1),
    )
    return _with_component(path, model, place)


def _with_component(path: CardinalityPath, model: "SparsePCA", place: int) -> PathPart:
    """Return a path with the model's own component and bound in its place."""
    found, upper = path.values.copy(), path.upper_bounds.copy()
    pairs = [(s.support, s.loadings) for s in path.solutions]
    solution, k, notes = model.solutions_[place], int(model.cardinality_[place]), []
    at = np.flatnonzero(path.cardinalities == k)
    if len(at):
        i = int(at[0])
        if found[i] > solution.value * (1 + 1e-6):
            share = amount_at_least(found[i], total_for_shares(model))
            notes.append(f"The search along this curve found {k} variables with more variance, {share}.")
        found[i], pairs[i] = solution.value, (solution.support, solution.loadings)
        upper[i] = min(upper[i], float(model.upper_bound_[place]))
    else:
        notes.append(f"The curve ends at {path.cardinalities[-1]} variables; the component has {k}.")
    # A bound for more variables holds for fewer, too.
    upper = np.minimum.accumulate(upper[::-1])[::-1]
    if model.n_features_in_ > MOST_BOUNDED:
        notes.append(UNBOUNDED)
    if any(s.status is Status.TIME_LIMIT for s in path.solutions):
        notes.append("The time for this curve ran out; a longer time may improve it.")
    ordered = [np.argsort(-np.abs(loadings), kind="stable") for _, loadings in pairs]
    return PathPart(
        place + 1,
        path.cardinalities.tolist(),
        found.tolist(),
        np.maximum(upper, found).tolist(),
        [support[order].tolist() for (support, _), order in zip(pairs, ordered, strict=True)],
        [loadings[order].tolist() for (_, loadings), order in zip(pairs, ordered, strict=True)],
        k,
        path.suggested,
        " ".join(notes),
    )
