"""The question, the answer, how a search ended, and the contracts of solvers and bounds."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import Monitor, Stop
from laconic.core.words import EVERYTHING, Scope, optimal_in_words, proof_in_words
from laconic.covariance import Covariance
from laconic.covariance.make import make_of_matrix
from laconic.proof.gate import Estimate, UpperBound, relative_gap
from laconic.proof.witness import Witness


class Status(Enum):
    """How a search ended. Each member, as a string, tells the user what that means or what to do.

    See Also
    --------
    Solution : Has a status.
    """

    OPTIMAL = "Optimal: a proved upper bound leaves a gap of at most one millionth."
    COMPLETE = "The search has excluded every better support of this size{supports}{setting}, up to rounding errors."
    PENALTY_COMPLETE = (
        "The search has excluded every better support of any size{supports} at this penalty{setting}, up to rounding "
        "errors."
    )
    JOINTLY_COMPLETE = "The search has excluded every choice of supports with a larger total, up to rounding errors."
    TOGETHER = "No exchange of features that was tried raises the variance that the components hold together."
    LOCAL = "No exchange of one feature that was tried improves it."
    HEURISTIC = "The method ran to its end."
    PRECISION_LIMIT = "Rounding limit reached: floating point cannot reach the tolerance."
    GAP_REACHED = "The gap is as small as requested."
    NODE_LIMIT = "Node limit reached: a larger node_limit, or proof='exact', may narrow the gap."
    UNDIVIDED = "Every choice of supports was looked at; for some, the bound on orthogonal loadings leaves this gap."
    WORK_LIMIT = "The proof has done as much work as it may: proof='exact' may narrow the gap."
    TOO_MANY = "Too many features for a tree of cases may be in a better support: fewer columns or a smaller size help."
    ITERATION_LIMIT = "Iteration limit reached: a larger max_iterations may improve the result."
    TIME_LIMIT = "Time limit reached: this is the best result so far. A larger time_limit may improve it."
    INTERRUPTED = "Interrupted: this is the best result so far."

    def __str__(self) -> str:
        return self.said_of(EVERYTHING)

    def said_of(self, scope: Scope) -> str:
        """Return the sentence about some of the supports only."""
        return str(self.value).format(supports=scope.supports, setting=scope.setting)


def how_it_ended(value: float, upper: float, gap: float, stopped: Stop | None, otherwise: Status) -> Status:
    """Return the status of a search that found a value and an upper estimate, and may end at the relative `gap`."""
    distance, rounding = upper - value, 64 * EPS * abs(value)
    if distance <= max(PROVED * abs(value), rounding):
        return Status.COMPLETE
    if distance <= gap * abs(value) + rounding:
        return Status.GAP_REACHED
    return stopped_or(stopped, otherwise)


def stopped_or(stop: Stop | None, status: Status) -> Status:
    """Return the status of a search that a time limit or Ctrl-C may have stopped."""
    return status if stop is None else Status[stop.name]


# Scores that differ by less than this share of the largest are equal, and the first feature is taken. Otherwise
# rounding, which depends on the number of threads, would choose between duplicated columns.
TIE = 1e-11


@cache
def tie_breaker(n: int) -> Floats:
    """Return a small penalty for each place, in units of the largest score, so that the first of equal scores wins."""
    column = (np.arange(n, dtype=np.float64) * (TIE / n))[:, None]
    column.flags.writeable = False
    return column


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximise z'Sz over unit vectors z with at most k nonzeros (equation 3 of the paper).

    Attributes
    ----------
    covariance
        The matrix S; a symmetric array is taken, too.
    cardinality
        The largest number of nonzeros, k.
    forced
        Features that every support must contain.
    nonnegative
        Whether all loadings must be at least zero.
    monitor
        Stops the search at the time limit or at Ctrl-C.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Greedy, Problem
    >>> problem = Problem(load_pitprops().covariance, 4)
    >>> Greedy().solve(problem).support
    array([0, 1, 8, 9])
    """

    covariance: Covariance
    cardinality: int
    forced: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    nonnegative: bool = False
    monitor: Monitor = field(default_factory=Monitor)

    def __post_init__(self) -> None:
        if not isinstance(self.covariance, Covariance):
            object.__setattr__(self, "covariance", make_of_matrix(self.covariance, quiet=True).covariance)
        n = self.covariance.n_features
        if not 1 <= self.cardinality <= n:
            raise ValueError(f"cardinality={self.cardinality} must lie between 1 and the number of features, {n}.")
        if len(self.forced) > self.cardinality:
            raise ValueError(
                f"{len(self.forced)} features are forced in but cardinality={self.cardinality}: "
                "force fewer or raise the cardinality."
            )

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.covariance.n_features

    def at_hand(self) -> "Problem":
        """Return the problem on the features at hand: itself if all of them are."""
        hand = self.covariance.at_hand
        if hand is None:
            return self
        forced = np.searchsorted(hand, self.forced)
        k = min(self.cardinality, len(hand))
        return replace(self, covariance=self.covariance.on_hand(), cardinality=k, forced=forced)

    def with_cardinality(self, cardinality: int) -> "Problem":
        """Return the same problem for another cardinality."""
        return replace(self, cardinality=cardinality)

    def largest_variances(self) -> Indices:
        """Choose the k features of largest variance, and always the forced ones."""
        # Deflation may leave negative variances.
        diagonal = self.covariance.diagonal
        return self.top((diagonal - min(float(diagonal.min()), 0.0))[:, None])[:, 0]

    def both_signs(self, vectors: Floats) -> Floats:
        """Return vectors to start from, each a column; their negatives, too, if no loading may be negative."""
        return np.hstack([vectors, -vectors]) if self.nonnegative else vectors

    def direction_of(self, support: Indices) -> Floats:
        """Return a column to start from that is one on a support and zero elsewhere."""
        direction = np.zeros((self.n_features, 1))
        direction[support] = 1.0
        return direction

    def top(self, directions: Floats, *, ordered: bool = True) -> Indices:
        """Choose the k features of largest absolute value in each column, and always the forced ones.

        With non-negative loadings only positive entries count. Each column returned is a support, sorted if `ordered`.
        """
        n, k = self.n_features, self.cardinality
        size = np.maximum(directions, 0.0) if self.nonnegative else np.abs(directions)
        if k == n:
            return np.repeat(np.arange(n)[:, None], directions.shape[1], axis=1)
        largest = size.max(axis=0)
        largest[largest == 0] = 1.0
        size -= tie_breaker(n) * largest
        if len(self.forced):
            size[self.forced] = np.inf
        supports = size.argpartition(n - k, axis=0)[n - k :]
        if ordered:
            supports.sort(axis=0)
        return supports


