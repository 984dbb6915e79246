"""The cover: a bound on one component or on several, a tree of cases, and what is stored of them.

Let u_1, ..., u_r be components: unit vectors with few nonzeros, and orthogonal to each other. They may have one common
support, or supports that share nothing, or any supports. The value is the sum of u_t'Su_t.

**Groups.** Components about which the same is known form a group g: there are r_g of them, each has at most k_g
nonzeros, all of them on the features `alive`, and each uses the features `inside`. Let X_g be the sum of their u u',
and z_gi the number of them that use feature i. With a common support there is one group, and z_i is 0 or 1.

**Bound.** For any symmetric T_g, levels m_g, weights w_g, diagonals a_g, b_g and d_g >= 0, any G_g and F, any e >= 0

    value <= |F|^2 + sum_i e_i + sum_g ( [the sum of the r_g largest eigenvalues of M_g] + [the cost of group g] )
    M_g = S - T_g - Diag(a_g + b_g + d_g) - G_g G_g' - FF'    on the features alive in g.

T is the symmetric part of two matrices L and N without their diagonals a and b. With h_ij = (m_i + m_j) / 2 and P_ij
the entry T_ij cut to [-h_ij, h_ij],

    L_ij = 2 P_ij m_i / (m_i + m_j),    N_ij = 2 (T_ij - P_ij) w_i / (w_i + w_j).

Feature i costs c_i = d_i + |G_i|^2 + k g(L_i) + h(N_i) - e_i, with g and h of `laconic.proof.witness_dual`. A group
costs at most what its features inside cost, r_g times each, and the most expensive others up to its `budget`, the
number of pairs of a component and a feature that it uses. With a common support each feature is paid once.

*Proof.* X_g is at most Diag(z_g), because each u u' is at most the identity of its support, and with a common support X
is a projection on vectors that live on it. So <GG' + Diag(d), X> <= sum (|G_i|^2 + d_i) z_i. Row i of L is paid by k
g(L_i) if |X_i|_1^2 <= k X_ii z_i: with m_i its largest other entry and h = X_ii / |X_i|_1 in [0, 1],

    <L_i, X_i> <= (|X_i|_1^2 / X_ii) ((a_i - m_i) h^2 + m_i h) <= (|X_i|_1^2 / X_ii) g(L_i) <= k g(L_i) z_i,

and in the same way <N_i, X_i> <= h(N_i) z_i if |X_i|_2^2 <= X_ii z_i. Both hold. For let y_t be entry i of u_t, so that
X_ii is the sum of the y_t^2. |X_i|_1 is at most the sum of |y_t| k^(1/2) over the components that use i, and |X_i|_2 at
most that of the |y_t|. The square of a sum of z_i numbers is at most z_i times the sum of their squares. With a common
support X is a projection, so |X_i|_2^2 = X_ii, and row i has at most k nonzeros: |X_i|_1^2 <= k |X_i|_2^2.

Further <FF', sum_g X_g> <= |F|^2, because the components are orthonormal. The features of disjoint components satisfy
sum_g z_gi <= 1, so that sum_g <e, z_g> <= sum e. If supports may overlap, e is zero; if they may not, F is. Last, M
adds at most the sum of its r_g largest eigenvalues, and for any K that is at most r lmax(M - KK') + |K|^2. If
components may span less than r dimensions, lmax is replaced by zero where it is negative.

**Orthogonal components in floating point** have inner products of up to delta = `ORTHONORMAL`. Then sum_g X_g is at
most 1 + r delta times the identity. Only |F|^2 and |K|^2 depend on that, and are multiplied by it. So the bound holds
for all components that count as orthonormal, and not only for those that are. Disjoint components are orthogonal in
any case, and with a common support the value is that of the projection on the span.

**Fixing.** A point also bounds the components of which one in group g uses feature i: the cheapest feature that pays
makes room for i. And those that do not use i, by M without the row and column of i.

**Tree.** A node fixes features by points, in rounds. It is divided by a feature i and a group g: no component of g uses
i, or one of them does, and becomes a group of its own. If supports are disjoint, no other group uses i then. The first
node of a question with a total budget is divided by the numbers of nonzeros. Every choice of components is in a leaf. A
common support with fewer than k features counts as one with k of them, or with all n if there are fewer. So it has at
least r features, and a node with fewer is empty.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask, Singles
from laconic.core.eigenvalues import proved_largest_eigenvalue
from laconic.core.rounding import gamma, grown, sum_up, up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_BOUND,
    NO_SUPPORT,
    Proved,
    Witness,
    checked_features,
    nearly_orthonormal,
    times_up,
    total,
)
from laconic.proof.witness_dual import less_symmetric_part, level_costs, norm_costs, row_levels, row_sum

# How a node ends: a point bounds what remains, or nothing remains. Other numbers are the place of a feature and group.
BOUNDED, EMPTY, BY_SIZES = -1, -2, -3


@dataclass(frozen=True, eq=False)
class Group:
    """Components about which the same is known."""

    count: int  # how many components
    size: int  # the most nonzeros of each
    budget: int  # the most pairs of a component and a feature that it uses; with a common support, the most features
    most: int  # how often a feature may be paid: the number of components that may use it, and once if they share all
    alive: Indices  # the features that they may use, increasing
    inside: Indices  # the features that each of them uses, increasing

    @property
    def settled(self) -> bool:
        """Whether nothing is left to decide: each component may use all features alive."""
        all_of_them = self.most * len(self.alive) <= self.budget
        return len(self.alive) <= self.size and all_of_them and (self.budget == self.size or self.most == self.count)

    @property
    def left(self) -> int:
        """How many more pairs there may be."""
        return max(self.budget - self.most * len(self.inside), 0)

    @property
    def is_free(self) -> Mask:
        """Which of the features alive are not inside."""
        return ~np.isin(self.alive, self.inside)

    def without(self, features: Indices) -> "Group":
        """Return the group of which no component uses some features."""
        return replace(self, alive=np.setdiff1d(self.alive, features))

    def within(self, features: Indices) -> "Group":
        """Return the group of which every component uses some features too."""
        inside = np.union1d(self.inside, np.intersect1d(features, self.alive))
        full = len(inside) >= self.size
        return replace(self, inside=inside, alive=np.intersect1d(inside, self.alive) if full else self.alive)

    def on(self, features: Indices) -> "Group":
        """Return the group with features numbered among some others."""
        return replace(self, alive=np.searchsorted(features, self.alive), inside=np.searchsorted(features, self.inside))

    def level(self, cost: Floats) -> float:
        """Return what the last feature pays, given the costs of those alive. Others may cost as much for free."""
        free, last = np.sort(cost[self.is_free])[::-1], (self.left - 1) // self.most
        return max(float(free[last]), 0.0) if 0 <= last < len(free) else 0.0

    def paid(self, cost: Floats, fewer: int = 0) -> float:
        """Return the most that the group pays, or that it pays for `fewer` pairs less."""
        free = self.is_free
        inside = np.repeat(cost[~free], self.most)
        falling = np.maximum(np.sort(cost[free])[::-1], 0.0)
        left = max(self.left - fewer, 0)
        whole = falling[: left // self.most]
        part = falling[len(whole) : len(whole) + 1] if left % self.most and len(whole) < len(falling) else falling[:0]
        return sum_up([*inside, *np.repeat(whole, self.most), *np.repeat(part, left % self.most)])


@dataclass(frozen=True, eq=False)
class GroupPoint:
    """The dual point of a group, on the features alive in it; see the top of this file."""

    pairs: Floats  # T, with a zero diagonal
    most: Floats  # m
    weights: Floats  # w
    levels: Floats  # a, the diagonal of L
    norms: Floats  # b, the diagonal of N
    diagonal: Floats  # d
    factor: Floats  # G
    turn: Floats  # K, no columns if there is one component

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        """L and N."""
        m, w = self.most, self.weights
        both, half = m[:, None] + m, 0.5 * (m[:, None] + m)
        P = np.clip(self.pairs, -half, half)
        L = 2 * P * (m[:, None] / np.where(both > 0, both, 1.0))
        sums = w[:, None] + w
        N = (self.pairs - P) * np.where(sums > 0, 2 * w[:, None] / np.where(sums > 0, sums, 1.0), 1.0)
        np.fill_diagonal(L, self.levels)
        np.fill_diagonal(N, self.norms)
        return L, N

    def costs(self, k: int) -> Floats:
        """Return upper bounds on what each feature costs, but for d and e."""
        L, N = self.parts
        levels = level_costs(self.levels, row_levels(L))
        squares = grown(np.einsum("ij,ij->i", self.factor, self.factor), self.factor.shape[1] + 1)
        norms = norm_costs(N) if N.any() else np.zeros(len(L))
        return np.asarray(up(up(up(k * levels) + norms) + squares))

    def on(self, places: Indices) -> "GroupPoint":
        """Return the point on some of the features. The levels and weights stay."""
        one = {name: getattr(self, name)[places] for name in ("most", "weights", "levels", "norms", "diagonal")}
        rows = {name: getattr(self, name)[places] for name in ("factor", "turn")}
        return GroupPoint(pairs=self.pairs[np.ix_(places, places)], **one, **rows)


@dataclass(frozen=True, eq=False)
class CoverPoint:
    """A dual point: one for each group, on its features alive, and what couples the groups."""

    groups: tuple[GroupPoint, ...]
    shared: Floats  # F, one row for each feature that is alive in a group; no columns if features are not shared
    fees: Floats  # e of these features

    def times(self, unit: float) -> "CoverPoint":
        """Return the point for a matrix that is `unit` times as large."""
        powers = dict.fromkeys(("pairs", "most", "levels", "norms", "diagonal"), 1.0)
        powers |= {"weights": 0.0, "factor": 0.5, "turn": 0.5}
        parts = [{name: getattr(part, name) * unit**p for name, p in powers.items()} for part in self.groups]
        return CoverPoint(tuple(GroupPoint(**part) for part in parts), self.shared * unit**0.5, self.fees * unit)


@dataclass(frozen=True, eq=False)
class CoverDecision:
    """Features that a point puts out of a group, with a share of its diagonal d only, or into it."""

    group: int
    share: float
    out: Indices
    into: Indices


def first_groups(
    sizes: Sequence[int], alive: Indices, inside: Indices, *, common: bool, overlap: bool, total: int | None = None
) -> tuple[Group, ...]:
    """Return the groups of a question: components of equal size are alike.

    With a total budget, components of the largest size that is possible form one group.
    """
    r = len(sizes)
    if common:
        k = min(max(sizes), len(alive))
        return (Group(r, k, k, 1, alive, inside),)
    if total is not None and len(set(sizes)) == 1:
        k = min(sizes[0], total - r + 1, len(alive))
        return (Group(r, k, min(total, r * k), r if overlap else 1, alive, inside),)
    groups = []
    for k in sorted({min(size, len(alive)) for size in sizes}, reverse=True):
        count = sum(min(size, len(alive)) == k for size in sizes)
        groups.append(Group(count, k, count * k, count if overlap else 1, alive, inside))
    return tuple(groups)


def ways_to_divide(total: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the falling numbers of nonzeros of all components, each at most its limit, that use up a total budget.

    Components may have fewer nonzeros than they may, so that no other numbers need be looked at.
    """

    def rest(left: int, place: int, most: int) -> Iterator[tuple[int, ...]]:
        if place == len(limits):
            yield ()
            return
        after = len(limits) - place - 1
        for k in range(min(most, limits[place], left - after), 0, -1):
            # The rest must fit into the sizes that follow, unless all limits are reached.
            room = sum(min(k, limit) for limit in limits[place + 1 :])
            if left - k <= room:
                for others in rest(left - k, place + 1, k):
                    yield (k, *others)

    limits = sorted(sizes, reverse=True)
    yield from rest(min(total, sum(limits)), 0, max(limits))


