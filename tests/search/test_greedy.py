import numpy as np
import pytest

from helpers import random_psd, value_on
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.problem.problem import Problem
from laconic.search import ApproximateGreedy, Greedy


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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", MATRICES)
def test_greedy_is_algorithm_2(name, seed):
    S = MATRICES[name](seed)
    path = Greedy().path(Problem(DenseCovariance(S), 12))
    assert [s.support.tolist() for s in path] == algorithm_2(S, 12)
    for solution in path:
        assert solution.value == pytest.approx(value_on(S, solution.support), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rows", [4, 14, 40])
def test_approximate_greedy_is_algorithm_3(rows, seed):
    A = np.random.default_rng(seed).standard_normal((rows, 14))
    path = ApproximateGreedy().path(Problem(FactorCovariance(A), 10))
    assert [s.support.tolist() for s in path] == algorithm_3(A, 10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", MATRICES)
def test_every_candidate_makes_it_the_full_greedy(name, seed):
    S = MATRICES[name](seed)
    problem = Problem(DenseCovariance(S), 9)
    full = Greedy().path(problem)
    best = ApproximateGreedy(candidates=len(S)).path(problem)
    assert [s.support.tolist() for s in full] == [s.support.tolist() for s in best]


@pytest.mark.parametrize("seed", range(4))
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


@pytest.mark.parametrize("seed", range(4))
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


def test_of_equal_features_the_first_is_taken():
    path = Greedy().path(Problem(DenseCovariance(np.full((6, 6), 0.5) + 0.5 * np.eye(6)), 4))
    assert [s.support.tolist() for s in path] == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    path = ApproximateGreedy().path(Problem(DenseCovariance(np.full((6, 6), 0.5) + 0.5 * np.eye(6)), 4))
    assert [s.support.tolist() for s in path] == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]


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


def test_no_candidates_is_refused():
    with pytest.raises(ValueError, match="candidates=0 must be at least 1"):
        ApproximateGreedy(candidates=0)
