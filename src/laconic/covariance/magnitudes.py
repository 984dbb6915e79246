"""Absolute values of S by columns, a block at a time, and the largest of each."""

from collections.abc import Iterator

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance.base import Covariance

# Entries of S held at a time, 32 MB.
BLOCK_ENTRIES = 4_000_000


def column_magnitudes(
    covariance: Covariance, features: Indices, among: Indices | None = None
) -> Iterator[tuple[Indices, Floats]]:
    """Yield some features and |S_ij| with j one of them, zero for i = j, until all features have had their turn.

    Parameters
    ----------
    covariance
        S.
    features
        Whose columns to yield.
    among
        The rows i, in increasing order, with all features among them; every row by default.
    """
    step = max(1, BLOCK_ENTRIES // covariance.n_features)
    for begin in range(0, len(features), step):
        part = features[begin : begin + step]
        columns = covariance.columns(part)
        block = np.abs(columns if among is None else columns[among])
        block[part if among is None else np.searchsorted(among, part), np.arange(len(part))] = 0.0
        yield part, block


def largest_of_columns(magnitudes: Floats, count: int) -> Floats:
    """Return the `count` largest entries of each column of `magnitudes`, all if it has fewer, the largest first."""
    n = len(magnitudes)
    if 0 < count < n // 4:
        magnitudes = np.partition(magnitudes, n - count, axis=0)[n - count :]
    return np.asarray(np.sort(magnitudes, axis=0)[::-1][:count])
