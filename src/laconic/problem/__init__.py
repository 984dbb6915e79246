"""The question, the answer, how a search ended, and the contract of a solver."""

from laconic.problem.contract import JointSolver, PathSolver, Solver
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status

__all__ = ["JointSolver", "PathSolver", "Problem", "Solution", "Solver", "Status"]
