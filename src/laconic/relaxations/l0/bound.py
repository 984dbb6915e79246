"""The l0 bound in closed form, for any factor, any directions and any penalty, with its margin for rounding.

See `laconic.relaxations.l0.relaxation` for the mathematics.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.linalg import EPS, eigh, largest_eigenvalue

# Eigenvalues of S below this share of the largest are left out of the factor. The error of the factor accounts for
# them, and the share is small enough for that error to be invisible.
NUMERICAL_RANK = 1e-12


def dual_weights(A: Floats, W: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return c_i and the unit directions w_i, such that Y_i = c_i w_i w_i' is feasible in spite of rounding.

    A and W are q x n. With |w| = 1 and r = w - (w'a/|a|^2) a the denominator is d = rho - |a|^2 |r|^2. It is computed
    in this form because it is much smaller than the squares in (w'a)^2 - |a|^2 + rho; a rounded multiple of `a` makes
    it smaller, never larger. c_i is infinite where d is not positive beyond rounding.
    """
    q = len(A)
    # Errors of sums of q terms, relative to the sum of absolute values.
    gamma = (q + 8) * EPS
    norms = np.einsum("ij,ij->j", A, A) * (1 + gamma)
    peaks = np.abs(W).max(axis=0, initial=0.0)
    W = W / np.where(peaks > 0, peaks, 1.0)
    lengths = np.sqrt(np.einsum("ij,ij->j", W, W))
    W /= np.where(lengths > 0, lengths, 1.0)
    above = norms > rho
    c = np.zeros(A.shape[1])
    if above.any():
        a, w, s = A[:, above], W[:, above], norms[above]
        rest = w - (np.einsum("ij,ij->j", a, w) / s) * a
        length = np.sqrt(np.einsum("ij,ij->j", rest, rest)) * (1 + gamma) + 4 * EPS
        with np.errstate(divide="ignore", over="ignore"):
            # d / rho; |w|^2 is one up to gamma.
            share = 1.0 - (s / rho) * length**2 * (1 + 4 * EPS) - 2 * gamma if rho > 0 else np.full(len(s), -np.inf)
            c[above] = np.where(share > 0, (s - rho) * (1 + 4 * EPS) / np.where(share > 0, share, 1.0), np.inf)
    return c, W


def feasible_directions(A: Floats, W: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return c_i and unit directions as `dual_weights` does, with w_i = a_i where rounding leaves no d_i > 0.

    That direction is always feasible for rho > 0: d_i = rho |a_i|^2.
    """
    c, unit = dual_weights(A, W, rho)
    lost = ~np.isfinite(c)
    if lost.any():
        c[lost], unit[:, lost] = dual_weights(A[:, lost], A[:, lost], rho)
    return c, unit


def above_sum(c: Floats, W: Floats) -> float:
    """Return an upper bound on lmax(sum_i c_i w_i w_i') for c >= 0 and unit w_i, with a margin for rounding."""
    if not np.isfinite(c).all():
        return float(np.inf)
    some = c > 0
    V = W[:, some] * np.sqrt(c[some])
    if V.size == 0:
        return 0.0
    M = V @ V.T if V.shape[0] <= V.shape[1] else V.T @ V
    # The product and the eigenvalue are rounded. Both errors are below a multiple of the trace, because M >= 0.
    return largest_eigenvalue(M) + (sum(V.shape) + 24) * EPS * float(M.trace())


def l0_bound(A: Floats, W: Floats, rho: float, cardinality: float) -> float:
    """Return lmax(sum_i c_i w_i w_i') + rho k, an upper bound on z'A'Az over unit z with at most k nonzeros.

    It holds for every rho >= 0 and every W. It is infinite if some w_i has d_i <= 0.
    """
    if A.shape[1] == 0:
        return 0.0
    return above_sum(*dual_weights(A, W, rho)) + rho * cardinality * (1 + EPS)


def total_bound(largest: float, price: float, error: float, shift: float) -> float:
    """Return lmax(sum_i c_i w_i w_i') + rho k + the error of the factor - shift, rounded up."""
    return largest + price + error - shift + 4 * EPS * (largest + price + error + abs(shift))


@dataclass(frozen=True, eq=False)
class FactoredMatrix:
    """S + shift I = A'A, up to an error."""

    A: Floats  # in units of the square root of S
    shift: float  # minus the smallest eigenvalue of S if S is indefinite beyond rounding, else zero
    error: float  # an upper bound on lmax(S + shift I - A'A)

    @classmethod
    def of(cls, S: Floats) -> "FactoredMatrix":
        """Factor a symmetric matrix, which may be indefinite, by its eigendecomposition."""
        values, vectors = eigh(S)
        top = max(float(values[-1]), 0.0)
        indefinite = values[0] < -NUMERICAL_RANK * max(top, -float(values[0]))
        shift = -float(values[0]) if indefinite else 0.0
        values = values + shift
        keep = values > NUMERICAL_RANK * max(float(values[-1]), 0.0)
        keep[-1] = True  # the factor of zero is a row of zeros
        A = np.ascontiguousarray((vectors[:, keep] * np.sqrt(values[keep])).T)
        rest = S - A.T @ A
        rest[np.diag_indices(len(S))] += shift
        rounding = (len(A) + 4) * EPS * float(np.einsum("ij,ij->", A, A)) + 4 * EPS * abs(shift)
        return cls(A, shift, float(np.linalg.norm(rest)) * (1 + len(S) * EPS) + rounding)