class CoverCase:
    """Components of some groups, and bounds on their value by dual points.

    `spanning` says that components with a common support may span less than r dimensions.
    """

    def __init__(
        self, S: Covariance, groups: tuple[Group, ...], *, common: bool, overlap: bool, spanning: bool = False
    ) -> None:
        self.S, self.groups, self.common, self.overlap, self.spanning = S, groups, common, overlap, spanning

    def _of(self, groups: Sequence[Group]) -> "CoverCase":
        kind = {"common": self.common, "overlap": self.overlap, "spanning": self.spanning}
        return CoverCase(self.S, tuple(groups), **kind)

    @cached_property
    def alive(self) -> Indices:
        """The features that are alive in a group."""
        return np.unique(np.concatenate([group.alive for group in self.groups]))

    @property
    def _norm(self) -> float:
        """An upper bound on the norm of the sum of all u u'."""
        count = sum(group.count for group in self.groups)
        return nearly_orthonormal(count) if self.overlap and not self.common else 1.0

    @cached_property
    def empty(self) -> bool:
        """Whether there are no such components."""
        for group in self.groups:
            fits = max(len(group.inside), 1) <= group.size and bool(np.isin(group.inside, group.alive).all())
            if not fits or not len(group.alive) or (group.most == 1 and len(group.alive) < group.count):
                return True
        return len(self.alive) < sum(group.count for group in self.groups)

    @property
    def contested(self) -> Indices:
        """The features that several groups may use, of which only one can: none if components may share features."""
        alive = np.concatenate([group.alive for group in self.groups])
        features, counts = np.unique(alive, return_counts=True)
        return features[counts > 1] if not (self.overlap or self.common) else features[:0]

    @property
    def settled(self) -> bool:
        """Whether nothing is left to decide in any group."""
        return all(group.settled for group in self.groups) and not len(self.contested)

    @property
    def open(self) -> int:
        """How many features are neither in nor out, over all groups."""
        return sum(int(group.is_free.sum()) for group in self.groups)

    def of_sizes(self, sizes: tuple[int, ...]) -> "CoverCase":
        """Return the components with at most these numbers of nonzeros."""
        group = self.groups[0]
        return self._of(first_groups(sizes, group.alive, group.inside, common=False, overlap=self.overlap))

    def after(self, decision: CoverDecision) -> "CoverCase":
        """Return the components that a decision leaves."""
        if self.empty:
            return self
        groups, g = list(self.groups), decision.group
        groups[g] = groups[g].without(decision.out).within(decision.into)
        return self._of(self._apart(groups, g))

    def _apart(self, groups: list[Group], g: int) -> list[Group]:
        """Take the features that a component of group g uses from all other groups, if supports are disjoint."""
        if self.overlap or self.common:
            return groups
        return [group if i == g else group.without(groups[g].inside) for i, group in enumerate(groups)]

    def divided(self, g: int, feature: int) -> tuple["CoverCase", "CoverCase"]:
        """Return the components of which none in group g uses a feature, and those of which one does."""
        group, one = self.groups[g] if 0 <= g < len(self.groups) else None, np.array([feature])
        if group is None or feature not in group.alive or feature in group.inside:
            raise ValueError(f"A node of the tree is not divided correctly: feature {feature} is not open.")
        without, groups = list(self.groups), list(self.groups)
        without[g] = group.without(one)
        if group.count > 1 and not self.common:
            k, count = group.size, group.count - 1
            # The component uses at least this feature of a total budget, and each of the others uses one.
            budget = min(count * k, group.budget - 1)
            size, most = min(k, budget - count + 1), count if self.overlap else 1
            rest = replace(group, count=count, size=size, budget=budget, most=most)
            groups[g] = replace(group, count=1, budget=k, most=1).within(one)
            groups.append(rest)
        else:
            groups[g] = group.within(one)
        return self._of(without), self._of(self._apart(groups, g))

    @np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
    def bounded(self, point: CoverPoint) -> Proved:
        """Bound the components by a point."""
        if self.empty:
            return NO_SUPPORT
        base, costs = self.priced(point, 1.0)
        return self._sum(base, [group.paid(cost) for group, cost in zip(self.groups, costs, strict=True)])

    @np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
    def decided(self, point: CoverPoint, decision: CoverDecision) -> Proved:
        """Bound the components that a decision excludes."""
        if self.empty:
            return NO_SUPPORT
        if not (0 <= decision.group < len(self.groups) and 0 <= decision.share <= 1):
            raise ValueError("A decision is about a group that there is not, or a share that is none.")
        group, n = self.groups[decision.group], self.S.n_features
        out, into = checked_features(decision.out, n, "out"), checked_features(decision.into, n, "into")
        base, costs = self.priced(point, decision.share)
        paid = [one.paid(cost) for one, cost in zip(self.groups, costs, strict=True)]
        cost, best = costs[decision.group], NO_SUPPORT
        if np.isin(out, group.inside).any():
            return self._sum(base, paid)
        out = np.flatnonzero(np.isin(group.alive, out))
        if len(out) and group.left:
            paid[decision.group] = sum_up([float(cost[out].max()), group.paid(cost, fewer=1)])
            best = self._sum(base, paid)
        into = np.flatnonzero(np.isin(group.alive, np.setdiff1d(into, group.inside)))
        if len(into) and group.count > 1 and not self.common:
            raise ValueError("A decision puts a feature into one of several components, which a branch must do.")
        for i in into:
            groups = list(self.groups)
            groups[decision.group] = group.without(group.alive[[i]])
            others = self._of(groups)
            best = max(best, others.bounded(restricted(point, self, others)))
        return best

    def _sum(self, base: list[Proved], costs: list[float]) -> Proved:
        if any(np.isnan([*costs, *(part.value for part in base)])):
            return NO_BOUND
        return total([*(part.value for part in base), *costs], sum(part.margin for part in base), [])

    def priced(self, point: CoverPoint, share: float) -> tuple[list[Proved], list[Floats]]:
        """Return the parts of the bound that are no costs of features, and the costs of the features of each group."""
        shared = point.shared if self.overlap and not self.common else point.shared[:, :0]
        fees = np.maximum(point.fees, 0.0) if not (self.overlap or self.common) else np.zeros(len(self.alive))
        square = times_up(self._norm, float(grown(np.einsum("ij,ij->", shared, shared), shared.size + 1)))
        base, costs = [Proved(sum_up([square, *fees]), 0.0)], []
        for group, part in zip(self.groups, point.groups, strict=True):
            places = np.searchsorted(self.alive, group.alive)
            d = np.maximum(part.diagonal, 0.0) * share
            base.append(self._eigenvalues(group, part, d, shared[places]))
            costs.append(np.asarray(up(up(part.costs(group.size) + d) - fees[places])))
        return base, costs

    def _eigenvalues(self, group: Group, part: GroupPoint, d: Floats, shared: Floats) -> Proved:
        """Bound the sum of the largest eigenvalues of M."""
        own = self.S.block(group.alive, group.alive)
        S = own if np.array_equal(own, own.T) else 0.5 * (own + own.T)
        L, N = part.parts
        M, sizes = less_symmetric_part(S, L)
        for matrix in (N, np.diag(d)):
            M, more = less_symmetric_part(M, matrix)
            sizes += more
        # The products of rows are rounded by gamma |H_i||H_j| at most, and each difference once.
        H = np.hstack([part.factor, shared, part.turn])
        rounding = [float(grown(sizes * gamma(2), 3))]
        if H.shape[1]:
            squares = float(grown(np.einsum("ij,ij->", H, H), H.size + 1))
            rounding.append(float(grown(squares * gamma(H.shape[1] + 6), 3)))
            rounding.append(float(grown(row_sum(M) * gamma(2), 3)))
            M = M - H @ H.T
        M = 0.5 * (M + M.T)
        if not np.isfinite(M).all():
            return NO_BOUND
        value, estimate = proved_largest_eigenvalue(M)
        top = sum_up([value, *rounding, *up(self.S.spread[group.alive] ** 2)])
        if self.spanning:
            top, estimate = max(top, 0.0), max(estimate, 0.0)
        turn = times_up(self._norm, float(grown(np.einsum("ij,ij->", part.turn, part.turn), part.turn.size + 1)))
        count = group.count
        return Proved(sum_up([times_up(count, top), turn]), max(sum_up([times_up(count, top), -count * estimate]), 0.0))


