"""The contract between data and solvers."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import deficit_of

# Random directions an estimate is made from.
PROBES = 48
TOGETHER = 8
# Up to so many features a matrix that may be indefinite is written out to see how far.
WRITE_OUT_LIMIT = 6000


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

    def _scale(self) -> float:
        return float(np.abs(self.diagonal).max())

    @cached_property
    def scale(self) -> float:
        """What the rounding of an entry is relative to: the largest variance, after deflation that before."""
        return self._scale()

    def _deficit(self) -> float:
        if self.semidefinite:
            return 0.0
        return deficit_of(self.submatrix(np.arange(self.n_features))) if self.n_features <= WRITE_OUT_LIMIT else np.inf

    @cached_property
    def deficit(self) -> float:
        """An upper bound on -lmin(S), zero for a matrix that is semidefinite by construction.

        The trace of a block bounds its eigenvalues only if none is negative. S plus the deficit on its diagonal is
        semidefinite, so bounds that rest on this hold for every S once they pay for it.
        """
        return self._deficit()

    def _lack(self) -> float:
        return np.inf

    @cached_property
    def lack(self) -> float:
        """The trace of some semidefinite E with S + E semidefinite, infinite if none is known.

        What the trace of a block pays at most, whatever its size, to bound its eigenvalues.
        """
        return self._lack()

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
