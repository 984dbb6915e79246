"""One node of the search tree: which features are in, which are still in question, and what is known of it."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np

from laconic.bounds.tree.decisions import Reduction
from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigvalsh
from laconic.covariance import DenseCovariance
from laconic.problem.problem import Problem
from laconic.proof.witness import Decision, DualWitness, ExhaustiveWitness
from laconic.relaxations.row_levels import RowLevels, RowLevelSolution
from laconic.search.exhaustive import Exhaustive

# A node with no more supports than this is looked at support by support.
FEW_SUPPORTS = 1500
# With non-negative loadings each support is a search of its own over its subsets, which ends at this size.
FEW_SIGNED, SUBSETS = 60, 12
# Features probed when a node is branched on, and how many at a time. The answer does not depend on the workers, so
# neither do these.
PROBES, TOGETHER = 4, 2
# A node is relaxed again without branching while it loses this share of its open features.
SHRINKS, ROUNDS = 0.1, 20
# Supports evaluated in one stack.
STACK = 500


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the search space: supports that hold `inside` and nothing but `alive`.

    Attributes
    ----------
    alive
        Features that a support may hold, `inside` among them.
    inside
        Features that every support holds.
    bound
        What no support of the node exceeds.
    place
        Of its record.
    witness
        Of the bound: its own, or that of an ancestor if that is better.
    start
        The relaxation of the parent, on `alive`.
    branch
        Features to branch on, the weightiest first, once the node is relaxed.
    """

    alive: Indices
    inside: Indices
    bound: float
    place: int = 0
    witness: DualWitness | None = field(default=None, repr=False)
    start: RowLevelSolution | None = field(default=None, repr=False)
    branch: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def open(self) -> Indices:
        """Features neither in nor out."""
        return np.setdiff1d(self.alive, self.inside)

    def supports(self, cardinality: int) -> int:
        """Return how many supports the node holds: none if a feature is to be both in and out.

        Parameters
        ----------
        cardinality
            Their size.
        """
        missing = cardinality - len(self.inside)
        return comb(len(self.open), missing) if missing >= 0 and np.isin(self.inside, self.alive).all() else 0

    def bounded(self, relaxed: RowLevelSolution) -> "Node":
        """Return the node with the bound of a relaxation, if that is better than the one it has.

        Parameters
        ----------
        relaxed
            The solution on `alive`.
        """
        if self.witness is not None and relaxed.upper >= self.bound:
            return self
        return replace(self, bound=relaxed.upper, witness=_witness(self, relaxed))

    def within(self, features: Indices) -> "Node":
        """Return the part that holds some features too.

        Parameters
        ----------
        features
            The features.
        """
        return replace(self, inside=np.union1d(self.inside, features))

    def without(self, features: Indices) -> "Node":
        """Return the part that does not hold some features.

        Parameters
        ----------
        features
            The features.
        """
        keep = ~np.isin(self.alive, features)
        start = None if self.start is None else self.start.restricted(np.flatnonzero(keep))
        return replace(self, alive=self.alive[keep], start=start)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a node.

    Attributes
    ----------
    place
        Of its record.
    node
        The node as reduced, to be branched on; None if nothing is left of it.
    candidates
        Supports worth evaluating.
    settled
        What no support exceeds that is neither a candidate nor in `node`.
    decisions, bound
        The record of it.
    relaxations
        How often the relaxation was solved.
    """

    place: int
    node: Node | None
    candidates: tuple[Indices, ...]
    settled: float
    decisions: tuple[Decision, ...]
    bound: DualWitness | ExhaustiveWitness | None
    relaxations: int

    def at(self, place: int) -> "Outcome":
        """Return the outcome with the place of its record.

        Parameters
        ----------
        place
            Where it is.
        """
        return replace(self, place=place, node=None if self.node is None else replace(self.node, place=place))


class Processor:
    """Bounds nodes, and decides as many of their features as the dual points allow.

    Parameters
    ----------
    S
        The whole matrix, which bounds what the problem is about from above.
    problem
        The problem, with its cardinality and monitor. Stopped in time, a node keeps the bound it has.
    scale
        What S is to be multiplied by to be in the units of the problem.
    relaxation
        How to bound.
    """

    def __init__(self, S: Floats, problem: Problem, scale: float, relaxation: RowLevels) -> None:
        self._S, self._problem, self._scale, self._relaxation = S, problem, scale, relaxation

    def __call__(self, node: Node, beat: float) -> Outcome:
        """Process a node.

        Parameters
        ----------
        node
            The node.
        beat
            Supports of this value or less are of no interest.
        """
        k, monitor = self._problem.cardinality, self._problem.monitor
        candidates: list[Indices] = []
        decisions: list[Decision] = []
        settled, solved = -np.inf, 0
        for _ in range(ROUNDS):
            if self._few(node):
                break
            if monitor.stopped is not None and node.witness is not None:
                # What is known of the node stays known.
                node = replace(node, branch=node.open[:PROBES])
                return Outcome(node.place, node, tuple(candidates), settled, tuple(decisions), node.witness, solved)
            sub = np.ascontiguousarray(self._S[np.ix_(node.alive, node.alive)])
            places = np.searchsorted(node.alive, node.inside)
            relaxed = self._relaxation.solve(sub, k, inside=places, start=node.start, known=beat, monitor=monitor)
            solved += 1
            node = node.bounded(relaxed)
            candidates.append(_rounded(node, relaxed, k))
            if node.bound <= beat:
                settled = max(settled, node.bound)
                return Outcome(node.place, None, tuple(candidates), settled, tuple(decisions), node.witness, solved)
            reduction = Reduction(sub, relaxed, beat)
            for step, out, into in reduction.steps:
                decisions.append(Decision(_witness(node, step), node.alive[out], node.alive[into]))
                settled = max(settled, beat)
            before = len(node.open)
            decided = node.alive[reduction.into], node.alive[reduction.out]
            node = replace(node, start=relaxed).within(decided[0]).without(decided[1])
            if monitor.stopped is not None or before - len(node.open) < max(1.0, SHRINKS * before):
                break
        if self._few(node):
            found, left = self._listed(node, beat)
            settled = max(settled, left)
            return Outcome(
                node.place, None, (*candidates, *found), settled, tuple(decisions), ExhaustiveWitness(), solved
            )
        assert node.start is not None
        weight = node.start.diagonal.copy()
        weight[np.isin(node.alive, node.inside)] = -1.0
        order = np.argsort(-weight, kind="stable")[: min(PROBES, len(node.open))]
        node = replace(node, branch=node.alive[order])
        return Outcome(node.place, node, tuple(candidates), settled, tuple(decisions), node.witness, solved)

    def _few(self, node: Node) -> bool:
        """Whether the supports of a node are so few, or none, that they are looked at one by one."""
        few = FEW_SIGNED if self._problem.nonnegative else FEW_SUPPORTS
        return node.supports(self._problem.cardinality) <= few

    def _listed(self, node: Node, beat: float) -> tuple[list[Indices], float]:
        """Look at each support; return those worth evaluating and a bound on the others."""
        k = self._problem.cardinality
        if not node.supports(k):
            return [], -np.inf
        chosen = k - len(node.inside)
        subsets = list(combinations(node.open.tolist(), chosen))
        rest = np.array(subsets, dtype=np.intp).reshape(len(subsets), chosen)
        supports = np.concatenate([np.repeat(node.inside[None], len(rest), axis=0), rest], axis=1)
        supports.sort(axis=1)
        parts = np.array_split(supports, len(supports) // STACK + 1)
        values = np.concatenate([eigvalsh(self._S[p[:, :, None], p[:, None, :]])[:, -1] for p in parts])
        best = int(values.argmax())
        if not self._problem.nonnegative:
            return [supports[best]], -np.inf
        # The values are of a matrix that bounds from above: those too small to matter still count for the bound.
        worth = values > beat if k <= SUBSETS else np.zeros(len(values), dtype=bool)
        found, settled = [], float(values[~worth].max(initial=-np.inf))
        for support in supports[worth]:
            block = DenseCovariance(self._problem.covariance.submatrix(support), semidefinite=False)
            inner = Exhaustive().solve(Problem(block, k, nonnegative=True))
            found.append(np.union1d(support[inner.support], self._problem.forced))
            settled = max(settled, inner.estimate / self._scale)
        return found, settled


def _rounded(node: Node, relaxed: RowLevelSolution, k: int) -> Indices:
    """Return the support that the relaxation points at."""
    weight = relaxed.diagonal.copy()
    weight[np.searchsorted(node.alive, node.inside)] = np.inf
    return np.sort(node.alive[np.argsort(-weight, kind="stable")[:k]])


def _witness(node: Node, relaxed: RowLevelSolution) -> DualWitness:
    return DualWitness(
        "row levels",
        levels=relaxed.levels,
        norms=relaxed.norms,
        inside=node.inside,
        kept=node.alive[relaxed.keep],
        price=relaxed.price,
    )
