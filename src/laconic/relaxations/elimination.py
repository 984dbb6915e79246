"""Safe elimination for the l1 relaxation."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import largest_off_diagonal


def by_penalty_l1(S: Floats, rho: float) -> Indices:
    """Return the features that the l1-penalised relaxation cannot set aside: max_j |S_ij| > rho, j != i.

    For the others the dual variable, |U_ij| <= rho, may cancel the whole row off the diagonal, so that X_ij = 0 for
    j != i is optimal: the feature stands alone, with S_ii - rho as its value.

    Parameters
    ----------
    S
        The covariance, written out.
    rho
        The penalty for each |X_ij|.
    """
    if not rho >= 0:
        raise ValueError(f"rho={rho} must not be negative.")
    return np.flatnonzero(largest_off_diagonal(S) > rho)
