"""A covariance less something of low rank, kept as an operator."""

import numpy as np

from laconic._typing import Floats, Indices
from laconic.covariance.base import WRITE_OUT_LIMIT, Covariance
from laconic.linalg import EPS, deficit_of

# Up to this size a matrix is written out to see how far it is from semidefinite.
WRITE_OUT = 1000


class DeflatedCovariance(Covariance):
    """S - W C W' with W of a few columns and C symmetric and small."""

    def __init__(self, base: Covariance, factors: Floats, core: Floats, *, semidefinite: bool) -> None:
        self.base = base
        self.factors = factors
        self.core = core
        self.n_features = base.n_features
        self.semidefinite = semidefinite

    def _diagonal(self) -> Floats:
        return np.asarray(self.base.diagonal - np.einsum("ij,ij->i", self.factors @ self.core, self.factors))

    def _scale(self) -> float:
        return max(super()._scale(), self.base.scale)

    def _deficit(self) -> float:
        n = self.n_features
        if n > WRITE_OUT and self.semidefinite and self.base.deficit == 0:
            # What is left of a semidefinite matrix is so but for rounding, which is relative to the whole.
            return 64 * EPS * self.base.trace
        return deficit_of(self.submatrix(np.arange(n))) if n <= WRITE_OUT_LIMIT else np.inf

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
