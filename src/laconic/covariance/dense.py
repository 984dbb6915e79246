"""A covariance that is held as an array."""

from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import semidefinite_shift_of
from laconic.covariance.contract import Covariance
from laconic.covariance.enclosure import DenseEnclosure, Enclosure


class DenseCovariance(Covariance):
    """A symmetric array, semidefinite or not. It is not checked here, but where it came from the user."""

    written_out = True

    def __init__(self, matrix: Floats, *, semidefinite: bool = True) -> None:
        self.matrix: Floats = matrix
        self.n_features = len(matrix)
        self.semidefinite = semidefinite

    def _diagonal(self) -> Floats:
        return self.matrix.diagonal().copy()

    def _rounding_unit(self) -> float:
        # Only a semidefinite matrix has its largest entry on the diagonal.
        return super()._rounding_unit() if self.semidefinite else float(np.abs(self.matrix).max())

    def _enclosure(self) -> Enclosure:
        return DenseEnclosure(self.matrix)

    def _semidefinite_shift(self) -> float:
        # A user's matrix may be slightly indefinite, so the shift is computed and not assumed to be zero.
        return semidefinite_shift_of(self.matrix)

    def digest_parts(self) -> list[Any]:
        return [self.matrix]

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
