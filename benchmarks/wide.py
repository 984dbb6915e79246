"""Wide standardised data: what is found, what is proved, and how long that takes in passes over all pairs.

    python -m benchmarks wide                      all rows
    python -m benchmarks.wide colon "200 x 20"     the rows whose names begin so

Each row is measured in a process of its own, with all cores. CPU seconds are those of all threads. A *pass* is one
look at all pairs of columns with NumPy: the products in float32, in blocks, and the largest of each row. It is timed in
the same process.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from studies.data import load_colon, load_marrow4k

from benchmarks.alone import add_line, peak_megabytes, run_alone, seconds_of
from benchmarks.bounds import short, warm_up
from laconic import SparsePCA, verify

# Seconds for one fit, and for a whole row with the data. They suffice on a machine that is busy with other work.
TIME_LIMIT, ROW_LIMIT = 600.0, 3000.0
BLOCK = 256


def planted(rows: int, columns: int, group: int, strength: float) -> np.ndarray:
    """Return Gaussian rows with one group of columns that share a factor."""
    rng = np.random.default_rng(7)
    direction = np.zeros(columns)
    direction[rng.choice(columns, group, replace=False)] = 1 / np.sqrt(group)
    return rng.standard_normal((rows, columns)) + strength * rng.standard_normal((rows, 1)) * direction


def factors(rows: int, columns: int, count: int) -> np.ndarray:
    """Return Gaussian rows in which all columns share some factors."""
    rng = np.random.default_rng(1)
    return 0.7 * rng.standard_normal((rows, count)) @ rng.standard_normal((count, columns)) + rng.standard_normal(
        (rows, columns)
    )


def cells(at_least: int) -> Any:
    """Return log counts of marrow cells, each cell scaled to 10,000, for genes seen in some cells."""
    counts = sp.csr_array(load_marrow4k().data, dtype=float)
    counts = sp.csr_array(sp.diags_array(1e4 / counts.sum(axis=1)) @ counts)
    counts.data = np.log1p(counts.data)
    return counts[:, np.flatnonzero((counts > 0).sum(axis=0) >= at_least)]


DATA: dict[str, tuple[Callable[[], Any], tuple[int, ...], int]] = {
    "200 x 20,000, planted 10": (lambda: planted(200, 20_000, 10, 3.0), (10,), 1),
    "100 x 20,000, planted 10": (lambda: planted(100, 20_000, 10, 4.0), (10, 20), 1),
    "300 x 20,000, planted 20": (lambda: planted(300, 20_000, 20, 4.0), (20,), 1),
    "500 x 10,000, planted 25": (lambda: planted(500, 10_000, 25, 6.0), (25,), 1),
    "100 x 100,000, planted 10": (lambda: planted(100, 100_000, 10, 4.5), (10,), 1),
    "colon, 62 x 2,000": (lambda: load_colon().data, (5, 10, 20), 1),
    "five factors, 38 x 3,051": (lambda: factors(38, 3051, 5), (10, 20), 1),
    "marrow log counts, all genes": (lambda: cells(1), (10, 20), 3),
    "marrow log counts, genes in 40 cells or more": (lambda: cells(40), (10, 20), 3),
}


def one_pass(X: Any) -> float:
    """Return the largest sum of a column's largest correlations, by one pass over all pairs."""
    Z = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
    Z = Z - Z.mean(axis=0)
    sizes = np.linalg.norm(Z, axis=0)
    Z = (Z / np.where(sizes > 0, sizes, 1.0)).astype(np.float32)
    top = 0.0
    for begin in range(0, Z.shape[1], BLOCK):
        top = max(top, float(np.abs(Z[:, begin : begin + BLOCK].T @ Z).max()))
    return top


def measure(name: str, cardinality: str) -> dict[str, Any]:
    """Fit with proof="fast" and "tight", and verify the certificates."""
    make, _, components = DATA[name]
    X, k = make(), int(cardinality)
    warm_up()
    result: dict[str, Any] = {}
    for proof in ("fast", "tight"):
        model = SparsePCA(components, cardinality=k, scale=True, proof=proof, time_limit=TIME_LIMIT)
        begin = time.process_time()
        result[proof], _ = seconds_of(lambda model=model: model.fit(X))
        result[f"{proof} CPU"] = time.process_time() - begin
        result[f"{proof} gaps"] = model.gap_.tolist()
        # Certificates of the same data are verified together.
        result[f"{proof} verified"], answers = seconds_of(lambda model=model: verify(model.certificates_, X))
        result["accepted"] = result.get("accepted", True) and all(map(bool, answers))
    result["values"] = model.explained_variance_.tolist()
    result["memory"] = peak_megabytes()
    result["pass"], _ = seconds_of(lambda: one_pass(X))
    return result


def table(only: list[str] | None = None) -> str:
    """Return the table as markdown."""
    lines = [
        "| standardised rows | k | variance | fast | s | CPU s | in passes | tight | s | CPU s | verify, s | MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (_, cardinalities, _) in DATA.items():
        if only and not name.startswith(tuple(only)):
            continue
        for k in cardinalities:
            r = run_alone("benchmarks.wide", "measure", name, k, time_limit=ROW_LIMIT)
            if "failure" in r:
                add_line(lines, f"| {name} | {k} | {r['failure']} |" + " - |" * 9)
                continue
            values = ", ".join(f"{value:.3f}" for value in r["values"])
            gaps = [", ".join(f"{short(100 * gap)} %" for gap in r[f"{proof} gaps"]) for proof in ("fast", "tight")]
            verified = f"{r['tight verified']:.1f}" if r["accepted"] else "refused"
            add_line(
                lines,
                f"| {name} | {k} | {values} | {gaps[0]} | {r['fast']:.1f} | {r['fast CPU']:.1f} | "
                f"{r['fast'] / r['pass']:.1f} | {gaps[1]} | {r['tight']:.1f} | {r['tight CPU']:.1f} | "
                f"{verified} | {r['memory']:.0f} |",
            )
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    if arguments and arguments[0] == "measure":
        print(json.dumps(measure(*arguments[1:])))
    else:
        print(table(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