@dataclass(frozen=True, eq=False)
class Solution:
    """One sparse component.

    Attributes
    ----------
    support : ndarray of int
        The features chosen, in increasing order.
    loadings : ndarray of float
        Their loadings, a unit vector. The largest loading in absolute value is positive. If several tie, the first is.
    value : float
        The variance z'Sz of these loadings. It is a lower bound on the best possible value.
    estimate : float
        The solver's own upper estimate of the best possible value, before the gate; infinite if it has none.
    bound : UpperBound or None
        The proved upper bound on the best possible value, None if nothing is proved.
    status : Status
        How the search ended, or OPTIMAL if a proof closed the gap.
    method : str
        The name of the solver.
    reason : str
        Notes for the user: why this method was chosen, or why there is no proof.
    iterations : int
        The number of steps of the solver's main loop.
    witness : Witness or None
        The numbers from which the gate can compute `estimate` again, if the solver leaves any.
    scope : Scope
        The supports that the verdict is about.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Greedy, Problem
    >>> solution = Greedy().solve(Problem(load_pitprops().covariance, 4))
    >>> solution.support, round(solution.value, 3)
    (array([0, 1, 8, 9]), 2.937)
    """

    support: Indices
    loadings: Floats
    value: float
    status: Status
    estimate: float = np.inf
    bound: UpperBound | None = None
    method: str = ""
    reason: str = ""
    iterations: int = 0
    witness: Witness | None = field(default=None, repr=False)
    scope: Scope = field(default=EVERYTHING, repr=False)

    @property
    def upper(self) -> float:
        """The proved upper bound on the best possible value, infinite if nothing is proved."""
        return np.inf if self.bound is None else max(self.bound.value, self.value)

    @property
    def gap(self) -> float:
        """(upper - lower) / lower: zero when proved optimal, infinite when nothing is proved."""
        return relative_gap(self.lower, self.upper)

    @property
    def lower(self) -> float:
        """The variance of these loadings: a lower bound on the best possible value."""
        return self.value

    @property
    def estimated_gap(self) -> float:
        """(estimate - value) / value: the solver's own gap, before the gate."""
        return relative_gap(self.value, self.estimate)

    @property
    def verdict(self) -> str:
        """Full sentences: what is proved and, if a gap is left, how the search ended."""
        if self.status is Status.OPTIMAL:
            return optimal_in_words(self.scope)
        proof = proof_in_words(self.gap, self.scope)
        if self.status is Status.HEURISTIC:
            return proof
        return f"{proof} {self.status.said_of(self.scope)}"

    def estimated(self, estimate: float, witness: Witness | None = None) -> "Solution":
        """Return the solution with a solver's upper estimate, if it is below the one at hand."""
        if estimate >= self.estimate:
            return self
        estimate = max(estimate, self.value)
        closed = estimate - self.value <= PROVED * self.value
        status = Status.COMPLETE if closed and self.status is not Status.OPTIMAL else self.status
        return replace(self, estimate=estimate, witness=witness, status=status)

    def proved(self, bound: UpperBound) -> "Solution":
        """Return the solution with a proved upper bound, if it is below the one at hand."""
        if bound.value >= self.upper:
            return self
        optimal = bound.value - self.lower <= PROVED * self.lower
        return replace(self, bound=bound, status=Status.OPTIMAL if optimal else self.status)

    def vector(self, n_features: int) -> Floats:
        """Return the component as a vector of length `n_features`, zero off the support."""
        z = np.zeros(n_features)
        z[self.support] = self.loadings
        return z


