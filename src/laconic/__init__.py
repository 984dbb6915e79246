"""Principal components that use few variables."""

from laconic.bounds import upper_bound
from laconic.certificate import Certificate, Verification, verify
from laconic.certification import certify_support
from laconic.data.files import load
from laconic.estimator import SparsePCA
from laconic.path import CardinalityPath, cardinality_path
from laconic.penalty_path import PenaltyPath, penalty_path
from laconic.solution import Solution, Status
from laconic.sparse_eigenvalues import SparseEigenvalues, sparse_eigenvalues
from laconic.witness import UpperBound

__all__ = [
    "CardinalityPath",
    "Certificate",
    "PenaltyPath",
    "Solution",
    "SparseEigenvalues",
    "SparsePCA",
    "Status",
    "UpperBound",
    "Verification",
    "cardinality_path",
    "certify_support",
    "load",
    "penalty_path",
    "sparse_eigenvalues",
    "upper_bound",
    "verify",
]
__version__ = "0.1.0"
