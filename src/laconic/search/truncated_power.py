"""The truncated power method, for one start or for many at once."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from laconic.core.arrays import Floats, Indices
from laconic.covariance import largest_eigenpair, smallest_eigenvalue
from laconic.problem.contract import Abilities
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.search.support import Incumbent, values_of

# Merge starts with the same support only every few steps, because finding them needs a sort.
MERGE_EVERY = 3
# End after this many steps in which no support changes.
QUIET = 3


def truncate(problem: Problem, directions: Floats) -> tuple[Indices, Floats]:
    """Keep the k largest entries of each column, scaled to unit length. Return the supports (k x b) and the columns."""
    supports = problem.top(directions, ordered=False)
    which = np.arange(directions.shape[1])
    entries = directions[supports, which]
    if problem.nonnegative:
        entries = np.maximum(entries, 0.0)
    norms = np.linalg.norm(entries, axis=0)
    entries /= np.where(norms > 0, norms, 1.0)
    block = np.zeros_like(directions)
    block[supports, which] = entries
    return supports, block


@cache
def _keys(n: int) -> NDArray[np.uint64]:
    """Return a random number for each feature. Its sum over a support, modulo 2^64, identifies the support."""
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)


def power_supports(
    problem: Problem, directions: Floats, *, max_iterations: int, keep: int = 64, shift: float | None = None
) -> tuple[Indices, int]:
    """Run the truncated power method from all columns of `directions` together. A step is one product with S.

    Starts that reach the same support are merged, so that the batch soon shrinks to a few supports. Return the `keep`
    best distinct supports reached, each in a row, and the number of steps. A caller that knows it gives the `shift` d
    with S + d I semidefinite.
    """
    covariance = problem.covariance
    if shift is None:
        shift = -min(smallest_eigenvalue(covariance), 0.0)
    keys = _keys(problem.n_features)
    codes = np.empty(0, dtype=np.uint64)
    quiet = 0
    step = 0
    while True:
        supports, block = truncate(problem, directions)
        before, codes = codes, keys[supports].sum(axis=0, dtype=np.uint64)
        quiet = quiet + 1 if np.array_equal(codes, before) else 0
        if quiet >= QUIET or step == max_iterations:
            break
        step += 1
        if step % MERGE_EVERY == 0 and len(codes) > 1:
            _, first = np.unique(codes, return_index=True)
            if len(first) < len(codes):
                first.sort()
                codes, block = codes[first], block[:, first]
        problem.monitor.tick("truncated power")
        directions = covariance.product(block)
        if shift:
            directions += shift * block
    _, first = np.unique(codes, return_index=True)
    if len(first) > keep:
        quality = np.einsum("ij,ij->j", block, covariance.product(block))[first]
        first = first[np.argsort(-quality, kind="stable")[:keep]]
    return np.sort(supports[:, first], axis=0).T, step


@dataclass(frozen=True)
class TruncatedPower:
    """Power steps, each cut to the k largest entries (Yuan and Zhang 2013).

    Attributes
    ----------
    max_iterations
        The largest number of power steps.
    seed
        Seed of the Lanczos start, if the search begins at the leading eigenvector.
    """

    max_iterations: int = 200
    seed: int = 0

    name: ClassVar[str] = "truncated-power"
    abilities: ClassVar[Abilities] = Abilities(seed=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Start from `start`, or from the leading eigenvector."""
        best = Incumbent(problem)
        steps = 0
        with problem.monitor.watch():
            if start is None:
                problem.monitor.tick("leading eigenvector")
                _, vector = largest_eigenpair(problem.covariance, seed=self.seed)
                directions = np.stack([vector, -vector], axis=1) if problem.nonnegative else vector[:, None]
            else:
                directions = np.zeros((problem.n_features, 1))
                directions[start] = 1.0
            supports, steps = power_supports(problem, directions, max_iterations=self.max_iterations)
            for value, support in zip(values_of(problem, supports), supports, strict=True):
                best.offer(float(value), support)
        status = Status.ITERATION_LIMIT if steps == self.max_iterations else Status.HEURISTIC
        return best.solution(status, method=self.name, iterations=steps)
