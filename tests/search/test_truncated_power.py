import numpy as np
import pytest

from helpers import random_psd, value_on
from laconic.covariance import DenseCovariance
from laconic.datasets import spiked_rows
from laconic.problem.problem import Problem
from laconic.problem.status import Status
from laconic.search import TruncatedPower


def planted(seed, n=60, k=6, signal=8.0):
    rows = spiked_rows(400, n, k, signal=signal, entries="signed", random_state=seed)
    return np.cov(rows.data, rowvar=False), rows.support


@pytest.mark.parametrize("seed", range(10))
def test_finds_the_planted_support(seed):
    S, support = planted(seed)
    solution = TruncatedPower().solve(Problem(DenseCovariance(S), 6))
    assert solution.support.tolist() == support.tolist()
    assert solution.status is Status.HEURISTIC


@pytest.mark.parametrize("k", [2, 6, 12])
@pytest.mark.parametrize("seed", range(10))
def test_the_answer_is_a_fixed_point(seed, k):
    """One more step from the answer keeps its support: every |Sz| inside is at least every |Sz| outside."""
    S, _ = planted(seed)
    solution = TruncatedPower(max_iterations=2000).solve(Problem(DenseCovariance(S), k))
    image = np.abs(S @ solution.vector(len(S)))
    outside = np.delete(image, solution.support)
    assert image[solution.support].min() >= outside.max() * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_never_below_the_start_on_a_planted_problem(seed):
    S, support = planted(seed)
    start = support.copy()
    start[0] = next(i for i in range(60) if i not in support)
    solution = TruncatedPower().solve(Problem(DenseCovariance(S), 6), start=np.sort(start))
    assert solution.value >= value_on(S, start)


def test_start_decides_between_two_blocks():
    S = np.zeros((8, 8))
    S[:4, :4] = np.ones((4, 4))
    S[4:, 4:] = 0.9 * np.ones((4, 4))
    problem = Problem(DenseCovariance(S), 4)
    assert TruncatedPower().solve(problem).support.tolist() == [0, 1, 2, 3]
    assert TruncatedPower().solve(problem, start=np.array([4, 6])).support.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("seed", range(3))
def test_too_few_steps_are_owned_up_to(seed):
    solution = TruncatedPower(max_iterations=2).solve(Problem(DenseCovariance(random_psd(30, 40, seed)), 5))
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.iterations == 2


@pytest.mark.parametrize("seed", range(5))
def test_indefinite_matrix_is_shifted(seed):
    """A negative eigenvalue larger in size than the positive ones must not attract the iteration."""
    rng = np.random.default_rng(seed)
    u, w = np.zeros(12), np.zeros(12)
    u[:3], w[6:9] = 1 / np.sqrt(3), 1 / np.sqrt(3)
    S = 2 * np.outer(u, u) - 7 * np.outer(w, w) + 0.01 * random_psd(12, 30, int(rng.integers(100)))
    solution = TruncatedPower().solve(Problem(DenseCovariance(S, semidefinite=False), 3))
    assert solution.support.tolist() == [0, 1, 2]
    assert solution.value == pytest.approx(2, abs=0.1)
