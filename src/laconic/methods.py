"""Every object that `method=` and `proof=` take, the short names of those that have one, and the contracts."""

from laconic.bounds.dspca import Dspca
from laconic.bounds.names import SOLVERS, get_solver
from laconic.bounds.penalized import Penalized
from laconic.bounds.prove import Exact
from laconic.search import (
    ApproximateGreedy,
    Auto,
    BackwardGreedy,
    Exhaustive,
    GeneralizedPower,
    Greedy,
    Swaps,
    Thresholding,
    TruncatedPower,
    VarianceSorting,
)
from laconic.search.problem import Bound, Problem, Solution, Solver

__all__ = [
    "SOLVERS",
    "ApproximateGreedy",
    "Auto",
    "BackwardGreedy",
    "Bound",
    "Dspca",
    "Exact",
    "Exhaustive",
    "GeneralizedPower",
    "Greedy",
    "Penalized",
    "Problem",
    "Solution",
    "Solver",
    "Swaps",
    "Thresholding",
    "TruncatedPower",
    "VarianceSorting",
    "get_solver",
]
