"""Branch and bound against exhaustive search and the literature, and its record checked from scratch."""

import numpy as np
import pytest
from studies.data import load_benchmark

from helpers import InterruptedCovariance, assert_valid, best_nonnegative, ctrl_c_is_caught
from laconic.bounds import fixing
from laconic.bounds import tree as run
from laconic.bounds.prove import Exact
from laconic.bounds.tree import TreeSearch
from laconic.core.arrays import LARGEST_VARIANCE
from laconic.core.monitor import Monitor, Stop
from laconic.covariance import DenseCovariance
from laconic.proof import proved_upper
from laconic.proof.witness_tree import Branch, TreeWitness
from laconic.relaxations import rows as row_levels
from laconic.search import Auto, Exhaustive
from laconic.search.problem import Problem, Status
from laconic.search.support import finish
from matrices import KINDS, gaussian, size_of, truth


class BadStart:
    """In place of the search for a first support: any support, most likely a bad one."""

    def __init__(self, seed=0, polish=1):
        self.seed, self.polish = seed, polish

    def solve(self, problem, *, start=None):  # noqa: ARG002 - the contract
        rng = np.random.default_rng(problem.cardinality)
        free = np.setdiff1d(np.arange(problem.n_features), problem.forced)
        chosen = rng.permutation(free)[: problem.cardinality - len(problem.forced)]
        return finish(problem, np.union1d(problem.forced, chosen), Status.LOCAL, method="bad")


@pytest.fixture
def tree(monkeypatch):
    """Make the tree do the work: a bad first support, no listing of supports, features set aside."""
    monkeypatch.setitem(globals(), "Auto", BadStart)
    monkeypatch.setattr(run.Run, "_round", lambda *_: None)
    monkeypatch.setattr(fixing, "SUPPORTS_ONE_BY_ONE", 1)
    monkeypatch.setattr(fixing, "FEW_SIGNED", 1)
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", 5)


def solve(S, k, *, forced=(), nonnegative=False, monitor=None, **settings):
    forced = np.array(forced, dtype=np.intp)
    problem = Problem(DenseCovariance(S, semidefinite=False), k, forced, nonnegative, monitor or Monitor())
    return TreeSearch(**{"workers": 1, **settings}).search(problem, Auto(polish=1).solve(problem))


def check(S, k, solution, *, gap=1e-7, finished=True):
    """The interval holds the truth, is as narrow as promised, and the record proves it."""
    best, size = truth(S, k), size_of(S)
    assert_valid(solution, S, k)
    assert solution.value <= best + 1e-12 * size
    assert solution.estimate >= best
    if finished:
        assert solution.estimate <= solution.value + (gap + 1e-10) * abs(best) + 1e-10 * size
        assert solution.status is (Status.COMPLETE if gap <= 1e-6 else solution.status)
    if isinstance(solution.witness, TreeWitness) and size <= LARGEST_VARIANCE:
        proved = proved_upper(S, k, solution.witness)
        assert best - 1e-12 * size <= proved <= solution.estimate + 1e-9 * abs(solution.estimate) + 1e-11 * size


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_matrix(kind):
    for seed in range(2):
        n = 6 + seed
        S = KINDS[kind](n, seed)
        for k in range(2 + seed, n + 1, 1 + seed):
            solution = solve(S, k)
            # Nothing is proved of numbers out of range.
            assert solution.witness is not None or size_of(S) > LARGEST_VARIANCE
            check(S, k, solution)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("gap", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["gaussian", "rank 2", "signs", "deflated", "equicorrelated"])
def test_gaps(kind, gap):
    for seed in range(2):
        S = KINDS[kind](7, seed)
        for k in (2, 4, 6):
            solution = solve(S, k, gap=gap)
            check(S, k, solution, gap=gap)
            if solution.estimate > solution.value * (1 + 1e-6):
                assert solution.status is not Status.COMPLETE


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("kind", ["gaussian", "duplicated and zero columns", "blocks", "indefinite", "zero"])
def test_features_forced_in(kind):
    for seed in range(2):
        S = KINDS[kind](7, seed)
        for k, forced in ((2, (3,)), (4, (3, 5)), (4, (0, 1, 3)), (3, (0, 1, 3)), (6, (2,))):
            solution = solve(S, k, forced=forced)
            best = truth(S, k, forced)
            assert_valid(solution, S, k, forced=forced)
            assert best <= solution.estimate <= best + 1e-7 * abs(best) + 1e-10 * size_of(S)
            assert solution.value == pytest.approx(best, abs=1e-7 * size_of(S))
            assert proved_upper(S, k, solution.witness, inside=np.array(forced)) >= best - 1e-12 * size_of(S)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("gap", [1e-7, 0.05])
