"""The passes over a source: moments of all columns, the Gram matrix of some, products with vectors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.data.checks import check_finite
from laconic.data.digest import ColumnDigests, Words
from laconic.data.moments import Moments
from laconic.data.sources.contract import BLOCK_NUMBERS, Job

# Sparse blocks with more than this share of nonzero entries are multiplied as dense arrays: a sparse product costs
# several times more for each entry.
DENSE_SHARE = 0.1
# Whole numbers below this are exact in single precision.
EXACT_IN_SINGLE = 2.0**24
# Products of fewer rows than this gain nothing from single precision.
FEWEST_ROWS = 256
# Compiled code adds up counts in sparse blocks of at least this many entries. Loading it takes a few milliseconds.
MANY_ENTRIES = 100_000


@dataclass(frozen=True, eq=False)
class FirstPart:
    """The moments and the digests of some rows, in one flat record."""

    n_rows: int
    depth: int
    power: int
    digests: Words
    centers: Floats | None = None
    deviations: Floats | None = None
    sums: Floats | None = None
    raw_squares: Floats | None = None

    @property
    def moments(self) -> Moments:
        """The moments of all columns."""
        n = float(self.n_rows)
        return Moments(self.n_rows, n, n, self.depth, self.centers, self.deviations, self.sums, self.raw_squares)

    @property
    def column_digests(self) -> ColumnDigests:
        """The digests of all columns."""
        return ColumnDigests(self.n_rows, self.power, self.digests)


@dataclass(frozen=True, eq=False)
class FirstPass(Job[FirstPart]):
    """Means and variances of every column, and the digest of the data."""

    feature_names: tuple[str, ...] | None = None  # for errors
    name: str = "X"  # for errors
    remedy: str = ""  # for errors
    columns: None = None
    part: ClassVar[type] = FirstPart
    by_column: ClassVar[bool] = True

    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> FirstPart:
        """Return the part of one block."""
        if sp.issparse(rows) and rows.format == "csr" and rows.nnz >= MANY_ENTRIES:
            found = _sums_of_counts(rows)
            if found is not None:
                sums, squares, digests, power = found
                return FirstPart(rows.shape[0], rows.shape[0], power, digests, sums=sums, raw_squares=squares)
        names, remedy = self.feature_names, self.remedy
        check_finite(rows, name=self.name, feature_names=names, origin=origin, block=True, remedy=remedy)
        return _first_part(Moments.of(rows), ColumnDigests.of(rows))

    def merge(self, first: FirstPart, second: FirstPart) -> FirstPart:
        """Return the part of both."""
        digests = first.column_digests.merge(second.column_digests)
        return _first_part(first.moments.merge(second.moments), digests)

    def beside(self, first: FirstPart, second: FirstPart) -> FirstPart:
        """Return the part of the columns of both."""
        digests = np.concatenate([first.digests, second.digests])
        common = (first.n_rows, max(first.depth, second.depth), first.power, digests)
        parts = first.moments, second.moments
        if first.sums is not None and second.sums is not None:
            squares = np.concatenate([part.raw_squares for part in (first, second) if part.raw_squares is not None])
            return FirstPart(*common, None, None, np.concatenate([first.sums, second.sums]), squares)
        means = np.concatenate([part.means for part in parts])
        return FirstPart(*common, means, np.concatenate([part.squares for part in parts]))


def _sums_of_counts(rows: Any) -> tuple[Floats, Floats, Words, int] | None:
    """Return what compiled code finds for counts. None for other numbers, or if the package is not compiled."""
    try:
        from laconic.data.counts import sums_of_counts
    except ImportError:
        return None
    return sums_of_counts(rows)


def _first_part(moments: Moments, digests: ColumnDigests) -> FirstPart:
    return FirstPart(
        moments.n_rows,
        moments.depth,
        digests.power,
        digests.columns,
        moments.centers,
        moments.deviations,
        moments.sums,
        moments.raw_squares,
    )


@dataclass(frozen=True, eq=False)
class GramPart:
    """The Gram matrix of some columns over some rows, and the digests of these columns."""

    n_rows: int
    depth: int  # the largest number of roundings in a row behind an entry
    power: int
    digests: Words
    gram: Floats

    @property
    def column_digests(self) -> ColumnDigests:
        """The digests of the columns."""
        return ColumnDigests(self.n_rows, self.power, self.digests)


@dataclass(frozen=True, eq=False)
class GramPass(Job[GramPart]):
    """The Gram matrix (X - 1c')'(X - 1c') of some columns."""

    columns: Indices
    centers: Floats | None  # c for these columns; None leaves the rows as they are, which keeps sparse blocks sparse
    part: ClassVar[type] = GramPart

    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> GramPart:  # noqa: ARG002
        """Return the part of one block."""
        digests = ColumnDigests.of(rows)
        n, m = rows.shape
        if sp.issparse(rows) and self.centers is None and rows.nnz <= DENSE_SHARE * n * max(m, 1):
            rows = rows.astype(np.float64, copy=False)
            return GramPart(n, n, digests.power, digests.columns, (rows.T @ rows).toarray())
        gram = np.zeros((m, m))
        # Some rows at a time, because a sparse block with few entries may have many rows.
        step = max(1, BLOCK_NUMBERS // max(m, 1))
        dtype: type = np.float64
        if self.centers is None and (exact := _rows_exact_in_single(rows)) >= FEWEST_ROWS:
            step, dtype = min(step, exact), np.float32
        for begin in range(0, n, step):
            part = rows[begin : begin + step].astype(dtype, copy=False)
            block = np.asarray(part.toarray() if sp.issparse(part) else part)
            if self.centers is not None:
                block = block - self.centers
            gram += block.T @ block
        return GramPart(n, n + 1, digests.power, digests.columns, gram)

    def merge(self, first: GramPart, second: GramPart) -> GramPart:
        """Return the part of both."""
        digests = first.column_digests.merge(second.column_digests)
        depth = max(first.depth, second.depth) + 1
        gram = first.gram + second.gram
        return GramPart(digests.n_rows, depth, digests.power, digests.columns, gram)


def _rows_exact_in_single(rows: Any) -> int:
    """Return how many rows of counts have exact inner products in single precision, which is twice as fast."""
    values = rows.data if sp.issparse(rows) else rows
    largest = max(float(values.max(initial=1)), -float(values.min(initial=0)))
    whole = largest < EXACT_IN_SINGLE and bool((values == np.rint(values)).all())
    return int(EXACT_IN_SINGLE / largest**2) if whole else 0


@dataclass(frozen=True, eq=False)
class ProductPart:
    """The product of the centred rows, transposed, with their own scores."""

    n_rows: int
    images: Floats


@dataclass(frozen=True, eq=False)
class ProductPass(Job[ProductPart]):
    """(X - 1m')'(X - 1m')V for a block V of vectors: the data as an operator."""

    means: Floats
    vectors: Floats
    columns: None = None
    part: ClassVar[type] = ProductPart

    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> ProductPart:  # noqa: ARG002
        """Return the part of one block."""
        scores = np.asarray(rows @ self.vectors, dtype=np.float64) - self.means @ self.vectors
        images = np.asarray(rows.T @ scores, dtype=np.float64) - np.multiply.outer(self.means, scores.sum(axis=0))
        return ProductPart(rows.shape[0], images)

    def merge(self, first: ProductPart, second: ProductPart) -> ProductPart:
        """Return the part of both."""
        return ProductPart(first.n_rows + second.n_rows, first.images + second.images)
