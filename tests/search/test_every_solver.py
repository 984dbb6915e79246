"""Every solver on every problem: what a solution must be, whoever found it."""

from itertools import pairwise

import numpy as np
import pytest

from helpers import PROBLEMS, SEEDS, SOLVER_TABLE, assert_valid, case, scale_of, truth
from laconic.bounds.methods import SOLVERS, get_solver
from laconic.search.problem import PathSolver, Problem, Solver, Status

# The table is large: one seed, and one of each pair of settings that differ little, by default; all in the long run.
ALIKE = {"gpower-l1-block", "gpower-l0-block", "thresholding-seed-5"}
TABLE = [pytest.param(name, marks=pytest.mark.slow) if name in ALIKE else name for name in SOLVER_TABLE]
TABLE_SEEDS = [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])]


def check(solver, problem, seed, k, *, forced=(), nonnegative=False, start=None):
    covariance, S = case(problem, seed)
    asked = Problem(covariance, k, forced=np.array(forced, dtype=np.intp), nonnegative=nonnegative)
    solution = SOLVER_TABLE[solver].solve(asked, start=start)
    assert_valid(solution, S, k, forced=forced, nonnegative=nonnegative)
    best = truth(problem, seed, k, tuple(forced), nonnegative)
    slack = 1e-9 * scale_of(S)
    assert solution.value <= best + slack
    assert solution.estimate >= best
    if solution.status is Status.COMPLETE:
        assert solution.value >= best - slack
        assert solution.estimate <= best + 1e-5 * scale_of(S)
    return solution


@pytest.mark.parametrize("seed", TABLE_SEEDS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", TABLE)
def test_solution_is_valid_and_never_above_the_truth(solver, problem, seed):
    n = case(problem, seed)[0].n_features
    for k in sorted({1, 2, 4, n - 1, n} & set(range(1, n + 1))):
        check(solver, problem, seed, k)


@pytest.mark.parametrize("seed", TABLE_SEEDS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", TABLE)
def test_forced_features_are_inside(solver, problem, seed):
    n = case(problem, seed)[0].n_features
    for forced in {(n - 1,), (0, n // 2) if n > 1 else (0,)}:
        for k in sorted({len(forced), len(forced) + 1} & set(range(1, n + 1))):
            check(solver, problem, seed, k, forced=forced)


@pytest.mark.parametrize("seed", TABLE_SEEDS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", TABLE)
def test_nonnegative_loadings(solver, problem, seed):
    n = case(problem, seed)[0].n_features
    for k in sorted({1, min(3, n)}):
        check(solver, problem, seed, k, nonnegative=True)


@pytest.mark.parametrize("seed", TABLE_SEEDS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", TABLE)
def test_nonnegative_and_forced_together(solver, problem, seed):
    n = case(problem, seed)[0].n_features
    check(solver, problem, seed, min(3, n), forced=(n - 1,), nonnegative=True)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", TABLE)
def test_start_of_any_length_is_accepted(solver, problem):
    n = case(problem, 0)[0].n_features
    k = min(3, n)
    for length in sorted({1, k, n}):
        check(solver, problem, 0, k, start=np.arange(n - length, n))


@pytest.mark.parametrize("solver", SOLVER_TABLE)
def test_covariance_is_left_as_it_was(solver):
    covariance, S = case("full-rank")
    before = S.copy()
    SOLVER_TABLE[solver].solve(Problem(covariance, 4))
    assert np.array_equal(covariance.matrix, before)
    assert np.array_equal(covariance.diagonal, before.diagonal())


@pytest.mark.parametrize("solver", SOLVER_TABLE)
def test_largest_variance_is_the_answer_at_one(solver):
    S = case("diagonal", 2)[1]
    solution = SOLVER_TABLE[solver].solve(Problem(case("diagonal", 2)[0], 1))
    assert solution.support.tolist() == [int(S.diagonal().argmax())]


@pytest.mark.parametrize("solver", SOLVER_TABLE)
@pytest.mark.parametrize("seed", SEEDS)
def test_all_features_give_the_dense_component(solver, seed):
    covariance, S = case("full-rank", seed)
    solution = SOLVER_TABLE[solver].solve(Problem(covariance, len(S)))
    assert solution.value == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
def test_short_name_gives_a_solver(name):
    solver = get_solver(name)
    assert isinstance(solver, Solver)
    assert type(solver) is type(SOLVERS[name])
    assert get_solver(solver) is solver
    with pytest.raises(AttributeError):  # frozen
        solver.name = "other"


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="method='simplex' is not known; choose one of auto, sorting"):
        get_solver("simplex")
    with pytest.raises(TypeError, match="method=7 must be a solver or one of auto"):
        get_solver(7)


def test_seed_reaches_the_solvers_that_have_one():
    assert get_solver("auto", seed=7).seed == 7
    assert get_solver("thresholding", seed=7).seed == 7
    assert get_solver("truncated-power", seed=7).seed == 7


@pytest.mark.parametrize("name", ["greedy", "approximate-greedy", "backward-greedy"])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_path_is_nested_and_ends_where_solve_does(name, nonnegative, seed):
    solver = SOLVERS[name]
    assert isinstance(solver, PathSolver)
    covariance, S = case("full-rank", seed)
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


@pytest.mark.parametrize("name", ["greedy", "approximate-greedy", "backward-greedy"])
def test_path_begins_with_the_forced_features(name):
    covariance, S = case("full-rank")
    path = SOLVERS[name].path(Problem(covariance, 6, forced=np.array([2, 7])))
    assert [len(s.support) for s in path] == [2, 3, 4, 5, 6]
    for k, solution in enumerate(path, start=2):
        assert_valid(solution, S, k, forced=(2, 7))


@pytest.mark.parametrize("k", [0, -1, 10])
def test_cardinality_out_of_range_is_refused(k):
    with pytest.raises(ValueError, match=rf"cardinality={k} must lie between 1 and the number of features, 9\."):
        Problem(case("full-rank")[0], k)


def test_more_forced_than_the_cardinality_is_refused():
    with pytest.raises(ValueError, match="3 features are forced in but cardinality=2"):
        Problem(case("full-rank")[0], 2, forced=np.arange(3))
