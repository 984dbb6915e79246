"""The contracts of safe elimination.

Let v be a value that some support reaches. A feature is eliminated if no support that contains it has a value above v.
Then only the features kept must be searched. A bound on the features kept has a witness on those features. `lift` makes
a witness on all features from it, which also proves that the elimination was safe.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from laconic.core.arrays import Indices
from laconic.problem import Problem, Solution
from laconic.proof.witnesses.contract import Witness

# Searches a problem from a solution of it, with a relative gap at which to stop and a largest number of nodes.
Search: TypeAlias = Callable[[Problem, Solution, float, int | None], Solution]


class Elimination(Protocol):
    """The result of an elimination: the features kept, and the proof that the others do not matter."""

    @property
    def kept(self) -> Indices:
        """The features kept, in increasing order."""

    @property
    def lifts_trees_only(self) -> bool:
        """Whether `lift` needs the witness of a tree search and refuses every other kind."""

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features from one on the features kept, or None if there is none."""
