"""Safe elimination: features that provably belong to no best support.

Penalty form, max z'Sz - rho Card(z). With S = A'A the value is max_x sum_i ((a_i'x)^2 - rho)_+ over unit x, and
(a_i'x)^2 <= S_ii: a feature with S_ii <= rho never adds anything.

Cardinality form, given a value v that some support of size k reaches, and b that no support of size k - 1 exceeds. Let
I hold i, and z = (y cos f, sin f) with y on the rest of I. Then z'Sz = y'Sy cos^2 f + 2 y's_i cos f sin f + S_ii sin^2
f, where y'Sy <= b and |y's_i| <= c_i, c_i^2 the sum of the k - 1 largest S_ij^2, j != i. So the value of I is at most

    the larger eigenvalue of [[b, c_i], [c_i, S_ii]],

and, as (y's_i)^2 <= y'Sy S_ii for a semidefinite S, at most b + S_ii (plus d, if only S + d I is semidefinite). If
that is below v, i is out. A third test looks at all rows of I together (Gershgorin): the value of I is at most the
largest, over j in I, of S_jj + the sum of |S_jl| over l != j in I; as i is in I, it is at most the largest, over all j,
of

    S_ii + the k - 1 largest |S_il|   for j = i,      S_jj + |S_ij| + the k - 2 largest |S_jl|, l != i   otherwise.

Every comparison keeps a margin above rounding, so that features of supports that tie with the best stay.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, SubsetCovariance
from laconic.covariance.magnitudes import column_magnitudes, largest_of_columns
from laconic.proof.estimate import Estimate
from laconic.proof.witness import ReducedWitness, TraceWitness, Witness

# Values this close, relative to the size of what was added up, are a tie.
TIE = 4e-12


def by_penalty(covariance: Covariance, rho: float) -> Indices:
    """Return the features that may enter a solution of the l0-penalised form: S_ii > rho.

    The same test is *not* safe for the l1 relaxation, max Tr SX - rho sum_ij |X_ij|. With S = [[100, 9], [9, 0.9]] and
    rho = 1 the second variance is below rho; but x = (cos f, sin f), f small and positive, gains 2 (9 - 1) f to first
    order over x = (1, 0) and loses only terms of second order. There use `by_penalty_l1`.

    Parameters
    ----------
    covariance
        S. If it is not semidefinite, S + d I is looked at, which has the same solutions.
    rho
        The penalty for each feature.
    """
    _check_penalty(rho)
    return np.flatnonzero(covariance.diagonal + covariance.deficit > rho * (1 - TIE))


def by_incumbent(
    covariance: Covariance,
    cardinality: int,
    value: float,
    before: float,
    *,
    rows: bool = True,
    joint: bool = False,
    forced: Indices | None = None,
    monitor: Monitor | None = None,
) -> Indices:
    """Return the features that may belong to a support of size k whose value is `value` or more.

    Parameters
    ----------
    covariance
        S.
    cardinality
        k.
    value
        v, reached by a support of this size.
    before
        b, an upper bound at cardinality k - 1; of no account if k = 1.
    rows
        Use the second test for what the first, on variances alone, leaves: one column of S for each.
    joint
        Use the third for what is left then. There is no witness for it.
    forced
        Features that every support holds: they are never removed.
    monitor
        Stops it in time.
    """
    monitor = monitor or Monitor()
    n = covariance.n_features
    if not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
    if np.isnan(value) or np.isnan(before):
        raise ValueError(f"value={value} and before={before} must be numbers.")
    variances = covariance.diagonal
    held = np.zeros(n, dtype=bool)
    held[[] if forced is None else forced] = True
    if cardinality == 1:
        return np.flatnonzero((variances >= value - _tie(covariance, value, 0.0)) | held)
    kept = np.ones(n, dtype=bool)
    if np.isfinite(before):
        least = value - _tie(covariance, value, before)
        kept = (before + variances + covariance.deficit >= least) | held
        if rows:
            free = np.flatnonzero(kept & ~held)
            kept[free[_with_rows(covariance, free, cardinality, before, monitor) < least]] = False
    if joint:
        inside = np.flatnonzero(kept)
        low = _with_joint_rows(covariance, inside, cardinality, monitor) < value - _tie(covariance, value, 0.0)
        kept[inside[low]] = False
        kept |= held
    return np.flatnonzero(kept)


@dataclass(frozen=True, eq=False)
class Round:
    """One pass over the features left by the pass before.

    Attributes
    ----------
    kept
        The features that stay, counted among those the pass looked at.
    before
        The bound at cardinality k - 1 that it used, on those it looked at.
    rows, joint
        Which tests it used besides that on variances.
    """

    kept: Indices
    before: Estimate
    rows: bool
    joint: bool


@dataclass(frozen=True, eq=False)
class Screened:
    """What is left after some passes.

    Attributes
    ----------
    kept
        The features that may belong to a best support, in increasing order.
    rounds
        The passes that removed any, the first one first.
    """

    kept: Indices
    rounds: tuple[Round, ...]

    def witness(self, inner: Witness) -> Witness:
        """Return the witness on all features that goes with one on the features kept.

        Parameters
        ----------
        inner
            The witness of a bound on the features kept.
        """
        for passed in reversed(self.rounds):
            if passed.joint:
                raise ValueError("joint=True leaves no witness; screen with joint=False.")
            inner = ReducedWitness(passed.kept, passed.before.witness, passed.rows, inner)
        return inner


def screen(
    covariance: Covariance,
    cardinality: int,
    value: float,
    bound: Callable[[Covariance, int], Estimate],
    *,
    rows: bool = True,
    joint: bool = False,
    forced: Indices | None = None,
    monitor: Monitor | None = None,
    max_rounds: int = 10,
) -> Screened:
    """Remove features until nothing changes: fewer features make rows shorter and the bound lower.

    The bound at k - 1 is taken on the features left, K, and not on all. That is safe: every support whose value is v or
    more lies in K, as what was removed belongs to none. Should such a support hold i, the others of it are k - 1
    features *of K*, and their value is at most a bound on K.

    Parameters
    ----------
    covariance
        S.
    cardinality
        k.
    value
        v, reached by a support of this size.
    bound
        Gives an upper bound for a covariance and a cardinality, as those of `laconic.relaxations.elementary`.
    rows, joint, forced, monitor
        As in `by_incumbent`.
    max_rounds
        Passes at most.
    """
    kept = np.arange(covariance.n_features)
    held = np.zeros(covariance.n_features, dtype=bool)
    held[[] if forced is None else forced] = True
    rounds: list[Round] = []
    while len(rounds) < max_rounds and len(kept) > cardinality:
        left = covariance if not rounds else SubsetCovariance(covariance, kept)
        # Of no features the k - 1 = 0 largest variances add up to zero.
        before = bound(left, cardinality - 1) if cardinality > 1 else Estimate(0.0, "trace", 0, TraceWitness())
        stay = by_incumbent(
            left,
            cardinality,
            value,
            before.value,
            rows=rows,
            joint=joint,
            forced=np.flatnonzero(held[kept]),
            monitor=monitor,
        )
        if len(stay) == len(kept):
            break
        rounds.append(Round(stay, before, rows, joint))
        kept = kept[stay]
    return Screened(kept, tuple(rounds))


def _check_penalty(rho: float) -> None:
    if not rho >= 0:
        raise ValueError(f"rho={rho} must not be negative.")


def _tie(covariance: Covariance, value: float, before: float) -> float:
    """Return how far below v a bound must lie: rounding is relative to the largest of what is compared."""
    return TIE * max(abs(number) for number in (value, before, covariance.scale) if np.isfinite(number))


def _with_rows(covariance: Covariance, features: Indices, k: int, before: float, monitor: Monitor) -> Floats:
    """Return the larger eigenvalue of [[b, c_i], [c_i, S_ii]] for each of some features."""
    found = [np.empty(0)]
    for part, magnitudes in column_magnitudes(covariance, features):
        monitor.tick("eliminating")
        top = largest_of_columns(magnitudes, k - 1)
        # In units of the largest, whose squares do not vanish.
        unit = np.where(top[0] > 0, top[0], 1.0)
        reach = unit * np.linalg.norm(top / unit, axis=0)
        variances = covariance.diagonal[part]
        found.append(0.5 * (before + variances + np.hypot(before - variances, 2 * reach)))
    return np.concatenate(found)


def _with_joint_rows(covariance: Covariance, features: Indices, k: int, monitor: Monitor) -> Floats:
    """Return, for each of some features, the largest row sum of a support of k of them that holds it."""
    highest = np.full(len(features), -np.inf)
    for part, magnitudes in column_magnitudes(covariance, features, features):
        monitor.tick("eliminating")
        top = largest_of_columns(magnitudes, k - 1)
        variances = covariance.diagonal[part]
        full, less = top.sum(axis=0), top[: k - 2].sum(axis=0)
        # If |S_ij| is one of the k - 1 largest of row j nothing changes; else it takes the place of the last.
        sums = variances + np.minimum(full, magnitudes + less)
        sums[np.searchsorted(features, part), np.arange(len(part))] = variances + full
        highest = np.maximum(highest, sums.max(axis=1))
    return highest
