"""Thresholding the dense principal component."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance import largest_eigenpair
from laconic.problem.contract import Abilities
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.search.support import Incumbent, values_of


@dataclass(frozen=True)
class Thresholding:
    """Take the k largest loadings of the leading eigenvector (section 3.2 of the paper, "thresholding").

    The loadings are then those of the best component on that support. With non-negative loadings the eigenvector and
    its negative give two supports, and the better one is taken.

    Attributes
    ----------
    seed
        Seed of the Lanczos start.
    """

    seed: int = 0

    name: ClassVar[str] = "thresholding"
    abilities: ClassVar[Abilities] = Abilities(seed=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Compute the eigenvector and keep its largest entries."""
        best = Incumbent(problem)
        with problem.monitor.watch():
            problem.monitor.tick("leading eigenvector")
            best = cut_off(problem, largest_eigenpair(problem.covariance, seed=self.seed)[1])
        return best.solution(Status.HEURISTIC, method=self.name)


def cut_off(problem: Problem, vector: Floats) -> Incumbent:
    """Return the support of the largest loadings of the leading eigenvector."""
    best = Incumbent(problem)
    both = np.stack([vector, -vector], axis=1) if problem.nonnegative else vector[:, None]
    supports = problem.top(both).T
    for value, support in zip(values_of(problem, supports), supports, strict=True):
        best.offer(float(value), support)
    return best
