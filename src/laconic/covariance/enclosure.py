"""A covariance as floats with a bound on their error.

A covariance that is not written out is a formula, and its entries are rounded when they are computed. An enclosure
gives computed entries B_ij and a vector l with |S_ij - B_ij| <= l_i l_j, so that for unit x

    |x'Sx - x'Bx| <= (l'|x|)^2 <= |l|^2.
"""

import math
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import TINY, eigenvalue_bound, entry_sizes, gamma, grown, proved_defect, sum_up, up
from laconic.covariance.deflated import SMALL
from laconic.covariance.row_products import Rows
from laconic.covariance.sparse import SparseCovariance

# Up to this size a matrix may be written out.
WRITE_OUT = 6000
# Entries of a working block, 32 MB.
BLOCK_ENTRIES = 4_000_000
# Where uncentred columns are so much longer than centred ones, sparse rows are centred block by block.
CANCELLATION = 100.0


class Enclosure:
    """Computed entries of a symmetric matrix S and what they may be wrong by.

    Attributes
    ----------
    n
        The size.
    spread
        l above.
    size
        A vector with |S_ij| <= size_i size_j.
    factor
        A with S = A'A exactly, or None.
    """

    n: int
    factor: Floats | None = None

    @cached_property
    def spread(self) -> Floats:
        raise NotImplementedError

    @cached_property
    def size(self) -> Floats:
        raise NotImplementedError

    def block(self, rows: Indices, columns: Indices) -> Floats:
        """Return the computed entries of some rows and columns."""
        raise NotImplementedError

    def write_out(self) -> None:
        """Compute all entries now, for what is asked of them more than once."""
        _ = self.matrix

    def whole_rows(self, rows: Indices) -> Floats:
        """Return the computed entries of some rows, those that are written out if they are."""
        return self.matrix[rows] if "matrix" in vars(self) else self.block(rows, np.arange(self.n))

    @cached_property
    def diagonal(self) -> Floats:
        """The computed variances, as `block` would give them up to `spread`."""
        parts = np.array_split(np.arange(self.n), -(-self.n // 500))
        return np.concatenate([self.block(part, part).diagonal() for part in parts])

    @cached_property
    def variances(self) -> Floats:
        """Upper bounds on S_ii."""
        return np.asarray(np.where(self.spread > 0, up(self.diagonal + up(self.spread**2)), self.diagonal))

    @cached_property
    def matrix(self) -> Floats:
        """All computed entries, exactly symmetric."""
        if self.n > WRITE_OUT:
            raise ValueError(
                f"This bound needs the matrix written out, and {self.n} features are more than {WRITE_OUT}; "
                "use a trace bound, the bound of the factor, or eliminate features first."
            )
        whole = self._whole()
        return whole if np.array_equal(whole, whole.T) else 0.5 * (whole + whole.T)

    def _whole(self) -> Floats:
        """Compute all entries, as `block` does."""
        everything = np.arange(self.n)
        return self.block(everything, everything)

    @cached_property
    def away(self) -> float:
        """An upper bound on the spectral norm of S less `matrix`."""
        return sum_up(up(self.spread**2)) if self.spread.any() else 0.0

    @cached_property
    def largest(self) -> tuple[float, float]:
        """An upper bound on the largest eigenvalue of S, and what plain floating point takes it for."""
        if self.largest_by_rows is not None:
            return self.largest_by_rows
        value, estimate = eigenvalue_bound(self.matrix)
        return sum_up([value, self.away]) if self.away else value, estimate

    @cached_property
    def largest_by_rows(self) -> tuple[float, float] | None:
        """The same from a matrix of as many rows as the factor of S has, or None where that is no smaller."""
        if self.factor is None or len(self.factor) >= self.n:
            return None
        return Rows(self.factor).whole()

    @cached_property
    def known_defect(self) -> float | None:
        """A `defect` that follows from how S is made, with nothing written out, or None."""
        return None

    @cached_property
    def lack(self) -> float:
        """The trace of some semidefinite E with S + E semidefinite, infinite if none is known."""
        return math.inf

    @cached_property
    def defect(self) -> float:
        """A number d >= 0 with S + d I semidefinite."""
        if self.known_defect is not None:
            return self.known_defect
        return sum_up([self.matrix_defect, self.away]) if self.away else self.matrix_defect

    @cached_property
    def matrix_defect(self) -> float:
        """A number d >= 0 with `matrix` + d I semidefinite."""
        return proved_defect(self.matrix)


class Written(Enclosure):
    """A matrix that is written out. Of one that is not symmetric the symmetric part counts, as it does in x'Mx."""

    def __init__(self, matrix: Floats) -> None:
        self.n = len(matrix)
        self._exact = bool(np.array_equal(matrix, matrix.T))
        self._matrix = matrix if self._exact else 0.5 * (matrix + matrix.T)

    @cached_property
    def spread(self) -> Floats:
        return np.zeros(self.n) if self._exact else np.asarray(grown(self.size * math.sqrt(2 * gamma(2)), 3))

    @cached_property
    def size(self) -> Floats:
        return entry_sizes(self._matrix)

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self._matrix[rows[:, None], columns]

    def _whole(self) -> Floats:
        return self._matrix

    @cached_property
    def diagonal(self) -> Floats:
        return self._matrix.diagonal().copy()


class Factored(Enclosure):
    """S = A'A for an array A: an inner product of q terms has an error of gamma_q |a_i||a_j| at most."""

    known_defect = 0.0

    def __init__(self, factor: Floats) -> None:
        self.factor: Floats = factor
        self.n = factor.shape[1]

    @cached_property
    def size(self) -> Floats:
        squares = np.einsum("ij,ij->j", self.factor, self.factor)
        return np.asarray(grown(np.sqrt(grown(squares, len(self.factor) + 1)), 1))

    @cached_property
    def spread(self) -> Floats:
        return np.asarray(grown(self.size * math.sqrt(gamma(len(self.factor) + 4)), 3)) + math.sqrt(TINY)

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self.factor[:, rows].T @ self.factor[:, columns]

    @cached_property
    def diagonal(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.factor, self.factor))


class SparseRows(Enclosure):
    """S = D (X - 1m')' W (X - 1m') D / divisor with X sparse and m, D, W given.

    With t = 1'w and b = X'w the middle is X'WX - bm' - mb' + t mm'. In columns i and j no term is above p_i p_j,
    p_i = (sum_r w_r x_ri^2)^(1/2) + t^(1/2) |m_i|, and N rows make N + 12 roundings at most: an error of
    gamma_{N+12} p_i p_j. Where p is much longer than the centred columns these are written out, some rows at a time,
    and the error is that of a factor.
    """

    known_defect = 0.0

    def __init__(self, covariance: SparseCovariance) -> None:
        self._rows = sp.csc_array(covariance.rows).astype(np.float64)
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
        self._apart = float(self._raw.max(initial=0.0)) ** 2 > CANCELLATION * float(self._own.max(initial=0.0)) ** 2

    @cached_property
    def size(self) -> Floats:
        return self._own

    @cached_property
    def spread(self) -> Floats:
        lengths = self._own if self._apart else self._raw
        return np.asarray(grown(lengths * math.sqrt(self._rounding), 3)) + math.sqrt(TINY)

    @cached_property
    def diagonal(self) -> Floats:
        return super().diagonal if self._apart else self._expanded

    def block(self, rows: Indices, columns: Indices) -> Floats:
        left, right = self._rows[:, rows], self._rows[:, columns]
        if self._apart:
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


class Part(Enclosure):
    """Some of the features of another enclosure."""

    def __init__(self, base: Enclosure, keep: Indices) -> None:
        self._base, self._keep = base, keep
        self.n = len(keep)
        self.factor = None if base.factor is None else base.factor[:, keep]

    @cached_property
    def known_defect(self) -> float | None:
        return self._base.known_defect

    @cached_property
    def lack(self) -> float:
        return self._base.lack

    @cached_property
    def spread(self) -> Floats:
        return self._base.spread[self._keep]

    @cached_property
    def size(self) -> Floats:
        return self._base.size[self._keep]

    @cached_property
    def largest_by_rows(self) -> tuple[float, float] | None:
        # The eigenvalues of a part are not above those of the whole.
        return self._base.largest_by_rows if self.factor is None and self.n > SMALL else super().largest_by_rows

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self._base.block(self._keep[rows], self._keep[columns])

    @cached_property
    def diagonal(self) -> Floats:
        return self._base.diagonal[self._keep]
