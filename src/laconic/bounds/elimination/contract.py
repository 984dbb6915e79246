"""The contracts of safe elimination.

Let v be a value that some support reaches. A feature is eliminated if no support that contains it has a value above v.
Then only the features kept must be searched. A bound on the features kept has a witness on those features. `lift` makes
a witness on all features from it, which also proves that the elimination was safe.
"""

from typing import Protocol

from laconic.core.arrays import Indices
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.proof.witnesses.contract import Witness


class Elimination(Protocol):
    """The result of an elimination: the features kept, and the proof that the others do not matter."""

    @property
    def kept(self) -> Indices:
        """The features kept, in increasing order."""
        ...

    @property
    def lifts_trees_only(self) -> bool:
        """Whether `lift` needs the witness of a tree search and refuses every other kind."""
        ...

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features, or None if there is none.

        Parameters
        ----------
        witness
            The witness of a bound on the features kept, numbered among them.
        """
        ...


class Search(Protocol):
    """A search that an elimination may call: `laconic.bounds.tree.search.TreeSearch` gives it."""

    def __call__(self, problem: Problem, first: Solution, /, *, gap: float, node_limit: int | None) -> Solution:
        """Return the best support found, with an estimate of the best value and its witness.

        Parameters
        ----------
        problem
            The problem to search.
        first
            A solution of the problem.
        gap
            The relative gap at which the search may stop.
        node_limit
            The number of nodes at which it must stop; None for no limit.
        """
        ...
