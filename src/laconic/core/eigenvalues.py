"""Eigenvalues of symmetric arrays: computed by LAPACK, and upper bounds that hold for real numbers.

Small problems are computed on one BLAS thread.

LAPACK gives an estimate of the largest eigenvalue, and tau is a little above it. Let R be a Cholesky factor of
tau I - M, computed by any means, and D = tau I - M - R'R. Then lmax(M) <= tau + |D|, and |D| is at most the norm of
the computed D plus

    sum_j gamma_j |r_j|^2  for the rounding of R'R  (r_j is column j of R, with j entries),
    u (tau - M_jj)         for the rounding of tau - M_jj.

The first term is the a-priori bound for the Cholesky factorisation itself (Rump, Verification of positive
definiteness, BIT 2006: |D_ij| <= d_i d_j with d_j^2 = gamma_{j+1} |r_j|^2, hence |D| <= sum d_j^2). Here it bounds the
product R'R, so it does not depend on how the factor was computed. If tau I - M has no factor, tau is raised, at most
to the largest M_ii + sum_j |M_ij| (Gershgorin), which always holds.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dsyevr
from scipy.sparse.linalg import ArpackError, eigsh

from laconic.core.arrays import Floats
from laconic.core.monitor import threads_for
from laconic.core.rounding import TINY, UNIT, gamma, grown, scaled_up, sum_up, up

EPS = float(np.finfo(float).eps)
# Above this size, Lanczos' method and a Cholesky factorisation take less time than LAPACK's largest eigenvalue.
LANCZOS_ABOVE = 1000


def eigh(M: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues, increasing, and eigenvectors of a symmetric matrix, or of each of a stack."""
    with threads_for(M.shape[-1]):
        values, vectors = np.linalg.eigh(M)
    return values, vectors


def eigvalsh(M: Floats) -> Floats:
    """Return the eigenvalues, increasing, of a symmetric matrix, or of each of a stack."""
    with threads_for(M.shape[-1]):
        return np.asarray(np.linalg.eigvalsh(M), dtype=np.float64)


def extreme_eigenpair(M: Floats, place: int) -> tuple[float, Floats]:
    """Return one eigenvalue, by its place in increasing order (-1 is the largest), and its unit eigenvector."""
    place %= len(M)
    found = _one_eigenvalue(M, place, vectors=True)
    if found is not None:
        return found[0], found[1][:, 0]
    # The LAPACK routine for a few pairs fails on some matrices with repeated eigenvalues. The one for all does not.
    values, vectors = eigh(M)
    return float(values[place]), vectors[:, place]


def _one_eigenvalue(M: Floats, place: int, *, vectors: bool) -> tuple[float, Floats] | None:
    """Return an eigenvalue, and its vector as a column if asked for, or None if LAPACK fails."""
    if not np.isfinite(M).all():
        raise ValueError("M has entries that are NaN or infinite; it has no eigenvalues.")
    with threads_for(len(M)):
        # The wrapper of SciPy would take longer than a small matrix does.
        values, columns, count, _, info = dsyevr(M.T, compute_v=vectors, range="I", il=place + 1, iu=place + 1)
    return (float(values[0]), columns) if info == 0 and count == 1 else None


def largest_eigenvalue(M: Floats) -> float:
    """Return the largest eigenvalue of a symmetric matrix, as LAPACK computes it."""
    found = _one_eigenvalue(M, len(M) - 1, vectors=False)
    return float(eigvalsh(M)[-1]) if found is None else found[0]


# Restarts after which Lanczos' method gives up. A bound that was minimised has its largest eigenvalues close together,
# and there LAPACK is faster.
RESTARTS = 20
# The first estimate for a stack comes from so many matrices.
FIRST_OF_STACK = 16


class ProvedEigenvalue(NamedTuple):
    """An upper bound on the largest eigenvalue, and the estimate of it in plain floating point."""

    value: float
    estimate: float


