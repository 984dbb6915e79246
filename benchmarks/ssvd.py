"""One component by laconic and by ssvd of R's package irlba: CPU seconds with one thread each, and the value.

    python -m benchmarks ssvd

It needs Rscript and irlba (on Debian: r-cran-irlba). The value is z'Sz with the best loadings on the support.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from studies.data import load_kos
from threadpoolctl import threadpool_limits

from benchmarks.alone import add_line, percent, run_alone
from benchmarks.problems import dense_wide, marrow, sparse_square, spike_tall
from laconic import SparsePCA
from laconic.covariance import covariance_of
from laconic.datasets import spiked_rows

SCRIPT = Path(__file__).parent / "peers" / "ssvd.R"
# Seconds for one problem. A fit is repeated at least three times, and for some seconds; the shortest time counts.
TIME_LIMIT, REPEATS, REPEAT_SECONDS = 600.0, 3, 2.0
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

PROBLEMS: dict[str, tuple[Callable[[], Any], int]] = {
    "CSR 20,000 x 20,000": (sparse_square, 10),
    "marrow4k, 4,142 x 16,106": (marrow, 10),
    "kos, 3,430 x 6,906": (lambda: load_kos().data, 10),
    "spiked rows 2,000 x 1,000": (spike_tall, 25),
    "spiked rows 500 x 10,000": (dense_wide, 25),
    "spiked rows 300 x 200": (lambda: spiked_rows(300, 200, 10, signal=3.0, rng=0).data, 10),
}


def by_ssvd(X: Any, k: int) -> tuple[float, list[int]]:
    """Return the CPU seconds and the support of ssvd."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.mtx" if sp.issparse(X) else "x.numbers")
        if sp.issparse(X):
            scipy.io.mmwrite(path, X)
        else:
            np.ascontiguousarray(X.T).tofile(path)
        command = ["Rscript", SCRIPT, path, *X.shape, k, REPEAT_SECONDS]
        environment = {**os.environ, **ONE_THREAD}
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True, env=environment)
    seconds, *support = done.stdout.split()
    return float(seconds), [int(i) for i in support]


def by_laconic(X: Any, k: int, **settings: Any) -> tuple[float, SparsePCA]:
    """Return the CPU seconds of a fit, and the model."""
    model = SparsePCA(1, cardinality=k, **settings)
    times: list[float] = []
    while len(times) < REPEATS or sum(times) < REPEAT_SECONDS:
        start = time.process_time()
        model.fit(X)
        times.append(time.process_time() - start)
    return min(times), model


def compare(problem: str) -> dict[str, Any]:
    """Solve one problem with both."""
    make, k = PROBLEMS[problem]
    X = make()
    covariance = covariance_of(X)[0]
    one, one_start = by_laconic(X, k, method="truncated-power", proof=None)
    plain, _ = by_laconic(X, k, proof=None)
    fast, model = by_laconic(X, k, proof="fast")
    theirs, support = by_ssvd(X, k)
    values = [
        float(np.linalg.eigvalsh(covariance.submatrix(np.array(features)))[-1])
        for features in (support, one_start.supports_[0], model.supports_[0])
    ]
    shares = [100 * value / max(values) for value in values]
    return {"seconds": [theirs, one, plain, fast], "shares": shares, "gap": float(model.gap_[0])}


def table() -> str:
    """Return the comparison as markdown."""
    if shutil.which("Rscript") is None:
        return "This part needs Rscript with the package irlba, and was left out."
    lines = [
        "| problem | k | ssvd, s | truncated power, s | auto without a proof, s | auto, s | truncated power / ssvd | "
        "auto / ssvd | ssvd, % of best value | truncated power, % | auto, % | proved gap |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (_, k) in PROBLEMS.items():
        r = run_alone("benchmarks.ssvd", name, time_limit=TIME_LIMIT)
        if "failure" in r:
            add_line(lines, f"| {name} | {k} | {r['failure']} |" + " - |" * 9)
            continue
        theirs, one, _, fast = r["seconds"]
        seconds = " | ".join(f"{s:.3f}" for s in r["seconds"])
        shares = " | ".join(f"{share:.3f}" for share in r["shares"])
        ratios = f"{one / theirs:.2f} | {fast / theirs:.2f}"
        add_line(lines, f"| {name} | {k} | {seconds} | {ratios} | {shares} | {percent(r['gap'])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        print(json.dumps(compare(*sys.argv[1:])))
