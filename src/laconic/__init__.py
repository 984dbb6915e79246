"""Sparse PCA with proofs: each component uses only a few features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laconic.bounds.sparse_eigenvalues import sparse_eigenvalues
    from laconic.data.files import read_table
    from laconic.model import single_cell as pp
    from laconic.model.choosing import choose
    from laconic.model.estimator import SparsePCA
    from laconic.model.noise import noise
    from laconic.model.paths import certify, path
    from laconic.model.save import load_model
    from laconic.model.scores import scores
    from laconic.model.stability import stability
    from laconic.proof.certificate import Certificate
    from laconic.proof.verify import verify

__version__ = "0.1.0"

# The module of each public name. It is imported when the name is first used, so that `import laconic` is fast.
_MODULES = {
    "Certificate": "laconic.proof.certificate",
    "SparsePCA": "laconic.model.estimator",
    "certify": "laconic.model.paths",
    "choose": "laconic.model.choosing",
    "load_model": "laconic.model.save",
    "noise": "laconic.model.noise",
    "path": "laconic.model.paths",
    "read_table": "laconic.data.files",
    "scores": "laconic.model.scores",
    "sparse_eigenvalues": "laconic.bounds.sparse_eigenvalues",
    "stability": "laconic.model.stability",
    "verify": "laconic.proof.verify",
}
# Modules that are public themselves. `pp` is called as scanpy calls the place of its preprocessing.
_WHOLE = {
    "datasets": "laconic.datasets",
    "methods": "laconic.methods",
    "plot": "laconic.plot",
    "pp": "laconic.model.single_cell",
    "relaxations": "laconic.relaxations",
}
# `from laconic import *` leaves out `plot`, which needs matplotlib.
__all__ = [
    "Certificate",
    "SparsePCA",
    "certify",
    "choose",
    "datasets",
    "load_model",
    "methods",
    "noise",
    "path",
    "pp",
    "read_table",
    "relaxations",
    "scores",
    "sparse_eigenvalues",
    "stability",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _WHOLE:
        value: Any = import_module(_WHOLE[name])
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module 'laconic' has no attribute {name!r}")
    # The next access finds the name here and does not call this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_WHOLE})
