"""scikit-learn's MiniBatchSparsePCA. A bisection finds alpha, as for SparsePCA."""

from typing import Any

import numpy as np
from sklearn.decomposition import MiniBatchSparsePCA

from benchmarks.peers.tuning import tuned

TITLE = "scikit-learn MiniBatchSparsePCA"


def prepare(X: Any, k: int) -> float:
    return tuned(lambda alpha: MiniBatchSparsePCA(1, alpha=alpha, random_state=0).fit(X).components_[0], k)


def fit(X: Any, k: int, alpha: float) -> np.ndarray:
    loadings = MiniBatchSparsePCA(1, alpha=alpha, random_state=0).fit(X).components_[0]
    return np.sort(np.argsort(-np.abs(loadings), kind="stable")[:k])
