"""A covariance known through its factor: wide data, where the n x n matrix must not exist."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance.base import Covariance

# Up to so many rows the matrix of their inner products is written out.
ROW_GRAM = 1000


class FactorCovariance(Covariance):
    """S = A'A with A of q rows and n columns, q < n as a rule (the A of the paper's section 2)."""

    def __init__(self, factor: Floats) -> None:
        self.factor = factor
        self.n_features = factor.shape[1]

    def _diagonal(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.factor, self.factor))

    def columns(self, indices: Indices) -> Floats:
        return self.factor.T @ self.factor[:, indices]

    def product(self, block: Floats) -> Floats:
        return self.factor.T @ (self.factor @ block)

    def column_lengths(self, seed: int = 0) -> Floats:
        if len(self.factor) > ROW_GRAM:
            return super().column_lengths(seed)
        # |A'a_i|^2 = a_i'(AA')a_i, and AA' is small; in parts, so as not to hold a second factor.
        gram = self.factor @ self.factor.T
        parts = np.array_split(self.factor, max(1, self.n_features // 500), axis=1)
        return np.concatenate([np.einsum("ij,ij->j", part, gram @ part) for part in parts])

    def submatrix(self, indices: Indices) -> Floats:
        chosen = self.factor[:, indices]
        block = chosen.T @ chosen
        return 0.5 * (block + block.T)
