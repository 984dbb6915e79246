"""A covariance known through its factor: for wide data the n x n matrix must not be written out."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue, proved_largest_eigenvalue
from laconic.core.rounding import TINY, gamma, grown, sum_up
from laconic.covariance.contract import Covariance
from laconic.covariance.enclosure import Enclosure

# Up to this many rows the matrix of their inner products is computed to get the column lengths: 1000 x 1000 numbers
# are 8 MB, and with more rows random directions are faster.
ROW_GRAM = 1000


class FactorCovariance(Covariance):
    """S = A'A, where A usually has fewer rows than columns (the A of section 2 of the paper)."""

    def __init__(self, factor: Floats) -> None:
        self.factor: Floats = factor
        self.n_features = factor.shape[1]

    @property
    def eigenproblem_size(self) -> int:
        return int(min(self.factor.shape))

    def _diagonal(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.factor, self.factor))

    def _enclosure(self) -> Enclosure:
        return FactorEnclosure(self.factor)

    def digest_parts(self) -> list[Any]:
        return [type(self).__name__, self.factor]

    def columns(self, indices: Indices) -> Floats:
        return self.factor.T @ self.factor[:, indices]

    def product(self, block: Floats) -> Floats:
        return self.factor.T @ (self.factor @ block)

    def column_lengths(self, seed: int = 0) -> Floats:
        if len(self.factor) > ROW_GRAM:
            return super().column_lengths(seed)
        # |A'a_i|^2 = a_i'(AA')a_i, and AA' is small. Some columns at a time, so that no second factor is held.
        gram = self.factor @ self.factor.T
        parts = np.array_split(self.factor, max(1, self.n_features // 500), axis=1)
        return np.concatenate([np.einsum("ij,ij->j", part, gram @ part) for part in parts])

    def submatrix(self, indices: Indices) -> Floats:
        chosen = self.factor[:, indices]
        block = chosen.T @ chosen
        return 0.5 * (block + block.T)


class FactorEnclosure(Enclosure):
    """S = A'A for an array A of q rows. An inner product of q terms has an error of at most gamma_q |a_i||a_j|."""

    known_semidefinite_shift = 0.0

    def __init__(self, factor: Floats) -> None:
        self.factor: Floats = factor
        self.n = factor.shape[1]

    def part(self, keep: Indices) -> Enclosure:
        return FactorEnclosure(self.factor[:, keep])

    @cached_property
    def magnitude(self) -> float:
        return float(np.abs(self.factor).max(initial=0.0))

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

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        return RowProducts(self.factor).whole() if len(self.factor) < self.n else None


class RowProducts:
    """The inner products of the rows of A, that is AA', with bounds on their errors.

    AA' has the same largest eigenvalue as A'A, and is smaller if A has fewer rows than columns.
    """

    def __init__(self, A: Floats) -> None:
        self.factor = A
        self.gram = A @ A.T
        self.squares = float(grown(np.einsum("ij,ij->", A, A), A.size + 1))
        self.length = float(grown(np.sqrt(self.squares), 1))

    def largest(self, H: Floats, X: Floats, error: float) -> ProvedEigenvalue:
        """Return an upper bound on lmax(AA' - HXH') for a symmetric X, and its estimate.

        `error` bounds the Frobenius norm of the error of H. With n columns of A and r of H, the rounding of AA' is at
        most gamma_n |A|_F^2, and that of HXH' at most gamma_2r |H|_F^2 |X|_F.
        """
        M = self.gram - H @ X @ H.T
        count = max(self.factor.shape[1], 2 * len(X)) + 12
        size = float(grown(np.sqrt(grown(np.einsum("ij,ij->", X, X), X.size + 1)), 1))
        square = float(grown(np.einsum("ij,ij->", H, H), H.size + 1))
        rounding = grown((self.squares + square * size) * gamma(count), 6)
        moved = grown(size * error * (2 * np.sqrt(square) + error), 8)
        value, estimate = proved_largest_eigenvalue(0.5 * (M + M.T))
        return ProvedEigenvalue(sum_up([value, rounding, moved]), estimate)

    def whole(self) -> ProvedEigenvalue:
        """Return an upper bound on lmax(AA'), and its estimate."""
        return self.largest(np.zeros((len(self.gram), 0)), np.zeros((0, 0)), 0.0)
