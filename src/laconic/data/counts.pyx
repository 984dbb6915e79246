# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Sums, sums of squares and digests of counts in one compiled loop.

The general code takes several times as long: longer than reading a large file of counts. Counts are small whole
numbers, so the scattered bits of the digest come from a table, and all sums are exact.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from laconic.data import digest, moments

# Larger counts are left to the general code. The table has 512 kB; the small counts of most entries stay in the cache.
LARGEST_COUNT = 65_535

_SCATTERED = digest.mixed(np.arange(LARGEST_COUNT + 1))

ctypedef fused Value:
    float
    double

ctypedef fused Index:
    int32_t
    int64_t


def sums_of_counts(rows):
    """Return sums, sums of squares and digests of the columns of a CSR matrix, and the power of the digests.

    None if an entry is not a whole number from 0 to `LARGEST_COUNT`, or a sum is too large to be exact.
    """
    data = rows.data if rows.data.dtype in (np.float32, np.float64) else rows.data.astype(np.float64)
    if rows.nnz == 0 or rows.indices.max() >= rows.shape[1] or rows.indices.min() < 0:
        return None
    totals = np.zeros((rows.shape[1], 3), dtype=np.uint64)
    power = _add_up(data, rows.indices, rows.indptr, _SCATTERED, totals, digest.BASE)
    if power is None or totals[:, 1].max(initial=0) >= moments.EXACT:
        return None
    return totals[:, 0].astype(np.float64), totals[:, 1].astype(np.float64), totals[:, 2].copy(), power


def _add_up(
    const Value[::1] data, const Index[::1] indices, const Index[::1] indptr, const uint64_t[::1] scattered,
    uint64_t[:, ::1] totals, uint64_t base,
):
    """Add each entry, its square and its digest to the totals of its column. Return None at one that is not a count."""
    cdef uint64_t power = 1, whole
    cdef Py_ssize_t row, place
    cdef Index column
    cdef Value value
    cdef bint counts = True
    cdef Py_ssize_t limit = scattered.shape[0]
    with nogil:
        for row in range(indptr.shape[0] - 1):
            for place in range(indptr[row], indptr[row + 1]):
                value = data[place]
                if not (0 <= value < limit):  # NaN is not, either
                    counts = False
                    break
                whole = <uint64_t>value
                if whole != value:
                    counts = False
                    break
                column = indices[place]
                totals[column, 0] += whole
                totals[column, 1] += whole * whole
                totals[column, 2] += scattered[whole] * power
            if not counts:
                break
            power *= base
    return power if counts else None
