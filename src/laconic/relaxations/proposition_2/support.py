"""The bounds that one support gives by Proposition 2.

See `conditions` beside this file for the mathematics. The directions are w_i = f_i a_i - h_i x with x = Az, z the
component of the support, and f_i = p_i, h_i = rho where p_i^2 > rho, f_i = 1, h_i = p_i elsewhere. All their inner
products are entries of S and of Sz,

    w_i'w_j = f_i f_j S_ij - f_i p_i h_j - h_i f_j p_j + h_i h_j,

and sum_i Y_i has the largest eigenvalue of the matrix (c_i c_j)^(1/2) w_i'w_j. No factor of S is needed, neither to
find a bound nor to check it. If S = A'A and A has fewer rows than columns, the smaller matrix of the rows is used.
"""

from typing import TypeAlias

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import extreme_eigenpair
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance import Covariance
from laconic.covariance import Covariance
from laconic.proof import prove
from laconic.proof.estimate import Estimate
from laconic.proof.gate import ProofError
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.relaxations.proposition_2.rho_search import Estimates, descend

# If S + d I is semidefinite only for d above this share of the largest entry of S, then d is added to its diagonal.
# A smaller d is rounding.
INDEFINITE = 1e-10
# A search stops unless it can lower the known bound by this share. A smaller improvement is not visible.
WORTHWHILE = 1e-3
# Above these sizes Lanczos' method finds an eigenvalue faster than LAPACK, for a matrix and for a factor.
LAPACK_MATRIX, LAPACK_FACTOR = 400, 200


class MatrixProducts:
    """S + shift I = A'A, written out. `norms` is its diagonal, |a_i|^2; the shift is zero unless S is indefinite."""

    def __init__(self, S: Floats, semidefinite_shift: float = 0.0) -> None:
        self._S, self.shift = S, 0.0
        if semidefinite_shift > INDEFINITE * float(np.abs(S).max(initial=0.0)):
            self.shift, self._S = semidefinite_shift, S.copy()
            self._S.flat[:: len(S) + 1] += semidefinite_shift
        self.norms = self._S.diagonal()

    def block(self, support: Indices) -> Floats:
        """Return the entries of some features."""
        return self._S[support[:, None], support]

    def image(self, features: Indices, weights: Floats) -> Floats:
        """Return the product with a sparse vector."""
        return np.asarray(self._S[:, features] @ weights)

    def largest(
        self, active: Indices, f: Floats, h: Floats, p: Floats, _: tuple[Indices, Floats], /
    ) -> tuple[float, Floats]:
        """Return about the largest eigenvalue and eigenvector of the matrix of w_i'w_j, from S and p = Sz."""
        S = self._S if len(active) == len(self._S) else self._S[active[:, None], active]
        outer = (0.5 * h - f * p)[:, None] * h
        M = f[:, None] * f * S + (outer + outer.T)
        found = _by_lanczos(M) if len(M) > LAPACK_MATRIX else None
        return extreme_eigenpair(M, -1) if found is None else found


class FactorProducts:
    """S = A'A with fewer rows in A than features. See `MatrixProducts` for the attributes."""

    def __init__(self, A: Floats) -> None:
        self._A, self.shift = A, 0.0
        self.norms = np.einsum("ij,ij->j", A, A)

    def block(self, support: Indices) -> Floats:
        """Return the entries of some features."""
        chosen = self._A[:, support]
        return np.asarray(chosen.T @ chosen)

    def image(self, features: Indices, weights: Floats) -> Floats:
        """Return the product with a sparse vector."""
        return np.asarray((self._A[:, features] @ weights) @ self._A)

    def largest(
        self, active: Indices, f: Floats, h: Floats, _: Floats, z: tuple[Indices, Floats], /
    ) -> tuple[float, Floats]:
        """Return about the largest eigenvalue and eigenvector of the matrix of w_i'w_j, from A and x = Az."""
        A = self._A if len(active) == self._A.shape[1] else self._A[:, active]
        V = A * f - np.outer(self._A[:, z[0]] @ z[1], h)
        if min(V.shape) > LAPACK_FACTOR:
            operator = LinearOperator((V.shape[1],) * 2, matvec=lambda y: V.T @ (V @ y), dtype=np.float64)
            found = _by_lanczos(operator)
            if found is not None:
                return found
        if len(V) > V.shape[1]:
            return extreme_eigenpair(V.T @ V, -1)
        value, u = extreme_eigenpair(V @ V.T, -1)
        y = u @ V
        length = float(np.linalg.norm(y))
        return value, y / length if length > 0 else y


Products: TypeAlias = MatrixProducts | FactorProducts


