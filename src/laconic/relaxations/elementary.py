"""Cheap upper bounds on z'Sz over unit z with at most k nonzeros. Each costs a sort or an eigenvalue.

    trace            the sum of the k largest variances                        (S semidefinite)
    row sums         max_i S_ii + the k - 1 largest |S_ij| of the row          (Gershgorin's circles)
    eigenvalue       lmax(S)

Row sums are good on correlation matrices and poor where the variances decay. There the trace is good for small k and
lmax(S) for large k. `elementary_bound` takes the lowest of the three. `laconic.proof.witness_plain` and
`laconic.proof.witness_dual` compute them, with what an S that is not semidefinite adds to the trace.

Projection on the spectrahedron {X >= 0, Tr X = 1}, for matrices that change little from call to call.
`laconic.relaxations.row_kernels` has the same method in compiled code, and reads the constants here.
"""

from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats
from laconic.core.eigenvalues import proved_largest_eigenvalue
from laconic.core.monitor import Stop
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof.gate import Estimate
from laconic.proof.witness import Witness, no_features
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import RowSumWitness, TraceWitness


class RelaxationStatus(Enum):
    """How the solve of a relaxation ended; the value of each member is the advice for the user.

    It says nothing about a support. Every bound of a relaxation is valid, no matter how the solve ended.

    Examples
    --------
    >>> from laconic.relaxations import RelaxationStatus
    >>> print(RelaxationStatus.ITERATION_LIMIT)
    iteration limit reached: raise max_iterations
    """

    CONVERGED = "converged: the gap between the primal and the dual value is below the tolerance"
    TARGET_REACHED = "target reached: the bound is no larger than the value given as known"
    STALLED = "stopped early: the bound was falling too slowly; lower least_progress"
    PRECISION_LIMIT = "rounding limit reached: floating point cannot close the gap any further; raise tolerance"
    ITERATION_LIMIT = "iteration limit reached: raise max_iterations"
    TIME_LIMIT = "time limit reached: the bound holds, but it may be loose; give the monitor a larger time_limit"
    INTERRUPTED = "interrupted: the bound holds, but it may be loose"

    def __str__(self) -> str:
        return str(self.value)


def final_status(stopped: Stop | None, otherwise: RelaxationStatus) -> RelaxationStatus:
    """Return TIME_LIMIT or INTERRUPTED if the monitor stopped the solve, else the status of the solve itself."""
    return otherwise if stopped is None else RelaxationStatus[stopped.name]


# Up to this size, a full eigendecomposition takes less time than an update of a few eigenvectors.
WHOLE = 48
# Eigenvectors that are updated beyond those in use. A new one is then known before it is needed.
SPARE = 3
# Updates before a full eigendecomposition is computed in their place.
SWEEPS = 3


def leading_pairs(
    M: Floats, basis: Floats, used_of: Callable[[Floats], int], accuracy: float
) -> tuple[Floats, Floats, Floats]:
    """Return the largest eigenvalues that are used, with their vectors, and the basis for the next call.

    `used_of` counts them, given falling eigenvalues. Those of a large matrix that changes little are few. They are
    computed by Rayleigh-Ritz on the span of the last basis (n x 0 at first) and its image. This is repeated until the
    residual is below `accuracy`.
    """
    n, b = len(M), basis.shape[1]
    if n > WHOLE and 0 < 6 * b < n:
        for _ in range(SWEEPS):
            span = np.linalg.qr(np.concatenate((basis, M @ basis), axis=1))[0]
            images = M @ span
            values, turn = np.linalg.eigh(span.T @ images)
            values, turn = values[::-1], turn[:, ::-1]
            used = used_of(values)
            # The span has twice as many vectors as the basis, so their number can grow.
            if used + SPARE > len(values):
                break
            basis, image = span @ turn[:, : used + SPARE], images @ turn[:, :used]
            residual = image - basis[:, :used] * values[:used]
            if np.sqrt((residual**2).sum(axis=0).max(initial=0.0)) <= accuracy:
                return values[:used], basis[:, :used], basis
    values, vectors = np.linalg.eigh(M)
    values, vectors = values[::-1], vectors[:, ::-1]
    used = used_of(values)
    return values[:used], vectors[:, :used], np.ascontiguousarray(vectors[:, : used + SPARE])


