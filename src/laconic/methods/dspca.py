"""DSPCA as a solver: the l1 relaxation, rounded to a support, with the bound it proves."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.problem.contract import Abilities
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status, stopped_or
from laconic.proof.estimate import Estimate
from laconic.proof.witness import DualWitness, TraceWitness
from laconic.relaxations.elementary import eigenvalue_bound, side
from laconic.relaxations.first_order import FirstOrder
from laconic.relaxations.l1 import CardinalityForm, L1Solution, PenaltyForm
from laconic.relaxations.l1_path import solve_cardinalities, solve_penalties
from laconic.relaxations.splitting import Splitting
from laconic.search.rounding import round_to_support
from laconic.search.support import finish

# A feature whose loading is below this share of the largest does not belong to the rounded eigenvector.
PRESENT = 1e-3
# Up to this size the largest eigenvalue takes no time.
AT_ONCE = 500


@dataclass(frozen=True)
class Dspca:
    """Solve the l1 relaxation of section 2.1 of the paper and round it.

    With a cardinality, the relaxation is that of the problem, and its dual value is a proved upper bound
    (`Solution.upper`). With a penalty, the support is what the leading eigenvector of the solution uses, and the
    bound is the one its dual point gives at the size of that support, or the largest eigenvalue if that is less.

    Attributes
    ----------
    penalty
        rho; None for the cardinality of the problem.
    tolerance
        The relative gap to which the relaxation is solved.
    algorithm
        "splitting", or "first-order" for Algorithm 1 of the paper (with a penalty only).
    limit
        Refuse more features than this: the matrix is written out.
    """

    penalty: float | None = None
    tolerance: float = 1e-4
    algorithm: Literal["splitting", "first-order"] = "splitting"
    limit: int = 5000

    name: ClassVar[str] = "dspca"
    abilities: ClassVar[Abilities] = Abilities(penalty=True)

    def __post_init__(self) -> None:
        if self.algorithm not in ("splitting", "first-order"):
            raise ValueError(f"algorithm={self.algorithm!r} must be 'splitting' or 'first-order'.")
        if self.algorithm == "first-order" and self.penalty is None:
            raise ValueError("algorithm='first-order' solves the penalised form; give penalty=.")
        if self.penalty is not None and not self.penalty > 0:
            raise ValueError(f"penalty={self.penalty} must be above zero.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Solve the relaxation and round it."""
        S = self._matrix(problem)
        if self.penalty is None:
            relaxed = Splitting(self.tolerance).solve(S, CardinalityForm(problem.cardinality), monitor=problem.monitor)
            witness = DualWitness("l1 dual", multiplier=relaxed.dual_matrix(S))
            return self.rounded(problem, relaxed, witness)
        return self._penalized(problem, S)

    def path(self, problem: Problem) -> list[Solution]:
        """Solve for every cardinality up to the problem's in one run."""
        if self.penalty is not None:
            raise ValueError(f"penalty={self.penalty} gives one support; a path over cardinalities needs penalty=None.")
        sizes = range(max(len(problem.forced), 1), problem.cardinality + 1)
        relaxed = self._relaxed(problem, sizes)
        return [self.rounded(problem.with_cardinality(k), r) for k, r in zip(sizes, relaxed, strict=True)]

    def penalized_path(self, problem: Problem, penalties: Floats) -> list[Solution]:
        """Solve the penalised form for every penalty, increasing, in one run."""
        S = self._matrix(problem)
        relaxed = solve_penalties(S, list(penalties), Splitting(self.tolerance), problem.monitor)
        dense = _dense_bound(problem)
        return [self._used(problem, r).estimated(dense.value) for r in relaxed]

    def upper_bounds(self, problem: Problem) -> list[float]:
        """Return what the relaxation proves for each cardinality 1, ..., the problem's, with no rounding."""
        return [r.dual for r in self._relaxed(problem, range(1, problem.cardinality + 1))]

    def _relaxed(self, problem: Problem, sizes: range) -> list[L1Solution]:
        return solve_cardinalities(self._matrix(problem), sizes, Splitting(self.tolerance), problem.monitor)

    def rounded(self, problem: Problem, relaxed: L1Solution, witness: DualWitness | None = None) -> Solution:
        """Round a solution of the cardinality form, and say what it proves."""
        best = None
        with problem.monitor.watch():
            best = round_to_support(problem, relaxed.factor)
        if best is None:
            best = round_to_support(problem, relaxed.factor, polish=False)
        solution = best.solution(_status(relaxed, Status.LOCAL), method=self.name, iterations=relaxed.iterations)
        return replace(solution, reason=_tightness(relaxed)).estimated(relaxed.dual, witness)

    def _matrix(self, problem: Problem) -> Floats:
        n = problem.n_features
        if n > self.limit:
            raise ValueError(
                f"method='dspca' writes out the covariance of all {n} features; leave some out with forced_out, "
                f"or raise the limit: Dspca(limit={n})."
            )
        return problem.covariance.submatrix(np.arange(n))

    def _penalized(self, problem: Problem, S: Floats) -> Solution:
        assert self.penalty is not None
        largest = float(problem.covariance.diagonal.max())
        if self.penalty >= largest:
            raise ValueError(
                f"penalty={self.penalty} is not below the largest variance, {largest:.6g}: the solution is zero; "
                "choose a smaller penalty."
            )
        form = PenaltyForm(self.penalty)
        if self.algorithm == "splitting":
            relaxed = Splitting(self.tolerance).solve(S, form, monitor=problem.monitor)
        else:
            relaxed = FirstOrder(self.tolerance).solve(S, form, monitor=problem.monitor)
        dense = _dense_bound(problem)
        witness = DualWitness("l1 dual", multiplier=relaxed.dual_matrix(S))
        return self._used(problem, relaxed, witness).estimated(dense.value, dense.witness)

    def _used(self, problem: Problem, relaxed: L1Solution, witness: DualWitness | None = None) -> Solution:
        """Take the features that a penalised solution uses, and say what it proves of supports that large."""
        support = np.union1d(support_of(relaxed), problem.forced)
        status = _status(relaxed, Status.HEURISTIC)
        solution = finish(
            problem,
            support,
            stopped_or(problem.monitor.stopped, status),
            method=self.name,
            iterations=relaxed.iterations,
        )
        return replace(solution, reason=_tightness(relaxed)).estimated(relaxed.upper_bound(len(support)), witness)


def _dense_bound(problem: Problem) -> Estimate:
    """Return the largest eigenvalue, or none if there is no time left for that of a large matrix."""
    if problem.monitor.stopped is not None and side(problem.covariance) > AT_ONCE:
        return Estimate(np.inf, "none", problem.cardinality, TraceWitness())
    return eigenvalue_bound(problem.covariance, problem.cardinality)


def support_of(relaxed: L1Solution) -> Indices:
    """Return the features that the leading eigenvector of X uses."""
    size = np.abs(relaxed.vector)
    return np.flatnonzero(size > PRESENT * size.max())


def _status(relaxed: L1Solution, solved: Status) -> Status:
    """Return the status of a rounding: `solved` if the relaxation was solved, else what stopped it."""
    return solved if relaxed.status is Status.COMPLETE else relaxed.status


def _tightness(relaxed: L1Solution) -> str:
    if relaxed.tight:
        return f"l1 relaxation of rank one: exact for the l1 norm, with {len(support_of(relaxed))} features"
    return f"l1 relaxation of rank {relaxed.rank}: its leading eigenvector was rounded"
