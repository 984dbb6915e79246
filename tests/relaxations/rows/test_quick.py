"""The row-level bound after a few steps: never below the truth, and near the whole solve."""

import numpy as np
import pytest

from laconic.core.monitor import Monitor, Stop
from laconic.core.thresholds import LARGEST_VARIANCE
from laconic.covariance import DenseCovariance
from laconic.datasets import load_pitprops
from laconic.problem import Problem
from laconic.proof import prove
from laconic.relaxations.rows.prices import Aside
from laconic.relaxations.rows.quick import quick_row_levels
from laconic.relaxations.rows.relaxation import RowLevels
from laconic.search import Auto
from matrices import KINDS, gaussian, size_of, truth


def starts(n, k, seed):
    """A component on the first k features, and a random one that is not even sparse enough."""
    first = np.zeros(n)
    first[:k] = 1 / np.sqrt(k)
    other = np.random.default_rng(seed).standard_normal(n)
    return first, other / np.linalg.norm(other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [4, 40])
def test_bounds_every_support(kind, small, monkeypatch):
    """From any start, with features set aside or not, for each k; and the gate agrees with the estimate."""
    monkeypatch.setattr("laconic.relaxations.rows.state.KEEP_ALL", small)
    for seed, n in ((0, 9), (1, 12)):
        S = KINDS[kind](n, seed)
        covariance = DenseCovariance(S, semidefinite=False)
        for k in range(1, n + 1, 2 if n == 9 else 4):
            for z in starts(n, k, seed):
                found = quick_row_levels(S, k, z, float(z @ S @ z))
                assert found.value >= truth(S, k) - 1e-13 * size_of(S)
                if size_of(S) < LARGEST_VARIANCE:
                    proved = prove(covariance, k, found.witness, kind=found.kind)
                    assert truth(S, k) <= proved.value <= found.value + 1e-9 * size_of(S)


def component(S, k):
    solution = Auto().solve(Problem(DenseCovariance(S), k))
    return solution.vector(len(S)), solution.value


@pytest.mark.parametrize("k", [3, 5, 7])
def test_twenty_steps_are_near_the_whole_solve(k):
    S = load_pitprops().covariance
    whole = RowLevels(norms=False).solve(S, k)
    assert whole.primal <= quick_row_levels(S, k, *component(S, k)).value <= 1.02 * whole.estimate


def test_the_steps_end_at_the_known_value():
    """A planted block: the first dual point is nearly optimal, and features outside are set aside."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 120))
    A[:, :6] += 3 * rng.standard_normal((400, 1))
    S = A.T @ A / 400
    z, value = component(S, 6)
    found = quick_row_levels(S, 6, z, value)
    assert value <= found.value <= 1.001 * value
    assert len(found.witness.kept) < 60
    assert set(np.flatnonzero(z)) <= set(found.witness.kept.tolist())


def test_no_time_no_bound():
    S = gaussian(30, 0)
    monitor = Monitor(1e-9)
    assert quick_row_levels(S, 4, *component(S, 4), monitor=monitor) is None
    assert monitor.stopped is Stop.TIME_LIMIT


def test_keeping_more_features_is_the_same_as_starting_with_them():
    S = gaussian(20, 3)
    m = np.random.default_rng(0).uniform(0, 5, 20)
    grown = Aside(S, np.array([1, 4]))
    for keep in ([1, 4, 7], [1, 2, 4, 7, 11, 19], list(range(1, 20))):
        keep = np.array(keep)
        grown.keep(keep)
        fresh = Aside(S, keep)
        assert np.array_equal(grown.features, fresh.features)
        assert np.array_equal(grown.left(m[keep], 0.7), fresh.left(m[keep], 0.7))
