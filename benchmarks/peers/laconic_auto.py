"""laconic, the default method, without bounds, which no peer has."""

from typing import Any

import numpy as np

from laconic import SparsePCA

TITLE = "laconic auto"


def fit(X: Any, k: int) -> np.ndarray:
    return SparsePCA(cardinality=k, certify=None).fit(X).supports_[0]
