"""The exact covariance of rows in memory: how rows are centred and scaled, and the kind of covariance they give.

Let m be the exact means of the columns, s the exact scales, and D the divisor. S = s (X - 1m')' W (X - 1m') s / D. The
means and scales that are computed are rounded. `Standard` bounds what this changes.

- Let k_i bound the error of the mean of column i, times (W / D)^(1/2) s_i. Centring by other means changes S_ij by at
  most k_i k_j, because the deviations from the exact mean add up to zero.
- If the scale of column i has a relative error of at most r_i, S_ij changes by at most r_i + r_j + r_i r_j times
  |S_ij|. If all r_i are at least f, that is at most 3 r_i r_j / f: the vector (3 / f)^(1/2) r_i bounds the change. A
  smaller r_i is replaced by f.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import BLOCK_ENTRIES, WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.core.eigenvalues import ProvedEigenvalue
from laconic.core.monitor import threads_for
from laconic.core.rounding import TINY, gamma, grown, sum_up, up
from laconic.covariance.matrix import DIAGONAL_BLOCK, ROWS_OF_A_PART, Covariance, DenseCovariance, FactorCovariance
from laconic.data.passes import DENSE_SHARE, MOST_TOGETHER, Moments, gram
from laconic.data.tables import check_magnitude

# Up to this many columns the matrix is written out, if there are at least as many rows. It costs about as much as one
# leading singular vector of the data, and makes all later work cheaper.
WRITE_OUT_COLUMNS = 2048
# With at most this share of nonzero entries, all columns of S are computed faster from sparse products.
SPARSE_SHARE = 0.03
# If uncentred columns are at most this many times longer (in squared length) than centred ones, sparse columns are
# multiplied as they are, and the products of means subtracted. Otherwise that would lose digits, and blocks of rows are
# centred first.
CANCELLATION = 100.0
# S of sparse rows is kept once all of its columns were computed, for at most this many features (72 MB). Every
# component then uses it.
KEPT_FEATURES = 3000
# Rows of at most this many numbers, zeros included, may be written out: 400 MB.
SMALL_NUMBERS = 50_000_000
# A column counts as constant if the relative error of its variance exceeds this: its scale is not known.
LARGEST_ERROR = 0.5
# Two containers of the same rows differ by at most this many times the rounding error of their sums.
CONTAINERS = 8


@dataclass(frozen=True, eq=False)
class Standard:
    """How rows are centred and scaled, z = (x - means) * scales, and how exact that is."""

    means: Floats  # zero without centring
    scales: Floats  # one without scaling, and for constant columns
    constant: Mask  # columns that do not vary, up to rounding; their entries of S are zero
    variances: Floats  # before scaling
    divisor: float  # of S
    weight: float  # the sum of the weights
    own: Floats  # upper bounds on the root of S_ii
    raw: Floats  # the same without centring
    apart: Floats  # the rounding of means and scales changes entry (i, j) of S by at most apart_i apart_j
    slack: float = 0.0  # how far bounds of two containers of these rows may differ

    @property
    def units(self) -> Floats:
        """The numbers that products of centred columns are multiplied by, once for each column."""
        return self.scales / math.sqrt(self.divisor)

    def on(self, columns: Indices) -> "Standard":
        """Return the same for some of the columns."""
        arrays = ("means", "scales", "constant", "variances", "own", "raw", "apart")
        return replace(self, **{name: getattr(self, name)[columns] for name in arrays})

    @property
    def expands(self) -> bool:
        """Whether products of uncentred columns are accurate enough."""
        return float(self.raw.max(initial=0.0)) ** 2 <= CANCELLATION * float(self.own.max(initial=0.0)) ** 2

    def spread(self, lengths: Floats, depth: int) -> Floats:
        """Return bounds on the errors of products of columns of these lengths, with `depth` roundings in a row."""
        rounding = grown((lengths + self.apart) * math.sqrt(gamma(depth + 24)), 6) + math.sqrt(TINY)
        return np.where(self.constant, 0.0, rounding + self.apart)


def standardize(moments: Moments, *, center: bool, scale: bool, name: str = "X") -> Standard:
    """Return how rows with these moments are centred and scaled."""
    weight, raw = moments.weight, moments.raw_lengths
    rounding = gamma(4) if moments.exact else gamma(moments.depth + 32)
    if center:
        means, divisor, constant = moments.means, moments.divisor, moments.constant
        squares, of_means = moments.squares, np.asarray(grown(rounding * raw, 8))
        error = np.asarray(grown(moments.error + of_means**2, 8))
    else:
        means, divisor = np.zeros_like(moments.means), weight
        with np.errstate(over="ignore"):
            squares = moments.squares + weight * moments.means**2
        constant, of_means = squares == 0, np.zeros_like(raw)
        error = np.asarray(grown(squares * gamma(4 * moments.depth + 64), 8))
    variances = squares / divisor
    if not (np.isfinite(variances).all() and np.isfinite(means).all()):
        raise ValueError(f"{name} has entries so large that their squares overflow; rescale its columns first.")
    relative = np.where(constant, 0.0, error / np.where(squares > 0, squares, 1.0))
    if scale:
        constant = constant | (relative > LARGEST_ERROR)
    else:
        check_magnitude(float(np.where(constant, 0.0, variances).max(initial=0.0)), name=name)
    variances = np.where(constant, 0.0, variances)
    scales = np.where(constant, 1.0, 1.0 / np.sqrt(np.where(constant, 1.0, variances))) if scale else np.ones(len(raw))
    units = scales / math.sqrt(divisor)
    apart = np.asarray(grown(of_means * units, 4))
    if scale and not constant.all():
        # For x <= 1/2 both 1 - (1 + x)^(-1/2) and (1 - x)^(-1/2) - 1 are at most x.
        off = relative + gamma(8)
        levels = np.quantile(off[~constant], np.linspace(0, 1, 9))
        least = min(levels, key=lambda f: float((np.maximum(off[~constant], f) ** 2).sum()) / f)
        apart = apart + grown(np.maximum(off, least) * math.sqrt(3.0 / least), 6)
    apart = np.where(constant, 0.0, apart)
    own = np.where(constant, 0.0, grown(np.sqrt(grown(variances * divisor + error, 2)) * units, 4))
    raw = np.where(constant, 0.0, grown(raw * units, moments.depth + 8))
    standard = Standard(means, scales, constant, variances, divisor, weight, own, raw, apart)
    lengths = 2 * raw if standard.expands else own
    most = gamma(64 + min(moments.n_rows, 2 * MOST_TOGETHER + moments.n_rows // 64))
    slack = CONTAINERS * float(most * (lengths**2).sum() + (apart**2).sum())
    return replace(standard, slack=slack)


def covariance_of(
    X: Any, *, center: bool = True, scale: bool = False, weights: Floats | None = None, matrix: bool = True
) -> tuple[Covariance, Standard]:
    """Return the covariance of rows that were checked, in the form that suits their shape, and how it was made.

    Tall, narrow data give the matrix, summed over blocks of rows, unless it is not wanted. Wide data, or data with many
    columns, give the centred factor. Sparse data are kept as they are, with the means beside them. See
    `laconic.covariance.make.Recipe` for the divisor.
    """
    moments = Moments.of(X, weights)
    standard = standardize(moments, center=center, scale=scale)
    n, p = X.shape
    tall = p <= WRITE_OUT_COLUMNS and p <= n and (matrix or n * p > SMALL_NUMBERS)
    if sp.issparse(X):
        sparse = SparseCovariance(X, standard, weights)
        if not tall:
            return sparse, standard
        return DenseCovariance(sparse.submatrix(np.arange(p)), spread=sparse.spread, slack=standard.slack), standard
    if tall:
        # Distributing one small product among threads takes longer than the product.
        with threads_for(n):
            found = gram(X, standard.means, weights)
        return covariance_from_gram(*found, np.arange(p), standard.means, moments, standard), standard
    factor = np.array(X, dtype=np.float64, order="C")
    factor -= standard.means
    factor *= standard.units
    if weights is not None:
        factor *= np.sqrt(weights)[:, None]
    factor[:, standard.constant] = 0.0
    # Each entry of the factor was rounded at most six times.
    return FactorCovariance(factor, apart=standard.spread(standard.own, 0), slack=standard.slack), standard


def covariance_from_gram(
    gram: Floats, depth: int, columns: Indices, centers: Floats | None, moments: Moments, standard: Standard
) -> DenseCovariance:
    """Return the covariance of some columns from their Gram matrix about `centers`, None for zero.

    With c the centers, b the sums of x - c, and d = m - c, the Gram matrix about the means m is G - bd' - db' + n dd'.
    With p_i the length of column i about c, plus that of its shift d_i, entry (i, j) has an error of at most gamma
    p_i p_j.
    """
    n, own = moments.weight, standard.on(columns)
    lengths = np.sqrt(gram.diagonal())
    if centers is None or not np.array_equal(centers, own.means):
        shift = own.means if centers is None else own.means - centers
        sums = n * (moments.means[columns] - (0.0 if centers is None else centers))
        if centers is None and moments.exact:
            sums = moments.first[columns]
        lengths = lengths + math.sqrt(n) * np.abs(shift)
        gram = gram - np.multiply.outer(sums, shift) - np.multiply.outer(shift, sums)
        gram += n * np.multiply.outer(shift, shift)
        # The Gram matrix, both sums and both means have errors of at most gamma of the depth, and few roundings follow.
        depth = 4 * max(depth, moments.depth) + 64
    matrix = gram * np.multiply.outer(own.units, own.units)
    matrix[own.constant], matrix[:, own.constant] = 0.0, 0.0
    spread = own.spread(lengths * own.units, depth)
    return DenseCovariance(0.5 * (matrix + matrix.T), spread=spread, slack=standard.slack)


class SparseCovariance(Covariance):
    """S = D (X - 1m')' W (X - 1m') D / divisor with X sparse, m the means, D the column scales, W the row weights.

    The rows are never centred as a whole, because that would fill in the zeros. A product with vectors is
    S v = (X'y - m 1'y) / divisor with y = W (Xv - 1 m'v). The term 1'y is zero up to rounding. Subtracting it keeps the
    error proportional to ``|m|/sd``; expanding E[xy] - E[x]E[y] would square that ratio.

    Entries are X'WX - bm' - mb' + t mm' with t = 1'w and b = X'w. In columns i and j no term is above p_i p_j, with
    p_i = (sum_r w_r x_ri^2)^(1/2) + t^(1/2) |m_i|, at most twice the raw length, and N rows make at most N + 12
    roundings. If p is much longer than the centred columns, some rows at a time are centred and written out, and the
    error is that of a factor.
    """

    known_semidefinite_shift = 0.0

    def __init__(self, rows: Any, standard: Standard, weights: Floats | None = None) -> None:
        self.rows, self.standard, self.weights = rows, standard, weights
        self.entry_cost, self.n_features = rows.shape
        self.slack = standard.slack
        self.factor_error = sum_up(up(standard.spread(standard.own, 0) ** 2))

    def _diagonal(self) -> Floats:
        if self.standard.expands:
            return np.asarray(self.standard.variances * self.standard.scales**2)
        parts = np.array_split(np.arange(self.n_features), -(-self.n_features // DIAGONAL_BLOCK))
        return np.concatenate([self.block(part, part).diagonal() for part in parts])

    @cached_property
    def size(self) -> Floats:
        return self.standard.own

    @cached_property
    def spread(self) -> Floats:
        lengths = 2 * self.standard.raw if self.standard.expands else self.standard.own
        return self.standard.spread(lengths, self.rows.shape[0])

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        # The same road as for dense rows, so that both containers give the same bound.
        few = self.rows.shape[0] < self.n_features <= WRITE_OUT_LIMIT
        A = self.rows_as_factor(np.arange(self.n_features)) if few else None
        return None if A is None else self.largest_of(A)

    def rows_as_factor(self, columns: Indices) -> Floats | None:
        if math.prod(self.rows.shape) > SMALL_NUMBERS:
            return None
        return self._centred(self.by_column[:, columns], columns, slice(None))

    def row_parts(self) -> Iterator[tuple[Floats, Floats]] | None:
        if self.rows.nnz <= SPARSE_SHARE * math.prod(self.rows.shape):
            return None
        everything, count = np.arange(self.n_features), self.rows.shape[0]
        parts = (slice(i, i + ROWS_OF_A_PART) for i in range(0, count, ROWS_OF_A_PART))
        return ((block, block) for block in (self._centred(self._by_row, everything, part) for part in parts))

    def _centred(self, chosen: Any, columns: Indices, part: slice) -> Floats:
        """Return some rows of some columns, centred and scaled, times the roots of the weights."""
        block = (chosen[part].toarray() - self.standard.means[columns]) * self.standard.units[columns]
        block[:, self.standard.constant[columns]] = 0.0
        return np.asarray(block if self.weights is None else block * np.sqrt(self.weights[part])[:, None])

    def product(self, block: Floats) -> Floats:
        means, scales = self.standard.means, self.standard.scales
        scaled = (block.T * scales).T
        scores = self.rows @ scaled - means @ scaled
        scores = scores if self.weights is None else (scores.T * self.weights).T
        images = self.rows.T @ scores - np.multiply.outer(means, scores.sum(axis=0))
        return np.asarray((images.T * scales).T / self.standard.divisor)

    @cached_property
    def by_column(self) -> Any:
        """The data stored by column: reading a column of data stored by row would pass over all entries."""
        # Products of single-precision numbers would be single precision too.
        return self.rows.tocsc().astype(np.float64, copy=False)

    @cached_property
    def _by_row(self) -> Any:
        return self.rows.tocsr().astype(np.float64, copy=False)

    @cached_property
    def _sums(self) -> Floats:
        """X'w."""
        weights = np.ones(self.rows.shape[0]) if self.weights is None else self.weights
        return np.asarray(self.by_column.T @ weights)

    def block(self, rows: Indices, columns: Indices) -> Floats:
        if "matrix" in vars(self):
            return self.matrix[rows[:, None], columns]
        same = rows is columns or np.array_equal(rows, columns)
        right = self.by_column[:, columns]
        everything = len(rows) == self.n_features and np.array_equal(rows, np.arange(self.n_features))
        left = right if same else self.by_column if everything else self.by_column[:, rows]
        standard, count = self.standard, self.rows.shape[0]
        if standard.expands and right.nnz <= DENSE_SHARE * count * max(len(columns), 1):
            weighted = right if self.weights is None else sp.csc_array(right.multiply(self.weights[:, None]))
            result = (left.T @ weighted).toarray()
            total, means, sums = standard.weight, standard.means, self._sums
            result -= np.multiply.outer(sums[rows], means[columns])
            result -= np.multiply.outer(means[rows], sums[columns])
            result += total * np.multiply.outer(means[rows], means[columns])
            result *= np.multiply.outer(standard.units[rows], standard.units[columns])
            result[standard.constant[rows]], result[:, standard.constant[columns]] = 0.0, 0.0
            return np.asarray(result)
        result = np.zeros((len(rows), len(columns)))
        step = min(max(1, BLOCK_ENTRIES // max(len(rows), len(columns), 1)), MOST_TOGETHER)
        right = right.tocsr()
        left = right if same else self._by_row if everything else left.tocsr()
        for begin in range(0, count, step):
            part = slice(begin, begin + step)
            own = self._centred(right, columns, part)
            result += (own if same else self._centred(left, rows, part)).T @ own
        return result

    def columns(self, indices: Indices) -> Floats:
        if "matrix" in vars(self) or len(indices) == self.n_features <= KEPT_FEATURES:
            return self.matrix[:, indices]
        return self.block(np.arange(self.n_features), indices)
