"""Some of the features, without copying the data they came from."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance.base import Covariance
from laconic.covariance.deflated import DeflatedCovariance

# Up to so many features left out, what they add to the length of a column is subtracted exactly.
FEW = 64


class SubsetCovariance(Covariance):
    """The principal submatrix of `base` on the features `keep`, as a view."""

    def __init__(self, base: Covariance, keep: Indices) -> None:
        if isinstance(base, DeflatedCovariance) and not base.factors[keep].any():
            # What was taken out of other features has left these alone.
            base = base.base
        self.base = base
        self.keep = keep
        self.n_features = len(keep)
        self.semidefinite = base.semidefinite

    def _diagonal(self) -> Floats:
        return self.base.diagonal[self.keep]

    def _scale(self) -> float:
        deflated = self.base.scale > np.abs(self.base.diagonal).max()
        return self.base.scale if deflated else super()._scale()

    def _deficit(self) -> float:
        # The eigenvalues of a principal submatrix lie between those of the whole.
        return self.base.deficit

    def _lack(self) -> float:
        return self.base.lack

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
