"""Absolute values of the columns of S, some columns at a time, and the largest of each column."""

from collections.abc import Iterator

import numpy as np

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.covariance.contract import Covariance


def column_magnitudes(covariance: Covariance, features: Indices) -> Iterator[tuple[Indices, Floats]]:
    """Yield blocks of features with their columns |S_ij|, in which the diagonal entry is set to zero."""
    step = max(1, BLOCK_ENTRIES // covariance.n_features)
    for begin in range(0, len(features), step):
        part = features[begin : begin + step]
        block = np.abs(covariance.columns(part))
        block[part, np.arange(len(part))] = 0.0
        yield part, block


def largest_of_columns(magnitudes: Floats, count: int) -> Floats:
    """Return the `count` largest entries of each column, the largest first; all entries if there are fewer."""
    n = len(magnitudes)
    if 0 < count < n // 4:
        magnitudes = np.partition(magnitudes, n - count, axis=0)[n - count :]
    return np.asarray(np.sort(magnitudes, axis=0)[::-1][:count])
