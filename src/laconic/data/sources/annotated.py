"""Annotated data of single cells (AnnData): .h5ad files, .zarr folders, and AnnData objects.

Files are read with h5py or zarr, a block of rows at a time: anndata itself is not needed for them, and it would keep
whole layers in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.names import check_unique
from laconic.data.passes import FirstPart, FirstPass
from laconic.data.sources.annotated_layout import check_numbers, layers_in_words, matrix_in, variables_in
from laconic.data.sources.contract import Block, Job, Part, Source
from laconic.data.sources.fingerprint import files_fingerprint
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import COMPRESSED, open_source
from laconic.data.sources.stored_matrix import ColumnMatrix, StoredMatrix
from laconic.data.tables import without_duplicates


@dataclass(frozen=True)
class Store:
    """A file or folder with annotated data, and how it is opened."""

    name: str
    path: Path
    open: Callable[[], AbstractContextManager[Any]]


def open_h5ad(paths: Sequence[str | Path], *, layer: str | None = None, raw: bool = False) -> Source:
    """Return X of .h5ad files, or a layer or raw.X. Several files are one table; they must have the same variables."""
    h5py = _needed("h5py", "an .h5ad file")

    def opened(path: Path) -> Any:
        try:
            return h5py.File(path, "r")
        except OSError as error:
            if path.suffix.lower() in COMPRESSED:
                raise ValueError(f"{path.name} is compressed as a whole; unpack it first.") from error
            if "truncated" in str(error):
                raise ValueError(f"{path.name} is cut off; copy or download it again.") from error
            if not path.is_file() or h5py.is_hdf5(path):
                raise
            raise ValueError(f"{path.name} is not an .h5ad file; write one with adata.write_h5ad.") from error

    files = [Path(path) for path in paths]
    return AnnotatedSource([Store(file.name, file, partial(opened, file)) for file in files], layer=layer, raw=raw)


def open_zarr(paths: Sequence[str | Path], *, layer: str | None = None, raw: bool = False) -> Source:
    """Return X of .zarr folders, or a layer or raw.X. Several folders are one table."""
    zarr = _needed("zarr", "a .zarr folder")

    @contextmanager
    def opened(path: Path) -> Iterator[Any]:
        try:
            group = zarr.open_group(str(path), mode="r")
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{path.name} is not a .zarr folder; write one with adata.write_zarr.") from error
        yield group

    folders = [Path(path) for path in paths]
    return AnnotatedSource([Store(file.name, file, partial(opened, file)) for file in folders], layer=layer, raw=raw)


def open_object(X: Any) -> Source | None:
    """Return the source of an object of anndata. The matrix of a view is an array as any other: None."""
    return None if isinstance(X, np.ndarray) or sp.issparse(X) else open_anndata(X)


def open_anndata(adata: Any, *, layer: str | None = None) -> Source:
    """Return X or a layer of an AnnData object. X of a backed object stays in its file."""
    if not hasattr(adata, "var_names"):
        raise TypeError(f"X is a {type(adata).__name__}; give an AnnData object.")
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"adata has no layer {layer!r}; {layers_in_words(adata.layers)}.")
    if layer is None and adata.isbacked:
        if adata.is_view:
            raise ValueError("adata is a view of a file; call .to_memory() on it, or give the whole object.")
        return AnnotatedSource([_store_of(adata)], names=[str(v) for v in adata.var_names])
    X = adata.X if layer is None else adata.layers[layer]
    name = "adata" if layer is None else f"layer {layer!r}"
    if X is None:
        raise ValueError(f"adata has no X; {layers_in_words(adata.layers)}.")
    names = [str(v) for v in adata.var_names]
    check_unique(names, name=f"{name} has the variable name")
    source = open_source(X)  # a Dask array
    if source is not None:
        source.feature_names = names
        return source
    X = without_duplicates(X) if sp.issparse(X) else np.asarray(X)
    check_numbers(X.dtype, name)
    return ArraySource(X, name, names)


class AnnotatedSource(Source):
    """A matrix of annotated data in files: X, a layer, or raw.X."""

    def __init__(
        self,
        stores: Sequence[Store],
        *,
        layer: str | None = None,
        raw: bool = False,
        names: list[str] | None = None,  # by default those in the files
    ) -> None:
        self._stores = stores
        self._key = f"layers/{layer}" if layer is not None else "raw/X" if raw else "X"
        self.name = stores[0].name if len(stores) == 1 else f"{stores[0].name} and {len(stores) - 1} more"
        self._matrices: list[StoredMatrix] = []
        for store in stores:
            with store.open() as root:
                matrix = matrix_in(root, self._key, store.name)
                own = names or variables_in(root, self._key, store.name)
            if len(own) != matrix.shape[1]:
                raise ValueError(f"{store.name} has {len(own)} variables and {matrix.shape[1]} columns in {self._key}.")
            if self.feature_names not in (None, own):
                raise ValueError(f"{store.name} has other variables than {stores[0].name}; give files with the same.")
            self.feature_names = own
            self._matrices.append(matrix)
        check_unique(self.feature_names or (), name=f"{self.name} has the variable name")
        self.n_rows = sum(matrix.shape[0] for matrix in self._matrices)
        self.n_features = self._matrices[0].shape[1]
        self.sparse = self._matrices[0].sparse
        if any(matrix.sparse != self.sparse for matrix in self._matrices):
            raise ValueError(f"{self.name}: some files have dense and some have sparse rows; write them alike.")

    def fingerprint(self) -> str | None:
        files = []
        for store in self._stores:
            files += sorted((store.path / self._key).rglob("*")) if store.path.is_dir() else [store.path]
        return f"{self._key} {files_fingerprint(files)}"

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        assert self.n_rows is not None
        rows_read = 0
        for store, matrix in zip(self._stores, self._matrices, strict=True):
            n_blocks = len(matrix.bounds) - 1
            if first < n_blocks:
                rows_here = rows_read + int(matrix.bounds[first])
                with store.open() as root:
                    for rows in matrix.blocks(root[self._key], columns, first):
                        rows_here += rows.shape[0]
                        yield Block(rows, rows_here / self.n_rows)
            rows_read += matrix.shape[0]
            first = max(first - n_blocks, 0)

    def reduce(self, job: Job[Part], progress: PassProgress) -> Part:
        matrix = self._matrices[0]
        if len(self._matrices) > 1 or not isinstance(matrix, ColumnMatrix) or not isinstance(job, FirstPass):
            return super().reduce(job, progress)
        # Each column is complete in itself: one reading in the order of the file is enough.
        total: Any
        total, first = progress.resumed(self, job)
        names = self.feature_names or []
        with self._stores[0].open() as root:
            for number, (begin, end) in enumerate(matrix.column_groups()):
                if number >= first:
                    group = matrix.columns(root[self._key], begin, end)
                    own = replace(job, feature_names=tuple(names[begin:end])).of(group)
                    total = own if total is None else _beside(total, own)
                    progress.advance(self, job, total, number + 1, end / self.n_features)
        if total is None or not self.n_rows:
            raise ValueError(f"{self.name} has no rows; give a table with at least two.")
        progress.finished(self, job)
        part: Part = total
        return part


def _store_of(adata: Any) -> Store:
    """Return the file of a backed object. The object keeps it open."""
    path = Path(adata.filename)

    def opened() -> AbstractContextManager[Any]:
        if not adata.file.is_open:
            adata.file.open()
        return nullcontext(adata.file)

    return Store(path.name, path, opened)


def _beside(left: FirstPart, right: FirstPart) -> FirstPart:
    """Return the moments and digests of the columns of two parts of the same rows."""
    columns: dict[str, Any] = {"digests": (left.digests, right.digests)}
    if left.sums is not None and right.sums is not None:
        columns |= {"sums": (left.sums, right.sums), "raw_squares": (left.raw_squares, right.raw_squares)}
    else:
        first, second = left.moments, right.moments
        columns |= {"centers": (first.means, second.means), "deviations": (first.squares, second.squares)}
    joined: dict[str, Any] = {name: np.concatenate(both) for name, both in columns.items()}
    return FirstPart(left.n_rows, max(left.depth, right.depth), left.power, **joined)


def _needed(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        message = f"Reading {what} needs {module}; run: pip install 'laconic[anndata]'"
        raise ImportError(message) from error
