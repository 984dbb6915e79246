"""Symmetric matrices that are not positive semidefinite, and so are no covariances.

Pairwise deletion, rank correlations, polychoric correlations, correlations with few digits and differences of two
covariances give such matrices. The problem max z'Sz makes sense for them, and so do the bounds. Only words such as
"share of the variance" do not. A negative eigenvalue of the size of rounding is no matter, and is never mentioned.
"""

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.eigenvalues import eigvalsh
from laconic.core.monitor import threads_for, warn

# A negative eigenvalue of at most this share of the largest one, or of the largest entry, is rounding.
ROUNDING = 1e-6


def warn_if_indefinite(matrix: Floats, *, name: str) -> bool:
    """Return whether an exactly symmetric array is semidefinite up to rounding, and warn if it is not.

    The warning calls the matrix by `name`.
    """
    extremes = _extreme_eigenvalues(matrix)
    if extremes is None:
        return True
    smallest, largest = extremes
    share = f" ({-smallest / largest:.2g} times as large)" if largest > 0 else ""
    warn(
        f"{name} is not positive semidefinite: its largest eigenvalue is {largest:.4g} and its smallest "
        f"{smallest:.4g}{share}; it is used as it is, and the bounds hold all the same, but shares of variance are "
        "shares of a matrix that is not a covariance."
    )
    return False


def is_semidefinite(matrix: Floats) -> bool:
    """Say whether a symmetric array is positive semidefinite up to rounding."""
    return _extreme_eigenvalues(matrix) is None


def _extreme_eigenvalues(matrix: Floats) -> tuple[float, float] | None:
    """Return the smallest and the largest eigenvalue, or None if the matrix is semidefinite up to rounding."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0.0:
        return None
    shifted = matrix / largest
    shifted.flat[:: len(matrix) + 1] += ROUNDING
    # A Cholesky factorisation is much faster than eigenvalues.
    try:
        with threads_for(len(matrix)):
            np.linalg.cholesky(shifted)
        return None
    except np.linalg.LinAlgError:
        values = eigvalsh(matrix)
        rounding = values[0] >= -ROUNDING * max(values[-1], largest)
        return None if rounding else (float(values[0]), float(values[-1]))
