"""A node of the tree of cases, how it is bounded and reduced, and which features it decides.

Decisions about single features by a dual point: in no better support, or in every better support.
At a node with the features I inside, let M = S - sym L - sym N, and let C be the cost of L and N, so that lmax(M) + C
bounds every support of the node. Let G be the price that each feature not inside pays for its row of L.

Out. For a support that contains i the row of i may be priced alone. Then it pays g_i in place of G once, and the value
of the support is at most lmax(M) + C - k(G - g_i). A smaller diagonal c_i of L makes g_i smaller and M_ii larger. That
costs little if M_ii has room below some t just above lmax(M): with M = V diag(l) V', several diagonal entries may rise
by d_i together and no eigenvalue passes t if sum_i d_i sum_j V_ij^2 / (t - l_j) <= 1. If the bound is below the value
to beat, feature i is put out.

In. A support without i has a value of at most lmax(M without row and column i) + C. If that is below the value to
beat, feature i is put in. If l_2 < t < l_1, then lmax(M without i) < t exactly if sum_j V_ij^2 / (t - l_j) < 0.
"""

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.eigenvalues import EPS, eigh, eigvalsh, largest_eigenvalue
from laconic.covariance import DenseCovariance
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness
from laconic.proof.witness_tree import Decision
from laconic.relaxations.rows import Aside, RowLevels, RowLevelSolution, free_diagonal, level_of_each_row, own_price
from laconic.search import Exhaustive
from laconic.search.problem import Problem

# t is lmax(M) plus these multiples of (bound - value to beat). A larger t gives more features room, and costs more.
LIFTS = (0.1, 1.0, 4.0)
# All features that each need less than this share of the room are tried together first, which often succeeds.
LIKELY = 0.5
# Otherwise those are taken whose shares add up to less than this, so that they have room despite rounding errors.
SURE = 0.9


class DecidedFeatures:
    """The features of a node that a solution of its relaxation puts out or in.

    `out` are the features that no better support contains, `into` those that every better support contains. `steps` are
    the dual points that decide them: each is a solution with the features that it puts out and in. S is the matrix of
    the node, without features that are out already. Supports of at most the value `beat` are of no interest.
    """

    def __init__(self, S: Floats, relaxed: RowLevelSolution, beat: float) -> None:
        n = len(S)
        self._S, self._relaxed = S, relaxed
        self._free = np.ones(n, dtype=bool)
        self._free[relaxed.inside] = False
        aside = Aside(S, relaxed.keep)
        self._aside = aside.features
        M = relaxed.shifted(S)
        values, vectors = eigh(M)
        self._margin = 64 * len(M) * EPS * float(np.abs(values).max())
        self._room = beat - relaxed.cost - self._margin
        self._levels_aside = aside.levels(level_of_each_row(relaxed.levels))
        left = S.diagonal()[self._aside] - free_diagonal(self._levels_aside, relaxed.price)
        self._top_aside = float(left.max(initial=-np.inf))
        self.steps: list[tuple[RowLevelSolution, Indices, Indices]] = []
        no_features = np.empty(0, dtype=np.intp)
        self.into = np.flatnonzero(self._in(values, vectors))
        if len(self.into):
            self.steps.append((relaxed, no_features, self.into))
        gone = np.zeros(n, dtype=bool)
        top = max(float(values[-1]), self._top_aside)
        for lift in LIFTS:
            self._out(M, values, vectors, top + lift * max(top - self._room, self._margin), gone)
        self.out = np.flatnonzero(gone)

    def _in(self, values: Floats, vectors: Floats) -> Mask:
        """Test for each feature whether the bound without it is below the value to beat."""
        relaxed, room = self._relaxed, self._room
        result = np.zeros(len(self._S), dtype=bool)
        if len(values) < 2 or not values[-2] < room < values[-1] or self._top_aside >= room:
            return result
        weight = (vectors**2) @ (1.0 / (room - values))
        scale = (vectors**2) @ (1.0 / np.abs(room - values))
        result[relaxed.keep] = self._free[relaxed.keep] & (weight < -1e-8 * scale)
        return result

    def _out(self, M: Floats, values: Floats, vectors: Floats, top: float, gone: Mask) -> None:
        """Test for each feature whether the bound with it, its own row priced alone, is below the value to beat."""
        S, relaxed, room = self._S, self._relaxed, self._room
        k, G, keep = relaxed.cardinality, relaxed.price, relaxed.keep
        # A feature whose price is at most this is put out.
        afford = G - (top - room) * (1 + 1e-9) / k
        if not 0 < afford < G:
            return
        m, c = level_of_each_row(relaxed.levels), relaxed.levels.diagonal()
        need = np.maximum(c - free_diagonal(m, afford), 0.0)
        share = need * ((vectors**2) @ (1.0 / (top - values)))
        share[~self._free[keep] | gone[keep]] = np.inf
        order = np.argsort(share, kind="stable")
        sure = np.zeros(len(keep), dtype=bool)
        sure[order[np.cumsum(share[order]) < SURE]] = True
        raised, largest = np.zeros(len(keep)), float(values[-1])
        for chosen in (share < LIKELY, sure):
            trial = np.where(chosen, need, 0.0)
            reached = largest_eigenvalue(M + np.diag(trial))
            if reached <= top:
                raised, largest = trial, reached
                break
        else:
            chosen = np.zeros(len(keep), dtype=bool)
        largest = max(largest, self._top_aside)
        out = np.zeros(len(S), dtype=bool)
        out[keep] = chosen & (largest - k * (G - own_price(c - raised, m)) < room)
        # The rows of features set aside are cancelled, so their diagonal entries may rise to the largest eigenvalue.
        own = own_price(S.diagonal()[self._aside] - largest, self._levels_aside)
        out[self._aside] = (largest - k * (G - own) < room) & ~gone[self._aside]
        if out.any():
            gone |= out
            step = replace(relaxed, levels=relaxed.levels - np.diag(raised), state=None)
            self.steps.append((step, np.flatnonzero(out), np.empty(0, dtype=np.intp)))


# Up to this many supports of a node are evaluated one by one: that takes about as long as one relaxation.
SUPPORTS_ONE_BY_ONE = 1500
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
        few = FEW_SIGNED if self._problem.nonnegative else SUPPORTS_ONE_BY_ONE
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
