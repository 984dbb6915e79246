"""Variance against the number of features, or against the penalty of the l1 relaxation: `path(model, X)`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from laconic.bounds.dspca import largest_penalty
from laconic.bounds.methods import get_solver
from laconic.bounds.path import prove_path
from laconic.bounds.prove import Proof, closes, with_note
from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, threads_for
from laconic.core.words import at_least, gap_in_tables
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made
from laconic.model.choosing import OneByOne, not_below
from laconic.model.components import Found, bounded, components, concluded
from laconic.model.criteria import PathValues, hull
from laconic.model.settings import check_settings, forced_places, is_sequence, made_of, sizes_of
from laconic.proof import Certificate, ProofError, UpperBound
from laconic.search.problem import PathSolver, Problem, Solution, Status, on_all

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA

# The path ends here if the user gives no end and there are more features.
DEFAULT_END = 100
# The number of penalties if the user gives none.
PENALTIES = 30
# Variance below this share of the largest single one is rounding.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Path:
    """The best component found for each number of features, or for each penalty; `path` makes it."""

    cardinalities: Indices  # the number of features of each component
    solutions: list[Solution]  # the components, with their bounds
    dense_variance: float  # of the dense component after the earlier components are removed; shares are relative to it
    total_variance: float  # the trace of the covariance, before
    feature_names: list[str] | None = None
    certificates: list[Certificate | None] = field(default_factory=list)  # a path by penalty has none
    suggested: int | None = None  # the number of features at the sharpest bend, by the convex hull, if there are three
    penalties: Floats | None = None  # rho, increasing; None for a path by cardinality

    def __repr__(self) -> str:
        optimal = sum(s.status is Status.OPTIMAL for s in self.solutions)
        shares = f"{at_least(self.shares[0], 3)} to {at_least(self.shares[-1], 3)} of the dense component's variance"
        sizes = f"{self.cardinalities[0]} to {self.cardinalities[-1]} features"
        if self.penalties is not None:
            sizes = f"{len(self.penalties)} penalties, {sizes}"
        return f"Path({sizes}, {optimal} of them optimal, {shares})"

    @property
    def values(self) -> Floats:
        """The value z'Sz of each component."""
        return np.array([s.value for s in self.solutions])

    @property
    def upper_bounds(self) -> Floats:
        """The proved upper bound on the value of every support of the same size, infinite if there is none."""
        return np.array([s.upper for s in self.solutions])

    @property
    def shares(self) -> Floats:
        """The values as shares of the dense component's variance."""
        return self.values / self.dense_variance

    @property
    def supports(self) -> list[Indices]:
        """The features of each component."""
        return [s.support for s in self.solutions]

    def names(self, cardinality: int) -> list[str]:
        """Return the names of the features of the component of a cardinality, with the largest loading first."""
        places = np.flatnonzero(self.cardinalities == cardinality)
        if not len(places):
            raise ValueError(
                f"cardinality={cardinality!r} is not on the path, which goes from {self.cardinalities[0]} to "
                f"{self.cardinalities[-1]}."
            )
        return self._names(self.solutions[int(places[0])])

    def _names(self, solution: Solution) -> list[str]:
        order = solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")]
        return [str(i) if self.feature_names is None else self.feature_names[i] for i in order]

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each component."""
        import pandas as pd

        penalties = {} if self.penalties is None else {"penalty": self.penalties}
        return pd.DataFrame(
            {
                **penalties,
                "cardinality": self.cardinalities,
                "value": self.values,
                "share": self.shares,
                "total_share": self.values / self.total_variance,
                "upper_bound": self.upper_bounds,
                "gap": [gap_in_tables(s.gap) for s in self.solutions],
                "verdict": [s.verdict for s in self.solutions],
                "features": [self._names(s) for s in self.solutions],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw variance and bound against the number of features, or against the penalty, and return the axes."""
        from laconic.report.plot_results import path

        return path(self, ax=ax)


