"""Array types, limits and thresholds that several rooms share. A limit that one file uses stays in that file."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.int8]
Singles: TypeAlias = NDArray[np.float32]


# A support is called optimal if its proved relative gap is at most this. One millionth is far above rounding and far
# below any difference that matters in data.
PROVED = 1e-6

# The largest number of features for which the n x n matrix may be written out: 6000 x 6000 numbers are 288 MB, and a
# factorisation takes some seconds.
WRITE_OUT_LIMIT = 6000

# Numbers in a working block, when something large is computed block by block: 8 MB, so that a block and its copies
# stay small beside the data.
BLOCK_ENTRIES = 1_000_000

# Divisors are at least this, so that zeros give no NaN: the smallest normal number.
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)

# The largest variance must lie between these. Bounds are computed from products of up to four variances; within these
# limits no such product overflows or vanishes.
SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-60, 1e60
