"""The question, the answer, how a search ended, and the contracts of solvers and bounds."""

from laconic.problem.contract import Abilities, Bound, JointSolver, PathSolver, Solver
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status

__all__ = ["Abilities", "Bound", "JointSolver", "PathSolver", "Problem", "Solution", "Solver", "Status"]
