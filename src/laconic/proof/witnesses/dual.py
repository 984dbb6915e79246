"""The bound of a matrix that S is bent to."""

import math

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import down, eigenvalue_bound, gamma, grown, norm_up, shrunk, sum_up, up
from laconic.covariance.enclosure import Enclosure
from laconic.proof.terms import NOTHING, Proved, array_of, features_of, largest, number, times_up, total
from laconic.proof.witness import DualWitness
from laconic.proof.witnesses.cancelled import Cancelled
from laconic.proof.witnesses.prices import level_costs, norm_costs, row_levels, row_sum


def dual_bound(S: Enclosure, k: int, witness: DualWitness, inside: Indices, *, most: Floats | None = None) -> Proved:
    """Bound x'Sx by x'Mx and what the bending of S to M costs.

    x'Sx = x'Mx - x'Ux - x'Tx + x'Lx + x'Nx, and with s_i = |x_i|, sigma = |x|_1 <= sqrt(k):

    U, T  |x'Ux| <= max |U_ij| sum_{i != j} s_i s_j = max |U_ij| (sigma^2 - 1) <= (k - 1) max |U_ij|.
    L     Row i gives at most c s_i^2 + m s_i (sigma - s_i) = sigma^2 ((c - m) h^2 + m h) with h = s_i / sigma in
          [0, 1]. The largest over h is g_i: at h = m / (2 (m - c)) where that is below one, else at h = 1. So
          x'Lx <= k (the sum of the k largest g_i), and features inside count first.
    N     Row i gives at most c s_i^2 + |q| s_i (1 - s_i^2)^(1/2), a quadratic form in (s_i, (1 - s_i^2)^(1/2)) whose
          larger eigenvalue is g_i. So x'Nx <= the sum of the k largest g_i.

    What the rows of a point that has lost features may hold is given by `most`.
    """
    known = features_of(witness.inside, S.n, "inside of the witness")
    if not np.isin(known, inside).all():
        raise ValueError("The witness takes features for granted (inside) that need not be in a support.")
    if witness.factor is None and witness.directions is not None:
        return _own_factor(S, k, witness)
    if witness.kept is not None:
        point = Cancelled(S, witness, most)
        return point.total([times_up(k, _budget(point.levels, k, known)), _budget(point.norms, k, known)])
    threshold = number(witness.threshold, "threshold")
    if threshold < 0:
        raise ValueError(f"threshold={threshold} must not be negative.")
    bending = (witness.multiplier, witness.levels, witness.norms, witness.factor, witness.kept)
    if threshold == 0 and all(part is None for part in bending):
        value, estimate = S.largest
        return Proved(value, value - estimate)
    M, sizes, costs = S.matrix, 0.0, []
    if witness.multiplier is not None:
        U = array_of(witness.multiplier, (S.n, S.n), "multiplier")
        if U.diagonal().any() or not np.array_equal(U, U.T):
            raise ValueError("The multiplier must be symmetric with a zero diagonal.")
        M, sizes = M + U, sizes + row_sum(M, U)
        costs.append(times_up(k - 1, float(np.abs(U).max())))
    if threshold > 0:
        cut = np.clip(S.matrix, -threshold, threshold)
        np.fill_diagonal(cut, 0.0)
        M, sizes = M - cut, sizes + row_sum(M, cut)
        costs.append(times_up(k - 1, threshold))
    if witness.levels is not None:
        L = array_of(witness.levels, (S.n, S.n), "levels")
        part = 0.5 * (L + L.T)
        M, sizes = M - part, sizes + 2 * row_sum(M, part)
        costs.append(times_up(k, _budget(level_costs(L.diagonal(), row_levels(L)), k, known)))
    if witness.norms is not None:
        N = array_of(witness.norms, (S.n, S.n), "norms")
        part = 0.5 * (N + N.T)
        M, sizes = M - part, sizes + 2 * row_sum(M, part)
        costs.append(_budget(norm_costs(N), k, known))
    # Each sum is rounded once: u of both terms bounds it.
    away = [S.away, grown(sizes * gamma(2), 3) if costs else 0.0]
    if not np.isfinite(M).all():
        return NOTHING
    if witness.factor is None:
        value, estimate = eigenvalue_bound(M)
        return total([value, *costs, *away], value - estimate, away)
    A = array_of(witness.factor, (None, S.n), "factor")
    shift = number(witness.shift, "shift")
    relaxed = _l0(A, k, witness)
    lengths = grown(np.einsum("ij,ij->", A, A), A.size + 1)
    distance = M - A.T @ A
    rounding = [grown(lengths * gamma(len(A) + 4), 3), grown((row_sum(M, distance) + 2 * abs(shift)) * gamma(4), 3)]
    distance[np.diag_indices(S.n)] += shift
    off = norm_up(0.5 * (distance + distance.T))
    return total([relaxed.value, -shift, off, *costs, *away, *rounding], relaxed.margin + off, [*away, *rounding])


