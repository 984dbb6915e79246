"""The closed-form l0 bound of any factor, any directions and any penalty, with its margin for rounding.

See `laconic.relaxations.l0` for the mathematics.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.linalg import eigh, largest_eigenvalue
from laconic.core.threads import threads_for

EPS = float(np.finfo(float).eps)
# Eigenvalues of S below this share of the largest are left out of the factor, and paid for.
NUMERICAL_RANK = 1e-12


def dual_weights(A: Floats, W: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return c_i and the unit directions w_i, such that Y_i = c_i w_i w_i' is feasible whatever was rounded.

    With |w| = 1 and r = w - (w'a/|a|^2) a the denominator is d = rho - |a|^2 |r|^2, which is computed so: it is much
    smaller than the squares in (w'a)^2 - |a|^2 + rho, and another multiple of `a` than the right one makes it smaller,
    never larger. c_i is infinite where d is not positive beyond rounding.

    Parameters
    ----------
    A
        The factor, q x n.
    W
        The directions, q x n.
    rho
        The penalty.
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
            # d / rho, |w|^2 being one up to gamma.
            share = 1.0 - (s / rho) * length**2 * (1 + 4 * EPS) - 2 * gamma if rho > 0 else np.full(len(s), -np.inf)
            c[above] = np.where(share > 0, (s - rho) * (1 + 4 * EPS) / np.where(share > 0, share, 1.0), np.inf)
    return c, W


def feasible_directions(A: Floats, W: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return c_i and unit directions as `dual_weights` does, with w_i = a_i where rounding leaves no d_i > 0.

    That direction is always feasible: d_i = rho |a_i|^2.

    Parameters
    ----------
    A
        The factor, q x n.
    W
        The directions, q x n.
    rho
        The penalty, above zero.
    """
    c, unit = dual_weights(A, W, rho)
    lost = ~np.isfinite(c)
    if lost.any():
        c[lost], unit[:, lost] = dual_weights(A[:, lost], A[:, lost], rho)
    return c, unit


def above_sum(c: Floats, W: Floats) -> float:
    """Return an upper bound on lmax(sum_i c_i w_i w_i'), the margin for rounding included.

    Parameters
    ----------
    c
        The weights, not negative.
    W
        Unit directions, q x n.
    """
    if not np.isfinite(c).all():
        return float(np.inf)
    some = c > 0
    V = W[:, some] * np.sqrt(c[some])
    if V.size == 0:
        return 0.0
    M = V @ V.T if V.shape[0] <= V.shape[1] else V.T @ V
    # Rounding of the product and of the eigenvalues: both below a multiple of the trace, as M >= 0.
    return largest_eigenvalue(M) + (sum(V.shape) + 24) * EPS * float(M.trace())


def l0_bound(A: Floats, W: Floats, rho: float, cardinality: float) -> float:
    """Return lmax(sum_i c_i w_i w_i') + rho k, an upper bound on z'A'Az over unit z with at most k nonzeros.

    It holds for every rho >= 0 and every W; it is infinite where some w_i does not satisfy d_i > 0.

    Parameters
    ----------
    A
        The factor, q x n.
    W
        The directions w_i, a column for each feature.
    rho
        The penalty.
    cardinality
        k; zero leaves out the second term, for the penalised form.
    """
    if A.shape[1] == 0:
        return 0.0
    return above_sum(*dual_weights(A, W, rho)) + rho * cardinality * (1 + EPS)


def total_bound(largest: float, price: float, error: float, shift: float) -> float:
    """Return largest + price + error - shift, rounded up.

    Parameters
    ----------
    largest
        An upper bound on lmax(sum_i c_i w_i w_i').
    price
        rho k.
    error
        An upper bound on lmax(S + shift I - A'A).
    shift
        The shift.
    """
    return largest + price + error - shift + 4 * EPS * (largest + price + error + abs(shift))


@dataclass(frozen=True, eq=False)
class Factored:
    """S + shift I = A'A, up to an error.

    Attributes
    ----------
    A
        The factor, in the units of the square root of S.
    shift
        Minus the least eigenvalue of S if S is indefinite beyond rounding or it was asked for, else zero.
    error
        An upper bound on lmax(S + shift I - A'A).
    """

    A: Floats
    shift: float = 0.0
    error: float = 0.0

    @classmethod
    def of(cls, S: Floats, *, singular: bool = False) -> "Factored":
        """Factor a symmetric matrix.

        Parameters
        ----------
        S
            The matrix.
        singular
            Whether to take its least eigenvalue off a positive definite matrix as well.
        """
        values, vectors = eigh(S)
        top = max(float(values[-1]), 0.0)
        indefinite = values[0] < -NUMERICAL_RANK * max(top, -float(values[0]))
        shift = -float(values[0]) if indefinite or singular else 0.0
        values = values + shift
        keep = values > NUMERICAL_RANK * max(float(values[-1]), 0.0)
        keep[-1] = True  # the factor of zero is a row of zeros
        A = np.ascontiguousarray((vectors[:, keep] * np.sqrt(values[keep])).T)
        return cls(A, shift, _distance(S, A, shift))

    @classmethod
    def quickly(cls, S: Floats) -> "Factored":
        """Factor a symmetric matrix by Cholesky's method, with a shift of the size of rounding, if that will do.

        Parameters
        ----------
        S
            The matrix.
        """
        n = len(S)
        shift = 8 * (n + 2) * EPS * float(np.abs(S.diagonal()).sum())
        A = S.copy()
        A.flat[:: n + 1] += shift
        try:
            with threads_for(n):
                A = np.ascontiguousarray(np.linalg.cholesky(A).T)
        except np.linalg.LinAlgError:
            return cls.of(S)
        return cls(A, shift, _distance(S, A, shift))


def _distance(S: Floats, A: Floats, shift: float) -> float:
    """Return an upper bound on |S + shift I - A'A|."""
    n = len(S)
    rest = S - A.T @ A
    rest[np.diag_indices(n)] += shift
    rounding = (len(A) + 4) * EPS * float(np.einsum("ij,ij->", A, A)) + 4 * EPS * abs(shift)
    # Scaled, as squares of small numbers may vanish.
    peak = float(np.abs(rest).max(initial=0.0))
    length = peak * float(np.linalg.norm(rest / peak)) if peak > 0 else 0.0
    return length * (1 + n * EPS) + rounding


def in_units(covariance: Floats | Factored, *, singular: bool = False, quickly: bool = False) -> tuple[Factored, float]:
    """Return a factor of entries of at most about one, and the power of two it was divided by: scaling is exact.

    Parameters
    ----------
    covariance
        A symmetric matrix, or its factor.
    singular
        Whether to take the least eigenvalue off a matrix.
    quickly
        Whether to factor a matrix by Cholesky's method.
    """
    if isinstance(covariance, Factored):
        size = float(np.abs(covariance.A).max(initial=0.0))
        root = 2.0 ** int(np.frexp(size)[1]) if size > 0 else 1.0
        return Factored(covariance.A / root, covariance.shift / root / root, covariance.error / root / root), root
    size = float(np.abs(covariance).max(initial=0.0))
    root = 2.0 ** (int(np.frexp(size)[1]) // 2) if size > 0 else 1.0
    scaled = covariance / root / root
    return Factored.quickly(scaled) if quickly else Factored.of(scaled, singular=singular), root
