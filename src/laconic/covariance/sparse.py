"""The covariance of sparse rows, centred without being filled in."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.covariance.base import Covariance

# A column is multiplied as a dense vector once so many of its entries are there that
# a sparse product, which costs several times more an entry, loses.
DENSE_SHARE = 0.1
# mean^2 / variance above which E[xy] - E[x]E[y] would lose more than four digits.
CANCELLATION = 1e4
# Entries of a dense working block, 8 MB.
BLOCK_ENTRIES = 1_000_000


class SparseCovariance(Covariance):
    """S = D (X - 1m')' W (X - 1m') D / divisor with X sparse, m the means, D the column scales, W the row weights.

    The centring is never carried out. With y = W (Xv - 1 m'v), the product is S v = (X'y - m 1'y) / divisor: the term
    1'y is zero but for rounding, and subtracting it keeps the error proportional to |m|/sd, where expanding
    E[xy] - E[x]E[y] would square that ratio.
    """

    def __init__(
        self, rows: Any, means: Floats, variances: Floats, scales: Floats, weights: Floats | None, divisor: float
    ) -> None:
        self.rows = rows
        self.means = means
        self.scales = scales
        self.weights = weights
        self.divisor = divisor
        self.n_features = rows.shape[1]
        self._variances = variances * scales**2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(variances > 0, means**2 / variances, 0.0)
        self._well_centered = bool(ratio.max(initial=0.0) <= CANCELLATION)

    def _diagonal(self) -> Floats:
        return self._variances.copy()

    def _weighted(self, block: Floats) -> Floats:
        if self.weights is None:
            return block
        return block * (self.weights if block.ndim == 1 else self.weights[:, None])

    def _back(self, block: Floats) -> Floats:
        """Multiply a block of centred, weighted scores by the transposed, centred, scaled rows."""
        scores = self.rows.T @ block
        scores -= np.multiply.outer(self.means, block.sum(axis=0))
        scores /= self.divisor
        return np.asarray((scores.T * self.scales).T)

    def product(self, block: Floats) -> Floats:
        scaled = (block.T * self.scales).T
        return self._back(self._weighted(self.rows @ scaled - self.means @ scaled))

    @cached_property
    def _by_column(self) -> Any:
        """The rows in an order that gives up single columns: looking for one by rows would pass over all the data."""
        return self.rows.tocsc()

    def _chosen(self, indices: Indices) -> Any:
        # Single precision would carry over into the products.
        return self._by_column[:, indices].astype(np.float64, copy=False)

    def columns(self, indices: Indices) -> Floats:
        chosen = self._chosen(indices)
        if self._well_centered and chosen.nnz <= DENSE_SHARE * chosen.shape[0] * max(chosen.shape[1], 1):
            if self.weights is not None:
                chosen = sp.csc_array(chosen.multiply(self.weights[:, None]))
            total = float(chosen.shape[0]) if self.weights is None else float(self.weights.sum())
            scores = (self.rows.T @ chosen).toarray()
            scores -= total * np.multiply.outer(self.means, self.means[indices])
            scores /= self.divisor
            return np.asarray((scores.T * self.scales).T * self.scales[indices])
        result = np.empty((self.n_features, len(indices)))
        step = max(1, BLOCK_ENTRIES // chosen.shape[0])
        for begin in range(0, len(indices), step):
            part = slice(begin, begin + step)
            block = (chosen[:, part].toarray() - self.means[indices[part]]) * self.scales[indices[part]]
            result[:, part] = self._back(self._weighted(block))
        return result

    def submatrix(self, indices: Indices) -> Floats:
        chosen = self._chosen(indices)
        m = len(indices)
        means, scales = self.means[indices], self.scales[indices]
        if self._well_centered and chosen.nnz <= DENSE_SHARE * chosen.shape[0] * max(m, 1):
            weighted = chosen if self.weights is None else sp.csc_array(chosen.multiply(self.weights[:, None]))
            total = float(chosen.shape[0]) if self.weights is None else float(self.weights.sum())
            gram = (chosen.T @ weighted).toarray() - total * np.multiply.outer(means, means)
        else:
            gram = np.zeros((m, m))
            by_rows = chosen.tocsr()
            step = max(1, BLOCK_ENTRIES // max(m, 1))
            for begin in range(0, chosen.shape[0], step):
                block = by_rows[begin : begin + step].toarray() - means
                weighted = block if self.weights is None else block * self.weights[begin : begin + step, None]
                gram += block.T @ weighted
        gram *= np.multiply.outer(scales, scales) / self.divisor
        return np.asarray(0.5 * (gram + gram.T))
