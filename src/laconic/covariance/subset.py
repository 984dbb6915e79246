"""Some of the features of a covariance, without a copy of the data."""

from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance.contract import Covariance
from laconic.covariance.deflated import DeflatedCovariance
from laconic.covariance.enclosure import Enclosure
from laconic.covariance.factor import FactorEnclosure

# If at most this many features are left out, the length of a column is exact: the columns left out are subtracted.
FEW = 64


class SubsetCovariance(Covariance):
    """The principal submatrix of `base` on the features `keep`, as a view."""

    def __init__(self, base: Covariance, keep: Indices) -> None:
        if isinstance(base, DeflatedCovariance) and not base.factors[keep].any():
            # The components that were taken out have no loadings on these features.
            base = base.base
        self.base = base
        self.keep: Indices = keep
        self.n_features = len(keep)
        self.semidefinite = base.semidefinite
        self.written_out = base.written_out
        if base.at_hand is not None:
            self.at_hand = np.flatnonzero(np.isin(keep, base.at_hand))

    def on_hand(self) -> Covariance:
        if self.base.at_hand is None or self.at_hand is None:
            return self
        return SubsetCovariance(self.base.on_hand(), np.searchsorted(self.base.at_hand, self.keep[self.at_hand]))

    @cached_property
    def factor(self) -> Floats | None:
        return None if self.base.factor is None else self.base.factor[:, self.keep]

    @property
    def eigenproblem_size(self) -> int:
        return min(self.base.eigenproblem_size, self.n_features)

    def _diagonal(self) -> Floats:
        return self.base.diagonal[self.keep]

    def _rounding_unit(self) -> float:
        deflated = self.base.rounding_unit > np.abs(self.base.diagonal).max()
        return self.base.rounding_unit if deflated else super()._rounding_unit()

    def _enclosure(self) -> Enclosure:
        return self.base.enclosure.part(self.keep) if self.factor is None else FactorEnclosure(self.factor)

    def _semidefinite_shift(self) -> float:
        # The smallest eigenvalue of a principal submatrix is at least that of the whole.
        return self.base.semidefinite_shift

    @property
    def semidefinite_trace(self) -> float:
        return self.base.semidefinite_trace

    def digest_parts(self) -> list[Any]:
        return [type(self).__name__, self.base, self.keep]

    def columns(self, indices: Indices) -> Floats:
        return self.base.columns(self.keep[indices])[self.keep]

    def product(self, block: Floats) -> Floats:
        whole = np.zeros((self.base.n_features, *block.shape[1:]))
        whole[self.keep] = block
        return self.base.product(whole)[self.keep]

    def column_lengths(self, seed: int = 0) -> Floats:
        left_out = np.setdiff1d(np.arange(self.base.n_features), self.keep)
        if len(left_out) > FEW:
            return super().column_lengths(seed)
        missing = (self.base.columns(left_out)[self.keep] ** 2).sum(axis=1)
        return np.asarray(np.maximum(self.base.column_lengths(seed)[self.keep] - missing, 0.0))

    def submatrix(self, indices: Indices) -> Floats:
        return self.base.submatrix(self.keep[indices])

    def submatrices(self, supports: Indices) -> Floats:
        return self.base.submatrices(self.keep[supports])
