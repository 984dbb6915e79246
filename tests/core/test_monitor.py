"""Time limits, Ctrl-C, progress, the number of threads, and the line that a warning names."""

import inspect
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController, threadpool_limits

from laconic import SparsePCA, certify, path
from laconic.core.monitor import Monitor, Stop, check_time_limit, threads_for


@pytest.fixture
def python_s_handler():
    """Let Ctrl-C raise KeyboardInterrupt, whatever the runner of the tests has made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_s_handler")
def test_ctrl_c_waits_for_a_tick():
    monitor, done = Monitor(), []
    with monitor.watch():
        signal.raise_signal(signal.SIGINT)
        done.append("a pair of values that belong together")
        monitor.tick()
        done.append("never")
    assert len(done) == 1
    assert monitor.stopped is Stop.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("python_s_handler")
def test_ctrl_c_stops_the_blocks_around_too_and_no_later_run():
    outer, inner = Monitor(), Monitor()
    with outer.watch():
        with inner.watch():
            signal.raise_signal(signal.SIGINT)
        assert inner.stopped is Stop.INTERRUPTED
        outer.tick()
        pytest.fail("the block went on")
    assert outer.stopped is Stop.INTERRUPTED
    later = Monitor()
    with later.watch():
        later.tick()
    assert later.stopped is None


@pytest.mark.usefixtures("python_s_handler")
def test_ctrl_c_is_not_forgotten_by_a_later_block_inside():
    with Monitor() as whole:
        signal.raise_signal(signal.SIGINT)
        for _ in range(2):
            part = whole.part(2)
            with part.watch():
                part.tick()
                pytest.fail("the block went on")
            assert part.stopped is Stop.INTERRUPTED
        assert whole.is_over
        with pytest.raises(KeyboardInterrupt), whole.part(2):
            signal.raise_signal(signal.SIGINT)
    assert not whole.is_over


@pytest.mark.usefixtures("python_s_handler")
def test_the_second_ctrl_c_does_not_wait():
    monitor = Monitor()
    with monitor.watch():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the block went on")
    assert monitor.stopped is Stop.INTERRUPTED


def test_a_handler_of_somebody_else_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("Ctrl-C"))
    try:
        monitor = Monitor()
        with monitor.watch():
            signal.raise_signal(signal.SIGINT)
            monitor.tick()
        assert heard == ["Ctrl-C"]
        assert monitor.stopped is None
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_no_handlers_to_set():
    monitor = Monitor()

    def run():
        with monitor.watch():
            monitor.tick()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert monitor.stopped is None


# The proof of this one takes minutes.
IN_COMPILED_CODE = """
import signal, threading
import numpy as np
from laconic import SparsePCA

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore it
rng = np.random.default_rng(0)
X = rng.standard_normal((80, 400)) @ rng.standard_normal((400, 400))
SparsePCA(cardinality=5, proof="exact", scale=True).fit(X[:, :40])
for _ in range(2):
    threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,)).start()
    model = SparsePCA(cardinality=25, proof="exact", scale=True).fit(X)
    print(model.verdicts_[0], model.gap_[0] < 1)
