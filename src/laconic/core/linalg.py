"""Eigenvalues of written-out matrices, small ones on one BLAS thread."""

import numpy as np
from scipy import linalg as lapack
from scipy.linalg.lapack import dgeqrf, dorgqr, dsyevr

from laconic.core.arrays import Floats
from laconic.core.threads import threads_for

EPS = float(np.finfo(float).eps)


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


def eigenpairs_above(M: Floats, value: float) -> tuple[Floats, Floats]:
    """Return the eigenvalues above a value, increasing, and their unit eigenvectors."""
    try:
        with threads_for(len(M)):
            values, vectors = lapack.eigh(M, subset_by_value=[value, np.inf])
        return values, vectors
    except lapack.LinAlgError:
        values, vectors = eigh(M)
        return values[values > value], vectors[:, values > value]


def largest_eigenvalue(M: Floats) -> float:
    """Return LAPACK's largest eigenvalue."""
    found = _one_eigenvalue(M, len(M) - 1, vectors=False)
    return float(eigvalsh(M)[-1]) if found is None else found[0]


def is_below(M: Floats, value: float) -> bool:
    """Whether a Cholesky factorisation shows that lmax(M) <= value; it is a fraction of the work of an eigenvalue."""
    A = -M
    A.flat[:: len(A) + 1] += value
    # See `deficit_of`: what rounding may hide.
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