def products_of(covariance: Covariance) -> Products:
    """Return the products of a covariance, by its factor if that has fewer rows than features."""
    n = covariance.n_features
    if covariance.factor is not None and (len(covariance.factor) < n or n > WRITE_OUT_LIMIT):
        return FactorProducts(covariance.factor)
    S = covariance.submatrix(np.arange(n))
    return MatrixProducts(S, 0.0 if covariance.semidefinite else covariance.semidefinite_shift)


class Conditions:
    """The bounds that a support, which is not empty, gives for every cardinality."""

    def __init__(self, products: Products, support: Indices) -> None:
        self._products, self._support = products, support
        self.value, z = extreme_eigenpair(products.block(support), -1)
        self._estimates: Estimates | None = None
        if self.value > 0:
            self._weights = z / np.sqrt(self.value)
            self.p = products.image(support, self._weights)
            self._estimates = Estimates.of(products.norms, self.p * self.p, len(support))

    def promised(self, k: int) -> float:
        """Return a cheap estimate; the bound is rarely below it."""
        if self._estimates is None:
            return np.inf
        return float(self._estimates.promised([k])[0]) - self._products.shift

    def promised_path(self, ks: list[int]) -> Floats:
        """Return the cheap estimates for several cardinalities, with the shift still included."""
        return np.full(len(ks), np.inf) if self._estimates is None else self._estimates.promised(ks)

    def search(
        self, k: int, *, evaluations: int, limit: float = np.inf, start: tuple[float, tuple[float, float]] | None = None
    ) -> tuple[list[tuple[float, float]], tuple[float, float]]:
        """Search for the penalty of the lowest bound at k, from a penalty and its gap.

        By default these are the ones of the lowest estimate. Return the pairs (rho, lmax(sum_i Y_i)) evaluated, and the
        gap that they lie in. The search stops when no bound, with the shift still included, can be below the limit.
        """
        if start is None:
            if self._estimates is None:
                return [], (0.0, 0.0)
            rho, low, high = self._estimates.gap(k)
            start = rho, (low, high)
        rho, gap = start
        return descend(self._tangent, k, rho, gap, evaluations, limit), gap

    def best(self, k: int, known: float = np.inf, *, evaluations: int = 2) -> tuple[float, Proposition2Witness] | None:
        """Return an estimate of the lowest bound and its witness; None if no bound is clearly below a known one."""
        shift = self._products.shift
        found, _ = self.search(k, evaluations=evaluations, limit=known * (1 - WORTHWHILE) + shift)
        if not found:
            return None
        rho, largest = min(found, key=lambda pair: pair[1] + pair[0] * k)
        estimate = largest + rho * k - shift
        return (estimate, self.witness(rho)) if estimate < known else None

    def witness(self, rho: float) -> Proposition2Witness:
        """Return the witness of the bound at a penalty."""
        return Proposition2Witness(self._support, self._weights, rho)

    def _tangent(self, rho: float) -> tuple[float, float]:
        """Return lmax(sum_i Y_i) and its derivative in rho.

        Let y be the eigenvector of the matrix of inner products, and u = sum_i c_i^(1/2) y_i w_i / largest^(1/2) that
        of sum_i Y_i. Then u'w_i = (largest / c_i)^(1/2) y_i, and the derivative of each c_i (u'w_i)^2 is explicit.
        """
        active = np.flatnonzero(self._products.norms > rho)
        if not len(active):
            return 0.0, 0.0
        s, p = self._products.norms[active], self.p[active]
        p2 = p * p
        inside, excess = p2 > rho, p2 - rho
        c = np.where(inside, 1.0, rho * (s - rho) / np.where(inside, 1.0, s - p2)) / np.abs(excess)
        root = np.sqrt(c)
        f, h = np.where(inside, p, 1.0) * root, np.where(inside, rho, p) * root
        largest, y = self._products.largest(active, f, h, p, (self._support, self._weights))
        share = largest * (y * y)
        along = float(y @ (f * p - h))
        by_inside = share * c - 2.0 * along * (y * root)
        by_outside = share * (1 / rho - 1 / (s - rho) - 1 / np.abs(excess))
        return largest, float(np.where(inside, by_inside, by_outside).sum())


def proved_bound(covariance: Covariance, k: int, witness: Proposition2Witness) -> Estimate:
    """Return the proved bound of a witness, an `UpperBound`, or an infinite estimate if it proves nothing."""
    try:
        return prove(covariance, k, witness)
    except ProofError:
        return Estimate(np.inf, "Proposition 2", k, witness)


def _by_lanczos(M: Floats | LinearOperator) -> tuple[float, Floats] | None:
    """Return about the largest eigenvalue and its unit eigenvector, or None if Lanczos' method does not converge."""
    # A fixed start that is neither an eigenvector nor orthogonal to one.
    first = np.cos(np.arange(1.0, M.shape[0] + 1))
    try:
        values, vectors = eigsh(M, k=1, which="LA", v0=first, tol=1e-7)
    except ArpackError:
        return None
    return float(values[0]), np.asarray(vectors[:, 0])