"""


def test_ctrl_c_in_compiled_code_keeps_the_best_so_far():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_COMPILED_CODE], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 2
    assert all("Interrupted" in line and line.endswith("True") for line in lines)


def test_parts_of_the_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("laconic.core.monitor.time.monotonic", lambda: now[0])
    whole = Monitor(12.0)
    first = whole.part(3)
    now[0] += 3.9
    first.tick()
    now[0] += 0.2
    with first.watch():
        first.tick()
    assert first.stopped is Stop.TIME_LIMIT
    assert whole.stopped is None
    second = whole.part(2)
    now[0] += 3.9
    second.tick()
    now[0] += 5.0
    late = whole.part(1)
    with late.watch():
        late.tick()
    assert late.stopped is Stop.TIME_LIMIT


@pytest.mark.parametrize("limit", [0, 0.0, -1, float("nan"), float("-inf")])
def test_time_limits_are_above_zero(limit):
    with pytest.raises(ValueError, match=f"time_limit={limit} must be above zero"):
        check_time_limit(limit)


@pytest.mark.usefixtures("python_s_handler")
def test_ctrl_c_between_two_blocks_stops_the_next():
    with Monitor() as monitor:
        signal.raise_signal(signal.SIGINT)
        with monitor.watch():
            monitor.tick()
            pytest.fail("the block went on")
        assert monitor.stopped is Stop.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_progress_says_what_is_found_and_bounded(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("laconic.core.monitor.time.monotonic", lambda: now[0])
    part = Monitor(40.0).part(2, "component 2")
    now[0] += 5
    # The value found is rounded down; the bound and the gap are rounded up.
    assert part._in_words("exact, 9 nodes, 3 open", 3.000019, 3.3000011) == (
        "component 2: exact, 9 nodes, 3 open: found 3, bound about 3.3001, gap about 10 %, 15 s left"
    )
    assert Monitor()._in_words("row levels", None, 3.5) == "row levels: bound about 3.5"
    assert Monitor()._in_words("probing", float("-inf"), None) == "probing"


def blas_threads():
    """The most threads any BLAS in the process may use; some that others brought along never use more than one."""
    return max(library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info())


def test_small_is_one_thread_and_large_is_left_alone():
    with threadpool_limits(2, user_api="blas"):
        with threads_for(100):
            assert blas_threads() == 1
        assert blas_threads() == 2
        with threads_for(100_000):
            assert blas_threads() == 2


def test_small_eigenproblems_of_a_fit(monkeypatch):
    """Thousands of them: on two threads of two busy cores they took fifty times as long."""
    seen = set()
    for name in ("eigh", "eigvalsh"):
        original = getattr(np.linalg, name)

        def watched(matrix, *args, original=original, **settings):
            if 16 <= matrix.shape[-1] <= 512:  # smaller ones are not shared out among threads anyway
                seen.add(blas_threads())
            return original(matrix, *args, **settings)

        monkeypatch.setattr(np.linalg, name, watched)
    X = np.random.default_rng(0).standard_normal((40, 60))
    with threadpool_limits(2, user_api="blas"):
        SparsePCA(cardinality=20).fit(X)
        assert blas_threads() == 2
    assert seen == {1}


X = np.random.default_rng(0).standard_normal((30, 5))
CONSTANT = np.column_stack([X, np.ones(30)])

CALLS = {
    "fit": lambda: SparsePCA(cardinality=2).fit(CONSTANT),
    "fit_transform": lambda: SparsePCA(cardinality=2).fit_transform(CONSTANT),
    "cardinality beyond the features": lambda: SparsePCA(cardinality=6).fit(CONSTANT),
    "out of reach": lambda: SparsePCA(cardinality=0.9, nonnegative=True).fit_covariance(
        np.array([[1.0, -0.9], [-0.9, 1.0]])
    ),
    "stopped": lambda: SparsePCA(cardinality=0.5, time_limit=1e-9).fit(np.tile(X, (1, 20))),
    "pipeline": lambda: make_pipeline(StandardScaler(), SparsePCA(cardinality=2)).fit(CONSTANT),
    "grid search": lambda: GridSearchCV(SparsePCA(), {"cardinality": [2]}, cv=2).fit(CONSTANT),
    "path": lambda: path(SparsePCA(), CONSTANT, sizes=2),
    "upper bound": lambda: certify(SparsePCA(cardinality=2), CONSTANT),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_the_caller_is_named(name):
    call = CALLS[name]
    with pytest.warns(UserWarning, match="vary|features|cardinality") as caught:
        call()
    lines, first = inspect.getsourcelines(call)
    for warning in caught:
        assert warning.filename == __file__
        assert first <= warning.lineno < first + len(lines)
