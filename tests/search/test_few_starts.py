"""Truncated power from few starts."""

import numpy as np
import pytest

from laconic.covariance import DenseCovariance
from laconic.problem import PathSolver, Problem
from laconic.search import Exhaustive
from laconic.search.few_starts import FewStarts


def random_covariance(n, seed, rows=None):
    X = np.random.default_rng(seed).standard_normal((rows or n, n))
    return DenseCovariance(X.T @ X / len(X))


@pytest.mark.parametrize("seed", range(5))
def test_values_are_close_to_the_best(seed):
    covariance = random_covariance(10, seed)
    for k, solution in enumerate(FewStarts().path(Problem(covariance, 10)), start=1):
        best = Exhaustive().solve(Problem(covariance, k)).value
        assert 0.97 * best <= solution.value <= best * (1 + 1e-12)
        assert len(solution.support) <= k


@pytest.mark.parametrize("nonnegative", [False, True])
def test_path_keeps_the_constraints_and_never_falls(nonnegative):
    problem = Problem(random_covariance(30, 1, 15), 12, np.array([3, 8]), nonnegative)
    path = FewStarts().path(problem)
    assert len(path) == 11
    assert (np.diff([s.value for s in path]) >= 0).all()
    for solution in path:
        assert {3, 8} <= set(solution.support)
        assert not nonnegative or (solution.loadings >= 0).all()


def test_one_cardinality_starts_from_a_support_given():
    problem = Problem(random_covariance(30, 2, 15), 5)
    found = FewStarts().solve(problem)
    best = Exhaustive().solve(Problem(random_covariance(12, 2), 3))
    again = FewStarts().solve(Problem(random_covariance(12, 2), 3), start=best.support)
    assert again.value == pytest.approx(best.value)
    assert found.value > 0
    assert isinstance(FewStarts(), PathSolver)


def test_indefinite_matrices_are_searched():
    S = random_covariance(20, 3).matrix - 0.5 * np.eye(20)
    path = FewStarts().path(Problem(DenseCovariance(S, semidefinite=False), 6))
    for solution in path:
        block = S[np.ix_(solution.support, solution.support)]
        assert solution.value == pytest.approx(np.linalg.eigvalsh(block)[-1])
