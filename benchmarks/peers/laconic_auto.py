"""laconic, the default method."""

from typing import Any

import numpy as np

from laconic import SparsePCA

TITLE = "laconic auto"


def fit(X: Any, k: int) -> np.ndarray:
    return SparsePCA(cardinality=k).fit(X).supports_[0]
