"""What a dual point says about single features: out for good, or in for good.

At a node with the features I inside, let M = S - sym L - sym N and C the price of L and N, so that lmax(M) + C bounds
every support of the node, and let G be what each of the features not inside pays for its row of L.

Out. A support that holds i may price the row of i alone: it has g_i in place of G once, so its value is at most
lmax(M) + C - k(G - g_i). A smaller diagonal c_i of L makes g_i smaller and M_ii larger; where there is room below some
t just above lmax that costs little: with M = V diag(l) V' diagonal entries may rise by d_i together, and no eigenvalue
passes t, if sum_i d_i sum_j V_ij^2 / (t - l_j) <= 1. If the bound falls below the value to beat, i is out.

In. A support without i has a value of at most lmax(M without row and column i) + C. If that is below the value to
beat, i is in. If l_2 < t < l_1, lmax(M without i) < t exactly if sum_j V_ij^2 / (t - l_j) < 0.
"""

from dataclasses import replace

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.linalg import EPS, eigh, largest_eigenvalue
from laconic.relaxations.row_levels import RowLevelSolution, free_diagonal, levels_aside, own_price, row_levels

# How far the largest eigenvalue may rise, in units of what the bound is above the value to beat.
LIFTS = (0.1, 1.0, 4.0)
# Features that need less than this of the room below it are tried together; those that need less than this in sum are
# sure to have it.
LIKELY, SURE = 0.5, 0.9


class Reduction:
    """Features of a node decided by a solution of its relaxation.

    Parameters
    ----------
    S
        The matrix of the node.
    relaxed
        The solution.
    beat
        Supports of this value or less are of no interest.

    Attributes
    ----------
    out, into
        Features that no support worth having holds, and those that every one holds.
    steps
        The dual points that decide them: each a solution with the features it puts out and in.
    """

    def __init__(self, S: Floats, relaxed: RowLevelSolution, beat: float) -> None:
        n = len(S)
        self._S, self._relaxed = S, relaxed
        self._free = np.ones(n, dtype=bool)
        self._free[relaxed.inside] = False
        self._aside = np.setdiff1d(np.arange(n), relaxed.keep)
        M = relaxed.bent(S)
        values, vectors = eigh(M)
        self._margin = 64 * len(M) * EPS * float(np.abs(values).max())
        self._room = beat - relaxed.cost - self._margin
        self._levels_aside = levels_aside(S, relaxed.keep, self._aside, row_levels(relaxed.levels))
        left = S.diagonal()[self._aside] - free_diagonal(self._levels_aside, relaxed.price)
        self._top_aside = float(left.max(initial=-np.inf))
        self.steps: list[tuple[RowLevelSolution, Indices, Indices]] = []
        nobody = np.empty(0, dtype=np.intp)
        self.into = np.flatnonzero(self._in(values, vectors))
        if len(self.into):
            self.steps.append((relaxed, nobody, self.into))
        gone = np.zeros(n, dtype=bool)
        top = max(float(values[-1]), self._top_aside)
        for lift in LIFTS:
            self._out(M, values, vectors, top + lift * max(top - self._room, self._margin), gone)
        self.out = np.flatnonzero(gone)

    def _in(self, values: Floats, vectors: Floats) -> Mask:
        """Test whether the bound without each feature is below what is to be beaten."""
        relaxed, room = self._relaxed, self._room
        result = np.zeros(len(self._S), dtype=bool)
        if len(values) < 2 or not values[-2] < room < values[-1]:
            return result
        if self._top_aside >= room:
            return result
        weight = (vectors**2) @ (1.0 / (room - values))
        scale = (vectors**2) @ (1.0 / np.abs(room - values))
        result[relaxed.keep] = self._free[relaxed.keep] & (weight < -1e-8 * scale)
        return result

    def _out(self, M: Floats, values: Floats, vectors: Floats, top: float, gone: Mask) -> None:
        """Test whether the bound with each feature, its own price paid for its row, is below what is to be beaten."""
        S, relaxed, room = self._S, self._relaxed, self._room
        k, G, keep = relaxed.cardinality, relaxed.price, relaxed.keep
        # A feature that pays no more than this is out.
        afford = G - (top - room) * (1 + 1e-9) / k
        if not 0 < afford < G:
            return
        m, c = row_levels(relaxed.levels), relaxed.levels.diagonal()
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
        # Rows aside are cancelled, so that their diagonal may rise to the largest eigenvalue.
        own = own_price(S.diagonal()[self._aside] - largest, self._levels_aside)
        out[self._aside] = (largest - k * (G - own) < room) & ~gone[self._aside]
        if out.any():
            gone |= out
            step = replace(relaxed, levels=relaxed.levels - np.diag(raised), state=None)
            self.steps.append((step, np.flatnonzero(out), np.empty(0, dtype=np.intp)))
