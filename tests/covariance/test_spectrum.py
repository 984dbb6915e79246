import numpy as np
import pytest
import scipy.sparse as sp

from helpers import minus, random_psd
from laconic.covariance import (
    DenseCovariance,
    FactorCovariance,
    covariance_of,
    largest_eigenpair,
    rank_at_least,
    smallest_eigenvalue,
)


@pytest.mark.parametrize("n", [1, 2, 30, 380, 500])
@pytest.mark.parametrize("seed", range(2))
def test_largest_eigenpair(n, seed):
    """On both sides of the size where Lanczos takes over."""
    A = np.random.default_rng(seed).standard_normal((25, n))
    value, vector = largest_eigenpair(FactorCovariance(A))
    assert value == pytest.approx(np.linalg.norm(A, 2) ** 2, rel=1e-11)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert np.linalg.norm(A.T @ (A @ vector) - value * vector) <= 1e-7 * value


@pytest.mark.parametrize("seed", range(3))
def test_largest_means_largest_and_not_largest_in_size(seed):
    """An indefinite matrix whose most negative eigenvalue is larger in size."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((450, 450)))[0]
    spectrum = np.r_[-9.0, 4.0, np.linspace(-1, 1, 448)]
    S = (Q * spectrum) @ Q.T
    covariance = DenseCovariance(0.5 * (S + S.T), semidefinite=False)
    assert largest_eigenpair(covariance)[0] == pytest.approx(4, rel=1e-9)
    assert smallest_eigenvalue(covariance) == pytest.approx(-9, rel=1e-2)


@pytest.mark.parametrize("n", [20, 450])
def test_smallest_eigenvalue_of_a_deflated_matrix(n):
    S = random_psd(n, 30)
    z = np.zeros(n)
    z[[1, 4]] = [0.6, 0.8]
    covariance = minus(DenseCovariance(S), z, z @ S @ z)
    expected = np.linalg.eigvalsh(S - (z @ S @ z) * np.outer(z, z))[0]
    assert expected < 0
    assert smallest_eigenvalue(covariance) == pytest.approx(expected, rel=2e-2)


@pytest.mark.parametrize("seed", range(3))
def test_smallest_eigenvalue_of_a_singular_matrix(seed):
    """Zero, to the rounding of the largest: accuracy relative to the smallest itself cannot be had."""
    A = np.random.default_rng(seed).standard_normal((95, 500)) * np.geomspace(1, 100, 500)
    covariance = DenseCovariance(A.T @ A, semidefinite=False)
    assert abs(smallest_eigenvalue(covariance)) <= 1e-6 * largest_eigenpair(covariance)[0]


def test_semidefinite_by_construction_is_not_computed():
    class Silent(FactorCovariance):
        def product(self, block):  # noqa: ARG002 - the contract
            raise AssertionError("not needed")

    assert smallest_eigenvalue(Silent(np.ones((2, 500)))) == 0.0


def test_same_seed_same_bits():
    covariance = FactorCovariance(np.random.default_rng(0).standard_normal((20, 600)))
    first, second = largest_eigenpair(covariance, seed=3), largest_eigenpair(covariance, seed=3)
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])


@pytest.mark.parametrize("rank", [1, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_rank(rank, seed):
    rng = np.random.default_rng(seed)
    S = random_psd(12, rank, seed)
    units = 10.0 ** rng.integers(-5, 6, 12)
    for covariance in (DenseCovariance(S), DenseCovariance(S * np.outer(units, units))):
        for asked in (1, rank, rank + 1, 12, 50):
            assert rank_at_least(covariance, asked) == min(asked, rank)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(6, 40), (40, 6)])
def test_rank_of_centred_rows(convert, shape):
    X = np.random.default_rng(1).standard_normal(shape) + 100
    covariance, _ = covariance_of(convert(X))
    assert rank_at_least(covariance, 10) == min(shape[0] - 1, shape[1])


def test_rank_of_nothing():
    assert rank_at_least(DenseCovariance(np.zeros((4, 4))), 3) == 0
    assert rank_at_least(DenseCovariance(np.diag([0.0, 1e-200, 0.0])), 3) == 1
