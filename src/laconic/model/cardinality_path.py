"""Variance against cardinality."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from laconic.bounds.at_hand import on_all
from laconic.bounds.least import closes, with_note
from laconic.bounds.path import bound_path, prove_path
from laconic.bounds.proof_choices import EFFORTS, Proof
from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, check_time_limit
from laconic.core.threads import threads_for
from laconic.core.wording import gap_in_tables
from laconic.covariance import Given, largest_eigenpair
from laconic.covariance.indefinite import Indefinite
from laconic.covariance.missing import Missing
from laconic.covariance.reading import read_data
from laconic.methods.dspca import Dspca
from laconic.methods.registry import get_solver
from laconic.model.conclusion import bounded, concluded, question_of, subject_of
from laconic.problem import Bound, PathSolver, Problem, Solution, Solver, Status
from laconic.proof import Certificate, ProofError, UpperBound
from laconic.search.support import EQUAL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# The path ends here if the user gives no end and there are more features.
DEFAULT_END = 100


@dataclass(frozen=True, eq=False)
class CardinalityPath:
    """The best component found for each cardinality.

    Attributes
    ----------
    cardinalities
        The cardinalities 1, ..., K.
    solutions
        The solution for each cardinality.
    dense_variance
        The variance of the dense component. Shares are relative to it.
    total_variance
        The trace of the covariance.
    feature_names
        The names of the features, or None.
    certificates
        The proof of each upper bound, which `laconic.verify` checks, or None. `certificates[k - 1]` is for
        cardinality k.
    """

    cardinalities: Indices
    solutions: list[Solution]
    dense_variance: float
    total_variance: float
    feature_names: list[str] | None = None
    certificates: list[Certificate | None] = field(default_factory=list)

    def __repr__(self) -> str:
        optimal = sum(s.status is Status.OPTIMAL for s in self.solutions)
        shares = f"{self.shares[0]:.3g} to {self.shares[-1]:.3g} of the dense component's variance"
        return f"CardinalityPath(cardinality 1 to {len(self.solutions)}, {optimal} of them optimal, {shares})"

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
                f"cardinality={cardinality!r} is not on the path, which goes from 1 to {len(self.solutions)}."
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

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of the dense component's variance against the cardinality, and return the axes.

        Parameters
        ----------
        ax
            The axes to draw on; new ones if None.
        """
        from laconic.report.plots import plot_path

        return plot_path(self, ax)


