"""The approximate greedy method."""

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.arrays import Indices
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.search.forward import forward_path


@dataclass(frozen=True)
class ApproximateGreedy:
    """Algorithm 3 of the paper: add the feature with the largest (a_i'x)^2, x the current component's score direction.

    The variance rises by at least that much (the subgradient inequality of the largest eigenvalue), and one product
    with S ranks all features. The whole path up to k costs k columns of S.

    Attributes
    ----------
    candidates
        How many of the best-ranked features to test exactly at each step: the p-best variant of the paper.
    """

    candidates: int = 1

    name: ClassVar[str] = "approximate-greedy"

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ValueError(f"candidates={self.candidates} must be at least 1.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Run the path and return its end."""
        return forward_path(problem, candidates=self.candidates, method=self.name, whole=False)[-1]

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for every cardinality up to the problem's."""
        return forward_path(problem, candidates=self.candidates, method=self.name)
