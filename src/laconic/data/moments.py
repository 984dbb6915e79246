"""Means and variances of columns in one pass. Moments can be merged, so that rows may come in parts.

Two ways of adding up give the same result, whatever the parts are. Whole numbers, such as counts, are added as whole
numbers: sums of x and of x^2 below 2^53 are exact. Other numbers are centred by the mean of their own part first, so
that a mean that is much larger than the spread does no harm.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Mask
from laconic.core.rounding import gamma, grown

# Rows are read in blocks of at most this many entries: 4 MB of float64, which stays in the cache of the processor.
BLOCK_ENTRIES = 500_000
# Sums of whole numbers are exact in float64 below this.
EXACT = 2.0**53
# Squares of whole numbers below this are below 2^53.
LARGEST_WHOLE = 2.0**26
# The roundings of one merge, counted generously: two divisions, three products and three sums.
MERGE_ROUNDINGS = 16


@dataclass(frozen=True, eq=False)
class Moments:
    """The weighted mean and the weighted sum of squared deviations of each column.

    Attributes
    ----------
    n_rows
        The number of rows.
    weight, weight_squares
        The sum of the row weights, and of their squares.
    depth
        The largest number of roundings in a row behind a number; see `error`.
    centers, deviations
        The mean of each column and the sum of squared deviations from it. None for whole numbers.
    sums, raw_squares
        The exact sums of x and of x^2 for whole numbers, otherwise None.
    """

    n_rows: int
    weight: float
    weight_squares: float
    depth: int
    centers: Floats | None = None
    deviations: Floats | None = None
    sums: Floats | None = None
    raw_squares: Floats | None = None

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # the user of the variances checks for overflow
    def of(cls, X: Any, weights: Floats | None = None) -> Self:
        """Compute the moments of an array or a sparse matrix. Without weights, each row has weight one."""
        if sp.issparse(X):
            return cls._of_sparse(X, weights)
        step = max(1, BLOCK_ENTRIES // max(X.shape[1], 1))
        parts = (
            cls._of_block(X[i : i + step], None if weights is None else weights[i : i + step])
            for i in range(0, X.shape[0], step)
        )
        return reduce(cls.merge, parts)

    @classmethod
    def _of_block(cls, X: Any, weights: Floats | None) -> Self:
        block = np.asarray(X, dtype=np.float64)
        n = len(block)
        if weights is None and _whole(block, n):
            return cls(n, float(n), float(n), n, None, None, block.sum(axis=0), np.einsum("ij,ij->j", block, block))
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        if total == 0:
            return cls(n, 0.0, 0.0, n, np.zeros(block.shape[1]), np.zeros(block.shape[1]))
        # One correction makes the mean accurate to the last digit, even if it is much larger than the spread.
        means = w @ block / total
        deviations = block - means
        shift = w @ deviations / total
        squares = w @ deviations**2 - total * shift**2
        return cls(n, total, float((w**2).sum()), n, means + shift, np.maximum(squares, 0.0))

    @classmethod
    def _of_sparse(cls, X: Any, weights: Floats | None) -> Self:
        n, p = X.shape
        values = np.asarray(X.data, dtype=np.float64)
        if weights is None and _whole(values, n):
            ones = np.ones(n)
            sums = _with_data(X, values).T @ ones
            return cls(n, float(n), float(n), n, None, None, sums, _with_data(X, values**2).T @ ones)
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
        return cls(n, total, float((w**2).sum()), n, means, squares)

    def merge(self, other: "Moments") -> Self:
        """Return the moments of all rows of this and another part (Chan, Golub and LeVeque 1983)."""
        n_rows, weight = self.n_rows + other.n_rows, self.weight + other.weight
        common = (n_rows, weight, self.weight_squares + other.weight_squares)
        depth = max(self.depth, other.depth) + MERGE_ROUNDINGS
        if self.sums is not None and other.sums is not None:
            assert self.raw_squares is not None
            assert other.raw_squares is not None
            raw_squares = self.raw_squares + other.raw_squares
            if raw_squares.max(initial=0.0) < EXACT:
                return type(self)(*common, depth, None, None, self.sums + other.sums, raw_squares)
        share = other.weight / weight if weight else 0.0
        difference = other.means - self.means
        return type(self)(
            *common,
            depth,
            self.means + share * difference,
            self.squares + other.squares + self.weight * share * difference**2,
        )

    @cached_property
    def means(self) -> Floats:
        """The weighted mean of each column."""
        if self.sums is not None:
            return self.sums / self.weight
        assert self.centers is not None
        return self.centers

    @cached_property
    def squares(self) -> Floats:
        """The weighted sum of squared deviations from the mean, for each column."""
        if self.sums is not None:
            assert self.raw_squares is not None
            first, rest = _product(self.raw_squares, self.weight)
            second, more = _product(self.sums, self.sums)
            return np.asarray(np.maximum((first - second) + (rest - more), 0.0) / self.weight)
        assert self.deviations is not None
        return self.deviations

    @property
    def raw_lengths(self) -> Floats:
        """The root of the sum of squares of each column, about zero."""
        with np.errstate(over="ignore"):  # a sentence about numbers that are too large follows
            return np.asarray(np.sqrt(self.squares + self.weight * self.means**2))

    @property
    def error(self) -> Floats:
        """An upper bound on the rounding error of `squares`.

        The deviations are those from `means` as they are rounded. Whole numbers: the sums are exact, and few roundings
        follow. Otherwise let q be `squares` of a column, r its
        raw length, and g = gamma of the depth. The deviations of a part have relative errors below g. Two means have
        errors of at most g times their size, which moves the square of their difference d by 2 g |d| |m| + (g m)^2.
        Weighted and added over all merges, by the inequality of Cauchy and Schwarz, this is at most
        2 g q^(1/2) r + g^2 r^2; and q <= q^(1/2) r.
        """
        if self.sums is not None:
            return np.asarray(grown(self.squares * gamma(8) + (gamma(4) * self.raw_lengths) ** 2, 8))
        g, own, raw = gamma(self.depth + 32), np.sqrt(self.squares), self.raw_lengths
        return np.asarray(grown(4 * g * own * raw + 4 * (g * raw) ** 2, 16))

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
        if self.sums is not None:
            return np.asarray(self.squares == 0)
        rounding = min(self.depth, self.n_rows) * np.finfo(float).eps * np.abs(self.means)
        with np.errstate(over="ignore"):
            return np.asarray(self.squares <= self.weight * rounding**2)


def _whole(values: Floats, rows: int) -> bool:
    """Whether all entries are whole numbers, and so small that sums of their squares over the rows are exact."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    small = largest < LARGEST_WHOLE and rows * largest**2 < EXACT
    return small and bool((values == np.rint(values)).all())


def _with_data(X: Any, values: Floats) -> Any:
    """Return a sparse matrix with the same pattern and other values."""
    return type(X)((values, X.indices, X.indptr), shape=X.shape)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a product and its rounding error, exactly (Dekker 1971)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    """Return two numbers of 26 digits each whose sum is a."""
    high = a * 134217729.0  # 2^27 + 1
    high = high - (high - a)
    return high, a - high
