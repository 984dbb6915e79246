"""Safe elimination for the l1 relaxation."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import largest_off_diagonal


def by_penalty_l1(S: Floats, rho: float) -> Indices:
    """Return the features that the l1 relaxation with a penalty cannot eliminate: max_j |S_ij| > rho, j != i.

    For the other features, the dual variable |U_ij| <= rho can cancel the whole row of S off the diagonal. X_ij = 0 for
    all j != i is then optimal. Alone, such a feature has the value S_ii - rho.
    """
    if not rho >= 0:
        raise ValueError(f"rho={rho} must not be negative.")
    return np.flatnonzero(largest_off_diagonal(S) > rho)
