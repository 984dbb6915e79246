"""Exhaustive search: the truth, for small problems."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from math import comb
from typing import ClassVar

import numpy as np

from laconic._typing import Indices
from laconic.linalg import eigh, eigvalsh
from laconic.problem import Problem
from laconic.solution import Solution, Status
from laconic.solvers.restricted import Incumbent

# Supports evaluated in one batch.
BATCH = 8192


def count_supports(problem: Problem) -> int:
    """Return the number of supports exhaustive search would look at."""
    free, choose = problem.n_features - len(problem.forced), problem.cardinality - len(problem.forced)
    if problem.nonnegative:
        return sum(comb(problem.n_features, size) for size in range(1, problem.cardinality + 1))
    return comb(free, choose)


def rounding_margin(problem: Problem) -> float:
    """Return what LAPACK's eigenvalue of any k x k block may be off by: a modest multiple of k eps times its norm."""
    k = problem.cardinality
    norm = k * float(np.abs(problem.covariance.diagonal).max())
    return 4 * (k + 2) * float(np.finfo(float).eps) * norm


@dataclass(frozen=True)
class Exhaustive:
    """Evaluate every support of size k and keep the best: the answer is proved.

    With non-negative loadings every set J of at most k features is looked at whose leading eigenvector has one sign.
    That is enough: on the features where it is positive, a maximum over z >= 0 is a local maximum on the sphere, and
    the only local maxima there are leading eigenvectors.

    Attributes
    ----------
    limit
        Refuse to look at more supports than this.
    """

    limit: int = 20_000_000

    name: ClassVar[str] = "exhaustive"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Look at every support."""
        count = count_supports(problem)
        if count > self.limit:
            raise ValueError(
                f"method='exhaustive' would look at {count:,} supports (limit {self.limit:,}); "
                "use method='auto', or raise the limit: Exhaustive(limit=...)."
            )
        best = Incumbent(problem)
        done = 0
        with problem.monitor.watch():
            for supports in self._batches(problem):
                problem.monitor.tick(f"exhaustive: {done:,} of {count:,} supports", best=best.value)
                self._look(problem, best, supports)
                done += len(supports)
        solution = best.solution(Status.OPTIMAL, method=self.name, iterations=done)
        if solution.status is not Status.OPTIMAL:
            return solution
        return replace(solution, upper=solution.value + rounding_margin(problem))

    def _batches(self, problem: Problem) -> Iterator[Indices]:
        n, k, forced = problem.n_features, problem.cardinality, problem.forced
        if problem.nonnegative:
            for size in range(1, k + 1):
                yield from _stacked(range(n), size)
            return
        free = np.setdiff1d(np.arange(n), forced)
        for part in _stacked(free.tolist(), k - len(forced)):
            fixed = np.repeat(forced[None], len(part), axis=0)
            yield np.sort(np.concatenate([fixed, part], axis=1), axis=1)

    def _look(self, problem: Problem, best: Incumbent, supports: Indices) -> None:
        if problem.nonnegative:
            values, bases = eigh(problem.covariance.submatrices(supports))
            z = bases[:, :, -1]
            one_sign = (z.min(axis=1) >= -1e-9) | (z.max(axis=1) <= 1e-9)
            joined = [np.union1d(s, problem.forced) for s in supports[one_sign]]
            for value, support in zip(values[one_sign, -1], joined, strict=True):
                if len(support) <= problem.cardinality:
                    best.offer(float(value), support)
            return
        reached = eigvalsh(problem.covariance.submatrices(supports))[:, -1]
        for place in np.flatnonzero(reached >= reached.max() - 1e-11 * abs(reached.max())):
            best.offer(float(reached[place]), supports[place])


def _stacked(features: range | list[int], size: int) -> Iterator[Indices]:
    """Yield the subsets of a size as arrays of many rows."""
    if size == 0:
        yield np.empty((1, 0), dtype=np.intp)
        return
    subsets = combinations(features, size)
    while True:
        part = np.fromiter(chain.from_iterable(islice(subsets, BATCH)), dtype=np.intp).reshape(-1, size)
        if not len(part):
            return
        yield part
