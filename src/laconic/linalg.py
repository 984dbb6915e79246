"""Eigenvalues of written-out matrices, small ones on one BLAS thread."""

import numpy as np
from scipy import linalg as lapack

from laconic._typing import Floats
from laconic.threads import threads_for


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
    """Return the eigenvalue at a place of the increasing order (-1 the largest) and its unit eigenvector."""
    place %= len(M)
    try:
        with threads_for(len(M)):
            values, vectors = lapack.eigh(M, subset_by_index=[place, place])
        return float(values[0]), vectors[:, 0]
    except lapack.LinAlgError:
        # LAPACK's routine for a few pairs gives up on some matrices with repeated eigenvalues; that for all does not.
        values, vectors = eigh(M)
        return float(values[place]), vectors[:, place]


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
    n = len(M)
    try:
        with threads_for(n):
            return float(lapack.eigh(M, eigvals_only=True, subset_by_index=[n - 1, n - 1])[0])
    except lapack.LinAlgError:
        return float(eigvalsh(M)[-1])
