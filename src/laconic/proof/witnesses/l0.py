"""The bound of the l0 relaxation, from a factor of the matrix."""

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.eigenvalue_proof import proved_largest_eigenvalue
from laconic.core.rounding import down, gamma, grown, shrunk, up
from laconic.proof.terms import NO_BOUND, Proved, times_up, total


def l0_bound(A: Floats, W: Floats, rho: float, k: int) -> Proved:
    """Bound x'A'Ax by the l0 relaxation, for any directions and any penalty.

    x'A'Ax <= lmax(sum_{i in T} a_i a_i'), so it is enough that Y_i >= a_i a_i' - rho I for some Y_i >= 0: then the sum
    is below that of all Y_i plus k rho I. For Y_i = c w w' with c >= 0 and rho > 0 this says
    a'(rho I + c ww')^{-1} a <= 1, which is, by Sherman and Morrison, c d >= rho (|a|^2 - rho) with
    d = (w'a)^2 - (|a|^2 - rho) |w|^2. A larger c and a larger |a|^2 in it only raise the bound. Y_i = 0 is enough if
    |a_i|^2 <= rho. If d is not positive, w = a is used instead, with c = 1 - rho / |a|^2. For any t
    |w|^2 - (w'a)^2 / |a|^2 <= |w - ta|^2, so d >= rho |w|^2 - |a|^2 |w - ta|^2, in which no squares nearly cancel. The
    larger of the two values of d is used.
    """
    if rho < 0:
        raise ValueError(f"rho={rho} must not be negative.")
    q = len(A)
    squares = grown(np.einsum("ij,ij->j", A, A), q + 1)
    active = np.flatnonzero((squares > rho) & A.any(axis=0))
    penalty = times_up(k, rho)
    if not len(active):
        return Proved(penalty, 0.0)
    A, W, squares = A[:, active], W[:, active], squares[active]
    W = np.ldexp(W, -np.frexp(np.abs(W).max(axis=0))[1])  # only its direction matters
    product = np.abs(np.einsum("ij,ij->j", W, A))
    error = grown(np.einsum("ij,ij->j", np.abs(W), np.abs(A)) * gamma(q + 2), q + 3)
    product = np.maximum(down(product - error), 0.0)
    excess = up(squares - rho)
    lengths = grown(np.einsum("ij,ij->j", W, W), q + 1)
    d = down(down(product * product) - up(excess * lengths))
    d = np.maximum(d, _without_cancellation(A, W, rho, squares))
    c = up(up(rho * excess) / np.where(d > 0, d, 1.0))
    plain = (d <= 0) | ~(c * lengths < 1e6 * squares)
    W = np.where(plain, A, W)
    c = np.where(plain, up(1.0 - down(rho / squares)), c)
    B = W * np.sqrt(np.maximum(c, 0.0))
    Y = B @ B.T if q <= len(active) else B.T @ B  # the same nonzero eigenvalues
    Y = 0.5 * (Y + Y.T)
    if not np.isfinite(Y).all():
        return NO_BOUND
    value, estimate = proved_largest_eigenvalue(Y)
    # max(q, n) + 4 roundings; |B||B|' and |B|'|B| have norms of at most the trace.
    trace = grown(np.einsum("ij,ij->", B, B), B.size + 4)
    rounding = grown(trace * gamma(max(q, len(active)) + 10), 3)
    return total([max(value, 0.0), rounding, penalty], value - estimate, [rounding])


def _without_cancellation(A: Floats, W: Floats, rho: float, squares: Floats) -> Floats:
    """Return lower bounds on rho |w|^2 - |a|^2 |w - ta|^2 with t near w'a / |a|^2, given upper bounds on |a|^2."""
    q = len(A)
    t = np.einsum("ij,ij->j", W, A) / squares
    rest = W - t * A
    length = grown(np.sqrt(grown(np.einsum("ij,ij->j", rest, rest), q + 1)), 2)
    # The products t a_j are rounded as well.
    length = grown(length + np.abs(t) * np.sqrt(squares) * gamma(2), 4)
    kept = down(rho * shrunk(np.einsum("ij,ij->j", W, W), q + 1))
    return np.asarray(down(kept - grown(squares * (length * length), 3)))
