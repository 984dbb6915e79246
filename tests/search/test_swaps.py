import numpy as np
import pytest

from helpers import PROBLEMS, best_nonnegative, case, equicorrelated, random_psd, scale_of, value_on
from laconic.covariance import DenseCovariance
from laconic.search import Swaps
from laconic.search.problem import Problem, Status


def best_exchange(S, support, forced=()):
    """The largest value any exchange of one feature reaches, all of them tried."""
    best = -np.inf
    outside = np.setdiff1d(np.arange(len(S)), support)
    for leaving in support:
        if leaving not in forced:
            rest = support[support != leaving]
            best = max([best, *(value_on(S, [*rest, joining]) for joining in outside)])
    return best


def correlation(S):
    root = np.sqrt(S.diagonal())
    return S / root / root[:, None]


def block_model(n, seed):
    """Blocks of five correlated alike: near ties everywhere."""
    rng = np.random.default_rng(seed)
    S = np.zeros((n, n))
    for begin in range(0, n, 5):
        S[begin : begin + 5, begin : begin + 5] = equicorrelated(5, 0.5 + 0.01 * rng.random())
    order = rng.permutation(n)
    return S[np.ix_(order, order)]


MATRICES = {
    "noise": lambda n, seed: random_psd(n, 2 * n, seed),
    "wide": lambda n, seed: random_psd(n, n // 3, seed),
    "correlation": lambda n, seed: correlation(random_psd(n, n, seed)),
    "blocks": block_model,
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("n", "k"), [(15, 5), (30, 12), (30, 20), (40, 32)])
@pytest.mark.parametrize("name", MATRICES)
def test_no_exchange_of_one_feature_improves_the_answer(name, n, k, seed):
    S = MATRICES[name](n, seed)
    start = np.random.default_rng(seed).permutation(n)[:k] if seed % 2 else None
    solution = Swaps().solve(Problem(DenseCovariance(S), k), start=start)
    assert solution.status is Status.LOCAL
    assert best_exchange(S, solution.support) <= solution.value * (1 + 1e-10)
    if len(solution.support) < k:  # features of no loading were dropped: none is to be had by adding one either
        outside = np.setdiff1d(np.arange(n), solution.support)
        added = max(value_on(S, [*solution.support, joining]) for joining in outside)
        assert added <= solution.value * (1 + 1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_forced_features_stay_and_the_rest_is_optimal(seed):
    S = random_psd(20, 30, seed)
    solution = Swaps().solve(Problem(DenseCovariance(S), 6, forced=np.array([4, 17])))
    assert {4, 17} <= set(solution.support.tolist())
    assert best_exchange(S, solution.support, forced=(4, 17)) <= solution.value * (1 + 1e-10)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("problem", PROBLEMS)
def test_never_below_the_start(problem, seed):
    covariance, S = case(problem, seed % 3)
    n = len(S)
    k = max(1, n // 2)
    start = np.sort(np.random.default_rng(seed).permutation(n)[:k])
    solution = Swaps().solve(Problem(covariance, k), start=start)
    assert solution.value >= value_on(S, start) - 1e-12 * scale_of(S)


@pytest.mark.parametrize("seed", range(2))
def test_nonnegative_reaches_a_value_no_exchange_improves(seed):
    S = random_psd(10, 12, seed)
    k = 4
    solution = Swaps().solve(Problem(DenseCovariance(S), k, nonnegative=True))
    support = solution.support
    if len(support) < k:
        support = np.append(support, np.setdiff1d(np.arange(10), support)[: k - len(support)])
    for leaving in support:
        for joining in np.setdiff1d(np.arange(10), support):
            other = np.sort([*support[support != leaving], joining])
            assert best_nonnegative(S[np.ix_(other, other)], k) <= solution.value * (1 + 1e-6)
