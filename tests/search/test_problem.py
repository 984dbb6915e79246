"""Solvers declare what they can do, and advice names settings that exist."""

import re
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import pytest

from helpers import random_psd, solved_exactly
from laconic.covariance import DenseCovariance
from laconic.methods import SOLVERS, Exact, GeneralizedPower, Penalized, Swaps, TruncatedPower, get_solver
from laconic.search.problem import Abilities, Problem, Status, abilities_of


@pytest.mark.parametrize("solver", [*SOLVERS.values(), Penalized(1.0)], ids=lambda solver: solver.name)
def test_a_declared_setting_is_a_field(solver):
    names = {field.name for field in fields(solver)}
    abilities = abilities_of(solver)
    assert abilities.seed == ("seed" in names)
    assert abilities.penalty == ("penalty" in names)
    assert abilities.together <= hasattr(solver, "solve_jointly")


LIMITED = [Swaps(max_iterations=1), TruncatedPower(max_iterations=1), GeneralizedPower(tuning=1, max_iterations=1)]


@pytest.mark.parametrize("settings", [*LIMITED, Exact(node_limit=1)], ids=lambda settings: type(settings).__name__)
def test_advice_names_a_setting(settings):
    problem = Problem(DenseCovariance(random_psd(60, 40, 3)), 6)
    exact = isinstance(settings, Exact)
    solution = solved_exactly(problem, node_limit=1) if exact else settings.solve(problem, start=np.arange(6))
    named = re.search(r"a larger (\w+)", str(solution.status))
    assert named is not None, solution.status
    assert named[1] in {field.name for field in fields(settings)}


def test_a_seed_reaches_a_solver_that_has_one():
    assert get_solver(TruncatedPower(max_iterations=7, seed=3), seed=5) == TruncatedPower(max_iterations=7, seed=5)
    assert get_solver(TruncatedPower(seed=3)) == TruncatedPower(seed=3)
    assert get_solver("auto", seed=7).seed == 7
    assert get_solver("swaps", seed=5) == Swaps()


def test_unknown_methods_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="method='simplex' is not known; choose one of auto, sorting"):
        get_solver("simplex")
    with pytest.raises(ValueError, match="an exact proof is asked for by proof='exact'"):
        get_solver("exact")
    with pytest.raises(TypeError, match="method=7 must be a solver or one of auto"):
        get_solver(7)


@dataclass(frozen=True)
class Boastful:
    name: ClassVar[str] = "boastful"
    abilities: ClassVar[dict] = {"seed": True}

    def solve(self, problem, *, start=None):
        raise NotImplementedError


def test_abilities_of_another_kind_are_refused():
    assert abilities_of(object()) == Abilities()
    with pytest.raises(TypeError, match=r"Boastful\.abilities must be an Abilities object"):
        get_solver(Boastful(), seed=1)


def test_only_a_gated_bound_makes_a_solution_optimal():
    solution = solved_exactly(Problem(DenseCovariance(random_psd(12, 20, 1)), 4))
    assert solution.status is Status.COMPLETE
    assert solution.bound is None
    assert solution.upper == np.inf


@pytest.mark.parametrize("k", [0, -1, 10])
def test_a_problem_out_of_range_is_refused(k):
    covariance = DenseCovariance(random_psd(9))
    with pytest.raises(ValueError, match=rf"cardinality={k} must lie between 1 and the number of features, 9\."):
        Problem(covariance, k)
    with pytest.raises(ValueError, match="3 features are forced in but cardinality=2"):
        Problem(covariance, 2, forced=np.arange(3))
