"""What a dual point says about single features: out for good, or in for good.

At a node with the features I inside, let M = S - sym L - sym N and C the price of L and N, so that lmax(M) + C bounds
every support of the node, and let G be what each of the features not inside pays for its row of L.

Out. A support that holds i may price the row of i alone: it has g_i in place of G once, so its value is at most
lmax(M) + C - k(G - g_i). A smaller diagonal c_i of L makes g_i smaller and M_ii larger; where there is room below lmax
that costs nothing. If the bound falls below the value to beat, i is out.

In. A support without i has a value of at most lmax(M without row and column i) + C. If that is below the value to
beat, i is in. With M = V diag(l) V' and l_2 < t < l_1, lmax(M without i) < t exactly if sum_j V_ij^2 / (t - l_j) < 0.
"""

from dataclasses import replace

import numpy as np

from laconic._typing import Floats, Indices, Mask
from laconic.linalg import EPS, eigh, largest_eigenvalue
from laconic.relaxations.row_levels import RowLevelSolution, free_diagonal, levels_aside, own_price, row_levels

# Shares of the room below the largest eigenvalue that a diagonal entry is raised by.
SHARES = (0.98, 0.8)


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
        for share in SHARES:
            self._raise(M, max(float(values[-1]), self._top_aside), share, gone)
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

    def _raise(self, M: Floats, top: float, share: float, gone: Mask) -> None:
        """Raise the diagonal of free features together and see whose own price is then small enough."""
        relaxed, room = self._relaxed, self._room
        k, G, keep = relaxed.cardinality, relaxed.price, relaxed.keep
        m, c = row_levels(relaxed.levels), relaxed.levels.diagonal()
        free = self._free[keep] & ~gone[keep]
        raised = np.where(free, share * np.maximum(top - M.diagonal(), 0.0), 0.0)
        # Only those that gain enough are raised, so that they do not spoil it for one another.
        raised[top - k * (G - own_price(c - raised, m)) >= room] = 0.0
        largest = top
        levels = relaxed.levels
        if raised.any():
            moved = M.copy()
            moved.flat[:: len(M) + 1] += raised
            largest = max(largest, largest_eigenvalue(moved))
            levels = levels.copy()
            levels.flat[:: len(M) + 1] -= raised
        out = np.zeros(len(self._S), dtype=bool)
        out[keep] = (raised > 0) & (largest - k * (G - own_price(c - raised, m)) < room)
        if len(self._aside):
            # Rows aside are cancelled, so that their diagonal may rise to the largest eigenvalue.
            own = own_price(self._S.diagonal()[self._aside] - largest, self._levels_aside)
            out[self._aside] = (largest - k * (G - own) < room) & ~gone[self._aside]
        if out.any():
            gone |= out
            step = replace(relaxed, levels=levels, state=None)
            self.steps.append((step, np.flatnonzero(out), np.empty(0, dtype=np.intp)))
