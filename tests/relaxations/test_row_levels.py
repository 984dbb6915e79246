"""Row levels: the relaxation against a conic solver, and a bound that is never below the truth.

The row-level bound after a few steps: never below the truth, and near the whole solve.
"""

import cvxpy as cp
import numpy as np
import pytest

from laconic.core.arrays import LARGEST_VARIANCE
from laconic.core.monitor import Monitor, Stop
from laconic.covariance import DenseCovariance
from laconic.datasets import load_pitprops
from laconic.proof import prove
from laconic.proof.witness_dual import level_costs
from laconic.relaxations import rows as row_levels
from laconic.relaxations.elementary import RelaxationStatus
from laconic.relaxations.l1 import CardinalityForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.relaxations.rows import RowLevels, free_diagonal, quick_row_levels
from laconic.search import Auto
from laconic.search.problem import Problem
from matrices import KINDS, gaussian, size_of, truth


def referee(S, k, inside=(), norms=True):
    """The value of the relaxation by a conic solver."""
    n = len(S)
    X, h, t = cp.Variable((n, n), PSD=True), cp.Variable(n), cp.Variable(n)
    free = [i for i in range(n) if i not in inside]
    rules = [cp.trace(X) == 1, cp.sum(h[free]) <= k * (k - len(inside)), *(h[i] <= k for i in inside)]
    rules += [t[i] >= cp.norm1(X[i]) for i in range(n)]
    rules += [cp.quad_over_lin(t[i], X[i, i]) <= h[i] for i in range(n)]
    if norms:
        q = cp.Variable(n)
        rules += [cp.sum(q[free]) <= k - len(inside), *(q[i] <= 1 for i in inside)]
        rules += [cp.quad_over_lin(X[i], X[i, i]) <= q[i] for i in range(n)]
    problem = cp.Problem(cp.Maximize(cp.trace(S @ X)), rules)
    problem.solve(solver="CLARABEL")
    return float(problem.value)


CLOSED = RowLevels(tolerance=1e-6, max_iterations=5000)


@pytest.mark.parametrize(
    ("n", "k", "seed", "inside", "norms"),
    [
        (4, 2, 0, (), True),
        (6, 2, 1, (), True),
        (6, 3, 2, (), False),
        (7, 3, 3, (1,), True),
        (8, 4, 4, (0, 5), True),
        (8, 5, 5, (), True),
        (10, 3, 6, (), True),
    ],
)
def test_agrees_with_a_conic_solver(n, k, seed, inside, norms):
    S = gaussian(n, seed)
    found = RowLevels(norms=norms, tolerance=1e-6, max_iterations=5000).solve(S, k, inside=np.array(inside, np.intp))
    expected = referee(S, k, inside, norms)
    assert found.status is RelaxationStatus.CONVERGED
    assert found.estimate == pytest.approx(expected, rel=1e-5)
    assert found.primal == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_primal_and_dual_meet(seed):
    S = gaussian(25, seed, rank=[None, 5][seed % 2])
    found = RowLevels(max_iterations=3000).solve(S, 2 + seed)
    assert 0 <= found.gap <= (1e-5 if found.status is RelaxationStatus.CONVERGED else 1e-4)
    X = found.factor @ found.factor.T
    assert np.trace(X) == pytest.approx(1.0)
    assert found.diagonal == pytest.approx(X.diagonal())


@pytest.mark.parametrize("seed", range(2))
def test_never_worse_than_the_l1_relaxation(seed):
    S = gaussian(14, seed)
    for k in (2, 4, 8):
        weaker = Splitting(tolerance=1e-6).solve(S, CardinalityForm(k))
        levels = RowLevels(norms=False, tolerance=1e-6, max_iterations=3000).solve(S, k)
        both = RowLevels(tolerance=1e-6, max_iterations=3000).solve(S, k)
        assert levels.estimate <= weaker.dual * (1 + 2e-6)
        assert both.estimate <= levels.estimate * (1 + 2e-6)


def assert_proved(S, k, best, estimate, witness, inside=()):
    """The gate computes the bound again from its witness: above the truth, and not above the estimate."""
    if size_of(S) < LARGEST_VARIANCE:
        proved = prove(DenseCovariance(S, semidefinite=False), k, witness, inside=np.array(inside, np.intp))
        assert best - 1e-13 * size_of(S) <= proved.value <= estimate + 1e-9 * size_of(S)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [4, 40])
