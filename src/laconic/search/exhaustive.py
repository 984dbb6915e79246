"""Exhaustive search, for small problems."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from math import comb
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Indices
from laconic.core.eigenvalues import EPS, eigh, eigvalsh
from laconic.proof.witness_plain import ExhaustiveWitness
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import EQUAL, Incumbent, finish

# Supports evaluated in one batch. This bounds the memory of their submatrices.
BATCH = 8192
# A loading of the wrong sign this small is a rounding error.
ONE_SIGN = 1e-9


def count_supports(problem: Problem) -> int:
    """Return the number of supports that exhaustive search compares."""
    free, choose = problem.n_features - len(problem.forced), problem.cardinality - len(problem.forced)
    if problem.nonnegative:
        return sum(comb(problem.n_features, size) for size in range(1, problem.cardinality + 1))
    return comb(free, choose)


def rounding_margin(problem: Problem, value: float) -> float:
    """Return an estimate of how far the best value may lie above the value kept.

    LAPACK computes the eigenvalue of a k x k block up to a modest multiple of k eps times its norm. Among supports
    whose values agree to `EQUAL`, the first is kept, and not the best.
    """
    k, covariance = problem.cardinality, problem.covariance
    largest = float(np.abs(covariance.diagonal).max())
    if not covariance.semidefinite and k > 1:
        # Only a semidefinite matrix has its largest entry on the diagonal.
        largest = float(np.abs(covariance.submatrix(np.arange(problem.n_features))).max())
    return 4 * (k + 2) * EPS * k * largest + EQUAL * abs(value)


@dataclass(frozen=True)
class Exhaustive:
    """Evaluate every support of size k and keep the best.

    With non-negative loadings, evaluate every set of at most k features whose leading eigenvector has one sign. This is
    enough. On the features where it is positive, a maximum over z >= 0 is a local maximum on the sphere, and the only
    local maxima on the sphere are leading eigenvectors.

    Attributes
    ----------
    limit
        Refuse problems with more supports than this.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Exhaustive, Problem
    >>> Exhaustive().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    limit: int = 20_000_000

    name: ClassVar[str] = "exhaustive"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Compare all supports."""
        count = count_supports(problem)
        if count > self.limit:
            raise ValueError(
                f"method='exhaustive' would compare {count:,} supports (limit {self.limit:,}); "
                "use method='auto', or raise the limit: Exhaustive(limit=...)."
            )
        best = Incumbent(problem)
        done = 0
        with problem.monitor.watch():
            for supports in self._batches(problem):
                problem.monitor.tick(f"exhaustive: {done:,} of {count:,} supports", best=best.value)
                self._look(problem, best, supports)
                done += len(supports)
        if problem.monitor.stopped is not None:
            return best.solution(Status.COMPLETE, method=self.name, iterations=done)
        solution = self._finished(problem, best, done)
        # A witness bounds loadings of either sign, which this search has not compared.
        witness = None if problem.nonnegative else ExhaustiveWitness()
        return replace(solution, estimate=best.value + rounding_margin(problem, best.value), witness=witness)

    def _finished(self, problem: Problem, best: Incumbent, done: int) -> Solution:
        """Return the best support with the loadings that reached its value."""
        if not problem.nonnegative:
            return best.solution(Status.COMPLETE, method=self.name, iterations=done)
        assert best.support is not None
        support = best.support
        value, z = -np.inf, np.zeros(len(support))
        for size in range(1, len(support) + 1):
            for places in combinations(range(len(support)), size):
                inner = support[list(places)]
                values, bases = eigh(problem.covariance.submatrix(inner))
                vector = bases[:, -1] * (np.sign(bases[:, -1].sum()) or 1.0)
                if values[-1] > value and vector.min() >= -ONE_SIGN:
                    value, z = float(values[-1]), np.zeros(len(support))
                    z[list(places)] = np.maximum(vector, 0.0)
        return finish(problem, support, Status.COMPLETE, method=self.name, iterations=done, pair=(value, z))

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
            one_sign = (z.min(axis=1) >= -ONE_SIGN) | (z.max(axis=1) <= ONE_SIGN)
            joined = [np.union1d(s, problem.forced) for s in supports[one_sign]]
            for value, support in zip(values[one_sign, -1], joined, strict=True):
                if len(support) <= problem.cardinality:
                    best.offer(float(value), support)
            return
        reached = eigvalsh(problem.covariance.submatrices(supports))[:, -1]
        for place in np.flatnonzero(reached >= reached.max() - 2 * EQUAL * abs(reached.max())):
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
