"""Every object that `method=` takes, and the short names of those that have one."""

from laconic.bounds.disjoint import DisjointExact
from laconic.bounds.dspca import Dspca
from laconic.bounds.exact import BranchAndBound
from laconic.bounds.methods import SOLVERS, get_solver
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
    "BranchAndBound",
    "DisjointExact",
    "Dspca",
    "Exhaustive",
    "GeneralizedPower",
    "Greedy",
    "Swaps",
    "Thresholding",
    "TruncatedPower",
    "VarianceSorting",
    "get_solver",
]
