"""A covariance less something of low rank, kept as an operator."""

import numpy as np

from laconic._typing import Floats, Indices
from laconic.covariance.base import Covariance


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

    def columns(self, indices: Indices) -> Floats:
        return self.base.columns(indices) - self.factors @ (self.core @ self.factors[indices].T)

    def product(self, block: Floats) -> Floats:
        return self.base.product(block) - self.factors @ (self.core @ (self.factors.T @ block))

    def submatrix(self, indices: Indices) -> Floats:
        rows = self.factors[indices]
        correction = rows @ self.core @ rows.T
        return self.base.submatrix(indices) - 0.5 * (correction + correction.T)

    def submatrices(self, supports: Indices) -> Floats:
        rows = self.factors[supports]
        correction = rows @ self.core @ rows.transpose(0, 2, 1)
        return self.base.submatrices(supports) - 0.5 * (correction + correction.transpose(0, 2, 1))
