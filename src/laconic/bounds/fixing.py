"""A node of the tree of cases, how it is bounded and reduced, and which features it decides.

Decisions about single features by a dual point: in no better support, or in every better support.
At a node with the features I inside, let M = S - sym L - sym N, and let C be the cost of L and N, so that lmax(M) + C
bounds every support of the node. Let G and H be the prices that each feature not inside pays for its rows of L and N.

Out. For a support that contains i the rows of i may be priced alone. Then it pays g_i and h_i in place of G and H once,
and the value of the support is at most lmax(M) + C - k(G - g_i) - (H - h_i). A smaller diagonal of L or N makes the
prices smaller and M_ii larger. That costs little if M_ii has room below some t just above lmax(M): with
M = V diag(l) V', several diagonal entries may rise by d_i together and no eigenvalue passes t if
sum_i d_i sum_j V_ij^2 / (t - l_j) <= 1. If the bound is below the value to beat, feature i is put out.

In. A support without i has a value of at most lmax(M without row and column i) + C. If that is below the value to
beat, feature i is put in. If l_2 < t < l_1, then lmax(M without i) < t exactly if sum_j V_ij^2 / (t - l_j) < 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices, Mask
from laconic.core.eigenvalues import EPS, eigh, eigvalsh, largest_eigenvalue
from laconic.covariance import DenseCovariance
from laconic.proof.witness import no_features
from laconic.proof.witness_dual import level_costs, norm_costs, row_levels
from laconic.proof.witness_tree import LARGEST_CODE, Branch, Decision, Point, norm_diagonal_at
from laconic.relaxations.rows import (
    Aside,
    RowLevels,
    RowLevelSolution,
    free_diagonal,
    priced_levels,
    priced_norms,
    squares_of_rest,
)
from laconic.search import Exhaustive
from laconic.search.problem import Problem

# t is lmax(M) plus these multiples of (bound - value to beat). A larger t gives more features room, and costs more.
LIFTS = (0.03, 0.1, 0.3, 1.0, 4.0)
# The parts of the saving that come from the rows of L; the rest comes from those of N. The best part is used.
FROM_LEVELS = (0.0, 0.5, 1.0)
# All features that each need less than this share of the room are tried together first, which often succeeds. Then
# fewer are tried, down to those whose shares add up to less than SURE: they have room despite rounding errors.
LIKELY, SURE = 0.5, 0.9
# The same t is tried again, without the features that are out, while at least so many features are put out.
WORTH_ANOTHER = 5


class DecidedFeatures:
    """The features of a node that a solution of its relaxation puts out or in.

    `out` are the features that no better support contains, `into` those that every better support contains. `steps` are
    the decisions one by one. S is the matrix of the node, without features that are out already. `most` are the levels
    of the rows kept, if they are larger than the entries of these rows. Supports of at most the value `beat` are of no
    interest.
    """

    def __init__(self, S: Floats, relaxed: RowLevelSolution, beat: float, most: Floats | None = None) -> None:
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
        self._most = row_levels(relaxed.levels) if most is None else most
        self._levels_aside = aside.levels(self._most)
        left = S.diagonal()[self._aside] - free_diagonal(self._levels_aside, relaxed.price)
        self._top_aside = float(left.max(initial=-np.inf))
        self.steps: list[Decision] = []
        self.into = np.flatnonzero(self._in(values, vectors))
        if len(self.into):
            self.steps.append(Decision(no_features(), self.into))
        self._gone = np.zeros(n, dtype=bool)
        self._price_norms(relaxed)
        top = max(float(values[-1]), self._top_aside)
        self._out_aside(top)
        for lift in LIFTS:
            while self._out(M, values, vectors, top + lift * max(top - self._room, self._margin)) >= WORTH_ANOTHER:
                pass
        self.out = np.flatnonzero(self._gone)

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

    def _price_norms(self, relaxed: RowLevelSolution) -> None:
        """Set H, and the squares and diagonals of the rows of N."""
        zeros = np.zeros(len(relaxed.keep))
        self._squares, self._norm_diagonal, self._norm_price = zeros, zeros, 0.0
        if relaxed.norms is not None:
            prices, self._norm_diagonal = norm_costs(relaxed.norms), relaxed.norms.diagonal()
            self._squares = squares_of_rest(relaxed.norms)
            self._norm_price = float(prices[self._free[relaxed.keep]].max(initial=0.0))

    def _out_aside(self, top: float) -> None:
        """Test the features set aside. Their rows of N are zero."""
        # Their rows of L are cancelled, so their diagonal entries may rise to the largest eigenvalue.
        own = level_costs(self._S.diagonal()[self._aside] - top, self._levels_aside)
        k, G = self._relaxed.cardinality, self._relaxed.price
        self._put_out(self._aside[top - k * (G - own) - self._norm_price < self._room])

    def _put_out(self, features: Indices, price: float = 0.0, norm_price: float = 0.0) -> None:
        if len(features):
            self._gone[features] = True
            self.steps.append(Decision(features, no_features(), price, norm_price))

    def _out(self, M: Floats, values: Floats, vectors: Floats, top: float) -> int:
        """Put out features kept whose rows cost so much less alone that t = `top` is enough; return how many."""
        relaxed, keep = self._relaxed, self._relaxed.keep
        excess = (top - self._room) * (1 + 1e-9)
        if excess <= 0 or top <= values[-1]:
            return 0
        room = (vectors**2) @ (1.0 / (top - values))
        decided = ~self._free[keep] | self._gone[keep]
        fits, need, prices = 0, room, (0.0, 0.0)
        for part in FROM_LEVELS:
            price = relaxed.price - part * excess / relaxed.cardinality
            norm_price = self._norm_price - (1 - part) * excess
            if min(price, norm_price) < 0 or price == 0:
                continue
            rise = np.maximum(relaxed.levels.diagonal() - free_diagonal(self._most, price), 0.0)
            rise += np.maximum(self._norm_diagonal - norm_diagonal_at(norm_price, self._squares), 0.0)
            rise[decided] = np.inf
            count = int(np.count_nonzero(np.cumsum(np.sort(rise * room)) < SURE))
            if count > fits:
                fits, need, prices = count, rise, (price, norm_price)
        order = np.argsort(need * room, kind="stable")
        count = max(fits, int(np.count_nonzero(need * room < LIKELY))) if fits else 0
        while count:
            chosen = order[:count]
            raised = M.copy()
            raised[chosen, chosen] += need[chosen]
            if largest_eigenvalue(raised) <= top:
                self._put_out(np.sort(keep[chosen]), *prices)
                break
            count = fits + (count - fits) // 2 if count > fits else 0
        return count


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
    bound: float  # on the value of every support of the node, proved for the node or for an ancestor
    branch: Branch = field(repr=False)  # its place in the tree
    # The relaxation of the parent, restricted to `alive`.
    start: RowLevelSolution | None = field(default=None, repr=False)
    # The features to divide the node by, those with the largest weights first; empty before the node is relaxed.
    features: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def of(cls, branch: Branch, bound: float, start: RowLevelSolution | None = None) -> "Node":
        """Return the node of a place in the tree."""
        return cls(branch.case.alive, branch.case.members, bound, branch, start)

    @property
    def open(self) -> Indices:
        """The features that are neither in nor out."""
        return np.setdiff1d(self.alive, self.inside)

    def supports(self, cardinality: int) -> int:
        """Return the number of supports of the node. It is zero if a feature is both in and out."""
        missing = cardinality - len(self.inside)
        return comb(len(self.open), missing) if missing >= 0 and np.isin(self.inside, self.alive).all() else 0

    def within(self, feature: int) -> "Node":
        """Return the part of the node whose supports contain another feature."""
        return Node.of(Branch(self.branch.case.within(feature)), self.bound, self.start)

    def without(self, feature: int) -> "Node":
        """Return the part of the node whose supports do not contain a feature."""
        return Node.of(Branch(self.branch.case.without(feature)), self.bound, _left(self.start, self.alive != feature))

    def decided(self) -> "Node":
        """Return the node after the decisions of its place in the tree."""
        case = self.branch.case
        start = _left(self.start, np.isin(self.alive, case.alive))
        return replace(self, alive=case.alive, inside=case.members, start=start)


def _left(start: RowLevelSolution | None, stays: Mask) -> RowLevelSolution | None:
    return start if start is None or stays.all() else start.restricted(np.flatnonzero(stays))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of processing a node."""

    branch: Branch  # its place in the tree
    node: Node | None  # the node after its decisions, to be branched on; None if it is finished
    candidates: tuple[Indices, ...]  # supports that may be better than the best so far
    settled: float  # a bound on all supports of the node that are neither candidates nor in `node`
    relaxations: int  # the number of relaxations solved
    work: int  # their steps, times the square of the number of features kept

    def containing(self, features: Indices) -> "Outcome":
        """Return the result for the supports that contain some features."""
        if self.node is None or not len(features):
            return self
        branch, probed = self.branch.containing(features), self.node.features
        left = replace(
            self.node, inside=branch.case.members, branch=branch, features=probed[~np.isin(probed, features)]
        )
        if branch.case.empty:
            branch.listed()
            return replace(self, branch=branch, node=None)
        return replace(self, branch=branch, node=left)


