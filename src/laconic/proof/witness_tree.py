"""The bound of a tree of cases, and the record of a tree that grows.

A node stands for the supports of k features that contain the features `members` and only features of `alive`. A
decision divides them. With x a unit vector on a support T of the node, and M, L, N of a `DualWitness`:

    i in T       x'Sx <= lmax(M) + the cost of L and N if i is one of the features that pay
    i not in T   x'Sx <= lmax(M without row and column i) + the cost of L and N

After the decision, T is without the features put out, and contains those put in. The supports that remain are divided
between two nodes, one with and one without a feature, or they are bounded. Every support is in one of the parts. The
bound of the tree is the largest bound of all parts.

A tree holds many dual points, so they are packed. Any numbers prove something. Therefore a point may be rounded as far
as its bound allows. Only the sum of L and N counts for M, and only its symmetric part. Let m_i be the level of row i
and h_ij = (m_i + m_j)/2. The part of that sum that lies in [-h_ij, h_ij] costs no more than the levels, however it is
divided between L_ij and L_ji. The rest goes to N. The diagonals follow from the prices. See `Point`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import Codes, Floats, Indices
from laconic.core.rounding import sum_up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_BOUND,
    NO_SUPPORT,
    Proved,
    Witness,
    checked_features,
    largest,
    no_features,
    times_up,
)
from laconic.proof.witness_dual import Cancelled, DualWitness, budget, dual_bound
from laconic.proof.witness_plain import bound_by_listing

# The codes of a point take one byte each up to this size, else two.
LARGEST_CODE = 127
# How a node ends: a point bounds the supports that remain, or they are listed. Any other number is a feature.
BOUNDED, LISTED = -1, -2


def diagonal_at(price: Floats, most: Floats) -> Floats:
    """Return the diagonal of rows of L with the levels `most` that cost about a price. The bound holds for any."""
    steep = most - most * (most / (4.0 * np.where(price > 0, price, 1.0)))
    return np.asarray(np.where(price > 0, np.where(most <= 2.0 * price, price, steep), -most))


def norm_diagonal_at(price: Floats | float, squares: Floats) -> Floats:
    """Return the diagonal of rows of N that cost about a price, given the sum of squares of the rest of each row."""
    steep = price - squares / (4.0 * np.where(np.greater(price, 0), price, 1.0))
    return np.asarray(np.where(np.greater(price, 0), steep, -np.sqrt(squares)))


@dataclass(frozen=True, eq=False)
class Point:
    """A dual point on the features kept, packed.

    With D_ij = the code of (i, j) / `steps` times max(h_ij, `floor`), P_ij is D_ij cut to [-h_ij, h_ij]. Then
    L_ij = 2 P_ij m_i / (m_i + m_j) and N_ij = 2 (D_ij - P_ij) w_i / (w_i + w_j).
    """

    kept: Indices
    inside: Indices  # the features that were known to be in the support
    price: float  # what a row of L costs, and
    norm_price: float  # a row of N,
    own: Floats  # but for the rows kept that are inside: first of L, then of N
    most: Floats  # m
    weights: Floats  # w
    steps: float
    floor: float
    codes: Indices  # of the pairs i < j, row by row

    def unpacked(self, raised: Indices | None = None, price: float = 0.0, norm_price: float = 0.0) -> DualWitness:
        """Return the point as a witness. The rows of L and N of the features `raised` get other prices."""
        point = self._unpacked
        if raised is None or not len(raised):
            return point
        assert point.levels is not None
        rows = np.flatnonzero(np.isin(self.kept, raised))
        levels, norms = point.levels.copy(), point.norms
        levels[rows, rows] = diagonal_at(np.full(len(rows), price), self.most[rows])
        if norms is not None:
            norms = norms.copy()
            norms[rows, rows] = 0.0
            norms[rows, rows] = norm_diagonal_at(norm_price, np.einsum("ij,ij->i", norms[rows], norms[rows]))
        return replace(point, levels=levels, norms=norms)

    @cached_property
    def _unpacked(self) -> DualWitness:
        n = len(self.kept)
        D = np.zeros((n, n))
        half = 0.5 * (self.most[:, None] + self.most)
        D[np.triu_indices(n, 1)] = self.codes
        D = (D + D.T) / self.steps * np.maximum(half, self.floor)
        P = np.clip(D, -half, half)
        inside = np.isin(self.kept, self.inside)
        price, norm_price = np.full(n, self.price), np.full(n, self.norm_price)
        price[inside], norm_price[inside] = np.split(self.own, 2)
        L = P * (self.most[:, None] / np.where(half > 0, half, 1.0))
        np.fill_diagonal(L, diagonal_at(price, self.most))
        N = None
        rest = D - P
        if rest.any():
            both = self.weights[:, None] + self.weights
            N = rest * (2.0 * self.weights[:, None] / np.where(both > 0, both, 1.0))
            np.fill_diagonal(N, norm_diagonal_at(norm_price, np.einsum("ij,ij->i", N, N)))
        return DualWitness("row levels", levels=L, norms=N, inside=self.inside, kept=self.kept, price=self.price)


@dataclass(frozen=True, eq=False)
class Decision:
    """Features that a dual point puts out or in at a node.

    Let C be the cost of the point, g_i and h_i the prices, G and H the largest prices of a feature not inside, and
    t = lmax(M). A support of the node that contains i has at most the value t + C - k (G - g_i) - (H - h_i). A support
    that does not contain i has at most the value lmax(M without i) + C. For a feature not kept M_jj may be as large as
    t, which gives c_j and g_j, and h_j is zero.
    """

    out: Indices  # put out by the first bound
    into: Indices  # put in by the second bound
    price: float = 0.0  # the price of the rows of L kept that are put out,
    norm_price: float = 0.0  # and of those of N


@dataclass(frozen=True, eq=False)
class Round:
    """A point, and what it decides at a node, in order."""

    point: Point
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, eq=False)
class TreeNode:
    """Supports of k features that contain `members` and only features of `alive`; both follow from the parent."""

    rounds: tuple[Round, ...] = ()
    # The feature that divides the supports that remain. Or they are BOUNDED, by the point of the last round, or LISTED.
    end: int = LISTED


@dataclass(frozen=True, eq=False)
class TreeWitness(Witness):
    """A tree of cases; see the top of this file.

    The nodes stand one after the other: the root, which stands for every support, then all nodes without its feature,
    then all nodes with it, and so on. Features are numbered as in S. A node is a list of whole numbers, of floats, and
    of codes, and all nodes share three arrays: see `_written`.
    """

    cases: Indices
    numbers: Floats
    codes: Codes

    @classmethod
    def of(cls, nodes: Iterable[TreeNode]) -> "TreeWitness":
        """Return the tree of some nodes, each before those without its feature, and these before those with it."""
        return cls.joined([_written(node) for node in nodes])

    @classmethod
    def joined(cls, parts: list["TreeWitness"]) -> "TreeWitness":
        """Return the tree whose arrays are those of its parts together."""
        numbers = np.concatenate([np.empty(0), *(part.numbers for part in parts)])
        codes = np.concatenate([np.empty(0, dtype=np.int8), *(part.codes for part in parts)])
        return cls(np.concatenate([no_features(), *(part.cases for part in parts)]), numbers, codes)

    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        best, nodes = NO_SUPPORT, self.nodes()
        pending = [Case(S, k, np.arange(S.n_features), inside)]
        while pending:
            case, node = pending.pop(), next(nodes, None)
            if node is None:
                raise ValueError("The tree ends before all cases are bounded.")
            for part in node.rounds:
                for decision in part.decisions:
                    best = max(best, case.decided(part.point, decision))
                    case = case.after(decision)
            if node.end >= 0:
                pending += [case.within(node.end), case.without(node.end)]
            elif node.end == LISTED:
                best = max(best, case.listed())
            elif node.end == BOUNDED and node.rounds:
                best = max(best, case.bounded(node.rounds[-1].point))
            else:
                raise ValueError("A node of the tree ends without a bound, a list or a feature.")
        if next(nodes, None) is not None:
            raise ValueError("The tree has a node that belongs to no case.")
        return best

    def nodes(self) -> Iterator[TreeNode]:
        """Yield all nodes."""
        reader = _Reader(self)
        while reader.left:
            yield reader.node()

    @property
    def count(self) -> int:
        """The number of nodes."""
        return sum(1 for _ in self.nodes())

    @property
    def is_a_point(self) -> bool:
        """Whether the tree is only its root, without decisions: then one point bounds everything."""
        root = next(self.nodes(), TreeNode())
        return root.end == BOUNDED and not any(part.decisions for part in root.rounds)

    def kinds(self) -> tuple[str, ...]:
        # A tree that is only its root is known by the relaxation of the root.
        return ("row levels", "branch and bound") if self.is_a_point else ("branch and bound", "row levels")


def _written(node: TreeNode) -> TreeWitness:
    """Return the arrays of a node.

    Whole numbers: how many rounds there are; for each of them the features kept, those inside, the number of bytes of
    a code, the number of decisions, and for each of these the features put out and put in; then the end. Each list of
    features begins with its length. Floats: for each round `price`, `norm_price`, `steps`, `floor`, `own`, `most` and
    `weights`, and the prices of each decision. Codes of two bytes come as all upper bytes, then all lower bytes, with
    256 times the upper byte and the lower byte, from -128 to 127, as their sum.
    """
    return _assembled([(_written_point(part.point), part.decisions) for part in node.rounds], node.end)


def _assembled(rounds: Sequence[tuple[TreeWitness, Sequence[Decision]]], end: int) -> TreeWitness:
    """Return the arrays of a node, given those of its points."""
    parts = [_part([len(rounds)])]
    for point, decisions in rounds:
        parts += [point, _part([len(decisions)])]
        parts += [_part([len(d.out), *d.out, len(d.into), *d.into], [d.price, d.norm_price]) for d in decisions]
    return TreeWitness.joined([*parts, _part([end])])


def _part(cases: list[int], numbers: Iterable[float] = (), codes: Codes | None = None) -> TreeWitness:
    codes = np.empty(0, dtype=np.int8) if codes is None else codes
    return TreeWitness(np.array(cases, dtype=np.intp), np.array([*numbers], dtype=np.float64), codes)


def _written_point(p: Point) -> TreeWitness:
    wide = bool(np.abs(p.codes).max(initial=0) > LARGEST_CODE)
    upper = (p.codes + 128) >> 8
    codes = [upper.astype(np.int8), (p.codes - 256 * upper).astype(np.int8)][1 - wide :]
    cases = [len(p.kept), *p.kept, len(p.inside), *p.inside, 1 + wide]
    numbers = [p.price, p.norm_price, p.steps, p.floor, *p.own, *p.most, *p.weights]
    return _part(cases, numbers, np.concatenate(codes))


class _Reader:
    """Reads the nodes of a tree, one after the other."""

    def __init__(self, tree: TreeWitness) -> None:
        self._arrays: list[Any] = [np.asarray(part) for part in (tree.cases, tree.numbers, tree.codes)]
        if [(part.ndim, part.dtype.kind) for part in self._arrays] != [(1, "i"), (1, "f"), (1, "i")]:
            raise ValueError("A tree is a list of whole numbers, a list of floats and a list of codes.")
        self._places = [0, 0, 0]

    @property
    def left(self) -> bool:
        """Whether there is another node. Numbers that no node uses are an error."""
        left = [place < len(part) for place, part in zip(self._places, self._arrays, strict=True)]
        if any(left) and not left[0]:
            raise ValueError("The tree has numbers that belong to no node.")
        return left[0]

    def _take(self, which: int, count: int) -> Any:
        begin = self._places[which]
        self._places[which] = begin + count
        if not 0 <= count <= len(self._arrays[which]) - begin:
            raise ValueError("The tree is cut short, or a length in it is wrong.")
        return self._arrays[which][begin : begin + count]

    def _whole(self) -> int:
        return int(self._take(0, 1)[0])

    def _features(self) -> Indices:
        return np.asarray(self._take(0, self._whole()), dtype=np.intp)

    def node(self) -> TreeNode:
        """Return the next node."""
        rounds = tuple(self._round() for _ in range(self._whole()))
        return TreeNode(rounds, self._whole())

    def _round(self) -> Round:
        kept, inside = self._features(), self._features()
        width, decisions = self._whole(), self._whole()
        n, known = len(kept), int(np.isin(kept, inside).sum())
        price, norm_price, steps, floor = self._take(1, 4).tolist()
        own, most, weights = self._take(1, 2 * known), self._take(1, n), self._take(1, n)
        if width not in (1, 2):
            raise ValueError("A code of a tree has one byte or two.")
        bytes_ = self._take(2, width * (n * (n - 1) // 2)).astype(np.intp).reshape(width, -1)
        codes = bytes_[0] if width == 1 else 256 * bytes_[0] + bytes_[1]
        point = Point(kept, inside, price, norm_price, own, most, weights, steps, floor, codes)
        return Round(point, tuple(self._decision() for _ in range(decisions)))

    def _decision(self) -> Decision:
        out, into = self._features(), self._features()
        return Decision(out, into, *self._take(1, 2).tolist())


class Case:
    """The supports of k features that contain `members` and only features of `alive`, and bounds on them."""

    def __init__(self, S: Covariance, k: int, alive: Indices, members: Indices) -> None:
        self._S, self._k, self.alive, self.members = S, k, alive, members

    @property
    def of(self) -> tuple[Covariance, int]:
        """The matrix and the number of features."""
        return self._S, self._k

    @cached_property
    def empty(self) -> bool:
        """Whether there is no such support."""
        count = len(self.alive)
        return count < self._k or len(self.members) > self._k or not np.isin(self.members, self.alive).all()

    @cached_property
    def _part(self) -> Covariance:
        return self._S if len(self.alive) == self._S.n_features else self._S.part(self.alive)

    @property
    def _inside(self) -> Indices:
        return np.searchsorted(self.alive, self.members)

    def _of(self, alive: Indices, members: Indices) -> "Case":
        return Case(self._S, self._k, alive, members)

    def without(self, feature: int) -> "Case":
        """Return the supports without a feature that is neither in all of them nor in none."""
        return self._of(np.setdiff1d(self.alive, self._open(feature)), self.members)

    def within(self, feature: int) -> "Case":
        """Return the supports with a feature that is neither in all of them nor in none."""
        return self._of(self.alive, np.union1d(self.members, self._open(feature)))

    def _open(self, feature: int) -> Indices:
        if feature not in self.alive or feature in self.members:
            raise ValueError(f"A node of the tree is not divided correctly: feature {feature} is not open.")
        return np.array([feature])

    def containing(self, features: Indices) -> "Case":
        """Return the supports that contain some features."""
        return self._of(self.alive, np.union1d(self.members, features))

    def is_part_of(self, other: "Case") -> bool:
        """Whether these supports are among some others of the same matrix."""
        among = np.isin(self.alive, other.alive).all() and np.isin(other.members, self.members).all()
        return bool(among) and self._S is other._S and self._k == other._k

    def after(self, decision: Decision) -> "Case":
        """Return the supports that a decision leaves. Features that are already removed are ignored."""
        if self.empty:
            return self
        into = np.intersect1d(decision.into, self.alive)
        return self._of(np.setdiff1d(self.alive, decision.out), np.union1d(self.members, into))

    @np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
    def listed(self) -> Proved:
        """Bound the supports one by one."""
        return NO_SUPPORT if self.empty else bound_by_listing(self._part, self._k, self._inside)

    @np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
    def bounded(self, point: Point) -> Proved:
        """Bound the supports by a point."""
        if self.empty:
            return NO_SUPPORT
        witness, most = self._on_alive(point, point.unpacked())
        return _sure(dual_bound(self._part, self._k, witness, self._inside, most=most))

    @np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
    def decided(self, point: Point, decision: Decision) -> Proved:
        """Bound the supports that a decision excludes: those with a feature of `out`, and without one of `into`."""
        if self.empty:
            return NO_SUPPORT
        alive, k, inside, n = self.alive, self._k, self._inside, self._S.n_features
        out, into = checked_features(decision.out, n, "out"), checked_features(decision.into, n, "into")
        if len(np.intersect1d(out, into)):
            raise ValueError("A decision puts a feature both out and in.")
        witness, most = self._on_alive(point, point.unpacked(out, decision.price, decision.norm_price))
        if not np.isin(witness.inside, inside).all():
            raise ValueError("A decision takes features for granted (inside) that need not be in a support.")
        changed = Cancelled(self._part, witness, most)
        out, into = np.flatnonzero(np.isin(alive, out)), np.flatnonzero(np.isin(alive, into))
        raised = np.intersect1d(out, changed.aside)
        if len(raised):
            changed.raise_diagonal(raised)
        price = [changed.levels, changed.norms]
        if np.isin(out, inside).any():
            # Every support contains a feature that is put out: the node is empty.
            return _sure(changed.total(_at_most(price, k, inside)))
        best = NO_SUPPORT
        if len(out) and len(inside) < k:
            best = _sure(changed.total(_with_each(price, k, inside, out)))
        # If exactly k features are alive, every support contains all of them.
        for i in into if len(alive) > k else ():
            best = max(best, _sure(changed.total(_at_most(price, k, inside), without=int(i))))
        return best

    def _on_alive(self, point: Point, witness: DualWitness) -> tuple[DualWitness, Floats]:
        """Return a point on the features alive, numbered among them, and its row levels."""
        alive, n = self.alive, self._S.n_features
        kept, L, N = witness.on_kept(n)
        inside = checked_features(witness.inside, n, "inside")
        if not np.isin(inside, alive).all():
            raise ValueError("A point of a tree takes features for granted (inside) that are out.")
        stays = np.flatnonzero(np.isin(kept, alive))
        block = np.ix_(stays, stays)
        on_alive = replace(
            witness,
            kept=np.searchsorted(alive, kept[stays]),
            levels=L[block],
            norms=None if N is None else N[block],
            inside=np.searchsorted(alive, inside),
        )
        return on_alive, np.abs(point.most[stays])


def _sure(proved: Proved) -> Proved:
    """Return a bound, infinite if its numbers are no numbers."""
    return NO_BOUND if np.isnan(proved.value) else proved


def _at_most(price: list[Floats], k: int, inside: Indices) -> list[float]:
    """Return the largest cost of L, and of N."""
    return [times_up(factor, budget(g, k, inside)) for factor, g in zip((float(k), 1.0), price, strict=True)]


def _with_each(price: list[Floats], k: int, inside: Indices, out: Indices) -> list[float]:
    """Return the largest cost of L, and of N, if one of the features `out` pays."""
    costs = []
    for factor, g in zip((float(k), 1.0), price, strict=True):
        # The most expensive feature of those out, and the most expensive others.
        among = np.concatenate([np.delete(g, np.union1d(inside, out)), np.sort(g[out])[:-1]])
        rest = largest(among, k - len(inside) - 1)
        costs.append(times_up(factor, sum_up([*g[inside], float(g[out].max()), *rest])))
    return costs


class Branch:
    """A node of a tree that grows. Each part is proved when it is made, and packed at once."""

    def __init__(self, case: Case) -> None:
        self.start = self.case = case  # the supports of the node, and those that no decision has excluded
        self._rounds: list[_PackedRound] = []
        self._listed: Proved | None = None  # the bound of a list of the supports that remain
        self._feature, self._children = -1, tuple[Branch, ...]()

    @classmethod
    def root(cls, S: Covariance, k: int, inside: Indices) -> "Branch":
        """Return the root of a tree on all supports of k features that contain those inside."""
        return cls(Case(S, k, np.arange(S.n_features), inside))

    def containing(self, features: Indices) -> "Branch":
        """Return the part of the node whose supports contain some features. All bounds hold for it, too."""
        part = Branch(self.start.containing(features))
        part.case, part._rounds, part._listed = self.case.containing(features), [*self._rounds], self._listed
        return part

    def bounded(self, points: Iterable[Point], enough: float) -> tuple[Point, Proved]:
        """Begin a round: bound the supports that remain by the first of some points that is enough, or by the last."""
        for point in points:
            try:
                proved = self.case.bounded(point)
            except ValueError:
                proved = NO_BOUND  # its numbers are too large
            if proved.value <= enough:
                break
        self._rounds.append(_PackedRound(_written_point(point), proved))
        return point, proved

    def decide(self, point: Point, decision: Decision, most: float) -> Proved | None:
        """Take a decision by the point of the last round, and return the bound of the supports that it excludes.

        If that bound is above `most`, nothing happens, and the result is None.
        """
        if self._rounds[-1].proved == NO_BOUND:
            return None
        proved = self.case.decided(point, decision)
        if not proved.value <= most:
            return None
        last = self._rounds[-1]
        last.decisions.append(decision)
        last.excluded = max(last.excluded, proved)
        self.case = self.case.after(decision)
        return proved

    def listed(self) -> Proved:
        """End the node: bound the supports that remain one by one."""
        self._listed = self.case.listed()
        return self._listed

    def divided(self, feature: int, without: "Branch", within: "Branch") -> None:
        """Divide the supports that remain by a feature. The parts may be about more supports than that."""
        halves = (self.case.without(feature), self.case.within(feature))
        if not all(half.is_part_of(part.start) for half, part in zip(halves, (without, within), strict=True)):
            raise ValueError("A node of the tree has parts that are about other supports.")
        self._feature, self._children = feature, (without, within)

    def tree(self) -> tuple[TreeWitness, Proved]:
        """Return the tree below a node, with its bound."""
        everything, pending = list[Branch](), [self]
        while pending:
            everything.append(pending.pop())
            pending += everything[-1]._children
        found: dict[int, tuple[list[TreeWitness], Proved]] = {}
        for branch in reversed(everything):
            found[id(branch)] = branch._least([found.pop(id(child)) for child in branch._children])
        parts, proved = found[id(self)]
        return TreeWitness.joined(parts), proved

    def _least(self, children: list[tuple[list[TreeWitness], Proved]]) -> tuple[list[TreeWitness], Proved]:
        """Return the least of the bounds that a node has: divided, given its children, by a list, or by a point."""
        rounds = self._rounds
        excluded = [NO_SUPPORT]
        for part in rounds:
            excluded.append(max(excluded[-1], part.excluded))
        best: tuple[list[TreeWitness], Proved] = [], NO_BOUND
        if children:
            below = [part for parts, _ in children for part in parts]
            best = [_packed(rounds, self._feature), *below], max(excluded[-1], *(proved for _, proved in children))
        if self._listed is not None:
            best = [_packed(rounds, LISTED)], max(excluded[-1], self._listed)
        # A point bounds what earlier rounds leave.
        for i, part in enumerate(rounds):
            proved = max(excluded[i], part.proved)
            if proved < best[1]:
                best = [_packed([*rounds[:i], _PackedRound(part.point, part.proved)], BOUNDED)], proved
        return best


@dataclass(eq=False)
class _PackedRound:
    point: TreeWitness
    proved: Proved  # the bound by the point
    decisions: list[Decision] = field(default_factory=list)
    excluded: Proved = NO_SUPPORT  # the bound of the supports that the decisions exclude


def _packed(rounds: list[_PackedRound], end: int) -> TreeWitness:
    """Return a node without the points that nothing depends on."""
    last = rounds[-1:] if end == BOUNDED else []
    return _assembled([(part.point, part.decisions) for part in rounds if part.decisions or part in last], end)
