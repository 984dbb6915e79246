"""scikit-learn's SparsePCA. It has no cardinality, so a bisection finds alpha. Only the fit at this alpha is timed."""

from typing import Any

import numpy as np
from sklearn.decomposition import SparsePCA

from benchmarks.peers.tuning import tuned

TITLE = "scikit-learn SparsePCA"


def prepare(X: Any, k: int) -> float:
    return tuned(lambda alpha: SparsePCA(1, alpha=alpha, random_state=0).fit(X).components_[0], k)


def fit(X: Any, k: int, alpha: float) -> np.ndarray:
    loadings = SparsePCA(1, alpha=alpha, random_state=0).fit(X).components_[0]
    return np.sort(np.argsort(-np.abs(loadings), kind="stable")[:k])