def test_bounds_every_support(kind, small, monkeypatch):
    """However few the steps, with features set aside or not, for each k."""
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", small)
    for seed, n in ((0, 9), (1, 12)):
        S = KINDS[kind](n, seed)
        for k in range(1, n + 1, 2 if n == 9 else 4):
            best = truth(S, k)
            z = np.r_[np.ones(k), np.zeros(n - k)] / np.sqrt(k)
            quick = quick_row_levels(S, k, z, float(z @ S @ z))
            assert quick.value >= best - 1e-13 * size_of(S)
            assert_proved(S, k, best, quick.value, quick.witness)
            for steps in (1, 10, 50):
                found = RowLevels(max_iterations=steps, norms=steps != 10).solve(S, k)
                assert best <= found.estimate
                assert found.estimate <= n * size_of(S) * (1 + 1e-9)
                assert found.primal <= found.estimate
                assert_proved(S, k, best, found.estimate, found.witness(), found.inside)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_every_support_with_features_inside(kind, monkeypatch):
    for seed in range(2):
        monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", [3, 40][seed % 2])
        rng = np.random.default_rng(seed)
        S = KINDS[kind](9, seed)
        for k in range(2, 9, 2):
            inside = np.sort(rng.permutation(9)[: rng.integers(1, k)])
            best = truth(S, k, tuple(inside))
            for steps in (10, 40):
                found = RowLevels(max_iterations=steps).solve(S, k, inside=inside)
                assert best <= found.estimate
                assert_proved(S, k, best, found.estimate, found.witness(), found.inside)


@pytest.mark.parametrize(("n", "k"), [(12, 2), (20, 3)])
def test_features_set_aside_change_nothing_in_the_end(n, k, monkeypatch):
    for seed in range(3):
        S = gaussian(n, seed)
        units = np.where(np.arange(n) < 8, 1.0, 0.03)
        S *= np.outer(units, units)
        whole = CLOSED.solve(S, k)
        monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", 4)
        few = CLOSED.solve(S, k)
        monkeypatch.undo()
        assert few.estimate == pytest.approx(whole.estimate, rel=2e-6)
        assert few.estimate >= truth(S, k)
    assert len(few.keep) < n


def test_warm_starts_over_k(monkeypatch):
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", 6)
    S = gaussian(12, 3)
    found, warm, cold = None, 0, 0
    for k in (2, 3, 4, 5, 4, 3):
        found = RowLevels(tolerance=1e-5, max_iterations=2000).solve(S, k, start=found)
        fresh = RowLevels(tolerance=1e-5, max_iterations=2000).solve(S, k)
        assert found.estimate >= truth(S, k)
        assert found.estimate == pytest.approx(fresh.estimate, rel=2e-5)
        warm, cold = warm + found.iterations, cold + fresh.iterations
    assert warm < 1.5 * cold


def test_stops_at_a_known_value():
    S = gaussian(20, 1)
    free = RowLevels(tolerance=1e-6).solve(S, 4)
    found = RowLevels(tolerance=1e-6).solve(S, 4, known=1.05 * free.estimate)
    assert found.estimate <= 1.05 * free.estimate
    assert found.iterations < free.iterations
    assert found.status is RelaxationStatus.TARGET_REACHED


class Impatient(Monitor):
    """Stops at the n-th tick."""

    def __init__(self, ticks):
        super().__init__()
        self.ticks = ticks

    def tick(self, stage="", **known):
        self.ticks -= 1
        if self.ticks < 0:
            self._deadline = -np.inf
        super().tick(stage, **known)


@pytest.mark.parametrize("ticks", [0, 1, 3])
def test_stopped_in_time_the_bound_holds(ticks):
    S = gaussian(11, 0)
    found = RowLevels(tolerance=1e-9).solve(S, 3, monitor=Impatient(ticks))
    assert found.status is RelaxationStatus.TIME_LIMIT
    assert found.estimate >= truth(S, 3)
    assert_proved(S, 3, truth(S, 3), found.estimate, found.witness())


def test_ctrl_c_leaves_a_bound(monkeypatch):
    S, calls = gaussian(11, 0), []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return largest(*arguments)

    largest = row_levels.estimated_largest_eigenvalue_bound
    monkeypatch.setattr(row_levels, "estimated_largest_eigenvalue_bound", interrupt)
    found = RowLevels(tolerance=1e-9).solve(S, 3)
    assert found.status is RelaxationStatus.INTERRUPTED
    assert truth(S, 3) <= found.estimate < np.linalg.eigvalsh(S)[-1]


def test_what_cannot_be_solved_is_refused():
    S = np.eye(4)
    with pytest.raises(ValueError, match="cardinality=5 must lie between 1 and the number of features, 4"):
        RowLevels().solve(S, 5)
    with pytest.raises(ValueError, match="inside names 2 features; it must be fewer than cardinality=2"):
        RowLevels().solve(S, 2, inside=np.array([0, 1]))
    with pytest.raises(ValueError, match="tolerance=0"):
        RowLevels(tolerance=0)
    with pytest.raises(ValueError, match="max_iterations=0"):
        RowLevels(max_iterations=0)


@pytest.mark.parametrize(("c", "m"), [(1.0, 0.0), (0.0, 0.0), (-2.0, 0.0), (9.0, 17.0), (1.0, 5.0), (-3.0, 2.0)])
def test_price_of_a_row_is_the_least(c, m):
    """The least g >= 0 with c + m r <= g (1 + r)^2 for every r >= 0, and the largest c that costs no more."""
    r = np.linspace(0, 200, 400_001)
    price = float(level_costs(np.array([c]), np.array([m]))[0])
    assert price == pytest.approx(max(((c + m * r) / (1 + r) ** 2).max(), 0.0), rel=1e-6, abs=1e-9)
    if price > 0:
        assert free_diagonal(np.array([m]), price)[0] == pytest.approx(max(c, price if m <= 2 * price else c))


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
