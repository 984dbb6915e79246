"""The difference of two covariances: directions that vary much in some rows and little in others.

Contrastive PCA (Abid, Zhang, Bagaria and Zou 2018) looks for components of S = S_X - g S_Y: X are the rows of interest,
Y the background, g > 0 its weight. S is indefinite. With few rows it is kept as S = A'A - B'B, and never written out.

**A semidefinite matrix above S.** For any matrix H of norm below one, with A = F + H'B,

    A'A - B'B <= F'(I - H'H)^-1 F.

Proof: with u = Fx, v = Bx and M = I - H'H the claim is |u + H'v|^2 <= u'M^-1 u + |v|^2. The difference of the two
sides has the matrix [[M^-1 - I, -H'], [-H, I - HH']]. I - HH' is definite, and the Schur complement of it is
M^-1 - I - H'(I - HH')^-1 H = M^-1 - I - M^-1 H'H = 0, so that the matrix is semidefinite.

The right side has a factor with as many rows as A, and each bound on it is a bound on S. H = 0 gives S_X itself. With
H = (t I + BB')^-1 BA' and t the largest eigenvalue of S, both sides have the same largest eigenvalue: t I - S is
semidefinite if and only if A (t I + B'B)^-1 A' <= I, which by Woodbury's formula is t (I - H'H) >= FF'.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalue_proof import ProvedEigenvalue
from laconic.core.linalg import eigh
from laconic.core.rounding import gamma, grown, norm_up, up
from laconic.covariance.contract import Covariance
from laconic.covariance.deflation_rules import HOTELLING, PROJECTION
from laconic.covariance.enclosure import Enclosure
from laconic.covariance.factor import ROW_GRAM, FactorCovariance, FactorEnclosure, RowProducts
from laconic.covariance.spectrum import largest_eigenpair

# t is at least this share of the largest variance of X, so that t I + BB' is far from singular.
LEAST_LEVEL = 1e-6
# With more rows, Lanczos' method on products with S is faster than the eigenvalues of a matrix of that size, which is
# not symmetric. Its accuracy is relative; a poor estimate gives a poor bound, and no wrong one.
MOST_ROWS, ACCURACY = 1000, 1e-6
# Columns that are looked at together.
TOGETHER = 500


class ContrastCovariance(Covariance):
    """S = A'A - B'B, from factors of two covariances.

    Parameters
    ----------
    target
        A, the factor of S_X.
    background
        B, the factor of S_Y times the root of the weight.
    """

    semidefinite = False

    def __init__(self, target: Floats, background: Floats) -> None:
        self.target, self.background = target, background
        self.n_features = target.shape[1]

    @property
    def eigenproblem_size(self) -> int:
        return min(len(self.target) + len(self.background), self.n_features)

    def _diagonal(self) -> Floats:
        return _squares(self.target) - _squares(self.background)

    def _rounding_unit(self) -> float:
        return float(max(_squares(self.target).max(), _squares(self.background).max()))

    def _enclosure(self) -> Enclosure:
        return ContrastEnclosure(self.target, self.background)

    def _semidefinite_shift(self) -> float:
        return self.enclosure.semidefinite_shift

    def digest_parts(self) -> list[Any]:
        return [type(self).__name__, self.target, self.background]

    def columns(self, indices: Indices) -> Floats:
        found = self.target.T @ self.target[:, indices]
        found -= self.background.T @ self.background[:, indices]
        return np.asarray(found)

    def product(self, block: Floats) -> Floats:
        found = self.target.T @ (self.target @ block)
        found -= self.background.T @ (self.background @ block)
        return np.asarray(found)

    def column_lengths(self, seed: int = 0) -> Floats:
        A, B = self.target, self.background
        if max(len(A), len(B)) > ROW_GRAM:
            return super().column_lengths(seed)
        # |A'a - B'b|^2 = a'AA'a - 2 a'AB'b + b'BB'b for the columns a and b of a feature.
        inner, mixed, outer = A @ A.T, A @ B.T, B @ B.T
        parts = []
        for part in np.array_split(np.arange(self.n_features), max(1, self.n_features // TOGETHER)):
            a, b = A[:, part], B[:, part]
            terms = (np.einsum("ij,ij->j", a, inner @ a - 2 * mixed @ b), np.einsum("ij,ij->j", b, outer @ b))
            parts.append(np.maximum(terms[0] + terms[1], 0.0))
        return np.concatenate(parts)

    def submatrix(self, indices: Indices) -> Floats:
        a, b = self.target[:, indices], self.background[:, indices]
        block = a.T @ a - b.T @ b
        return 0.5 * (block + block.T)

    def without(self, rule: Any, step: Any) -> Covariance:
        """Return S after one step of a deflation, which is a difference of two covariances again.

        A projection acts on both factors. The other rules subtract c ww' with c > 0: a row more of B.
        """
        z, y, v = step
        if rule is PROJECTION:
            return ContrastCovariance(*(F - np.outer(F @ z, z) for F in (self.target, self.background)))
        row = math.sqrt(v) * z if rule is HOTELLING else y / math.sqrt(v)
        return ContrastCovariance(self.target, np.vstack([self.background, row]))

    def above(self, share: float) -> tuple[FactorCovariance, Floats] | None:
        """Return a semidefinite matrix above S, and the H that it is made with, for t = share times lmax(S)."""
        H = self._rows.mixing(share * self._rows.largest)
        made = raised_factor(self.target, self.background, H)
        return None if made is None else (FactorCovariance(made.factor), H)

    @cached_property
    def _rows(self) -> "_Rows":
        return _Rows(self.target, self.background)


class ContrastEnclosure(Enclosure):
    """A'A - B'B, with the rounding errors of both products and of the subtraction."""

    def __init__(self, target: Floats, background: Floats) -> None:
        self._target, self._background = target, background
        self._first, self._second = FactorEnclosure(target), FactorEnclosure(background)
        self.n = target.shape[1]

    def part(self, keep: Indices) -> Enclosure:
        return ContrastEnclosure(self._target[:, keep], self._background[:, keep])

    @cached_property
    def magnitude(self) -> float:
        return max(self._first.magnitude, self._second.magnitude)

    @cached_property
    def size(self) -> Floats:
        # |A_i||A_j| + |B_i||B_j| is at most the product of the sums.
        return np.asarray(up(self._first.size + self._second.size))

    @cached_property
    def spread(self) -> Floats:
        rounding = grown(self.size * math.sqrt(gamma(4)), 3)
        return np.asarray(up(up(self._first.spread + self._second.spread) + rounding))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return np.asarray(self._first.block(rows, columns) - self._second.block(rows, columns))

    @cached_property
    def diagonal(self) -> Floats:
        return np.asarray(self._first.diagonal - self._second.diagonal)

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        rows = len(self._target) + len(self._background)
        return _proved_largest(self._target, self._background) if rows < self.n else None

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        # S + d I is semidefinite if d is at least the largest eigenvalue of B'B - A'A.
        if len(self._target) + len(self._background) >= self.n:
            return None
        return max(_proved_largest(self._background, self._target).value, 0.0)

    def raised(self, mixing: Floats) -> "Raised | None":
        return raised_factor(self._target, self._background, mixing)


@dataclass(frozen=True, eq=False)
class Raised:
    """A matrix G with x'Sx <= growth (|Gx| + e)^2 for unit x, where e^2 is the sum of the squared errors on x."""

    factor: Floats  # G, with a row for each row of A
    errors: Floats  # upper bounds on the lengths of the errors of its columns
    growth: float  # at least one

    def bound(self, inner: float, count: int) -> float:
        """Return a bound on x'Sx from one on |Gx|^2, for unit x with `count` nonzeros."""
        largest = np.sort(self.errors)[-count:]
        error = grown(np.sqrt(grown(largest @ largest, count)), 1)
        reach = up(grown(np.sqrt(max(inner, 0.0)), 1) + error)
        return float(grown(reach * reach * self.growth, 4))


