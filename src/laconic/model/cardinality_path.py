"""Variance against cardinality."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from laconic.bounds.tight import bound_path
from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, check_time_limit
from laconic.core.threads import threads_for
from laconic.core.wording import scope_of
from laconic.covariance import Kind, largest_eigenpair, read_covariance
from laconic.data.names import check_unique
from laconic.methods.dspca import Dspca
from laconic.methods.registry import get_solver
from laconic.problem.contract import PathSolver, Solver
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CardinalityPath:
    """The best component found for each cardinality.

    Attributes
    ----------
    cardinalities
        1, ..., K.
    solutions
        One for each.
    dense_variance
        The variance of the dense component: what a value is a share of.
    total_variance
        The trace of the covariance.
    feature_names
        Names of the features, or None.
    """

    cardinalities: Indices
    solutions: list[Solution]
    dense_variance: float
    total_variance: float
    feature_names: list[str] | None = None

    def __repr__(self) -> str:
        proved = sum(s.status is Status.OPTIMAL for s in self.solutions)
        shares = f"{self.shares[0]:.3g} to {self.shares[-1]:.3g} of the dense variance"
        return f"CardinalityPath(cardinality 1 to {len(self.solutions)}, {proved} of them proved best, {shares})"

    @property
    def values(self) -> Floats:
        """The value z'Sz for each cardinality."""
        return np.array([s.value for s in self.solutions])

    @property
    def upper_bounds(self) -> Floats:
        """The proved upper bound for each cardinality, infinite where there is none."""
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
        """Return the names of the features chosen at a cardinality, largest loading first."""
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
                "gap": [s.gap for s in self.solutions],
                "status": [s.verdict for s in self.solutions],
                "features": [self.names(int(k)) for k in self.cardinalities],
            }
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of the dense component's variance against the cardinality; return the axes."""
        from laconic.report.plots import plot_path

        return plot_path(self, ax)


def cardinality_path(
    X_or_covariance: Any,
    max_cardinality: int | None = None,
    *,
    kind: Kind = "auto",
    method: str | Solver = "auto",
    bounds: Literal["fast", "tight", "l1"] | None = "fast",
    nonnegative: bool = False,
    center: bool = True,
    scale: bool = False,
    feature_names: Sequence[str] | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> CardinalityPath:
    """Return the best component found for every cardinality 1, ..., `max_cardinality`.

    Each cardinality starts from its neighbours' supports, upwards and then downwards, so the values never fall as the
    cardinality grows.

    Parameters
    ----------
    X_or_covariance
        Rows of data, or a covariance or correlation matrix.
    max_cardinality
        Where to stop; by default at all features, or 100 if there are more.
    kind
        What the first argument is. By default a square symmetric matrix with no negative diagonal entry is a
        covariance and anything else is rows.
    method
        A solver or its short name. Greedy methods give the whole path in one run.
    bounds
        How to prove an upper bound for every cardinality: "fast" by a few eigenvalues for each, "tight" by row levels,
        "l1" by the l1 relaxation, each from one warm-started run; None not at all.
    nonnegative
        Allow no negative loading.
    center, scale
        As in `SparsePCA`, for rows.
    feature_names
        By default the column names of a frame.
    time_limit
        Seconds for all of it.
    progress
        Show progress, on a terminal only.
    """
    covariance, found_names = read_covariance(X_or_covariance, kind, center=center, scale=scale)
    names = found_names if feature_names is None else [str(f) for f in feature_names]
    n = covariance.n_features
    if names is not None and len(names) != n:
        raise ValueError(f"feature_names has {len(names)} names for {n} features.")
    if names is not None:
        check_unique(names, name="feature_names holds")
    last = min(n, 100) if max_cardinality is None else max_cardinality
    if not is_whole(last) or not 1 <= last <= n:
        raise ValueError(f"max_cardinality={max_cardinality!r} must be an int from 1 to the number of features, {n}.")
    last = int(last)
    check_time_limit(time_limit)
    if not (covariance.diagonal > 0).any():
        raise ValueError("X has no column that varies; there is no variance to explain.")
    if bounds not in (None, "fast", "tight", "l1"):
        raise ValueError(f"bounds={bounds!r} must be 'fast', 'tight', 'l1' or None.")
    solver = get_solver(method)
    with threads_for(n), Monitor(time_limit, progress=progress) as monitor:
        problem = Problem(covariance, last, nonnegative=nonnegative, monitor=monitor)
        solutions = solver.path(problem) if isinstance(solver, PathSolver) else _warm_started(problem, solver)
        for k in range(1, last):
            solutions[k] = _not_below(solutions[k], solutions[k - 1])
        if bounds is not None:
            if bounds == "l1":
                proved = [estimate.value for estimate in Dspca().estimates(problem)]
            else:
                proved = bound_path(problem, solutions, bounds)
            solutions = [s.estimated(upper) for s, upper in zip(solutions, proved, strict=True)]
        if monitor.stopped is not None:
            solutions = [_stopped(solution, Status[monitor.stopped.name]) for solution in solutions]
        dense, _ = largest_eigenpair(covariance)
    if nonnegative:
        scope = scope_of(np.arange(0), np.arange(0), nonnegative=True)
        solutions = [replace(solution, scope=scope) for solution in solutions]
    return CardinalityPath(np.arange(1, last + 1), solutions, dense, covariance.trace, names)


def _stopped(solution: Solution, reason: Status) -> Solution:
    """Let a solution that is not proved say that there was no time for more."""
    return replace(solution, status=reason) if solution.status in (Status.LOCAL, Status.HEURISTIC) else solution


def _warm_started(problem: Problem, solver: Solver) -> list[Solution]:
    solutions: list[Solution] = []
    with problem.monitor.watch():
        while len(solutions) < problem.cardinality:
            solutions.append(_one_more(problem, solver, solutions))
        for k in range(problem.cardinality - 1, 0, -1):
            problem.monitor.tick()
            below, above = solutions[k - 1], solutions[k]
            if below.status is Status.OPTIMAL or set(below.support) <= set(above.support):
                continue
            again = solver.solve(problem.with_cardinality(k), start=above.support)
            if again.value > below.value * (1 + 1e-12):
                solutions[k - 1] = again
    # A stopped monitor lets a solver do no more than answer.
    while len(solutions) < problem.cardinality:
        solutions.append(_one_more(problem, solver, solutions))
    return solutions


def _one_more(problem: Problem, solver: Solver, solutions: list[Solution]) -> Solution:
    start = solutions[-1].support if solutions else None
    found = solver.solve(problem.with_cardinality(len(solutions) + 1), start=start)
    return _not_below(found, solutions[-1]) if solutions else found


def _not_below(found: Solution, smaller: Solution) -> Solution:
    """Return the solution of one feature fewer if it is better, as a heuristic may fall short; what is proved stays."""
    if found.value >= smaller.value:
        return found
    return replace(smaller, status=found.status, estimate=found.estimate)
