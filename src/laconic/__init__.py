"""Principal components that use few variables."""

from laconic.data.files import load
from laconic.estimator import SparsePCA
from laconic.path import CardinalityPath, cardinality_path
from laconic.penalty_path import PenaltyPath, penalty_path
from laconic.solution import Solution, Status

__all__ = [
    "CardinalityPath",
    "PenaltyPath",
    "Solution",
    "SparsePCA",
    "Status",
    "cardinality_path",
    "load",
    "penalty_path",
]
__version__ = "0.1.0"
