"""Cheap upper bounds on z'Sz over unit z with at most k nonzeros. Each costs a sort or an eigenvalue.

    trace            the sum of the k largest variances                        (S semidefinite)
    row sums         max_i S_ii + the k - 1 largest |S_ij| of the row          (Gershgorin's circles)
    eigenvalue       lmax(S)

The trace bound of a matrix that is not semidefinite needs an addition. With S + d I semidefinite,
lmax(S_I) + d <= Tr S_I + k d, hence (k - 1) d is added. With E and S + E semidefinite, Tr E is enough.

Row sums are good on correlation matrices and poor where the variances decay. There the trace is good for small k and
lmax(S) for large k. `elementary_bound` takes the lowest of the three.
"""

from collections.abc import Sequence

import numpy as np

from laconic.core.linalg import EPS, estimated_largest_eigenvalue_bound
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance import Covariance
from laconic.covariance.matrix import column_magnitudes, largest_of_columns
from laconic.proof import proved_upper
from laconic.proof.estimate import Estimate
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.plain import RowSumWitness, TraceWitness

# The error allowed for a sum, in units of EPS times the sum of the absolute values. Sums here are computed pairwise or
# have few terms, so it is generous.
ROUNDING = 64
# So many power steps give a lower bound on lmax(S). If it is above the other bounds, lmax(S) is not computed.
POWER_STEPS = 3


def trace_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return the sum of the k largest variances. If S is semidefinite by construction, only its diagonal is needed.

    The bound is infinite if S is indefinite and too large to find its smallest eigenvalue.
    """
    return _trace_bounds(covariance, [_checked(covariance, cardinality)])[0]


def row_sum_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return the largest, over i, of S_ii + the k - 1 largest |S_ij|, for any symmetric S."""
    return _row_sum_bounds(covariance, [_checked(covariance, cardinality)])[0]


def largest_eigenvalue_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return lmax(S), a bound for every cardinality. If S has a factor with few rows, S itself is not formed."""
    k = _checked(covariance, cardinality)
    return Estimate(_above_largest_of(covariance), "largest eigenvalue", k, DualWitness("largest eigenvalue"))


def elementary_bounds(covariance: Covariance, cardinalities: Sequence[int]) -> list[Estimate]:
    """Return the lowest of trace, row sums and largest eigenvalue for each cardinality.

    Each row is sorted once and one eigenvalue is computed for all cardinalities. If S is too large to be written out,
    row sums are skipped, and so is the eigenvalue unless S has a factor with few rows.
    """
    sizes = [_checked(covariance, k) for k in cardinalities]
    if not sizes:
        return []
    kinds = []
    if covariance.n_features <= WRITE_OUT_LIMIT:
        kinds.append(_row_sum_bounds(covariance, sizes))
    # The smallest eigenvalue is not needed where the variances alone exceed the row sums.
    variances = np.cumsum(np.sort(covariance.diagonal)[::-1])[np.asarray(sizes) - 1]
    if not kinds or (variances < [bound.value for bound in kinds[0]]).any():
        kinds.append(_trace_bounds(covariance, sizes))
    best = [min(bounds, key=float) for bounds in zip(*kinds, strict=True)]
    if (
        covariance.eigenproblem_size > WRITE_OUT_LIMIT
        or max(sizes) == 1
        or _below_largest(covariance) >= max(map(float, best))
    ):
        return best
    largest = _above_largest_of(covariance)
    witness = DualWitness("largest eigenvalue")
    return [b if b.value <= largest else Estimate(largest, "largest eigenvalue", b.cardinality, witness) for b in best]


def elementary_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return the lowest of trace, row sums and largest eigenvalue for one cardinality."""
    return elementary_bounds(covariance, [cardinality])[0]


def _checked(covariance: Covariance, cardinality: int) -> int:
    n = covariance.n_features
    if not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
    return int(cardinality)


def _refuse_if_large(size: int, function: str) -> None:
    if size > WRITE_OUT_LIMIT:
        raise ValueError(
            f"{function} needs a matrix of size {size}, and the limit is {WRITE_OUT_LIMIT}; "
            "eliminate features first, or use trace_bound."
        )


def _trace_bounds(covariance: Covariance, sizes: Sequence[int]) -> list[Estimate]:
    top = np.sort(covariance.diagonal)[::-1][: max(sizes)]
    sums = np.cumsum(top)
    margins = (
        ROUNDING * EPS * np.cumsum(np.abs(top)) + np.arange(1, len(top) + 1) * ROUNDING * EPS * covariance.rounding_unit
    )
    bounds = []
    for k in sizes:
        # One feature alone needs no semidefinite matrix.
        extra = float(covariance.semidefinite_cost(k - 1)) if k > 1 else 0.0
        value = float(sums[k - 1] + margins[k - 1])
        bounds.append(Estimate(value + extra + 4 * EPS * (abs(value) + extra), "trace", k, TraceWitness()))
    return bounds


def _row_sum_bounds(covariance: Covariance, sizes: Sequence[int]) -> list[Estimate]:
    _refuse_if_large(covariance.n_features, "row_sum_bound")
    most = max(sizes)
    best = np.full(most, -np.inf)
    rounding = ROUNDING * EPS * covariance.rounding_unit
    for block, magnitudes in column_magnitudes(covariance, np.arange(covariance.n_features)):
        variances = covariance.diagonal[block]
        others = np.zeros((most, len(block)))
        others[1:] = np.cumsum(largest_of_columns(magnitudes, most - 1), axis=0)
        sums = variances + others + ROUNDING * EPS * (np.abs(variances) + others)
        best = np.maximum(best, sums.max(axis=1))
    return [Estimate(float(best[k - 1]) + k * rounding, "row sums", k, RowSumWitness()) for k in sizes]


def _below_largest(covariance: Covariance) -> float:
    """Return a lower bound on lmax(S), up to rounding: v'Sv / v'v after a few power steps."""
    v = np.zeros(covariance.n_features)
    v[np.argmax(covariance.diagonal)] = 1.0
    reached = -np.inf
    for _ in range(POWER_STEPS):
        image = covariance.product(v)
        peak = float(np.abs(image).max())
        if not peak > 0:
            break
        image = image / peak
        reached, v = peak * (float(v @ image) / float(v @ v)), image
    return reached


def _above_largest_of(covariance: Covariance) -> float:
    n = covariance.n_features
    _refuse_if_large(covariance.eigenproblem_size, "largest_eigenvalue_bound")
    factor = covariance.factor
    if factor is None:
        if covariance.eigenproblem_size < n:
            # A deflated factor with few rows. It knows how to bound its largest eigenvalue.
            try:
                return proved_upper(covariance, n, DualWitness("largest eigenvalue"))
            except ValueError:
                # Too many components were removed, and S is too large to be written out.
                return np.inf
        S = covariance.submatrix(np.arange(n))
        return estimated_largest_eigenvalue_bound(S) + n * ROUNDING * EPS * covariance.rounding_unit
    # Each inner product is off by EPS/2 for each term, relative to the lengths. The total is at most this share of the
    # trace.
    rounding = float(max(factor.shape)) * EPS * float(np.abs(covariance.diagonal).sum())
    gram = factor @ factor.T if len(factor) < n else factor.T @ factor
    return estimated_largest_eigenvalue_bound(0.5 * (gram + gram.T)) + rounding