def raised_factor(A: Floats, B: Floats, H: Floats) -> Raised | None:
    """Return G = T (A - H'B) with T'T nearly (I - H'H)^-1 and what it lacks; None if the norm of H is not below one.

    If T (I - H'H) T' >= (1 - r) I, then (I - H'H)^-1 <= T'T / (1 - r), whatever the numbers in T are. The norm of the
    computed I - T (I - H'H) T', and its rounding error in the Frobenius norm, bound r. Column i of A - H'B has a
    rounding error of at most gamma_{q+2} (|a_i| + |H|_F |b_i|), for q rows of B.
    """
    p, q = len(A), len(B)
    if H.shape != (q, p) or not np.isfinite(H).all():
        raise ValueError(f"The matrix H of a contrast has shape {H.shape} where {(q, p)} is needed.")
    M = np.eye(p) - H.T @ H
    values, vectors = eigh(0.5 * (M + M.T))
    if not values[0] > 0:
        return None
    T = (vectors / np.sqrt(values)) @ vectors.T
    R = np.eye(p) - T @ M @ T.T
    length, mixed = _length(T), _length(H)
    inner = grown(gamma(q + 4) * (math.sqrt(p) + mixed * mixed), 6)
    rest = grown(length * length * (inner + gamma(2 * p + 8) * (_length(M) + inner)) + gamma(4) * math.sqrt(p), 12)
    r = float(up(norm_up(0.5 * (R + R.T)) + rest))
    # The part of R that is not symmetric is rounding, too, and `rest` covers it: R is symmetric in real numbers.
    if not r < 0.5:
        return None
    sizes = up(FactorEnclosure(A).size + grown(mixed * FactorEnclosure(B).size, 2))
    errors = np.asarray(grown(sizes * (length * gamma(p + q + 12)), 4))
    return Raised(T @ (A - H.T @ B), errors, float(up(1.0 / (1.0 - up(r)))))


