"""Principal components that use few variables."""

from laconic.data.files import load
from laconic.estimator import SparsePCA
from laconic.path import CardinalityPath, cardinality_path
from laconic.solution import Solution, Status

__all__ = ["CardinalityPath", "Solution", "SparsePCA", "Status", "cardinality_path", "load"]
__version__ = "0.1.0"
