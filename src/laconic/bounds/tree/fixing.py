"""Decisions about single features by a dual point: in no better support, or in every better support.

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

from dataclasses import replace

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.linalg import EPS, eigh, largest_eigenvalue
from laconic.relaxations.rows.prices import Aside, free_diagonal, level_of_each_row, own_price
from laconic.relaxations.rows.relaxation import RowLevelSolution

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
