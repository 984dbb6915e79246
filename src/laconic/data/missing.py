"""Missing values: counts for messages, and the passes that pairwise deletion and EM make over the rows.

A missing value is NaN. In sparse rows only an explicit NaN is missing; an entry that is not stored is zero, a value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotri

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.data.checks import check_finite
from laconic.data.digest import ColumnDigests, Words
from laconic.data.sources.contract import BLOCK_NUMBERS, Job

# Inverses of at least this size are computed one by one by a Cholesky factorisation. It takes a third of the operations
# of the routine for a stack, which is faster for small ones.
LARGE_INVERSE = 32
# A product of fewer rows than this gains little from BLAS.
FEWEST_ROWS = 256


def missing_by_column(X: Any) -> Indices:
    """Return the number of missing values in each column of an array, or of a CSR or CSC matrix."""
    if not sp.issparse(X):
        return np.asarray(np.isnan(X).sum(axis=0), dtype=np.intp)
    triples = X.tocoo()
    return np.bincount(triples.col[np.isnan(triples.data)], minlength=X.shape[1]).astype(np.intp)


@dataclass(frozen=True, eq=False)
class PresentPart:
    """How many values are missing in each column, the sums of those that are there, and the digests."""

    n_rows: int
    power: int
    digests: Words
    missing: Indices
    sums: Floats

    @property
    def column_digests(self) -> ColumnDigests:
        """The digests of all columns."""
        return ColumnDigests(self.n_rows, self.power, self.digests)

    @property
    def means(self) -> Floats:
        """The mean of the values that are there; zero in a column without any."""
        return np.asarray(self.sums / np.maximum(self.n_rows - self.missing, 1))


@dataclass(frozen=True, eq=False)
class PresentPass(Job[PresentPart]):
    """Counts of missing values, means of the others, and the digest of the data. Sparse blocks stay sparse."""

    feature_names: tuple[str, ...] | None = None  # for errors
    name: str = "X"  # for errors
    columns: None = None
    part: ClassVar[type] = PresentPart

    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> PresentPart:
        """Return the part of one block."""
        check_finite(rows, name=self.name, feature_names=self.feature_names, origin=origin, allow_missing=True)
        digests = ColumnDigests.of(rows)
        if sp.issparse(rows):
            filled = rows.astype(np.float64)
            filled.data = np.nan_to_num(filled.data, copy=False)
            sums: Floats = np.asarray(filled.sum(axis=0)).ravel()
        else:
            sums = np.asarray(np.nansum(rows, axis=0, dtype=np.float64))
        return PresentPart(digests.n_rows, digests.power, digests.columns, missing_by_column(rows), sums)

    def merge(self, first: PresentPart, second: PresentPart) -> PresentPart:
        """Return the part of both."""
        digests = first.column_digests.merge(second.column_digests)
        missing = first.missing + second.missing
        return PresentPart(digests.n_rows, digests.power, digests.columns, missing, first.sums + second.sums)


@dataclass(frozen=True, eq=False)
class PairwisePart:
    """Sums over the rows that have both values, for each pair of columns (i, j).

    With w the weights of the rows and x the values about the centers: the sum of w, of w^2 (None if all are one), of
    w x_i, of w x_i x_j, and of w x_i^2.
    """

    n_rows: int
    power: int
    digests: Words
    weights: Floats
    sums: Floats
    products: Floats
    squares: Floats
    weight_squares: Floats | None = None

    @property
    def column_digests(self) -> ColumnDigests:
        """The digests of the columns."""
        return ColumnDigests(self.n_rows, self.power, self.digests)


@dataclass(frozen=True, eq=False)
class PairwisePass(Job[PairwisePart]):
    """The sums of pairwise deletion, as products of the values, zero where one is missing, with the masks."""

    columns: Indices
    centers: Floats
    weights: Floats | None = None  # of all rows, for rows in memory
    part: ClassVar[type] = PairwisePart

    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> PairwisePart:
        """Return the part of one block."""
        digests, p = ColumnDigests.of(rows), rows.shape[1]
        weights, sums, products, squares = (np.zeros((p, p)) for _ in range(4))
        weight_squares = None if self.weights is None else np.zeros((p, p))
        for begin, block in dense_parts(rows):
            values = block - self.centers
            missing = np.isnan(values)
            values[missing] = 0.0
            present = (~missing).astype(np.float64)
            own, own_values = present, values
            if self.weights is not None:
                assert weight_squares is not None
                w = self.weights[origin[0] + begin : origin[0] + begin + len(block), None]
                own, own_values = w * present, w * values
                weight_squares += own.T @ own
            weights += own.T @ present
            sums += own_values.T @ present
            products += own_values.T @ values
            squares += (own_values * values).T @ present
        return PairwisePart(
            digests.n_rows, digests.power, digests.columns, weights, sums, products, squares, weight_squares
        )

    def merge(self, first: PairwisePart, second: PairwisePart) -> PairwisePart:
        """Return the part of both."""
        digests = first.column_digests.merge(second.column_digests)
        both = first.weight_squares, second.weight_squares
        return PairwisePart(
            digests.n_rows,
            digests.power,
            digests.columns,
            first.weights + second.weights,
            first.sums + second.sums,
            first.products + second.products,
            first.squares + second.squares,
            None if both[0] is None or both[1] is None else both[0] + both[1],
        )


def dense_parts(rows: Any) -> Iterator[tuple[int, Floats]]:
    """Yield a block in dense parts of some rows each, with the number of the first row of each part."""
    n, p = rows.shape
    sparse = sp.issparse(rows)
    rows = rows.tocsr() if sparse else rows
    step = max(FEWEST_ROWS, BLOCK_NUMBERS // max(p, 1))
    for begin in range(0, n, step):
        part = rows[begin : begin + step]
        yield begin, np.asarray(part.toarray() if sparse else part, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ExpectationPart:
    """The expected sums of the complete rows about the mean, given the values that are there."""

    n_rows: int
    weight: float
    weight_squares: float
    likelihood: float  # the log-likelihood, up to a constant and to -logdet(V) / 2 for each row; see `of`
    sums: Floats
    products: Floats


@dataclass(frozen=True, eq=False)
class ExpectationPass(Job[ExpectationPart]):
    """The E step of EM for a multivariate normal with mean m and precision K, the inverse of the covariance.

    Let d = x - m be a row with its missing entries set to zero, and let M be the places of these entries. Given the
    others, the missing entries are normal with covariance C = (K_MM)^-1 and mean m_M - C (Kd)_M. So each row adds its
    completed deviations e, their products, and C on the places M. Its log-likelihood, up to a constant, is
    -(logdet(V) + logdet(K_MM) + e'Kd) / 2, V the covariance: the determinant of V on the other places is det(V) times
    that of K_MM, and e'Ke = e'Kd because Ke is zero on M.

    Rows with equally many missing entries are treated together: a stack of small inverses. A row without any value says
    nothing, and is left out. Columns are first centred and scaled, so that rounding does not depend on their units.
    """

    columns: Indices
    centers: Floats
    scales: Floats
    mean: Floats
    precision: Floats
    weights: Floats | None = None  # of all rows, for rows in memory
    part: ClassVar[type] = ExpectationPart

    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> ExpectationPart:
        """Return the part of one block."""
        p = rows.shape[1]
        total = ExpectationPart(0, 0.0, 0.0, 0.0, np.zeros(p), np.zeros((p, p)))
        for begin, block in dense_parts(rows):
            first = origin[0] + begin
            w = np.ones(len(block)) if self.weights is None else self.weights[first : first + len(block)]
            total = self.merge(total, self._of_block(block, w))
        return total

    def _of_block(self, block: Floats, weights: Floats) -> ExpectationPart:
        deviations = (block - self.centers) * self.scales - self.mean
        missing = np.isnan(deviations)
        counts = missing.sum(axis=1)
        deviations[missing] = 0.0
        weights = np.where(counts == block.shape[1], 0.0, weights)
        images = deviations @ self.precision
        products, determinants = np.zeros_like(self.precision), 0.0
        for count in np.unique(counts[(counts > 0) & (weights > 0)]):
            rows = np.flatnonzero((counts == count) & (weights > 0))
            places = np.nonzero(missing[rows])[1].reshape(len(rows), count)
            patterns, which = np.unique(places, axis=0, return_inverse=True)
            order = np.argsort(which.ravel(), kind="stable")
            rows, which = rows[order], which.ravel()[order]
            step = max(1, BLOCK_ENTRIES // int(count) ** 2)
            for begin in range(0, len(patterns), step):
                own = slice(*np.searchsorted(which, (begin, begin + step)))
                determinants += self._complete(
                    deviations, images, products, patterns[begin : begin + step], rows[own], which[own] - begin, weights
                )
        products += (deviations * weights[:, None]).T @ deviations
        total, squares = float(weights.sum()), float((weights**2).sum())
        likelihood = -0.5 * (determinants + float(weights @ (deviations * images).sum(axis=1)))
        return ExpectationPart(len(block), total, squares, likelihood, weights @ deviations, products)

    def _complete(
        self,
        deviations: Floats,
        images: Floats,
        products: Floats,
        patterns: Indices,
        rows: Indices,
        which: Indices,
        weights: Floats,
    ) -> float:
        """Complete rows in place, add their conditional covariances, and return the weighted sum of logdet(K_MM).

        `which` is the pattern of each row.
        """
        conditional, determinants = _inverses(self.precision[patterns[:, :, None], patterns[:, None, :]])
        step = max(1, BLOCK_ENTRIES // patterns.shape[1] ** 2)
        for begin in range(0, len(rows), step):
            own = which[begin : begin + step]
            at = rows[begin : begin + step, None], patterns[own]
            deviations[at] = -(conditional[own] @ images[at][:, :, None])[:, :, 0]
        sizes = np.bincount(which, weights[rows], minlength=len(patterns))
        cells = patterns[:, :, None] * len(products) + patterns[:, None, :]
        added = np.bincount(cells.ravel(), (conditional * sizes[:, None, None]).ravel(), minlength=products.size)
        products += added.reshape(products.shape)
        return float(sizes @ determinants)

    def merge(self, first: ExpectationPart, second: ExpectationPart) -> ExpectationPart:
        """Return the part of both."""
        return ExpectationPart(
            first.n_rows + second.n_rows,
            first.weight + second.weight,
            first.weight_squares + second.weight_squares,
            first.likelihood + second.likelihood,
            first.sums + second.sums,
            first.products + second.products,
        )


def _inverses(stack: Floats) -> tuple[Floats, Floats]:
    """Return the inverses of positive definite matrices, and the logarithms of their determinants."""
    size = stack.shape[1]
    if size < LARGE_INVERSE:
        return np.asarray(np.linalg.inv(stack)), np.asarray(np.linalg.slogdet(stack)[1])
    lower = np.tri(size, k=-1, dtype=bool)
    inverses, determinants = np.empty_like(stack), np.empty(len(stack))
    for place, matrix in enumerate(stack):
        factor = dpotrf(matrix.T)[0]
        determinants[place] = 2 * np.log(factor.diagonal()).sum()
        # LAPACK fills the upper triangle of the array in its own order, which is the lower one in ours.
        inverse = dpotri(factor)[0].T
        inverses[place] = np.where(lower, inverse, inverse.T)
    return inverses, determinants
