import numpy as np
import pytest

from helpers import random_psd, value_on
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.problem.problem import Problem
from laconic.search import ApproximateGreedy, Auto, Greedy, Thresholding, VarianceSorting


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [20, 450])
def test_keeps_the_largest_loadings_of_the_dense_component(n, seed):
    """On both sides of the size from which the eigenvector comes from Lanczos."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, n)) + 3 * np.outer(rng.standard_normal(60), rng.standard_normal(n) / np.sqrt(n))
    S = A.T @ A
    dense = np.linalg.svd(A, full_matrices=False)[2][0]
    expected = np.sort(np.argsort(-np.abs(dense))[:7])
    solution = Thresholding().solve(Problem(FactorCovariance(A), 7))
    assert solution.support.tolist() == expected.tolist()
    # the loadings are the best on that support, not the cut eigenvector
    assert solution.value == pytest.approx(value_on(S, expected), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_sorting_takes_the_largest_variances(seed):
    S = random_psd(20, 30, seed)
    solution = VarianceSorting().solve(Problem(DenseCovariance(S), 6))
    assert solution.support.tolist() == sorted(np.argsort(-S.diagonal())[:6].tolist())
    assert solution.value == pytest.approx(value_on(S, solution.support), rel=1e-12)


def test_sorting_takes_the_first_of_equal_variances():
    S = 0.5 * np.eye(30) + 0.5
    assert VarianceSorting().solve(Problem(DenseCovariance(S), 4)).support.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("solver", [VarianceSorting(), Greedy(), ApproximateGreedy(), Auto()], ids=lambda s: s.name)
def test_rounding_does_not_choose_between_equal_variances(solver, seed):
    """A correlation matrix has a unit diagonal only up to rounding."""
    S = np.eye(30) * (1 + 4e-16 * np.random.default_rng(seed).integers(-2, 3, 30))
    assert solver.solve(Problem(DenseCovariance(S), 1)).support.tolist() == [0]


def test_sorting_ranks_negative_variances_last():
    """Hotelling's deflation may leave them; their size is no merit."""
    S = np.diag([-5.0, 1.0, 2.0, -1.0])
    problem = Problem(DenseCovariance(S, semidefinite=False), 1)
    assert VarianceSorting().solve(problem).support.tolist() == [2]
    assert Auto().solve(problem).estimate >= 2


@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_takes_the_better_end_of_the_eigenvector(seed):
    S = random_psd(10, 12, seed)
    dense = np.linalg.eigh(S)[1][:, -1]
    problem = Problem(DenseCovariance(S), 3, nonnegative=True)
    best = -np.inf
    for vector in (dense, -dense):
        z = np.zeros(10)
        top = np.argsort(-vector)[:3]
        z[top] = np.maximum(vector[top], 0)
        z /= np.linalg.norm(z)
        best = max(best, z @ S @ z)
    # the best loadings on the support are at least as good as the cut vector itself
    assert Thresholding().solve(problem).value >= best - 1e-12
