"""The truncated power method, for one start or for many at once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic._typing import Floats, Indices
from laconic.covariance import largest_eigenpair, smallest_eigenvalue
from laconic.problem import Problem
from laconic.solution import Solution, Status
from laconic.solvers.restricted import Incumbent, values_of

# Steps between two looks at which of many starts have met.
MERGE_EVERY = 4


def truncate(problem: Problem, directions: Floats) -> tuple[Indices, Floats]:
    """Keep the k largest entries of each column and scale to unit length; return supports (k x b) and columns."""
    supports = problem.top(directions)
    which = np.arange(directions.shape[1])
    entries = directions[supports, which]
    if problem.nonnegative:
        entries = np.maximum(entries, 0.0)
    norms = np.linalg.norm(entries, axis=0)
    entries /= np.where(norms > 0, norms, 1.0)
    block = np.zeros_like(directions)
    block[supports, which] = entries
    return supports, block


def power_supports(problem: Problem, block: Floats, *, max_iterations: int, keep: int = 64) -> tuple[Indices, int]:
    """Run the truncated power method from every column of `block` by products with the whole block.

    Starts that have come to the same support are merged on the way, so that a batch soon shrinks to the few supports
    that attract all of it.

    Returns
    -------
    The `keep` best distinct supports reached, one a row, and the number of steps.
    """
    covariance = problem.covariance
    shift = -min(smallest_eigenvalue(covariance), 0.0)
    supports: Indices = np.empty((0, 0), dtype=np.intp)
    quiet = 0
    step = 0
    for step in range(1, max_iterations + 1):
        problem.monitor.tick(f"truncated power: {block.shape[1]} starts")
        moved = covariance.product(block)
        if shift:
            moved += shift * block
        found, block = truncate(problem, moved)
        quiet = quiet + 1 if found.shape == supports.shape and np.array_equal(found, supports) else 0
        supports = found
        if quiet >= 3:
            break
        if step % MERGE_EVERY == 0 and supports.shape[1] > 1:
            _, first = np.unique(supports, axis=1, return_index=True)
            if len(first) < supports.shape[1]:
                first.sort()
                supports, block = supports[:, first], block[:, first]
    if supports.shape[1] > keep:
        quality = np.einsum("ij,ij->j", block, covariance.product(block))
        supports = supports[:, np.argsort(-quality, kind="stable")[:keep]]
    return np.unique(supports, axis=1).T, step


@dataclass(frozen=True)
class TruncatedPower:
    """Power steps, each cut to the k largest entries (Yuan and Zhang 2013).

    Attributes
    ----------
    max_iterations
        Power steps at most.
    seed
        Of the Lanczos start, when the start is the leading eigenvector.
    """

    max_iterations: int = 200
    seed: int = 0

    name: ClassVar[str] = "truncated-power"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Start from `start`, or from the leading eigenvector."""
        best = Incumbent(problem)
        steps = 0
        with problem.monitor.watch():
            if start is None:
                problem.monitor.tick("leading eigenvector")
                _, vector = largest_eigenpair(problem.covariance, seed=self.seed)
                block = np.stack([vector, -vector], axis=1) if problem.nonnegative else vector[:, None]
            else:
                block = np.zeros((problem.n_features, 1))
                block[start] = 1.0
            supports, steps = power_supports(problem, block, max_iterations=self.max_iterations)
            for value, support in zip(values_of(problem, supports), supports, strict=True):
                best.offer(float(value), support)
        status = Status.ITERATION_LIMIT if steps == self.max_iterations else Status.HEURISTIC
        return best.solution(status, method=self.name, iterations=steps)
