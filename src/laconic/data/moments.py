"""Means and variances of columns in one pass. Moments can be merged, so that rows may come in parts."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Mask

# Rows are read in blocks of at most this many entries: 4 MB of float64, which stays in the cache of the processor.
BLOCK_ENTRIES = 500_000


@dataclass(frozen=True, eq=False)
class Moments:
    """The weighted mean and the weighted sum of squared deviations of each column."""

    n_rows: int
    weight: float  # the sum of the row weights
    weight_squares: float  # the sum of their squares
    means: Floats  # the weighted mean of each column
    squares: Floats  # the weighted sum of squared deviations from the mean, for each column

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # the user of the variances checks for overflow
    def of(cls, X: Any, weights: Floats | None = None) -> Self:
        """Compute the moments of an array or a sparse matrix. Without weights, each row has weight one."""
        if sp.issparse(X):
            return cls._of_sparse(X, weights)
        step = max(1, BLOCK_ENTRIES // max(X.shape[1], 1))
        w = np.ones(X.shape[0]) if weights is None else weights
        return reduce(cls.merge, (cls._of_block(X[i : i + step], w[i : i + step]) for i in range(0, len(w), step)))

    @classmethod
    def _of_block(cls, X: Any, w: Floats) -> Self:
        block = np.asarray(X, dtype=np.float64)
        total = float(w.sum())
        if total == 0:
            return cls(len(block), 0.0, 0.0, np.zeros(block.shape[1]), np.zeros(block.shape[1]))
        # One correction makes the mean accurate to the last digit, even if it is much larger than the spread.
        means = w @ block / total
        deviations = block - means
        shift = w @ deviations / total
        squares = w @ deviations**2 - total * shift**2
        return cls(len(block), total, float((w**2).sum()), means + shift, np.maximum(squares, 0.0))

    @classmethod
    def _of_sparse(cls, X: Any, weights: Floats | None) -> Self:
        n, p = X.shape
        triples = X.tocoo(copy=False)
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        sums, present, squares, counts = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p, dtype=np.intp)
        slices = [slice(i, i + BLOCK_ENTRIES) for i in range(0, triples.nnz, BLOCK_ENTRIES)]
        for part in slices:
            own, columns = w[triples.row[part]], triples.col[part]
            sums += np.bincount(columns, weights=own * triples.data[part], minlength=p)
            present += np.bincount(columns, weights=own, minlength=p)
            counts += np.bincount(columns, minlength=p)
        means = sums / total if total else sums
        for part in slices:
            own, columns = w[triples.row[part]], triples.col[part]
            squares += np.bincount(columns, weights=own * (triples.data[part] - means[columns]) ** 2, minlength=p)
        # In a full column no entry is absent, but two sums of the same weights may differ by rounding.
        absent = np.where(counts < n, np.maximum(total - present, 0.0), 0.0)
        squares += absent * means**2
        return cls(n, total, float((w**2).sum()), means, squares)

    def merge(self, other: "Moments") -> Self:
        """Return the moments of all rows of this and another part (Chan, Golub and LeVeque 1983)."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        difference = other.means - self.means
        return type(self)(
            self.n_rows + other.n_rows,
            weight,
            self.weight_squares + other.weight_squares,
            self.means + share * difference,
            self.squares + other.squares + self.weight * share * difference**2,
        )

    @property
    def divisor(self) -> float:
        """The divisor of the variance: W - (sum of w^2) / W with W the sum of the weights, n - 1 if all are one.

        The variance is then unbiased if a weight says how reliable a row is, and it does not change if all weights are
        multiplied by the same number.
        """
        return self.weight - self.weight_squares / self.weight if self.weight else 0.0

    @property
    def variances(self) -> Floats:
        """The variance of each column."""
        return self.squares / self.divisor

    @property
    def constant(self) -> Mask:
        """Whether the spread of each column is at most the rounding error of its mean."""
        rounding = self.n_rows * np.finfo(float).eps * np.abs(self.means)
        with np.errstate(over="ignore"):
            return self.squares <= self.weight * rounding**2
