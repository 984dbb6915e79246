"""Solvers declare what they can do, and advice names settings that exist."""

import re
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import pytest

from helpers import random_psd
from laconic.covariance import DenseCovariance
from laconic.methods import SOLVERS, BranchAndBound, GeneralizedPower, Swaps, TruncatedPower, get_solver
from laconic.search.problem import Abilities, Problem, Status, abilities_of


@pytest.mark.parametrize("name", SOLVERS)
def test_a_declared_setting_is_a_field(name):
    solver = SOLVERS[name]
    names = {field.name for field in fields(solver)}
    abilities = abilities_of(solver)
    assert abilities.seed == ("seed" in names)
    assert abilities.penalty == ("penalty" in names)
    assert abilities.together <= hasattr(solver, "solve_jointly")


LIMITED = {
    "swaps": Swaps(max_iterations=1),
    "truncated-power": TruncatedPower(max_iterations=1),
    "generalised power": GeneralizedPower(tuning=1, max_iterations=1),
    "exact": BranchAndBound(node_limit=1),
}


@pytest.mark.parametrize("name", LIMITED)
def test_advice_names_a_setting_of_the_solver(name):
    solver = LIMITED[name]
    problem = Problem(DenseCovariance(random_psd(60, 40, 3)), 6)
    solution = solver.solve(problem, start=np.arange(6))
    named = re.search(r"a larger (\w+)", str(solution.status))
    assert named is not None, solution.status
    assert named[1] in {field.name for field in fields(solver)}


def test_a_seed_reaches_a_solver_given_as_an_object():
    assert get_solver(TruncatedPower(max_iterations=7, seed=3), seed=5) == TruncatedPower(max_iterations=7, seed=5)
    assert get_solver(TruncatedPower(seed=3)) == TruncatedPower(seed=3)
    assert get_solver("swaps", seed=5) == Swaps()


def test_a_penalty_goes_to_those_who_take_one():
    assert get_solver("exact", penalty=2.0) == BranchAndBound(penalty=2.0)
    with pytest.raises(ValueError, match=r"penalty=2\.0 is for method='dspca' or method='exact'; method='swaps'"):
        get_solver(Swaps(), penalty=2.0)


@dataclass(frozen=True)
class Boastful:
    name: ClassVar[str] = "boastful"
    abilities: ClassVar[dict] = {"seed": True}

    def solve(self, problem, *, start=None):
        raise NotImplementedError


def test_abilities_of_another_kind_are_refused():
    with pytest.raises(TypeError, match=r"Boastful\.abilities must be an Abilities object"):
        get_solver(Boastful(), seed=1)


def test_only_a_gated_bound_makes_a_solution_optimal():
    solution = get_solver("exact").solve(Problem(DenseCovariance(random_psd(12, 20, 1)), 4))
    assert solution.status is Status.COMPLETE
    assert solution.bound is None
    assert solution.upper == np.inf
    assert abilities_of(object()) == Abilities()
