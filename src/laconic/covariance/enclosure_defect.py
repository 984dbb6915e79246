"""How far what is left of a semidefinite matrix is from one, with nothing written out.

S is semidefinite but for d on its diagonal, and S - WCW' is left of it. Two numbers say what that lacks: a `defect` D
with S - WCW' + D I semidefinite, and a `lack` t, the trace of some semidefinite E with S - WCW' + E semidefinite. For a
unit x on a set T of k features lmax(S_T) <= Tr S_T + min((k - 1) D, t).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import gamma, grown, sum_up, up
from laconic.covariance.enclosure import BLOCK_ENTRIES, Enclosure

# Components of more entries than these, times n, are not multiplied by S again.
MOST_ENTRIES = 100 * BLOCK_ENTRIES
# How long a component may be for one of unit length.
LENGTHS = (0.7, 1.4)


@dataclass(frozen=True, eq=False)
class Removal:
    """What is taken out of S.

    Attributes
    ----------
    base
        The enclosure of S.
    factors, core
        W and C.
    preimages
        A vector z for each column w of W, with w nearly (S less what stands before in WCW') z; None if not known.
    """

    base: Enclosure
    factors: Floats
    core: Floats
    preimages: Floats | None

    def defect_and_lack(self) -> tuple[float, float] | None:
        """Return both numbers, the second infinite if there is only the first; None if nothing is known."""
        before = self.base.known_defect
        if before is None:
            return None
        steps = self.projections()
        if steps is not None:
            found = self.after_projections(steps, before), math.inf
        elif not self.positive():
            return None
        elif self.preimages is not None:
            found = self._after_complements(self.preimages, before), math.inf
        else:
            found = self._after_hotelling(before)
        return found if math.isfinite(found[0]) else None

    def positive(self) -> bool:
        """Whether C is diagonal with positive entries."""
        own = self.core.diagonal()
        return bool((own > 0).all() and np.array_equal(self.core, np.diag(own)))

    def projections(self) -> list[tuple[int, Floats, Floats, float]] | None:
        """Return (place in C, z, y, v) of each projection, or None if it was not by projections."""
        factors, core = self.factors, self.core
        expected = np.zeros_like(core)
        steps = []
        for place in range(0, len(core) - 1, 2):
            unit = float(core[place, place + 1])
            if math.frexp(unit)[0] != 0.5:
                return None
            expected[place : place + 2, place : place + 2] = [[core[place, place], unit], [unit, 0.0]]
            steps.append((place, factors[:, place], factors[:, place + 1] * unit, -float(core[place, place])))
        return steps if np.array_equal(core, expected) else None

    def after_projections(self, steps: list[tuple[int, Floats, Floats, float]], before: float) -> float:
        """Return the defect that projections leave.

        Let S + d I be semidefinite, y nearly Sz, v nearly z'Sz, and S+ = S - zy' - yz' + v zz' be what is left. With
        e = y - Sz and P = I - zz', S+ - PSP = -ze' - ez' + (v - z'y + z'e) zz'. As |P| <= 1 for |z|^2 <= 2, the defect
        of S+ is at most d + 2 |z||e| + |z|^2 (|v - z'y| + |z||e|).
        """
        n, total = self.base.n, before
        for place, z, y, v in steps:
            length = _length(z)
            away = _length_within(*self._distance(y, z, place))
            product = abs(v - float(z @ y)) + float(grown(np.abs(z) @ np.abs(y) * gamma(n + 4), n + 4))
            if not length <= LENGTHS[1]:
                return math.inf
            grip = grown(product + abs(v) * gamma(4) + length * away, 6)
            total = sum_up([total, grown(2 * length * away, 3), grown(length * length * grip, 3)])
        return total

    def _after_complements(self, preimages: Floats, before: float) -> float:
        """Return the defect that Schur complements leave.

        Let R = S + d I be semidefinite, Q any matrix, F = W - RQ and G = Q'RQ = Q'W - Q'F. With b >= lmax(C^(1/2) G
        C^(1/2)) - 1, f^2 >= sum_j C_jj |f_j|^2 and L >= lmax(R), for unit u

            |C^(1/2) W'u| <= |C^(1/2) Q'Ru| + f <= ((1 + b) u'Ru)^(1/2) + f,

        so u'(R - WCW')u >= -b L - 2 f ((1 + b) L)^(1/2) - f^2. As w_j is nearly (S less what stands before it) z_j, it
        is nearly S (z_j - sum_{i < j} C_ii (w_i'z_j) q_i), and b and f are no more than rounding for these q_j.
        """
        n, W, weights = self.base.n, self.factors, self.core.diagonal()
        mixed = np.triu(weights[:, None] * (W.T @ preimages), 1) + np.eye(len(weights))
        if not (np.isfinite(mixed).all() and np.isfinite(preimages).all()):
            return math.inf
        Q = solve_triangular(mixed, preimages.T, trans="T", unit_diagonal=True).T
        lengths = np.array([_length(q) for q in Q.T])
        apart = [_length_within(*self._distance(w, q, 0)) for w, q in zip(W.T, Q.T, strict=True)]
        distances = np.asarray(grown(np.array(apart) + before * lengths, 3))
        roots = np.sqrt(weights)
        size = roots[:, None] * roots
        error = (np.abs(Q).T @ np.abs(W)) * gamma(n + 12) + lengths[:, None] * distances
        off = np.abs(size * (Q.T @ W) - np.eye(len(weights))) * (1 + gamma(8)) + grown(size * error, n + 8) + gamma(8)
        b = float(grown(np.sqrt(grown((off**2).sum(), off.size + 4)), 2))
        f = float(grown(np.sqrt(grown(weights @ distances**2, len(weights) + 4)), 2))
        largest = sum_up([sum_up(self.base.variances), grown(n * before, 2)])
        mixed_term = grown(2 * f * math.sqrt(grown((1 + b) * largest, 4)), 4)
        return sum_up([before, grown(b * largest, 2), mixed_term, grown(f * f, 2)])

    def _after_hotelling(self, before: float) -> tuple[float, float]:
        """Return the defect and the lack that S - c zz' has, c nearly z'Sz, for each of several z.

        Let R = S + E be semidefinite, with E so too, e >= |E|. What is left, R - c zz', has one negative eigenvalue at
        most, and it is not below -c |z|^2. Let Sz = cz + g, h = z'g / |z|^2, and take unit vectors z / |z| cos f +
        w sin f, w orthogonal to z. As (w'Rz)^2 <= z'Rz w'Rw, the eigenvalue is not below the lesser one of
        [[-a, t], [t, t^2 / b]] either, with a >= c (|z|^2 - 1) - h, a >= 0, t >= |g| / |z| + e, b >= c + h + e; and
        that is at least -a - 2 t / (t/b + (t^2/b^2 + 4)^(1/2)). E grows by the rank-one matrix that lifts it to zero.
        """
        norm, trace = before, float(grown(self.base.n * before, 1))
        for place, (z, c) in enumerate(zip(self.factors.T, self.core.diagonal(), strict=True)):
            rest, error = self._distance(c * z, z, place)
            length = _length(z)
            if not LENGTHS[0] <= length <= LENGTHS[1]:
                return math.inf, math.inf
            size = len(z) + 8
            square = float(z @ z)
            doubt = grown(np.abs(z) @ (error + np.abs(rest) * gamma(size)), size) / square
            along = -float(z @ rest) / square
            a = grown(max(along + doubt, 0.0) + c * (abs(square - 1) + 2 * gamma(size)), size)
            t = grown(_length_within(rest, error) / math.sqrt(square) + norm, size)
            b = grown(c + abs(along) + doubt + norm, size)
            share = t / b
            dip = grown(a + 2 * t / (share + math.sqrt(share * share + 4)), 16)
            least = min(float(dip), float(grown(c * square, size)))
            norm, trace = sum_up([norm, least]), sum_up([trace, least])
        return norm, trace

    def _distance(self, y: Floats, z: Floats, place: int) -> tuple[Floats, Floats]:
        """Return Sz - y, as computed, and its errors, for S deflated by what stands in C before a place."""
        used: Indices = np.flatnonzero(z)
        n = self.base.n
        if len(used) * n > MOST_ENTRIES:
            return np.zeros(n), np.full(n, math.inf)
        part, spread = z[used], self.base.spread
        size = np.abs(part)
        factors, core = self.factors[:, :place], self.core[:place, :place]
        mixed = core @ (factors[used].T @ part)
        rest = -y - factors @ mixed
        sizes = np.abs(y) + np.abs(factors) @ (np.abs(core) @ (np.abs(factors[used]).T @ size))
        step = max(1, BLOCK_ENTRIES // (8 * max(len(used), 1)))
        for begin in range(0, n, step):
            rows = np.arange(begin, min(begin + step, n))
            block = self.base.block(rows, used)
            rest[rows] += block @ part
            sizes[rows] += np.abs(block, out=block) @ size
        operations = len(used) + 2 * place + 18
        error = sizes * gamma(operations) + spread * float(spread[used] @ size)
        return rest, np.asarray(grown(error, operations))


def _length(z: Floats) -> float:
    return float(grown(np.sqrt(grown(z @ z, len(z))), 1))


def _length_within(rest: Floats, error: Floats) -> float:
    """Return an upper bound on the length of a vector known up to its errors."""
    reach = up(np.abs(rest) + error)
    return float(grown(np.sqrt(grown(reach @ reach, len(rest) + 1)), 1))
