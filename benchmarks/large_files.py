"""Files of made data for the benchmarks of large data.

They are made once, in the folder that LACONIC_LARGE names, or in build/large. Together they take 15 GB.

    python -m benchmarks.large_files            make all of them
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.made_counts import count_blocks, made_counts

#: Entries in a row of the made counts of words that are asked for: 234 remain, as some fall together. And columns.
ENTRIES_A_ROW, N_WORDS = 272, 100_000
#: Rows and columns of the matrices that are fitted in memory.
IN_MEMORY = ((100_000, 50_000), (300_000, 100_000))
#: Rows of the four long tables.
LONG_ROWS = (100_000, 300_000, 1_000_000, 3_000_000)
#: Lines in a row group of a long table: rows of a file that are read together.
GROUP = 4_000_000

N_CELLS, N_GENES = 1_300_000, 20_000
PROGRAMS, GENES = 5, 10
#: Cells that are made at once.
CELLS_AT_ONCE = 2000


def folder() -> Path:
    """Return the folder of the files, and make it if it is not there."""
    path = Path(os.environ.get("LACONIC_LARGE", "build/large"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def long_table(n_rows: int) -> Path:
    """Return a Parquet file of made counts of words: a line for each entry, with row, column and value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder() / f"words-{n_rows}.parquet"
    if path.exists():
        return path
    schema = pa.schema([("row", pa.int32()), ("column", pa.int32()), ("value", pa.int16())])
    unfinished = path.with_suffix(".unfinished")
    first = 0
    with pq.ParquetWriter(unfinished, schema) as writer:
        for counts in count_blocks(n_rows, N_WORDS, ENTRIES_A_ROW * n_rows):
            m = counts.shape[0]
            rows = np.repeat(np.arange(first, first + m, dtype=np.int32), np.diff(counts.indptr))
            columns = (rows, counts.indices, counts.data.astype(np.int16))
            writer.write_table(pa.table(list(columns), schema=schema), row_group_size=GROUP)
            first += m
    unfinished.rename(path)
    return path


def words_in_memory(n_rows: int, n_words: int) -> Path:
    """Return an npz file of made counts of words, for benchmarks in memory: to load it takes no further memory."""
    path = folder() / f"words-{n_rows}-{n_words}.npz"
    if not path.exists():
        save_csr(path, made_counts(n_rows, n_words, ENTRIES_A_ROW * n_rows))
    return path


def save_csr(path: Path, X: Any) -> None:
    """Write a CSR matrix as `load_csr` reads it."""
    np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape)


def load_csr(path: str | Path) -> Any:
    """Read a CSR matrix."""
    with np.load(path) as parts:
        return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))


def programs() -> np.ndarray:
    """Return the genes of each program, one program a row, in increasing order."""
    genes = np.random.default_rng(1).choice(N_GENES, (PROGRAMS, GENES), replace=False)
    return np.sort(genes, axis=1)


def cells() -> Path:
    """Return an h5ad file of made counts of genes in single cells, by rows (CSR), not compressed.

    A gene is seen in a share of the cells of its own: 5 % on average. A program is ten genes that are high together in
    some of the cells, as those of haemoglobin are in red blood cells.
    """
    import anndata
    import h5py
    import pandas as pd
    from anndata.io import write_elem

    path = folder() / "cells.h5ad"
    if path.exists():
        return path
    unfinished = path.with_suffix(".unfinished")
    empty = anndata.AnnData(sp.csr_matrix((0, N_GENES), dtype=np.float32))
    empty.var_names = [f"gene{i}" for i in range(N_GENES)]
    empty.write_h5ad(unfinished)
    with h5py.File(unfinished, "r+") as file:
        del file["X"], file["obs"]
        write_elem(file, "obs", pd.DataFrame(index=[str(i) for i in range(N_CELLS)]))
        group = file.create_group("X")
        for name, value in {
            "encoding-type": "csr_matrix",
            "encoding-version": "0.1.0",
            "shape": np.array([N_CELLS, N_GENES]),
        }.items():
            group.attrs[name] = value
        data, indices = (
            group.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(2**16,))
            for name, dtype in (("data", np.float32), ("indices", np.int32))
        )
        starts = [np.zeros(1, dtype=np.int64)]
        for counts in _cell_blocks():
            end = len(data) + counts.nnz
            for stored, values in ((data, counts.data), (indices, counts.indices)):
                stored.resize((end,))
                stored[end - counts.nnz :] = values
            starts.append(starts[-1][-1] + counts.indptr[1:].astype(np.int64))
        group["indptr"] = np.concatenate(starts)
    unfinished.rename(path)
    return path


def _cell_blocks() -> Iterator[Any]:
    """Yield blocks of cells."""
    rng = np.random.default_rng(0)
    share = np.minimum(0.9, rng.gamma(0.35, 0.15, N_GENES))
    threshold = (share * 2**16).astype(np.uint16)
    height = (8 * share).astype(np.float32)
    for begin in range(0, N_CELLS, CELLS_AT_ONCE):
        m = min(CELLS_AT_ONCE, N_CELLS - begin)
        rows, columns = np.nonzero(rng.integers(0, 2**16, (m, N_GENES), dtype=np.uint16) < threshold)
        values = np.floor(1 + rng.standard_exponential(len(rows), dtype=np.float32) * (1 + height[columns]))
        counts = sp.csr_array((values, columns.astype(np.int32), np.searchsorted(rows, np.arange(m + 1))), (m, N_GENES))
        for t, genes in enumerate(programs()):
            active = np.flatnonzero(rng.random(m) < 0.05 + 0.02 * t)
            strength = rng.gamma(2.0, 30.0 - 4.0 * t, len(active))
            extra = rng.poisson(np.multiply.outer(strength, np.linspace(1.0, 0.6, GENES)))
            places = np.repeat(active, GENES), np.tile(genes, len(active))
            counts = counts + sp.csr_array((extra.ravel().astype(np.float32), places), shape=(m, N_GENES))
        counts.eliminate_zeros()
        yield counts


def main() -> None:
    for shape in IN_MEMORY:
        print(words_in_memory(*shape), flush=True)
    for n_rows in LONG_ROWS:
        print(long_table(n_rows), flush=True)
    print(cells(), flush=True)


if __name__ == "__main__":
    main()
