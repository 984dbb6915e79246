"""Missing values: what is left of the best support if 30 % of the entries are removed at random.

For each table and k, the support of the full data is compared with those from pairwise deletion and from EM, over
several draws of the entries that are removed. Every certificate is checked against the matrix that was made.
"""

import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer
from studies.data import load_stocks

from laconic import SparsePCA, path, verify
from laconic.covariance.missing import PresentValues
from laconic.data.rows import ArraySource
from laconic.datasets import load_senate109

SHARE = 0.3
CARDINALITIES = (5, 10)
DRAWS = 10
# EM of 1258 days and 470 stocks takes many minutes.
DRAWS_OF_SLOW = 1


def tables() -> Iterator[tuple[str, np.ndarray, bool]]:
    """Yield the name of each table, its rows, and whether columns are scaled."""
    yield "Senate", load_senate109().data, False
    yield "wdbc", load_breast_cancer().data, True
    yield "stocks", load_stocks().returns.to_numpy(), False


def value(S: np.ndarray, support: np.ndarray) -> float:
    """Return the largest variance of a component on a support."""
    return float(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1])


def table() -> str:
    """Return the comparison as markdown."""
    lines = [
        "| table | way | draws | k | features in common | share of the best value | bounds valid | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, X, scale in tables():
        S = np.corrcoef(X.T) if scale else np.cov(X.T)
        best = path(SparsePCA(), covariance=S, sizes=max(CARDINALITIES))
        for way in ("pairwise", "em"):
            draws = DRAWS_OF_SLOW if (name, way) == ("stocks", "em") else DRAWS
            results: dict[int, list[tuple[float, ...]]] = {k: [] for k in CARDINALITIES}
            seconds = 0.0
            for seed in range(draws):
                holes = np.where(np.random.default_rng(seed).random(X.shape) < SHARE, np.nan, X)
                begin = time.perf_counter()
                made = PresentValues(ArraySource(holes), scale=scale).matrix(way)
                seconds += time.perf_counter() - begin
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the matrix may be indefinite
                    curve = path(SparsePCA(), covariance=made.matrix, sizes=max(CARDINALITIES))
                for k in CARDINALITIES:
                    found, certificate = curve.solutions[k - 1], curve.certificates[k - 1]
                    known = best.solutions[k - 1]
                    common = len(np.intersect1d(found.support, known.support))
                    share = value(S, found.support) / known.value
                    # The support of the full data has to be below the bound, too.
                    valid = certificate is not None and bool(verify(certificate, made.matrix))
                    valid = valid and value(made.matrix, known.support) <= found.upper
                    results[k].append((common, share, valid))
            for k, outcomes in results.items():
                common, share, valid = np.array(outcomes, dtype=float).T
                lines.append(
                    f"| {name}, {X.shape[0]} x {X.shape[1]} | {way} | {draws} | {k} | {common.mean():.1f} | "
                    f"{100 * share.mean():.1f} % | {valid.sum():.0f} of {draws} | {seconds / draws:.3g} |"
                )
            print(*lines[-len(CARDINALITIES) :], sep="\n", flush=True)
    return "\n".join(lines)
