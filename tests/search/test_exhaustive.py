from math import comb

import numpy as np
import pytest

from helpers import PROBLEMS, SEEDS, best_nonnegative, best_value, case, random_psd, scale_of, truth
from laconic.covariance import DenseCovariance
from laconic.search import Exhaustive
from laconic.search.problem import Problem, Status


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_equals_brute_force(problem, seed):
    covariance, S = case(problem, seed)
    n = len(S)
    for k in range(1, n + 1):
        solution = Exhaustive().solve(Problem(covariance, k))
        best = truth(problem, seed, k)
        assert solution.status is Status.COMPLETE
        assert abs(solution.value - best) <= 1e-12 * n * scale_of(S)
        assert solution.estimate >= best
        assert solution.iterations == comb(n, k)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("problem", ["full-rank", "rank-2", "negative-correlations", "repeated-eigenvalues", "spiked"])
def test_forced_features_and_signs_equal_brute_force(problem, seed):
    covariance, S = case(problem, seed)
    for nonnegative, brute_force in ((False, best_value), (True, best_nonnegative)):
        for forced in ((), (4,), (1, 5), (2, 3, 6)):
            for k in range(max(len(forced), 1), 7):
                asked = Problem(covariance, k, forced=np.array(forced, dtype=np.intp), nonnegative=nonnegative)
                solution = Exhaustive().solve(asked)
                assert solution.status is Status.COMPLETE
                assert abs(solution.value - brute_force(S, k, forced)) <= 1e-9 * scale_of(S)


@pytest.mark.parametrize("seed", range(3))
def test_nonnegative_against_a_fine_grid(seed):
    """Three features, all directions of the positive octant in steps of a fifth of a degree."""
    S = random_psd(3, 3 + seed % 3, seed) * np.outer(*[np.random.default_rng(seed).choice([-1.0, 1.0], 3)] * 2)
    polar, around = np.meshgrid(np.linspace(0, np.pi / 2, 451), np.linspace(0, np.pi / 2, 451))
    z = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)])
    grid = np.einsum("iab,ij,jab->ab", z, S, z).max()
    solution = Exhaustive().solve(Problem(DenseCovariance(S), 3, nonnegative=True))
    assert solution.value >= grid - 1e-14
    assert solution.value <= grid + 2e-5 * np.abs(S).max()


def test_of_equally_good_supports_the_first_is_returned():
    S = np.eye(6)
    S[1, 4] = S[4, 1] = S[2, 5] = S[5, 2] = 0.5
    assert Exhaustive().solve(Problem(DenseCovariance(S), 2)).support.tolist() == [1, 4]


def test_too_many_supports_are_refused_with_a_way_out():
    problem = Problem(DenseCovariance(np.eye(100)), 10)
    with pytest.raises(ValueError, match=r"method='exhaustive' would compare 17,310,309,456,440 supports"):
        Exhaustive().solve(problem)


@pytest.mark.parametrize("seed", range(2))
def test_a_search_longer_than_a_batch(seed):
    S = random_psd(17, 30, seed)
    solution = Exhaustive().solve(Problem(DenseCovariance(S), 6))
    assert solution.iterations == comb(17, 6) == 12376
    assert solution.value == pytest.approx(best_value(S, 6), rel=1e-12)
