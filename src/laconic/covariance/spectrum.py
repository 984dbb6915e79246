"""Extreme eigenvalues and the rank of a covariance, through the contract alone."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from laconic.core.arrays import Floats
from laconic.core.linalg import extreme_eigenpair
from laconic.covariance.base import Covariance

# Below this size LAPACK on the written-out matrix is faster than Lanczos on the operator.
WRITE_OUT = 400


def largest_eigenpair(covariance: Covariance, *, seed: int = 0, tolerance: float = 0.0) -> tuple[float, Floats]:
    """Return the largest eigenvalue and a unit eigenvector: the dense principal component.

    Parameters
    ----------
    covariance
        The matrix.
    seed
        Of the Lanczos start vector.
    tolerance
        Relative accuracy of the eigenvalue; 0 means machine precision.
    """
    n = covariance.n_features
    if n <= WRITE_OUT:
        return extreme_eigenpair(covariance.submatrix(np.arange(n)), -1)
    return _largest(covariance.product, n, seed, tolerance)


def smallest_eigenvalue(covariance: Covariance, *, seed: int = 0, tolerance: float = 1e-6) -> float:
    """Return the smallest eigenvalue, or zero if the matrix is semidefinite by construction.

    Lanczos works on c I - S, where c is twice the largest eigenvalue in absolute value. The eigenvalue wanted is then
    the largest one and far from zero. On S itself the required accuracy is relative to the eigenvalue. If that is near
    zero, as for a singular matrix, Lanczos may never converge, or stop at a wrong value.

    Parameters
    ----------
    covariance
        The matrix S, which may be indefinite.
    seed
        Seed of the Lanczos start vector.
    tolerance
        Accuracy, relative to the largest eigenvalue of c I - S.
    """
    if covariance.semidefinite:
        return 0.0
    n = covariance.n_features
    if n <= WRITE_OUT:
        return extreme_eigenpair(covariance.submatrix(np.arange(n)), 0)[0]
    shift = 2.0 * abs(_largest(covariance.product, n, seed, tolerance)[0])
    return shift - _largest(lambda v: shift * v - covariance.product(v), n, seed, tolerance)[0]


def _largest(product: Callable[[Floats], Floats], n: int, seed: int, tolerance: float) -> tuple[float, Floats]:
    operator = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), matmat=product, dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(n)
    try:
        values, vectors = eigsh(operator, k=1, which="LA", v0=start, tol=tolerance)
    except ArpackNoConvergence as error:
        if not len(error.eigenvalues):
            raise
        values, vectors = error.eigenvalues, error.eigenvectors
    return float(values[0]), np.ascontiguousarray(vectors[:, 0])


def rank_at_least(covariance: Covariance, rank: int, *, tolerance: float = 1e-10) -> int:
    """Return min(rank, numerical rank of S) by as many steps of a Cholesky factorisation with pivoting.

    Each step costs one column of S. The features are taken in units of their own standard deviation, and it stops when
    what is left of each variance is at most `tolerance` of it.
    """
    variances = covariance.diagonal
    varying = variances > 0
    units = np.where(varying, 1.0 / np.sqrt(np.where(varying, variances, 1.0)), 0.0)
    residual = varying.astype(np.float64)
    factor = np.zeros((min(rank, len(residual)), len(residual)))
    for step in range(len(factor)):
        pivot = int(residual.argmax())
        if residual[pivot] <= tolerance:
            return step
        column = covariance.columns(np.array([pivot]))[:, 0] * units * units[pivot]
        column -= factor[:step].T @ factor[:step, pivot]
        factor[step] = column / np.sqrt(residual[pivot])
        residual -= factor[step] ** 2
        residual[pivot] = 0.0
    return len(factor)
