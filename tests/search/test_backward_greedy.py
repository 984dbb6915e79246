import numpy as np
import pytest

from helpers import random_psd, value_on
from laconic.covariance import DenseCovariance
from laconic.problem.problem import Problem
from laconic.search import BackwardGreedy


def naive(S, forced=()):
    """Supports from all features down to one (or the forced ones): drop what costs least."""
    support = list(range(len(S)))
    supports = {len(support): sorted(support)}
    while len(support) > max(len(forced), 1):
        droppable = [i for i in support if i not in forced]
        support.remove(max(droppable, key=lambda i: value_on(S, [j for j in support if j != i])))
        supports[len(support)] = sorted(support)
    return supports


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rows", [5, 12, 40])
def test_equals_the_naive_method(rows, seed):
    S = random_psd(12, rows, seed)
    path = BackwardGreedy().path(Problem(DenseCovariance(S), 12))
    expected = naive(S)
    # below the rank of a wide sample no tie is left; above it many features cost nothing to drop
    compared = range(1, 13) if rows >= 12 else range(1, rows)
    for k in compared:
        assert path[k - 1].value == pytest.approx(value_on(S, expected[k]), rel=1e-10)
        assert path[k - 1].support.tolist() == expected[k]


@pytest.mark.parametrize("seed", range(3))
def test_forced_features_are_never_dropped(seed):
    S = random_psd(10, 30, seed)
    expected = naive(S, forced=(1, 6))
    for k in range(2, 10):
        solution = BackwardGreedy().solve(Problem(DenseCovariance(S), k, forced=np.array([1, 6])))
        assert solution.support.tolist() == expected[k]


def test_of_equal_features_the_first_stay():
    solution = BackwardGreedy().solve(Problem(DenseCovariance(np.eye(5)), 2))
    assert set(solution.support.tolist()) <= {0, 1}


def test_too_many_features_are_refused_with_a_way_out():
    problem = Problem(DenseCovariance(np.eye(20)), 2)
    with pytest.raises(ValueError, match="method='backward-greedy' starts from all 20 features"):
        BackwardGreedy(limit=10).solve(problem)
