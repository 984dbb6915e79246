"""A covariance as computed entries with bounds on their errors.

The entries of a covariance that is not written out are rounded when they are computed. An enclosure gives computed
entries B_ij and a vector l with |S_ij - B_ij| <= l_i l_j. For a unit vector x

    |x'Sx - x'Bx| <= (l'|x|)^2 <= |l|^2.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue, proved_largest_eigenvalue, proved_semidefinite_shift
from laconic.core.rounding import gamma, grown, sum_up, up

# Up to this size eigenvalues of the written-out matrix are cheap, and sharper than bounds that avoid writing it out.
CHEAP_EIGENVALUES = 400


class Enclosure:
    """Computed entries of a symmetric matrix S, and bounds on their errors.

    A kind of enclosure must give `n`, `spread`, `size` and `block`.
    """

    n: int
    factor: Floats | None = None  # A with S = A'A exactly

    @cached_property
    def spread(self) -> Floats:
        """The vector l: the error of entry (i, j) is at most l_i l_j."""
        raise NotImplementedError

    @cached_property
    def size(self) -> Floats:
        """A vector with |S_ij| <= size_i size_j."""
        raise NotImplementedError

    def block(self, rows: Indices, columns: Indices) -> Floats:
        """Return the computed entries of some rows and columns."""
        raise NotImplementedError

    def part(self, keep: Indices) -> "Enclosure":
        """Return the enclosure of some of the features, in the order given."""
        return SubsetEnclosure(self, keep)

    @cached_property
    def magnitude(self) -> float:
        """About the root of the largest entry of the data behind S, which tells whether S is in range for proofs."""
        return math.sqrt(float(np.abs(self.diagonal).max(initial=0.0)))

    def whole_rows(self, rows: Indices) -> Floats:
        """Return the computed entries of some rows, from `matrix` if it is there already."""
        return self.matrix[rows] if "matrix" in vars(self) else self.block(rows, np.arange(self.n))

    @cached_property
    def diagonal(self) -> Floats:
        """The computed variances; their errors are at most the squares of `spread`."""
        parts = np.array_split(np.arange(self.n), -(-self.n // 500))
        return np.concatenate([self.block(part, part).diagonal() for part in parts])

    @cached_property
    def variances(self) -> Floats:
        """Upper bounds on S_ii."""
        return np.asarray(np.where(self.spread > 0, up(self.diagonal + up(self.spread**2)), self.diagonal))

    @cached_property
    def matrix(self) -> Floats:
        """All computed entries, exactly symmetric."""
        if self.n > WRITE_OUT_LIMIT:
            raise ValueError(
                f"This bound needs the matrix written out, and {self.n} features are more than {WRITE_OUT_LIMIT}; "
                "use a trace bound or the bound of the factor, or eliminate features first."
            )
        whole = self._whole()
        return whole if np.array_equal(whole, whole.T) else 0.5 * (whole + whole.T)

    def _whole(self) -> Floats:
        everything = np.arange(self.n)
        return self.block(everything, everything)

    @cached_property
    def away(self) -> float:
        """An upper bound on the spectral norm of S - `matrix`."""
        return sum_up(up(self.spread**2)) if self.spread.any() else 0.0

    @cached_property
    def largest(self) -> ProvedEigenvalue:
        """The largest eigenvalue of S: an upper bound and an estimate."""
        if self.largest_by_rows is not None:
            return self.largest_by_rows
        value, estimate = proved_largest_eigenvalue(self.matrix)
        return ProvedEigenvalue(sum_up([value, self.away]) if self.away else value, estimate)

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        """`largest`, from a matrix as small as the number of rows of the factor; None if that is not smaller."""
        return None

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        """A `semidefinite_shift` that follows from how S was made, without writing S out; None if there is none."""
        return None

    @cached_property
    def semidefinite_trace(self) -> float:
        """The trace of some semidefinite E with S + E semidefinite; infinite if none is known."""
        return math.inf

    def hidden_excess(self, features: Indices) -> float | None:  # noqa: ARG002 - most enclosures hide no rows
        """Return how much S lacks to a semidefinite matrix with the same rows of features that are hidden.

        None if one of the features is not hidden. See `laconic.covariance.screened`.
        """
        return None

    @cached_property
    def semidefinite_shift(self) -> float:
        """A number d >= 0 with S + d I semidefinite."""
        if self.known_semidefinite_shift is not None:
            return self.known_semidefinite_shift
        return sum_up([self.matrix_shift, self.away]) if self.away else self.matrix_shift

    @cached_property
    def matrix_shift(self) -> float:
        """A number d >= 0 with `matrix` + d I semidefinite."""
        return proved_semidefinite_shift(self.matrix)


class DenseEnclosure(Enclosure):
    """An array. If it is not symmetric, its symmetric part counts, as in x'Mx."""

    def __init__(self, matrix: Floats) -> None:
        self.n = len(matrix)
        self._exact = bool(np.array_equal(matrix, matrix.T))
        self._matrix = matrix if self._exact else 0.5 * (matrix + matrix.T)

    @cached_property
    def spread(self) -> Floats:
        return np.zeros(self.n) if self._exact else np.asarray(grown(self.size * math.sqrt(2 * gamma(2)), 3))

    @cached_property
    def size(self) -> Floats:
        return np.asarray(up(np.sqrt(np.abs(self._matrix).max(axis=1, initial=0.0))))

    @cached_property
    def magnitude(self) -> float:
        return math.sqrt(float(np.abs(self._matrix).max(initial=0.0)))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self._matrix[rows[:, None], columns]

    def _whole(self) -> Floats:
        return self._matrix

    @cached_property
    def diagonal(self) -> Floats:
        return self._matrix.diagonal().copy()


class SubsetEnclosure(Enclosure):
    """Some of the features of another enclosure."""

    def __init__(self, base: Enclosure, keep: Indices) -> None:
        self._base, self._keep = base, keep
        self.n = len(keep)

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        return self._base.known_semidefinite_shift

    @cached_property
    def semidefinite_trace(self) -> float:
        return self._base.semidefinite_trace

    @cached_property
    def spread(self) -> Floats:
        return self._base.spread[self._keep]

    @cached_property
    def size(self) -> Floats:
        return self._base.size[self._keep]

    @cached_property
    def magnitude(self) -> float:
        return self._base.magnitude

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        # The largest eigenvalue of a part is at most that of the whole.
        return self._base.largest_by_rows if self.n > CHEAP_EIGENVALUES else None

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self._base.block(self._keep[rows], self._keep[columns])

    @cached_property
    def diagonal(self) -> Floats:
        return self._base.diagonal[self._keep]


def enclosure_of(S: Any) -> Enclosure:
    """Return the enclosure of a covariance or of a symmetric array; an enclosure is returned as it is."""
    if isinstance(S, Enclosure):
        return S
    enclosure: Enclosure = DenseEnclosure(S) if isinstance(S, np.ndarray) else S.enclosure
    return enclosure
