"""Sorting by variance."""

from dataclasses import dataclass
from typing import ClassVar

from laconic._typing import Indices
from laconic.problem import Problem
from laconic.solution import Solution, Status
from laconic.solvers.restricted import finish


@dataclass(frozen=True)
class VarianceSorting:
    """Take the k features of largest variance (section 3.2 of the paper, "sorting"): O(n log n)."""

    name: ClassVar[str] = "sorting"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Sort the diagonal."""
        support = problem.largest_variances()
        return finish(problem, support, Status.HEURISTIC, method=self.name)
