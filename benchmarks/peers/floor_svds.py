"""The floor: one leading singular vector of the same data. Its k largest entries are the support."""

from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

TITLE = "floor: svds, one vector"


def fit(X: Any, k: int) -> np.ndarray:
    _, _, vectors = svds(X, k=1, rng=np.random.default_rng(0))
    return np.sort(np.argsort(-np.abs(vectors[0]), kind="stable")[:k])
