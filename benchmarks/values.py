"""Values of laconic, abess and scikit-learn for every matrix and k with a best known value."""

import warnings

import numpy as np
from studies.data import load_benchmark

from benchmarks.peers import abess_pca, sklearn_pca
from benchmarks.problems import BEST_KNOWN, rows_with_covariance
from laconic import SparsePCA


def shortfall(S: np.ndarray, support: np.ndarray, best: float) -> str:
    """Return how far the variance of a support is below the best known value, in percent."""
    value = float(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1])
    below = 100 * (1 - value / best)
    return "0" if below < 1e-4 else f"{below:.2f}"


def table() -> str:
    """Return the comparison as markdown."""
    lines = ["| matrix | n | k | best known | laconic auto | abess | scikit-learn |", "|---|---|---|---|---|---|---|"]
    for name, known in BEST_KNOWN.items():
        S = load_benchmark(name).covariance
        rows = rows_with_covariance(S)
        for k, best in known.items():
            ours = shortfall(S, SparsePCA(cardinality=k).fit_covariance(S).supports_[0], best)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                abess = shortfall(S, abess_pca.fit(rows, k), best)
                alpha = sklearn_pca.prepare(rows, k) if len(S) <= 101 else None
                scikit = "-" if alpha is None else shortfall(S, sklearn_pca.fit(rows, k, alpha), best)
            lines.append(f"| {name} | {len(S)} | {k} | {best:.9g} | {ours} | {abess} | {scikit} |")
    return "\n".join(lines)
