"""DSPCA as a solver: the l1 relaxation, its dual value, and a support from its solution."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance import Covariance
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import RelaxationStatus, largest_eigenvalue_bound
from laconic.relaxations.l1 import CardinalityForm, L1Solution, PenaltyForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.search.problem import Abilities, Problem, Solution, Status, stopped_or
from laconic.search.support import Incumbent, finish, values_of
from laconic.search.swaps import improve


def round_to_support(problem: Problem, factor: Floats, *, polish: bool = True) -> Incumbent:
    """Return the best support of k features that the matrix X = FF' suggests, improved by swaps if `polish`.

    The candidates are the k largest entries of each leading eigenvector of X, of its diagonal, and of S times the
    leading eigenvector, which is the first column of F.
    """
    leading = factor[:, : min(factor.shape[1], 8)]
    directions = [leading, (factor**2).sum(axis=1)[:, None], problem.covariance.product(leading[:, :1])]
    if problem.nonnegative:
        directions += [-leading]
    supports = np.unique(problem.top(np.concatenate(directions, axis=1)), axis=1).T
    best = Incumbent(problem)
    for value, support in zip(values_of(problem, supports), supports, strict=True):
        best.offer(float(value), support)
    if polish:
        improve(problem, best, max_rounds=1000)
    return best


# A feature belongs to the leading eigenvector of X if its loading is above this share of the largest loading.
PRESENT = 1e-3
# Up to this size, the largest eigenvalue takes so little time that it is computed after a time limit, too.
AT_ONCE = 500
# A relaxation that was not solved to the end gives the search this status. At the iteration limit of the relaxation,
# the search still ends as usual: only the estimate is looser.
STATUS_OF = {
    RelaxationStatus.PRECISION_LIMIT: Status.PRECISION_LIMIT,
    RelaxationStatus.TIME_LIMIT: Status.TIME_LIMIT,
    RelaxationStatus.INTERRUPTED: Status.INTERRUPTED,
}


@dataclass(frozen=True)
class Dspca:
    """Solve the l1 relaxation of section 2.1 of the paper and round its solution to a support.

    With a cardinality, the dual value of the relaxation is an upper estimate of the best possible variance. With a
    penalty, the support consists of the features that the leading eigenvector of X uses. The estimate is then the
    smaller of two: the one that the dual point gives for the size of that support, and the largest eigenvalue.

    Attributes
    ----------
    penalty
        The penalty rho; None to use the cardinality of the problem.
    tolerance
        The relative gap to which the relaxation is solved.
    limit
        The largest number of features. More are refused, because the method needs the full covariance matrix.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Dspca, Problem
    >>> Dspca().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    penalty: float | None = None
    tolerance: float = 1e-4
    limit: int = 5000

    name: ClassVar[str] = "dspca"
    abilities: ClassVar[Abilities] = Abilities(penalty=True)

    def __post_init__(self) -> None:
        if self.penalty is not None and not self.penalty > 0:
            raise ValueError(f"penalty={self.penalty} must be above zero.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Solve the relaxation and round its solution. A convex program needs no `start`."""
        if self.penalty is None:
            return self._by_cardinality(problem, [problem.cardinality])[0]
        largest = largest_penalty(problem.covariance)
        if self.penalty >= largest:
            raise ValueError(
                f"penalty={self.penalty} is not below the largest variance, {largest:.6g}: the solution is zero; "
                "choose a smaller penalty."
            )
        return self.penalized_path(problem, [self.penalty])[0]

    def path(self, problem: Problem) -> list[Solution]:
        """Solve for every cardinality up to that of the problem, each started from the previous one."""
        if self.penalty is not None:
            raise ValueError(f"penalty={self.penalty} gives one support; a path over cardinalities needs penalty=None.")
        return self._by_cardinality(problem, range(max(len(problem.forced), 1), problem.cardinality + 1))

    def penalized_path(self, problem: Problem, penalties: Iterable[float]) -> list[Solution]:
        """Solve the form with a penalty for increasing penalties, each started from the previous one."""
        S, forms = self._matrix(problem), [PenaltyForm(float(rho)) for rho in penalties]
        relaxed = Splitting(self.tolerance).path(S, forms, monitor=problem.monitor)
        return [self._used(problem, solution, S) for solution in relaxed]

    def _by_cardinality(self, problem: Problem, sizes: Sequence[int]) -> list[Solution]:
        S = self._matrix(problem)
        relaxed = Splitting(self.tolerance).path(S, [CardinalityForm(k) for k in sizes], monitor=problem.monitor)
        pairs = zip(sizes, relaxed, strict=True)
        return [self._rounded(problem.with_cardinality(k), solution, S) for k, solution in pairs]

    def _rounded(self, problem: Problem, relaxed: L1Solution, S: Floats) -> Solution:
        """Return a support of the size asked for, with the dual value of the relaxation."""
        best = None
        with problem.monitor.watch():
            best = round_to_support(problem, relaxed.factor)
        if best is None:
            best = round_to_support(problem, relaxed.factor, polish=False)
        status = STATUS_OF.get(relaxed.status, Status.LOCAL)
        solution = best.solution(status, method=self.name, iterations=relaxed.iterations)
        return _estimated(solution, relaxed, relaxed.dual, S)

    def _matrix(self, problem: Problem) -> Floats:
        n = problem.n_features
        if n > self.limit:
            raise ValueError(
                f"method='dspca' needs the covariance of all {n} features as a full matrix; give fewer columns, "
                f"or raise the limit: Dspca(limit={n})."
            )
        return problem.covariance.submatrix(np.arange(n))

    def _used(self, problem: Problem, relaxed: L1Solution, S: Floats) -> Solution:
        """Return the features that a solution with a penalty uses, with the estimate for that many features."""
        support = np.union1d(_support_of(relaxed), problem.forced)
        status = stopped_or(problem.monitor.stopped, STATUS_OF.get(relaxed.status, Status.HEURISTIC))
        solution = finish(problem, support, status, method=self.name, iterations=relaxed.iterations)
        solution = _estimated(solution, relaxed, relaxed.estimate(len(support)), S)
        if problem.monitor.stopped is None or problem.covariance.eigenproblem_size <= AT_ONCE:
            dense = largest_eigenvalue_bound(problem.covariance, problem.cardinality)
            solution = solution.estimated(dense.value, dense.witness)
        return solution


def largest_penalty(covariance: Covariance) -> float:
    """Return the penalty from which on the solution is zero: max x'Sx - rho |x|_1^2 <= 0 if no entry of S exceeds rho.

    The largest entry of a semidefinite matrix is on its diagonal.
    """
    largest = float(covariance.diagonal.max())
    return largest if covariance.semidefinite else max(largest, covariance.rounding_unit)


def _estimated(solution: Solution, relaxed: L1Solution, bound: float, S: Floats) -> Solution:
    """Return the solution with a bound by the dual point, and a note on the relaxation."""
    witness = DualWitness("l1 dual", multiplier=relaxed.dual_matrix(S))
    return replace(solution, reason=_in_words(relaxed)).estimated(bound, witness)


def _support_of(relaxed: L1Solution) -> Indices:
    """Return the features that the leading eigenvector of X uses."""
    size = np.abs(relaxed.vector)
    return np.flatnonzero(size > PRESENT * size.max())


def _in_words(relaxed: L1Solution) -> str:
    if relaxed.tight:
        found = f"l1 relaxation of rank one: exact for the l1 norm, with {len(_support_of(relaxed))} features"
    else:
        found = f"l1 relaxation of rank {relaxed.rank}: its leading eigenvector was rounded"
    if relaxed.status is RelaxationStatus.ITERATION_LIMIT:
        found += f"; not solved to the tolerance after {relaxed.iterations} steps, so the bound is loose"
    return found
