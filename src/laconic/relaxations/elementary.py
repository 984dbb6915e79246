"""Cheap upper bounds on z'Sz over unit z with at most k nonzeros. Each costs a sort or an eigenvalue.

    trace            the sum of the k largest variances                        (S semidefinite)
    row sums         max_i S_ii + the k - 1 largest |S_ij| of the row          (Gershgorin's circles)
    eigenvalue       lmax(S)

The trace bound of a matrix that is not semidefinite needs an addition. With S + d I semidefinite,
lmax(S_I) + d <= Tr S_I + k d, hence (k - 1) d is added. With E and S + E semidefinite, Tr E is enough.

Row sums are good on correlation matrices and poor where the variances decay. There the trace is good for small k and
lmax(S) for large k. `elementary_bound` takes the lowest of the three.

Projection on the spectrahedron {X >= 0, Tr X = 1}, for matrices that change little from call to call.
`laconic.relaxations.row_kernels` has the same method in compiled code, and reads the constants here.
"""

from collections.abc import Sequence
from enum import Enum

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import EPS, LANCZOS_ABOVE, lanczos, largest_eigenvalue
from laconic.core.monitor import Stop, threads_for
from laconic.covariance import Covariance, DenseCovariance
from laconic.covariance.matrix import column_magnitudes, largest_of_columns
from laconic.proof import proved_upper
from laconic.proof.gate import Estimate
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import RowSumWitness, TraceWitness

# Restarts of Lanczos' method at most. A matrix that needs more is faster with LAPACK.
LANCZOS_RESTARTS = 60


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


def project(W: Floats, basis: Floats, accuracy: float) -> tuple[Floats, Floats, Floats]:
    """Return F, with FF' the projection of W, the squared lengths of its columns, and the basis for the next call.

    The projection lowers all eigenvalues by one number, so that the positive ones sum to one. Only the eigenvectors of
    the positive ones matter; near a solution these are one or two. They are computed by Rayleigh-Ritz on the span of
    the last basis (n x 0 at first) and its image. This is repeated until the residual is below `accuracy`. The result
    lies in the spectrahedron for any accuracy.
    """

    def weights_of(values: Floats) -> Floats:
        """Return the positive entries of the nearest point of the simplex to decreasing values."""
        level, used, total = 0.0, 0, -1.0
        for i in range(len(values)):
            total += values[i]
            if (i + 1) * values[i] <= total:
                break
            level, used = total / (i + 1), i + 1
        return values[:used] - level

    n, b = W.shape[0], basis.shape[1]
    if n > WHOLE and 0 < 6 * b < n:
        for _ in range(SWEEPS):
            span = np.ascontiguousarray(np.linalg.qr(np.concatenate((basis, W @ basis), axis=1))[0])
            images = W @ span
            inner = span.T @ images
            values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
            values = np.ascontiguousarray(values[::-1])
            weights = weights_of(values)
            used = len(weights)
            # The span has twice as many vectors as the basis, so the rank can grow.
            if used + SPARE > len(values):
                break
            rotation = np.ascontiguousarray(vectors[:, ::-1][:, : used + SPARE])
            basis = span @ rotation
            residual = (images @ rotation)[:, :used] - basis[:, :used] * values[:used]
            if np.sqrt((residual**2).sum(axis=0).max()) <= accuracy:
                # Large eigenvalues leave a rounding error in the sum, which must be one.
                weights /= weights.sum()
                return basis[:, :used] * np.sqrt(weights), weights, basis
    values, vectors = np.linalg.eigh(W)
    weights = weights_of(np.ascontiguousarray(values[::-1]))
    used = len(weights)
    weights /= weights.sum()
    basis = np.ascontiguousarray(vectors[:, ::-1][:, : used + SPARE])
    return basis[:, :used] * np.sqrt(weights), weights, basis


class SpectrahedronProjection:
    """A projection that keeps its own basis from call to call. See `project` for the method."""

    def __init__(self) -> None:
        self._basis: Floats | None = None

    def begin_with(self, F: Floats) -> None:
        """Take the columns of F, and some random ones to spare, as the first guess of the eigenvectors."""
        spare = np.random.default_rng(0).standard_normal((len(F), SPARE))
        self._basis = np.concatenate([F, spare], axis=1)

    def grown(self, n: int, places: Indices) -> "SpectrahedronProjection":
        """Return a projection for matrices of size n, in which the present rows are at these places."""
        result = SpectrahedronProjection()
        if self._basis is not None:
            result._basis = np.zeros((n, self._basis.shape[1]))
            result._basis[places] = self._basis
        return result

    def __call__(self, W: Floats, accuracy: float) -> tuple[Floats, Floats]:
        """Return F, with FF' the projection of W, and the squared lengths of its columns in decreasing order."""
        basis = np.empty((len(W), 0)) if self._basis is None else self._basis
        F, weights, self._basis = project(W, basis, accuracy)
        return F, weights


