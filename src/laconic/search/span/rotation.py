"""Rotated dense components: the same span, with few large loadings in each component."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from laconic.core.arrays import Floats

# Steps of varimax at most, and the relative change at which it ends.
STEPS, TOLERANCE = 100, 1e-6


def varimax(loadings: Floats) -> Floats:
    """Return the columns rotated so that the sum of the variances of their squared entries is a local maximum.

    Kaiser (1958), by steps of the singular value decomposition: with L the rotated loadings, the gradient is
    L^3 - L diag(mean of L^2), and the next rotation is the orthogonal factor of the loadings times it.
    """
    n, r = loadings.shape
    rotation, before = np.eye(r), 0.0
    for _ in range(STEPS):
        rotated = loadings @ rotation
        gradient = loadings.T @ (rotated**3 - rotated * ((rotated**2).sum(axis=0) / n))
        left, values, right = np.linalg.svd(gradient)
        rotation = left @ right
        if values.sum() <= before * (1 + TOLERANCE):
            break
        before = float(values.sum())
    return np.asarray(loadings @ rotation)


def assigned(loadings: Floats, cardinalities: tuple[int, ...]) -> Floats:
    """Return the columns in the order that fits the cardinalities best.

    With k features a column keeps its k largest squares. The sum that all columns keep is the largest possible.
    """
    if len(set(cardinalities)) == 1:
        return loadings
    squares = -np.sort(-(loadings**2), axis=0)
    kept = np.cumsum(squares, axis=0)[np.array(cardinalities) - 1].T  # column, cardinality
    chosen, place = linear_sum_assignment(-kept)
    return np.asarray(loadings[:, chosen[np.argsort(place)]])
