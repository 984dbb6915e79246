"""From a support and its loadings to a proved lower bound."""

import math
from typing import Any

import numpy as np

from laconic.core.rigor import PLAIN_EXPONENT, TINY, down, gamma, grown, scaled_up, sum_up, up
from laconic.covariance.enclosing import enclose, exponent_of, rescaled
from laconic.covariance.enclosure import Enclosure
from laconic.proof.terms import array_of, features_of


@np.errstate(all="ignore")
def proved_lower(S: Any, support: Any, loadings: Any) -> float:
    """Return a number that the best value of a support is not below: z'Sz / z'z of its loadings, rounded down.

    The error of z'Bz, B the computed entries, is at most gamma_{2k+2} |z|'|B||z|, and z'Sz differs from it by at most
    (l'|z|)^2, l the spread.

    Parameters
    ----------
    S
        A `Covariance`, its enclosure, or an array.
    support
        Features.
    loadings
        Their loadings, not all zero; they need not have unit length.
    """
    exponent = exponent_of(S)
    if abs(exponent) > PLAIN_EXPONENT:
        lower = down(_lower(enclose(rescaled(S, -exponent)), support, loadings) - TINY)
        return -scaled_up(-float(lower), 2 * exponent)
    return _lower(enclose(S), support, loadings)


def _lower(S: Enclosure, support: Any, loadings: Any) -> float:
    features = features_of(support, S.n, "support")
    z = array_of(loadings, (len(features),), "loadings")
    largest = float(np.abs(z).max(initial=0.0))
    if largest == 0.0:
        raise ValueError("loadings are all zero; a component has a direction.")
    z = np.ldexp(z, -math.frexp(largest)[1])
    B = S.block(features, features)
    k = len(z)
    value = float(z @ (B @ z))
    size = np.abs(z)
    error = grown(float(size @ (np.abs(B) @ size)) * gamma(2 * k + 4), 2 * k + 6)
    away = float(grown(S.spread[features] @ size, k + 1)) if S.spread.any() else 0.0
    least = -sum_up([-value, error, up(away * away)])
    square = float(z @ z)
    length = grown(square, k + 1) if least > 0 else square * (1 - gamma(k + 4))
    return float(down(least / length))
