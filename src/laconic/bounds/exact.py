"""The exact proof, and the search with a penalty. Both grow a tree of cases."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeGuard

import numpy as np

from laconic.bounds.tight import on_all, own_estimate
from laconic.bounds.tree import TreeSearch, search_penalized
from laconic.core.arrays import Indices
from laconic.proof import Estimate
from laconic.search.auto import Auto
from laconic.search.problem import Abilities, Problem, Solution
from laconic.search.support import EQUAL

# The number of supports that exchanges improve before the tree is grown. A better first support shrinks the tree by
# more than the time that it takes.
POLISH = 20


@dataclass(frozen=True)
class Exact:
    """Prove by best-first branch and bound that no support is better: ``SparsePCA(proof=Exact(gap=0.01))``.

    In each node of the tree some features are fixed in, some are excluded, and the others are open. The bound of a node
    is the row-level relaxation. The same dual point fixes or excludes features for good. Features forced in and signs
    of the loadings count. ``proof="exact"`` is this with the default settings.

    Attributes
    ----------
    gap
        Stop when the relative gap is this small. Zero means as small as rounding allows.
    node_limit
        The largest number of nodes; None for no limit.
    workers
        The number of nodes processed at the same time; None for one for each core. The result does not depend on it.

    Examples
    --------
    >>> from laconic import SparsePCA
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Exact
    >>> model = SparsePCA(cardinality=5, proof=Exact(gap=0.01)).fit_covariance(load_pitprops().covariance)
    >>> bool(model.gap_[0] <= 0.01)
    True
    """

    gap: float = 1e-7
    node_limit: int | None = None
    workers: int | None = None

    name: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        _check(self.gap, self.node_limit, self.workers)

    def search(self, problem: Problem, solution: Solution) -> Solution:
        """Return the solution or a better one, with an estimate of the best value, its witness and how it ended.

        A search that is stopped returns the best support found and the bound so far.
        """
        part, hand = problem.at_hand(), problem.covariance.at_hand
        own = solution if hand is None else replace(solution, support=np.searchsorted(hand, solution.support))
        first: Solution | None = None
        with problem.monitor.watch():
            first = Auto(polish=POLISH).solve(part, start=own.support)
        if first is None or first.value <= own.value * (1 + EQUAL):
            first = replace(own, estimate=np.inf, witness=None) if hand is not None else own
        engine = TreeSearch(self.gap, self.node_limit, self.workers)
        found = on_all(problem, engine.search(part, first))
        reasons = [reason for reason in dict.fromkeys((solution.reason, found.reason)) if reason]
        return replace(found, method=solution.method, reason="; ".join(reasons))

    def estimates(self, problem: Problem, solution: Solution) -> Iterator[Estimate]:
        """Yield the bound of the tree."""
        found = self.search(problem, solution)
        if found.witness is not None:
            yield own_estimate(found, problem.cardinality)


@dataclass(frozen=True)
class Penalized:
    """Maximise z'Sz minus a penalty for each feature, over supports of any size, by branch and bound.

    Attributes
    ----------
    penalty
        The price of a feature, in units of variance.
    gap, node_limit, workers
        When to stop, and how many nodes are processed at the same time, as in `Exact`.
    seed
        The seed of the search for the first supports.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Penalized, Problem
    >>> Penalized(0.4).solve(Problem(load_pitprops().covariance, 13)).support
    array([0, 1, 6, 8, 9])
    """

    penalty: float
    gap: float = 1e-7
    node_limit: int | None = None
    workers: int | None = None
    seed: int = 0

    name: ClassVar[str] = "penalized"
    abilities: ClassVar[Abilities] = Abilities(seed=True, penalty=True)

    def __post_init__(self) -> None:
        _check(self.gap, self.node_limit, self.workers)
        if not self.penalty > 0:
            raise ValueError(f"penalty={self.penalty} must be above zero.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Find the best support of at most the problem's cardinality. `start` is not used."""
        engine = TreeSearch(self.gap, self.node_limit, self.workers, self.seed)
        return replace(search_penalized(engine, problem, self.penalty), method=self.name)


def proof_of(proof: Any) -> Any:
    """Return the proof that a short name stands for, if it has settings."""
    return Exact() if isinstance(proof, str) and proof == Exact.name else proof


def is_exact(proof: Any) -> TypeGuard[Exact]:
    """Say whether a proof searches a tree of cases to its end."""
    return isinstance(proof, Exact)


def _check(gap: float, node_limit: int | None, workers: int | None) -> None:
    if not 0 <= gap < 1:
        raise ValueError(f"gap={gap} must be at least 0 and below 1.")
    if node_limit is not None and node_limit < 1:
        raise ValueError(f"node_limit={node_limit} must be at least 1, or None for no limit.")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers} must be at least 1, or None for one for each core.")
