"""Witnesses that hold no numbers: the bound follows from S alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice

import numpy as np
from scipy.sparse import csr_array

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.eigenvalues import proved_largest_of_stack
from laconic.core.rounding import grown, sum_up, up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_BOUND,
    Proved,
    Witness,
    checked_number,
    lacking,
    largest,
    no_features,
)

# The gate lists at most this many supports, which takes some seconds.
MOST_SUPPORTS = 2_000_000


@dataclass(frozen=True, eq=False)
class TraceWitness(Witness):
    """The sum of the k largest variances.

    With S_T + d I semidefinite, lmax(S_T) + d <= trace(S_T) + k d, so the bound adds (k - 1) d; d = 0 if S = A'A. With
    E and S_T + E_T semidefinite, lmax(S_T) <= trace(S_T) + trace(E).
    """

    def bound(self, S: Covariance, k: int, _inside: Indices) -> Proved:
        value = sum_up([*largest(S.variances, k), lacking(S, k - 1)])
        return Proved(value, value - math.fsum(largest(S.diagonal, k)))

    def reads(self, _n: int) -> Indices:
        return no_features()

    def kinds(self) -> tuple[str, ...]:
        return ("trace",)


@dataclass(frozen=True, eq=False)
class RowSumWitness(Witness):
    """The largest, over i, of S_ii plus the k - 1 largest |S_ij| of its row: Gershgorin's circles of S_T."""

    def bound(self, S: Covariance, k: int, _inside: Indices) -> Proved:
        if k == 1:
            return Proved(float(S.variances.max()), 0.0)
        pairs = S.pairs(k - 1)
        value = float(up(S.variances + grown(pairs.largest.sum(axis=1), k)).max())
        return NO_BOUND if math.isnan(value) else Proved(value, k * pairs.error)

    def kinds(self) -> tuple[str, ...]:
        return ("row sums",)


@dataclass(frozen=True, eq=False)
class ThresholdWitness(Witness):
    """The largest eigenvalue of S with its entries shrunk, and the cost of what they lose.

    Let C have the diagonal of S, and off it |S_ij| - t where that is above zero. S differs from a matrix with the
    absolute values of C by entries of at most t off the diagonal, so that a unit x with k nonzeros has
    x'Sx <= |x|'C|x| + (k - 1) t. For any d > 0 the largest eigenvalue of C is at most max_i (Cd)_i / d_i. Power steps
    make d: any d is good, so nothing of it is stored. The entries below the floor of `S.pairs` are not known one by
    one, so t is at least the floor.
    """

    threshold: float  # t

    def bound(self, S: Covariance, k: int, _inside: Indices) -> Proved:
        pairs = S.pairs(max(k - 1, 1))
        t = checked_number(self.threshold, "threshold")
        if t < 0:
            raise ValueError(f"threshold={t!r} of the witness must not be negative.")
        t = max(t, pairs.floor)
        value = shrunk_eigenvalue_bound(pairs.large, S.variances, t)
        return Proved(sum_up([value, float(up((k - 1) * t))]), k * pairs.error)

    def kinds(self) -> tuple[str, ...]:
        return ("threshold",)


# Power steps for the vector d of a threshold bound. It falls little after these.
STEPS_FOR_D = 60
# An entry of d is at least this share of the largest one: a feature with no large entry has a finite quotient.
LEAST_OF_D = 1e-3


def shrunk_eigenvalue_bound(large: csr_array, variances: Floats, t: float, least_progress: float = 1e-9) -> float:
    """Return an upper bound on the largest eigenvalue of C; see `ThresholdWitness`. `large` has bounds on |S_ij|.

    The power steps end when one lowers the bound by no more than the share `least_progress`.
    """
    stays = np.flatnonzero(large.data > t)
    starts = np.searchsorted(stays, large.indptr)
    C = csr_array((grown(large.data[stays] - t, 1), large.indices[stays], starts), shape=large.shape)
    # Only the sizes of rows with entries matter: the others have their variance.
    most = int(np.diff(starts).max(initial=0))
    alone = np.diff(starts) == 0
    best, d = math.inf, np.ones(len(variances))
    shift = max(-float(variances.min(initial=0.0)), 0.0)
    for _ in range(STEPS_FOR_D):
        image = C @ d
        quotients = up(variances + grown(grown(image, most + 1) / d, 1))
        reached = float(np.where(alone, variances, quotients).max())
        before, best = best, min(best, reached)
        if not reached < before * (1 - least_progress) and before < math.inf:
            break
        power = image + (variances + shift) * d
        top = float(power.max())
        if not top > 0:
            break
        d = np.maximum(power / top, LEAST_OF_D)
    return best


@dataclass(frozen=True, eq=False)
class ExhaustiveWitness(Witness):
    """Every support is looked at again."""

    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        return bound_by_listing(S, k, inside)

    def kinds(self) -> tuple[str, ...]:
        return ("exhaustive",)


def bound_by_listing(S: Covariance, k: int, inside: Indices) -> Proved:
    """Return the largest value of all supports of k features that contain those inside."""
    free = np.setdiff1d(np.arange(S.n_features), inside) if len(inside) else np.arange(S.n_features)
    count = math.comb(len(free), k - len(inside))
    if count > MOST_SUPPORTS:
        raise ValueError(
            f"{S.n_features} features have {count} supports of {k}; at most {MOST_SUPPORTS} are looked at one by one."
        )
    value = plain = -math.inf
    choices = combinations(free.tolist(), k - len(inside))
    for supports in _batches(choices, k - len(inside), max(1, BLOCK_ENTRIES // (2 * k * k))):
        together = supports
        if len(inside):
            together = np.concatenate([np.broadcast_to(inside, (len(supports), len(inside))), supports], axis=1)
        stack = S.matrix[together[:, :, None], together[:, None, :]]
        proved, estimate = proved_largest_of_stack(stack)
        value, plain = max(value, proved), max(plain, estimate)
    value = sum_up([value, S.away]) if S.away else value
    return Proved(value, value - plain)


def _batches(choices: Iterator[tuple[int, ...]], width: int, count: int) -> Iterator[Indices]:
    if not width:
        yield np.empty((1, 0), dtype=np.intp)
        return
    while (batch := np.fromiter(chain.from_iterable(islice(choices, count)), dtype=np.intp)).size:
        yield batch.reshape(-1, width)
