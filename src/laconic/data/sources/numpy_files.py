"""NumPy files: .npy arrays, .npz files with one array, and sparse matrices that SciPy has written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from laconic.core.arrays import Indices
from laconic.data.compression import DECOMPRESSORS
from laconic.data.sources.contract import BLOCK_NUMBERS, Block, Source
from laconic.data.sources.fingerprint import files_fingerprint
from laconic.data.sources.joined import CountedSource, joined
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.npz import NpzArray, npz_names
from laconic.data.sources.sparse_npz import open_sparse
from laconic.data.sources.streams import name_of, reading


def open_npy(files: list[Path]) -> Source:
    """Open .npy files with the same number of columns as one table."""
    return joined([_open_array(file) for file in files], name_of(files))


def open_npz(files: list[Path]) -> Source:
    """Open an .npz file with a sparse matrix, or with one array of rows and columns. Several files are one table."""
    parts = [_open_npz(file) for file in files]
    counted = [part for part in parts if isinstance(part, CountedSource)]
    if len(parts) > 1 and len(counted) < len(parts):
        raise ValueError(f"{name_of(files)} cannot be one table, unless they are dense or CSR; convert them first.")
    return parts[0] if len(parts) == 1 else joined(counted, name_of(files))


class DenseNpz(CountedSource):
    """An array with rows and columns in an .npz file."""

    def __init__(self, file: Path, array: NpzArray, block_numbers: int = BLOCK_NUMBERS) -> None:
        if array.fortran:
            raise ValueError(f"{file.name} has an array in Fortran order; store np.ascontiguousarray(X) instead.")
        self._file, self._array = file, array
        self.name = file.name
        self.n_rows, self.n_features = array.shape
        self._step = max(1, block_numbers // max(self.n_features, 1))

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self._step)

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        with self._array.opened() as read:
            for begin in range(first * self._step, self.n_rows, self._step):
                end = min(begin + self._step, self.n_rows)
                rows = read(begin, end)
                yield Block(rows if columns is None else rows[:, columns], end / self.n_rows)


def _open_array(file: Path) -> CountedSource:
    if file.suffix.lower() in DECOMPRESSORS:
        raise ValueError(f"{file.name} must be read in parts, which its compression prevents; decompress it first.")
    with reading(file):
        try:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise ValueError(f"{file.name} is not a complete array of numbers ({reason}); make it again.") from None
    _check_array(file, array)
    return ArraySource(array, file.name)


def _open_npz(file: Path) -> Source:
    names = npz_names(file)
    if "format" in names:
        return open_sparse(file)
    arrays = [array for array in (NpzArray(file, name) for name in names) if len(array.shape) == 2]
    if len(arrays) != 1:
        raise ValueError(
            f"{file.name} has {len(arrays)} arrays with rows and columns; store one of them alone, with np.savez."
        )
    _check_array(file, arrays[0])
    return DenseNpz(file, arrays[0])


def _check_array(file: Path, array: Any) -> None:
    if len(array.shape) != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{file.name} has an array of shape {tuple(array.shape)} and type {array.dtype}; give numbers in rows and "
            "columns."
        )
