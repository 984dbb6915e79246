"""From a support and its loadings to a proved lower bound."""

import math
from typing import Any

import numpy as np

from laconic.core.rounding import down, gamma, grown, sum_up, up
from laconic.proof.terms import checked_array, checked_matrix, checked_features


@np.errstate(all="ignore")
def proved_lower(S: Any, support: Any, loadings: Any) -> float:
    """Return a lower bound on z'Sz / z'z for the vector z with these loadings, which need not have unit length.

    With B the computed entries, the rounding of z'Bz is at most gamma_{2k+2} |z|'|B||z|. z'Sz differs from z'Bz by at
    most (l'|z|)^2, l the spread.
    """
    matrix = checked_matrix(S)
    features = checked_features(support, matrix.n_features, "support")
    z = checked_array(loadings, (len(features),), "loadings")
    largest = float(np.abs(z).max(initial=0.0))
    if largest == 0.0:
        raise ValueError("loadings are all zero; a component has a direction.")
    z = np.ldexp(z, -math.frexp(largest)[1])
    B = matrix.block(features, features)
    k = len(z)
    value = float(z @ (B @ z))
    size = np.abs(z)
    error = grown(float(size @ (np.abs(B) @ size)) * gamma(2 * k + 4), 2 * k + 6)
    away = float(grown(matrix.spread[features] @ size, k + 1)) if matrix.spread.any() else 0.0
    least = -sum_up([-value, error, up(away * away)])
    square = float(z @ z)
    length = grown(square, k + 1) if least > 0 else square * (1 - gamma(k + 4))
    return float(down(least / length))
