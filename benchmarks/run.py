"""Run one package on one problem, in its own process: python -m benchmarks.run PEER PROBLEM."""

import importlib
import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.memory import Peak
from benchmarks.problems import PROBLEMS
from laconic.covariance import covariance_of

# Repeat a fit until this much time has passed, and report the shortest time.
REPEAT_SECONDS = 2.0


def main(peer_name: str, problem_name: str) -> None:
    warnings.simplefilter("ignore")
    peer = importlib.import_module(f"benchmarks.peers.{peer_name}")
    problem = PROBLEMS[problem_name]
    X, k = problem.make(), problem.cardinality
    extra = (peer.prepare(X, k),) if hasattr(peer, "prepare") else ()
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sp.issparse(X) else X.nbytes
    peak = Peak()
    times: list[tuple[float, float]] = []
    while not times or sum(wall for wall, _ in times) < REPEAT_SECONDS:
        wall, cpu = time.perf_counter(), time.process_time()
        support = peer.fit(X, k, *extra)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    memory = peak.megabytes()
    block = covariance_of(X)[0].submatrix(np.asarray(support))
    result = {
        "wall": min(wall for wall, _ in times),
        "cpu": min(cpu for _, cpu in times),
        # The interpreter's own memory changes by about a megabyte, so smaller inputs cannot be measured.
        "memory": memory * 2**20 / size if size >= 2**20 else float("nan"),
        "features": len(support),
        "value": float(np.linalg.eigvalsh(block)[-1]) if len(support) <= 10 * k else float("nan"),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    # One BLAS thread for every package. CPU time would also count threads that only wait.
    with threadpool_limits(1):
        main(*sys.argv[1:])
