"""Eigenvalues of symmetric arrays; small ones are computed on one BLAS thread."""

import numpy as np
from scipy.linalg.lapack import dsyevr

from laconic.core.arrays import Floats
from laconic.core.threads import threads_for

EPS = float(np.finfo(float).eps)
# Above this size, Lanczos' method and a Cholesky factorisation take less time than LAPACK's largest eigenvalue.
LANCZOS_ABOVE = 1000
# Restarts of Lanczos' method at most. A matrix that needs more is faster with LAPACK.
LANCZOS_RESTARTS = 60


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


def estimated_largest_eigenvalue_bound(M: Floats) -> float:
    """Return the largest eigenvalue of a symmetric matrix, plus a margin for the rounding errors of LAPACK.

    The margin is a multiple of eps times the Frobenius norm. LAPACK is expected to keep to it, but this is no theorem:
    `laconic.core.eigenvalue_proof` has the rigorous number.
    """
    largest = float(np.abs(M).max(initial=0.0))
    if largest == 0:
        return 0.0
    # The squares in a norm would overflow or vanish without this scaling.
    scaled = M / largest
    bound = _bound_by_lanczos(scaled) if len(M) > LANCZOS_ABOVE else None
    if bound is not None:
        return largest * (bound + EPS * abs(bound))
    return largest_eigenvalue(M) + 16 * EPS * largest * float(np.linalg.norm(scaled))


def _bound_by_lanczos(M: Floats) -> float | None:
    """Return a number a little above the result of Lanczos' method; None if it turns out not to be a bound."""
    from scipy.sparse.linalg import ArpackError, eigsh

    n = len(M)
    start = np.random.default_rng(0).standard_normal(n)
    try:
        with threads_for(n):
            values = eigsh(M, k=1, which="LA", v0=start, tol=1e-8, maxiter=LANCZOS_RESTARTS, return_eigenvectors=False)
    except ArpackError:
        return None
    estimate = float(values[0])
    # Twice the rounding errors that `is_below` allows for.
    bound = estimate + 2 * (n + 2) * EPS * (n * abs(estimate) + float(np.abs(M.diagonal()).sum()))
    return bound if is_below(M, bound) else None


def is_below(M: Floats, value: float) -> bool:
    """Say if a Cholesky factorisation of value I - M shows that lmax(M) <= value; see `semidefinite_shift_of`."""
    A = -M
    A.flat[:: len(A) + 1] += value
    A.flat[:: len(A) + 1] -= (len(A) + 2) * EPS * float(np.abs(A.diagonal()).sum())
    try:
        with threads_for(len(A)):
            np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return False
    return True


def semidefinite_shift_of(M: Floats) -> float:
    """Return d >= 0, little more than needed, such that M + d I is semidefinite.

    If the Cholesky factorisation of A ends without an error, lmin(A) >= -c, c a little above (n + 1) eps/2 times the
    trace of A (Rump). M is first tried with a shift that is enough for a matrix that is semidefinite up to rounding.
    Only if that fails is the smallest eigenvalue computed.
    """
    n = len(M)
    largest = float(np.abs(M).max(initial=0.0))
    if largest == 0:
        return 0.0
    A = M / largest
    share = (n + 2) * EPS
    shift = 4 * share * float(np.abs(A.diagonal()).sum())
    A.flat[:: n + 1] += shift
    try:
        with threads_for(n):
            np.linalg.cholesky(A)
        return largest * (shift + share * float(A.diagonal().sum()))
    except np.linalg.LinAlgError:
        smallest = extreme_eigenpair(A, 0)[0] - shift
        return largest * max(0.0, 16 * EPS * float(np.linalg.norm(A)) - smallest)


def largest_off_diagonal(S: Floats) -> Floats:
    """Return max_j |S_ij|, j != i, for each row i."""
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))