def cardinality_path(
    X_or_covariance: Any,
    max_cardinality: int | None = None,
    *,
    given: Given = "auto",
    method: str | Solver = "auto",
    proof: Proof | Literal["l1"] | None = "fast",
    nonnegative: bool = False,
    center: bool = True,
    scale: bool = False,
    missing: Missing = "error",
    indefinite: Indefinite = "accept",
    feature_names: Sequence[str] | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> CardinalityPath:
    """Return the best component found for every cardinality 1, ..., `max_cardinality`.

    Each cardinality starts from the supports of its neighbours, first upwards and then downwards. The values never fall
    as the cardinality grows.

    Parameters
    ----------
    X_or_covariance
        Rows of data, or a covariance or correlation matrix.
    max_cardinality
        The last cardinality. By default the number of features, but at most 100.
    given
        What the first argument is: "rows" or "covariance". By default, "auto", a square symmetric matrix without a
        negative diagonal entry is a covariance, and anything else is rows.
    method
        A solver or its short name. Greedy methods give the whole path in one run.
    proof
        How to prove an upper bound for every cardinality. "fast" takes a few steps of a relaxation for each. "tight"
        solves a convex relaxation for each, "l1" the l1 relaxation of the paper. None only uses bounds that the method
        gives. A `Bound` is an object of your own.
    nonnegative
        Allow no negative loadings.
    center, scale
        Whether to centre the columns and scale them to variance one, as in `SparsePCA`.
    missing
        What to do about missing values in rows: "error", "pairwise" or "em", as in `SparsePCA`.
    indefinite
        What to do about a matrix that is not positive semidefinite, as in `SparsePCA`: "accept", "nearest" or "error".
    feature_names
        The names of the features; by default the column names of a frame.
    time_limit
        Seconds for the whole path. If time runs out, the best results so far are kept.
    progress
        Show progress, on a terminal only.
    """
    if proof not in (None, *EFFORTS, "l1") and not isinstance(proof, Bound):
        raise ValueError(f"proof={proof!r} must be 'fast', 'tight', 'l1', None or a Bound.")
    check_time_limit(time_limit)
    solver = get_solver(method)
    with Monitor(time_limit, progress=progress) as monitor:
        reading = read_data(
            X_or_covariance,
            given,
            center=center,
            scale=scale,
            missing=missing,
            indefinite=indefinite,
            feature_names=feature_names,
            features=max_cardinality if is_whole(max_cardinality) else DEFAULT_END,
            monitor=monitor,
        )
        covariance, n = reading.covariance, reading.covariance.n_features
        last = min(n, DEFAULT_END) if max_cardinality is None else max_cardinality
        if not is_whole(last) or not 1 <= last <= n:
            raise ValueError(
                f"max_cardinality={max_cardinality!r} must be an int from 1 to the number of features, {n}."
            )
        if not (covariance.diagonal > 0).any() and (covariance.semidefinite or largest_eigenpair(covariance)[0] <= 0):
            raise ValueError("X has no column that varies; there is no variance to explain.")
        with threads_for(covariance.on_hand().n_features):
            problem = Problem(covariance, int(last), nonnegative=nonnegative, monitor=monitor)
            solutions = _found(problem, solver)
            bounds = _bounds(problem, solutions, proof)
            subject, names = None if proof is None else subject_of(reading), reading.feature_names
            results = [
                concluded(question_of(problem.with_cardinality(k)), solution, bound, monitor.stopped, subject, names)
                for k, (solution, bound) in enumerate(zip(solutions, bounds, strict=True), start=1)
            ]
            dense, _ = largest_eigenpair(covariance.on_hand())
    return CardinalityPath(
        np.arange(1, problem.cardinality + 1),
        [solution for solution, _ in results],
        dense,
        covariance.trace,
        names,
        [certificate for _, certificate in results],
    )


def _bounds(
    problem: Problem, solutions: list[Solution], proof: Proof | Literal["l1"] | None
) -> list[UpperBound | None]:
    """Return the least proved bound for each cardinality; the solver's own counts. A failed proof leaves a note."""
    found: list[UpperBound | ProofError] = []
    if proof == "l1":
        found = prove_path(problem, [[estimate] for estimate in Dspca().estimates(problem)])
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
        own = bounded(problem.with_cardinality(place + 1), solution, None)[1]
        if own is not None and (bound is None or own.value < bound.value):
            bounds[place] = own
    return bounds


def _found(problem: Problem, solver: Solver) -> list[Solution]:
    """Return the solution for each cardinality, among the features at hand, in terms of all features."""
    part = problem.at_hand()
    found = _found_at_hand(part, solver)
    return [on_all(problem.with_cardinality(k), solution) for k, solution in enumerate(found, start=1)]


def _found_at_hand(problem: Problem, solver: Solver) -> list[Solution]:
    solutions = solver.path(problem) if isinstance(solver, PathSolver) else _warm_started(problem, solver)
    for k in range(1, problem.cardinality):
        solutions[k] = _not_below(solutions[k], solutions[k - 1])
    return solutions


def _warm_started(problem: Problem, solver: Solver) -> list[Solution]:
    solutions: list[Solution] = []
    with problem.monitor.watch():
        while len(solutions) < problem.cardinality:
            solutions.append(_one_more(problem, solver, solutions))
        for k in range(problem.cardinality - 1, 0, -1):
            problem.monitor.tick()
            below, above = solutions[k - 1], solutions[k]
            if below.status is Status.COMPLETE or set(below.support) <= set(above.support):
                continue
            again = solver.solve(problem.with_cardinality(k), start=above.support)
            if again.value > below.value * (1 + EQUAL):
                solutions[k - 1] = again
    # With a stopped monitor a solver returns at once.
    while len(solutions) < problem.cardinality:
        solutions.append(_one_more(problem, solver, solutions))
    return solutions


def _one_more(problem: Problem, solver: Solver, solutions: list[Solution]) -> Solution:
    start = solutions[-1].support if solutions else None
    found = solver.solve(problem.with_cardinality(len(solutions) + 1), start=start)
    return _not_below(found, solutions[-1]) if solutions else found


def _not_below(found: Solution, smaller: Solution) -> Solution:
    """Return the support of one feature fewer if it is better. The estimate for this cardinality stays."""
    if found.value >= smaller.value:
        return found
    return replace(smaller, status=found.status, estimate=found.estimate, witness=found.witness)