def path(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    sizes: int | Sequence[int] | None = None,
    penalties: int | Sequence[float] | None = None,
    component: int = 1,
    feature_names: Sequence[str] | None = None,
) -> Path:
    """Return the best component found for each number of features, or for each penalty of the l1 relaxation.

    Each cardinality starts from the supports of its neighbours, first upwards and then downwards. The values never fall
    as the cardinality grows. With a penalty rho, the relaxation of d'Aspremont et al. (2007) is solved: maximise
    Tr(SX) - rho sum |X_ij| over positive semidefinite X with trace one, each started from the previous solution.

    Parameters
    ----------
    model : SparsePCA
        Its settings count. It need not be fitted. Greedy methods give the whole path in one run. `proof` says how to
        prove an upper bound for every cardinality.
    X : array, sparse matrix, table, or data that are read in blocks, optional
        Rows of data.
    covariance : array or frame of shape (n_features, n_features), optional
        A covariance or correlation matrix, in place of X.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts.
    sizes : int or sequence of int, optional
        The last cardinality, or those to return. By default the number of features, but at most 100.
    penalties : int or sequence of float, optional
        For a model with the method `Dspca`: the values of the penalty rho in place of cardinalities, or how many,
        evenly spaced on a logarithmic scale from a hundredth of the largest variance up to that variance. By default
        30 if the method is "dspca" and no sizes are given.
    component : int, default=1
        The number of the component. Those before it are found first, as in a fit, and removed. Values, bounds and
        certificates are about the matrix that is left.
    feature_names : sequence of str, optional
        The names of the features, if the data have none.

    Returns
    -------
    Path
        The components, their bounds and their certificates, with a table and a picture.

    See Also
    --------
    choose : Choose a number of features by several criteria.
    certify : A proved bound for one number of features, or for features that you chose.

    Examples
    --------
    >>> from laconic import SparsePCA, path
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> found = path(SparsePCA(), votes, sizes=8)
    >>> found.names(2)
    ['H.R. 3045', 'S. 1307']
    >>> found.suggested
    5
    """
    check_settings(model)
    if not is_whole(component) or component < 1:
        raise ValueError(f"component={component!r} must be an int of at least 1.")
    solver = get_solver(model.method)
    by_penalty = hasattr(solver, "penalized_path") and sizes is None
    if penalties is not None and not by_penalty:
        raise ValueError("penalties are those of the l1 relaxation; give a model with method='dspca', and no sizes=.")
    if not (sizes is None or is_whole(sizes) or (is_sequence(sizes) and np.ndim(sizes) == 1 and len(sizes))):
        raise ValueError(f"sizes={sizes!r} must be an int, or several.")
    wanted = sorted({int(k) for k in sizes}) if is_sequence(sizes) else None
    last = max(wanted) if wanted else sizes
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        features = None if by_penalty else last if is_whole(last) else DEFAULT_END
        made = made_of(model, X, covariance, sample_weight, monitor, feature_names=feature_names, features=features)
        before = earlier_components(model, made, component - 1, monitor)
        with threads_for(made.covariance.on_hand().n_features):
            if by_penalty:
                return _by_penalty(model, made, solver, PENALTIES if penalties is None else penalties, before, monitor)
            free = np.flatnonzero(~before.any(axis=0)) if model.joint == "disjoint" and len(before) else None
            found = path_of(model, made, monitor, last=last, earlier=before, free=free)
    if wanted is None:
        return found
    kept = np.flatnonzero(np.isin(found.cardinalities, wanted))
    return replace(
        found,
        cardinalities=found.cardinalities[kept],
        solutions=[found.solutions[i] for i in kept],
        certificates=[found.certificates[i] for i in kept],
    )


def earlier_components(model: "SparsePCA", made: Made, count: int, monitor: Monitor) -> Floats:
    """Return the first components of a fit with a model's settings, one in each row."""
    if not count:
        return np.empty((0, made.covariance.n_features))
    k: Any = model.cardinality
    if is_sequence(k):
        k = list(k)[:count]
        if len(k) < count:
            raise ValueError(
                f"cardinality={k} has too few numbers for the {count} components before component={count + 1}."
            )
    first = clone(model).set_params(n_components=count, cardinality=k)
    found = components(first, made, sizes_of(first, made, monitor), monitor)
    return np.array([s.vector(made.covariance.n_features) for s in found.solutions])


