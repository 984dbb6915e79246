"""Witnesses that hold no numbers: the bound follows from S alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice

import numpy as np

from laconic.core.arrays import BLOCK_ENTRIES, Indices
from laconic.core.eigenvalues import proved_largest_of_stack
from laconic.core.rounding import grown, sum_up, up
from laconic.covariance import Covariance
from laconic.proof.witness import NO_BOUND, BoundOf, Proved, Witness, lacking, largest, no_features, off_diagonal_rows

# The gate lists at most this many supports, which takes some seconds.
MOST_SUPPORTS = 2_000_000


@dataclass(frozen=True, eq=False)
class TraceWitness(Witness):
    """The sum of the k largest variances.

    With S_T + d I semidefinite, lmax(S_T) + d <= trace(S_T) + k d, so the bound adds (k - 1) d; d = 0 if S = A'A. With
    E and S_T + E_T semidefinite, lmax(S_T) <= trace(S_T) + trace(E).
    """

    def bound(self, S: Covariance, k: int, _inside: Indices, _bound_of: BoundOf) -> Proved:
        value = sum_up([*largest(S.variances, k), lacking(S, k - 1)])
        return Proved(value, value - math.fsum(largest(S.diagonal, k)))

    def reads(self, _n: int) -> Indices:
        return no_features()

    def kinds(self) -> tuple[str, ...]:
        return ("trace",)


@dataclass(frozen=True, eq=False)
class RowSumWitness(Witness):
    """The largest, over i, of S_ii plus the k - 1 largest |S_ij| of its row: Gershgorin's circles of S_T."""

    def bound(self, S: Covariance, k: int, _inside: Indices, _bound_of: BoundOf) -> Proved:
        n = S.n_features
        spread = sum_up(largest(S.spread, k)) if S.spread.any() else 0.0
        value = plain = -math.inf
        for rows, size in off_diagonal_rows(S, np.arange(n)):
            others = np.partition(size, n - k, axis=1)[:, n - k + 1 :].sum(axis=1)
            away = up(S.spread[rows] * spread) if spread else 0.0
            circles = up(up(S.variances[rows] + (grown(others, k) if k > 1 else 0.0)) + away)
            if np.isnan(circles).any():
                return NO_BOUND
            value = max(value, float(circles.max()))
            plain = max(plain, float((S.diagonal[rows] + others).max()))
        return Proved(value, value - plain)

    def kinds(self) -> tuple[str, ...]:
        return ("row sums",)


@dataclass(frozen=True, eq=False)
class ExhaustiveWitness(Witness):
    """Every support is looked at again."""

    def bound(self, S: Covariance, k: int, inside: Indices, _bound_of: BoundOf) -> Proved:
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
