"""The questions that a solver may ask a covariance."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.core.eigenvalues import semidefinite_shift_of
from laconic.covariance.enclosure import DenseEnclosure, Enclosure

# Random directions behind an estimate of column lengths, and how many are multiplied at a time. With 48 the estimate is
# off by about a fifth, which is enough to rank columns.
RANDOM_DIRECTIONS, TOGETHER = 48, 8


class Covariance(ABC):
    """A symmetric n x n matrix S that may never be written out.

    A kind of covariance must implement `_diagonal`, `columns` and `product`. The rest follows from these, and a kind
    overrides what it can do better. The attributes below declare the abilities of a kind; code outside this room asks
    for an ability and never for a class.
    """

    n_features: int
    #: Whether S is positive semidefinite by construction. Power methods shift a matrix that is not.
    semidefinite: bool = True
    #: S as an array, if the kind holds it so.
    matrix: Floats | None = None
    #: Whether S, or the covariance that S is derived from, is held as an array, so that writing it out costs little.
    written_out: bool = False
    #: If these are some of the features of a larger covariance: their places there. Otherwise None.
    keep: Indices | None = None
    #: The features whose entries of S are at hand; None for all. Of the others only the variances are known.
    at_hand: Indices | None = None

    @cached_property
    def factor(self) -> Floats | None:
        """A with S = A'A, if the kind holds it."""
        return None

    @property
    def eigenproblem_size(self) -> int:
        """The size of the smallest matrix that gives the largest eigenvalue of S."""
        return self.n_features

    @abstractmethod
    def _diagonal(self) -> Floats:
        """Compute the variances."""

    @abstractmethod
    def columns(self, indices: Indices) -> Floats:
        """Return S[:, indices] as an n x m array."""

    @abstractmethod
    def product(self, block: Floats) -> Floats:
        """Return S times a vector, or times a block of column vectors."""

    @cached_property
    def diagonal(self) -> Floats:
        """The variances S_ii."""
        diagonal = self._diagonal()
        diagonal.flags.writeable = False
        return diagonal

    @property
    def varies(self) -> Mask:
        """Whether each feature varies: it has a variance, or any entry at all if S is indefinite."""
        return np.asarray(self.diagonal > 0 if self.semidefinite else self.column_lengths() > 0)

    @cached_property
    def trace(self) -> float:
        """The total variance."""
        return float(self.diagonal.sum())

    def _rounding_unit(self) -> float:
        return float(np.abs(self.diagonal).max())

    @cached_property
    def rounding_unit(self) -> float:
        """The largest entry, before deflation if there was one: rounding errors of entries are relative to it."""
        return self._rounding_unit()

    def _enclosure(self) -> Enclosure:
        return DenseEnclosure(self.submatrix(np.arange(self.n_features)))

    @cached_property
    def enclosure(self) -> Enclosure:
        """Computed entries of S with bounds on their errors, for proofs."""
        return self._enclosure()

    def _semidefinite_shift(self) -> float:
        if self.semidefinite:
            return 0.0
        if self.n_features > WRITE_OUT_LIMIT:
            return np.inf
        return semidefinite_shift_of(self.submatrix(np.arange(self.n_features)))

    @cached_property
    def semidefinite_shift(self) -> float:
        """A number d >= 0 with S + d I semidefinite, for bounds by the trace of a block; infinite if none is known."""
        return self._semidefinite_shift()

    @property
    def semidefinite_trace(self) -> float:
        """The trace of some semidefinite E with S + E semidefinite; infinite if none is known.

        A block of any size pays it once, where each feature pays the shift.
        """
        return np.inf

    def semidefinite_cost(self, count: Any) -> Any:
        """Return what a bound pays for `count` features (a number or an array) because S need not be semidefinite."""
        return np.minimum(count * self.semidefinite_shift, self.semidefinite_trace)

    def without(self, rule: Any, step: Any) -> "Covariance | None":  # noqa: ARG002 - the contract
        """Return S after one step of a deflation, in a form of the same kind; None if there is none."""
        return None

    def on_hand(self) -> "Covariance":
        """Return S on the features at hand: S itself if all of them are."""
        return self

    def around(self, inner: "Covariance") -> "Covariance":
        """Return S with the part at hand replaced, by its deflation."""
        return inner

    def widened(self, least: float, components: Floats) -> "Covariance | None":  # noqa: ARG002 - the contract
        """Return S with more features at hand, or None if no more are worth it.

        Features with at least the variance `least` matter for a proof. `components` are unit vectors, one in each row;
        features with large entries in their images Sz matter for the search.
        """
        return None

    def digest_parts(self) -> list[Any]:
        """Return texts and arrays that determine S, for `laconic.data.digest.digest_of`."""
        return [type(self).__name__, self.submatrix(np.arange(self.n_features))]

    def column_lengths(self, seed: int = 0) -> Floats:
        """Return the squared length of each column of S, or an estimate from a few random directions."""
        rng = np.random.default_rng(seed)
        lengths = np.zeros(self.n_features)
        for _ in range(0, RANDOM_DIRECTIONS, TOGETHER):
            probes = rng.standard_normal((self.n_features, TOGETHER))
            lengths += (self.product(probes) ** 2).sum(axis=1)
        return lengths / RANDOM_DIRECTIONS

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
