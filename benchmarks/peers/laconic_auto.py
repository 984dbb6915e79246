"""laconic with the default method, without bounds, because the other packages have no bounds."""

from typing import Any

import numpy as np

from laconic import SparsePCA

TITLE = "laconic auto"


def fit(X: Any, k: int) -> np.ndarray:
    return SparsePCA(cardinality=k, proof=None).fit(X).supports_[0]
