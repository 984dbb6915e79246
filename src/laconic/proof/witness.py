"""What a witness is: its contract with the gate, the files and `verify`, and the sums of which bounds are made."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from laconic.core.arrays import LARGEST_VARIANCE, SMALLEST_VARIANCE, Floats, Indices
from laconic.core.rounding import sum_up, up
from laconic.covariance import Covariance
from laconic.covariance.matrix import as_covariance

# A number of a witness must be below this. It is far above any number that can help a bound, and its square does not
# overflow.
LARGEST_NUMBER = 2.0**450
# Entries may be this many times beyond the limits of variances: a column of many small entries has a variance in range.
BEYOND = 1e6


# Components count as orthonormal if inner products are at most this far from zero, and squared lengths from one.
ORTHONORMAL = 1e-12


class ProofError(ValueError):
    """A witness that proves nothing. The message says why."""


class Proved(NamedTuple):
    """A proved bound, and the part of it that allows for rounding errors."""

    value: float
    margin: float


NO_BOUND = Proved(math.inf, math.inf)
# The bound on no support at all.
NO_SUPPORT = Proved(-math.inf, 0.0)


def checked_matrix(S: Any) -> Covariance:
    """Return a covariance or array as a covariance, if its entries are neither too large nor too small for proofs."""
    matrix = as_covariance(S)
    square = matrix.magnitude**2
    if matrix.magnitude and not SMALLEST_VARIANCE / BEYOND <= square <= LARGEST_VARIANCE * BEYOND:
        raise ProofError(
            f"The matrix has entries of about {square:.1g}; nothing is proved beyond {SMALLEST_VARIANCE:.0e} to "
            f"{LARGEST_VARIANCE:.0e}. Rescale the columns of the data."
        )
    return matrix


def total(terms: list[float], margin: float, away: list[float]) -> Proved:
    """Return the sum of terms as a bound. The terms in `away` stand for rounding, and are added to `margin`."""
    return Proved(sum_up(terms), margin + sum(away))


def largest(values: Floats, count: int) -> Floats:
    """Return the `count` largest values in any order, or all of them if there are fewer."""
    if count >= len(values):
        return values
    return np.partition(values, len(values) - count)[len(values) - count :] if count > 0 else values[:0]


def times_up(factor: float, x: float) -> float:
    """Return an upper bound on a product."""
    return float(up(factor * x)) if factor and x else 0.0


def lacking(S: Covariance, count: int) -> float:
    """Return what a bound adds because S need not be semidefinite: `count` shifts, or the trace if that is less."""
    return min(times_up(count, S.semidefinite_shift), S.semidefinite_trace) if count > 0 else 0.0


def nearly_orthonormal(count: int) -> float:
    """Return an upper bound on the norm of the sum of all u u' over unit vectors that count as orthonormal.

    If |U'U - I| <= delta in each entry before the r columns get unit length, the norm is at most 1 + (r - 1) delta /
    (1 - delta). That is at most 1 + r delta if r delta <= 1.
    """
    return float(up(1.0 + count * ORTHONORMAL)) if count * ORTHONORMAL < 1 else math.inf


def checked_number(x: Any, name: str) -> float:
    """Return a number of a witness as a float, or raise an error that says what is wrong with it."""
    if not isinstance(x, int | float | np.floating) or not abs(float(x)) < LARGEST_NUMBER:
        raise ValueError(f"{name}={x!r} of the witness must be a finite number of the size of S.")
    return float(x)


def checked_array(values: Any, shape: tuple[int | None, ...], name: str, *, below: float = LARGEST_NUMBER) -> Floats:
    """Return an array of a witness, or raise an error that says what is wrong with it.

    In `shape`, None stands for any length. Absolute values must be less than `below`.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.ndim != len(shape):
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; it must be numbers with {len(shape)} axes."
        )
    if any(want is not None and want != have for want, have in zip(shape, array.shape, strict=True)) or not array.size:
        wanted = " x ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} has shape {array.shape} where {wanted} is needed.")
    if not (np.abs(array) < below).all():
        raise ValueError(f"{name} has entries that are NaN, infinite or larger than anything in S can be.")
    return array.astype(np.float64, copy=False)


def checked_features(values: Any, n: int, name: str) -> Indices:
    """Return features of a witness, each of them once, or raise an error that says what is wrong with them."""
    features = np.asarray(values)
    if features.ndim == 1 and not features.size:
        return no_features()
    if features.ndim != 1 or features.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of feature numbers, which are whole numbers.")
    if features.min() < 0 or features.max() >= n:
        raise ValueError(f"{name} has features outside 0 to {n - 1}.")
    # Features in increasing order need not be sorted to see that none is there twice.
    if not (features[1:] > features[:-1]).all() and len(np.unique(features)) < len(features):
        raise ValueError(f"{name} has a feature twice.")
    return features.astype(np.intp)


def no_features() -> Indices:
    """Return an empty list of features."""
    return np.empty(0, dtype=np.intp)


class Witness(ABC):
    """The numbers from which an upper bound can be computed again, without any solver.

    The bound is on x'Sx over unit x with at most k nonzeros. It must hold for all numbers that a witness may contain:
    a poor witness gives a poor bound, never a wrong one. A kind of witness is a frozen dataclass, one file in this
    room and one line in `gate.py`. The types of its fields say how it is stored (`laconic.core.store`).
    """

    @abstractmethod
    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        """Return the bound over all supports that contain the features `inside`."""

    def reads(self, n: int) -> Indices:
        """Return the features, of n, whose rows of S the bound needs; for the others it needs variances at most."""
        return np.arange(n)

    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """Return the names that the bound may go by; the first is its own."""


#: The kinds of witnesses that the gate knows, by name.
WITNESSES: dict[str, type[Witness]] = {}


def register(cls: type[Witness]) -> type[Witness]:
    """Add a kind of witness, with a name that is not taken. The gate and `verify` then trust its method `bound`."""
    if WITNESSES.setdefault(cls.__name__, cls) is not cls:
        raise ValueError(f"There is another witness named {cls.__name__}; choose another name.")
    return cls


def check_registered(witness: Witness) -> None:
    """Raise an error unless a class is registered itself: one that is derived from it may return any number."""
    if WITNESSES.get(type(witness).__name__) is not type(witness):
        raise ValueError(f"{type(witness).__name__} is no witness that the gate knows.")