@dataclass(frozen=True, eq=False)
class CoverWitness(Witness):
    """A tree of cases; see the top of this file. The nodes stand one after the other, each before its children.

    Whole numbers of a node: how many rounds there are; for each of them, for each group, the columns of G and whether
    anything else is there; the columns of F; the number of decisions, and for each of these the group, and the features
    put out and put in, each list after its length; then the end of the node: BOUNDED by the point of the last round,
    EMPTY, BY_SIZES, or a feature and the group that it divides. Numbers of a point: see `_Reader.point`.
    """

    cases: Indices
    numbers: Singles

    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        groups = first_groups((k,), np.arange(S.n_features), inside, common=True, overlap=True)
        return self.bound_of(CoverCase(S, groups, common=True, overlap=True), None)

    def bound_of(self, first: CoverCase, ways: list[tuple[int, ...]] | None) -> Proved:
        """Bound the components of a case. `ways` are the numbers of nonzeros that a total budget allows."""
        best, reader = NO_SUPPORT, _Reader(self.cases, self.numbers)
        pending = [first]
        while pending:
            case = pending.pop()
            point: CoverPoint | None = None
            for _ in range(reader.count()):
                # Whoever wrote the tree had the same case: the shapes of a point follow from it.
                point = reader.point(case)
                decisions = [reader.decision(first.S.n_features) for _ in range(reader.count())]
                for decision in decisions:
                    if case.empty:
                        break
                    best = max(best, case.decided(point, decision))
                    following = case.after(decision)
                    point = restricted(point, case, following)
                    case = following
            end = reader.whole()
            if end >= 0:
                pending += reversed(case.divided(reader.whole(), end))
            elif end == BOUNDED and point is not None:
                best = max(best, case.bounded(point))
            elif end == BY_SIZES and case is first and ways is not None:
                pending += [case.of_sizes(sizes) for sizes in reversed(ways)]
            elif end != EMPTY or not case.empty:
                raise ValueError("A node of the tree ends without a bound or a feature.")
        if reader.left:
            raise ValueError("The tree has numbers that belong to no node.")
        return best

    def kinds(self) -> tuple[str, ...]:
        return ("cover", "branch and bound")


