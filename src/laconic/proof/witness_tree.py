"""The bound of a tree of cases.

A node stands for the supports of k features that contain the features `members` and only features of `alive`. A
decision divides them. With x a unit vector on a support T of the node, and M, L, N of a `DualWitness`:

    i in T       x'Sx <= lmax(M) + the cost of L and N if i is one of the features that pay
    i not in T   x'Sx <= lmax(M without row and column i) + the cost of L and N

After the decision, T is without the features put out, and contains those put in. The supports that remain are divided
between two nodes, one with and one without a feature, or they are bounded. Every support is in one of the parts. The
bound of the tree is the largest bound of all parts.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rounding import sum_up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_SUPPORT,
    Proved,
    Witness,
    checked_features,
    largest,
    times_up,
)
from laconic.proof.witness_dual import Cancelled, DualWitness, budget, dual_bound, row_levels
from laconic.proof.witness_plain import ExhaustiveWitness, bound_by_listing


@dataclass(frozen=True, eq=False)
class Decision:
    """Features that one dual point puts out or in at a node.

    Let C be the cost of the point, g_i the prices, G the largest price of a feature not inside, and t = lmax(M). A
    support of the node that contains i has at most the value t + C - k (G - g_i). A support that does not contain i has
    at most the value lmax(M without i) + C. For a feature not kept M_jj may be as large as t, which gives c_j and g_j.
    """

    witness: DualWitness  # the point, with `kept`
    out: Indices  # put out by the first bound
    into: Indices  # put in by the second bound


@dataclass(frozen=True, eq=False)
class TreeNode:
    """Supports of k features that contain `members` and only features of `alive`; both follow from the parent."""

    decisions: tuple[Decision, ...]  # in order
    # How the supports that remain are bounded: by a dual point, or one by one. None if the node has children.
    bound: DualWitness | ExhaustiveWitness | None
    feature: int = -1  # the feature branched on
    without: int = -1  # the place of the child without it
    within: int = -1  # the place of the child with it


@dataclass(frozen=True, eq=False)
class TreeWitness(Witness):
    """A tree of cases; see the top of this file.

    The first node is the root, which stands for every support. Features are numbered as in S.
    """

    nodes: tuple[TreeNode, ...]

    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        return _Walk(S, k).bound(self, inside)

    def kinds(self) -> tuple[str, ...]:
        return ("branch and bound",)


class _Walk:
    """Goes through all nodes of a tree."""

    def __init__(self, S: Covariance, k: int) -> None:
        self._S, self._k = S, k

    def bound(self, witness: TreeWitness, inside: Indices) -> Proved:
        best = NO_SUPPORT
        pending = [(0, np.arange(self._S.n_features), inside)]
        reached: set[int] = set()
        while pending:
            place, alive, members = pending.pop()
            if not 0 <= place < len(witness.nodes) or not isinstance(witness.nodes[place], TreeNode):
                raise ValueError(f"The tree has no node {place}.")
            if place in reached:
                # Nodes that are shared many times would make a short tree a long walk.
                raise ValueError(f"Node {place} of the tree is reached twice.")
            reached.add(place)
            node = witness.nodes[place]
            for decision in node.decisions:
                if self._empty(alive, members):
                    break
                out = checked_features(decision.out, self._S.n_features, "out")
                into = checked_features(decision.into, self._S.n_features, "into")
                if len(np.intersect1d(out, into)):
                    raise ValueError("A decision puts a feature both out and in.")
                best = max(best, self._decided(decision.witness, out, into, alive, members))
                # Ignore features that are already removed.
                alive, members = np.setdiff1d(alive, out), np.union1d(members, np.intersect1d(into, alive))
            if self._empty(alive, members):
                continue
            if node.bound is not None:
                best = max(best, self._ended(node, alive, members))
                continue
            feature = checked_features([node.feature], self._S.n_features, "feature")
            # The walk ends, because children come after their parent.
            if min(node.without, node.within) <= place or feature[0] not in alive or feature[0] in members:
                raise ValueError(
                    f"Node {place} of the tree is not divided correctly: it needs an open feature and two later nodes."
                )
            pending.append((node.within, alive, np.union1d(members, feature)))
            pending.append((node.without, np.setdiff1d(alive, feature), members))
        return best

    def _empty(self, alive: Indices, members: Indices) -> bool:
        return len(alive) < self._k or len(members) > self._k or not np.isin(members, alive).all()

    def _ended(self, node: TreeNode, alive: Indices, members: Indices) -> Proved:
        part, inside = self._S.part(alive), np.searchsorted(alive, members)
        if isinstance(node.bound, DualWitness):
            point, most = _within(node.bound, alive, self._S.n_features)
            return dual_bound(part, self._k, point, inside, most=most)
        return bound_by_listing(part, self._k, inside)

    def _decided(self, witness: Any, out: Indices, into: Indices, alive: Indices, members: Indices) -> Proved:
        """Bound the supports that a decision excludes: those with a feature of `out`, and without one of `into`."""
        if not isinstance(witness, DualWitness):
            raise ValueError("A decision needs a dual point.")
        k, inside = self._k, np.searchsorted(alive, members)
        point, most = _within(witness, alive, self._S.n_features)
        if not np.isin(point.inside, inside).all():
            raise ValueError("A decision takes features for granted (inside) that need not be in a support.")
        changed = Cancelled(self._S.part(alive), point, most)
        out, into = np.flatnonzero(np.isin(alive, out)), np.flatnonzero(np.isin(alive, into))
        raised = np.intersect1d(out, changed.aside)
        if len(raised):
            changed.raise_diagonal(raised)
        price = [changed.levels, changed.norms]
        if np.isin(out, inside).any():
            # Every support contains a feature that is put out: the node is empty.
            return changed.total(_at_most(price, k, inside))
        best = NO_SUPPORT
        if len(out) and len(inside) < k:
            best = changed.total(_with_each(price, k, inside, out))
        # If exactly k features are alive, every support contains all of them.
        for i in into if len(alive) > k else ():
            best = max(best, changed.total(_at_most(price, k, inside), without=int(i)))
        return best


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


def _within(witness: DualWitness, alive: Indices, n: int) -> tuple[DualWitness, Floats]:
    """Return a dual point on the features alive, of n, numbered among them, and its row levels before that."""
    kept, L, N = witness.on_kept(n)
    inside = checked_features(witness.inside, n, "inside")
    if not np.isin(inside, alive).all():
        raise ValueError("A point of a tree takes features for granted (inside) that are out.")
    stays = np.flatnonzero(np.isin(kept, alive))
    block = np.ix_(stays, stays)
    point = replace(
        witness,
        kept=np.searchsorted(alive, kept[stays]),
        levels=L[block],
        norms=None if N is None else N[block],
        inside=np.searchsorted(alive, inside),
    )
    return point, row_levels(L)[stays]
