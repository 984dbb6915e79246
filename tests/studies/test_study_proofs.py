"""Bounds of the studies: above the best value, proved by the gate, and kept when a run is stopped."""

import numpy as np
import pytest

from laconic.bounds.dspca import Dspca
from laconic.bounds.exact import BranchAndBound
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.search.exhaustive import Exhaustive
from laconic.search.greedy import VarianceSorting
from laconic.search.problem import Problem, Status
from laconic.studies.proofs import proved_by, proved_by_tree, row_level_estimates


@pytest.fixture
def covariance():
    X = np.random.default_rng(3).standard_normal((8, 9)) * np.linspace(2, 1, 9)
    return DenseCovariance(X.T @ X)


def best_values(covariance, last):
    return np.array([Exhaustive().solve(Problem(covariance, k)).value for k in range(1, last + 1)])


def test_bounds_along_a_path_are_above_the_best_values(covariance):
    found = [VarianceSorting().solve(Problem(covariance, k)) for k in range(1, 7)]
    estimates = row_level_estimates(covariance.matrix, found, Monitor())
    proved = [proved_by(covariance, s, e) for s, e in zip(found, estimates, strict=True)]
    upper, best = np.array([s.upper for s in proved]), best_values(covariance, 6)
    assert (upper >= best).all()
    assert (upper <= 1.2 * best).all()


def test_the_solver_s_own_estimate_is_used_if_it_is_smaller(covariance):
    # The l1 relaxation is exact for one feature. Row levels are not.
    found = Dspca().path(Problem(covariance, 1))
    assert row_level_estimates(covariance.matrix, found, Monitor())[0].value == pytest.approx(found[0].value)


def test_a_stopped_run_keeps_the_solver_s_own_estimates(covariance):
    found = Dspca().path(Problem(covariance, 3))
    monitor = Monitor()
    monitor.stopped = Status.TIME_LIMIT
    estimates = row_level_estimates(covariance.matrix, found, monitor)
    assert [e.value for e in estimates] == [s.estimate for s in found]
    without = [VarianceSorting().solve(Problem(covariance, 1))]
    assert row_level_estimates(covariance.matrix, without, monitor)[0].kind == "trace"


def test_branch_and_bound_proves_the_best_value_for_a_worse_component(covariance):
    problem = Problem(covariance, 3)
    worse = VarianceSorting().solve(problem)
    tree = BranchAndBound().solve(problem)
    best = best_values(covariance, 3)[-1]
    assert worse.value < best * (1 - 1e-3)
    proved = proved_by_tree(problem, worse, tree)
    assert proved.upper == pytest.approx(best, rel=1e-5)
    assert proved.upper >= best
    assert proved.status is not Status.OPTIMAL
