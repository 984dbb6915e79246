"""The bound of a tree of cases.

A node stands for the supports of k features that hold the features `inside` and nothing but those `alive`. A decision
divides them: with x a unit vector on a support T of the node and M, L, N of a dual point (`proof.witnesses.dual`)

    i in T       x'Sx <= lmax(M) + what L and N cost if i is one of the features that pay
    i not in T   x'Sx <= lmax(M without row and column i) + what L and N cost

so that after it T may be taken to be without the features put out, and with those put in. What is left is divided on a
feature between two nodes, or bounded. Every support is in one of the parts, and the bound of the tree is the largest
of all that occur.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import sum_up
from laconic.covariance.enclosure import Enclosure, Part
from laconic.proof.terms import Proved, array_of, features_of, largest, times_up
from laconic.proof.witness import Decision, DualWitness, TreeNode, TreeWitness
from laconic.proof.witnesses.cancelled import Cancelled
from laconic.proof.witnesses.dual import dual_bound
from laconic.proof.witnesses.prices import row_levels

LEAST = Proved(-math.inf, 0.0)
Listing: TypeAlias = Callable[[Enclosure, int, Indices], Proved]


class Tree:
    """Walks through a tree.

    Parameters
    ----------
    S
        The matrix.
    cardinality
        k.
    listed
        Bounds the supports of some features, those inside known, by looking at each.
    """

    def __init__(self, S: Enclosure, cardinality: int, listed: Listing) -> None:
        self._S, self._k, self._listed = S, cardinality, listed

    def bound(self, witness: TreeWitness, inside: Indices) -> Proved:
        """Return the bound of the whole tree.

        Parameters
        ----------
        witness
            The tree.
        inside
            Features that every support considered holds.
        """
        best = LEAST
        pending = [(0, np.arange(self._S.n), inside)]
        reached: set[int] = set()
        while pending:
            place, alive, members = pending.pop()
            if not 0 <= place < len(witness.nodes) or not isinstance(witness.nodes[place], TreeNode):
                raise ValueError(f"The tree has no node {place}.")
            if place in reached:
                # Nodes shared again and again would make a short tree a long walk.
                raise ValueError(f"Node {place} of the tree is reached twice.")
            reached.add(place)
            node = witness.nodes[place]
            for decision in node.decisions:
                if self._empty(alive, members):
                    break
                best = max(best, self._decided(decision, alive, members))
                alive, members = self._after(decision, alive, members)
            if self._empty(alive, members):
                continue
            if node.bound is not None:
                best = max(best, self._ended(node, alive, members))
                continue
            feature = features_of([node.feature], self._S.n, "feature")
            # Children come after their parent, so the walk ends.
            if min(node.without, node.within) <= place or feature[0] not in alive or feature[0] in members:
                raise ValueError(f"Node {place} of the tree is not divided as a node must be.")
            pending.append((node.within, alive, np.union1d(members, feature)))
            pending.append((node.without, np.setdiff1d(alive, feature), members))
        return best

    def _empty(self, alive: Indices, members: Indices) -> bool:
        return len(alive) < self._k or len(members) > self._k or not np.isin(members, alive).all()

    def _ended(self, node: TreeNode, alive: Indices, members: Indices) -> Proved:
        part, inside = Part(self._S, alive), np.searchsorted(alive, members)
        if isinstance(node.bound, DualWitness):
            point, most = _within(node.bound, alive)
            return dual_bound(part, self._k, point, inside, most=most)
        return self._listed(part, self._k, inside)

    def _after(self, decision: Decision, alive: Indices, members: Indices) -> tuple[Indices, Indices]:
        out = features_of(decision.out, self._S.n, "out")
        into = features_of(decision.into, self._S.n, "into")
        if len(np.intersect1d(out, into)):
            raise ValueError("A decision puts a feature both out and in.")
        # What a feature that is gone already was decided by is of no account.
        return np.setdiff1d(alive, out), np.union1d(members, np.intersect1d(into, alive))

    def _decided(self, decision: Decision, alive: Indices, members: Indices) -> Proved:
        """Return the largest value of the supports that a decision leaves out."""
        if not isinstance(decision.witness, DualWitness):
            raise ValueError("A decision needs a dual point.")
        k, inside = self._k, np.searchsorted(alive, members)
        point, most = _within(decision.witness, alive)
        if not np.isin(point.inside, inside).all():
            raise ValueError("A decision takes features for granted (inside) that need not be in a support.")
        bent = Cancelled(Part(self._S, alive), point, most)
        out = np.flatnonzero(np.isin(alive, features_of(decision.out, self._S.n, "out")))
        into = np.flatnonzero(np.isin(alive, features_of(decision.into, self._S.n, "into")))
        raised = np.intersect1d(out, bent.aside)
        if len(raised):
            bent.raised(raised)
        price = [bent.levels, bent.norms]
        if np.isin(out, inside).any():
            # Every support holds a feature that is put out: nothing is left.
            return bent.total(_at_most(price, k, inside))
        best = LEAST
        if len(out) and len(inside) < k:
            best = bent.total(_with_each(price, k, inside, out))
        # Where no feature can be spared, every support holds them all.
        for i in into if len(alive) > k else ():
            best = max(best, bent.total(_at_most(price, k, inside), without=int(i)))
        return best


def _at_most(price: list[Floats], k: int, inside: Indices) -> list[float]:
    """Return what L, and N, cost at the most."""
    factors = (float(k), 1.0)
    costs = []
    for factor, g in zip(factors, price, strict=False):
        free = np.delete(g, inside)
        costs.append(times_up(factor, sum_up([*g[inside], *largest(free, min(k - len(inside), len(free)))])))
    return costs


def _with_each(price: list[Floats], k: int, inside: Indices, out: Indices) -> list[float]:
    """Return what L, and N, cost at the most if one of the features `out` pays."""
    factors = (float(k), 1.0)
    costs = []
    for factor, g in zip(factors, price, strict=False):
        # The dearest of those out, and the dearest others.
        one = float(g[out].max())
        free = np.delete(g, np.union1d(inside, out))
        rest = k - len(inside) - 1
        among = np.concatenate([free, np.sort(g[out])[:-1]])
        costs.append(times_up(factor, sum_up([*g[inside], one, *largest(among, min(rest, len(among)))])))
    return costs


def _within(witness: DualWitness, alive: Indices) -> tuple[DualWitness, Floats]:
    """Return a dual point on the features alive, numbered among them, and what its rows held before."""
    if witness.kept is None or witness.multiplier is not None or witness.factor is not None:
        raise ValueError("A point of a tree has levels on some features, and nothing else but norms.")
    kept = np.asarray(witness.kept)
    if kept.ndim != 1 or kept.dtype.kind not in "iu" or len(np.unique(kept)) < len(kept):
        raise ValueError("kept must be a list of feature numbers, each of them once.")
    stays = np.flatnonzero(np.isin(kept, alive))
    shape = (len(kept), len(kept))

    def block(values: Floats | None, name: str) -> Floats | None:
        return None if values is None else array_of(values, shape, name)[np.ix_(stays, stays)]

    if witness.levels is None:
        raise ValueError("A witness with features kept must have levels on them.")
    most = row_levels(array_of(witness.levels, shape, "levels"))[stays]

    inside = np.asarray(witness.inside, dtype=np.intp)
    if not np.isin(inside, alive).all():
        raise ValueError("A point of a tree takes features for granted (inside) that are out.")
    point = replace(
        witness,
        kept=np.searchsorted(alive, kept[stays]),
        levels=block(witness.levels, "levels"),
        norms=block(witness.norms, "norms"),
        inside=np.searchsorted(alive, inside),
    )
    return point, most
