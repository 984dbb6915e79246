"""Variance against cardinality."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from laconic.bounds.dspca import Dspca
from laconic.bounds.fast import EFFORTS, Proof
from laconic.bounds.least import closes, with_note
from laconic.bounds.methods import get_solver
from laconic.bounds.path_bounds import bound_path, prove_path
from laconic.bounds.tight import on_all
from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, check_time_limit, threads_for
from laconic.core.words import at_least, gap_in_tables
from laconic.covariance import Covariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.covariance.reading import Given, Missing, read_data
from laconic.model.choosing.criteria import PathValues, hull
from laconic.model.conclusion import Question, bounded, concluded, subject_of
from laconic.model.forced import forced_places
from laconic.proof import Certificate, ProofError, UpperBound
from laconic.proof.witness import no_features
from laconic.search.problem import Bound, PathSolver, Problem, Solution, Solver, Status
from laconic.search.support import EQUAL

if TYPE_CHECKING:
    import pandas as pd

    from laconic.report.pictures.display import Place
    from laconic.report.pictures.path import PathDisplay

# The path ends here if the user gives no end and there are more features.
DEFAULT_END = 100
# Variance below this share of the largest single one is rounding.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class CardinalityPath:
    """The best component found for each cardinality.

    Attributes
    ----------
    cardinalities : ndarray of int
        The cardinalities 1, ..., K; if features are forced in, they begin at the number of these.
    solutions : list of Solution
        The solution for each cardinality.
    dense_variance : float
        The variance of the dense component, after the earlier components are removed. Shares are relative to it.
    total_variance : float
        The trace of the covariance, before any component is removed.
    feature_names : list of str or None
        The names of the features, or None.
    certificates : list of Certificate or None
        The proof of each upper bound, which `laconic.verify` checks, or None, in the order of `cardinalities`.
    suggested : int or None
        The number of features at the sharpest bend of the curve, by the convex hull of variance against cardinality
        (`laconic.model.choosing.criteria.hull`). None if the path has fewer than three cardinalities. `laconic.choose`
        has more criteria.

    See Also
    --------
    cardinality_path : Makes it.
    choose : More criteria for the number of features.

    Examples
    --------
    >>> from laconic import cardinality_path
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> path = cardinality_path(votes, max_cardinality=3)
    >>> path.shares.round(2)
    array([0.12, 0.23, 0.3 ])
    """

    cardinalities: Indices
    solutions: list[Solution]
    dense_variance: float
    total_variance: float
    feature_names: list[str] | None = None
    certificates: list[Certificate | None] = field(default_factory=list)
    suggested: int | None = None

    def __repr__(self) -> str:
        optimal = sum(s.status is Status.OPTIMAL for s in self.solutions)
        shares = f"{at_least(self.shares[0], 3)} to {at_least(self.shares[-1], 3)} of the dense component's variance"
        first, last = self.cardinalities[0], self.cardinalities[-1]
        return f"CardinalityPath(cardinality {first} to {last}, {optimal} of them optimal, {shares})"

    @property
    def values(self) -> Floats:
        """The value z'Sz for each cardinality."""
        return np.array([s.value for s in self.solutions])

    @property
    def upper_bounds(self) -> Floats:
        """The proved upper bound for each cardinality, infinite if there is none."""
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
        """Return the names of the features of one component, with the largest loading first.

        Parameters
        ----------
        cardinality
            A cardinality on the path.
        """
        if cardinality not in self.cardinalities:
            raise ValueError(
                f"cardinality={cardinality!r} is not on the path, which goes from {self.cardinalities[0]} to "
                f"{self.cardinalities[-1]}."
            )
        solution = self.solutions[int(np.flatnonzero(self.cardinalities == cardinality)[0])]
        order = solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")]
        return [str(i) if self.feature_names is None else self.feature_names[i] for i in order]

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each cardinality."""
        import pandas as pd

        return pd.DataFrame(
            {
                "cardinality": self.cardinalities,
                "value": self.values,
                "share": self.shares,
                "total_share": self.values / self.total_variance,
                "upper_bound": self.upper_bounds,
                "gap": [gap_in_tables(s.gap) for s in self.solutions],
                "verdict": [s.verdict for s in self.solutions],
                "features": [self.names(int(k)) for k in self.cardinalities],
            }
        )

    def plot(self, ax: "Place" = None) -> "PathDisplay":
        """Draw the share of the dense component's variance against the cardinality; see `laconic.plot_path`.

        Parameters
        ----------
        ax
            The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.
        """
        from laconic.report.pictures.path import PathDisplay

        return PathDisplay(self, self.suggested).plot(ax)


def cardinality_path(
    X_or_covariance: Any,
    max_cardinality: int | None = None,
    *,
    given: Given = "auto",
    method: str | Solver = "auto",
    proof: Proof | Literal["l1"] | None = "fast",
    earlier: Any = None,
    deflation: str = "projection",
    nonnegative: bool = False,
    forced_in: Sequence[str | int] | None = None,
    center: bool = True,
    scale: bool = False,
    missing: Missing = "error",
    feature_names: Sequence[str] | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> CardinalityPath:
    """Return the best component found for every cardinality 1, ..., `max_cardinality`.

    Each cardinality starts from the supports of its neighbours, first upwards and then downwards. The values never fall
    as the cardinality grows.

    Parameters
    ----------
    X_or_covariance : array, sparse matrix, table, or data that are read in blocks
        Rows of data, or a covariance or correlation matrix.
    max_cardinality : int, optional
        The last cardinality. By default the number of features, but at most 100.
    given : {"auto", "rows", "covariance"}, default="auto"
        What the first argument is: "rows" or "covariance". By default, "auto", a square symmetric matrix without a
        negative diagonal entry is a covariance, and anything else is rows.
    method : str or Solver, default="auto"
        A solver or its short name. Greedy methods give the whole path in one run.
    proof : {"fast", "tight", "l1", None} or Bound, default="fast"
        How to prove an upper bound for every cardinality. "fast" takes a few steps of a relaxation for each. "tight"
        solves a convex relaxation for each, "l1" the l1 relaxation of the paper. None only uses bounds that the method
        gives. A `Bound` is an object of your own.
    earlier : SparsePCA or ndarray of shape (n_earlier, n_features), optional
        For the path of a later component: a fitted `SparsePCA` of the same data, or components, one in each row. They
        are removed first. Values, bounds and certificates are about the matrix that is left.
    deflation : str, default="projection"
        How the earlier components are removed, as in `SparsePCA`.
    nonnegative : bool, default=False
        Allow no negative loadings.
    forced_in : sequence of str or int, optional
        Features, by name or place, that every support must contain.
    center, scale : bool, default=True and False
        Whether to centre the columns and scale them to variance one, as in `SparsePCA`.
    missing : {"error", "pairwise", "em"}, default="error"
        What to do about missing values in rows: "error", "pairwise" or "em", as in `SparsePCA`.
    feature_names : sequence of str, optional
        The names of the features; by default the column names of a frame.
    time_limit : float, optional
        Seconds for the whole path. If time runs out, the best results so far are kept.
    progress : bool, default=False
        Show progress, on a terminal only.

    Returns
    -------
    CardinalityPath
        The components, their bounds and their certificates, with a table and a picture.

    See Also
    --------
    choose : Choose a number of features by several criteria.
    penalty_path : The same with a penalty in place of a number of features.
    upper_bound : A proved bound for one number of features.

    Notes
    -----
    A support stays valid if a feature is added, so the best variance never falls as the cardinality grows. The search
    uses this: it offers each solution, with a feature more or less, to its neighbours. A bound for one cardinality is
    valid for all smaller ones, too.

    Examples
    --------
    >>> from laconic import cardinality_path
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> path = cardinality_path(votes, max_cardinality=8)
    >>> path.names(2)
    ['H.R. 3045', 'S. 1307']
    >>> path.suggested
    5
    """
    if proof not in (None, *EFFORTS, "l1") and not isinstance(proof, Bound):
        raise ValueError(f"proof={proof!r} must be 'fast', 'tight', 'l1', None or a Bound.")
    check_time_limit(time_limit)
    solver = get_solver(method)
    removed = _earlier_components(earlier)
    needed = [*([] if forced_in is None else forced_in), *(int(j) for j in np.flatnonzero(np.any(removed, axis=0)))]
    with Monitor(time_limit, progress=progress) as monitor:
        reading = read_data(
            X_or_covariance,
            given,
            center=center,
            scale=scale,
            missing=missing,
            feature_names=feature_names,
            features=max_cardinality if is_whole(max_cardinality) else DEFAULT_END,
            needed=needed,
            needed_name="forced_in",
            monitor=monitor,
        )
        whole, names = reading.covariance, reading.feature_names
        forced = forced_places(forced_in, names, whole.varies)
        n, least = whole.n_features, max(1, len(forced))
        last = min(n, max(DEFAULT_END, least)) if max_cardinality is None else max_cardinality
        if not is_whole(last) or not least <= last <= n:
            start = "1" if least == 1 else f"the number of features forced in, {least},"
            raise ValueError(
                f"max_cardinality={max_cardinality!r} must be an int from {start} to the number of features, {n}."
            )
        with threads_for(whole.on_hand().n_features):
            left = _without(whole, removed, deflation)
            problem = Problem(left, int(last), forced, nonnegative, monitor)
            solutions = _found(problem, solver)
            bounds = _bounds(problem, solutions, proof)
            subject = None if proof is None else replace(subject_of(reading), deflation=deflation)
            results = [
                concluded(
                    Question(left, np.arange(n), problem.with_cardinality(k), no_features(), list(removed)),
                    solution,
                    bound,
                    monitor.stopped,
                    subject,
                    names,
                )
                for k, (solution, bound) in enumerate(zip(solutions, bounds, strict=True), start=least)
            ]
            dense, _ = largest_eigenpair(left.on_hand())
    path = CardinalityPath(
        np.arange(least, problem.cardinality + 1),
        [solution for solution, _ in results],
        dense,
        whole.trace,
        names,
        [certificate for _, certificate in results],
    )
    return replace(path, suggested=_bend(path, left))


def _earlier_components(earlier: Any) -> Floats:
    """Return the unit vectors to remove, one in each row; none if nothing is given."""
    if earlier is None:
        return np.empty((0, 0))
    components = np.atleast_2d(np.array(getattr(earlier, "components_", earlier), dtype=np.float64))
    lengths = np.linalg.norm(components, axis=-1, keepdims=True)
    if components.ndim != 2 or not (lengths > 0).all() or not np.isfinite(lengths).all():
        raise ValueError("earlier must be a fitted model, or components that are finite and not zero, one in each row.")
    return np.asarray(components / lengths)


def _without(covariance: Covariance, components: Floats, deflation: str) -> Covariance:
    """Return the covariance without some components."""
    n = covariance.n_features
    if components.size and components.shape[1] != n:
        raise ValueError(f"earlier has components of {components.shape[1]} features, and the data have {n}.")
    if not len(components):
        return covariance
    rule = Deflation(covariance, deflation)
    for z in components:
        rule.remove(z)
    if not float(rule.current.diagonal.max()) > NOTHING * float(covariance.diagonal.max()):
        raise ValueError("The earlier components leave no variance; there is no further component.")
    return rule.current


def _bend(path: CardinalityPath, covariance: Covariance) -> int | None:
    if len(path.cardinalities) < 3:
        return None
    variances = np.sort(covariance.diagonal)
    n = len(variances)
    return hull(
        PathValues(path.cardinalities, path.values, path.total_variance, path.dense_variance, variances[-2], n, None)
    ).chosen


def _bounds(
    problem: Problem, solutions: list[Solution], proof: Proof | Literal["l1"] | None
) -> list[UpperBound | None]:
    """Return the least proved bound for each cardinality; the solver's own counts. A failed proof leaves a note."""
    found: Sequence[UpperBound | ProofError | None] = []
    least = problem.cardinality - len(solutions) + 1
    if proof == "l1":
        # Its bounds hold for all supports, whatever is forced in.
        free = replace(problem, forced=np.empty(0, dtype=np.intp))
        found = prove_path(free, [[estimate] for estimate in Dspca().estimates(free)])[least - 1 :]
    elif proof is not None and len(problem.forced):
        for place, solution in enumerate(solutions):
            solutions[place], bound = bounded(problem.with_cardinality(place + least), solution, proof)
            found = [*found, bound]
    elif proof is not None:
        found = bound_path(problem, solutions, proof)
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


