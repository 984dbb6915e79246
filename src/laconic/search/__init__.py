"""Supports: one algorithm a file, each a frozen dataclass of settings with `solve(problem, start=None)`."""

from laconic.search.approximate_greedy import ApproximateGreedy
from laconic.search.auto import Auto
from laconic.search.backward_greedy import BackwardGreedy
from laconic.search.exhaustive import Exhaustive
from laconic.search.generalized_power import GeneralizedPower
from laconic.search.greedy import Greedy
from laconic.search.swaps import Swaps
from laconic.search.thresholding import Thresholding
from laconic.search.truncated_power import TruncatedPower
from laconic.search.variance_sorting import VarianceSorting

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
