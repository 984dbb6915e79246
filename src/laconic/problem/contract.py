"""The contracts of a solver and of a bound. Both may come from outside the package; see docs/extending.md."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from laconic.core.arrays import Indices
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.proof.estimate import Estimate


@dataclass(frozen=True)
class Abilities:
    """Abilities that a solver declares besides `solve`.

    Attributes
    ----------
    seed
        The solver has a field `seed`, which `random_state` sets.
    penalty
        The solver has a field `penalty`, a price for each feature. With a price it chooses the number of features
        itself, up to the problem's cardinality.
    improvable
        A proof that meets a better support may put it in the place of the solver's own.
    together
        The solver finds all components together; see `JointSolver`.
    disjoint
        Components that are found together have disjoint supports.
    """

    seed: bool = False
    penalty: bool = False
    improvable: bool = False
    together: bool = False
    disjoint: bool = False


@runtime_checkable
class Solver(Protocol):
    """Settings, and a `solve` that keeps its work: if it is stopped early, it returns the best support so far.

    A solver may declare more in an attribute `abilities`, an instance of `Abilities`. One with a method `path` is a
    `PathSolver`, one with a method `first` a `StagedSolver`.
    """

    name: ClassVar[str]

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Find a support and its loadings.

        Parameters
        ----------
        problem
            The matrix, the cardinality and the constraints.
        start
            A support to begin with. Solvers that do not begin from a support ignore it.
        """
        ...


@runtime_checkable
class PathSolver(Solver, Protocol):
    """A solver that finds supports of every cardinality in one run."""

    def path(self, problem: Problem) -> list[Solution]:
        """Return solutions for cardinality 1 (or as many as are forced in), ..., `problem.cardinality`."""
        ...


@runtime_checkable
class StagedSolver(Solver, Protocol):
    """A solver that has a quick first stage. If a bound proves its support, the whole search is not needed."""

    def first(self, problem: Problem) -> Solution | None:
        """Return a support after little work, or None if the whole search takes hardly longer."""
        ...


@runtime_checkable
class JointSolver(Solver, Protocol):
    """A solver that finds several components together, without deflation."""

    def solve_jointly(self, problem: Problem, cardinalities: Sequence[int]) -> list[Solution]:
        """Return one solution for each cardinality."""
        ...


@runtime_checkable
class Bound(Protocol):
    """A way to compute upper bounds: any object that `proof=` takes.

    The gate computes each estimate again from its witness, with rounding errors included. A wrong estimate does not
    pass it. The witness must be a built-in one: `verify` runs no foreign code.
    """

    def estimates(self, problem: Problem, solution: Solution) -> Iterable[Estimate]:
        """Yield estimates with their witnesses, the cheapest first. The least that passes the gate is kept.

        Parameters
        ----------
        problem
            The matrix and the cardinality.
        solution
            The best support found.
        """
        ...


def abilities_of(solver: Any) -> Abilities:
    """Return the abilities that a solver declares. A solver that declares none has none."""
    declared = getattr(solver, "abilities", Abilities())
    if not isinstance(declared, Abilities):
        raise TypeError(f"{type(solver).__name__}.abilities must be an Abilities object; {declared!r} was given.")
    return declared
