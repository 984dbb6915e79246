"""Proved bounds for each number of features, `path(model, X)`, or for features of your own, `certify(model, X)`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from laconic.bounds.names import get_solver
from laconic.bounds.path import prove_path
from laconic.bounds.prove import Proof, closes, prove, with_note
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, threads_for
from laconic.core.words import at_least, counted, gap_in_tables, is_whole, places_of
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made
from laconic.model.components import Found, bounded, components, concluded
from laconic.model.settings import (
    check_count,
    check_settings,
    forced_places,
    is_sequence,
    joint_of,
    made_of,
    sizes_of,
)
from laconic.proof import Certificate, ProofError, UpperBound
from laconic.search import Auto
from laconic.search.problem import PathSolver, Problem, Solution, Solver, Status, on_all, solve_at_hand
from laconic.search.support import EQUAL, leading

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A path ends here if the user gives no end and there are more features.
DEFAULT_END = 100
# Variance below this share of the largest single one is rounding.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Path:
    """The best component found for each number of features; `path` makes it."""

    cardinalities: Indices  # the number of features of each component
    solutions: Sequence[Solution]  # the components, with their bounds
    dense_variance: float  # of the ordinary component, after earlier ones are removed; shares are relative to it
    total_variance: float  # the trace of the covariance, before
    feature_names: list[str] | None = None
    certificates: list[Certificate | None] = field(default_factory=list)

    def __repr__(self) -> str:
        optimal = sum(s.status is Status.OPTIMAL for s in self.solutions)
        shares = f"{at_least(self.shares[0], 3)} to {at_least(self.shares[-1], 3)} of the ordinary component's variance"
        sizes = f"{self.cardinalities[0]} to {self.cardinalities[-1]} features"
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
        """The values as shares of the ordinary component's variance."""
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

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each component."""
        return pd.DataFrame(
            {
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
        """Draw variance and bound against the number of features, and return the axes."""
        from laconic.report.pictures import path

        return path(self, ax=ax)


def path(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    sizes: int | None = None,
    component: int = 1,
) -> Path:
    """Return the best component found for each number of features.

    Each cardinality starts from the supports of its neighbours, first upwards and then downwards. The values never fall
    as the cardinality grows.

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
    sizes : int, optional
        The last cardinality. By default the largest that is possible, but at most 100.
    component : int, default=1
        The number of the component. Those before it are found first, as in a fit, and removed. Values, bounds and
        certificates are about the matrix that is left.

    Returns
    -------
    Path
        The components, their bounds and their certificates, with a table and a picture.

    See Also
    --------
    choose : Choose the numbers of features and of components.
    certify : A proved bound for one number of features, or for features that you chose.

    Examples
    --------
    >>> from laconic import SparsePCA, path
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> found = path(SparsePCA(), votes, sizes=8)
    >>> found.names(2)
    ['H.R. 3045', 'S. 1307']
    """
    check_settings(model)
    check_count("component", component)
    if sizes is not None:
        check_count("sizes", sizes)
    if joint_of(model) is not None:
        raise ValueError(f"path is about one component, and joint={model.joint!r} about several; leave out joint=.")
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        features = DEFAULT_END if sizes is None else sizes
        made = made_of(model, X, covariance, sample_weight, monitor, features=features)
        before = earlier_components(model, made, component - 1, monitor)
        with threads_for(made.covariance.on_hand().n_features):
            return path_of(model, made, monitor, last=sizes, earlier=before)


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
    solutions = solver.path(part) if isinstance(solver, PathSolver) else one_by_one(solver, part)
    for place in range(1, len(solutions)):
        solutions[place] = not_below(solutions[place], solutions[place - 1])
    sizes = range(part.cardinality - len(solutions) + 1, part.cardinality + 1)
    solutions = [on_all(problem.with_cardinality(k), one) for k, one in zip(sizes, solutions, strict=True)]
    bounds = _bounds(problem, solutions, model.proof)
    found = [
        Found(left, features, problem.with_cardinality(k), solution, removed, bound=bound, stopped=monitor.stopped)
        for k, solution, bound in zip(sizes, solutions, bounds, strict=True)
    ]
    dense, _ = largest_eigenpair(inner.on_hand())
    results = [concluded(one, made, model, certified=certified and model.proof is not None) for one in found]
    return Path(
        np.array(sizes, dtype=np.intp),
        [solution for solution, _ in results],
        dense,
        made.covariance.trace,
        None if made.names is None else list(made.names),
        [certificate for _, certificate in results],
    )


def one_by_one(solver: Solver, problem: Problem) -> list[Solution]:
    """Return a solution for each cardinality, by a solver of one cardinality that starts from its neighbours.

    The first cardinality is one, or as many as are forced in; the last is that of the problem.
    """
    least = max(1, len(problem.forced))
    solutions: list[Solution] = []
    # With a stopped monitor a solver returns at once.
    for k in range(least, problem.cardinality + 1):
        start = solutions[-1].support if solutions else None
        found = solver.solve(problem.with_cardinality(k), start=start)
        solutions.append(not_below(found, solutions[-1]) if solutions else found)
    with problem.monitor.watch():
        for place in range(len(solutions) - 2, -1, -1):
            problem.monitor.tick()
            below, above = solutions[place], solutions[place + 1]
            if below.status is Status.COMPLETE or set(below.support) <= set(above.support):
                continue
            again = solver.solve(problem.with_cardinality(least + place), start=above.support)
            if again.value > below.value * (1 + EQUAL):
                solutions[place] = again
    return solutions


def not_below(found: Solution, smaller: Solution) -> Solution:
    """Return the support of one feature fewer if it is better. The estimate for this cardinality stays."""
    if found.value >= smaller.value:
        return found
    return replace(smaller, status=found.status, estimate=found.estimate, witness=found.witness)


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


@dataclass(frozen=True, eq=False)
class Certified:
    """Both bounds on the variance of some features, and the proof; `certify` makes it."""

    support: Indices  # the features
    loadings: Floats  # of the component on these features
    lower: float  # its variance
    upper: float  # the proved limit of the variance of every support of this size
    gap: float  # (upper - lower) / lower
    verdict: str  # a sentence that says what is proved
    certificate: Certificate | None  # the proof, which `laconic.verify` checks
    feature_names: tuple[str, ...] | None = None  # of all features

    def __repr__(self) -> str:
        count = counted(len(self.support), "feature")
        return f"Certified({count}, lower {self.lower:.6g}, upper {self.upper:.6g})\n{self.verdict}"

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the features and their loadings."""
        names = self.support if self.feature_names is None else [self.feature_names[i] for i in self.support]
        return pd.DataFrame({"feature": names, "loading": self.loadings})


