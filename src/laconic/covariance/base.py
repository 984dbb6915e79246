"""The contract between data and solvers."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from laconic._typing import Floats, Indices

# Random directions an estimate is made from.
PROBES = 48
TOGETHER = 8


class Covariance(ABC):
    """A symmetric n x n matrix S that may never be written out.

    A kind of covariance implements `_diagonal`, `columns` and `product`; the rest follows from them,
    and is overridden where a kind can do better.
    """

    n_features: int

    #: Whether S is positive semidefinite by construction. Power methods shift a matrix that is not.
    semidefinite: bool = True

    @abstractmethod
    def _diagonal(self) -> Floats:
        """Compute the variances."""

    @abstractmethod
    def columns(self, indices: Indices) -> Floats:
        """Return S[:, indices] as an n x m array."""

    @abstractmethod
    def product(self, block: Floats) -> Floats:
        """Return S times a vector, or a block of column vectors."""

    @cached_property
    def diagonal(self) -> Floats:
        """The variances S_ii."""
        diagonal = self._diagonal()
        diagonal.flags.writeable = False
        return diagonal

    @cached_property
    def trace(self) -> float:
        """The total variance."""
        return float(self.diagonal.sum())

    def column_lengths(self, seed: int = 0) -> Floats:
        """Return the squared length of each column of S, or an estimate from a few random directions."""
        rng = np.random.default_rng(seed)
        lengths = np.zeros(self.n_features)
        for _ in range(0, PROBES, TOGETHER):
            probes = rng.standard_normal((self.n_features, TOGETHER))
            lengths += (self.product(probes) ** 2).sum(axis=1)
        return lengths / PROBES

    def submatrix(self, indices: Indices) -> Floats:
        """Return the principal submatrix S[indices, indices], exactly symmetric."""
        block = self.columns(indices)[indices]
        return 0.5 * (block + block.T)

    def submatrices(self, supports: Indices) -> Floats:
        """Return a stack of principal submatrices, one for each row of `supports`."""
        union, position = np.unique(supports, return_inverse=True)
        block = self.submatrix(union)
        place = position.reshape(supports.shape)
        return block[place[:, :, None], place[:, None, :]]
