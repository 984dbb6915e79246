"""The largest eigenvalue of S = A'A with fewer rows than columns, deflated or not, with no n x n matrix.

A'A and AA' have the same largest eigenvalue. Of what is left of S the matrix of as many rows as A has is:

    projections   ...P_2 P_1 S P_1 P_2..., P_i = I - z_i z_i'. As P_i P_i = I - (2 - |z_i|^2) z_i z_i', it is AA' less
                  the sum of (2 - |z_i|^2) g_i g_i', g_i = A P_1 ... P_{i-1} z_i.
    S - WCW'      with C diagonal and positive (Hotelling's deflation and Schur complements). For t > 0, by two Schur
                  complements of [[t I + WCW', A'], [A, I]] and Woodbury's formula, lmax(S - WCW') <= t if and only if

                      f(t) = lmax(AA' - AW Z^{-1} W'A') <= t,    Z = t C^{-1} + W'W.

                  f grows with t, so f(t) is a bound as well wherever it is not above t. In place of Z^{-1} any X will
                  do that is nowhere above it: X / |XZ| for any symmetric X and the norm of largest row sums, as the
                  eigenvalues of XZ are those of Z^{1/2} X Z^{1/2}.
"""

import math

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic.core.arrays import Floats
from laconic.core.rigor import down, gamma, grown, sum_up
from laconic.covariance.enclosure_defect import Removal
from laconic.covariance.row_products import Rows

# How far above what Lanczos' method finds the bound of S - WCW' is tried.
ABOVE = (1e-9, 1e-6, 1e-3)


def largest_left(A: Floats, removal: Removal) -> tuple[float, float] | None:
    """Return an upper bound on the largest eigenvalue that is left, and its plain estimate; None if none is known.

    Parameters
    ----------
    A
        The factor of what it is taken out of.
    removal
        What is taken out.
    """
    steps = removal.projections()
    if steps is not None:
        away = removal.after_projections(steps, 0.0)
        if not np.isfinite(away):
            return None
        value, estimate = _after_projections(A, [z for _, z, _, _ in steps])
        return sum_up([value, away]), estimate
    if not removal.positive():
        return None
    return _after_positive(Rows(A), removal.factors, removal.core.diagonal())


def _after_projections(A: Floats, directions: list[Floats]) -> tuple[float, float]:
    """Bound lmax(A P_1 ... P_j P_j ... P_1 A').

    A step u - z (z'u) makes an error of gamma_{n+8} (1 + |z|^2) |u| at most, and |z|^2 <= 2, so no P_i makes it larger.
    """
    n, rows = A.shape[1], Rows(A)
    images, weights, error = [], [], 0.0
    for place, z in enumerate(directions):
        u = z.copy()
        for earlier in directions[:place][::-1]:
            u -= earlier * float(earlier @ u)
        images.append(A @ u)
        weights.append(max(float(down(2.0 - grown(z @ z, n + 1))), 0.0))
        # |u| is below 1.5, so each step is off by five gamma at most, and A u by 1.5 gamma.
        error += rows.length * (5 * place + 2) * gamma(n + 8)
    return rows.largest(np.stack(images, axis=1), np.diag(weights), float(grown(error, len(images) + 4)))


def _after_positive(rows: Rows, W: Floats, weights: Floats) -> tuple[float, float]:
    """Bound lmax(A'A - WCW') for positive weights, the diagonal of C."""
    # By powers of two, so that squares neither overflow nor vanish.
    powers = np.frexp(np.abs(W).max(axis=0, initial=0.0))[1]
    W, weights = np.ldexp(W, -powers), np.ldexp(weights, 2 * powers)
    top = _estimate(rows.factor, W, weights)
    for share in ABOVE:
        t = top * (1 + share)
        if not (np.isfinite(t) and t > 0):
            break
        value, estimate = _at(rows, W, weights, t)
        if value <= t:
            return max(value, 0.0), max(estimate, 0.0)
    return rows.whole()


def _at(rows: Rows, W: Floats, weights: Floats, t: float) -> tuple[float, float]:
    """Return an upper bound on f(t), and its plain estimate; infinite if Z cannot be inverted."""
    n = len(W)
    # By powers of two the columns are brought to where Z has entries of about one.
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->j", W, W)), np.sqrt(t / weights))
    powers = np.frexp(lengths)[1]
    V = np.ldexp(W, -powers)
    Z = V.T @ V + np.diag(np.ldexp(t / weights, -2 * powers))
    try:
        X = np.linalg.inv(Z)
    except np.linalg.LinAlgError:
        # Directions so nearly alike, or weights so large, that in rounding Z is singular.
        return math.inf, math.inf
    X = 0.5 * (X + X.T)
    X = X / (_row_norm(X, Z, n) * (1 + 1e-12))
    if not _row_norm(X, Z, n) <= 1:
        return math.inf, math.inf
    span = float(grown(np.sqrt(grown(np.einsum("ij,ij->", V, V), V.size + 1)), 1))
    return rows.largest(rows.factor @ V, X, float(grown(rows.length * span * gamma(n + 8), 8)))


def _row_norm(X: Floats, Z: Floats, n: int) -> float:
    """Return an upper bound on the largest row sum of |XZ|.

    No entry of Z is off by more than 3 gamma, as the columns of V and t / c_i, so scaled, are at most one.
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
