"""Annotated data of single cells (AnnData): .h5ad files, .zarr folders, and AnnData objects.

Files are read with h5py or zarr, a block of rows at a time: anndata itself is not needed for them, and it would keep
whole layers in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.data.compression import DECOMPRESSORS
from laconic.data.names import check_unique
from laconic.data.sources.annotated_layout import check_numbers, layers_in_words, matrix_in, variables_in
from laconic.data.sources.by_column import CscSource
from laconic.data.sources.contract import BLOCK_NUMBERS, CountedSource, Source
from laconic.data.sources.joined import check_same_columns, joined
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.registry import open_source
from laconic.data.sources.stored import CsrSource, DenseSource, Read, StoredMatrix
from laconic.data.sources.streams import name_of
from laconic.data.tables import without_duplicates

# A dense block may grow to this many numbers so that no chunk of the file is read twice: 256 MB of float32.
LARGEST_BLOCK = 16 * BLOCK_NUMBERS


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
            if path.suffix.lower() in DECOMPRESSORS:
                raise ValueError(f"{path.name} is compressed as a whole; unpack it first.") from error
            if "truncated" in str(error):
                raise ValueError(f"{path.name} is cut off; copy or download it again.") from error
            if not path.is_file() or h5py.is_hdf5(path):
                raise
            raise ValueError(f"{path.name} is not an .h5ad file; write one with adata.write_h5ad.") from error

    files = [Path(path) for path in paths]
    return _open_files([Store(file.name, file, partial(opened, file)) for file in files], layer, raw)


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
    return _open_files([Store(file.name, file, partial(opened, file)) for file in folders], layer, raw)


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
        return _open_matrix(_store_of(adata), "X", [str(v) for v in adata.var_names])
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


def _open_files(stores: Sequence[Store], layer: str | None, raw: bool) -> Source:
    """Return one table of a matrix of each file."""
    key = f"layers/{layer}" if layer is not None else "raw/X" if raw else "X"
    sources = [_open_matrix(store, key) for store in stores]
    for store, source in zip(stores, sources, strict=True):
        check_same_columns(source.feature_names or (), sources[0].feature_names or (), store.path, stores[0].path)
    return joined(sources, name_of([store.path for store in stores]))


def _open_matrix(store: Store, key: str, names: list[str] | None = None) -> CountedSource:
    """Return one matrix of a file. The names of the variables are by default those in the file."""

    @contextmanager
    def opened() -> Iterator[Read]:
        with store.open() as root:
            if hasattr(root[key], "shape"):
                yield partial(_cut, store, root[key])
            else:
                indices, values = root[key]["indices"], root[key]["data"]
                yield lambda begin, end: (_cut(store, indices, begin, end), _cut(store, values, begin, end))

    files = sorted((store.path / key).rglob("*")) if store.path.is_dir() else [store.path]
    source: CountedSource
    with store.open() as root:
        node, form, shape = matrix_in(root, key, store.name)
        names = names or variables_in(root, key, store.name)
        if form == "dense":
            # A shard of Zarr holds many chunks in one file.
            chunk = (getattr(node, "shards", None) or node.chunks or [1])[0]
            fits = chunk * shape[1] <= LARGEST_BLOCK
            source = DenseSource(StoredMatrix(store.name, files, shape, opened), chunk=chunk if fits else 1)
        else:
            pointers = np.asarray(_cut(store, node["indptr"], None, None), dtype=np.int64)
            matrix = StoredMatrix(store.name, files, shape, opened, pointers)
            matrix.check_pointers(shape[form == "csc"], min(node["data"].shape[0], node["indices"].shape[0]))
            source = CscSource(matrix) if form == "csc" else CsrSource(matrix)
    if len(names) != shape[1]:
        raise ValueError(f"{store.name} has {len(names)} variables and {shape[1]} columns in {key}.")
    check_unique(names, name=f"{store.name} has the variable name")
    source.feature_names, source.content = names, key
    return source


def _cut(store: Store, array: Any, begin: int | None, end: int | None) -> Any:
    try:
        return array[begin:end]
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{store.name} cannot be read to its end; it is damaged: write it again.") from error


def _store_of(adata: Any) -> Store:
    """Return the file of a backed object. The object keeps it open."""
    path = Path(adata.filename)

    def opened() -> AbstractContextManager[Any]:
        if not adata.file.is_open:
            adata.file.open()
        return nullcontext(adata.file)

    return Store(path.name, path, opened)


def _needed(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        message = f"Reading {what} needs {module}; run: pip install 'laconic[anndata]'"
        raise ImportError(message) from error