class Processor:
    """Bounds nodes, and decides as many of their features as the dual points allow.

    S is the scaled matrix of all features. With non-negative loadings its entries are those of the problem or larger.
    Each bound and each decision goes through the gate when it is made.
    """

    def __init__(self, S: Floats, problem: Problem, scale: float, relaxation: RowLevels) -> None:
        self._S, self._problem, self._scale, self._relaxation = S, problem, scale, relaxation

    def __call__(self, node: Node, beat: float, relaxed: RowLevelSolution | None = None) -> Outcome:
        """Bound a node, decide features by the value to beat, and list its supports if they are few.

        `relaxed` is a relaxation of the node, if there is one already.
        """
        k, monitor, branch = self._problem.cardinality, self._problem.monitor, node.branch
        candidates: list[Indices] = []
        settled, solved, work = -np.inf, 0, 0

        def outcome(left: Node | None) -> Outcome:
            return Outcome(branch, left, tuple(candidates), settled, solved, work)

        for _ in range(MOST_RELAXATIONS):
            if self._few(node):
                break
            if monitor.is_over and np.isfinite(node.bound):
                # Time is up: the node keeps the bound of an ancestor.
                return outcome(replace(node, features=node.open[:PROBED_FEATURES]))
            sub = np.ascontiguousarray(self._S[np.ix_(node.alive, node.alive)])
            places = np.searchsorted(node.alive, node.inside)
            if relaxed is None:
                start = node.start
                relaxed = self._relaxation.solve(sub, k, inside=places, start=start, known=beat, monitor=monitor)
            solved, work = solved + 1, work + relaxed.iterations * len(relaxed.keep) ** 2
            candidates.append(_rounded(node, relaxed, k))
            point, bound = self._proved(node, relaxed, beat)
            node = replace(node, bound=min(node.bound, bound), start=relaxed)
            if bound <= beat:
                settled = max(settled, bound)
                return outcome(None)
            before = len(node.open)
            if not monitor.is_over:
                for decision in self._decisions(node, sub, point, relaxed, beat):
                    proved = branch.decide(point, decision, beat * self._scale)
                    settled = settled if proved is None else max(settled, proved.value / self._scale)
                node = node.decided()
            relaxed = None
            if monitor.is_over or before - len(node.open) < max(1.0, SHRINKS * before):
                break
        if self._few(node):
            found, others = self._listed(node, beat)
            candidates += found
            settled = max(settled, others)
            return outcome(None)
        assert node.start is not None
        weight = node.start.diagonal.copy()
        weight[np.isin(node.alive, node.inside)] = -1.0
        order = np.argsort(-weight, kind="stable")[: min(PROBED_FEATURES, len(node.open))]
        # Its memory of the last steps takes much space, and would not be used.
        start = node.start.restricted(np.arange(len(node.alive)))
        return outcome(replace(node, features=node.alive[order], start=start))

    def _proved(self, node: Node, relaxed: RowLevelSolution, beat: float) -> tuple[Point, float]:
        """Bound a node by a point with few digits, and return the point with the bound.

        The digits are as few as still prove that the node holds nothing of interest, or else lose little.
        """
        slack = beat - relaxed.estimate
        enough = beat if slack >= 0 else relaxed.estimate - LOST * slack
        coarse = slack > COARSE_FROM * abs(beat)
        sizes = LARGEST_CODES[0 if coarse else 1 :]
        points = packed(relaxed, node.alive, self._scale, sizes)
        point, proved = node.branch.bounded(points, enough * self._scale)
        return point, proved.value / self._scale

    def _decisions(
        self, node: Node, S: Floats, point: Point, relaxed: RowLevelSolution, beat: float
    ) -> Iterator[Decision]:
        """Yield what a point decides at a node, in terms of all features."""
        witness, k = point.unpacked(), relaxed.cardinality
        assert witness.levels is not None
        L = witness.levels / self._scale
        N = None if witness.norms is None else witness.norms / self._scale
        inside = np.isin(relaxed.keep, relaxed.inside)
        cost, price, _ = priced_levels(L.copy(), k, inside)
        cost += 0.0 if N is None else priced_norms(N.copy(), k, inside)
        unpacked = replace(relaxed, levels=L, norms=N, price=price, cost=cost, state=None)
        for step in DecidedFeatures(S, unpacked, beat, point.most / self._scale).steps:
            prices = (step.price * self._scale, step.norm_price * self._scale)
            yield Decision(node.alive[step.out], node.alive[step.into], *prices)

    def _few(self, node: Node) -> bool:
        """Whether a node has so few supports that they are evaluated one by one."""
        few = FEW_SIGNED if self._problem.nonnegative else SUPPORTS_ONE_BY_ONE
        return node.supports(self._problem.cardinality) <= few

    def _listed(self, node: Node, beat: float) -> tuple[list[Indices], float]:
        """Evaluate each support; return the candidates and a bound on the others."""
        k = self._problem.cardinality
        if not node.supports(k):
            return [], node.branch.listed().value
        chosen = k - len(node.inside)
        subsets = list(combinations(node.open.tolist(), chosen))
        rest = np.array(subsets, dtype=np.intp).reshape(len(subsets), chosen)
        supports = np.concatenate([np.repeat(node.inside[None], len(rest), axis=0), rest], axis=1)
        supports.sort(axis=1)
        parts = np.array_split(supports, len(supports) // SUPPORTS_IN_CACHE + 1)
        values = np.concatenate([eigvalsh(self._S[p[:, :, None], p[:, None, :]])[:, -1] for p in parts])
        best = int(values.argmax())
        if not self._problem.nonnegative:
            return [supports[best]], node.branch.listed().value / self._scale
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


# The sizes of the largest code of a point, from few digits to many. The first is tried if the bound leaves this share
# of the value to beat.
LARGEST_CODES, COARSE_FROM = (15, LARGEST_CODE, 2**15 - 129), 0.002
# The share of the distance to the value to beat that a point may lose by being packed.
LOST = 1e-3
# Levels and weights keep so many binary digits.
LEVEL_DIGITS, WEIGHT_DIGITS = 22, 8
# The weights are near their limits after so many rounds. They lie between this and its inverse.
WEIGHT_ROUNDS, LEAST_WEIGHT = 100, 1e-9
# Then rows of N whose squared length has grown by more than this factor are shortened, in so many rounds at most.
FITS, FIT_ROUNDS, LARGEST_EXCESS = 1 + 1e-4, 100, 1e4
# The share of the bound below which a cost is negligible.
NEGLIGIBLE = 1e-9
# Codes are in units of the levels of their rows. If an entry is more than so many units, small units are raised.
LARGEST_SHARE = 16.0


def packed(relaxed: RowLevelSolution, alive: Indices, scale: float, sizes: tuple[int, ...]) -> Iterator[Point]:
    """Yield the dual point of a relaxation on the features alive, in units of the problem, with codes up to a size."""
    L, N, keep = relaxed.levels, relaxed.norms, relaxed.keep
    inside = np.isin(keep, relaxed.inside)
    m = rounded_to(row_levels(L), LEVEL_DIGITS)
    half = 0.5 * (m[:, None] + m)
    D, weights, h = 0.5 * (L + L.T), np.ones(len(L)), np.zeros(len(L))
    if N is not None:
        D += 0.5 * (N + N.T)
        h = norm_costs(N)
        # Rows of N that cost next to nothing hold nothing. The price would not allow for rounding.
        holds = h * relaxed.cardinality > NEGLIGIBLE * abs(relaxed.estimate)
        weights = _fitted(_weights(N, holds), 2 * (D - np.clip(D, -half, half)), N)
    pairs = np.triu_indices(len(L), 1)
    D, half = D[pairs], half[pairs]
    # The entries of rows with small levels may be large. Then their unit is larger than the levels.
    large = (np.abs(D) > LARGEST_SHARE * half).any()
    floor = float(np.abs(D).max(initial=0.0)) / LARGEST_SHARE if large else 0.0
    unit = np.maximum(half, floor)
    shares = np.divide(D, unit, out=np.zeros_like(D), where=unit > 0)
    point = Point(
        kept=alive[keep],
        inside=alive[relaxed.inside],
        price=relaxed.price * scale,
        norm_price=float(h[~inside].max(initial=0.0)) * scale,
        own=np.concatenate([level_costs(L.diagonal(), m)[inside], h[inside]]) * scale,
        most=m * scale,
        weights=rounded_to(weights, WEIGHT_DIGITS),
        steps=1.0,
        floor=floor * scale,
        codes=no_features(),
    )
    for largest in sizes:
        # An entry as large as its levels stays so.
        steps = float(np.floor(largest / max(float(np.abs(shares).max(initial=0.0)), 1.0)))
        yield replace(point, steps=steps, codes=_codes(shares, steps, wide=largest > LARGEST_CODE))


def _codes(shares: Floats, steps: float, *, wide: bool) -> Indices:
    """Return shares in whole steps. In wide codes, what belongs to N is rounded towards zero.

    The rows of N may cost so little that larger entries would cost more than the digits are worth.
    """
    within = np.clip(shares, -1.0, 1.0)
    beyond = (np.trunc if wide else np.rint)((shares - within) * steps)
    return np.asarray(np.rint(within * steps) + beyond, dtype=np.intp)


def _weights(N: Floats, holds: Mask) -> Floats:
    """Return w with N_ij : N_ji = w_i : w_j as nearly as possible; for rows that X uses this is exact at the optimum.

    The ratio of the sums of row i and column i, with N_ji divided by w_j in the column, is w_i. This is used in turns.
    Rows that hold nothing, as that of a feature inside may, have the weight zero and no part in this.
    """
    size = np.abs(N)
    np.fill_diagonal(size, 0.0)
    size /= max(float(size.max(initial=0.0)), SMALLEST_NORMAL)
    used = holds & (size.sum(axis=1) > LEAST_WEIGHT)
    size, w = size[np.ix_(used, used)], np.ones(np.count_nonzero(used))
    rows = size.sum(axis=1)
    for _ in range(WEIGHT_ROUNDS if used.any() else 0):
        w = rows / np.maximum((1.0 / w) @ size, LEAST_WEIGHT)
        w = np.clip(w / max(float(np.median(w)), LEAST_WEIGHT), LEAST_WEIGHT, 1.0 / LEAST_WEIGHT)
    weights = np.zeros(len(N))
    weights[used] = w
    return weights


def _fitted(w: Floats, pairs: Floats, N: Floats) -> Floats:
    """Return weights that give no row of N more than it has, as nearly as possible.

    A longer row has a smaller diagonal at the same price, and M a larger one, and perhaps a larger eigenvalue.
    `pairs` are the sums N_ij + N_ji to be divided. Rows that get too much hand a part to the others, in turns.
    """
    own, squares = squares_of_rest(N), pairs * pairs
    np.fill_diagonal(squares, 0.0)
    for _ in range(FIT_ROUNDS):
        both = w[:, None] + w
        share = np.divide(w[:, None], both, out=np.zeros_like(both), where=both > 0)
        excess = np.einsum("ij,ij,ij->i", squares, share, share) / np.maximum(own, SMALLEST_NORMAL)
        if float(excess[w > 0].max(initial=0.0)) <= FITS:
            break
        smaller = w / np.sqrt(np.clip(excess, 1.0, LARGEST_EXCESS))
        w = np.where(w > 0, np.maximum(smaller / float(smaller.max()), LEAST_WEIGHT), 0.0)
    return w


def rounded_to(x: Floats, digits: int) -> Floats:
    """Return numbers with so many binary digits, rounded up."""
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.ceil(np.ldexp(fraction, digits)), exponent - digits))
