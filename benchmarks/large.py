"""Large data: fits in memory and from files, beside the bare reading of the same data.

    python -m benchmarks large                        all tables
    python -m benchmarks.large memory                 one table: memory, files, verify or workers

Each row is measured in a process of its own. Times are wall seconds with the threads that each package takes by
itself. Compiled code is loaded from its cache. A file is read once before the clock starts.
"""

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import dense_pca, growth
from benchmarks.alone import add_line, peak_megabytes, percent, run_alone, seconds_of
from benchmarks.large_files import IN_MEMORY, LONG_ROWS, cells, load_csr, long_table, programs, words_in_memory
from benchmarks.made_counts import planted
from laconic import SparsePCA, verify
from laconic.data.passes import FirstPass, GramPass
from laconic.data.rows import ArraySource, PassProgress, open_source

# Seconds for one row.
TIME_LIMIT = 1800.0
# Entries of an h5ad file, or bytes, that a bare reading takes at once.
AT_ONCE = 4_000_000
# Rows, columns and rows of a block of the Dask array.
DASK_ROWS, DASK_COLUMNS, DASK_BLOCK = 150_000, 1000, 4000


def _found(model: SparsePCA, truth: np.ndarray) -> int:
    supports = {tuple(support.tolist()) for support in model.supports_}
    return sum(tuple(group) in supports for group in truth.tolist())


def fit_in_memory(n_rows: str, n_words: str, proof: str) -> dict[str, Any]:
    """Fit a CSR matrix in memory. Then do by SciPy what a fit cannot avoid."""
    X = load_csr(words_in_memory(int(n_rows), int(n_words)))
    before = peak_megabytes()
    seconds, model = seconds_of(lambda: SparsePCA(5, cardinality=5, proof=proof).fit(X))
    result = {
        "entries": X.nnz,
        "seconds": seconds,
        "input": before,
        "peak": peak_megabytes(),
        "found": _found(model, planted()),
        "gap": float(model.gap_.max()),
    }
    sums, _ = seconds_of(lambda: X.sum(axis=0))
    squares, _ = seconds_of(lambda: X.power(2).sum(axis=0))
    kept = model.certificates_[0].witness.kept
    gram, _ = seconds_of(lambda: (part := X[:, kept]).T @ part)
    return {**result, "passes": sums + squares, "gram": gram, "kept": len(kept)}