@pytest.mark.parametrize("kind", ["gaussian", "rank 2", "negative correlations", "blocks", "indefinite"])
def test_nonnegative_loadings(kind, gap):
    for seed in range(2):
        S = KINDS[kind](7, seed)
        size = size_of(S)
        for k, forced in ((2, ()), (4, ()), (3, (2,)), (7, ())):
            solution = solve(S, k, nonnegative=True, forced=forced, gap=gap)
            best = best_nonnegative(S, k, forced)
            assert_valid(solution, S, k, nonnegative=True, forced=forced)
            assert best <= solution.estimate + 1e-12 * size
            assert solution.value >= best - (gap + 1e-9) * abs(best) - 1e-10 * size
            if not forced and gap < 1e-6:
                exact = Exhaustive().solve(Problem(DenseCovariance(S, semidefinite=False), k, nonnegative=True))
                assert solution.value == pytest.approx(exact.value, abs=1e-9 * size)
                assert solution.status is Status.COMPLETE
            assert solution.witness is None


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("seed", range(2))
def test_stopped_by_a_node_limit(seed):
    """The interval narrows as more nodes are allowed, and the record of an unfinished search proves it."""
    S = gaussian(11, seed, rank=[None, 3][seed % 2])
    value, upper = -np.inf, np.inf
    for limit in (1, 2, 4, 8, 16, 64, None):
        solution = solve(S, 4, node_limit=limit)
        finished = solution.status is Status.COMPLETE
        assert finished or solution.status is Status.NODE_LIMIT
        assert solution.witness is not None
        check(S, 4, solution, finished=finished)
        assert solution.value >= value
        assert solution.estimate <= upper
        value, upper = solution.value, solution.estimate
    assert finished


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("limit", [0.0, 0.01, 0.1])
def test_stopped_by_a_time_limit(limit):
    S = gaussian(14, 0)
    solution = solve(S, 5, monitor=Monitor(limit), workers=2)
    finished = solution.status is Status.COMPLETE
    assert finished or solution.status is Status.TIME_LIMIT
    check(S, 5, solution, finished=finished)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("at", [2, 4, 9, 25])
def test_ctrl_c_while_the_covariance_is_asked(at, workers):
    S = gaussian(9, 3)
    covariance = InterruptedCovariance(S, np.inf)
    first = BadStart().solve(Problem(covariance, 4))
    covariance.at, covariance.calls = at, 0
    problem = Problem(covariance, 4)
    with ctrl_c_is_caught("the search"):
        solution = TreeSearch(workers=workers).search(problem, first)
    stopped = problem.monitor.stopped is Stop.INTERRUPTED
    assert stopped == (covariance.calls >= at)
    assert solution.status is (Status.INTERRUPTED if stopped else Status.COMPLETE)
    check(S, 4, solution, finished=not stopped)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    "target",
    ["DecidedFeatures", "RowLevels.solve", "Branch.bounded", "Branch.divided", "values_of", "above"],
)
def test_ctrl_c_anywhere(target, monkeypatch):
    """Whatever is interrupted, what comes back is true."""
    S = gaussian(9, 5)
    places = {
        "DecidedFeatures": (fixing, "DecidedFeatures"),
        "RowLevels.solve": (row_levels.RowLevels, "solve"),
        "Branch.bounded": (Branch, "bounded"),
        "Branch.divided": (Branch, "divided"),
        "values_of": (run, "values_of"),
        "above": (row_levels, "estimated_largest_eigenvalue_bound"),
    }
    owner, name = places[target]
    original = getattr(owner, name)
    seen = set()
    for at in (1, 2, 3, 5, 8):
        calls = []

        def interrupted(*arguments, calls=calls, at=at, **settings):
            calls.append(1)
            if len(calls) == at:
                raise KeyboardInterrupt
            return original(*arguments, **settings)

        with monkeypatch.context() as patched, ctrl_c_is_caught(target):
            patched.setattr(owner, name, interrupted)
            solution = solve(S, 4)
        seen.add(solution.status)
        check(S, 4, solution, finished=solution.status is Status.COMPLETE)
    assert Status.INTERRUPTED in seen


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("rank", [None, 4])
def test_the_answer_does_not_depend_on_the_workers(rank):
    S = gaussian(16, 2, rank)
    one, *others = (solve(S, 5, workers=workers) for workers in (1, 2, 4))
    for other in others:
        assert np.array_equal(one.support, other.support)
        for field in ("value", "estimate", "iterations", "reason"):
            assert getattr(one, field) == getattr(other, field)
        assert one.witness.count == other.witness.count
    assert one.iterations > 1