def _proved_largest(A: Floats, B: Floats) -> ProvedEigenvalue:
    """Return a bound on the largest eigenvalue of A'A - B'B, and its estimate."""
    rows = _Rows(A, B)
    made = raised_factor(A, B, rows.mixing(rows.largest))
    if made is None:
        return RowProducts(A).whole()
    value, estimate = RowProducts(made.factor).whole()
    return ProvedEigenvalue(made.bound(value, A.shape[1]), estimate)


class _Rows:
    """The inner products of the rows of A and B."""

    def __init__(self, A: Floats, B: Floats) -> None:
        self._A, self._B = A, B
        self._inner, self._mixed, self._outer = A @ A.T, A @ B.T, B @ B.T

    @cached_property
    def largest(self) -> float:
        """An estimate of the largest eigenvalue of A'A - B'B, which is that of [[AA', -AB'], [BA', -BB']]."""
        if len(self._A) + len(self._B) > MOST_ROWS:
            return largest_eigenpair(ContrastCovariance(self._A, self._B), tolerance=ACCURACY)[0]
        whole = np.block([[self._inner, -self._mixed], [self._mixed.T, -self._outer]])
        return float(np.linalg.eigvals(whole).real.max())

    def mixing(self, level: float) -> Floats:
        """Return (t I + BB')^-1 BA'."""
        t = max(level, LEAST_LEVEL * float(self._inner.diagonal().max(initial=0.0)), np.finfo(float).tiny)
        shifted = self._outer.copy()
        shifted.flat[:: len(shifted) + 1] += t
        return np.asarray(np.linalg.solve(shifted, self._mixed.T))


def _squares(F: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", F, F))


def _length(M: Floats) -> float:
    """Return an upper bound on the Frobenius norm."""
    return float(grown(np.sqrt(grown(np.einsum("ij,ij->", M, M), M.size + 1)), 1))
