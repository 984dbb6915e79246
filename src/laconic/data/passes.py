"""The passes over rows: moments of all columns, the Gram matrix of some, products with vectors, missing values.

Each pass is a `Job`: the part of a block, and the sum of two parts. A missing value is NaN. In sparse rows only an
explicit NaN is missing; an entry that is not stored is zero, a value.

**The digest of data** depends on the values only: not on their precision, memory layout, storage form or blocks.
Each column has a number D = sum over the rows i of mix(x_i) g^i, modulo 2^64. `mix` scatters the 64 bits of a float,
and mix(0) = 0, so that a sparse matrix and its dense copy agree. Parts are merged: rows A followed by rows B have
D(A) + g^|A| D(B). Two readings of some columns can be compared without the others. The digest of a table is the SHA-256
of its shape and of the numbers of its columns. It tells two data sets apart; it is not meant to withstand a forger,
who could not gain from it: `laconic.verify` computes every bound from the data at hand.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices, Mask
from laconic.core.rounding import gamma, grown
from laconic.data.rows import BLOCK_NUMBERS, Job, complete
from laconic.data.tables import MISSING_OPTIONS, check_finite, without_duplicates

# Moments are computed in blocks of at most this many entries: 4 MB of float64, which stays in the processor's cache.
CACHED_ENTRIES = 500_000
# Sums of whole numbers are exact in float64 below this; squares of whole numbers below its root are.
EXACT, LARGEST_WHOLE = 2.0**53, 2.0**26
# The roundings of one merge, counted generously: two divisions, three products and three sums.
MERGE_ROUNDINGS = 16
# Sparse blocks with more than this share of nonzero entries are multiplied as dense arrays: a sparse product costs
# several times more for each entry.
DENSE_SHARE = 0.1
# Products of fewer rows than the first gain little from BLAS. Sums run over no more rows than the second at a time, so
# that few roundings follow one another.
FEWEST_ROWS, MOST_TOGETHER = 256, 4096
# Odd numbers with well scattered bits: the base g of the powers, and the multipliers of `mix`.
BASE, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
MODULUS = 1 << 64

Words: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Moments:
    """The weighted mean and the weighted sum of squared deviations of each column, in one pass over rows in parts.

    Two ways of adding up give the same result, whatever the parts are. Whole numbers, such as counts, are added as
    whole numbers: sums of x and of x^2 below 2^53 are exact. Other numbers are centred by the mean of their own part
    first, so that a mean that is much larger than the spread does no harm.

    If the sums are `exact`, `first` and `second` are the sums of x and of x^2, else the means and the sums of squared
    deviations from them.
    """

    n_rows: int
    weight: float  # the sum of the row weights
    weight_squares: float
    whole: bool  # whether the weights count rows
    depth: int  # the largest number of roundings in a row behind a number; see `error`
    first: Floats
    second: Floats
    exact: bool = False

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # the user of the variances checks for overflow
    def of(cls, X: Any, weights: Floats | None = None) -> Self:
        """Compute the moments of an array or a sparse matrix. Without weights, each row has weight one."""
        if sp.issparse(X):
            return cls._of_part(X, weights)
        step = max(1, CACHED_ENTRIES // max(X.shape[1], 1))
        parts = [slice(begin, begin + step) for begin in range(0, X.shape[0], step)]
        return reduce(cls.merge, (cls._of_part(X[p], None if weights is None else weights[p]) for p in parts))

    @classmethod
    def _of_part(cls, X: Any, weights: Floats | None) -> Self:
        (n, p), sparse = X.shape, sp.issparse(X)
        values = np.asarray(X.data if sparse else X, dtype=np.float64)
        if weights is None and _whole(values, n):
            both = values, values**2
            sums, squares = (_like(X, v).T @ np.ones(n) if sparse else v.sum(axis=0) for v in both)
            return cls(n, float(n), float(n), True, n, sums, squares, True)
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        if total == 0:
            return cls(n, 0.0, 0.0, True, n, np.zeros(p), np.zeros(p))
        if sparse:
            # scikit-learn takes a second to import, and most of this room does not need it.
            from sklearn.utils.sparsefuncs import mean_variance_axis

            means, variances = mean_variance_axis(_like(X, values), axis=0, weights=w)
            squares = total * variances
        else:
            # One correction makes the mean accurate to the last digit, even if it is much larger than the spread.
            rough = w @ values / total
            deviations = values - rough
            shift = w @ deviations / total
            means, squares = rough + shift, w @ deviations**2 - total * shift**2
        # Two sums of the same weights differ by rounding, so that a constant column may have a square below zero.
        return cls(n, total, float((w**2).sum()), count_rows(weights), n, means, np.maximum(squares, 0.0))

    def merge(self, other: "Moments") -> Self:
        """Return the moments of all rows of this and another part (Chan, Golub and LeVeque 1983)."""
        n_rows, weight = self.n_rows + other.n_rows, self.weight + other.weight
        whole, depth = self.whole and other.whole, max(self.depth, other.depth) + MERGE_ROUNDINGS
        common = (n_rows, weight, self.weight_squares + other.weight_squares, whole, depth)
        if self.exact and other.exact and (self.second + other.second).max(initial=0.0) < EXACT:
            return type(self)(*common, self.first + other.first, self.second + other.second, True)
        share = other.weight / weight if weight else 0.0
        difference = other.means - self.means
        squares = self.squares + other.squares + self.weight * share * difference**2
        return type(self)(*common, self.means + share * difference, squares)

    @cached_property
    def means(self) -> Floats:
        """The weighted mean of each column."""
        return self.first / self.weight if self.exact else self.first

    @cached_property
    def squares(self) -> Floats:
        """The weighted sum of squared deviations from the mean, for each column."""
        if not self.exact:
            return self.second
        # Python's whole numbers have no rounding, and a quotient of two is rounded once.
        n, pairs = int(self.weight), zip(self.second.tolist(), self.first.tolist(), strict=True)
        return np.array([(n * int(of_squares) - int(total) ** 2) / n for of_squares, total in pairs])

    @property
    def raw_lengths(self) -> Floats:
        """The root of the sum of squares of each column, about zero."""
        with np.errstate(over="ignore"):  # a sentence about numbers that are too large follows
            return np.asarray(np.sqrt(self.squares + self.weight * self.means**2))

    @property
    def error(self) -> Floats:
        """An upper bound on the rounding error of `squares`.

        The deviations are those from `means` as they are rounded. Whole numbers: the sums are exact, and few roundings
        follow. Otherwise let q be `squares` of a column, r its raw length, and g = gamma of the depth. The deviations
        of a part have relative errors below g. Two means have errors of at most g times their size, which moves the
        square of their difference d by 2 g |d| |m| + (g m)^2. Weighted and added over all merges, by the inequality of
        Cauchy and Schwarz, this is at most 2 g q^(1/2) r + g^2 r^2; and q <= q^(1/2) r.
        """
        if self.exact:
            return np.asarray(grown(self.squares * gamma(8) + (gamma(4) * self.raw_lengths) ** 2, 8))
        g, own, raw = gamma(self.depth + 32), np.sqrt(self.squares), self.raw_lengths
        return np.asarray(grown(4 * g * own * raw + 4 * (g * raw) ** 2, 16))

    @property
    def divisor(self) -> float:
        """The divisor of the variance; see `divisor_of`."""
        return float(divisor_of(self.weight, None if self.whole else self.weight_squares))

    @property
    def variances(self) -> Floats:
        """The variance of each column."""
        return self.squares / self.divisor

    @property
    def constant(self) -> Mask:
        """Whether the spread of each column is at most the rounding error of its mean."""
        if self.exact:
            return np.asarray(self.squares == 0)
        rounding = min(self.depth, self.n_rows) * np.finfo(float).eps * np.abs(self.means)
        with np.errstate(over="ignore"):
            return np.asarray(self.squares <= self.weight * rounding**2)


def count_rows(weights: Floats | None) -> bool:
    """Whether the weights count rows: all are whole numbers, or there are none."""
    return weights is None or bool((weights == np.rint(weights)).all())


def divisor_of(weight: Any, weight_squares: Any) -> Any:
    """Return the divisor of variances about the mean, with W the sum of the weights.

    Weights that are all whole numbers count rows, and a row of weight 0 is left out. The divisor is W - 1, the number
    of rows less one. `weight_squares` is None then. Other weights say how reliable a row is. With the sum of their
    squares the divisor is W - (sum of w^2) / W: the variance is then unbiased, and the same if all weights are
    multiplied by one number. NumPy calls the two `fweights` and `aweights`.
    """
    return weight - (1.0 if weight_squares is None else weight_squares / np.where(weight > 0, weight, 1.0))


def _like(X: Any, values: Any) -> Any:
    """Return a CSR or CSC matrix with other values in the same places."""
    return type(X)((values, X.indices, X.indptr), shape=X.shape)


def _whole(values: Floats, rows: int) -> bool:
    """Whether all entries are whole numbers, and so small that sums of their squares over the rows are exact."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    small = largest < LARGEST_WHOLE and rows * largest**2 < EXACT
    return small and bool((values == np.rint(values)).all())


