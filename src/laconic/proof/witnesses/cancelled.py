"""Levels that are given on some features only; the rows of the others are cancelled.

Let K be the features kept and m_i a limit for the entries of their rows. For i in K and j not in K let L_ij = 2 S_ij
cut to [-m_i, m_i] and L_ji = 2 S_ij - L_ij. For two features j and l not in K let L_jl = S_jl. Then S - sym L is zero
off the diagonal in the rows not in K. Its eigenvalues are those of its block on K, and S_jj - c_j, where c_j = L_jj is
free to choose. The rows not in K have the level m_j = max(max_i (2 |S_ij| - m_i), max_l |S_jl|). S need not be written
out.
"""

from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalue_proof import proved_largest_eigenvalue
from laconic.core.rounding import gamma, grown, up
from laconic.core.thresholds import BLOCK_ENTRIES
from laconic.covariance import Covariance
from laconic.proof.terms import NO_BOUND, Proved, checked_array, checked_features, checked_number, total
from laconic.proof.witnesses.prices import level_costs, norm_costs, row_levels, row_sum


class Cancelled:
    """The matrix S - sym L - sym N, block by block, and what its rows cost.

    L = `levels` and N = `norms`, which may be None, are given on the features `kept`. `price` is about what
    a row not kept costs. `most` holds the limits m_i; by default the largest entries of the rows of L. Within a tree, L
    may have lost columns. Then the limits are those from before, because smaller ones would raise the cost of the rows
    not kept.

    The attributes `levels` and `norms` are the costs of each row of L and of N. `aside` are the features not kept.
    """

    def __init__(
        self, S: Covariance, kept: Any, levels: Any, norms: Any, price: float, most: Floats | None = None
    ) -> None:
        self._S, self._kept = S, checked_features(kept, S.n_features, "kept")
        shape = (len(self._kept), len(self._kept))
        L = checked_array(levels, shape, "levels")
        N = None if norms is None else checked_array(norms, shape, "norms")
        m = row_levels(L) if most is None else most
        self.aside: Indices = np.setdiff1d(np.arange(S.n_features), self._kept)
        self._subtract(L, N)
        reach, self._level = self._rows_aside(m)
        self.levels, self.norms = np.zeros(S.n_features), np.zeros(S.n_features)
        self.levels[self._kept] = level_costs(L.diagonal(), np.maximum(row_levels(L), np.minimum(m, reach)))
        if N is not None:
            self.norms[self._kept] = norm_costs(N)
        self._choose(self._free_diagonal(max(checked_number(price, "price"), 0.0)))

    def _subtract(self, L: Floats, N: Floats | None) -> None:
        """Subtract the levels and norms from the block of the features kept; each sum is rounded once."""
        block = self._S.block(self._kept, self._kept)
        M, sizes = block if np.array_equal(block, block.T) else 0.5 * (block + block.T), 0.0
        for part in (L, N):
            if part is not None:
                half = 0.5 * (part + part.T)
                M, sizes = M - half, sizes + 2 * row_sum(M, half)
        self._M, self._rounding = M, float(grown(sizes * gamma(2), 3))

    def _rows_aside(self, m: Floats) -> tuple[Floats, Floats]:
        """Return the largest 2 |S_ij|, j not kept, of each row kept, and the levels of the rows not kept."""
        S, kept, aside = self._S, self._kept, self.aside
        reach, level = np.zeros(len(kept)), np.zeros(len(aside))
        step = max(1, BLOCK_ENTRIES // max(len(aside), len(kept)))
        for begin in range(0, len(aside), step):
            rows = np.arange(begin, min(begin + step, len(aside)))
            cross = 2.0 * np.abs(S.block(aside[rows], kept))
            reach = np.maximum(reach, cross.max(axis=0, initial=0.0))
            among = np.abs(S.block(aside[rows], aside))
            among[np.arange(len(rows)), rows] = 0.0
            # Each difference is rounded once.
            beyond = up((cross - m).max(axis=1, initial=0.0))
            level[rows] = np.maximum(beyond, among.max(axis=1, initial=0.0))
        return reach, level

    def _free_diagonal(self, price: float) -> Floats:
        """Return a diagonal of the rows not kept that costs about a price. The bound holds for any."""
        level = self._level
        steep = level - level * (level / (4.0 * price)) if price > 0 else -level
        return np.asarray(np.where(level <= 2.0 * price, price, steep))

    def _choose(self, own: Floats) -> None:
        self._own = own
        self._left = up(self._S.diagonal[self.aside] - own)
        self.levels[self.aside] = level_costs(own, self._level)

    def raise_diagonal(self, features: Indices) -> None:
        """Raise the diagonal left of features not kept to the largest eigenvalue: their rows then cost less."""
        places = np.searchsorted(self.aside, features)
        others = np.delete(self._left, places)
        top = max(float(np.linalg.eigvalsh(self._M)[-1]), float(others.max(initial=-np.inf)))
        own = self._own.copy()
        own[places] = np.minimum(own[places], self._S.diagonal[features] - top)
        self._choose(own)

    def total(self, costs: list[float], without: int | None = None) -> Proved:
        """Return the largest eigenvalue, leaving out the feature `without`, plus the costs of L and N, as a bound."""
        if not (np.isfinite(self._M).all() and np.isfinite(self._left).all()):
            return NO_BOUND
        stay = self._kept != without
        left = self._left if without is None else self._left[self.aside != without]
        value = estimate = most = float(left.max(initial=-np.inf))
        if stay.any():
            value, estimate = (max(x, most) for x in proved_largest_eigenvalue(self._M[np.ix_(stay, stay)]))
        away = [self._S.away, self._rounding]
        return total([value, *costs, *away], value - estimate, away)
