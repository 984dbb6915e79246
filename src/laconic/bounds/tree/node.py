"""A node of the search tree, and how it is bounded and reduced."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np

from laconic.bounds.tree.fixing import DecidedFeatures
from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigvalsh
from laconic.covariance import DenseCovariance
from laconic.problem import Problem
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.plain import ExhaustiveWitness
from laconic.proof.witnesses.tree import Decision
from laconic.relaxations.rows.relaxation import RowLevels, RowLevelSolution
from laconic.search import Exhaustive

# Up to this many supports of a node are evaluated one by one: that takes about as long as one relaxation.
FEW_SUPPORTS = 1500
# The same with non-negative loadings, where each support is a search over its subsets.
FEW_SIGNED = 60
# Such a search is done for supports up to this size: it looks at up to 2^12 subsets.
MOST_SIGNED_FEATURES = 12
# The most features probed before a node is divided, and how many at a time. Results do not depend on the workers.
PROBED_FEATURES, PROBED_TOGETHER = 4, 2
# A node is relaxed again without branching while a round decides at least this share of its open features.
SHRINKS = 0.1
# The largest number of such rounds. It is hardly ever reached.
MOST_RELAXATIONS = 20
# The number of supports whose eigenvalues are computed together. A stack of this size stays in the processor's cache.
SUPPORTS_IN_CACHE = 500


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the search space: the supports that contain `inside` and only features of `alive`."""

    alive: Indices  # features that a support may contain, including those inside
    inside: Indices  # features that every support contains
    bound: float  # on the value of every support of the node
    place: int = 0  # in the record
    # The witness of the bound: that of the node, or of an ancestor if that is lower.
    witness: DualWitness | None = field(default=None, repr=False)
    # The relaxation of the parent, restricted to `alive`.
    start: RowLevelSolution | None = field(default=None, repr=False)
    # The features to branch on, those with the largest weights first; empty before the node is relaxed.
    branch: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def open(self) -> Indices:
        """The features that are neither in nor out."""
        return np.setdiff1d(self.alive, self.inside)

    def supports(self, cardinality: int) -> int:
        """Return the number of supports of the node. It is zero if a feature is both in and out."""
        missing = cardinality - len(self.inside)
        return comb(len(self.open), missing) if missing >= 0 and np.isin(self.inside, self.alive).all() else 0

    def bounded(self, relaxed: RowLevelSolution) -> "Node":
        """Return the node with the bound of a relaxation on `alive`, if that is lower than the bound at hand."""
        if self.witness is not None and relaxed.estimate >= self.bound:
            return self
        return replace(self, bound=relaxed.estimate, witness=_witness(self, relaxed))

    def within(self, features: Indices) -> "Node":
        """Return the part of the node whose supports contain some more features."""
        return replace(self, inside=np.union1d(self.inside, features))

    def without(self, features: Indices) -> "Node":
        """Return the part of the node whose supports contain none of some features."""
        keep = ~np.isin(self.alive, features)
        start = None if self.start is None else self.start.restricted(np.flatnonzero(keep))
        return replace(self, alive=self.alive[keep], start=start)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of processing a node."""

    place: int  # in the record
    node: Node | None  # the node after its decisions, to be branched on; None if it is finished
    candidates: tuple[Indices, ...]  # supports that may be better than the best so far
    settled: float  # a bound on all supports of the node that are neither candidates nor in `node`
    decisions: tuple[Decision, ...]  # for the record, as is `bound`
    bound: DualWitness | ExhaustiveWitness | None
    relaxations: int  # the number of relaxations solved

    def at(self, place: int) -> "Outcome":
        """Return the outcome at a place in the record."""
        return replace(self, place=place, node=None if self.node is None else replace(self.node, place=place))


class Processor:
    """Bounds nodes, and decides as many of their features as the dual points allow.

    S is the scaled matrix of all features. With non-negative loadings its entries are those of the problem or larger.
    """

    def __init__(self, S: Floats, problem: Problem, scale: float, relaxation: RowLevels) -> None:
        self._S, self._problem, self._scale, self._relaxation = S, problem, scale, relaxation

    def __call__(self, node: Node, beat: float) -> Outcome:
        """Bound a node, decide features by the value to beat, and list its supports if they are few."""
        k, monitor = self._problem.cardinality, self._problem.monitor
        candidates: list[Indices] = []
        decisions: list[Decision] = []
        settled, solved = -np.inf, 0

        def outcome(left: Node | None, bound: DualWitness | ExhaustiveWitness | None) -> Outcome:
            return Outcome(node.place, left, tuple(candidates), settled, tuple(decisions), bound, solved)

        for _ in range(MOST_RELAXATIONS):
            if self._few(node):
                break
            if monitor.stopped is not None and node.witness is not None:
                # Time is up: the node keeps the bound of an ancestor.
                node = replace(node, branch=node.open[:PROBED_FEATURES])
                return outcome(node, node.witness)
            sub = np.ascontiguousarray(self._S[np.ix_(node.alive, node.alive)])
            places = np.searchsorted(node.alive, node.inside)
            relaxed = self._relaxation.solve(sub, k, inside=places, start=node.start, known=beat, monitor=monitor)
            solved += 1
            node = node.bounded(relaxed)
            candidates.append(_rounded(node, relaxed, k))
            if node.bound <= beat:
                settled = max(settled, node.bound)
                return outcome(None, node.witness)
            decided = DecidedFeatures(sub, relaxed, beat)
            for step, out, into in decided.steps:
                decisions.append(Decision(_witness(node, step), node.alive[out], node.alive[into]))
                settled = max(settled, beat)
            before = len(node.open)
            into, out = node.alive[decided.into], node.alive[decided.out]
            node = replace(node, start=relaxed).within(into).without(out)
            if monitor.stopped is not None or before - len(node.open) < max(1.0, SHRINKS * before):
                break
        if self._few(node):
            found, others = self._listed(node, beat)
            candidates += found
            settled = max(settled, others)
            return outcome(None, ExhaustiveWitness())
        assert node.start is not None
        weight = node.start.diagonal.copy()
        weight[np.isin(node.alive, node.inside)] = -1.0
        order = np.argsort(-weight, kind="stable")[: min(PROBED_FEATURES, len(node.open))]
        node = replace(node, branch=node.alive[order])
        return outcome(node, node.witness)

    def _few(self, node: Node) -> bool:
        """Whether a node has so few supports that they are evaluated one by one."""
        few = FEW_SIGNED if self._problem.nonnegative else FEW_SUPPORTS
        return node.supports(self._problem.cardinality) <= few

    def _listed(self, node: Node, beat: float) -> tuple[list[Indices], float]:
        """Evaluate each support; return the candidates and a bound on the others."""
        k = self._problem.cardinality
        if not node.supports(k):
            return [], -np.inf
        chosen = k - len(node.inside)
        subsets = list(combinations(node.open.tolist(), chosen))
        rest = np.array(subsets, dtype=np.intp).reshape(len(subsets), chosen)
        supports = np.concatenate([np.repeat(node.inside[None], len(rest), axis=0), rest], axis=1)
        supports.sort(axis=1)
        parts = np.array_split(supports, len(supports) // SUPPORTS_IN_CACHE + 1)
        values = np.concatenate([eigvalsh(self._S[p[:, :, None], p[:, None, :]])[:, -1] for p in parts])
        best = int(values.argmax())
        if not self._problem.nonnegative:
            return [supports[best]], -np.inf
        # The matrix without negative entries gives upper bounds. They count for all supports that are not searched.
        worth = values > beat if k <= MOST_SIGNED_FEATURES else np.zeros(len(values), dtype=bool)
        found, settled = [], float(values[~worth].max(initial=-np.inf))
        for support in supports[worth]:
            block = DenseCovariance(self._problem.covariance.submatrix(support), semidefinite=False)
            inner = Exhaustive().solve(Problem(block, k, nonnegative=True))
            found.append(np.union1d(support[inner.support], self._problem.forced))
            settled = max(settled, inner.estimate / self._scale)
        return found, settled


def _rounded(node: Node, relaxed: RowLevelSolution, k: int) -> Indices:
    """Return the support of the largest weights in the relaxation."""
    weight = relaxed.diagonal.copy()
    weight[np.searchsorted(node.alive, node.inside)] = np.inf
    return np.sort(node.alive[np.argsort(-weight, kind="stable")[:k]])


def _witness(node: Node, relaxed: RowLevelSolution) -> DualWitness:
    return replace(relaxed.witness(), inside=node.inside, kept=node.alive[relaxed.keep])
