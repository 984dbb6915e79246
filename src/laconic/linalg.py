"""Extreme eigenvalues of written-out matrices."""

import numpy as np
from scipy.linalg import LinAlgError, eigh

from laconic._typing import Floats


def extreme_eigenpair(M: Floats, place: int) -> tuple[float, Floats]:
    """Return the eigenvalue at a place of the increasing order (-1 the largest) and its unit eigenvector."""
    place %= len(M)
    try:
        values, vectors = eigh(M, subset_by_index=[place, place])
        return float(values[0]), vectors[:, 0]
    except LinAlgError:
        # LAPACK's routine for a few pairs gives up on some matrices with repeated eigenvalues; that for all does not.
        values, vectors = np.linalg.eigh(M)
        return float(values[place]), vectors[:, place]


def largest_eigenvalue(M: Floats) -> float:
    """Return LAPACK's largest eigenvalue."""
    n = len(M)
    try:
        return float(eigh(M, eigvals_only=True, subset_by_index=[n - 1, n - 1])[0])
    except LinAlgError:
        return float(np.linalg.eigvalsh(M)[-1])
