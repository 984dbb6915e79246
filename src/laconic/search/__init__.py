"""Supports: one family of algorithms a file, each a frozen dataclass of settings with `solve(problem, start=None)`."""

from laconic.search.auto import Auto
from laconic.search.exhaustive import Exhaustive
from laconic.search.greedy import ApproximateGreedy, BackwardGreedy, Greedy, Thresholding, VarianceSorting
from laconic.search.power import GeneralizedPower, TruncatedPower
from laconic.search.swaps import Swaps

__all__ = [
    "ApproximateGreedy",
    "Auto",
    "BackwardGreedy",
    "Exhaustive",
    "GeneralizedPower",
    "Greedy",
    "Swaps",
    "Thresholding",
    "TruncatedPower",
    "VarianceSorting",
]
