"""Elimination of features whose variances, or rows of S, are too small.

Penalty form: maximise z'Sz - rho Card(z). With S = A'A the best value is max_x sum_i ((a_i'x)^2 - rho)_+ over unit x,
and (a_i'x)^2 <= S_ii. A feature with S_ii <= rho never adds anything.

Cardinality form: let some support of size k reach the value v, and let no support of size k - 1 exceed b. Let the
support I contain i, and z = (y cos f, sin f) with y on the rest of I. Then z'Sz = y'Sy cos^2 f + 2 y's_i cos f sin f +
S_ii sin^2 f. Here y'Sy <= b and |y's_i| <= c_i, where c_i^2 is the sum of the k - 1 largest S_ij^2, j != i. Therefore
the value of I is at most

    the larger eigenvalue of [[b, c_i], [c_i, S_ii]].

For a semidefinite S, (y's_i)^2 <= y'Sy S_ii, and the value is also at most b + S_ii (plus d, if only S + d I is
semidefinite). If one of the two is below v, feature i is eliminated. For a semidefinite S the first is never above the
second, because c_i^2 <= b S_ii. So the second only spares some features the look at their rows, and it is used only if
d is known without work. Every comparison keeps a margin above rounding errors, so that features of supports that tie
with the best stay.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, SubsetCovariance
from laconic.covariance.matrix import column_magnitudes, largest_of_columns
from laconic.proof import Estimate
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.elimination import EliminationWitness
from laconic.proof.witnesses.plain import TraceWitness

# Values that differ by less than this share of the largest number added are a tie: rounding errors stay below it.
TIE = 4e-12
# The number of passes over the features. Later passes remove few features, and each of them computes a bound.
MOST_PASSES = 10


def kept_by_penalty(covariance: Covariance, rho: float) -> Indices:
    """Return the features that may enter a solution of the l0-penalised form: S_ii > rho.

    If only S + d I is semidefinite, the test is S_ii + d > rho. It is *not* safe for the l1 relaxation, max Tr SX - rho
    sum_ij |X_ij|. With S = [[100, 9], [9, 0.9]] and rho = 1 the second variance is below rho. But x = (cos f, sin f),
    with f small and positive, gains 2 (9 - 1) f to first order over x = (1, 0) and loses only terms of second order.
    The test of that relaxation is in `laconic.relaxations.l1.splitting.Splitting`.
    """
    if not rho >= 0:
        raise ValueError(f"rho={rho} must not be negative.")
    return np.flatnonzero(covariance.diagonal + covariance.semidefinite_shift > rho * (1 - TIE))


def kept_by_value(
    covariance: Covariance,
    cardinality: int,
    value: float,
    before: float,
    *,
    rows: bool = True,
    forced: Indices | tuple[()] = (),
    monitor: Monitor | None = None,
) -> Indices:
    """Return the features that may belong to a support of size k with at least the value v: one pass.

    No support of size k - 1 exceeds b, given as `before`. `rows` tests the features that their variances leave by their
    rows, which computes one column of S for each. Forced features are kept.
    """
    monitor = monitor or Monitor()
    n = covariance.n_features
    if not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
    if np.isnan(value) or np.isnan(before):
        raise ValueError(f"value={value} and before={before} must be numbers.")
    variances = covariance.diagonal
    held = np.isin(np.arange(n), forced)
    if cardinality == 1:
        return np.flatnonzero((variances >= value - _tie(covariance, value, 0.0)) | held)
    if not np.isfinite(before):
        return np.arange(n)
    least = value - _tie(covariance, value, before)
    kept = np.ones(n, dtype=bool)
    if not rows or covariance.known_semidefinite_shift is not None:
        kept = (before + variances + covariance.semidefinite_shift >= least) | held
    if rows:
        free = np.flatnonzero(kept & ~held)
        kept[free[_most_with(covariance, free, cardinality, before, monitor) < least]] = False
    return np.flatnonzero(kept)


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over the features that the passes before have kept."""

    kept: Indices  # numbered among the features that the pass looked at
    before: Estimate  # the bound at cardinality k - 1 on the features that the pass looked at
    rows: bool  # the pass tested rows, and not variances only


@dataclass(frozen=True, eq=False)
class ByVariance:
    """The features that several passes keep."""

    kept: Indices  # in increasing order
    passes: tuple[Pass, ...]  # those that removed features, in order
    lifts_trees_only: ClassVar[bool] = False

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features from one on the features kept, or None if none is given."""
        if witness is None:
            return None
        for done in reversed(self.passes):
            witness = EliminationWitness(done.kept, done.before.witness, done.rows, witness)
        return witness


def eliminate_by_variance(
    covariance: Covariance,
    cardinality: int,
    value: float,
    bound: Callable[[Covariance, int], Estimate],
    *,
    rows: bool = True,
    forced: Indices | tuple[()] = (),
    monitor: Monitor | None = None,
) -> ByVariance:
    """Eliminate features in passes until a pass keeps all: fewer features make rows shorter and the bound lower.

    A pass computes its bound at k - 1 on the features kept so far, K, and not on all. That is safe: every support with
    at least the value v lies in K. If such a support contains i, its other k - 1 features are in K, too.
    """
    kept = np.arange(covariance.n_features)
    passes: list[Pass] = []
    while len(passes) < MOST_PASSES and len(kept) > cardinality:
        part = covariance if not passes else SubsetCovariance(covariance, kept)
        # With k = 1 the rest of a support is empty, and its value is zero.
        before = bound(part, cardinality - 1) if cardinality > 1 else Estimate(0.0, "trace", 0, TraceWitness())
        held = np.flatnonzero(np.isin(kept, forced))
        stay = kept_by_value(part, cardinality, value, before.value, rows=rows, forced=held, monitor=monitor)
        if len(stay) == len(kept):
            break
        passes.append(Pass(stay, before, rows))
        kept = kept[stay]
    return ByVariance(kept, tuple(passes))


def _tie(covariance: Covariance, value: float, before: float) -> float:
    """Return the margin for rounding errors: it is relative to the largest of the numbers compared."""
    return TIE * max(abs(number) for number in (value, before, covariance.rounding_unit) if np.isfinite(number))


def _most_with(covariance: Covariance, features: Indices, k: int, before: float, monitor: Monitor) -> Floats:
    """Return the larger eigenvalue of [[b, c_i], [c_i, S_ii]] for each of some features."""
    found = [np.empty(0)]
    for part, magnitudes in column_magnitudes(covariance, features):
        monitor.tick("eliminating features")
        top = largest_of_columns(magnitudes, k - 1)
        # Divided by the largest entry, so that squares do not underflow.
        unit = np.where(top[0] > 0, top[0], 1.0)
        length = unit * np.linalg.norm(top / unit, axis=0)
        variances = covariance.diagonal[part]
        found.append(0.5 * (before + variances + np.hypot(before - variances, 2 * length)))
    return np.concatenate(found)
