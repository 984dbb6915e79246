"""The largest eigenvalue of S = A'A after deflation, without an n x n matrix.

A has fewer rows than columns. A'A and AA' have the same largest eigenvalue. After deflation, a matrix with as many
rows as A has serves instead:

    projections   The deflated matrix is ...P_2 P_1 S P_1 P_2..., P_i = I - z_i z_i'. As
                  P_i P_i = I - (2 - |z_i|^2) z_i z_i', the small matrix is AA' less the sum of
                  (2 - |z_i|^2) g_i g_i', g_i = A P_1 ... P_{i-1} z_i.
    S - WCW'      C is diagonal and positive (Hotelling's deflation and Schur complements). For t > 0, by two Schur
                  complements of [[t I + WCW', A'], [A, I]] and Woodbury's formula, lmax(S - WCW') <= t if and only if

                      f(t) = lmax(AA' - AW Z^{-1} W'A') <= t,    Z = t C^{-1} + W'W.

                  f grows with t, so f(t) itself is a bound if f(t) <= t. Any X that is nowhere above Z^{-1} may stand
                  for Z^{-1}: X / |XZ| for any symmetric X and the largest row sum as norm, because the eigenvalues of
                  XZ are those of Z^{1/2} X Z^{1/2}.
"""

import math

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic.core.arrays import Floats
from laconic.core.eigenvalue_proof import NO_BOUND, ProvedEigenvalue
from laconic.core.rounding import down, gamma, grown, sum_up
from laconic.covariance.after_deflation.removal import Removal
from laconic.covariance.after_deflation.semidefinite import after_projections
from laconic.covariance.factor import RowProducts

# The values of t that are tried, relative to the estimate by Lanczos' method. The first almost always succeeds.
ABOVE = (1e-9, 1e-6, 1e-3)


def largest_after_projections(A: Floats, removal: Removal) -> ProvedEigenvalue | None:
    """Bound lmax(A P_1 ... P_j P_j ... P_1 A'), and add the distance from what was really subtracted.

    A step u - z (z'u) has an error of at most gamma_{n+8} (1 + |z|^2) |u|. As |z|^2 <= 2, no P_i makes it larger.
    """
    away, _ = after_projections(removal, 0.0)
    if not math.isfinite(away):
        return None
    directions = [step.direction for step in removal.steps]
    n, rows = A.shape[1], RowProducts(A)
    images, weights, error = [], [], 0.0
    for place, z in enumerate(directions):
        u = z.copy()
        for earlier in directions[:place][::-1]:
            u -= earlier * float(earlier @ u)
        images.append(A @ u)
        weights.append(max(float(down(2.0 - grown(z @ z, n + 1))), 0.0))
        # |u| is below 1.5, so each step has an error of at most five gamma, and A u of 1.5 gamma.
        error += rows.length * (5 * place + 2) * gamma(n + 8)
    value, estimate = rows.largest(np.stack(images, axis=1), np.diag(weights), float(grown(error, len(images) + 4)))
    return ProvedEigenvalue(sum_up([value, away]), estimate)


def largest_after_subtraction(A: Floats, removal: Removal) -> ProvedEigenvalue | None:
    """Bound lmax(A'A - WCW') for a diagonal C; None if C has an entry that is not positive."""
    weights = removal.core.diagonal()
    if not (weights > 0).all():
        return None
    # Scaling by powers of two is exact; after it, squares neither overflow nor vanish.
    powers = np.frexp(np.abs(removal.factors).max(axis=0, initial=0.0))[1]
    W, weights = np.ldexp(removal.factors, -powers), np.ldexp(weights, 2 * powers)
    rows = RowProducts(A)
    top = _estimate(A, W, weights)
    for share in ABOVE:
        t = top * (1 + share)
        if not (np.isfinite(t) and t > 0):
            break
        value, estimate = _at(rows, W, weights, t)
        if value <= t:
            return ProvedEigenvalue(max(value, 0.0), max(estimate, 0.0))
    return rows.whole()


def _at(rows: RowProducts, W: Floats, weights: Floats, t: float) -> ProvedEigenvalue:
    """Return an upper bound on f(t), and its estimate; infinite if Z cannot be inverted."""
    n = len(W)
    # Scale the columns by powers of two, so that the entries of Z are about one.
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->j", W, W)), np.sqrt(t / weights))
    powers = np.frexp(lengths)[1]
    V = np.ldexp(W, -powers)
    Z = V.T @ V + np.diag(np.ldexp(t / weights, -2 * powers))
    try:
        X = np.linalg.inv(Z)
    except np.linalg.LinAlgError:
        # Nearly equal directions, or large weights, make the rounded Z singular.
        return NO_BOUND
    X = 0.5 * (X + X.T)
    X = X / (_row_norm(X, Z, n) * (1 + 1e-12))
    if not _row_norm(X, Z, n) <= 1:
        return NO_BOUND
    span = float(grown(np.sqrt(grown(np.einsum("ij,ij->", V, V), V.size + 1)), 1))
    return rows.largest(rows.factor @ V, X, float(grown(rows.length * span * gamma(n + 8), 8)))


def _row_norm(X: Floats, Z: Floats, n: int) -> float:
    """Return an upper bound on the largest row sum of |XZ|.

    The error of an entry of Z is at most 3 gamma, because the scaled columns of V and t / c_i are at most one.
    """
    r = len(X)
    product = np.abs(X @ Z) + np.abs(X) @ (np.abs(Z) * gamma(r + 4) + 3 * gamma(n + 8))
    return float(grown(product.sum(axis=1).max(), 2 * r + 8))


def _estimate(A: Floats, W: Floats, weights: Floats) -> float:
    n = A.shape[1]

    def product(vector: Floats) -> Floats:
        v = np.ravel(vector)
        return np.asarray(A.T @ (A @ v) - W @ (weights * (W.T @ v)))

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    try:
        return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-11, return_eigenvectors=False)[0])
    except ArpackError:
        return np.inf
