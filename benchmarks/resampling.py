"""Stability and noise against plain fits: 500 rows of 200 columns, 10 features.

python -m benchmarks resampling

`stability` with 100 half samples, and `noise` with 99 permuted tables, beside 100 plain fits
(`SparsePCA(cardinality=10).fit`, with its fast proof) of all rows, and beside 100 plain fits of the half samples.
Everything runs on one thread, in one process. The strength is the standard deviation of the scores of a planted
component: 0 is noise.
"""

import time
from collections.abc import Callable

import numpy as np

from laconic import SparsePCA, noise, stability
from laconic.core.monitor import one_thread
from laconic.model.stability import drawn

ROWS, COLUMNS, FEATURES = 500, 200, 10
STRENGTHS = (0.8, 0.6, 0.5, 0.4, 0.0)
SAMPLES, PERMUTATIONS = 100, 99
# Plain fits that are timed. Their mean counts for 100.
FITS = 20


def _rows(strength: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    X[:, :FEATURES] += strength * rng.standard_normal((ROWS, 1))
    return X


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def table() -> str:
    lines = [
        f"| strength | 100 fits of all rows, s | 100 fits of half samples, s | stability, {SAMPLES} half samples, s | "
        f"to all rows | to half samples | {PERMUTATIONS} permuted tables, s | index | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    with one_thread():
        for strength in STRENGTHS:
            X = _rows(strength)
            model = SparsePCA(cardinality=FEATURES)
            fit = model.fit
            fit(X)  # imports and caches
            halves = [X[drawn(ROWS, "halves", 0, number)] for number in range(FITS)]
            whole = 100 * np.mean([_seconds(lambda X=X, fit=fit: fit(X)) for _ in range(FITS)])
            parts = 100 * np.mean([_seconds(lambda half=half, fit=fit: fit(half)) for half in halves])
            begin = time.perf_counter()
            found = stability(model, X, resamples=SAMPLES)
            sampled = time.perf_counter() - begin
            begin = time.perf_counter()
            compared = noise(model, X, permutations=PERMUTATIONS)
            permuted = time.perf_counter() - begin
            lines.append(
                f"| {strength} | {whole:.1f} | {parts:.1f} | {sampled:.1f} | {sampled / whole:.2f} | "
                f"{sampled / parts:.2f} | {permuted:.1f} | {found.index:.2f} | {compared.p_values[0]:.2g} |"
            )
    return "\n".join(lines)
