"""Contrastive components of wide tables: time, memory and what is proved."""

import time

import numpy as np

from benchmarks.memory import Peak
from laconic import SparsePCA, verify

ROWS, CARDINALITY, COMMON, STRENGTH = 120, 10, 3, 6.0


def tables(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, background rows and the features of a component that only the first have.

    Both tables have three strong directions in common, which use all features.
    """
    rng = np.random.default_rng(seed)
    planted = np.sort(rng.permutation(n)[:CARDINALITY])
    common = 2 * rng.standard_normal((COMMON, n))
    X, Y = (rng.standard_normal((ROWS, COMMON)) @ common + rng.standard_normal((ROWS, n)) for _ in range(2))
    X[:, planted] += STRENGTH * rng.standard_normal((ROWS, 1)) / np.sqrt(CARDINALITY)
    return X, Y, planted


def table() -> str:
    """Return a row for each number of columns and each weight."""
    lines = [
        "| rows x columns | weight g | seconds | memory, MB | planted features found | value | proved bound |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in (5_000, 50_000):
        X, Y, planted = tables(n)
        for weight in (1.0, 2.0):
            peak, begin = Peak(), time.perf_counter()
            model = SparsePCA(cardinality=CARDINALITY).fit(X, contrast=(Y, weight))
            seconds, memory = time.perf_counter() - begin, peak.megabytes()
            assert verify(model.certificates_[0], X, contrast=Y)
            found = len(np.intersect1d(model.supports_[0], planted))
            lines.append(
                f"| {ROWS} x {n:,} | {weight:g} | {seconds:.1f} | {memory:.0f} | {found} of {CARDINALITY} | "
                f"{model.lower_bound_[0]:.2f} | {model.upper_bound_[0]:.2f} |"
            )
    return "\n".join(lines)
