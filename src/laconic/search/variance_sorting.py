"""Sorting by variance."""

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.arrays import Indices
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.search.support import finish


@dataclass(frozen=True)
class VarianceSorting:
    """Take the k features of largest variance (section 3.2 of the paper, "sorting"): O(n log n)."""

    name: ClassVar[str] = "sorting"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Sort the diagonal."""
        support = problem.largest_variances()
        return finish(problem, support, Status.HEURISTIC, method=self.name)
