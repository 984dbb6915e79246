"""The approximate greedy path of laconic to cardinality 50, without bounds, as the other packages have none."""

from typing import Any

import numpy as np

from laconic import cardinality_path

TITLE = "laconic greedy path to 50"


def fit(X: Any, k: int) -> np.ndarray:
    path = cardinality_path(X, min(50, X.shape[1]), given="rows", method="approximate-greedy", proof=None)
    return path.supports[k - 1]
