"""The full greedy method."""

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.arrays import Indices
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.search.forward import forward_path


@dataclass(frozen=True)
class Greedy:
    """Algorithm 2 of the paper (after Moghaddam, Weiss and Avidan 2006): add the feature that raises the value most.

    The largest eigenvalue that each feature outside would give is found exactly, for all of them at once, from one
    eigendecomposition of the current block and a scalar equation each: O(n k^2) a step in place of n eigenproblems.
    """

    name: ClassVar[str] = "greedy"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Run the path and return its end."""
        return forward_path(problem, candidates=None, method=self.name, whole=False)[-1]

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for every cardinality up to the problem's."""
        return forward_path(problem, candidates=None, method=self.name)
