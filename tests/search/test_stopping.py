"""Time limits and Ctrl-C: the best so far comes back, at once, and says why it stopped."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

from helpers import SOLVER_TABLE, InterruptedCovariance, assert_valid, best_value, ctrl_c_is_caught, path_of, random_psd
from laconic import SparsePCA
from laconic.bounds.names import SOLVERS
from laconic.bounds.penalized import Penalized
from laconic.core.monitor import Monitor, Stop
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.datasets import spiked_rows
from laconic.search import Auto, Thresholding
from laconic.search.problem import Problem, Status

INSTANT = {"sorting"}  # one pass over the diagonal: nothing to stop


class StopAtTick(Monitor):
    """Ctrl-C at the n-th look at the clock."""

    def __init__(self, at):
        super().__init__()
        self.at = at
        self.ticks = 0

    def tick(self, *args, **settings):
        self.ticks += 1
        if self.ticks == self.at:
            raise KeyboardInterrupt
        super().tick(*args, **settings)


def correlation_with_planted(seed=0, n=600, k=8):
    """Unit variances, so that sorting by variance knows nothing, and a strong component among them."""
    rows = spiked_rows(80, n, k, signal=20.0, rng=seed)
    data = rows.data - rows.data.mean(axis=0)
    return data / np.linalg.norm(data, axis=0)


@pytest.fixture(scope="module")
def known():
    """The best value anyone knows for the two matrices below: what a bound of a stopped search must not be under."""
    return {
        k: Auto().solve(Problem(DenseCovariance(S), k)).value
        for k, S in {5: random_psd(40, 60, 1), 6: random_psd(30, 40, 2)}.items()
    }


@pytest.mark.parametrize("start", [None, np.array([3, 8, 13, 21, 30])], ids=["cold", "warm"])
@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in {*INSTANT, "exhaustive"}])
def test_ctrl_c_anywhere_returns_the_best_so_far(name, start, known):
    """From the second question asked of the covariance to the last but one, which only writes the answer down."""
    S = random_psd(40, 60, 1)
    counted = InterruptedCovariance(S, at=-1)
    SOLVERS[name].solve(Problem(counted, 5), start=start)
    for at in sorted({int(a) for a in np.linspace(2, counted.calls - 1, 6) if 2 <= a < counted.calls}):
        monitor = Monitor()
        with ctrl_c_is_caught(f"at question {at} of {counted.calls}"):
            solution = SOLVERS[name].solve(Problem(InterruptedCovariance(S, at), 5, monitor=monitor), start=start)
        assert monitor.stopped is Stop.INTERRUPTED
        assert solution.status is Status.INTERRUPTED
        assert solution.estimate >= known[5]
        assert_valid(solution, S, 5)


def test_ctrl_c_in_exhaustive_search_is_no_proof():
    S = random_psd(24, 30)
    monitor = StopAtTick(3)  # in the third batch of 42504 supports
    with ctrl_c_is_caught():
        solution = SOLVERS["exhaustive"].solve(Problem(DenseCovariance(S), 5, monitor=monitor))
    assert solution.status is Status.INTERRUPTED
    assert solution.estimate == np.inf
    assert 0 < solution.iterations < 42504
    assert_valid(solution, S, 5)


@pytest.mark.parametrize("name", [name for name in SOLVER_TABLE if name not in INSTANT])
def test_no_time_at_all_still_gives_an_answer(name, known):
    S = random_psd(30, 40, 2)
    solution = SOLVER_TABLE[name].solve(Problem(DenseCovariance(S), 6, monitor=Monitor(0.0)))
    assert solution.status is Status.TIME_LIMIT
    assert solution.estimate >= known[6]
    assert_valid(solution, S, 6)


def test_large_search_keeps_what_its_core_has_found():
    """Near the end of the work the planted component is known, and must come back whenever the stop comes."""
    A = correlation_with_planted()
    S = A.T @ A
    whole = StopAtTick(-1)
    final = Auto().solve(Problem(FactorCovariance(A), 8, monitor=whole))
    assert final.value > 4  # noise alone reaches about 2.5
    values = []
    for at in sorted({int(a) for a in np.linspace(1, whole.ticks, 15)}):
        with ctrl_c_is_caught(f"at tick {at}"):
            solution = Auto().solve(Problem(FactorCovariance(A), 8, monitor=StopAtTick(at)))
        assert_valid(solution, S, 8)
        assert solution.status is Status.INTERRUPTED
        values.append(solution.value)
    assert all(later >= sooner * (1 - 1e-12) for sooner, later in pairwise(values))
    # the power steps come first and find it; the swaps that follow take most of the ticks
    assert np.median(values) >= 0.9 * final.value


@pytest.mark.parametrize("method", ["auto", "swaps", "truncated-power", "greedy", "gpower-l1"])
def test_ctrl_c_ends_a_path(method):
    """Every cardinality has its answer, those after the stop without a search of their own."""
    S = random_psd(60, 70, 5)
    counted = InterruptedCovariance(S, at=-1)
    path_of(counted, 15, method=method)
    for at in (int(share * counted.calls) for share in (0.25, 0.5, 0.7, 0.9)):
        stopped = InterruptedCovariance(S, at=max(at, 3))
        with ctrl_c_is_caught(f"at question {at} of {counted.calls}"):
            path = path_of(stopped, 15, method=method)
        assert len(path.solutions) == 15
        assert (np.diff(path.values) >= -1e-12).all()
        for k, solution in enumerate(path.solutions, start=1):
            assert_valid(solution, S, k)
        assert (path.values <= path.upper_bounds * (1 + 1e-9)).all()
        # a few questions a cardinality to write the answer down, not a search
        assert stopped.calls - at <= 6 * 15
        if at < counted.calls // 3:
            assert path.solutions[-1].status is Status.INTERRUPTED


def test_time_limit_of_a_fit():
    data = correlation_with_planted(1)
    model = SparsePCA(3, cardinality=8, time_limit=1e-9).fit(data)
    assert model.n_components_ == 3
    assert all("Time limit reached" in status for status in model.verdicts_)
    assert (model.upper_bound_ >= model.lower_bound_).all()
    assert np.allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert all(1 <= len(s) <= 8 for s in model.supports_)


def test_ctrl_c_in_a_fit_keeps_the_components_found(monkeypatch):
    """Whenever Ctrl-C comes after the first component is found, that component comes back, with a warning."""
    data = correlation_with_planted(2)[:, :420]
    calls = {"count": 0, "at": -1}
    for method in ("columns", "product", "submatrix", "submatrices"):
        original = getattr(FactorCovariance, method)

        def asked(self, argument, original=original):
            calls["count"] += 1
            if calls["count"] == calls["at"]:
                raise KeyboardInterrupt
            return original(self, argument)

        monkeypatch.setattr(FactorCovariance, method, asked)
    SparsePCA(1, cardinality=8).fit(data)
    after_first = calls["count"]
    calls["count"] = 0
    complete = SparsePCA(3, cardinality=8).fit(data)
    total = calls["count"]
    assert total > after_first + 10
    for at in np.linspace(after_first + 2, total - 2, 6).astype(int):
        calls.update(count=0, at=int(at))
        with ctrl_c_is_caught(f"at question {at} of {total}"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SparsePCA(3, cardinality=8).fit(data)
        calls["at"] = -1
        assert 1 <= model.n_components_ <= 3
        assert np.array_equal(model.components_[0], complete.components_[0])
        assert model.transform(data).shape == (len(data), model.n_components_)
        # in the middle of the last component nothing is missing, only its search was cut short
        words = [*model.verdicts_, model.summary().loc["all", "verdict"], *(str(w.message) for w in caught)]
        assert "interrupted" in " ".join(words).lower()
        assert (model.n_components_ < 3) == bool(caught)


def test_each_component_has_its_part_of_the_time(monkeypatch):
    """A proof that takes all the time it is given leaves the later components theirs."""
    now = [0.0]
    monkeypatch.setattr("laconic.core.monitor.time.monotonic", lambda: now[0])
    begun = []

    class Insatiable:
        name = "insatiable"

        def solve(self, problem, *, start=None):
            begun.append((problem.monitor.stopped, now[0]))
            with problem.monitor.watch():
                while True:
                    now[0] += 0.5
                    problem.monitor.tick()
            return Thresholding().solve(problem, start=start)

    model = SparsePCA(3, cardinality=3, method=Insatiable(), proof=None, time_limit=30).fit(random_psd(8, 20, 1))
    assert [stopped for stopped, _ in begun] == [None] * 3
    assert [at for _, at in begun] == pytest.approx([0, 10, 20], abs=2)
    assert all("Time limit" in status for status in model.verdicts_)


@pytest.mark.parametrize("at", [1, 3, 8, 21, 55])
def test_a_penalised_search_that_is_stopped_bounds_the_sizes_it_did_not_reach(at):
    S, rho = random_psd(9, 20, at), 0.3
    best = max(best_value(S, k) - rho * k for k in range(1, 10))
    monitor = StopAtTick(at)
    found = Penalized(rho).solve(Problem(DenseCovariance(S), 9, monitor=monitor))
    assert found.value - rho * len(found.support) <= best * (1 + 1e-9)
    assert found.estimate - rho * len(found.support) >= best * (1 - 1e-9)