def in_memory() -> list[str]:
    """Return the table of fits in memory."""
    lines = [
        "| made counts | entries | proof | topics found | largest gap | fit, s | two passes by SciPy, s | "
        "Gram matrix by SciPy, s | limit, s | peak, MB | of it before the fit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for n_rows, n_words in IN_MEMORY:
        words_in_memory(n_rows, n_words)
        for proof in ("fast", "tight"):
            r = run_alone("benchmarks.large", "fit_in_memory", n_rows, n_words, proof, time_limit=TIME_LIMIT)
            limit, gap = 3 * r["passes"] + 2 * r["gram"] + 3, percent(r["gap"])
            add_line(
                lines,
                f"| {n_rows:,} x {n_words:,} | {r['entries'] / 1e6:.0f} million | {proof} | {r['found']} of 5 | "
                f"{gap} | {r['seconds']:.1f} | {r['passes']:.2f} | {r['gram']:.2f}, {r['kept']} columns | "
                f"{limit:.1f} | {r['peak']:.0f} | {r['input']:.0f} |",
            )
    return lines


def read_parquet(path: Path) -> None:
    """Read a Parquet file with pyarrow, one row group after another, with pyarrow's own threads."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)


def read_h5ad(path: Path) -> None:
    """Read the entries of a CSR matrix with h5py."""
    import h5py

    with h5py.File(path) as file:
        data, indices = file["X"]["data"], file["X"]["indices"]
        for begin in range(0, len(data), AT_ONCE):
            data[begin : begin + AT_ONCE], indices[begin : begin + AT_ONCE]


def fit_file(path: str, cardinality: str) -> dict[str, Any]:
    """Fit a file, check a certificate against it, read it as a first pass does, and read it barely."""
    file = Path(path)
    with file.open("rb") as content:
        while content.read(AT_ONCE):
            pass
    seconds, model = seconds_of(lambda: SparsePCA(5, cardinality=int(cardinality)).fit(file))
    result = {
        "seconds": seconds,
        "peak": peak_megabytes(),
        "gaps": model.gap_.tolist(),
        "found": _found(model, planted() if file.suffix == ".parquet" else programs()),
        "rows": open_source(file).n_rows,
    }
    bare = read_parquet if file.suffix == ".parquet" else read_h5ad
    result["bare"] = sum(seconds_of(lambda: bare(file))[0] for _ in range(2))
    return {**result, **_verify(model, file, open_source(file))}


def verify_in_memory(n_rows: str, n_words: str) -> dict[str, Any]:
    """Check a certificate against rows in memory."""
    X = load_csr(words_in_memory(int(n_rows), int(n_words)))
    return _verify(SparsePCA(5, cardinality=5).fit(X), X, ArraySource(X))


def _verify(model: SparsePCA, data: Any, source: Any) -> dict[str, Any]:
    a_pass, _ = seconds_of(lambda: source.reduce(FirstPass(), PassProgress()))
    seconds, answer = seconds_of(lambda: verify(model.certificates_[0], data))
    return {"pass": a_pass, "verify": seconds, "accepted": answer.accepted}


def from_files() -> list[str]:
    """Return the tables of fits of files: time, memory, growth with the rows, and the cost of verify."""
    lines = [
        "| file | MB | proved gaps | found | fit, s | two bare readings, s | fit / readings | peak, MB | verify, s | "
        "first pass, s | verify / pass |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    growing: list[tuple[int, float]] = []
    for path, k in [*((long_table(n), 5) for n in LONG_ROWS), (cells(), 10)]:
        r = run_alone("benchmarks.large", "fit_file", path, k, time_limit=TIME_LIMIT)
        if "failure" in r:
            add_line(lines, f"| {path.name} | {r['failure']} |" + " - |" * 9)
            continue
        if path.suffix == ".parquet":
            growing.append((r["rows"], r["seconds"]))
        add_line(
            lines,
            f"| {path.name} | {path.stat().st_size / 1e6:.0f} | {', '.join(map(percent, r['gaps']))} | "
            f"{r['found']} of 5 | {r['seconds']:.1f} | {r['bare']:.1f} | {r['seconds'] / r['bare']:.2f} | "
            f"{r['peak']:.0f} | {_verify_cells(r)} |",
        )
    exponent = growth.exponent(*zip(*growing, strict=True))
    add_line(lines, f"\nThe time of the long tables grows as the rows to the power of {exponent:.2f}.")
    return lines


def _verify_cells(r: dict[str, Any]) -> str:
    if not r["accepted"]:
        raise ValueError("A certificate was not accepted.")
    return f"{r['verify']:.1f} | {r['pass']:.1f} | {r['verify'] / r['pass']:.2f}"


def in_passes() -> list[str]:
    """Return the table of the cost of verify for rows in memory."""
    lines = ["| made counts in memory | verify, s | first pass, s | verify / pass |", "|---|---|---|---|"]
    for n_rows, n_words in IN_MEMORY:
        r = run_alone("benchmarks.large", "verify_in_memory", n_rows, n_words, time_limit=TIME_LIMIT)
        add_line(lines, f"| {n_rows:,} x {n_words:,} | {_verify_cells(r)} |")
    return lines


def gram_by_workers(count: str) -> dict[str, Any]:
    """Time the second pass over a Dask array of random numbers, which the workers make, with some workers."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    shape, chunks = (DASK_ROWS, DASK_COLUMNS), (DASK_BLOCK, DASK_COLUMNS)
    X = da.random.default_rng(0).standard_normal(shape, chunks=chunks)
    job = GramPass(np.arange(DASK_COLUMNS), np.zeros(DASK_COLUMNS))
    n = int(count)
    with LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(n)
        open_source(X[: 4 * DASK_BLOCK]).reduce(job, PassProgress())
        times = [seconds_of(lambda: open_source(X).reduce(job, PassProgress()))[0] for _ in range(3)]
    return {"seconds": statistics.median(times)}


def workers() -> list[str]:
    """Return the table of two workers against one."""
    lines = ["| workers, one thread each | second pass, s | times as fast |", "|---|---|---|"]
    alone = None
    for count in (1, 2):
        r = run_alone("benchmarks.large", "gram_by_workers", count, time_limit=TIME_LIMIT)
        alone = r["seconds"] if alone is None else alone
        add_line(lines, f"| {count} | {r['seconds']:.1f} | {alone / r['seconds']:.2f} |")
    return lines


PARTS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "memory": ("In memory", in_memory),
    "files": ("From files", from_files),
    "verify": ("Checking a certificate", in_passes),
    "workers": ("Two workers", workers),
    "growth": ("Growth", growth.table),
    "dense": ("Ordinary components of the same data", dense_pca.table),
}


def table(names: list[str] | None = None) -> str:
    """Return the tables as markdown."""
    return "\n\n".join(f"### {PARTS[n][0]}\n\n" + "\n".join(PARTS[n][1]()) for n in names or PARTS)


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (fit_in_memory, fit_file, verify_in_memory, gram_by_workers)
}


def main(arguments: list[str]) -> None:
    if arguments and arguments[0] in TASKS:
        print(json.dumps(TASKS[arguments[0]](*arguments[1:])))
    else:
        print(table(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
