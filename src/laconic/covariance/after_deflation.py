"""Proofs about a deflated covariance: how far it is from semidefinite, and its largest eigenvalue.

**How far S - WCW' is from semidefinite, without writing it out.** S + d I is semidefinite for a known d. Two numbers
tell how far S - WCW' is from semidefinite: the shift D with S - WCW' + D I semidefinite, and the trace t of some
semidefinite E with S - WCW' + E semidefinite. For a set T of k features lmax(S_T) <= Tr S_T + min((k - 1) D, t).

**The largest eigenvalue of S = A'A after projections, without an n x n matrix.** A has fewer rows than columns. A'A
and AA' have the same largest eigenvalue. The deflated matrix is ...P_2 P_1 S P_1 P_2..., P_i = I - z_i z_i'. As
P_i P_i = I - (2 - |z_i|^2) z_i z_i', it has the largest eigenvalue of the small matrix AA' less the sum of
(2 - |z_i|^2) g_i g_i', g_i = A P_1 ... P_{i-1} z_i.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue, RowProducts
from laconic.core.rounding import down, gamma, grown, sum_up, up
from laconic.covariance.matrix import Covariance

# A component is multiplied by S again only if this takes at most so many entries of S: about a second of work.
MOST_ENTRIES = 400_000_000
# The length of a direction must lie between these, or nothing is proved. Components have unit length up to rounding;
# the proofs only need that the squared length is at most two.
LENGTHS = (0.7, 1.4)
NOT_KNOWN = (math.inf, math.inf)


class Step(NamedTuple):
    """One component that was taken out of a matrix T."""

    direction: Floats  # z, about of unit length
    image: Floats  # y, which is Tz up to rounding
    value: float  # v, which is z'Tz up to rounding


@dataclass(frozen=True, eq=False)
class Removal:
    """The matrix S - WCW', with W and C made from steps by one rule.

    Nothing is assumed about the numbers of a step: proofs compute how far the image is from Tz.
    """

    base: Covariance  # S
    factors: Floats  # W, with the same number of columns for each step
    core: Floats  # C
    steps: tuple[Step, ...]  # the components taken out, in order

    @cached_property
    def width(self) -> int:
        """The number of columns of W that belong to one step."""
        return len(self.core) // len(self.steps)

    def distance(self, y: Floats, z: Floats, place: int) -> tuple[Floats, Floats]:
        """Return Tz - y as computed, and bounds on its errors, T = S less the first `place` columns of WCW'."""
        used: Indices = np.flatnonzero(z)
        n = self.base.n_features
        if len(used) * n > MOST_ENTRIES:
            return np.zeros(n), np.full(n, math.inf)
        part, spread = z[used], self.base.spread
        size = np.abs(part)
        factors, core = self.factors[:, :place], self.core[:place, :place]
        mixed = core @ (factors[used].T @ part)
        rest = -y - factors @ mixed
        sizes = np.abs(y) + np.abs(factors) @ (np.abs(core) @ (np.abs(factors[used]).T @ size))
        step = max(1, BLOCK_ENTRIES // max(len(used), 1))
        for begin in range(0, n, step):
            rows = np.arange(begin, min(begin + step, n))
            block = self.base.block(rows, used)
            rest[rows] += block @ part
            sizes[rows] += np.abs(block, out=block) @ size
        operations = len(used) + 2 * place + 18
        error = sizes * gamma(operations) + spread * float(spread[used] @ size)
        return rest, np.asarray(grown(error, operations))


def length_up(z: Floats) -> float:
    """Return an upper bound on the length of a vector."""
    return float(grown(np.sqrt(grown(z @ z, len(z))), 1))


def length_within(rest: Floats, error: Floats) -> float:
    """Return an upper bound on the length of a vector whose entries are known up to some errors."""
    reach = up(np.abs(rest) + error)
    return float(grown(np.sqrt(grown(reach @ reach, len(rest) + 1)), 1))


def after_projections(removal: Removal, before: float) -> tuple[float, float]:
    """Return the shift after projections, given the shift d before them.

    Let S + d I be semidefinite, y nearly Sz and v nearly z'Sz. The deflated matrix is S+ = S - zy' - yz' + v zz'. With
    e = y - Sz and P = I - zz', S+ - PSP = -ze' - ez' + (v - z'y + z'e) zz'. As |P| <= 1 for |z|^2 <= 2, the shift of S+
    is at most d + 2 |z||e| + |z|^2 (|v - z'y| + |z||e|).
    """
    n, total = removal.base.n_features, before
    for place, (z, y, v) in enumerate(removal.steps):
        length = length_up(z)
        away = length_within(*removal.distance(y, z, removal.width * place))
        product = abs(v - float(z @ y)) + float(grown(np.abs(z) @ np.abs(y) * gamma(n + 4), n + 4))
        if not length <= LENGTHS[1]:
            return NOT_KNOWN
        grip = grown(product + abs(v) * gamma(4) + length * away, 6)
        total = sum_up([total, grown(2 * length * away, 3), grown(length * length * grip, 3)])
    return total, math.inf


def after_schur_complements(removal: Removal, before: float) -> tuple[float, float]:
    """Return the shift after Schur complements, given the shift d before them.

    Let R = S + d I be semidefinite, Q any matrix, F = W - RQ and G = Q'RQ = Q'W - Q'F. With b >= lmax(C^(1/2) G
    C^(1/2)) - 1, f^2 >= sum_j C_jj |f_j|^2 and L >= lmax(R), for unit u

        |C^(1/2) W'u| <= |C^(1/2) Q'Ru| + f <= ((1 + b) u'Ru)^(1/2) + f,

    so u'(R - WCW')u >= -b L - 2 f ((1 + b) L)^(1/2) - f^2. As w_j is nearly (S less the columns of W before j) z_j, it
    is nearly S (z_j - sum_{i < j} C_ii (w_i'z_j) q_i). For these q_j both b and f are of the size of rounding.
    """
    n, W, weights = removal.base.n_features, removal.factors, removal.core.diagonal()
    directions = np.stack([step.direction for step in removal.steps], axis=1)
    mixed = np.triu(weights[:, None] * (W.T @ directions), 1) + np.eye(len(weights))
    if not ((weights > 0).all() and np.isfinite(mixed).all() and np.isfinite(directions).all()):
        return NOT_KNOWN
    Q = solve_triangular(mixed, directions.T, trans="T", unit_diagonal=True).T
    lengths = np.array([length_up(q) for q in Q.T])
    apart = [length_within(*removal.distance(w, q, 0)) for w, q in zip(W.T, Q.T, strict=True)]
    distances = np.asarray(grown(np.array(apart) + before * lengths, 3))
    roots = np.sqrt(weights)
    size = roots[:, None] * roots
    error = (np.abs(Q).T @ np.abs(W)) * gamma(n + 12) + lengths[:, None] * distances
    off = np.abs(size * (Q.T @ W) - np.eye(len(weights))) * (1 + gamma(8)) + grown(size * error, n + 8) + gamma(8)
    b = float(grown(np.sqrt(grown((off**2).sum(), off.size + 4)), 2))
    f = float(grown(np.sqrt(grown(weights @ distances**2, len(weights) + 4)), 2))
    largest = sum_up([sum_up(removal.base.variances), grown(n * before, 2)])
    mixed_term = grown(2 * f * math.sqrt(grown((1 + b) * largest, 4)), 4)
    return sum_up([before, grown(b * largest, 2), mixed_term, grown(f * f, 2)]), math.inf


def after_hotelling(removal: Removal, before: float) -> tuple[float, float]:
    """Return the shift and the trace after subtracting c zz', c nearly z'Sz, for each of several z.

    Let R = S + E be semidefinite, with E semidefinite too and e >= |E|. R - c zz' has at most one negative eigenvalue,
    and it is not below -c |z|^2. Let Sz = cz + g, h = z'g / |z|^2, and take unit vectors z / |z| cos f + w sin f,
    w orthogonal to z. As (w'Rz)^2 <= z'Rz w'Rw, the eigenvalue is not below the smaller one of
    [[-a, t], [t, t^2 / b]] either, with a >= c (|z|^2 - 1) - h, a >= 0, t >= |g| / |z| + e, b >= c + h + e; and
    that is at least -a - 2 t / (t/b + (t^2/b^2 + 4)^(1/2)). E grows by the rank-one matrix that lifts it to zero.
    """
    norm, trace = before, float(grown(removal.base.n_features * before, 1))
    for place, (z, _, c) in enumerate(removal.steps):
        rest, error = removal.distance(c * z, z, removal.width * place)
        length = length_up(z)
        if not (LENGTHS[0] <= length <= LENGTHS[1] and c > 0):
            return NOT_KNOWN
        size = len(z) + 8
        square = float(z @ z)
        doubt = grown(np.abs(z) @ (error + np.abs(rest) * gamma(size)), size) / square
        along = -float(z @ rest) / square
        a = grown(max(along + doubt, 0.0) + c * (abs(square - 1) + 2 * gamma(size)), size)
        t = grown(length_within(rest, error) / math.sqrt(square) + norm, size)
        b = grown(c + abs(along) + doubt + norm, size)
        share = t / b
        dip = grown(a + 2 * t / (share + math.sqrt(share * share + 4)), 16)
        least = min(float(dip), float(grown(c * square, size)))
        norm, trace = sum_up([norm, least]), sum_up([trace, least])
    return norm, trace


def subtracted(removal: Removal, rounding: float) -> float:
    """Return an upper bound on the norm of the sum of c zz' that Hotelling's deflation subtracts, plus rounding."""
    return sum_up([rounding, *(grown(max(c, 0.0) * length_up(z) ** 2, 4) for z, _, c in removal.steps)])


def largest_after_projections(A: Floats, removal: Removal) -> ProvedEigenvalue | None:
    """Bound lmax(A P_1 ... P_j P_j ... P_1 A'), and add the distance from what was really subtracted.

    A step u - z (z'u) has an error of at most gamma_{n+8} (1 + |z|^2) |u|. As |z|^2 <= 2, no P_i makes it larger.
    """
    away, _ = after_projections(removal, 0.0)
    if not math.isfinite(away):
        return None
    directions = [step.direction for step in removal.steps]
    n, rows = A.shape[1], RowProducts(A)
    images, weights, error = [], [], 0.0
    for place, z in enumerate(directions):
        u = z.copy()
        for earlier in directions[:place][::-1]:
            u -= earlier * float(earlier @ u)
        images.append(A @ u)
        weights.append(max(float(down(2.0 - grown(z @ z, n + 1))), 0.0))
        # |u| is below 1.5, so each step has an error of at most five gamma, and A u of 1.5 gamma.
        error += rows.length * (5 * place + 2) * gamma(n + 8)
    value, estimate = rows.largest(np.stack(images, axis=1), np.diag(weights), float(grown(error, len(images) + 4)))
    return ProvedEigenvalue(sum_up([value, away]), estimate)
