"""The positive semidefinite matrix that is nearest to a symmetric one, in the Frobenius norm.

Without conditions it is S with its negative eigenvalues set to zero. A matrix with a unit diagonal is taken for a
correlation matrix, and so shall be the result (Higham 2002):

    minimise |X - S|_F / 2    X semidefinite, X_ii = 1.

The dual problem has no constraints: minimise f(y) = |(S + Diag(y))_+|_F^2 / 2 - sum y, where A_+ is A without its
negative eigenvalues. Its gradient is diag((S + Diag(y))_+) - 1, and at the minimum (S + Diag(y))_+ is the X wanted.
Newton's method on f (Qi and Sun 2006) converges quadratically. Alternating projections with Dykstra's correction, the
method of Higham, find the same X in hundreds of steps.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from laconic.core.arrays import Floats
from laconic.core.linalg import eigh
from laconic.core.threads import threads_for

# A diagonal entry is one if it is no farther from it than this.
UNIT_DIAGONAL = 1e-9
# Newton's method ends when no diagonal entry is farther from one than this. It takes about ten steps; more than the
# limit mean that rounding errors stand in the way, and the best point is taken.
CONVERGED, MOST_STEPS = 1e-13, 60
# A step is halved until the dual objective falls by this share of what its slope promises.
DESCENT, MOST_HALVINGS = 1e-4, 30


def nearest_semidefinite(matrix: Floats) -> Floats:
    """Return the nearest semidefinite matrix, with a unit diagonal if the matrix has one.

    Features that are zero stay so, and do not count: they are constant, and the others may be correlations.
    """
    used = matrix.any(axis=0)
    if not used.all():
        near = np.zeros_like(matrix)
        if used.any():
            near[np.ix_(used, used)] = nearest_semidefinite(matrix[np.ix_(used, used)])
        return near
    if has_unit_diagonal(matrix):
        return nearest_correlation(matrix)
    return _positive_part(*eigh(matrix))


def has_unit_diagonal(matrix: Floats) -> bool:
    """Say whether all diagonal entries are one, up to rounding."""
    return bool((np.abs(matrix.diagonal() - 1.0) <= UNIT_DIAGONAL).all())


def nearest_correlation(matrix: Floats) -> Floats:
    """Return the nearest matrix that is semidefinite and has a unit diagonal."""
    n = len(matrix)
    with threads_for(n):
        y = np.zeros(n)
        values, vectors, objective, slope = _dual(matrix, y)
        for _ in range(MOST_STEPS):
            residual = float(np.abs(slope).max())
            if residual <= CONVERGED:
                break
            step = _newton_step(values, vectors, slope)
            length, descent = 1.0, float(slope @ step)
            for _ in range(MOST_HALVINGS):
                trial = _dual(matrix, y + length * step)
                if trial[2] <= objective + DESCENT * length * descent or np.abs(trial[3]).max() < residual / 2:
                    break
                length /= 2
            else:
                break  # no descent: the slope is rounding
            y = y + length * step
            values, vectors, objective, slope = trial
        X = _positive_part(values, vectors)
        # The diagonal is one up to rounding. Scaling makes it exact, and keeps the matrix semidefinite.
        scales = 1.0 / np.sqrt(X.diagonal())
        X = X * scales * scales[:, None]
    X.flat[:: n + 1] = 1.0
    return 0.5 * (X + X.T)


def _dual(matrix: Floats, y: Floats) -> tuple[Floats, Floats, float, Floats]:
    """Return the eigenvalues and eigenvectors of S + Diag(y), and the dual objective with its gradient at y."""
    shifted = matrix.copy()
    shifted.flat[:: len(y) + 1] += y
    values, vectors = eigh(shifted)
    positive = np.maximum(values, 0.0)
    diagonal = np.einsum("ij,j,ij->i", vectors, positive, vectors)
    return values, vectors, 0.5 * float(positive @ positive) - float(y.sum()), diagonal - 1.0


def _newton_step(values: Floats, vectors: Floats, slope: Floats) -> Floats:
    """Return -V^-1 slope, V h = diag(P (W o P'Diag(h)P) P'), by conjugate gradients.

    P holds the eigenvectors. W_ab is one for two positive eigenvalues, zero for two negative ones, and a / (a - b) for
    a > 0 >= b. A small multiple of the identity keeps V definite.
    """
    positive = np.maximum(values, 0.0)
    apart = values[:, None] - values
    both = (values[:, None] > 0) & (values > 0)
    W = np.where(apart == 0, both, (positive[:, None] - positive) / np.where(apart == 0, 1.0, apart))
    damping = min(1e-3, 0.1 * float(np.linalg.norm(slope)))

    def product(h: Floats) -> Floats:
        inner = W * (vectors.T @ (h.reshape(-1, 1) * vectors))
        return np.asarray(np.einsum("ij,ij->i", vectors @ inner, vectors) + damping * h.ravel())

    operator = LinearOperator((len(slope), len(slope)), matvec=product, dtype=np.float64)
    step, _ = cg(operator, -slope, rtol=min(0.1, float(np.linalg.norm(slope))), maxiter=200)
    return np.asarray(step)


def _positive_part(values: Floats, vectors: Floats) -> Floats:
    """Return a matrix without its negative eigenvalues."""
    kept = values > 0
    part = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    return np.asarray(0.5 * (part + part.T))
