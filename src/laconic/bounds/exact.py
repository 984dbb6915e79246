"""The exact method: search for a good support, then branch and bound."""

from dataclasses import dataclass, replace
from typing import ClassVar

from laconic.bounds.tree import TreeSearch, search_penalized
from laconic.core.arrays import Indices
from laconic.search.auto import Auto
from laconic.search.problem import Abilities, Problem, Solution

# The number of supports that exchanges improve before the tree is grown. A better first support shrinks the tree by
# more than the time that it takes.
POLISH = 20


@dataclass(frozen=True)
class BranchAndBound:
    """Find the best support by best-first branch and bound.

    In each node of the tree some features are fixed in, some are excluded, and the others are open. The bound of a node
    is the row-level relaxation. The same dual point fixes or excludes features for good. See `laconic.bounds.tree`.

    Attributes
    ----------
    gap
        Stop when the relative gap is this small. Zero means as small as rounding allows.
    node_limit
        The largest number of nodes; None for no limit.
    penalty
        If given, maximise z'Sz minus the penalty times the number of features, over all cardinalities up to the
        problem's.
    workers
        The number of nodes processed at the same time; None for one for each core. The result does not depend on it.
    seed
        The seed of the search for the first support.
    """

    gap: float = 1e-7
    node_limit: int | None = None
    penalty: float | None = None
    workers: int | None = None
    seed: int = 0

    name: ClassVar[str] = "exact"
    abilities: ClassVar[Abilities] = Abilities(seed=True, penalty=True)

    def __post_init__(self) -> None:
        if not 0 <= self.gap < 1:
            raise ValueError(f"gap={self.gap} must be at least 0 and below 1.")
        if self.node_limit is not None and self.node_limit < 1:
            raise ValueError(f"node_limit={self.node_limit} must be at least 1, or None for no limit.")
        if self.penalty is not None and not self.penalty > 0:
            raise ValueError(f"penalty={self.penalty} must be above zero.")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers={self.workers} must be at least 1, or None for one for each core.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Find the best support. A search that is stopped returns the best support found and the bound so far."""
        engine = TreeSearch(self.gap, self.node_limit, self.workers, self.seed)
        if self.penalty is not None:
            return replace(search_penalized(engine, problem, self.penalty), method=self.name)
        search, first = Auto(seed=self.seed, polish=POLISH), None
        with problem.monitor.watch():
            first = search.solve(problem, start=start)
        # If Ctrl-C came just before the result was stored, the stopped search is asked again. It answers at once.
        first = first or search.solve(problem, start=start)
        return replace(engine.search(problem, first), method=self.name)