def proved_largest_eigenvalue(M: Floats) -> ProvedEigenvalue:
    """Return an upper bound on the largest eigenvalue of a symmetric matrix, and its estimate.

    The matrix is scaled by a power of two, which is exact, so its entries may be huge or tiny.
    """
    M = np.asarray(M, dtype=np.float64)
    _check_symmetric(M)
    largest = float(np.abs(M).max())
    if largest == 0.0:
        return ProvedEigenvalue(0.0, 0.0)
    exponent = math.frexp(largest)[1]
    with threads_for(len(M)):
        value, estimate = _scaled_bound(np.ldexp(M, -exponent))
    return ProvedEigenvalue(scaled_up(value, exponent), scaled_up(estimate, exponent))


def proved_semidefinite_shift(M: Floats) -> float:
    """Return a number d >= 0 with M + d I semidefinite.

    It is a bound on the largest eigenvalue of -M. A matrix that is semidefinite up to rounding needs no estimate: a
    shift of the size of rounding has a factor.
    """
    _check_symmetric(M)
    n, largest = len(M), float(np.abs(M).max())
    if largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1]
    scaled = np.ldexp(M, -exponent) * -1.0
    with threads_for(n):
        for tau in (-2 * n * (n + 4) * UNIT, 4 * n * UNIT, 64 * n * UNIT):
            factor = _factor(scaled, tau)
            if factor is not None:
                return max(scaled_up(sum_up([tau, _residual(scaled, tau, factor)]), exponent), 0.0)
    return max(proved_largest_eigenvalue(-M).value, 0.0)


def _check_symmetric(M: Floats) -> None:
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size:
        raise ValueError(f"M has shape {M.shape}; only a square matrix has eigenvalues.")
    if not np.isfinite(M).all():
        raise ValueError("M has entries that are NaN or infinite; no bound can be proved for it.")
    if not (M == M.T).all():
        raise ValueError("M is not symmetric; average it with its transpose.")


def _scaled_bound(M: Floats) -> tuple[float, float]:
    """Bound the largest eigenvalue of a matrix with entries in [-1, 1].

    Rows whose entries off the diagonal are only rounding are treated as diagonal. The norm of those entries is added.
    """
    n = len(M)
    diagonal = M.diagonal()
    off = np.abs(M)
    off.flat[:: n + 1] = 0.0
    rows = off.sum(axis=1)
    always = float(up(diagonal + grown(rows, n)).max())
    if n == 1:
        return float(diagonal[0]), float(diagonal[0])
    apart = rows <= 16 * n * UNIT
    if apart.any():
        if apart.all():
            return always, float(diagonal.max())
        rest = ~apart
        value, estimate = _scaled_bound(M[np.ix_(rest, rest)])
        alone = float(diagonal[apart].max())
        # The norm of the dropped entries is at most their largest row sum.
        distance = max(rows[apart].max(), off[np.ix_(rest, apart)].sum(axis=1).max())
        return min(sum_up([max(value, alone), float(grown(distance, n))]), always), max(estimate, alone)
    for guess in [largest_eigenvalue] if n <= LANCZOS_ABOVE else [_accurate_lanczos, largest_eigenvalue]:
        estimate = guess(M)
        margin = 4 * n * UNIT * max(abs(estimate), 1.0)
        last = margin * 8 if guess is _accurate_lanczos else math.inf
        while estimate + margin < always and margin <= last:
            top = estimate + margin
            factor = _factor(M, top)
            if factor is not None:
                return min(sum_up([top, _residual(M, top, factor)]), always), estimate
            margin *= 2
    return always, min(estimate, always)


def _accurate_lanczos(M: Floats) -> float:
    """Return the largest eigenvalue by Lanczos' method, or as LAPACK computes it if that does not converge."""
    start = np.random.default_rng(0).standard_normal(len(M))
    try:
        return float(eigsh(M, k=1, which="LA", v0=start, tol=1e-13, maxiter=RESTARTS, return_eigenvectors=False)[0])
    except ArpackError:
        return largest_eigenvalue(M)


def _shifted(M: Floats, top: float) -> Floats:
    """Return top I - M for a matrix or a stack."""
    result = -M
    np.einsum("...ii->...i", result)[...] += top  # a view
    return result


