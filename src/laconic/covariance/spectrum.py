"""Extreme eigenvalues and the rank of a covariance of any kind."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from laconic.core.arrays import Floats
from laconic.core.eigenvalues import eigh, eigvalsh, extreme_eigenpair
from laconic.covariance.matrix import Covariance

# Up to this many features LAPACK on the written-out matrix is faster than Lanczos' method on the operator.
WRITE_OUT = 400
# Up to this many rows of a factor, LAPACK on their inner products is faster than Lanczos' method on all features.
ROW_GRAM = 1000
# At a coarse accuracy so many vectors are enough for one eigenvalue. The library's default is 20 products at least.
COARSE, LANCZOS_VECTORS = 1e-4, 12
# Accuracy of the smallest eigenvalue, relative to the largest one of c I - S.
ACCURACY = 1e-6
# The rank is found when at most this share of each variance is left.
LEFT = 1e-10


def largest_eigenpair(covariance: Covariance, *, seed: int = 0, tolerance: float = 0.0) -> tuple[float, Floats]:
    """Return the largest eigenvalue and a unit eigenvector: the dense principal component.

    Parameters
    ----------
    covariance
        The covariance S.
    seed, tolerance
        The seed of the vector that Lanczos' method starts from, and the relative accuracy; 0 means machine precision.

    The covariance keeps what was found: a search begins where the variance of the dense component is reported.
    """
    n, known = covariance.n_features, covariance.leading_pairs
    if (seed, tolerance) not in known:
        known[seed, tolerance] = (
            extreme_eigenpair(covariance.submatrix(np.arange(n)), -1)
            if n <= WRITE_OUT
            else _largest(covariance.product, n, seed, tolerance)
        )
    value, vector = known[seed, tolerance]
    return value, vector.copy()


def largest_eigenpairs(
    covariance: Covariance, count: int, *, seed: int = 0, tolerance: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues, the largest first, and unit eigenvectors as columns: the dense components.

    There are `count` of them, or as many as there are features. The parameters are those of `largest_eigenpair`.
    """
    n = covariance.n_features
    if n <= WRITE_OUT or count >= n - 1:
        values, vectors = eigh(covariance.submatrix(np.arange(n)))
    else:
        values, vectors = _several(covariance.product, n, count, seed, tolerance)
    return values[::-1][:count].copy(), np.ascontiguousarray(vectors[:, ::-1][:, :count])


def largest_eigenvalues(covariance: Covariance, count: int, *, seed: int = 0, tolerance: float = 0.0) -> Floats:
    """Return the largest eigenvalues alone, the largest first. The parameters are those of `largest_eigenpairs`.

    A'A and AA' have the same eigenvalues but zeros. If A has few rows, AA' is small whatever the number of features.
    """
    A = covariance.factor
    if A is None or not count <= len(A) <= min(ROW_GRAM, covariance.n_features):
        return largest_eigenpairs(covariance, count, seed=seed, tolerance=tolerance)[0]
    return eigvalsh(A @ A.T)[::-1][:count].copy()


def smallest_eigenvalue(covariance: Covariance) -> float:
    """Return the smallest eigenvalue of a covariance, or zero if it is semidefinite by construction.

    Lanczos' method works on c I - S, with c twice the largest absolute eigenvalue: the eigenvalue wanted is then the
    largest one. On S itself the accuracy is relative to the eigenvalue. If that is near zero, the method may never
    converge, or stop at a wrong value.
    """
    if covariance.semidefinite:
        return 0.0
    n = covariance.n_features
    if n <= WRITE_OUT:
        return extreme_eigenpair(covariance.submatrix(np.arange(n)), 0)[0]
    shift = 2.0 * abs(_largest(covariance.product, n, 0, ACCURACY)[0])
    return shift - _largest(lambda v: shift * v - covariance.product(v), n, 0, ACCURACY)[0]


def _largest(product: Callable[[Floats], Floats], n: int, seed: int, tolerance: float) -> tuple[float, Floats]:
    values, vectors = _several(product, n, 1, seed, tolerance)
    return float(values[0]), np.ascontiguousarray(vectors[:, 0])


def _several(
    product: Callable[[Floats], Floats], n: int, count: int, seed: int, tolerance: float
) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues, increasing, and their vectors, by Lanczos' method."""
    operator = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), matmat=product, dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(n)
    try:
        few = LANCZOS_VECTORS if tolerance >= COARSE and count == 1 else None
        values, vectors = eigsh(operator, k=count, which="LA", v0=start, tol=tolerance, ncv=few)
    except ArpackNoConvergence as error:
        if len(error.eigenvalues) < count:
            raise
        values, vectors = error.eigenvalues, error.eigenvectors
    order = np.argsort(values)
    return values[order], vectors[:, order]


def rank_at_least(covariance: Covariance, rank: int) -> int:
    """Return min(rank, numerical rank of a covariance), by steps of a Cholesky factorisation with pivoting.

    Each step costs one column of S. Each feature is measured in units of its own standard deviation.
    """
    variances = covariance.diagonal
    varying = variances > 0
    units = np.where(varying, 1.0 / np.sqrt(np.where(varying, variances, 1.0)), 0.0)
    residual = varying.astype(np.float64)
    factor = np.zeros((min(rank, len(residual)), len(residual)))
    for step in range(len(factor)):
        pivot = int(residual.argmax())
        if residual[pivot] <= LEFT:
            return step
        column = covariance.columns(np.array([pivot]))[:, 0] * units * units[pivot]
        column -= factor[:step].T @ factor[:step, pivot]
        factor[step] = column / np.sqrt(residual[pivot])
        residual -= factor[step] ** 2
        residual[pivot] = 0.0
    return len(factor)