def test_a_problem_that_needs_no_search():
    S = gaussian(8, 0)
    for k in (1, 3, 8):
        solution = solve(S, k)
        assert solution.status is Status.COMPLETE
        assert truth(S, k) <= solution.estimate <= truth(S, k) * (1 + 1e-9)


def test_settings_that_make_no_sense():
    with pytest.raises(ValueError, match="gap=1 must be at least 0 and below 1"):
        Exact(gap=1)
    with pytest.raises(ValueError, match="node_limit=0 must be at least 1"):
        Exact(node_limit=0)
    with pytest.raises(ValueError, match="workers=0 must be at least 1"):
        Exact(workers=0)


@pytest.mark.parametrize("limit", [1, 2, 5, 20, None])
def test_all_that_the_search_claims_is_proved(limit, monkeypatch):
    """The bound of the search is proved when it ends, whether the tree is finished or not."""
    monkeypatch.setattr(fixing, "SUPPORTS_ONE_BY_ONE", 1)
    S = gaussian(16, 0)
    problem = Problem(DenseCovariance(S, semidefinite=False), 5)
    bad = finish(problem, np.arange(5), Status.LOCAL, method="")
    found = TreeSearch(workers=1, node_limit=limit).search(problem, bad)
    assert found.bound.witness is found.witness
    assert truth(S, 5) <= found.bound.value <= found.estimate
    assert found.bound.value == pytest.approx(found.estimate, rel=1e-11)
    assert proved_upper(S, 5, found.witness) == pytest.approx(found.bound.value, rel=1e-12)


LITERATURE = {
    "wine": {10: 4.594293},
    "miniBoone": {5: 4.999998586, 10: 9.999994781},
    "ionosphere": {5: 3.754005564, 10: 6.138309428, 15: 7.789460450, 20: 8.492947973},
    "lung": {5: 3.335570683, 10: 4.812312178, 15: 6.013952298, 20: 7.070327076},
    "geography": {5: 5.0, 10: 10.0},
    "communities": {5: 4.860548140, 10: 8.823615756, 15: 11.7716362, 20: 14.32695168, 30: 18.77441661, 50: 23.51996004},
    "wdbc": {5: 5.64828763, 15: 5.65879247},
    "Eisen1": {5: 14.07570594, 10: 17.33549909, 15: 17.5842935, 20: 17.71946105, 30: 17.89625838, 50: 18.06858927},
    "lymphoma500": {5: 4300.496760, 10: 6008.741115, 20: 9082.157838},
}
LONG = {"communities": {30, 50}, "miniBoone": {10}, "lymphoma500": {10, 20}, "Eisen1": {10, 15, 20, 30}}
CASES = [
    pytest.param(name, k, value, marks=[pytest.mark.slow] if k in LONG.get(name, ()) else [])
    for name, found in LITERATURE.items()
    for k, value in found.items()
]


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(("name", "k", "value"), CASES)
def test_values_of_the_literature_are_proved(name, k, value):
    S = load_benchmark(name).covariance
    solution = solve(S, k)
    assert solution.status is Status.COMPLETE
    assert solution.value == pytest.approx(value, rel=5e-7)
    assert solution.value <= solution.estimate <= solution.value * (1 + 1.01e-7)
    if isinstance(solution.witness, TreeWitness):
        assert proved_upper(S, k, solution.witness) <= solution.estimate * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_several_features_divide_a_node_at_once(seed, monkeypatch):
    """Even if every probe counts as low, the bound is true, and the proof is complete."""
    monkeypatch.setattr("laconic.bounds.tree.LOW", 1.0)
    monkeypatch.setattr("laconic.bounds.fixing.SUPPORTS_ONE_BY_ONE", 10)
    S = np.corrcoef(np.random.default_rng(seed).standard_normal((20, 14)), rowvar=False)
    problem = Problem(DenseCovariance(S), 4)
    found = TreeSearch().search(problem, Auto().solve(problem))
    best = truth(S, 4)
    assert found.value == pytest.approx(best, rel=1e-12)
    assert best * (1 - 1e-13) <= found.bound.value <= best * (1 + 1e-6)
    assert best * (1 - 1e-13) <= proved_upper(S, 4, found.bound.witness) <= found.bound.value * (1 + 1e-12)
