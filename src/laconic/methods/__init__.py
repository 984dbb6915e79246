"""Every object that `method=` and `proof=` take, the short names of those that have one, and the contracts."""

from laconic.bounds.exact import Exact, Penalized
from laconic.methods.disjoint import DisjointExact
from laconic.methods.dspca import Dspca
from laconic.methods.registry import SOLVERS, get_solver
from laconic.problem import Bound, Problem, Solution, Solver
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

__all__ = [
    "SOLVERS",
    "ApproximateGreedy",
    "Auto",
    "BackwardGreedy",
    "Bound",
    "DisjointExact",
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
