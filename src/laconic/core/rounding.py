"""Floating-point arithmetic with a bound on its error. The results hold for real numbers.

Each operation +, -, *, /, sqrt of binary64 is exact up to a factor 1 + d with |d| <= u = 2^-53, apart from underflow.
A chain of m operations on nonnegative numbers is exact up to a factor (1 + u)^m. An inner product of m terms, added in
any order, with or without fused multiplications, has an error of at most gamma_m |x|'|y|, gamma_m = m u / (1 - m u)
(Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). The proofs assume nothing else of NumPy and BLAS.
"""

import math
from typing import Any

import numpy as np

from laconic.core.arrays import Floats

UNIT = 2.0**-53
# More than the sum of all underflows of a computation, and far less than any number that matters: the largest variance
# is at least 2^-200.
TINY = 2.0**-700


def gamma(operations: int) -> float:
    """Return an upper bound on m u / (1 - m u)."""
    if operations * UNIT > 0.01:
        raise ValueError(f"{operations} roundings in a row are beyond what these bounds cover.")
    return 1.02 * operations * UNIT


def up(x: Any) -> Any:
    """Return the next number above x: an upper bound on the exact result of the operation that gave x."""
    return np.nextafter(x, np.inf)


def down(x: Any) -> Any:
    """Return the next number below x: a lower bound on the exact result of the operation that gave x."""
    return np.nextafter(x, -np.inf)


def grown(x: Any, operations: int) -> Any:
    """Return an upper bound on the exact value of x >= 0, which was computed from nonnegative numbers.

    `operations` is the largest number of roundings in a row behind x. The roundings made here are covered too.
    """
    return (x + TINY) * (1.0 + gamma(operations + 4))


def shrunk(x: Any, operations: int) -> Any:
    """Return a lower bound on the exact value of x >= 0; the counterpart of `grown`."""
    return np.maximum((x - TINY) * (1.0 - gamma(operations + 4)), 0.0)


def sum_up(values: Any) -> float:
    """Return an upper bound on a sum; infinite if the sum is not a number."""
    terms = values if isinstance(values, list) else np.ravel(np.asarray(values, dtype=np.float64)).tolist()
    try:
        total = math.fsum(terms)  # rounded once
    except (OverflowError, ValueError):
        # The sum is too large, or both infinities are among the terms.
        return math.inf
    if math.isnan(total):
        return math.inf
    # A sum that is not zero is at least the smallest float, so a total of zero is exact.
    return math.nextafter(total, math.inf) if math.isfinite(total) and total else total


def norm_up(E: Floats) -> float:
    """Bound the spectral norm of a symmetric E by the largest row sum of |E_ij|, or the root of the sum of squares."""
    largest = float(np.abs(E).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if not math.isfinite(largest):
        return math.inf
    exponent = math.frexp(largest)[1]
    scaled = np.abs(np.ldexp(E, -exponent))
    rows = float(grown(scaled.sum(axis=1).max(), len(E)))
    root = float(grown(np.sqrt(grown(np.einsum("ij,ij->", scaled, scaled), E.size + 1)), 1))
    return scaled_up(min(rows, root), exponent)


def scaled_up(x: float, exponent: int) -> float:
    """Return an upper bound on x 2^exponent, infinite if it is too large for a float."""
    try:
        result = math.ldexp(x, exponent)
    except OverflowError:
        return math.inf if x > 0 else -np.finfo(float).max
    # A power of two changes no digit, unless the result is among the smallest floats.
    return result if abs(result) > 2.0**-1021 or x == 0 else math.nextafter(result, math.inf)
