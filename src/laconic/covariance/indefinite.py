"""Symmetric matrices that are not positive semidefinite, and so are no covariances.

Pairwise deletion, rank correlations, polychoric correlations, correlations with few digits and differences of two
covariances give such matrices. The problem max z'Sz makes sense for them, and so do the bounds. Only words such as
"share of the variance" do not. A negative eigenvalue of the size of rounding is no matter, and is never mentioned.
"""

from typing import Literal, TypeAlias

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.caller import warn
from laconic.core.linalg import eigvalsh
from laconic.core.threads import threads_for
from laconic.covariance.nearest import has_unit_diagonal, nearest_semidefinite

Indefinite: TypeAlias = Literal["accept", "nearest", "error"]

# What may be done about a matrix that is not semidefinite.
CHOICES = ("accept", "nearest", "error")
# A negative eigenvalue of at most this share of the largest one, or of the largest entry, is rounding.
ROUNDING = 1e-6


def resolve_indefinite(matrix: Floats, choice: str, *, name: str) -> tuple[Floats, bool]:
    """Return the matrix to use in place of a symmetric one, and whether it is semidefinite up to rounding.

    Parameters
    ----------
    matrix
        An exactly symmetric array. One that is semidefinite up to rounding is returned as it is.
    choice
        "accept" returns the matrix as it is, with a warning. "nearest" returns the nearest semidefinite matrix (see
        `laconic.covariance.nearest`), with a warning that says how much changed. "error" raises a ValueError.
    name
        What the messages call the matrix.
    """
    check_choice(choice)
    extremes = _extreme_eigenvalues(matrix)
    if extremes is None:
        return matrix, True
    smallest, largest = extremes
    share = f" ({-smallest / largest:.2g} times as large)" if largest > 0 else ""
    found = f"{name} is not positive semidefinite: its largest eigenvalue is {largest:.4g} and its smallest "
    found += f"{smallest:.4g}{share}"
    if choice == "error":
        raise ValueError(
            f"{found}; indefinite='accept' takes it as it is, indefinite='nearest' takes the nearest matrix that is."
        )
    if choice == "accept":
        warn(
            f"{found}; it is used as it is, and the bounds hold all the same, but shares of variance are shares of a "
            "matrix that is not a covariance (indefinite='nearest' takes the nearest one)."
        )
        return matrix, False
    near = nearest_semidefinite(matrix)
    changed = float(np.abs(near - matrix).max())
    used = matrix.any(axis=0)
    what = "correlation" if has_unit_diagonal(matrix[np.ix_(used, used)]) else "positive semidefinite"
    warn(f"{found}; the nearest {what} matrix is used in its place; no entry changes by more than {changed:.3g}.")
    return near, True


def resolved_again(matrix: Floats, choice: str) -> Floats:
    """Return the matrix of `resolve_indefinite`, without a word, for a proof that is checked again."""
    check_choice(choice)
    return nearest_semidefinite(matrix) if choice == "nearest" and not is_semidefinite(matrix) else matrix


def check_choice(choice: str) -> None:
    """Raise a ValueError if there is no such choice."""
    if choice not in CHOICES:
        raise ValueError(f"indefinite={choice!r} must be 'accept', 'nearest' or 'error'.")


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
