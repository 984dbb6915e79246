"""Row levels: the relaxation against a conic solver, and a bound that is never below the truth.

The row-level bound after a few steps: never below the truth, and near the whole solve.
"""

import cvxpy as cp
import numpy as np
import pytest
from studies.data import load_benchmark

from laconic.core.arrays import LARGEST_VARIANCE
from laconic.core.monitor import Monitor, Stop
from laconic.covariance import DenseCovariance
from laconic.datasets import load_pitprops
from laconic.proof import prove
from laconic.relaxations import rows as row_levels
from laconic.relaxations.elementary import RelaxationStatus
from laconic.relaxations.l1 import CardinalityForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.relaxations.rows import Aside, RowLevels, free_diagonal, own_price, quick_row_levels
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


@pytest.mark.parametrize("seed", range(6))
def test_primal_and_dual_meet(seed):
    S = gaussian(25, seed, rank=[None, 5][seed % 2])
    found = RowLevels(max_iterations=3000).solve(S, 2 + seed)
    assert 0 <= found.gap <= (1e-5 if found.status is RelaxationStatus.CONVERGED else 1e-4)
    X = found.factor @ found.factor.T
    assert np.trace(X) == pytest.approx(1.0)
    assert found.diagonal == pytest.approx(X.diagonal())


@pytest.mark.parametrize("seed", range(4))
def test_never_worse_than_the_l1_relaxation(seed):
    S = gaussian(14, seed)
    for k in (2, 4, 8):
        weaker = Splitting(tolerance=1e-6).solve(S, CardinalityForm(k))
        levels = RowLevels(norms=False, tolerance=1e-6, max_iterations=3000).solve(S, k)
        both = RowLevels(tolerance=1e-6, max_iterations=3000).solve(S, k)
        assert levels.estimate <= weaker.dual * (1 + 2e-6)
        assert both.estimate <= levels.estimate * (1 + 2e-6)


def recomputed(S, solution):
    """The bound from the witness as its docstring has it, in plain numpy; no margin for rounding."""
    w, k, n = solution.witness(), solution.cardinality, len(S)
    L, N, kept = np.zeros((n, n)), np.zeros((n, n)), w.kept
    aside = np.setdiff1d(np.arange(n), kept)
    L[np.ix_(kept, kept)] = w.levels
    if w.norms is not None:
        N[np.ix_(kept, kept)] = w.norms

    def price(c, m):
        return max(c if m <= 2 * c else m / (4 * (m - c)) * m, 0.0)

    def level(i):
        return np.delete(np.abs(L[i]), i).max(initial=0.0)

    free = [i for i in kept if i not in w.inside]
    G = max([w.price, *(price(L[i, i], level(i)) for i in free)])
    for i in kept:
        m = level(i)
        L[i, aside] = np.clip(2 * S[i, aside], -m, m)
    for j in aside:
        L[j, kept] = 2 * S[j, kept] - L[kept, j]
        L[j, aside] = S[j, aside]
        L[j, j] = 0.0
        m = level(j)
        L[j, j] = G if m <= 2 * G else m - m / (4 * G) * m
    s = len(w.inside)
    norm_price = [(N[i, i] + np.linalg.norm(N[i])) / 2 for i in range(n)]
    cost = k * (sum(price(L[i, i], level(i)) for i in w.inside) + (k - s) * G)
    cost += sum(norm_price[i] for i in w.inside) + (k - s) * max([0.0, *(norm_price[i] for i in free)])
    return np.linalg.eigvalsh(S - 0.5 * (L + L.T) - 0.5 * (N + N.T))[-1] + cost


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [4, 40])
def test_bounds_every_support(kind, small, monkeypatch):
    """However few the steps, with features set aside or not, for each k."""
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", small)
    for seed, n in ((0, 9), (1, 12)):
        S = KINDS[kind](n, seed)
        for k in range(1, n + 1, 2 if n == 9 else 4):
            best = truth(S, k)
            for steps in (1, 10, 50):
                found = RowLevels(max_iterations=steps, norms=steps != 10).solve(S, k)
                assert best <= found.estimate
                assert found.estimate <= n * size_of(S) * (1 + 1e-9)
                assert found.primal <= found.estimate
                assert recomputed(S, found) <= found.estimate + 1e-13 * size_of(S)


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
                assert recomputed(S, found) <= found.estimate + 1e-13 * size_of(S)


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


def test_a_start_is_left_as_it_was():
    S = gaussian(12, 0)
    first = RowLevels(max_iterations=30).solve(S, 3)
    twice = [RowLevels(max_iterations=30).solve(S, 4, start=first).estimate for _ in range(2)]
    assert twice[0] == twice[1]


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
    assert recomputed(S, found) <= found.estimate


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
    price = float(own_price(np.array([c]), np.array([m]))[0])
    assert price == pytest.approx(max(((c + m * r) / (1 + r) ** 2).max(), 0.0), rel=1e-6, abs=1e-9)
    if price > 0:
        assert free_diagonal(np.array([m]), price)[0] == pytest.approx(max(c, price if m <= 2 * price else c))


PERCENT = [
    ("communities", 5, 4.860548140, 0.013),
    ("communities", 10, 8.823615756, 0.063),
    ("communities", 20, 14.32695168, 0.62),
    ("communities", 50, 23.51996004, 1.4),
    ("ionosphere", 5, 3.754005564, 0.08),
    ("ionosphere", 10, 6.138309428, 0.46),
    ("lung", 5, 3.335570683, 0.7),
    ("lung", 10, 4.812312178, 0.6),
    ("wine", 5, 3.439778422, 0.55),
    ("pitprops", 5, 3.406154947, 0.20),
]


@pytest.mark.parametrize(("name", "k", "best", "percent"), PERCENT)
def test_percent_above_the_best_known(name, k, best, percent, request):
    if name == "pitprops":
        S = load_pitprops().covariance
    else:
        request.getfixturevalue("data_folder")
        S = load_benchmark(name).covariance
    found = RowLevels(tolerance=1e-6, max_iterations=400).solve(S, k)
    assert 0 <= 100 * (found.estimate / best - 1) <= percent


def starts(n, k, seed):
    """A component on the first k features, and a random one that is not even sparse enough."""
    first = np.zeros(n)
    first[:k] = 1 / np.sqrt(k)
    other = np.random.default_rng(seed).standard_normal(n)
    return first, other / np.linalg.norm(other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [4, 40])
def test_few_steps_bound_every_support(kind, small, monkeypatch):
    """From any start, with features set aside or not, for each k; and the gate agrees with the estimate."""
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", small)
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
