"""Levels that are given on some features only: the rows of the others are cancelled.

With K the features kept and m_i what their rows may hold, let L_ij = 2 S_ij cut to [-m_i, m_i] and L_ji = 2 S_ij -
L_ij for i in K and j aside, L_jl = S_jl for two that are aside. Then S - sym L is zero off the diagonal in the rows
aside: its eigenvalues are those of its block on K and S_jj - c_j, c_j = L_jj being free to choose. The rows aside are
as long as m_j = max(max_i (2 |S_ij| - m_i), max_l |S_jl|), and nothing has to be written out for that.
"""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import eigenvalue_bound, gamma, grown, up
from laconic.covariance.enclosure import BLOCK_ENTRIES, Enclosure
from laconic.proof.terms import NOTHING, Proved, array_of, features_of, number, total
from laconic.proof.witness import DualWitness
from laconic.proof.witnesses.prices import level_costs, norm_costs, row_levels, row_sum


class Cancelled:
    """The matrix that a point leaves of S, block by block, and what its rows cost.

    Parameters
    ----------
    S
        The matrix.
    witness
        The point; it has `kept` and `levels`, and nothing else but norms.
    most
        What the rows kept may hold; None for the largest entries of `levels`. A point that has lost features may have
        lost those: without them the rows kept would hold less, and the others pay for it.

    Attributes
    ----------
    aside
        The features not kept.
    levels, norms
        What each row of L and of N costs.
    """

    def __init__(self, S: Enclosure, witness: DualWitness, most: Floats | None = None) -> None:
        if witness.multiplier is not None or witness.factor is not None or witness.directions is not None:
            raise ValueError("A point with features kept has levels, and nothing else but norms.")
        if number(witness.threshold, "threshold") != 0 or number(witness.shift, "shift") != 0:
            raise ValueError("A point with features kept has no threshold and no shift.")
        if witness.levels is None:
            raise ValueError("A witness with features kept must have levels on them.")
        self._S, self._kept = S, features_of(witness.kept, S.n, "kept")
        shape = (len(self._kept), len(self._kept))
        L = array_of(witness.levels, shape, "levels")
        N = None if witness.norms is None else array_of(witness.norms, shape, "norms")
        m = row_levels(L) if most is None else most
        self.aside: Indices = np.setdiff1d(np.arange(S.n), self._kept)
        self._bend(L, N)
        reach, self._level = self._rows_aside(m)
        self.levels, self.norms = np.zeros(S.n), np.zeros(S.n)
        self.levels[self._kept] = level_costs(L.diagonal(), np.maximum(row_levels(L), np.minimum(m, reach)))
        if N is not None:
            self.norms[self._kept] = norm_costs(N)
        self._choose(self._free_diagonal(max(number(witness.price, "price"), 0.0)))

    def _bend(self, L: Floats, N: Floats | None) -> None:
        """Take the levels and norms off the block of the features kept; each sum is rounded once."""
        block = self._S.block(self._kept, self._kept)
        M, sizes = block if np.array_equal(block, block.T) else 0.5 * (block + block.T), 0.0
        for part in (L, N):
            if part is not None:
                half = 0.5 * (part + part.T)
                M, sizes = M - half, sizes + 2 * row_sum(M, half)
        self._M, self._rounding = M, float(grown(sizes * gamma(2), 3))

    def _rows_aside(self, m: Floats) -> tuple[Floats, Floats]:
        """Return the largest 2 |S_ij|, j aside, of each row kept, and the levels of the rows aside."""
        S, kept, aside = self._S, self._kept, self.aside
        reach, level = np.zeros(len(kept)), np.zeros(len(aside))
        step = max(1, BLOCK_ENTRIES // max(len(aside), len(kept)))
        for begin in range(0, len(aside), step):
            rows = np.arange(begin, min(begin + step, len(aside)))
            cross = 2.0 * np.abs(S.block(aside[rows], kept))
            reach = np.maximum(reach, cross.max(axis=0, initial=0.0))
            among = np.abs(S.block(aside[rows], aside))
            among[np.arange(len(rows)), rows] = 0.0
            # What is left of an entry is rounded once.
            beyond = up((cross - m).max(axis=1, initial=0.0))
            level[rows] = np.maximum(beyond, among.max(axis=1, initial=0.0))
        return reach, level

    def _free_diagonal(self, price: float) -> Floats:
        """Return the diagonal of the rows aside that costs about a price; any would do."""
        level = self._level
        steep = level - level * (level / (4.0 * price)) if price > 0 else -level
        return np.asarray(np.where(level <= 2.0 * price, price, steep))

    def _choose(self, own: Floats) -> None:
        self._own = own
        self._left = up(self._S.diagonal[self.aside] - own)
        self.levels[self.aside] = level_costs(own, self._level)

    def raised(self, features: Indices) -> None:
        """Let what is left of some features aside be as large as the largest eigenvalue, so that they cost less.

        Parameters
        ----------
        features
            Numbered in S, all of them aside.
        """
        places = np.searchsorted(self.aside, features)
        others = np.delete(self._left, places)
        top = max(float(np.linalg.eigvalsh(self._M)[-1]), float(others.max(initial=-np.inf)))
        own = self._own.copy()
        own[places] = np.minimum(own[places], self._S.diagonal[features] - top)
        self._choose(own)

    def total(self, costs: list[float], without: int | None = None) -> Proved:
        """Return the largest eigenvalue and what it costs to get there, as a bound.

        Parameters
        ----------
        costs
            Of L and N.
        without
            A feature that is left out.
        """
        if not (np.isfinite(self._M).all() and np.isfinite(self._left).all()):
            return NOTHING
        stay = self._kept != without
        left = self._left if without is None else self._left[self.aside != without]
        value = estimate = float(left.max(initial=-np.inf))
        if stay.any():
            value, estimate = eigenvalue_bound(self._M[np.ix_(stay, stay)])
            value, estimate = (
                max(value, float(left.max(initial=value))),
                max(estimate, float(left.max(initial=estimate))),
            )
        away = [self._S.away, self._rounding]
        return total([value, *costs, *away], value - estimate, away)
