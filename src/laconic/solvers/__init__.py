"""Supports: one algorithm a file, each a frozen dataclass of settings with `solve(problem, start=None)`."""

from laconic.solvers.approximate_greedy import ApproximateGreedy
from laconic.solvers.auto import Auto
from laconic.solvers.backward_greedy import BackwardGreedy
from laconic.solvers.base import JointSolver, PathSolver, Solver
from laconic.solvers.exhaustive import Exhaustive
from laconic.solvers.generalized_power import GeneralizedPower
from laconic.solvers.greedy import Greedy
from laconic.solvers.swaps import Swaps
from laconic.solvers.thresholding import Thresholding
from laconic.solvers.truncated_power import TruncatedPower
from laconic.solvers.variance_sorting import VarianceSorting

__all__ = [
    "ApproximateGreedy",
    "Auto",
    "BackwardGreedy",
    "Exhaustive",
    "GeneralizedPower",
    "Greedy",
    "JointSolver",
    "PathSolver",
    "Solver",
    "Swaps",
    "Thresholding",
    "TruncatedPower",
    "VarianceSorting",
]