@dataclass(frozen=True, eq=False)
class ColumnDigests:
    """The numbers D of some columns, and g to the power of the number of rows."""

    n_rows: int
    power: int  # g^n_rows modulo 2^64
    columns: Words

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the digests of the columns of an array, or of a CSR or CSC matrix without duplicates."""
        n, p = X.shape
        total = cls(0, 1, np.zeros(p, dtype=np.uint64))
        step = max(1, BLOCK_ENTRIES // max(p, 1)) if not sp.issparse(X) else max(n, 1)
        for begin in range(0, n, step):
            block = X[begin : begin + step] if step < n else X
            total = total.merge(cls._of_block(block))
        return total

    @classmethod
    def _of_block(cls, block: Any) -> Self:
        n = block.shape[0]
        powers = np.multiply.accumulate(np.full(n, BASE, dtype=np.uint64))
        power = int(powers[-1]) if n else 1
        # The first row has the power 0.
        powers = np.concatenate([np.ones(1, dtype=np.uint64), powers[:-1]])
        if sp.issparse(block):
            return cls(n, power, np.asarray(_like(block, mixed(block.data)).T @ powers, dtype=np.uint64))
        words = mixed(block)
        words *= powers[:, None]
        return cls(n, power, words.sum(axis=0, dtype=np.uint64))

    def merge(self, other: "ColumnDigests") -> Self:
        """Return the digests of these rows, followed by others."""
        columns = self.columns + np.uint64(self.power) * other.columns
        return type(self)(self.n_rows + other.n_rows, self.power * other.power % MODULUS, columns)

    def part(self, columns: Indices) -> Self:
        """Return the digests of some of the columns."""
        return type(self)(self.n_rows, self.power, self.columns[columns])

    def agrees_with(self, other: "ColumnDigests") -> bool:
        """Say whether two readings of the same columns gave the same numbers."""
        return self.n_rows == other.n_rows and bool(np.array_equal(self.columns, other.columns))

    def hexdigest(self) -> str:
        """Return the digest of the table as text."""
        state = hashlib.sha256(f"table {self.n_rows} x {len(self.columns)}".encode())
        state.update(self.columns.astype("<u8").tobytes())
        return state.hexdigest()


def mixed(values: Any) -> Words:
    """Return the scattered bits of float64 numbers, as a copy; zeros of both signs give zero, and all NaN are alike."""
    numbers = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    missing = np.isnan(numbers)
    if missing.any():
        numbers[missing] = np.nan
    words: Words = numbers.view(np.uint64)
    words ^= words >> np.uint64(33)
    words *= np.uint64(FIRST)
    words ^= words >> np.uint64(33)
    words *= np.uint64(SECOND)
    words ^= words >> np.uint64(33)
    return words


def digest_of(data: Any) -> str:
    """Return the digest of an array or a sparse matrix."""
    if sp.issparse(data):
        data = data if data.format in ("csr", "csc") else data.tocsr()
        return ColumnDigests.of(without_duplicates(data)).hexdigest()
    array = np.asarray(data)
    return ColumnDigests.of(array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)).hexdigest()


@dataclass(frozen=True, eq=False)
class FirstPart:
    """The digests and moments of all columns, in which a missing value counts as zero, and the missing values."""

    column_digests: ColumnDigests
    moments: Moments
    missing: Indices  # their number in each column
    incomplete: int  # the number of rows with a missing value

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.column_digests.n_rows

    @property
    def present_means(self) -> Floats:
        """The mean of the values that are there; zero in a column without any."""
        return np.asarray(self.moments.means * self.n_rows / np.maximum(self.n_rows - self.missing, 1))


@dataclass(frozen=True, eq=False)
class FirstPass(Job[FirstPart]):
    """Means and variances of every column, and the digest of the data."""

    feature_names: tuple[str, ...] | None = None  # for errors
    name: str = "X"  # for errors
    allow_missing: bool = False
    columns: None = None

    def of(self, rows: Any, first_row: int = 0) -> FirstPart:
        names, allowed = self.feature_names, self.allow_missing
        where: dict[str, Any] = {"name": self.name, "feature_names": names, "first_row": first_row, "block": True}
        check_finite(rows, **where, allow_missing=allowed, remedy=MISSING_OPTIONS)
        digests, missing, incomplete = ColumnDigests.of(rows), np.zeros(rows.shape[1], dtype=np.intp), 0
        if allowed and np.isnan(rows.data if sp.issparse(rows) else rows).any():
            rows, sparse, incomplete = rows.copy(), sp.issparse(rows), int((~complete(rows)).sum())
            absent = np.isnan(rows.data if sparse else rows)
            places = rows.tocoo().coords[1][absent] if sparse else np.nonzero(absent)[1]
            missing = np.bincount(places, minlength=len(missing)).astype(np.intp)
            (rows.data if sparse else rows)[absent] = 0.0
        return FirstPart(digests, Moments.of(rows), missing, incomplete)


@dataclass(frozen=True, eq=False)
class GramPart:
    """The Gram matrix of some columns over some rows, and the digests of these columns."""

    column_digests: ColumnDigests
    gram: Floats
    depth: int  # the largest number of roundings in a row behind an entry


@dataclass(frozen=True, eq=False)
class GramPass(Job[GramPart]):
    """The Gram matrix (X - 1c')'(X - 1c') of some columns."""

    columns: Indices
    centers: Floats | None  # c for these columns; None leaves the rows as they are, which keeps sparse blocks sparse

    def of(self, rows: Any, first_row: int = 0) -> GramPart:  # noqa: ARG002
        return GramPart(ColumnDigests.of(rows), *gram(rows, self.centers))

    def merge(self, first: GramPart, second: GramPart) -> GramPart:
        digests = first.column_digests.merge(second.column_digests)
        return GramPart(digests, first.gram + second.gram, max(first.depth, second.depth) + 1)


@dataclass(frozen=True, eq=False)
class ProductPass(Job[Floats]):
    """(X - 1m')'(X - 1m')V for a block V of vectors: the data as an operator."""

    means: Floats
    vectors: Floats
    columns: None = None

    def of(self, rows: Any, first_row: int = 0) -> Floats:  # noqa: ARG002
        scores = np.asarray(rows @ self.vectors, dtype=np.float64) - self.means @ self.vectors
        return np.asarray(rows.T @ scores - np.multiply.outer(self.means, scores.sum(axis=0)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PairwisePart:
    """Sums over the rows that have both values, for each pair of columns (i, j).

    With w the weights of the rows and x the values about the centers: the sum of w, of w^2 (None if all weights of the
    table are whole), of w x_i, of w x_i x_j, and of w x_i^2.
    """

    column_digests: ColumnDigests
    weights: Floats
    sums: Floats
    products: Floats
    squares: Floats
    weight_squares: Floats | None = None


@dataclass(frozen=True, eq=False)
class PairwisePass(Job[PairwisePart]):
    """The sums of pairwise deletion, as products of the values, zero where one is missing, with the masks."""

    columns: Indices
    centers: Floats
    weights: Floats | None = None  # of all rows, for rows in memory

    def of(self, rows: Any, first_row: int = 0) -> PairwisePart:
        digests, p = ColumnDigests.of(rows), rows.shape[1]
        weights, sums, products, squares = (np.zeros((p, p)) for _ in range(4))
        weight_squares = None if count_rows(self.weights) else np.zeros((p, p))
        for begin, block in dense_parts(rows):
            values = block - self.centers
            missing = np.isnan(values)
            values[missing] = 0.0
            present = (~missing).astype(np.float64)
            own, own_values = present, values
            if self.weights is not None:
                w = self.weights[first_row + begin : first_row + begin + len(block), None]
                own, own_values = w * present, w * values
                if weight_squares is not None:
                    weight_squares += own.T @ own
            weights += own.T @ present
            sums += own_values.T @ present
            products += own_values.T @ values
            squares += (own_values * values).T @ present
        return PairwisePart(digests, weights, sums, products, squares, weight_squares)


def gram(rows: Any, centers: Floats | None = None, weights: Floats | None = None) -> tuple[Floats, int]:
    """Return (X - 1c')'W(X - 1c'), without c X'WX, and the largest number of roundings in a row behind an entry."""
    n, m = rows.shape
    if sp.issparse(rows) and centers is None and weights is None and rows.nnz <= DENSE_SHARE * n * max(m, 1):
        rows = rows.astype(np.float64, copy=False)
        return (rows.T @ rows).toarray(), n
    total, count, longest = np.zeros((m, m)), 0, 0
    for begin, part in dense_parts(rows):
        block = part if centers is None else part - centers
        if weights is not None:
            block = block * np.sqrt(weights[begin : begin + len(block), None])
        total += block.T @ block
        count, longest = count + 1, max(longest, len(block))
    return total, count + longest


def dense_parts(rows: Any) -> Iterator[tuple[int, Floats]]:
    """Yield a block in dense parts of some rows each, with the number of the first row of each part.

    A sparse block with few entries may have many rows.
    """
    n, p = rows.shape
    sparse = sp.issparse(rows)
    rows = rows.tocsr() if sparse else rows
    step = min(max(FEWEST_ROWS, BLOCK_NUMBERS // max(p, 1)), MOST_TOGETHER)
    for begin in range(0, n, step):
        part = rows[begin : begin + step]
        yield begin, np.asarray(part.toarray() if sparse else part, dtype=np.float64)