def _factor(M: Floats, top: float) -> Floats | None:
    """Return the Cholesky factor R' of top I - M, or of each of a stack; None if there is none."""
    try:
        return np.asarray(np.linalg.cholesky(_shifted(M, top)), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def _residual(M: Floats, top: float, factor: Floats) -> float:
    """Bound the spectral norm of top I - M - R'R, M with entries in [-1, 1], or the largest of a stack."""
    n = M.shape[-1]
    lengths = grown(np.einsum("...ij,...ij->...i", factor, factor), n + 1)
    product = float(grown((lengths @ (gamma(1) * np.arange(2, n + 2))).max(), n + 2))
    distance = _shifted(M, top) - factor @ factor.swapaxes(-1, -2)
    # The norm is at most the root of the sum of squares; the last subtraction rounds each entry once.
    square = float(np.einsum("...ij,...ij->...", distance, distance).max())
    root = float(grown(math.sqrt(grown(square, n * n + 1)), 1))
    return sum_up([root * (1 + 8 * UNIT), product, 2 * UNIT * (abs(top) + 1), TINY])


def proved_largest_of_stack(stack: Floats) -> ProvedEigenvalue:
    """Return an upper bound on the eigenvalues of all matrices of a stack, and its estimate.

    One tau serves all matrices. It starts at the largest eigenvalue of those with the largest Frobenius norms, and is
    raised until each tau I - M has a factor. A matrix whose norm is below the estimate needs no factor.
    """
    n = stack.shape[-1]
    largest = float(np.abs(stack).max())
    if largest == 0.0:
        return ProvedEigenvalue(0.0, 0.0)
    if not math.isfinite(largest):
        return ProvedEigenvalue(math.inf, math.inf)
    exponent = math.frexp(largest)[1]
    scaled = np.ldexp(stack, -exponent)
    with threads_for(n):
        norms = grown(np.sqrt(grown(np.einsum("bij,bij->b", scaled, scaled), n * n + 1)), 1)
        first = np.argsort(-norms)[:FIRST_OF_STACK]
        estimate = float(np.linalg.eigvalsh(scaled[first])[:, -1].max())
        left = ~(norms <= estimate)
        left[first[0]] = True
        scaled, factors = scaled[left], None
        margin = 4 * n * UNIT * max(abs(estimate), 1.0)
        while factors is None:
            top = estimate + margin
            factors = _factor(scaled, top)
            if factors is None:
                larger = max(estimate, float(np.linalg.eigvalsh(scaled)[:, -1].max()))
                margin = 2 * margin if larger == estimate else 4 * n * UNIT * max(abs(larger), 1.0)
                estimate = larger
        value = sum_up([top, _residual(scaled, top, factors)])
    return ProvedEigenvalue(scaled_up(value, exponent), scaled_up(estimate, exponent))


def proved_largest_by_rows(A: Floats, H: Floats | None = None, X: Any = 0.0, error: float = 0.0) -> ProvedEigenvalue:
    """Return an upper bound on lmax(AA' - HXH') for a symmetric X, and its estimate; without H, on lmax(AA').

    AA' has the same largest eigenvalue as A'A, and is smaller if A has fewer rows than columns. `error` bounds the
    Frobenius norm of the error of H. With n columns of A and r of H, the rounding of AA' is at most gamma_n |A|_F^2,
    and that of HXH' at most gamma_2r |H|_F^2 |X|_F.
    """
    H, X = (np.zeros((len(A), 0)), np.zeros((0, 0))) if H is None else (H, X)
    M = A @ A.T - H @ X @ H.T
    count = max(A.shape[1], 2 * len(X)) + 12
    of_rows, square, of_core = (float(grown(np.einsum("ij,ij->", B, B), B.size + 1)) for B in (A, H, X))
    size = float(grown(math.sqrt(of_core), 1))
    rounding = grown((of_rows + square * size) * gamma(count), 6)
    moved = grown(size * error * (2 * math.sqrt(square) + error), 8)
    value, estimate = proved_largest_eigenvalue(0.5 * (M + M.T))
    return ProvedEigenvalue(sum_up([value, rounding, moved]), estimate)