def _budget(costs: Floats, k: int, inside: Indices) -> float:
    """Return the most that k features cost, those inside among them."""
    free = np.delete(costs, inside)
    return sum_up([*costs[inside], *largest(free, k - len(inside))])


def _own_factor(S: Enclosure, k: int, witness: DualWitness) -> Proved:
    bent = (witness.multiplier, witness.levels, witness.norms)
    if any(part is not None for part in bent) or witness.threshold != 0 or witness.shift != 0:
        raise ValueError("A witness that bends or shifts the matrix must bring its own factor.")
    if S.factor is None:
        raise ValueError("The witness has no factor, and the covariance is not known by one.")
    return _l0(S.factor, k, witness)


def _l0(A: Floats, k: int, witness: DualWitness) -> Proved:
    """Bound x'A'Ax by the l0 relaxation.

    x'A'Ax <= lmax(sum_{i in T} a_i a_i'), so it is enough that Y_i >= a_i a_i' - rho I for some Y_i >= 0: then the sum
    is below that of all Y_i plus k rho I. For Y_i = c w w' with c >= 0 and rho > 0 this says
    a'(rho I + c ww')^{-1} a <= 1, which is, by Sherman and Morrison, c d >= rho (|a|^2 - rho) with
    d = (w'a)^2 - (|a|^2 - rho) |w|^2. A larger c and a larger |a|^2 in it only add; Y_i = 0 will do where
    |a_i|^2 <= rho. With w = a it is c = 1 - rho / |a|^2, which stands in where d is not positive. For any t
    |w|^2 - (w'a)^2 / |a|^2 <= |w - ta|^2, so d >= rho |w|^2 - |a|^2 |w - ta|^2, where squares that nearly cancel are
    not subtracted; the larger of the two is taken.
    """
    rho = number(witness.rho, "rho")
    if rho < 0:
        raise ValueError(f"rho={rho} must not be negative.")
    q = len(A)
    W = array_of(witness.directions, A.shape, "directions", below=math.inf)
    squares = grown(np.einsum("ij,ij->j", A, A), q + 1)
    active = np.flatnonzero((squares > rho) & A.any(axis=0))
    penalty = times_up(k, rho)
    if not len(active):
        return Proved(penalty, 0.0)
    A, W, squares = A[:, active], W[:, active], squares[active]
    W = np.ldexp(W, -np.frexp(np.abs(W).max(axis=0))[1])  # its length is of no account
    product = np.abs(np.einsum("ij,ij->j", W, A))
    error = grown(np.einsum("ij,ij->j", np.abs(W), np.abs(A)) * gamma(q + 2), q + 3)
    product = np.maximum(down(product - error), 0.0)
    excess = up(squares - rho)
    lengths = grown(np.einsum("ij,ij->j", W, W), q + 1)
    d = down(down(product * product) - up(excess * lengths))
    d = np.maximum(d, _gently(A, W, rho, squares))
    c = up(up(rho * excess) / np.where(d > 0, d, 1.0))
    plain = (d <= 0) | ~(c * lengths < 1e6 * squares)
    W = np.where(plain, A, W)
    c = np.where(plain, up(1.0 - down(rho / squares)), c)
    B = W * np.sqrt(np.maximum(c, 0.0))
    Y = B @ B.T if q <= len(active) else B.T @ B  # the same nonzero eigenvalues
    Y = 0.5 * (Y + Y.T)
    if not np.isfinite(Y).all():
        return NOTHING
    value, estimate = eigenvalue_bound(Y)
    # max(q, n) + 4 roundings; |B||B|' and |B|'|B| have norms of at most the trace.
    trace = grown(np.einsum("ij,ij->", B, B), B.size + 4)
    rounding = grown(trace * gamma(max(q, len(active)) + 10), 3)
    return total([max(value, 0.0), rounding, penalty], value - estimate, [rounding])


def _gently(A: Floats, W: Floats, rho: float, squares: Floats) -> Floats:
    """Return lower bounds on rho |w|^2 - |a|^2 |w - ta|^2 with t near w'a / |a|^2, given upper bounds on |a|^2."""
    q = len(A)
    t = np.einsum("ij,ij->j", W, A) / squares
    rest = W - t * A
    length = grown(np.sqrt(grown(np.einsum("ij,ij->j", rest, rest), q + 1)), 2)
    # The products t a_j are rounded, which the differences do not know.
    length = grown(length + np.abs(t) * np.sqrt(squares) * gamma(2), 4)
    kept = down(rho * shrunk(np.einsum("ij,ij->j", W, W), q + 1))
    return np.asarray(down(kept - grown(squares * (length * length), 3)))
