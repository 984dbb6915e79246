"""Every solver on every problem: what a solution must be, whoever found it."""

from itertools import pairwise

import numpy as np
import pytest

from helpers import PROBLEMS, SEEDS, SOLVER_TABLE, assert_valid, case, scale_of, truth
from laconic.bounds.names import SOLVERS, get_solver
from laconic.search.problem import PathSolver, Problem, Solver, Status

# The table is large: one seed, and one of each pair of settings that differ little, by default; all in the long run.
ALIKE = {"gpower-l1-block", "gpower-l0-block", "thresholding-seed-5"}
TABLE = [pytest.param(name, marks=pytest.mark.slow) if name in ALIKE else name for name in SOLVER_TABLE]
TABLE_SEEDS = [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])]


def questions(n):
    """Cardinalities alone, with features forced in, with signs, with both, and with a start of any length."""
    sizes = set(range(1, n + 1))
    yield from ({"k": k} for k in sorted({1, 2, 4, n - 1, n} & sizes))
    for forced in {(n - 1,), (0, n // 2) if n > 1 else (0,)}:
        yield from ({"k": k, "forced": forced} for k in sorted({len(forced), len(forced) + 1} & sizes))
    yield from ({"k": k, "nonnegative": True} for k in sorted({1, min(3, n)}))
    yield {"k": min(3, n), "forced": (n - 1,), "nonnegative": True}
    yield from ({"k": min(3, n), "start": np.arange(n - length, n)} for length in sorted({1, min(3, n), n}))


@pytest.mark.parametrize("seed", TABLE_SEEDS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", TABLE)
def test_a_solution_is_valid_and_its_interval_holds_the_truth(solver, problem, seed):
    covariance, S = case(problem, seed)
    slack = 1e-9 * scale_of(S)
    for asked in questions(len(S)):
        k, forced, nonnegative = asked["k"], asked.get("forced", ()), asked.get("nonnegative", False)
        question = Problem(covariance, k, forced=np.array(forced, dtype=np.intp), nonnegative=nonnegative)
        solution = SOLVER_TABLE[solver].solve(question, start=asked.get("start"))
        assert_valid(solution, S, k, forced=forced, nonnegative=nonnegative)
        best = truth(problem, seed, k, tuple(forced), nonnegative)
        assert solution.value <= best + slack, asked
        assert solution.estimate >= best, asked
        if solution.status is Status.COMPLETE:
            assert solution.value >= best - slack, asked
            assert solution.estimate <= best + 1e-5 * scale_of(S), asked


@pytest.mark.parametrize("solver", SOLVER_TABLE)
def test_closed_forms_on_a_covariance_that_stays_as_it_was(solver):
    covariance, S = case("full-rank")
    before = S.copy()
    solution = SOLVER_TABLE[solver].solve(Problem(covariance, len(S)))
    assert solution.value == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-12)
    assert np.array_equal(covariance.matrix, before)
    diagonal, S = case("diagonal", 1)
    assert SOLVER_TABLE[solver].solve(Problem(diagonal, 1)).support.tolist() == [int(S.diagonal().argmax())]


@pytest.mark.parametrize("name", SOLVERS)
def test_short_name_gives_a_solver(name):
    solver = get_solver(name)
    assert isinstance(solver, Solver)
    assert get_solver(solver) is solver
    with pytest.raises(AttributeError):  # frozen
        solver.name = "other"


@pytest.mark.parametrize("name", ["greedy", "approximate-greedy", "backward-greedy"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_path_is_nested_and_ends_where_solve_does(name, nonnegative):
    solver = SOLVERS[name]
    assert isinstance(solver, PathSolver)
    covariance, S = case("full-rank")
    path = solver.path(Problem(covariance, 7, nonnegative=nonnegative))
    assert len(path) == 7
    for k, solution in enumerate(path, start=1):
        assert_valid(solution, S, k, nonnegative=nonnegative)
        alone = solver.solve(Problem(covariance, k, nonnegative=nonnegative))
        assert alone.support.tolist() == solution.support.tolist()
        assert alone.value == pytest.approx(solution.value, rel=1e-12)
    if not nonnegative:  # a zero loading leaves the support, so only signed supports are sure to be nested
        for small, large in pairwise(path):
            assert set(small.support) < set(large.support)
            assert small.value <= large.value * (1 + 1e-12)
    path = solver.path(Problem(covariance, 6, forced=np.array([2, 7])))
    assert [len(s.support) for s in path] == [2, 3, 4, 5, 6]
    for k, solution in enumerate(path, start=2):
        assert_valid(solution, S, k, forced=(2, 7))
