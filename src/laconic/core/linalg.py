"""Eigenvalues of written-out matrices, small ones on one BLAS thread."""

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr, dsyevr

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


def orthonormal(A: Floats) -> Floats:
    """Return orthonormal columns that span those of A, which has no more of them than rows."""
    with threads_for(len(A)):
        reflectors, lengths, _, _ = dgeqrf(A)
        return np.asarray(dorgqr(reflectors, lengths)[0])


def extreme_eigenpair(M: Floats, place: int) -> tuple[float, Floats]:
    """Return the eigenvalue at a place of the increasing order (-1 the largest) and its unit eigenvector."""
    place %= len(M)
    found = _one_eigenvalue(M, place, vectors=True)
    if found is not None:
        return found[0], found[1][:, 0]
    # LAPACK's routine for a few pairs gives up on some matrices with repeated eigenvalues; that for all does not.
    values, vectors = eigh(M)
    return float(values[place]), vectors[:, place]


def _one_eigenvalue(M: Floats, place: int, *, vectors: bool) -> tuple[float, Floats] | None:
    """Return an eigenvalue, and its vector as a column if asked for, or None if LAPACK gives up.

    Its routine is called directly: what SciPy wraps around it takes longer than a small matrix.
    """
    if not np.isfinite(M).all():
        raise ValueError("M has entries that are NaN or infinite; it has no eigenvalues.")
    with threads_for(len(M)):
        values, columns, count, _, info = dsyevr(M.T, compute_v=vectors, range="I", il=place + 1, iu=place + 1)
    return (float(values[0]), columns) if info == 0 and count == 1 else None


def largest_eigenvalue(M: Floats) -> float:
    """Return LAPACK's largest eigenvalue."""
    found = _one_eigenvalue(M, len(M) - 1, vectors=False)
    return float(eigvalsh(M)[-1]) if found is None else found[0]


def estimated_largest_eigenvalue_bound(M: Floats) -> float:
    """Return the largest eigenvalue of a symmetric matrix, plus a margin for the rounding errors of LAPACK.

    The margin is a multiple of eps |M|, with the Frobenius norm in place of the spectral one. Such an error is what
    LAPACK is expected to keep to, but it is no theorem. `laconic.core.rigor.proved_largest_eigenvalue` is the rigorous
    number.

    Parameters
    ----------
    M
        A symmetric matrix of any scale.
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
    """Return True if a Cholesky factorisation of value I - M shows that lmax(M) <= value.

    The factorisation costs a fraction of an eigenvalue. See `deficit_of` for the rounding errors it allows for.
    """
    A = -M
    A.flat[:: len(A) + 1] += value
    A.flat[:: len(A) + 1] -= (len(A) + 2) * EPS * float(np.abs(A.diagonal()).sum())
    try:
        with threads_for(len(A)):
            np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return False
    return True


def deficit_of(M: Floats) -> float:
    """Return an upper bound on -lmin(M), not below zero: what M lacks to be semidefinite.

    If the Cholesky factorisation of A runs to its end in floating point, lmin(A) >= -c with c a little above
    (n + 1) eps/2 times the trace of A (Rump). So M is first tried with as much added to its diagonal as a semidefinite
    matrix may need; only one that fails is worth an eigenvalue.
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
    """Return max_j |S_ij|, j != i, for each i of S."""
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))
