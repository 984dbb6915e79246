"""The variance that components explain: each of them, and all together beside as many dense components."""

import math

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpairs

# Relative residual of the dense components: shares are read to a tenth of a per cent.
ACCURACY = 1e-3

# A unit vector depends on those before it if the squared length of the rest is at most this: that is rounding.
DEPENDENT = 1e-20
# A pivot that is smaller than this share of its variance is rounding. It is not divided by.
ROUNDING = 1e-14


def explained_variances(covariance: Covariance, components: Floats) -> dict[str, Floats]:
    """Return the variance that each component explains, by three definitions.

    The components z_1, ..., z_m are unit vectors, one in each row, and S is the covariance before any deflation.

        span  The variance that z_j adds if the data are projected on the span of z_1, ..., z_j: q'Sq, where q is the
              part of z_j orthogonal to the components before it, scaled to unit length. The sum over all components is
              the variance that they explain together.
        raw   z_j'Sz_j, the variance of the scores. Variance that two components share is counted twice.
        qr    The variance of the scores of z_j that the scores before it do not predict (Zou, Hastie and Tibshirani
              2006): R_jj^2 in the QR decomposition of the scores. It is NaN if S is not semidefinite: there are no
              scores with the covariance S then.
    """
    hand = slice(None) if covariance.at_hand is None else covariance.at_hand
    own = components[:, hand]
    gram = own @ covariance.on_hand().product(np.ascontiguousarray(own.T))
    residual = _without_earlier(components @ components.T)
    span = (residual @ gram @ residual.T).diagonal().copy()
    if not covariance.semidefinite:
        return {"span": span, "raw": gram.diagonal().copy(), "qr": np.full(len(gram), np.nan)}
    return {"span": np.maximum(span, 0.0), "raw": gram.diagonal().copy(), "qr": _pivots(gram)}


def _without_earlier(lengths: Floats) -> Floats:
    """Return T such that the rows of TZ are orthonormal, given ZZ'. A row that depends on earlier rows becomes zero."""
    m = len(lengths)
    transform = np.zeros((m, m))
    for j in range(m):
        row = np.zeros(m)
        row[j] = 1.0
        # The second pass removes the rounding errors of the first.
        for _ in range(2):
            row -= (transform[:j] @ lengths @ row) @ transform[:j]
        square = float(row @ lengths @ row)
        if square > DEPENDENT:
            transform[j] = row / np.sqrt(square)
    return transform


def _pivots(gram: Floats) -> Floats:
    """Return the squared diagonal of the Cholesky factor of a semidefinite matrix."""
    work = gram.copy()
    pivots = np.zeros(len(gram))
    for j in range(len(gram)):
        pivots[j] = max(float(work[j, j]), 0.0)
        if pivots[j] > ROUNDING * gram[j, j]:
            work[j + 1 :, j + 1 :] -= np.outer(work[j + 1 :, j] / pivots[j], work[j, j + 1 :])
    return pivots


def dense_variance(covariance: Covariance, features: Indices, count: int, monitor: Monitor) -> float:
    """Return about the variance that a number of dense components hold, of the features at hand that may be used.

    It is NaN if the user interrupts the computation.
    """
    everything = len(features) == covariance.n_features
    part: Covariance = covariance if everything else SubsetCovariance(covariance, features)
    values = np.array([math.nan])
    with monitor.watch():
        values, _ = largest_eigenpairs(part.on_hand(), count, tolerance=ACCURACY)
    return float(np.maximum(values, 0.0).sum())
