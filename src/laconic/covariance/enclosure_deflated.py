"""The enclosure of a covariance less something of low rank."""

import math
from functools import cached_property

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import gamma, grown, up
from laconic.covariance.deflated import SMALL
from laconic.covariance.enclosure import Enclosure
from laconic.covariance.enclosure_defect import Removal
from laconic.covariance.enclosure_largest import largest_left


class Deflated(Enclosure):
    """S - WCW' with W and C given: the errors of S, of the two products, and of the subtraction.

    The columns of W are brought to entries of at most one, by powers of two, which C makes good: then
    (|W||C||W|')_ij <= max |C_ab| r_i r_j, r the row sums of |W|, is no gross exaggeration.
    """

    def __init__(self, base: Enclosure, factors: Floats, core: Floats, preimages: Floats | None = None) -> None:
        powers = np.frexp(np.abs(factors).max(axis=0, initial=0.0))[1]
        self._base = base
        self._given = factors, core, preimages
        self._factors = np.ldexp(factors, -powers)
        self._core = np.ldexp(core, powers + powers[:, None])
        self.n = base.n

    @cached_property
    def _taken(self) -> Floats:
        """A vector with (|W||C||W|')_ij <= its entries i and j multiplied."""
        height = math.sqrt(float(np.abs(self._core).max(initial=0.0)))
        return np.asarray(grown(np.abs(self._factors).sum(axis=1) * height, len(self._core) + 4))

    @cached_property
    def size(self) -> Floats:
        return np.asarray(up(self._base.size + self._taken))

    @cached_property
    def spread(self) -> Floats:
        rounding = math.sqrt(gamma(2 * len(self._core) + 8))
        return np.asarray(up(self._base.spread + grown(self.size * rounding, 3)))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        taken = self._factors[rows] @ self._core @ self._factors[columns].T
        return np.asarray(self._base.block(rows, columns) - taken)

    def _whole(self) -> Floats:
        return np.asarray(self._base._whole() - self._factors @ self._core @ self._factors.T)

    @cached_property
    def diagonal(self) -> Floats:
        return np.asarray(self._base.diagonal - np.einsum("ij,ij->i", self._factors @ self._core, self._factors))

    @cached_property
    def largest_by_rows(self) -> tuple[float, float] | None:
        factor = self._base.factor
        if factor is None or len(factor) >= self.n:
            return None
        return largest_left(factor, Removal(self._base, *self._given))

    @cached_property
    def _left(self) -> tuple[float, float] | None:
        return Removal(self._base, *self._given).defect_and_lack()

    @cached_property
    def known_defect(self) -> float | None:
        # Hotelling's may be far above the least there is, which of a small matrix costs little.
        if self._left is None or (math.isfinite(self._left[1]) and self.n <= SMALL):
            return None
        return self._left[0]

    @cached_property
    def lack(self) -> float:
        return math.inf if self._left is None else self._left[1]
