import numpy as np
import pytest

from helpers import random_psd, value_on
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.search import ApproximateGreedy, Auto, BackwardGreedy, Greedy, Thresholding, VarianceSorting
from laconic.search.problem import Problem


def correlation(S):
    root = np.sqrt(S.diagonal())
    return S / root / root[:, None]


MATRICES = {
    "tall": lambda seed: random_psd(14, 40, seed),
    "wide": lambda seed: random_psd(14, 5, seed),
    "scaled": lambda seed: random_psd(14, 40, seed) * np.outer(np.arange(1.0, 15), np.arange(1.0, 15)),
    "correlation": lambda seed: correlation(random_psd(14, 20, seed)),
}


def algorithm_2(S, k):
    """The paper's Algorithm 2, word for word: try every feature outside."""
    chosen = [int(np.flatnonzero(S.diagonal() >= S.diagonal().max() * (1 - 1e-12))[0])]  # of equal ones the first
    supports = [sorted(chosen)]
    while len(chosen) < k:
        outside = [i for i in range(len(S)) if i not in chosen]
        chosen.append(max(outside, key=lambda i: value_on(S, [*chosen, i])))
        supports.append(sorted(chosen))
    return supports


def algorithm_3(A, k):
    """The paper's Algorithm 3 on the columns a_i of A: x leads sum a_j a_j', add the largest (a_i'x)^2."""
    chosen = [int((A**2).sum(axis=0).argmax())]
    supports = [sorted(chosen)]
    while len(chosen) < k:
        x = np.linalg.svd(A[:, chosen])[0][:, 0]
        gain = (A.T @ x) ** 2
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
        supports.append(sorted(chosen))
    return supports


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", MATRICES)
def test_greedy_is_algorithm_2(name, seed):
    S = MATRICES[name](seed)
    path = Greedy().path(Problem(DenseCovariance(S), 12))
    assert [s.support.tolist() for s in path] == algorithm_2(S, 12)
    for solution in path:
        assert solution.value == pytest.approx(value_on(S, solution.support), rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rows", [4, 14, 40])
def test_approximate_greedy_is_algorithm_3(rows, seed):
    A = np.random.default_rng(seed).standard_normal((rows, 14))
    path = ApproximateGreedy().path(Problem(FactorCovariance(A), 10))
    assert [s.support.tolist() for s in path] == algorithm_3(A, 10)


@pytest.mark.parametrize("seed", range(2))
def test_p_best_tests_the_p_best_ranked(seed):
    """The p-best variant, word for word, with p = 3."""
    A = np.random.default_rng(seed).standard_normal((20, 14))
    S = A.T @ A
    chosen = [int(S.diagonal().argmax())]
    while len(chosen) < 8:
        x = np.linalg.svd(A[:, chosen])[0][:, 0]
        gain = (A.T @ x) ** 2
        gain[chosen] = -1
        chosen.append(max(np.argsort(-gain)[:3].tolist(), key=lambda i: value_on(S, [*chosen, i])))
    solution = ApproximateGreedy(candidates=3).solve(Problem(DenseCovariance(S), 8))
    assert solution.support.tolist() == sorted(chosen)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("solver", [Greedy(), ApproximateGreedy()])
def test_forced_features_come_first(solver, seed):
    S = random_psd(12, 20, seed)
    forced = np.array([3, 8])
    chosen = [3, 8]
    while len(chosen) < 6:
        z = np.linalg.eigh(S[np.ix_(chosen, chosen)])[1][:, -1]
        gain = np.abs(S[:, chosen] @ z)
        gain[chosen] = -1
        outside = [i for i in range(12) if i not in chosen]
        full = isinstance(solver, Greedy)
        chosen.append(max(outside, key=lambda i: value_on(S, [*chosen, i])) if full else int(gain.argmax()))
    solution = solver.solve(Problem(DenseCovariance(S), 6, forced=forced))
    assert solution.support.tolist() == sorted(chosen)


def test_path_costs_a_column_a_step():
    class Counted(FactorCovariance):
        asked = 0

        def columns(self, indices):
            self.asked += len(indices)
            return super().columns(indices)

        def product(self, block):  # noqa: ARG002 - the contract
            raise AssertionError("greedy needs columns only")

    covariance = Counted(np.random.default_rng(0).standard_normal((20, 300)))
    ApproximateGreedy().path(Problem(covariance, 30))
    assert covariance.asked <= 30


def naive(S, forced=()):
    """Supports from all features down to one (or the forced ones): drop what costs least."""
    support = list(range(len(S)))
    supports = {len(support): sorted(support)}
    while len(support) > max(len(forced), 1):
        droppable = [i for i in support if i not in forced]
        support.remove(max(droppable, key=lambda i: value_on(S, [j for j in support if j != i])))
        supports[len(support)] = sorted(support)
    return supports


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(2))
def test_forced_features_are_never_dropped(seed):
    S = random_psd(10, 30, seed)
    expected = naive(S, forced=(1, 6))
    for k in range(2, 10):
        solution = BackwardGreedy().solve(Problem(DenseCovariance(S), k, forced=np.array([1, 6])))
        assert solution.support.tolist() == expected[k]


def test_too_many_features_are_refused_with_a_way_out():
    problem = Problem(DenseCovariance(np.eye(20)), 2)
    with pytest.raises(ValueError, match="method='backward-greedy' starts from all 20 features"):
        BackwardGreedy(limit=10).solve(problem)


@pytest.mark.parametrize("seed", range(2))
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


def test_sorting_takes_the_largest_variances():
    """Negative ones, as Hotelling's deflation may leave them, come last."""
    S = random_psd(20, 30, 0)
    solution = VarianceSorting().solve(Problem(S, 6))
    assert solution.support.tolist() == sorted(np.argsort(-S.diagonal())[:6].tolist())
    S = np.diag([-5.0, 1.0, 2.0, -1.0])
    problem = Problem(DenseCovariance(S, semidefinite=False), 1)
    assert VarianceSorting().solve(problem).support.tolist() == [2]
    assert Auto().solve(problem).estimate >= 2