def certify(
    model: "SparsePCA",
    X: Any = None,
    features: Sequence[str | int] | None = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    component: int = 1,
) -> Certified:
    """Prove how good a set of features is that you chose, or bound the variance of every set of a size.

    Parameters
    ----------
    model : SparsePCA
        Its settings count: `proof` says how hard to prove. It need not be fitted.
    X : array, sparse matrix, table, or data that are read in blocks, optional
        Rows of data.
    features : sequence of str or int, optional
        The features, by name or place. Without them, the component of the model's cardinality that the search finds is
        certified: `upper` is a bound on every support of this size.
    covariance : array or frame of shape (n_features, n_features), optional
        A covariance or correlation matrix, in place of X.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts.
    component : int, default=1
        The number of the component. Those before it are found first, as in a fit, and removed.

    Returns
    -------
    Certified
        Both bounds on the variance of the set, the verdict, and the certificate.

    See Also
    --------
    path : Bounds for many numbers of features.
    verify : Check the certificate.

    Examples
    --------
    >>> from laconic import SparsePCA, certify
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> certify(SparsePCA(), votes, ["S. 1932", "S. 403"]).verdict
    'This support reaches at least 81 % of the best possible variance (proved).'
    """
    check_settings(model)
    proof = model.proof
    if proof is None:
        raise ValueError("proof=None asks for no proof; give a model with proof='fast', 'tight' or 'exact'.")
    if joint_of(model) is not None:
        raise ValueError(
            f"certify is about one component, and joint={model.joint!r} about several; leave out joint=, or take the "
            "certificate of a fit."
        )
    check_count("component", component)
    size = _size(model, features, component)
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        how: dict[str, Any] = {"features": size, "own": features}
        made = made_of(model, X, covariance, sample_weight, monitor, **how)
        n = made.covariance.n_features
        if size > n:
            raise ValueError(f"cardinality={size} exceeds the number of features, {n}; ask for fewer.")
        before = earlier_components(model, made, component - 1, monitor)
        with threads_for(made.covariance.on_hand().n_features):
            left = without(made.covariance, list(before), model.deflation)
            if features is None:
                problem = Problem(left, size, forced_places(model, made), model.nonnegative, monitor)
                own = best = solve_at_hand(Auto(), problem)
            else:
                places = np.unique(np.array(places_of(features, made.names, n, argument="features"), dtype=np.intp))
                if len(places) < size:
                    raise ValueError(f"features={list(features)} must name no feature twice.")
                problem = Problem(left, size, monitor=monitor)
                value, z = leading(left.submatrix(places))
                if value <= 0:
                    raise ValueError(f"features={list(features)} have no variance; choose features that vary.")
                own = Solution(places, z, value, Status.HEURISTIC)
                best = solve_at_hand(Auto(), problem, start=places)
            bound = prove(problem, best if best.value > own.value else own, proof)[1]
            own = replace(own, estimate=np.inf, witness=None)
            found = Found(left, np.arange(n), problem, own, list(before), bound=bound, stopped=monitor.stopped)
            solution, certificate = concluded(found, made, model)
    known = (solution.value, solution.upper, solution.gap, solution.verdict)
    if certificate is not None:
        known = (certificate.lower, certificate.upper, certificate.gap, certificate.verdict)
    return Certified(solution.support, solution.loadings, *known, certificate, made.names)


def _size(model: "SparsePCA", features: Any, component: int) -> int:
    if features is not None:
        if isinstance(features, str) or not hasattr(features, "__len__") or not len(features):
            raise ValueError(f"features={features!r} must be a list of at least one feature.")
        return len(features)
    k = model.cardinality
    if is_sequence(k) and len(k) >= component:
        return int(k[component - 1])
    if not is_whole(k):
        raise ValueError(f"cardinality={k!r} is not a number of features such as 5; give one, or the features.")
    return int(k)
