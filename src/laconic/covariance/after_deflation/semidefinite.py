"""How far S - WCW' is from semidefinite, without writing it out.

S + d I is semidefinite for a known d. Two numbers tell how far S - WCW' is from semidefinite: the shift D with
S - WCW' + D I semidefinite, and the trace t of some semidefinite E with S - WCW' + E semidefinite. For a set T of k
features lmax(S_T) <= Tr S_T + min((k - 1) D, t). Each function here returns both; infinite means not known.
"""

import math

import numpy as np
from scipy.linalg import solve_triangular

from laconic.core.rounding import gamma, grown, sum_up
from laconic.covariance.after_deflation.removal import LENGTHS, Removal, length_up, length_within

NOT_KNOWN = (math.inf, math.inf)


def after_projections(removal: Removal, before: float) -> tuple[float, float]:
    """Return the shift after projections, given the shift d before them.

    Let S + d I be semidefinite, y nearly Sz and v nearly z'Sz. The deflated matrix is S+ = S - zy' - yz' + v zz'. With
    e = y - Sz and P = I - zz', S+ - PSP = -ze' - ez' + (v - z'y + z'e) zz'. As |P| <= 1 for |z|^2 <= 2, the shift of S+
    is at most d + 2 |z||e| + |z|^2 (|v - z'y| + |z||e|).
    """
    n, total = removal.base.n, before
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
    n, W, weights = removal.base.n, removal.factors, removal.core.diagonal()
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
    norm, trace = before, float(grown(removal.base.n * before, 1))
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
