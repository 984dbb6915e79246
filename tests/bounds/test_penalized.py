"""The search with a penalty for each feature, against all supports of all sizes."""

import numpy as np
import pytest
from studies.data import load_benchmark

from helpers import assert_valid, best_value, supports_of, value_on
from laconic.bounds.penalized import Penalized
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.search.problem import Problem, Status
from matrices import KINDS, size_of


def best_objective(S, rho, most, forced=()):
    sizes = range(max(len(forced), 1), most + 1)
    return max(value_on(S, T) - rho * k for k in sizes for T in supports_of(len(S), k, tuple(forced)))


@pytest.mark.parametrize(
    "kind", ["gaussian", "rank 2", "signs", "deflated", "indefinite", "duplicated and zero columns"]
)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
def test_against_all_supports(kind, share):
    for seed in range(3):
        S = KINDS[kind](7, seed)
        covariance = DenseCovariance(S, semidefinite=kind not in ("deflated", "indefinite"))
        rho = share * float(S.diagonal().max())
        for most, forced in ((7, ()), (3, ()), (5, (2, 4))):
            truth = best_objective(S, rho, most, forced)
            if rho <= 0 or (truth <= 0 and not forced):
                continue
            found = Penalized(rho).solve(Problem(covariance, most, forced=np.array(forced, dtype=np.intp)))
            size = len(found.support)
            assert_valid(found, S, most, forced=forced)
            assert found.value - rho * size == pytest.approx(truth, abs=1e-7 * size_of(S))
            assert found.estimate - rho * size >= truth - 1e-12 * size_of(S)
            assert found.status is Status.COMPLETE


@pytest.mark.parametrize("limit", [{"node_limit": 1}, {"gap": 0.5}])
def test_what_ends_it_leaves_a_true_estimate(limit):
    S = np.corrcoef(np.random.default_rng(0).standard_normal((30, 12)), rowvar=False)
    found = Penalized(0.2, **limit).solve(Problem(DenseCovariance(S), 6))
    assert found.estimate - 0.2 * len(found.support) >= best_objective(S, 0.2, 6)


def test_after_the_time_limit():
    S = np.corrcoef(np.random.default_rng(0).standard_normal((30, 12)), rowvar=False)
    found = Penalized(0.2).solve(Problem(DenseCovariance(S), 6, monitor=Monitor(0.0)))
    assert found.status is Status.TIME_LIMIT
    assert found.estimate - 0.2 * len(found.support) >= best_objective(S, 0.2, 6)
    assert found.value <= best_value(S, len(found.support)) * (1 + 1e-12)


def test_penalties_that_make_no_sense():
    problem = Problem(DenseCovariance(np.eye(3)), 2)
    with pytest.raises(ValueError, match="penalty=0 must be above zero"):
        Penalized(0)
    with pytest.raises(ValueError, match="not below the largest variance"):
        Penalized(1.0).solve(problem)
    indefinite = Problem(DenseCovariance(-np.eye(3), semidefinite=False), 2)
    with pytest.raises(ValueError, match="the solution is zero"):
        Penalized(0.5).solve(indefinite)


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("gap", [1e-7, 0.3])
def test_a_penalised_run_says_optimal_only_of_a_proof(gap):
    S = load_benchmark("communities").covariance
    found = Penalized(0.7, gap=gap).solve(Problem(DenseCovariance(S), 12))
    assert found.status is Status.COMPLETE or gap == 0.3
    assert found.estimate <= found.value * (1 + gap)
    assert (found.estimate - found.value <= 1e-6 * found.value) == (found.status is Status.COMPLETE)
