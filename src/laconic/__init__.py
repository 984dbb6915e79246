"""Principal components that use few variables."""

from laconic.bounds.certify import certify_support
from laconic.bounds.least import upper_bound
from laconic.bounds.sparse_eigenvalues import SparseEigenvalues, sparse_eigenvalues
from laconic.data.files import load
from laconic.model.cardinality_path import CardinalityPath, cardinality_path
from laconic.model.estimator import SparsePCA
from laconic.model.penalty_path import PenaltyPath, penalty_path
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof import Certificate, Verification, verify
from laconic.proof.upper_bound import UpperBound

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