@dataclass(frozen=True)
class Abilities:
    """Abilities that a solver declares besides `solve`.

    Attributes
    ----------
    seed
        The solver has a field `seed`, which `random_state` sets.
    penalty
        The solver has a field `penalty`, a price for each feature. With a price it chooses the number of features
        itself, up to the problem's cardinality.
    improvable
        A proof that meets a better support may put it in the place of the solver's own.
    products
        The solver needs few products with S, and no matrix.
    together
        The solver finds all components together, without deflation: it has a method
        ``solve_jointly(problem, cardinalities)`` that returns one solution for each cardinality.
    """

    seed: bool = False
    penalty: bool = False
    improvable: bool = False
    products: bool = False
    together: bool = False


@runtime_checkable
class Solver(Protocol):
    """Settings, and a `solve` that keeps its work: if it is stopped early, it returns the best support so far.

    A solver may declare more in an attribute `abilities`, an instance of `Abilities`. One with a method `path` is a
    `PathSolver`, one with a method `first` a `StagedSolver`. docs/extending.md writes one.

    Examples
    --------
    >>> from laconic.methods import Greedy, Solver
    >>> isinstance(Greedy(), Solver)
    True
    """

    name: ClassVar[str]

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Find a support and its loadings.

        Parameters
        ----------
        problem
            The matrix, the cardinality and the constraints.
        start
            A support to begin with. Solvers that do not begin from a support ignore it.
        """
        ...


def solve_at_hand(solver: Solver, problem: Problem, *, start: Indices | None = None) -> Solution:
    """Solve a problem among the features at hand, and return the solution in terms of all features."""
    hand = problem.covariance.at_hand
    if hand is None:
        return solver.solve(problem, start=start)
    if start is not None:
        start = np.searchsorted(hand, np.intersect1d(start, hand))
        start = start if len(start) else None
    return on_all(problem, solver.solve(problem.at_hand(), start=start))


def on_all(problem: Problem, found: Solution) -> Solution:
    """Return a solution among the features at hand in terms of all features; its own bound is not about these."""
    hand = problem.covariance.at_hand
    if hand is None:
        return found
    status = Status.LOCAL if found.status is Status.COMPLETE else found.status
    return replace(found, support=hand[found.support], estimate=np.inf, witness=None, status=status)


@runtime_checkable
class PathSolver(Solver, Protocol):
    """A solver that finds supports of every cardinality in one run."""

    def path(self, problem: Problem) -> list[Solution]:
        """Return solutions for cardinality 1 (or as many as are forced in), ..., `problem.cardinality`."""
        ...


@runtime_checkable
class StagedSolver(Solver, Protocol):
    """A solver that has a quick first stage. If a bound proves its support, the whole search is not needed."""

    def first(self, problem: Problem) -> Solution | None:
        """Return a support after little work, or None if the whole search takes hardly longer."""
        ...


@runtime_checkable
class Bound(Protocol):
    """A way to compute upper bounds: any object that `proof=` takes.

    The gate computes each estimate again from its witness, with rounding errors included. A wrong estimate does not
    pass it. The witness must be a built-in one: `verify` runs no foreign code. docs/extending.md writes one.

    Examples
    --------
    >>> from laconic.methods import Bound, Exact
    >>> isinstance(Exact(), Bound)
    True
    """

    def estimates(self, problem: Problem, solution: Solution) -> Iterable[Estimate]:
        """Yield estimates with their witnesses, the cheapest first. The least that passes the gate is kept.

        Parameters
        ----------
        problem
            The matrix and the cardinality.
        solution
            The best support found.
        """
        ...


def abilities_of(solver: Any) -> Abilities:
    """Return the abilities that a solver declares. A solver that declares none has none."""
    declared = getattr(solver, "abilities", Abilities())
    if not isinstance(declared, Abilities):
        raise TypeError(f"{type(solver).__name__}.abilities must be an Abilities object; {declared!r} was given.")
    return declared
