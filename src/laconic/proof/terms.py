"""What the bounds are put together from, and the checks of what a witness holds."""

import math
from typing import Any, NamedTuple

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import sum_up, up

# Numbers of a witness beyond this prove nothing, and their squares would overflow.
LARGEST = 2.0**450


class Proved(NamedTuple):
    """A proved bound, and by how much it is above what plain floating point makes of the witness."""

    value: float
    margin: float


NOTHING = Proved(math.inf, math.inf)


def total(terms: list[float], margin: float, away: list[float]) -> Proved:
    """Return the sum of terms as a bound; `away` are those that stand for rounding, besides `margin`."""
    return Proved(sum_up(terms), margin + sum(away))


def largest(values: Floats, count: int) -> Floats:
    """Return the largest so many values, in no order."""
    return np.partition(values, len(values) - count)[len(values) - count :] if count else values[:0]


def times_up(factor: float, x: float) -> float:
    """Return an upper bound on a product."""
    return float(up(factor * x)) if factor and x else 0.0


def number(x: Any, name: str) -> float:
    """Return a number of a witness, or say what is wrong with it."""
    if not isinstance(x, int | float | np.floating) or not abs(float(x)) < LARGEST:
        raise ValueError(f"{name}={x!r} of the witness must be a finite number of the size of S.")
    return float(x)


def array_of(values: Any, shape: tuple[int | None, ...], name: str, *, below: float = LARGEST) -> Floats:
    """Return an array of a witness, or say what is wrong with it; an axis of None may have any length."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.ndim != len(shape):
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; numbers of {len(shape)} axes belong."
        )
    if any(want is not None and want != have for want, have in zip(shape, array.shape, strict=True)) or not array.size:
        wanted = " x ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} has shape {array.shape} where {wanted} is needed.")
    if not (np.abs(array) < below).all():
        raise ValueError(f"{name} has entries that are NaN, infinite or larger than anything in S can be.")
    return array.astype(np.float64, copy=False)


def features_of(values: Any, n: int, name: str) -> Indices:
    """Return features, each of them once, or say what is wrong with them."""
    features = np.asarray(values)
    if features.ndim == 1 and not features.size:
        return np.empty(0, dtype=np.intp)
    if features.ndim != 1 or features.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of feature numbers.")
    if features.min() < 0 or features.max() >= n:
        raise ValueError(f"{name} has features outside 0 to {n - 1}.")
    # In increasing order, as they are as a rule, they need not be sorted.
    if not (features[1:] > features[:-1]).all() and len(np.unique(features)) < len(features):
        raise ValueError(f"{name} has a feature twice.")
    return features.astype(np.intp)
