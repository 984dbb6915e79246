"""A covariance less something of low rank, kept as an operator."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS, deficit_of
from laconic.covariance.base import WRITE_OUT_LIMIT, Covariance

# Up to this size a matrix is written out to see how far it is from semidefinite.
SMALL = 400


class DeflatedCovariance(Covariance):
    """S - W C W' with W of a few columns and C symmetric and small.

    For Schur complements the preimages are known: a vector z for each column w of W, with w = Tz but for rounding, T
    being S less what stands before it in W C W'. From these it is seen that what is left is semidefinite.
    """

    def __init__(
        self,
        base: Covariance,
        factors: Floats,
        core: Floats,
        *,
        semidefinite: bool,
        preimages: Floats | None = None,
    ) -> None:
        self.base = base
        self.factors = factors
        self.core = core
        self.preimages = preimages
        self.n_features = base.n_features
        self.semidefinite = semidefinite

    def _diagonal(self) -> Floats:
        return np.asarray(self.base.diagonal - np.einsum("ij,ij->i", self.factors @ self.core, self.factors))

    def _scale(self) -> float:
        return max(super()._scale(), self.base.scale)

    def _deficit(self) -> float:
        n = self.n_features
        if n > SMALL and self.base.deficit == 0:
            if self.semidefinite:
                # What is left of a semidefinite matrix is so but for rounding, which is relative to the whole.
                return 64 * EPS * self.base.trace
            if np.isfinite(self.lack):
                return self.lack
        return deficit_of(self.submatrix(np.arange(n))) if n <= WRITE_OUT_LIMIT else np.inf

    def _lack(self) -> float:
        """Return what Hotelling's deflations of a semidefinite matrix leave it to lack.

        With c = z'Sz and t = |Sz - cz|, S - c zz' has one negative eigenvalue at most. In the plane of z and any w
        orthogonal to it the matrix is at least [[0, w'Sz], [w'Sz, (w'Sz)^2 / c]], so the eigenvalue is at least
        -2 t / (t/c + (t^2/c^2 + 4)^(1/2)); and -c. The next z is taken out of a matrix that E has been added to.
        """
        own = self.core.diagonal()
        unit = np.abs(np.einsum("ij,ij->j", self.factors, self.factors) - 1) <= 1e-9
        if not (unit.all() and (own > 0).all() and np.array_equal(self.core, np.diag(own)) and self.base.deficit == 0):
            return np.inf
        total = 64 * EPS * self.base.trace
        for place, (z, c) in enumerate(zip(self.factors.T, own.tolist(), strict=True)):
            before = self.factors[:, :place]
            rest = self.base.product(z) - before @ (own[:place] * (before.T @ z)) - c * z
            off = abs(float(z @ rest))
            t, b = float(np.linalg.norm(rest)) + total, c + off + total
            total += min(off + 2 * t / (t / b + float(np.hypot(t / b, 2))), c)
        return total * (1 + 1e-9)

    def columns(self, indices: Indices) -> Floats:
        return self.base.columns(indices) - self.factors @ (self.core @ self.factors[indices].T)

    def product(self, block: Floats) -> Floats:
        return self.base.product(block) - self.factors @ (self.core @ (self.factors.T @ block))

    def column_lengths(self, seed: int = 0) -> Floats:
        weighted = self.factors @ self.core
        mixed = np.einsum("ij,ij->i", self.base.product(weighted), self.factors)
        own = np.einsum("ij,jk,ik->i", self.factors, weighted.T @ weighted, self.factors)
        return np.asarray(np.maximum(self.base.column_lengths(seed) - 2 * mixed + own, 0.0))

    def submatrix(self, indices: Indices) -> Floats:
        rows = self.factors[indices]
        correction = rows @ self.core @ rows.T
        return self.base.submatrix(indices) - 0.5 * (correction + correction.T)

    def submatrices(self, supports: Indices) -> Floats:
        rows = self.factors[supports]
        correction = rows @ self.core @ rows.transpose(0, 2, 1)
        return self.base.submatrices(supports) - 0.5 * (correction + correction.transpose(0, 2, 1))