def project(W: Floats, basis: Floats, accuracy: float) -> tuple[Floats, Floats, Floats]:
    """Return F, with FF' the projection of W, the squared lengths of its columns, and the basis for the next call.

    The projection lowers all eigenvalues by one number, so that the positive ones sum to one. Only the eigenvectors of
    the positive ones matter; near a solution these are one or two. The result lies in the spectrahedron for any
    accuracy.
    """

    def used_of(values: Floats) -> int:
        """Return the number of positive entries of the nearest point of the simplex to falling values."""
        return max(int(np.count_nonzero(np.arange(1, len(values) + 1) * values > np.cumsum(values) - 1.0)), 1)

    values, vectors, basis = leading_pairs(W, basis, used_of, accuracy)
    weights = values - (values.sum() - 1.0) / len(values)
    # Large eigenvalues leave a rounding error in the sum, which must be one.
    weights = weights / weights.sum()
    return vectors * np.sqrt(weights), weights, basis


def as_covariance(S: Covariance | Floats) -> Covariance:
    """Return a matrix that may be given as an array."""
    return S if isinstance(S, Covariance) else DenseCovariance(np.asarray(S, dtype=np.float64), semidefinite=False)


def trace_bound(covariance: Covariance | Floats, cardinality: int) -> Estimate:
    """Return the sum of the k largest variances. If S is semidefinite by construction, only its diagonal is needed.

    The bound is infinite if S is indefinite and too large to find its smallest eigenvalue.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import trace_bound
    >>> round(trace_bound(load_pitprops().covariance, 5).value, 6)
    5.0
    """
    return _bound(covariance, cardinality, TraceWitness())


def row_sum_bound(covariance: Covariance | Floats, cardinality: int) -> Estimate:
    """Return the largest, over i, of S_ii + the k - 1 largest |S_ij|, for any symmetric S.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import row_sum_bound
    >>> round(row_sum_bound(load_pitprops().covariance, 5).value, 6)
    3.674
    """
    covariance = as_covariance(covariance)
    _refuse_if_large(covariance.n_features, "row_sum_bound")
    return _bound(covariance, cardinality, RowSumWitness())


def largest_eigenvalue_bound(covariance: Covariance | Floats, cardinality: int) -> Estimate:
    """Return lmax(S), a bound for every cardinality. If S has a factor with few rows, S itself is not formed.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import largest_eigenvalue_bound
    >>> round(largest_eigenvalue_bound(load_pitprops().covariance, 5).value, 4)
    4.2186
    """
    covariance = as_covariance(covariance)
    _refuse_if_large(covariance.eigenproblem_size, "largest_eigenvalue_bound")
    return _bound(covariance, cardinality, DualWitness("largest eigenvalue"))


def elementary_bound(covariance: Covariance | Floats, cardinality: int) -> Estimate:
    """Return the lowest of trace, row sums and largest eigenvalue.

    If S is too large to be written out, row sums are skipped, and so is the eigenvalue unless S has a factor with few
    rows.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import elementary_bound
    >>> elementary_bound(load_pitprops().covariance, 5).kind
    'row sums'
    """
    covariance = as_covariance(covariance)
    bounds = [trace_bound(covariance, cardinality)]
    if covariance.n_features <= WRITE_OUT_LIMIT:
        bounds.append(row_sum_bound(covariance, cardinality))
    if covariance.eigenproblem_size <= WRITE_OUT_LIMIT:
        bounds.append(largest_eigenvalue_bound(covariance, cardinality))
    return min(bounds, key=float)


def elementary_bounds(covariance: Covariance, cardinalities: Sequence[int]) -> list[Estimate]:
    """Return the `elementary_bound` of each cardinality. The rows are sorted and the eigenvalue is computed once."""
    found = {k: elementary_bound(covariance, k) for k in sorted(cardinalities, reverse=True)}
    return [found[k] for k in cardinalities]


def _bound(covariance: Covariance | Floats, cardinality: int, witness: Witness) -> Estimate:
    covariance = as_covariance(covariance)
    n = covariance.n_features
    if not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
    value, _ = witness.bound(covariance, int(cardinality), no_features())
    return Estimate(value, witness.kinds()[0], int(cardinality), witness)


def _refuse_if_large(size: int, function: str) -> None:
    if size > WRITE_OUT_LIMIT:
        raise ValueError(
            f"{function} needs a matrix of size {size}, and the limit is {WRITE_OUT_LIMIT}; "
            "eliminate features first, or use trace_bound."
        )


def estimated_largest_eigenvalue_bound(M: Floats) -> float:
    """Return a proved bound on the largest eigenvalue of a matrix that is symmetric up to rounding."""
    return proved_largest_eigenvalue(0.5 * (M + M.T)).value
