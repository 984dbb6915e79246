"""NumPy files: .npy arrays, .npz files with one array, and sparse matrices that SciPy has written."""

from pathlib import Path
from typing import Any

import numpy as np

from laconic.data.compression import refuse_compressed
from laconic.data.sources.contract import CountedSource, Source
from laconic.data.sources.joined import joined
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.npz import NpzArray, npz_names
from laconic.data.sources.sparse_npz import open_sparse
from laconic.data.sources.stored import DenseSource, StoredMatrix
from laconic.data.sources.streams import name_of, reading


def open_npy(files: list[Path]) -> Source:
    """Open .npy files with the same number of columns as one table."""
    return joined([_open_array(file) for file in files], name_of(files))


def open_npz(files: list[Path]) -> Source:
    """Open .npz files with a sparse matrix, or with one array of rows and columns. Several files are one table."""
    return joined([_open_npz(file) for file in files], name_of(files))


def _open_array(file: Path) -> CountedSource:
    refuse_compressed(file)
    with reading(file):
        try:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise ValueError(f"{file.name} is not a complete array of numbers ({reason}); make it again.") from None
    _check_array(file, array)
    return ArraySource(array, file.name)


def _open_npz(file: Path) -> CountedSource:
    names = npz_names(file)
    if "format" in names:
        return open_sparse(file)
    arrays = [array for array in (NpzArray(file, name) for name in names) if len(array.shape) == 2]
    if len(arrays) != 1:
        raise ValueError(
            f"{file.name} has {len(arrays)} arrays with rows and columns; store one of them alone, with np.savez."
        )
    (array,) = arrays
    _check_array(file, array)
    if array.fortran:
        raise ValueError(f"{file.name} has an array in Fortran order; store np.ascontiguousarray(X) instead.")
    n, p = array.shape
    return DenseSource(StoredMatrix(file.name, [file], (n, p), array.opened))


def _check_array(file: Path, array: Any) -> None:
    if len(array.shape) != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{file.name} has an array of shape {tuple(array.shape)} and type {array.dtype}; give numbers in rows and "
            "columns."
        )
