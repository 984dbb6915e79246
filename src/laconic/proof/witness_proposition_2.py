"""The bound of Proposition 2 of the paper, from the matrix, or from its factor if that is smaller."""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import proved_largest_eigenvalue
from laconic.core.rounding import down, gamma, grown, up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_BOUND,
    Proved,
    Witness,
    checked_array,
    checked_features,
    checked_number,
    times_up,
    total,
)
from laconic.proof.witness_dual import l0_bound


@dataclass(frozen=True, eq=False)
class Proposition2Witness(Witness):
    """A component z and a penalty rho, which give the directions of Proposition 2.

    Let M = S + d I = A'A for some A and d >= 0, x = Az, p_i = a_i'x and v = x'x. The bound is that of the l0 relaxation
    (`DualWitness`) for

        w_i = p_i a_i - rho x  if p_i^2 > rho,    w_i = a_i - p_i x  otherwise,

    less d. If S is known by a factor with fewer rows than columns, the directions are formed from it: the l0 relaxation
    holds for any directions, rounded or not. Otherwise A is not needed. With w_i = f_i a_i - h_i x and p = Mz

        w_i'w_j = f_i f_j M_ij - f_i p_i h_j - h_i f_j p_j + h_i h_j v
        d_i     = (w_i'a_i)^2 - (M_ii - rho) |w_i|^2 = rho |w_i|^2 - h_i^2 (M_ii v - p_i^2)

    and with Y_i = c_i w_i w_i' the largest eigenvalue of sum_i Y_i is that of the matrix (c_i c_j)^(1/2) w_i'w_j. The
    bound holds for any f_i and h_i. If d_i is not positive, f_i = 1 and h_i = 0 are used, with c_i = 1 - rho / M_ii.

    Rounding: let r_i >= |a_i| and q = sum_j |z_j| r_j >= |x|, m the number of terms in Az. As |M_ij| <= r_i r_j, the
    error of p_i is at most gamma_{m+3} r_i q and that of v at most gamma_{2m+6} q^2. With some 12 roundings more, the
    error of w_i'w_j is at most gamma_{2m+24} t_i t_j, t_i = |f_i| r_i + |h_i| q. The matrix of these errors has a norm
    of at most gamma |t|^2. The error of d_i is at most gamma_{2m+32} (rho t_i^2 + 2 h_i^2 r_i^2 q^2).
    """

    features: Indices  # the nonzero entries of z
    weights: Floats  # their values. The bound is best if z'Sz is about one.
    rho: float

    def bound(self, S: Covariance, k: int, _inside: Indices) -> Proved:
        rho = checked_number(self.rho, "rho")
        if rho < 0:
            raise ValueError(f"rho={rho} must not be negative.")
        features = checked_features(self.features, S.n_features, "features")
        z = checked_array(self.weights, (len(features),), "weights")
        A = S.factor if S.factor is not None else S.rows_as_factor(np.arange(S.n_features))
        if A is not None and (len(A) < S.n_features or S.n_features > WRITE_OUT_LIMIT):
            value, margin = l0_bound(A, _directions(A, A[:, features] @ z, rho), rho, k)
            return total([value, S.factor_error], margin, [S.factor_error])
        penalty, shift, operations = times_up(k, rho), S.matrix_shift, 2 * len(z)
        M = S.matrix
        if shift:
            M = M.copy()
            M.flat[:: S.n_features + 1] += shift
        squares = up(M.diagonal())
        active = np.flatnonzero(squares > rho)
        if not len(active):
            return total([penalty, -shift, S.away], 0.0, [S.away])
        lengths = grown(np.sqrt(np.maximum(squares, 0.0)), 1)
        q = float(grown(np.abs(z) @ lengths[features], len(z) + 1))
        p = M[:, features] @ z
        v = float(z @ p[features])
        if len(active) < S.n_features:
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
            return NO_BOUND
        value, estimate = proved_largest_eigenvalue(Y)
        t = np.abs(f) * lengths + np.abs(h) * q
        rounding = float(grown(t @ t * gamma(operations + 24), len(t) + 8))
        return total([max(value, 0.0), rounding, penalty, -shift, S.away], value - estimate, [rounding, S.away])

    def kinds(self) -> tuple[str, ...]:
        return ("Proposition 2",)


def _directions(A: Floats, x: Floats, rho: float) -> Floats:
    """Return w_i = f_i a_i - h_i x, one column for each feature."""
    p = x @ A
    inside = p * p > rho
    return np.asarray(np.where(inside, p, 1.0) * A - np.outer(x, np.where(inside, rho, p)))
