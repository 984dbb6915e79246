"""The covariance S as solvers and proofs see it: entries with bounds on their errors. An array, a factor, eigenvalues.

S is a symmetric matrix of real numbers: the exact covariance of some rows, or a matrix that a user gave. The entries
of S that are computed are rounded. Each kind of covariance knows a vector l (`spread`) with

    |S_ij - B_ij| <= l_i l_j    for the entries B_ij of `block`, `diagonal` and `matrix`.

For a unit vector x therefore |x'Sx - x'Bx| <= (l'|x|)^2 <= |l|^2. Proofs use these entries and add their errors.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.core.eigenvalues import (
    ProvedEigenvalue,
    eigh,
    eigvalsh,
    extreme_eigenpair,
    proved_largest_by_rows,
    proved_largest_eigenvalue,
    proved_semidefinite_shift,
)
from laconic.core.monitor import Monitor
from laconic.core.rounding import TINY, gamma, grown, sum_up, up

if TYPE_CHECKING:
    from laconic.covariance.pairs import Pairs

# Random directions behind an estimate of column lengths, and how many are multiplied at a time. With 48 the estimate is
# off by about a fifth, which is enough to rank columns.
RANDOM_DIRECTIONS, TOGETHER = 48, 8
# Up to this many rows of a factor their inner products give the largest eigenvalues: 1000 x 1000 numbers are 8 MB. With
# more rows Lanczos' method is faster.
ROW_GRAM = 1000
# Up to this size LAPACK on the written-out matrix is faster than Lanczos' method on the operator. Its eigenvalues are
# sharper than bounds that avoid writing the matrix out.
CHEAP_EIGENVALUES = 400
# Rows of a factor in one part: sums of products in single precision run over no more.
ROWS_OF_A_PART = 1024
# Variances and lengths of columns are computed from blocks of this many features.
DIAGONAL_BLOCK = 500


class Covariance(ABC):
    """A symmetric n x n matrix S that may never be written out.

    A kind must implement `_diagonal`, `block` and `product`, and for proofs `spread` and `size`. The rest follows from
    these, and a kind overrides what it can do better. The attributes below declare the abilities of a kind; code
    outside this room asks for an ability and never for a class.
    """

    n_features: int
    #: Whether S is positive semidefinite by construction. Power methods shift a matrix that is not.
    semidefinite: bool = True
    #: Whether S, or the covariance that S is derived from, is held as an array, so that writing it out costs little.
    written_out: bool = False
    #: The covariance that S is a part of, or deflated from. Otherwise None.
    base: "Covariance | None" = None
    #: If these are some of the features of a larger covariance: their places there. Otherwise None.
    keep: Indices | None = None
    #: The features whose entries of S can be computed; None for all. Of the others only the variances are known.
    at_hand: Indices | None = None
    #: How far two bounds may differ because S is made from the same rows in two ways. Certificates leave room for it.
    slack: float = 0.0
    #: A bound on the norm of S - A'A for the `factor` A.
    factor_error: float = 0.0
    #: The multiplications behind an entry of S: one if S is held as an array, else the number of rows.
    entry_cost: int = 1
    #: What a look at all pairs has found, if there was one.
    _pairs: "Pairs | None" = None

    @cached_property
    def leading_pairs(self) -> dict[tuple[int, float], tuple[float, Floats]]:
        """The largest eigenvalue and its vector, for each seed and accuracy that `largest_eigenpair` was asked for."""
        return {}

    @cached_property
    def factor(self) -> Floats | None:
        """A with S = A'A up to `factor_error`, if the kind holds it."""
        return None

    def rows_as_factor(self, columns: Indices) -> Floats | None:
        """Return some columns of the factor, or of the standardised rows if these can be written out; None if not."""
        return None if self.factor is None else self.factor[:, columns]

    def row_parts(self) -> "Iterator[tuple[Floats, Floats]] | None":
        """Return parts L and R of few rows each, or None. S is the sum of the L'R, and size_i size_j of the |L|'|R|.

        The first holds up to `spread`. None also stands for rows of which single entries of S are computed faster.
        """
        return None

    @property
    def eigenproblem_size(self) -> int:
        """The size of the smallest matrix that gives the largest eigenvalue of S."""
        return self.n_features if self.base is None else min(self.base.eigenproblem_size, self.n_features)

    @abstractmethod
    def _diagonal(self) -> Floats:
        """Compute the variances."""

    @abstractmethod
    def block(self, rows: Indices, columns: Indices) -> Floats:
        """Return the computed entries of some rows and columns."""

    @abstractmethod
    def product(self, block: Floats) -> Floats:
        """Return S times a vector, or times a block of column vectors."""

    @cached_property
    def spread(self) -> Floats:
        """The vector l: the error of entry (i, j) is at most l_i l_j."""
        raise NotImplementedError(f"Nothing is proved about a {type(self).__name__}.")

    @cached_property
    def size(self) -> Floats:
        """A vector with |S_ij| <= size_i size_j."""
        raise NotImplementedError(f"Nothing is proved about a {type(self).__name__}.")

    def part(self, keep: Indices) -> "Covariance":
        """Return S on some of the features, in the order given, as a view."""
        from laconic.covariance.views import SubsetCovariance

        return SubsetCovariance(self, keep)

    def on_hand(self) -> "Covariance":
        """Return S on the features at hand: S itself if all of them are."""
        return self._on_hand

    @cached_property
    def _on_hand(self) -> "Covariance":
        return self if self.at_hand is None else self.part(self.at_hand)

    @cached_property
    def diagonal(self) -> Floats:
        """The computed variances S_ii."""
        diagonal = self._diagonal()
        diagonal.flags.writeable = False
        return diagonal

    @cached_property
    def variances(self) -> Floats:
        """Upper bounds on the variances."""
        return np.asarray(np.where(self.spread > 0, up(self.diagonal + up(self.spread**2)), self.diagonal))

    @property
    def varies(self) -> Mask:
        """Whether each feature varies: it has a variance, or any entry at all if S is indefinite."""
        return np.asarray(self.diagonal > 0 if self.semidefinite else self.column_lengths() > 0)

    @cached_property
    def trace(self) -> float:
        """The total variance."""
        return float(self.diagonal.sum())

    @cached_property
    def rounding_unit(self) -> float:
        """The largest entry, before deflation if there was one: rounding errors of entries are relative to it."""
        return float(np.abs(self.diagonal).max())

    @cached_property
    def magnitude(self) -> float:
        """About the root of the largest entry of the data behind S, which tells whether S is in range for proofs."""
        if self.base is not None:
            return self.base.magnitude
        return math.sqrt(float(np.abs(self.diagonal).max(initial=0.0)))

    def columns(self, indices: Indices) -> Floats:
        """Return S[:, indices] as an n x m array."""
        return self.block(np.arange(self.n_features), indices)

    def submatrix(self, indices: Indices) -> Floats:
        """Return the principal submatrix S[indices, indices], exactly symmetric."""
        block = self.block(indices, indices)
        return 0.5 * (block + block.T)

    def submatrices(self, supports: Indices) -> Floats:
        """Return a stack of principal submatrices, one for each row of `supports`."""
        union, position = np.unique(supports, return_inverse=True)
        block = self.submatrix(union)
        place = position.reshape(supports.shape)
        return block[place[:, :, None], place[:, None, :]]

    def column_lengths(self, seed: int = 0) -> Floats:
        """Return the squared length of each column of S, or an estimate from random directions if S is an operator."""
        if self.written_out:
            parts = np.array_split(np.arange(self.n_features), -(-self.n_features // DIAGONAL_BLOCK))
            return np.concatenate([(self.columns(part) ** 2).sum(axis=0) for part in parts])
        rng = np.random.default_rng(seed)
        lengths = np.zeros(self.n_features)
        for _ in range(0, RANDOM_DIRECTIONS, TOGETHER):
            probes = rng.standard_normal((self.n_features, TOGETHER))
            lengths += (self.product(probes) ** 2).sum(axis=1)
        return lengths / RANDOM_DIRECTIONS

    @cached_property
    def matrix(self) -> Floats:
        """All computed entries, exactly symmetric; a ValueError if there are too many features to write S out."""
        if self.n_features > WRITE_OUT_LIMIT:
            raise ValueError(
                f"This bound needs the matrix written out, and {self.n_features} features are more than "
                f"{WRITE_OUT_LIMIT}; use a trace bound or the bound of the factor, or eliminate features first."
            )
        return self.submatrix(np.arange(self.n_features))

    @cached_property
    def away(self) -> float:
        """An upper bound on the norm of S - `matrix`."""
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
        if self.factor is None or len(self.factor) >= self.n_features:
            return None
        return self.largest_of(self.factor)

    def largest_of(self, factor: Floats) -> ProvedEigenvalue:
        """Return the largest eigenvalue of S, given A with S = A'A up to `factor_error`."""
        value, estimate = proved_largest_by_rows(factor)
        return ProvedEigenvalue(sum_up([value, self.factor_error]), estimate)

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        """A `semidefinite_shift` that follows from how S was made, without writing S out; None if there is none."""
        return None

    @cached_property
    def semidefinite_trace(self) -> float:
        """The trace of some semidefinite E with S + E semidefinite; infinite if none is known.

        A bound on a block of any size pays it once, where it pays the shift for each feature.
        """
        return math.inf

    @cached_property
    def semidefinite_shift(self) -> float:
        """A number d >= 0 with S + d I semidefinite; infinite if none is known."""
        if self.known_semidefinite_shift is not None:
            return self.known_semidefinite_shift
        if self.n_features > WRITE_OUT_LIMIT:
            return math.inf
        return sum_up([self.matrix_shift, self.away]) if self.away else self.matrix_shift

    @cached_property
    def matrix_shift(self) -> float:
        """A number d >= 0 with `matrix` + d I semidefinite."""
        return proved_semidefinite_shift(self.matrix)

    def semidefinite_cost(self, count: Any) -> Any:
        """Return what a bound pays for `count` features (a number or an array) because S need not be semidefinite."""
        return np.minimum(count * self.semidefinite_shift, self.semidefinite_trace)

    @cached_property
    def power_shift(self) -> float:
        """Power methods add this to the diagonal of S: minus the smallest eigenvalue if it is negative, else zero."""
        return -min(smallest_eigenvalue(self), 0.0)

    @property
    def pairs_cost(self) -> float:
        """The multiplications that a look at all pairs takes."""
        return float(self.entry_cost) * self.n_features**2

    def pairs(self, count: int, monitor: Monitor | None = None) -> "Pairs":
        """Return the `count` largest |S_ij|, j != i, of each row, and all that are above a floor. They are kept."""
        return self.widest_pairs(count, monitor or Monitor()).at(count)

    def widest_pairs(self, count: int, monitor: Monitor) -> "Pairs":
        """Return the same with all that is known about more than `count` entries of each row."""
        if self.at_hand is not None:
            raise ValueError("The rows of some features are not at hand; all pairs need every row.")
        found = self._pairs
        if found is None or found.largest.shape[1] < min(count, self.n_features - 1):
            found = self._pairs = self._look_at_pairs(count, monitor)
        return found

    def _look_at_pairs(self, count: int, monitor: Monitor) -> "Pairs":
        from laconic.covariance.pairs import all_pairs

        return all_pairs(self, count, monitor)

    def excess(self, features: Indices) -> float | None:  # noqa: ARG002 - kinds that know less look at the features
        """Return a number e that limits the entries between some features B and the others A by their variances.

        There is a semidefinite matrix M with M_AB = S_AB, M_BB <= the variances of B, and M_AA <= S_AA + e I. None if
        no such number is known. It is 0 if S is semidefinite.
        """
        return 0.0 if self.known_semidefinite_shift == 0.0 else None


class DenseCovariance(Covariance):
    """A symmetric array, semidefinite or not. If it is not exactly symmetric, its symmetric part counts, as in x'Mx.

    Parameters
    ----------
    matrix
        The array. It is not checked here, but where it came from the user.
    semidefinite
        Whether it is positive semidefinite up to rounding.
    spread
        If S is the exact covariance of some rows, the errors of the array; None if S is the array itself.
    slack
        As in `Covariance`.
    """

    written_out = True

    def __init__(
        self, matrix: Floats, *, semidefinite: bool = True, spread: Floats | None = None, slack: float = 0.0
    ) -> None:
        symmetric = bool(np.array_equal(matrix, matrix.T))
        self.matrix: Floats = matrix if symmetric else 0.5 * (matrix + matrix.T)
        self.n_features = len(matrix)
        self.semidefinite = semidefinite
        self.slack = slack
        if spread is not None:
            # The exact covariance of rows is semidefinite, although its rounded entries need not be.
            self.known_semidefinite_shift = 0.0
        elif symmetric:
            spread = np.zeros(len(matrix))
        self._spread = spread

    def _diagonal(self) -> Floats:
        return self.matrix.diagonal().copy()

    @cached_property
    def spread(self) -> Floats:
        return np.asarray(grown(self._root * math.sqrt(2 * gamma(2)), 3)) if self._spread is None else self._spread

    @cached_property
    def _root(self) -> Floats:
        return np.asarray(up(np.sqrt(np.abs(self.matrix).max(axis=1, initial=0.0))))

    @cached_property
    def size(self) -> Floats:
        return np.asarray(up(self._root + self.spread))

    @cached_property
    def rounding_unit(self) -> float:
        # Only a semidefinite matrix has its largest entry on the diagonal.
        return float(np.abs(self.matrix.diagonal() if self.semidefinite else self.matrix).max())

    @cached_property
    def magnitude(self) -> float:
        return math.sqrt(float(np.abs(self.matrix).max(initial=0.0)))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self.matrix[rows[:, None], columns]

    def columns(self, indices: Indices) -> Floats:
        return self.matrix[:, indices]

    def submatrix(self, indices: Indices) -> Floats:
        return self.matrix[indices[:, None], indices]

    def submatrices(self, supports: Indices) -> Floats:
        return self.matrix[supports[:, :, None], supports[:, None, :]]

    def product(self, block: Floats) -> Floats:
        return self.matrix @ block


class FactorCovariance(Covariance):
    """S = A'A, where A usually has fewer rows than columns (the A of section 2 of the paper).

    An inner product of q terms has an error of at most gamma_q |a_i||a_j|. If A was made from rows, S is their exact
    covariance. Then `apart` is a vector with |S_ij - (A'A)_ij| <= apart_i apart_j.
    """

    known_semidefinite_shift = 0.0

    def __init__(self, factor: Floats, *, apart: Floats | None = None, slack: float = 0.0) -> None:
        self.factor: Floats = factor
        self.entry_cost, self.n_features = factor.shape
        self.slack = slack
        self.apart = np.zeros(self.n_features) if apart is None else apart
        self.factor_error = sum_up(up(self.apart**2)) if self.apart.any() else 0.0

    @property
    def eigenproblem_size(self) -> int:
        return int(min(self.factor.shape))

    def row_parts(self) -> Iterator[tuple[Floats, Floats]]:
        for begin in range(0, len(self.factor), ROWS_OF_A_PART):
            part = self.factor[begin : begin + ROWS_OF_A_PART]
            yield part, part

    def _diagonal(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.factor, self.factor))

    @cached_property
    def _lengths(self) -> Floats:
        """Upper bounds on the lengths of the columns of A."""
        return np.asarray(grown(np.sqrt(grown(self.diagonal, len(self.factor) + 1)), 1))

    @cached_property
    def size(self) -> Floats:
        return np.asarray(up(self._lengths + self.apart))

    @cached_property
    def spread(self) -> Floats:
        rounding = grown(self._lengths * math.sqrt(gamma(len(self.factor) + 4)), 3) + math.sqrt(TINY)
        return np.asarray(up(rounding + self.apart))

    @cached_property
    def magnitude(self) -> float:
        return float(np.abs(self.factor).max(initial=0.0))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        left = self.factor[:, rows]
        return left.T @ (left if rows is columns else self.factor[:, columns])

    def columns(self, indices: Indices) -> Floats:
        return self.factor.T @ self.factor[:, indices]

    def product(self, block: Floats) -> Floats:
        return self.factor.T @ (self.factor @ block)


def as_covariance(S: Any) -> Covariance:
    """Return an array as a covariance, and a covariance as it is."""
    return DenseCovariance(np.asarray(S, dtype=np.float64)) if isinstance(S, np.ndarray) else S


# Accuracy of the smallest eigenvalue, relative to the largest one of c I - S.
ACCURACY = 1e-6
# The rank is found when at most this share of each variance is left.
LEFT = 1e-10
# At a coarse accuracy so many vectors are enough for one eigenvalue. The library's default is 20 products at least.
COARSE, LANCZOS_VECTORS = 1e-4, 12


def largest_eigenpair(covariance: Covariance, *, seed: int = 0, tolerance: float = 0.0) -> tuple[float, Floats]:
    """Return the largest eigenvalue and a unit eigenvector: the ordinary principal component.

    Parameters
    ----------
    covariance
        The covariance S.
    seed, tolerance
        The seed of the vector that Lanczos' method starts from, and the relative accuracy; 0 means machine precision.

    The covariance keeps what was found: a search begins where the variance of the ordinary component is reported.
    """
    n, known = covariance.n_features, covariance.leading_pairs
    if (seed, tolerance) not in known and n <= CHEAP_EIGENVALUES:
        known[seed, tolerance] = extreme_eigenpair(covariance.submatrix(np.arange(n)), -1)
    elif (seed, tolerance) not in known:
        values, vectors = _several(covariance.product, n, 1, seed, tolerance)
        known[seed, tolerance] = float(values[0]), vectors[:, 0]
    value, vector = known[seed, tolerance]
    return value, vector.copy()


def largest_eigenpairs(
    covariance: Covariance, count: int, *, seed: int = 0, tolerance: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues, the largest first, and unit eigenvectors as columns: the ordinary components.

    There are `count` of them, or as many as there are features. The parameters are those of `largest_eigenpair`.
    """
    n = covariance.n_features
    if n <= CHEAP_EIGENVALUES or count >= n - 1:
        values, vectors = eigh(covariance.submatrix(np.arange(n)))
    else:
        values, vectors = _several(covariance.product, n, count, seed, tolerance)
    return values[::-1][:count].copy(), np.ascontiguousarray(vectors[:, ::-1][:, :count])


def largest_eigenvalues(covariance: Covariance, count: int, *, seed: int = 0, tolerance: float = 0.0) -> Floats:
    """Return the largest eigenvalues alone, the largest first. The parameters are those of `largest_eigenpairs`.

    A'A and AA' have the same eigenvalues but zeros. If A has few rows, AA' is small whatever the number of features.
    """
    A = covariance.factor
    if A is None or not count <= len(A) <= min(ROW_GRAM, covariance.n_features):
        return largest_eigenpairs(covariance, count, seed=seed, tolerance=tolerance)[0]
    return eigvalsh(A @ A.T)[::-1][:count].copy()


def smallest_eigenvalue(covariance: Covariance) -> float:
    """Return the smallest eigenvalue of a covariance, or zero if it is semidefinite by construction.

    Lanczos' method works on c I - S, with c twice the largest absolute eigenvalue: the eigenvalue wanted is then the
    largest one. On S itself the accuracy is relative to the eigenvalue. If that is near zero, the method may never
    converge, or stop at a wrong value.
    """
    if covariance.semidefinite:
        return 0.0
    n = covariance.n_features
    if n <= CHEAP_EIGENVALUES:
        return extreme_eigenpair(covariance.submatrix(np.arange(n)), 0)[0]
    shift = 2.0 * abs(float(_several(covariance.product, n, 1, 0, ACCURACY)[0][0]))
    return shift - float(_several(lambda v: shift * v - covariance.product(v), n, 1, 0, ACCURACY)[0][0])


def _several(
    product: Callable[[Floats], Floats], n: int, count: int, seed: int, tolerance: float
) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues, increasing, and their vectors, by Lanczos' method."""
    operator = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), matmat=product, dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(n)
    few = LANCZOS_VECTORS if tolerance >= COARSE and count == 1 else None
    try:
        values, vectors = eigsh(operator, k=count, which="LA", v0=start, tol=tolerance, ncv=few)
    except ArpackNoConvergence as error:
        if len(error.eigenvalues) < count:
            raise
        values, vectors = error.eigenvalues, error.eigenvectors
    order = np.argsort(values)
    return values[order], vectors[:, order]


def rank_at_least(covariance: Covariance, rank: int) -> int:
    """Return min(rank, numerical rank of a covariance), by steps of a Cholesky factorisation with pivoting.

    Each step costs one column of S. Each feature is measured in units of its own standard deviation.
    """
    variances = covariance.diagonal
    varying = variances > 0
    units = np.where(varying, 1.0 / np.sqrt(np.where(varying, variances, 1.0)), 0.0)
    residual = varying.astype(np.float64)
    factor = np.zeros((min(rank, len(residual)), len(residual)))
    for step in range(len(factor)):
        pivot = int(residual.argmax())
        if residual[pivot] <= LEFT:
            return step
        if step + 1 == len(factor):
            break  # what is left after the last step does not matter
        column = covariance.columns(np.array([pivot]))[:, 0] * units * units[pivot]
        column -= factor[:step].T @ factor[:step, pivot]
        factor[step] = column / np.sqrt(residual[pivot])
        residual -= factor[step] ** 2
        residual[pivot] = 0.0
    return len(factor)
