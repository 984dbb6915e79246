"""Sums, sums of squares and digests of counts in one compiled loop. It is imported when needed: compiling takes time.

The first pass over a large file of counts would otherwise take several times as long as reading the file. Counts are
small whole numbers, so the scattered bits of the digest come from a table, and all sums are exact.
"""

from typing import Any

import numpy as np
from numba import njit

from laconic.core.arrays import Floats
from laconic.data.digest import BASE, Words, mixed
from laconic.data.moments import EXACT

# Larger counts are left to the general code. The table has 512 kB; the small counts of most entries stay in the cache.
LARGEST_COUNT = 65_535

_BASE = np.uint64(BASE)
_SCATTERED = mixed(np.arange(LARGEST_COUNT + 1))


def sums_of_counts(rows: Any) -> tuple[Floats, Floats, Words, int] | None:
    """Return sums, sums of squares and digests of the columns of a CSR matrix, and the power of the digests.

    None if an entry is not a whole number from 0 to `LARGEST_COUNT`, or a sum is too large to be exact.
    """
    totals = np.zeros((rows.shape[1], 3), dtype=np.uint64)
    power, counts = _add_up(rows.data, rows.indices, rows.indptr, _SCATTERED, totals)
    if not counts or totals[:, 1].max(initial=0) >= EXACT:
        return None
    return totals[:, 0].astype(np.float64), totals[:, 1].astype(np.float64), totals[:, 2].copy(), int(power)


@njit(cache=True, nogil=True)
def _add_up(data, indices, indptr, scattered, totals):
    """Add each entry, its square and its digest to the totals of its column. Stop at the first that is not a count."""
    power = np.uint64(1)
    for row in range(len(indptr) - 1):
        for place in range(indptr[row], indptr[row + 1]):
            value = data[place]
            if not 0 <= value < len(scattered):  # NaN is not, either
                return power, False
            whole = np.uint64(value)
            if whole != value:
                return power, False
            column = indices[place]
            totals[column, 0] += whole
            totals[column, 1] += whole * whole
            totals[column, 2] += scattered[whole] * power
        power *= _BASE
    return power, True
