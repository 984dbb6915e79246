"""The approximate greedy path of laconic to cardinality 50, without bounds, as the other packages have none."""

from typing import Any

import numpy as np

from laconic import SparsePCA, path

TITLE = "laconic greedy path to 50"


def fit(X: Any, k: int) -> np.ndarray:
    model = SparsePCA(method="approximate-greedy", proof=None)
    return path(model, X, sizes=min(50, X.shape[1])).supports[k - 1]
