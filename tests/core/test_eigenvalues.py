"""Bounds that hold of the real numbers, checked in exact rational arithmetic.

Bounds of the largest eigenvalue.
"""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core import eigenvalues as proof
from laconic.core.rounding import UNIT


def exact(M):
    return [[Fraction(float(x)) for x in row] for row in M]


def determinant(M):
    """By elimination in fractions."""
    M = [row[:] for row in M]
    n, sign = len(M), 1
    for j in range(n):
        pivot = next((i for i in range(j, n) if M[i][j] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != j:
            M[j], M[pivot], sign = M[pivot], M[j], -sign
        for i in range(j + 1, n):
            ratio = M[i][j] / M[j][j]
            M[i] = [a - ratio * b for a, b in zip(M[i], M[j], strict=True)]
    return sign * math.prod((M[i][i] for i in range(n)), start=Fraction(1))


def is_upper_bound(t, M):
    """Whether t I - M is semidefinite: no principal minor is negative."""
    M, t, n = exact(M), Fraction(float(t)), len(M)
    shifted = [[(t if i == j else 0) - M[i][j] for j in range(n)] for i in range(n)]
    return all(
        determinant([[shifted[i][j] for j in rows] for i in rows]) >= 0
        for size in range(1, n + 1)
        for rows in combinations(range(n), size)
    )


def symmetric(rng, n):
    M = rng.standard_normal((n, n))
    return M + M.T


def matrices():
    """Small matrices near every edge: repeated and zero eigenvalues, rank one, one huge entry, all scales."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4):
        for _ in range(4):
            A = rng.standard_normal((n, n))
            v = rng.standard_normal(n)
            yield symmetric(rng, n)
            yield np.outer(v, v)
            yield -np.outer(v, v)
            yield -(A.T @ A) - np.outer(v, v).T
            yield np.eye(n) * v[0] + np.outer(v, v) * 1e-16
            D = np.diag(10.0 ** rng.integers(-8, 8, n))
            yield D @ symmetric(rng, n) @ D
    for value in (1.0, 1 / 3, 0.1, -0.1):
        for n in (2, 3):
            yield np.full((n, n), value)
            yield value * np.eye(n)
            yield np.zeros((n, n))


def as_symmetric(M):
    return 0.5 * (M + M.T)


@pytest.mark.parametrize("scale", [1.0, 2.0**-1000, 1e-300, 1e300, 2.0**1000, 5e-324])
def test_the_eigenvalue_bound_holds_exactly_and_is_sharp(scale):
    for M in matrices():
        with np.errstate(over="ignore"):
            M = as_symmetric(M * scale)
        if not np.isfinite(M).all():
            continue
        t = proof.proved_largest_eigenvalue(M).value
        assert is_upper_bound(t, M)
        size = np.abs(M).max()
        if size and math.isfinite(t):
            below = Fraction(t) - Fraction(float(size)) * Fraction(2 * len(M) ** 2 + 8, 10**15) - Fraction(5e-324) * 4
            least = [[(below if i == j else 0) - x for j, x in enumerate(row)] for i, row in enumerate(exact(M))]
            minors = [determinant([row[:m] for row in least[:m]]) for m in range(1, len(M) + 1)]
            assert not all(minor > 0 for minor in minors)


def test_what_lapack_returns_is_no_bound():
    """The margin is needed: plain eigenvalues fail the same check about every second time."""
    rng = np.random.default_rng(1)
    sample = [symmetric(rng, 3) for _ in range(40)]
    assert 5 < sum(is_upper_bound(np.linalg.eigvalsh(M)[-1], M) for M in sample) < 35


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_random_matrices_with_few_digits(seed, n):
    """Entries that are multiples of powers of two make exact ties."""
    rng = np.random.default_rng(seed)
    M = as_symmetric(rng.integers(-3, 4, (n, n)) * 2.0 ** rng.integers(-60, 60))
    assert is_upper_bound(proof.proved_largest_eigenvalue(M).value, M)


def test_a_guess_of_lanczos(monkeypatch):
    monkeypatch.setattr(proof, "LANCZOS_ABOVE", 10)
    M = symmetric(np.random.default_rng(0), 60)
    top = np.linalg.eigvalsh(M)[-1]
    assert top <= proof.proved_largest_eigenvalue(M).value <= top * (1 + 1e-12)
    monkeypatch.setattr(proof, "_accurate_lanczos", lambda _: 0.0)
    assert top <= proof.proved_largest_eigenvalue(M).value <= top * (1 + 1e-12)


@pytest.mark.parametrize("error", [-0.5, -1e-3, -1e-12, 1e-3])
def test_a_wrong_estimate_costs_sharpness_alone(monkeypatch, error):
    true = proof.largest_eigenvalue
    monkeypatch.setattr(proof, "largest_eigenvalue", lambda M: true(M) + error)
    for M in matrices():
        M = as_symmetric(M)
        assert is_upper_bound(proof.proved_largest_eigenvalue(M).value, M)


@pytest.mark.parametrize("size", [1e-15, 1e-8, 0.1, np.nan])
def test_a_wrong_factor_costs_sharpness_alone(monkeypatch, size):
    """However the Cholesky factor was computed, the product tells."""
    true, rng = proof._factor, np.random.default_rng(0)

    def sloppy(M, top):
        factor = true(M, top)
        return None if factor is None else np.tril(factor + size * rng.standard_normal(factor.shape))

    monkeypatch.setattr(proof, "_factor", sloppy)
    for M in matrices():
        M = as_symmetric(M)
        assert is_upper_bound(proof.proved_largest_eigenvalue(M).value, M)


@pytest.mark.parametrize("error", [1e-14, 1e-10, 1e-3, 0.5])
def test_a_factor_of_another_matrix_is_paid_for(monkeypatch, error):
    """tau below the largest eigenvalue, and the factor of the nearest semidefinite matrix passed off for its own."""
    true = proof.largest_eigenvalue

    def pretended(M, top):
        values, vectors = np.linalg.eigh(top * np.eye(len(M)) - M)
        return np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0))).T)[1].T

    monkeypatch.setattr(proof, "largest_eigenvalue", lambda M: true(M) - error)
    monkeypatch.setattr(proof, "_factor", pretended)
    for M in matrices():
        M = as_symmetric(M)
        assert is_upper_bound(proof.proved_largest_eigenvalue(M).value, M)


@pytest.mark.parametrize("e", [5e-15, 1e-15, 5e-16])
def test_a_row_that_is_nearly_set_apart_is_paid_for(e):
    """What it holds off the diagonal is of the size of rounding, and counts."""
    M = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, e], [0.0, e, 1.5]])
    assert is_upper_bound(proof.proved_largest_eigenvalue(M).value, M)


class Rounded(np.ndarray):
    """Arrays with products off by a given matrix, which is within what rounding may do."""

    off = 0.0

    def __matmul__(self, other):
        return np.asarray(self) @ np.asarray(other) + Rounded.off


@pytest.fixture
def badly_rounded(monkeypatch):
    """A matrix I - R'R - E, a factor R, and products R'R that come out as R'R + E: the distance seems to be zero.

    R has ones over eight above its diagonal, and E whole multiples of u with E_ij <= min(i, j) u (R'R)_ij.
    """
    n = 20
    least = np.minimum.outer(np.arange(1, n + 1), np.arange(1, n + 1))
    E = UNIT * np.floor(least**2 / 64)
    monkeypatch.setattr(Rounded, "off", E)
    R = np.triu(np.ones((n, n))) / 8
    assert np.array_equal(R.T @ R, least / 64)
    return np.eye(n) - (least / 64 + E), R.view(Rounded), float(np.linalg.norm(E, 2))


def test_the_rounding_of_a_product_is_in_the_distance(badly_rounded):
    M, factor, norm = badly_rounded
    assert norm <= proof._residual(M, 1.0, factor.T) <= 10 * norm


def test_the_rounding_of_products_is_in_the_bound_of_a_stack(badly_rounded, monkeypatch):
    M, factor, norm = badly_rounded
    n = len(M)
    margin = 4 * n * UNIT
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda stack: np.full((len(stack), n), 1.0 - margin))
    monkeypatch.setattr(np.linalg, "cholesky", lambda _: factor.T[None])
    assert 1.0 + norm <= proof.proved_largest_of_stack(M[None])[0] <= 1.0 + 20 * norm


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**600])
def test_the_semidefinite_shift_holds_exactly_and_is_sharp(scale):
    for M in matrices():
        M = as_symmetric(M * scale)
        d = proof.proved_semidefinite_shift(M)
        assert d >= 0
        assert is_upper_bound(d, -M)
        least = np.linalg.eigvalsh(M / scale)[0]
        assert d <= scale * (max(0.0, -least) + 1e-13 * np.abs(M / scale).max())
    assert proof.proved_semidefinite_shift(np.eye(5) + 0.1) == 0.0


def test_a_stack_is_bounded_at_once():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-300, 1e290):
        stack = np.array([symmetric(rng, 3) * scale for _ in range(20)])
        t, estimate = proof.proved_largest_of_stack(stack)
        assert all(is_upper_bound(t, M) for M in stack)
        assert t <= estimate * (1 + 1e-14)
    assert proof.proved_largest_of_stack(np.zeros((2, 3, 3))) == (0.0, 0.0)
    assert proof.proved_largest_of_stack(np.full((40, 3, 3), np.nan)) == (np.inf, np.inf)


def stacks():
    """The same small matrices, those of one size at once."""
    sizes = {}
    for M in matrices():
        sizes.setdefault(len(M), []).append(as_symmetric(M))
    for size, found in sizes.items():
        if size > 1:
            yield from (np.array(found[i : i + 4]) for i in range(0, len(found), 4))


@pytest.mark.parametrize("size", [1e-15, 1e-8, 0.1, np.nan])
def test_wrong_factors_of_a_stack_cost_sharpness_alone(monkeypatch, size):
    true, rng = np.linalg.cholesky, np.random.default_rng(0)

    def sloppy(stack):
        factors = true(stack)
        return np.tril(factors + size * rng.standard_normal(factors.shape))

    monkeypatch.setattr(np.linalg, "cholesky", sloppy)
    for stack in stacks():
        t, _ = proof.proved_largest_of_stack(stack)
        assert t == math.inf or all(is_upper_bound(t, M) for M in stack)


@pytest.mark.parametrize("error", [1e-14, 1e-10, 1e-3, 0.5])
def test_factors_of_other_matrices_are_paid_for(monkeypatch, error):
    """Estimates too low, and the factors of the nearest semidefinite matrices passed off for those of the stack."""
    true = np.linalg.eigvalsh

    def pretended(stack):
        values, vectors = np.linalg.eigh(stack)
        roots = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        return np.array([np.linalg.qr(root.T)[1].T for root in roots])

    monkeypatch.setattr(np.linalg, "eigvalsh", lambda stack: true(stack) - error)
    monkeypatch.setattr(np.linalg, "cholesky", pretended)
    for stack in stacks():
        t, _ = proof.proved_largest_of_stack(stack)
        assert all(is_upper_bound(t, M) for M in stack)


@pytest.mark.parametrize(
    ("M", "word"),
    [
        (np.array([[1.0, 2.0], [2.1, 1.0]]), "symmetric"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.array([[np.inf]]), "infinite"),
        (np.ones((2, 3)), "square"),
        (np.ones((0, 0)), "square"),
    ],
)
def test_what_is_no_symmetric_matrix_is_refused(M, word):
    with pytest.raises(ValueError, match=word):
        proof.proved_largest_eigenvalue(M)