def path_of(
    model: "SparsePCA",
    made: Made,
    monitor: Monitor,
    *,
    last: Any = None,
    earlier: Floats | None = None,
    free: Indices | None = None,
    certified: bool = True,
) -> Path:
    """Return the path by cardinality of the component after some others, up to the cardinality `last`.

    `free` are the features that may be used, by default all. Without `certified` there are bounds and no certificates,
    as a picture needs it.
    """
    whole, features = made.covariance, np.arange(made.covariance.n_features) if free is None else free
    n = len(features)
    removed: list[Floats] = [] if earlier is None else list(earlier)
    forced = forced_places(model, made)
    least = max(1, len(forced))
    end = min(n, max(DEFAULT_END, least)) if last is None else last
    if not is_whole(end) or not least <= end <= n:
        start = "1" if least == 1 else f"the number of features forced in, {least},"
        raise ValueError(f"sizes={last!r} must be an int from {start} to the number of features, {n}.")
    left = without(whole, removed, model.deflation)
    inner = left if free is None else SubsetCovariance(left, features)
    problem = Problem(inner, int(end), np.searchsorted(features, forced), model.nonnegative, monitor)
    solver = get_solver(model.method)
    part = problem.at_hand()
    solutions = (solver if isinstance(solver, PathSolver) else OneByOne(solver)).path(part)
    for place in range(1, len(solutions)):
        solutions[place] = not_below(solutions[place], solutions[place - 1])
    sizes = range(part.cardinality - len(solutions) + 1, part.cardinality + 1)
    solutions = [on_all(problem.with_cardinality(k), one) for k, one in zip(sizes, solutions, strict=True)]
    bounds = _bounds(problem, solutions, model.proof)
    results = []
    for k, solution, bound in zip(sizes, solutions, bounds, strict=True):
        one = Found(left, features, problem.with_cardinality(k), solution, removed, bound=bound)
        one.stopped = monitor.stopped
        results.append(concluded(one, made, model, certified=certified and model.proof is not None))
    dense, _ = largest_eigenpair(inner.on_hand())
    values = PathValues.of(problem, solutions, dense)
    return Path(
        values.cardinalities,
        [solution for solution, _ in results],
        dense,
        whole.trace,
        None if made.names is None else list(made.names),
        [certificate for _, certificate in results],
        suggested=hull(values).chosen if len(solutions) > 2 else None,
    )


def without(covariance: Covariance, removed: Sequence[Floats], deflation: str) -> Covariance:
    """Return the covariance without some components."""
    if not len(removed):
        return covariance
    rule = Deflation(covariance, deflation)
    for z in removed:
        rule.remove(z)
    if not float(rule.current.diagonal.max()) > NOTHING * float(covariance.diagonal.max()):
        raise ValueError("The earlier components leave no variance; there is no further component.")
    return rule.current


def _bounds(problem: Problem, solutions: list[Solution], proof: Proof | None) -> list[UpperBound | None]:
    """Return the least proved bound for each cardinality; the solver's own counts. A failed proof leaves a note."""
    found: Sequence[UpperBound | ProofError | None] = []
    least = problem.cardinality - len(solutions) + 1
    if proof is not None:
        found = prove_path(problem, solutions, proof)
    bounds: list[UpperBound | None] = [None] * len(solutions)
    for place, outcome in enumerate(found):
        if isinstance(outcome, ProofError):
            solutions[place] = with_note(solutions[place], f"a proof failed: {outcome}")
        else:
            bounds[place] = outcome
    for place, (solution, bound) in enumerate(zip(solutions, bounds, strict=True)):
        if closes(bound, solution) or (bound is not None and bound.value <= solution.estimate):
            continue
        own = bounded(problem.with_cardinality(place + least), solution, None)[1]
        if own is not None and (bound is None or own.value < bound.value):
            bounds[place] = own
    return bounds


def _by_penalty(model: "SparsePCA", made: Made, solver: Any, penalties: Any, earlier: Floats, monitor: Monitor) -> Path:
    if made.covariance.at_hand is not None:
        raise ValueError(
            f"A path by penalty needs the whole covariance matrix, and {made.covariance.n_features:,} columns read in "
            "blocks are too many; give sizes=, or fewer columns."
        )
    left = without(made.covariance, list(earlier), model.deflation)
    forced = forced_places(model, made)
    largest = largest_penalty(left)
    if isinstance(penalties, bool | np.bool_) or (is_whole(penalties) and penalties < 1):
        raise ValueError(f"penalties={penalties} must be at least 1, or a list of values.")
    if is_whole(penalties):
        values = np.geomspace(0.01 * largest, 0.999 * largest, penalties)
    else:
        values = np.unique(np.asarray(penalties, dtype=np.float64))
    if not len(values) or not (values > 0).all() or not (values < largest).all():
        raise ValueError(
            f"penalties must lie above zero and below the largest variance, {largest:.6g}, where the solution is zero."
        )
    n = left.n_features
    problem = Problem(left, n, forced, monitor=monitor)
    solutions = []
    for solution in solver.penalized_path(problem, values):
        of_this_size = problem.with_cardinality(len(solution.support))
        solution, bound = bounded(of_this_size, solution, None)
        one = Found(left, np.arange(n), of_this_size, solution, list(earlier), bound=bound)
        solutions.append(concluded(one, made, model, certified=False)[0])
    sizes = np.array([len(s.support) for s in solutions], dtype=np.intp)
    names = None if made.names is None else list(made.names)
    none: list[Certificate | None] = [None] * len(solutions)
    dense = largest_eigenpair(left)[0]
    return Path(sizes, solutions, dense, made.covariance.trace, names, none, penalties=values)
