"""The enclosure of a covariance less something of low rank."""

import math
from functools import cached_property

import numpy as np

from laconic._typing import Floats, Indices
from laconic.covariance.enclosure import BLOCK_ENTRIES, Enclosure
from laconic.rigor import gamma, grown, sum_up, up


class Deflated(Enclosure):
    """S - WCW' with W and C given: the errors of S, of the two products, and of the subtraction.

    The columns of W are brought to entries of at most one, by powers of two, which C makes good: then
    (|W||C||W|')_ij <= max |C_ab| r_i r_j, r the row sums of |W|, is no gross exaggeration.
    """

    def __init__(self, base: Enclosure, factors: Floats, core: Floats) -> None:
        powers = np.frexp(np.abs(factors).max(axis=0, initial=0.0))[1]
        self._base = base
        self._given = factors, core
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

    @cached_property
    def diagonal(self) -> Floats:
        return np.asarray(self._base.diagonal - np.einsum("ij,ij->i", self._factors @ self._core, self._factors))

    @cached_property
    def known_defect(self) -> float | None:
        """The defect of projections.

        Let S + d I be semidefinite, y nearly Sz, v nearly z'Sz, and S+ = S - zy' - yz' + v zz' be what is left. With
        e = y - Sz and P = I - zz', S+ - PSP = -ze' - ez' + (v - z'y + z'e) zz'. As |P| <= 1 for |z|^2 <= 2, the defect
        of S+ is at most d + 2 |z||e| + |z|^2 (|v - z'y| + |z||e|).
        """
        steps = self._projections()
        if steps is None or self._base.known_defect is None:
            return None
        total = self._base.known_defect
        for place, z, y, v in steps:
            length = float(grown(np.sqrt(grown(z @ z, self.n)), 1))
            away = self._distance(y, z, place)
            product = abs(v - float(z @ y)) + float(grown(np.abs(z) @ np.abs(y) * gamma(self.n + 4), self.n + 4))
            if not length <= 1.4:
                return None
            grip = grown(product + abs(v) * gamma(4) + length * away, 6)
            total = sum_up([total, grown(2 * length * away, 3), grown(length * length * grip, 3)])
        return total if math.isfinite(total) else None

    def _projections(self) -> list[tuple[int, Floats, Floats, float]] | None:
        """Return (place in C, z, y, v) of each projection S was deflated by, or None if it was not by projections."""
        factors, core = self._given
        expected = np.zeros_like(core)
        steps = []
        for place in range(0, len(core) - 1, 2):
            unit = float(core[place, place + 1])
            if math.frexp(unit)[0] != 0.5:
                return None
            expected[place : place + 2, place : place + 2] = [[core[place, place], unit], [unit, 0.0]]
            steps.append((place, factors[:, place], factors[:, place + 1] * unit, -float(core[place, place])))
        return steps if np.array_equal(core, expected) else None

    def _distance(self, y: Floats, z: Floats, place: int) -> float:
        """Bound |y - Sz| for S deflated by what stands in C before a place."""
        used = np.flatnonzero(z)
        if len(used) * self.n > 100 * BLOCK_ENTRIES:
            return math.inf
        block, part = self._base.block(np.arange(self.n), used), z[used]
        size, spread = np.abs(part), self._base.spread
        factors, core = self._factors[:, :place], self._core[:place, :place]
        mixed = core @ (factors[used].T @ part)
        mixed_size = np.abs(core) @ (np.abs(factors[used]).T @ size)
        rest = np.abs(y - block @ part + factors @ mixed)
        rounding = gamma(len(used) + 2 * place + 16)
        sizes = np.abs(y) + np.abs(block) @ size + np.abs(factors) @ mixed_size
        reach = grown(rest + sizes * rounding + spread * float(spread[used] @ size), len(used) + 2 * place + 8)
        return float(grown(np.sqrt(grown(reach @ reach, self.n + 1)), 1))