def restricted(point: CoverPoint, case: CoverCase, after: CoverCase) -> CoverPoint:
    """Return a point of a case for the same groups with fewer features alive."""
    if after.empty:
        return point
    parts = [
        part.on(np.searchsorted(before.alive, group.alive))
        for part, before, group in zip(point.groups, case.groups, after.groups, strict=True)
    ]
    rows = np.searchsorted(case.alive, after.alive)
    return CoverPoint(tuple(parts), point.shared[rows], point.fees[rows])


# The vectors of a point, in the order in which they are stored.
VECTORS = ("most", "weights", "levels", "norms", "diagonal")


class _Reader:
    """Reads a tree, number by number."""

    def __init__(self, cases: Indices, numbers: Singles) -> None:
        self._cases, self._numbers = np.asarray(cases), np.asarray(numbers)
        if (self._cases.ndim, self._cases.dtype.kind) != (1, "i"):
            raise ValueError("A tree is a list of whole numbers and a list of floats.")
        if (self._numbers.ndim, self._numbers.dtype) != (1, np.dtype(np.float32)):
            raise ValueError("A tree is a list of whole numbers and a list of floats of single precision.")
        if not np.isfinite(self._numbers).all():
            raise ValueError("The tree has numbers that are NaN or infinite.")
        self._case = self._number = 0

    @property
    def left(self) -> bool:
        """Whether there are numbers that nobody has read."""
        return self._case < len(self._cases) or self._number < len(self._numbers)

    def whole(self) -> int:
        """Return the next whole number."""
        if self._case >= len(self._cases):
            raise ValueError("The tree ends before all cases are bounded.")
        self._case += 1
        return int(self._cases[self._case - 1])

    def count(self) -> int:
        """Return the next whole number, which is a length: at most that of what is left."""
        count = self.whole()
        if not 0 <= count <= len(self._cases) + len(self._numbers):
            raise ValueError("The tree is cut short, or a length in it is wrong.")
        return count

    def _features(self, n: int) -> Indices:
        count = self.count()
        if count > len(self._cases) - self._case:
            raise ValueError("The tree is cut short, or a length in it is wrong.")
        self._case += count
        return checked_features(self._cases[self._case - count : self._case], n, "A decision")

    def _floats(self, *shape: int) -> Floats:
        count = math.prod(shape)
        if count > len(self._numbers) - self._number:
            raise ValueError("The tree is cut short, or a length in it is wrong.")
        self._number += count
        return self._numbers[self._number - count : self._number].astype(np.float64).reshape(shape)

    def point(self, case: CoverCase) -> CoverPoint:
        """Return the next point: for each group the pairs of T row by row, the vectors, G and K; then F and e."""
        groups = []
        for group in case.groups:
            n, columns, full = len(group.alive), self.count(), self.count()
            turn = group.count if group.count > 1 else 0
            T, vectors = np.zeros((n, n)), np.zeros((len(VECTORS), n))
            if full > 1:
                raise ValueError("A point of a tree is there or not.")
            if full:
                T[np.triu_indices(n, 1)] = self._floats(n * (n - 1) // 2)
                vectors = self._floats(len(VECTORS), n)
                if (vectors[:2] < 0).any():
                    raise ValueError("The levels and weights of a point must not be negative.")
            G, K = self._floats(n, columns), self._floats(n, turn)
            groups.append(GroupPoint(T + T.T, **dict(zip(VECTORS, vectors, strict=True)), factor=G, turn=K))
        n = len(case.alive)
        shared = self._floats(n, self.count())
        fees = self._floats(n) if not (case.overlap or case.common) else np.zeros(n)
        return CoverPoint(tuple(groups), shared, fees)

    def decision(self, n: int) -> CoverDecision:
        """Return the next decision about n features."""
        group = self.whole()
        return CoverDecision(group, float(self._floats(1)[0]), self._features(n), self._features(n))


def written_point(case: CoverCase, point: CoverPoint) -> tuple[list[int], list[Floats]]:
    """Return the numbers of a point as they are stored; `_Reader.point` reads them."""
    cases: list[int] = []
    numbers: list[Floats] = []
    for part in point.groups:
        pairs = part.pairs[np.triu_indices(len(part.pairs), 1)]
        vectors = np.concatenate([getattr(part, name) for name in VECTORS])
        full = bool(pairs.any() or vectors.any())
        cases += [part.factor.shape[1], int(full)]
        numbers += [pairs, vectors] if full else []
        numbers += [part.factor.ravel(), part.turn.ravel()]
    cases.append(point.shared.shape[1])
    numbers.append(point.shared.ravel())
    if not (case.overlap or case.common):
        numbers.append(point.fees)
    return cases, numbers


def written_decision(decision: CoverDecision) -> tuple[list[int], list[Floats]]:
    """Return the numbers of a decision as they are stored."""
    lists = [len(decision.out), *decision.out.tolist(), len(decision.into), *decision.into.tolist()]
    return [decision.group, *lists], [np.array([decision.share])]


def as_stored(point: CoverPoint) -> CoverPoint:
    """Return a point with the digits that are stored, finite ones."""

    def single(x: Floats) -> Floats:
        return np.nan_to_num(x).astype(np.float32).astype(np.float64)

    groups = tuple(
        GroupPoint(**{name: single(value) for name, value in vars(part).items() if name != "parts"})
        for part in point.groups
    )
    return CoverPoint(groups, single(point.shared), single(point.fees))
