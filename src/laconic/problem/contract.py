"""The contract of a solver."""

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from laconic.core.arrays import Indices
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution


@runtime_checkable
class Solver(Protocol):
    """Settings, and a `solve` that never throws work away: stopped early, it returns the best it has."""

    name: ClassVar[str]

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Answer the problem.

        Parameters
        ----------
        problem
            What to maximise.
        start
            A support to begin with, for solvers that search from one; the others ignore it.
        """
        ...


@runtime_checkable
class PathSolver(Solver, Protocol):
    """A solver that answers for every cardinality in one run."""

    def path(self, problem: Problem) -> list[Solution]:
        """Return solutions for cardinality 1 (or as many as are forced in), ..., `problem.cardinality`."""
        ...


@runtime_checkable
class JointSolver(Solver, Protocol):
    """A solver that finds several components together, in place of deflation."""

    @property
    def joint(self) -> bool:
        """Whether these settings ask for it."""
        ...

    def solve_jointly(self, problem: Problem, cardinalities: Sequence[int]) -> list[Solution]:
        """Return one solution for each cardinality."""
        ...
