"""A covariance that is written out."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import deficit_of
from laconic.covariance.base import Covariance


class DenseCovariance(Covariance):
    """A symmetric array, taken as it is: validation belongs to whoever received it from the user."""

    def __init__(self, matrix: Floats, *, semidefinite: bool = True) -> None:
        self.matrix = matrix
        self.n_features = len(matrix)
        self.semidefinite = semidefinite

    def _diagonal(self) -> Floats:
        return self.matrix.diagonal().copy()

    def _deficit(self) -> float:
        # A matrix from the user is accepted with eigenvalues a millionth below zero.
        return deficit_of(self.matrix)

    def columns(self, indices: Indices) -> Floats:
        return self.matrix[:, indices]

    def product(self, block: Floats) -> Floats:
        return self.matrix @ block

    def column_lengths(self, seed: int = 0) -> Floats:  # noqa: ARG002 - the contract
        return np.asarray(np.einsum("ij,ij->j", self.matrix, self.matrix))

    def submatrix(self, indices: Indices) -> Floats:
        return self.matrix[indices[:, None], indices]

    def submatrices(self, supports: Indices) -> Floats:
        return self.matrix[supports[:, :, None], supports[:, None, :]]
