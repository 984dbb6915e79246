"""Sparse PCA with proofs: each component uses only a few variables."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laconic import plot
    from laconic.bounds.certify_support import certify_support
    from laconic.bounds.least import upper_bound
    from laconic.bounds.sparse_eigenvalues import SparseEigenvalues, sparse_eigenvalues
    from laconic.core.monitor import Hint
    from laconic.data.files import read_table
    from laconic.model import single_cell as pp
    from laconic.model.cardinality_path import CardinalityPath, cardinality_path
    from laconic.model.choosing.choice import Choice
    from laconic.model.choosing.choose import choose
    from laconic.model.estimator import SparsePCA
    from laconic.model.noise import NoiseComparison, compare_with_noise
    from laconic.model.penalty_path import PenaltyPath, penalty_path
    from laconic.model.stability import Stability, stability
    from laconic.model.storage import load_model
    from laconic.proof.certificate import Certificate
    from laconic.proof.gate import UpperBound
    from laconic.proof.span_certificate import SpanCertificate
    from laconic.proof.verification import Verification, verify
    from laconic.search.problem import Solution, Status

__version__ = "0.1.0"
__all__ = [
    "CardinalityPath",
    "Certificate",
    "Choice",
    "Hint",
    "NoiseComparison",
    "PenaltyPath",
    "Solution",
    "SpanCertificate",
    "SparseEigenvalues",
    "SparsePCA",
    "Stability",
    "Status",
    "UpperBound",
    "Verification",
    "cardinality_path",
    "certify_support",
    "choose",
    "compare_with_noise",
    "load_model",
    "penalty_path",
    "plot",
    "pp",
    "read_table",
    "sparse_eigenvalues",
    "stability",
    "upper_bound",
    "verify",
]

# The module of each public name. It is imported when the name is first used, so that `import laconic` is fast. `plot`
# and `pp` are modules themselves; scanpy calls the place of its preprocessing pp, too.
_MODULES = {
    "CardinalityPath": "laconic.model.cardinality_path",
    "Certificate": "laconic.proof.certificate",
    "Choice": "laconic.model.choosing.choice",
    "Hint": "laconic.core.monitor",
    "NoiseComparison": "laconic.model.noise",
    "PenaltyPath": "laconic.model.penalty_path",
    "Solution": "laconic.search.problem",
    "SpanCertificate": "laconic.proof.span_certificate",
    "SparseEigenvalues": "laconic.bounds.sparse_eigenvalues",
    "SparsePCA": "laconic.model.estimator",
    "Stability": "laconic.model.stability",
    "Status": "laconic.search.problem",
    "UpperBound": "laconic.proof.gate",
    "Verification": "laconic.proof.verification",
    "cardinality_path": "laconic.model.cardinality_path",
    "certify_support": "laconic.bounds.certify_support",
    "choose": "laconic.model.choosing.choose",
    "compare_with_noise": "laconic.model.noise",
    "load_model": "laconic.model.storage",
    "penalty_path": "laconic.model.penalty_path",
    "plot": "laconic.plot",
    "pp": "laconic.model.single_cell",
    "read_table": "laconic.data.files",
    "sparse_eigenvalues": "laconic.bounds.sparse_eigenvalues",
    "stability": "laconic.model.stability",
    "upper_bound": "laconic.bounds.least",
    "verify": "laconic.proof.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'laconic' has no attribute {name!r}")
    module = import_module(_MODULES[name])
    value = module if name in ("plot", "pp") else getattr(module, name)
    # The next access finds the name here and does not call this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
