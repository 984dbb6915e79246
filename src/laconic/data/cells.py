"""Annotated data of single cells (AnnData): objects in memory and backed, .h5ad files and .zarr folders.

anndata gives slices of rows of a matrix on disk. Only the pointers of a sparse matrix, and no open file, stay in memory
between two passes. A matrix that is stored column after column (CSC) is read into memory.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.core.words import check_memory
from laconic.data.rows import BLOCK_NUMBERS, ArraySource, Block, Source, needed, reading
from laconic.data.tables import check_unique, without_duplicates

# A dense block may grow to this many numbers so that no chunk of the file is read twice: 256 MB of float32.
LARGEST_BLOCK = 16 * BLOCK_NUMBERS


def open_stored(file: Path) -> Source:
    """Return X of an .h5ad file or a .zarr folder."""
    io = needed("anndata.io", file.name, "anndata")

    @contextmanager
    def opened() -> Iterator[Any]:
        with _root(file) as root:
            yield root["X"] if hasattr(root["X"], "shape") else io.sparse_dataset(root["X"])

    with _root(file) as root:
        if "X" not in root:
            raise ValueError(f"{file.name} has no X; {_layers(root.get('layers', ()))}.")
        names = [str(name) for name in io.read_elem(root["var"]).index]
    return _source(file.name, opened, names, file)


@contextmanager
def _root(file: Path) -> Iterator[Any]:
    if file.is_dir():
        import zarr

        try:
            root = zarr.open_group(str(file), mode="r")
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{file.name} is not a .zarr folder; write one with adata.write_zarr.") from error
        yield root
        return
    import h5py

    with reading(file.name), h5py.File(file, "r") as root:
        yield root


def open_anndata(adata: Any, *, layer: str | None = None) -> Source:
    """Return X or a layer of an AnnData object. X of a backed object stays in its file."""
    if not hasattr(adata, "var_names"):
        raise TypeError(f"A {type(adata).__name__} was given; give an AnnData object.")
    names = [str(name) for name in adata.var_names]
    if layer is None and adata.isbacked:
        if adata.is_view:
            raise ValueError("adata is a view of a file; call .to_memory() on it, or give the whole object.")
        file = Path(adata.filename)
        return _source(file.name, lambda: nullcontext(adata.X), names, file)  # the object opens its file itself
    X = adata.X if layer is None else adata.layers.get(layer)
    name = "adata" if layer is None else f"layer {layer!r}"
    if X is None:
        raise ValueError(f"adata has no {'X' if layer is None else name}; {_layers(adata.layers)}.")
    _check(names, X.dtype, name)
    if type(X).__module__.startswith("dask"):
        from laconic.data.dask import open_dask

        source = open_dask(X)
        source.feature_names = names
        return source
    return ArraySource(without_duplicates(X) if sp.issparse(X) else np.asarray(X), name, names)


def _source(name: str, opened: Callable[[], AbstractContextManager[Any]], names: list[str], file: Path) -> Source:
    """Return the source of a matrix in a file: an array, or a sparse dataset of anndata."""
    with opened() as matrix:
        if len(matrix.shape) != 2 or len(names) != matrix.shape[1]:
            raise ValueError(
                f"{name} has {len(names)} variables, and a matrix of shape {matrix.shape}; write it again."
            )
        _check(names, matrix.dtype, name)
        if getattr(matrix, "format", "") == "csc":
            n_bytes = 12 * int(matrix.group["indices"].shape[0])
            check_memory(n_bytes, f"{name}, which is stored by columns,", "write it with adata.X.tocsr()")
            found: Source = ArraySource(without_duplicates(matrix.to_memory()), name, names)
            found.files = [file]
            return found
    return StoredRows(name, opened, names, file)


class StoredRows(Source):
    """A matrix in a file, dense or CSR, a slice of rows at a time."""

    def __init__(
        self, name: str, opened: Callable[[], AbstractContextManager[Any]], names: list[str], file: Path
    ) -> None:
        self.name, self._opened, self.feature_names, self.files = name, opened, names, [file]
        with opened() as matrix:
            n, p = (int(size) for size in matrix.shape)
            self.n_rows, self.n_features, self.sparse = n, p, hasattr(matrix, "format")
            if self.sparse:
                pointers = matrix.group["indptr"][:]
                starts = np.searchsorted(pointers, np.arange(0, max(int(pointers[-1]), 1), BLOCK_NUMBERS))
            else:
                # Blocks have whole chunks of the file. A shard of Zarr holds many chunks.
                chunk = (getattr(matrix, "shards", None) or matrix.chunks or [1])[0]
                chunk = chunk if chunk * p <= LARGEST_BLOCK else 1
                starts = np.arange(0, n, max(1, BLOCK_NUMBERS // max(p, 1) // chunk) * chunk)
        self._bounds = np.unique([0, *starts[starts < n], n])

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        with self._opened() as matrix:
            for begin, end in pairwise(self._bounds):
                try:
                    rows = matrix[int(begin) : int(end)]
                except (OSError, RuntimeError, ValueError, IndexError) as error:
                    raise ValueError(
                        f"{self.name} cannot be read to its end; it is damaged: write it again."
                    ) from error
                if self.sparse:
                    # SciPy does not check that indices are inside the matrix.
                    if rows.nnz and not 0 <= int(rows.indices.min()) <= int(rows.indices.max()) < self.n_features:
                        raise ValueError(f"{self.name} has a column index outside its columns; write it again.")
                    rows = without_duplicates(sp.csr_array(rows))
                yield Block(rows if columns is None else rows[:, columns], end / self.n_rows)


def _layers(layers: Iterable[str | None]) -> str:
    # anndata lists X among the layers since version 0.13, with None for its name.
    names = ", ".join(repr(layer) for layer in sorted(layer for layer in layers if layer is not None))
    return f"its layers are {names}" if names else "it has no layers"


def _check(names: list[str], dtype: Any, name: str) -> None:
    check_unique(names, name=f"{name} has the variable name")
    if np.dtype(dtype).kind not in "biuf":
        raise ValueError(f"{name} holds entries of type {dtype}; give real numbers.")