# The error allowed for a sum, in units of EPS times the sum of the absolute values. Sums here are computed pairwise or
# have few terms, so it is generous.
ROUNDING_FACTOR = 64
# So many power steps give a lower bound on lmax(S). If it is above the other bounds, lmax(S) is not computed.
POWER_STEPS = 3


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
    covariance = as_covariance(covariance)
    return _trace_bounds(covariance, [_checked(covariance, cardinality)])[0]


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
    return _row_sum_bounds(covariance, [_checked(covariance, cardinality)])[0]


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


def elementary_bound(covariance: Covariance | Floats, cardinality: int) -> Estimate:
    """Return the lowest of trace, row sums and largest eigenvalue for one cardinality.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import elementary_bound
    >>> elementary_bound(load_pitprops().covariance, 5).kind
    'row sums'
    """
    return elementary_bounds(as_covariance(covariance), [cardinality])[0]


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
        ROUNDING_FACTOR * EPS * np.cumsum(np.abs(top))
        + np.arange(1, len(top) + 1) * ROUNDING_FACTOR * EPS * covariance.rounding_unit
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
    rounding = ROUNDING_FACTOR * EPS * covariance.rounding_unit
    for block, magnitudes in column_magnitudes(covariance, np.arange(covariance.n_features)):
        variances = covariance.diagonal[block]
        others = np.zeros((most, len(block)))
        others[1:] = np.cumsum(largest_of_columns(magnitudes, most - 1), axis=0)
        sums = variances + others + ROUNDING_FACTOR * EPS * (np.abs(variances) + others)
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
        return estimated_largest_eigenvalue_bound(S) + n * ROUNDING_FACTOR * EPS * covariance.rounding_unit
    # Each inner product is off by EPS/2 for each term, relative to the lengths. The total is at most this share of the
    # trace.
    rounding = float(max(factor.shape)) * EPS * float(np.abs(covariance.diagonal).sum())
    gram = factor @ factor.T if len(factor) < n else factor.T @ factor
    return estimated_largest_eigenvalue_bound(0.5 * (gram + gram.T)) + rounding


def estimated_largest_eigenvalue_bound(M: Floats) -> float:
    """Return the largest eigenvalue of a symmetric matrix, plus a margin for the rounding errors of LAPACK.

    The margin is a multiple of eps times the Frobenius norm. LAPACK is expected to keep to it, but this is no theorem:
    `laconic.core.eigenvalues.proved_largest_eigenvalue` has the rigorous number.
    """
    largest = float(np.abs(M).max(initial=0.0))
    if largest == 0:
        return 0.0
    # The squares in a norm would overflow or vanish without this scaling.
    scaled = M / largest
    bound = _bound_by_lanczos(scaled) if len(M) > LANCZOS_ABOVE else None
    if bound is not None:
        return largest * (bound + EPS * abs(bound))
    return largest_eigenvalue(M) + 16 * EPS * largest * float(np.linalg.norm(scaled))


def _bound_by_lanczos(M: Floats) -> float | None:
    """Return a number a little above the result of Lanczos' method; None if a Cholesky factor does not confirm it.

    If the factorisation of A ends without an error, lmin(A) >= -c, c a little above (n + 1) eps/2 times the trace of A
    (Rump). So A = bound I - M is factorised less this much.
    """
    n = len(M)
    with threads_for(n):
        estimate = lanczos(M, 1e-8, LANCZOS_RESTARTS)
        if estimate is None:
            return None
        # Twice the rounding errors that the factorisation below allows for.
        bound = estimate + 2 * (n + 2) * EPS * (n * abs(estimate) + float(np.abs(M.diagonal()).sum()))
        A = -M
        A.flat[:: n + 1] += bound
        A.flat[:: n + 1] -= (n + 2) * EPS * float(np.abs(A.diagonal()).sum())
        try:
            np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return None
    return bound
