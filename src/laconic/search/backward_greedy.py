"""The backward greedy method."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.linalg import eigh
from laconic.problem.problem import TIE, Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.search.bordered import removed
from laconic.search.support import Incumbent, finish, leading


@dataclass(frozen=True)
class BackwardGreedy:
    """Start with all features and take out, one at a time, the one whose loss costs least.

    The eigenvalue after each removal is exact: a scalar equation on one eigendecomposition. The method writes out the
    n x n matrix and needs n eigendecompositions of falling size.

    Attributes
    ----------
    limit
        Refuse more features than this.
    """

    limit: int = 3000

    name: ClassVar[str] = "backward-greedy"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Run down to the problem's cardinality."""
        return self._run(problem, down_to=problem.cardinality)[0]

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for every cardinality up to the problem's."""
        return self._run(problem, down_to=max(len(problem.forced), 1))

    def _run(self, problem: Problem, *, down_to: int) -> list[Solution]:
        """Return the solutions for cardinality `down_to`, ..., the problem's."""
        n, k = problem.n_features, problem.cardinality
        if n > self.limit:
            raise ValueError(
                f"method='backward-greedy' starts from all {n} features and would need {n} eigendecompositions; "
                f"use method='auto', or BackwardGreedy(limit={n}) if you mean it."
            )
        support = np.arange(n)
        matrix = problem.covariance.submatrix(support)
        forced = problem.forced_mask
        found: dict[int, Solution] = {}
        with problem.monitor.watch():
            while True:
                if len(support) <= k:
                    at_size = problem.with_cardinality(len(support))
                    found[len(support)] = finish(
                        at_size, support, Status.HEURISTIC, method=self.name, iterations=n - len(support)
                    )
                if len(support) == down_to:
                    break
                problem.monitor.tick(f"{self.name}: {len(support)} features left")
                out = self._least_loss(problem, matrix[np.ix_(support, support)], forced[support])
                support = np.delete(support, out)
        return [found[size] if size in found else self._cut(problem, size, support) for size in range(down_to, k + 1)]

    def _least_loss(self, problem: Problem, block: Floats, forced: Mask) -> int:
        m = len(block)
        if problem.nonnegative:
            inside = [np.delete(np.arange(m), i) for i in range(m)]
            left = np.array([leading(block[np.ix_(i, i)], nonnegative=True)[0] for i in inside])
        elif m == 2:
            left = block.diagonal()[::-1].copy()
        else:
            left = removed(*eigh(block))
        left[forced] = -np.inf
        # Among equal losses remove the last feature, so that the first ones stay.
        return int(np.flatnonzero(left >= left.max() - TIE * abs(left.max()))[-1])

    def _cut(self, problem: Problem, size: int, support: Indices) -> Solution:
        """Return a support of a size that a stopped run did not reach, by variance among the features left."""
        at_size = problem.with_cardinality(size)
        order = problem.covariance.diagonal + np.where(np.isin(np.arange(problem.n_features), support), 0.0, -np.inf)
        order[problem.forced] = np.inf
        best = Incumbent(at_size)
        best.offer(0.0, np.argsort(-order, kind="stable")[:size])
        return best.solution(Status.HEURISTIC, method=self.name)