def _found(problem: Problem, solver: Solver) -> list[Solution]:
    """Return the solution for each cardinality, among the features at hand, in terms of all features."""
    part = problem.at_hand()
    found = _found_at_hand(part, solver)
    least = part.cardinality - len(found) + 1
    return [on_all(problem.with_cardinality(k), solution) for k, solution in enumerate(found, start=least)]


def _found_at_hand(problem: Problem, solver: Solver) -> list[Solution]:
    solutions = (solver if isinstance(solver, PathSolver) else OneByOne(solver)).path(problem)
    for place in range(1, len(solutions)):
        solutions[place] = _not_below(solutions[place], solutions[place - 1])
    return solutions


@dataclass(frozen=True)
class OneByOne:
    """Finds a path with a solver of one cardinality, each started from its neighbours."""

    solver: Solver
    name: ClassVar[str] = "one by one"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Find a support of one cardinality."""
        return self.solver.solve(problem, start=start)

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for each cardinality from 1 (or as many as are forced in) to the problem's."""
        least, solver = max(1, len(problem.forced)), self.solver
        count = problem.cardinality - least + 1
        solutions: list[Solution] = []
        with problem.monitor.watch():
            while len(solutions) < count:
                solutions.append(self._one_more(problem, least, solutions))
            for place in range(count - 2, -1, -1):
                problem.monitor.tick()
                below, above = solutions[place], solutions[place + 1]
                if below.status is Status.COMPLETE or set(below.support) <= set(above.support):
                    continue
                again = solver.solve(problem.with_cardinality(least + place), start=above.support)
                if again.value > below.value * (1 + EQUAL):
                    solutions[place] = again
        # With a stopped monitor a solver returns at once.
        while len(solutions) < count:
            solutions.append(self._one_more(problem, least, solutions))
        return solutions

    def _one_more(self, problem: Problem, least: int, solutions: list[Solution]) -> Solution:
        start = solutions[-1].support if solutions else None
        found = self.solver.solve(problem.with_cardinality(least + len(solutions)), start=start)
        return _not_below(found, solutions[-1]) if solutions else found


def _not_below(found: Solution, smaller: Solution) -> Solution:
    """Return the support of one feature fewer if it is better. The estimate for this cardinality stays."""
    if found.value >= smaller.value:
        return found
    return replace(smaller, status=found.status, estimate=found.estimate, witness=found.witness)
