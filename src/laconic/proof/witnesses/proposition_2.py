"""The bound of Proposition 2 from the matrix itself, with no factor."""

import numpy as np

from laconic.core.rigor import down, eigenvalue_bound, gamma, grown, up
from laconic.covariance.enclosure import Enclosure
from laconic.proof.terms import NOTHING, Proved, array_of, features_of, number, times_up, total
from laconic.proof.witness import ComponentWitness


def component_bound(S: Enclosure, k: int, witness: ComponentWitness) -> Proved:
    """Bound x'Sx by the l0 relaxation (`laconic.proof.witnesses.dual`) for directions w_i = f_i a_i - h_i x, x = Az.

    With M the matrix plus d on its diagonal, d so large that M = A'A for some A, p = Mz and v = z'p

        w_i'w_j = f_i f_j M_ij - f_i p_i h_j - h_i f_j p_j + h_i h_j v
        d_i     = (w_i'a_i)^2 - (M_ii - rho) |w_i|^2 = rho |w_i|^2 - h_i^2 (M_ii v - p_i^2)

    and with Y_i = c_i w_i w_i' the largest eigenvalue of sum_i Y_i is that of the matrix (c_i c_j)^(1/2) w_i'w_j. The
    numbers f_i and h_i may be any. Where d_i is not positive f_i = 1, h_i = 0 stand in, with c_i = 1 - rho / M_ii.

    Let r_i >= |a_i| and q = sum_j |z_j| r_j >= |x|, m the number of terms in Az. As |M_ij| <= r_i r_j, p_i is computed
    up to gamma_{m+3} r_i q and v up to gamma_{2m+6} q^2; so no w_i'w_j, with some 12 roundings more, is off by more
    than gamma_{2m+24} t_i t_j, t_i = |f_i| r_i + |h_i| q. These errors are a matrix whose norm is at most that of t,
    squared. Likewise d_i is off by gamma_{2m+32} (rho t_i^2 + 2 h_i^2 r_i^2 q^2) at most.
    """
    rho = number(witness.rho, "rho")
    if rho < 0:
        raise ValueError(f"rho={rho} must not be negative.")
    features = features_of(witness.features, S.n, "features")
    z = array_of(witness.weights, (len(features),), "weights")
    penalty, shift, operations = times_up(k, rho), S.matrix_defect, 2 * len(z)
    M = S.matrix
    if shift:
        M = M.copy()
        M.flat[:: S.n + 1] += shift
    squares = up(M.diagonal())
    active = np.flatnonzero(squares > rho)
    if not len(active):
        return total([penalty, -shift, S.away], 0.0, [S.away])
    lengths = grown(np.sqrt(np.maximum(squares, 0.0)), 1)
    q = float(grown(np.abs(z) @ lengths[features], len(z) + 1))
    p = M[:, features] @ z
    v = float(z @ p[features])
    if len(active) < S.n:
        M, p, squares, lengths = M[active[:, None], active], p[active], squares[active], lengths[active]
    inside = p * p > rho
    f, h = np.where(inside, p, 1.0), np.where(inside, rho, p)
    t, own = np.abs(f) * lengths + np.abs(h) * q, h * h
    w = f * f * squares - 2 * f * h * p + own * v
    error = grown((rho * t * t + 2 * own * squares * (q * q)) * gamma(operations + 32), 12)
    d = down(rho * w - own * (squares * v - p * p) - error)
    c = grown(rho * up(squares - rho) / np.where(d > 0, d, 1.0), 3)
    plain = ~((d > 0) & (c * w < 1e6 * squares))
    if plain.any():
        f, h = np.where(plain, 1.0, f), np.where(plain, 0.0, h)
        c = np.where(plain, up(1.0 - down(rho / squares)), c)
    root = grown(np.sqrt(np.maximum(c, 0.0)), 1)
    f, h = root * f, root * h
    outer = (0.5 * v * h - f * p)[:, None] * h
    Y = f[:, None] * f * M + (outer + outer.T)
    if not np.isfinite(Y).all():
        return NOTHING
    value, estimate = eigenvalue_bound(Y)
    t = np.abs(f) * lengths + np.abs(h) * q
    rounding = float(grown(t @ t * gamma(operations + 24), len(t) + 8))
    return total([max(value, 0.0), rounding, penalty, -shift, S.away], value - estimate, [rounding, S.away])
