"""The covariance of sparse rows. The rows are never centred, because that would fill in the zeros."""

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.rounding import TINY, gamma, grown
from laconic.covariance.contract import Covariance
from laconic.covariance.enclosure import Enclosure

# Columns with more than this share of nonzero entries are multiplied as dense arrays: a sparse product costs several
# times more for each entry.
DENSE_SHARE = 0.1
# If mean^2 / variance of a column is above this, E[xy] - E[x]E[y] loses more than four digits, and blocks of rows are
# centred instead.
CANCELLATION = 1e4
# For proofs the same loss must be smaller: if uncentred columns are this many times longer (in squared length) than
# centred ones, blocks of rows are centred.
PROOF_CANCELLATION = 100.0
# S is kept once all of its columns were computed, for at most this many features (72 MB). Every component then uses it.
KEPT_FEATURES = 3000


class SparseCovariance(Covariance):
    """S = D (X - 1m')' W (X - 1m') D / divisor with X sparse, m the means, D the column scales, W the row weights.

    The product is S v = (X'y - m 1'y) / divisor with y = W (Xv - 1 m'v). The term 1'y is zero up to rounding.
    Subtracting it keeps the error proportional to ``|m|/sd``; expanding E[xy] - E[x]E[y] would square that ratio.
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
        self._all_columns: Floats | None = None
        self._variances = variances * scales**2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(variances > 0, means**2 / variances, 0.0)
        self._well_centered = bool(ratio.max(initial=0.0) <= CANCELLATION)

    def _diagonal(self) -> Floats:
        return self._variances.copy()

    def _enclosure(self) -> Enclosure:
        return SparseEnclosure(self)

    def digest_parts(self) -> list[Any]:
        weights = np.ones(self.rows.shape[0]) if self.weights is None else self.weights
        return [type(self).__name__, self.rows, self.means, self.scales, weights, self.divisor]

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
    def by_column(self) -> Any:
        """The data stored by column: reading a column of data stored by row would pass over all entries."""
        return self.rows.tocsc()

    def _chosen(self, indices: Indices) -> Any:
        # Products of single-precision numbers would be single precision too.
        return self.by_column[:, indices].astype(np.float64, copy=False)

    def columns(self, indices: Indices) -> Floats:
        if self._all_columns is None and len(indices) == self.n_features <= KEPT_FEATURES:
            self._all_columns = self._columns(np.arange(self.n_features))
        return self._columns(indices) if self._all_columns is None else self._all_columns[:, indices]

    def _columns(self, indices: Indices) -> Floats:
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
        if self._all_columns is not None:
            block = self._all_columns[indices[:, None], indices]
            return np.asarray(0.5 * (block + block.T))
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


class SparseEnclosure(Enclosure):
    """The enclosure of a `SparseCovariance`.

    With t = 1'w and b = X'w the middle of S is X'WX - bm' - mb' + t mm'. In columns i and j no term is above p_i p_j,
    p_i = (sum_r w_r x_ri^2)^(1/2) + t^(1/2) |m_i|, and N rows make at most N + 12 roundings: the error is at most
    gamma_{N+12} p_i p_j. If p is much longer than the centred columns, some rows at a time are centred and written
    out, and the error is that of a factor.
    """

    known_semidefinite_shift = 0.0

    def __init__(self, covariance: SparseCovariance) -> None:
        self._rows = covariance.by_column.astype(np.float64, copy=False)
        count, self.n = self._rows.shape
        self._means = covariance.means
        self._weights = np.ones(count) if covariance.weights is None else covariance.weights
        self._scales = covariance.scales / math.sqrt(covariance.divisor)
        self._rounding = gamma(count + 24)
        self._total = float(self._weights.sum())
        self._sums = self._rows.T @ self._weights
        squares = self._rows.copy()
        squares.data **= 2
        seconds = squares.T @ self._weights
        centred = seconds - 2 * self._sums * self._means + self._total * self._means**2
        self._expanded = centred * self._scales**2
        raw = np.sqrt(seconds) + math.sqrt(self._total) * np.abs(self._means)
        self._raw = np.asarray(grown(raw * np.abs(self._scales), count + 8))
        own = np.asarray(grown(np.abs(self._expanded) + 2 * self._rounding * self._raw**2, 8))
        self._own = np.asarray(grown(np.sqrt(own), 1))
        raw_size, own_size = float(self._raw.max(initial=0.0)), float(self._own.max(initial=0.0))
        self._center_blocks = raw_size**2 > PROOF_CANCELLATION * own_size**2

    @cached_property
    def size(self) -> Floats:
        return self._own

    @cached_property
    def spread(self) -> Floats:
        lengths = self._own if self._center_blocks else self._raw
        return np.asarray(grown(lengths * math.sqrt(self._rounding), 3)) + math.sqrt(TINY)

    @cached_property
    def diagonal(self) -> Floats:
        return super().diagonal if self._center_blocks else self._expanded

    def block(self, rows: Indices, columns: Indices) -> Floats:
        left, right = self._rows[:, rows], self._rows[:, columns]
        if self._center_blocks:
            result = np.zeros((len(rows), len(columns)))
            step = max(1, BLOCK_ENTRIES // max(len(rows), len(columns)))
            left, right = left.tocsr(), right.tocsr()
            for begin in range(0, left.shape[0], step):
                part = slice(begin, begin + step)
                weighted = (right[part].toarray() - self._means[columns]) * self._weights[part, None]
                result += (left[part].toarray() - self._means[rows]).T @ weighted
        else:
            result = (left.T @ sp.csc_array(right.multiply(self._weights[:, None]))).toarray()
            result -= np.multiply.outer(self._sums[rows], self._means[columns])
            result -= np.multiply.outer(self._means[rows], self._sums[columns])
            result += self._total * np.multiply.outer(self._means[rows], self._means[columns])
        return np.asarray(result * np.multiply.outer(self._scales[rows], self._scales[columns]))
