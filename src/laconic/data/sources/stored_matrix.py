"""Matrices in the arrays of an HDF5 file or a Zarr folder: dense, by rows (CSR) or by columns (CSC).

The same code reads both: an array is a slice away. A matrix keeps the division into blocks and the places of its rows
or columns in memory, and no open file: each pass opens the file again.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.contract import BLOCK_NUMBERS

# A dense block may grow to this many numbers so that no chunk of the file is read twice: 256 MB of float32.
LARGEST_BLOCK = 16 * BLOCK_NUMBERS
# A matrix that is stored by columns is turned into rows in memory, at most about this many entries at a time: 256 MB of
# float32 and their places. Each further part reads the wanted columns again.
ENTRIES_IN_MEMORY = 8 * BLOCK_NUMBERS


class StoredMatrix(ABC):
    """A matrix in a file. `node` is its open array or group."""

    sparse = True

    def __init__(self, name: str, shape: tuple[int, int], bounds: Indices) -> None:
        self.name = name
        self.shape = shape
        self.bounds = bounds  # block i holds the rows from bounds[i] to bounds[i + 1]

    @abstractmethod
    def blocks(self, node: Any, columns: Indices | None, first: int) -> Generator[Any, None, None]:
        """Yield the blocks of rows from the number `first` on."""

    def _read(self, array: Any, begin: int, end: int) -> Any:
        try:
            return array[begin:end]
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot be read to its end; it is damaged: write it again.") from error


class DenseMatrix(StoredMatrix):
    """Rows of a two-dimensional array."""

    sparse = False

    def __init__(self, name: str, node: Any) -> None:
        n, p = node.shape
        step = max(1, BLOCK_NUMBERS // max(p, 1))
        chunks = getattr(node, "shards", None) or node.chunks  # a shard of Zarr holds many chunks in one file
        chunk = chunks[0] if chunks else 1
        if chunk * p <= LARGEST_BLOCK:
            step = max(1, step // chunk) * chunk
        super().__init__(name, (n, p), np.append(np.arange(0, n, step), n))

    def blocks(self, node: Any, columns: Indices | None, first: int) -> Generator[Any, None, None]:
        for begin, end in zip(self.bounds[first:-1], self.bounds[first + 1 :], strict=True):
            rows = self._read(node, begin, end)
            yield rows if columns is None else rows[:, columns]


class SparseMatrix(StoredMatrix):
    """The arrays data, indices and indptr of a group."""

    def __init__(self, name: str, node: Any, shape: tuple[int, int], lines: int) -> None:
        self.pointers = np.asarray(self._read_pointers(name, node), dtype=np.int64)
        entries = min(node["data"].shape[0], node["indices"].shape[0])
        ordered = len(self.pointers) == lines + 1 and self.pointers[0] == 0 and (np.diff(self.pointers) >= 0).all()
        if not ordered or self.pointers[-1] > entries:
            raise ValueError(f"{name} has a sparse matrix whose parts do not fit together; write it again.")
        super().__init__(name, shape, self._divided(shape[0]))

    @staticmethod
    def _read_pointers(name: str, node: Any) -> Any:
        try:
            return node["indptr"][:]
        except (KeyError, OSError, RuntimeError) as error:
            raise ValueError(f"{name} has a sparse matrix without its row pointers; write it again.") from error

    @abstractmethod
    def _divided(self, n_rows: int) -> Indices:
        """Return the bounds of blocks of about BLOCK_NUMBERS entries."""

    def _entries(self, node: Any, first: int, last: int, limit: int) -> tuple[Any, Any, Any]:
        """Return the entries of lines (rows or columns) as SciPy wants them: data, indices, pointers.

        The indices must be below `limit`: SciPy does not check them. It copies them if the pointers have another type.
        """
        pointers = self.pointers[first : last + 1]
        indices = self._read(node["indices"], pointers[0], pointers[-1])
        if len(indices) and (indices.min() < 0 or indices.max() >= limit):
            raise ValueError(f"{self.name} has an entry outside the matrix; it is damaged: write it again.")
        kind = np.int32 if max(limit, len(indices)) < 2**31 else np.int64
        data = self._read(node["data"], pointers[0], pointers[-1])
        return data, indices.astype(kind, copy=False), (pointers - pointers[0]).astype(kind)


class RowMatrix(SparseMatrix):
    """A sparse matrix that is stored by rows."""

    def __init__(self, name: str, node: Any, shape: tuple[int, int]) -> None:
        super().__init__(name, node, shape, shape[0])

    def _divided(self, n_rows: int) -> Indices:
        full = np.arange(BLOCK_NUMBERS, self.pointers[-1], BLOCK_NUMBERS)
        return np.unique(np.concatenate([[0], np.searchsorted(self.pointers, full, side="right") - 1, [n_rows]]))

    def blocks(self, node: Any, columns: Indices | None, first: int) -> Generator[Any, None, None]:
        width = self.shape[1] if columns is None else len(columns)
        wanted = np.zeros(self.shape[1], dtype=bool)
        wanted[columns] = True
        numbers = (np.cumsum(wanted) - 1).astype(np.int32)
        for begin, end in zip(self.bounds[first:-1], self.bounds[first + 1 :], strict=True):
            entries = self._entries(node, begin, end, self.shape[1])
            if columns is not None:
                entries = _selected(entries, wanted, numbers)
            rows = sp.csr_array(entries, shape=(end - begin, width))
            rows.sum_duplicates()  # does nothing to sorted entries, which is how they are usually stored
            yield rows


def _selected(entries: tuple[Any, Any, Any], wanted: Any, numbers: Any) -> tuple[Any, Any, Any]:
    """Return the entries of the columns that are wanted, with their new numbers. SciPy's selection takes longer."""
    data, indices, pointers = entries
    places = np.flatnonzero(wanted[indices])
    kept = np.searchsorted(places, pointers).astype(pointers.dtype)
    return data[places], numbers[indices[places]], kept


class ColumnMatrix(SparseMatrix):
    """A sparse matrix that is stored by columns."""

    def __init__(self, name: str, node: Any, shape: tuple[int, int]) -> None:
        super().__init__(name, node, shape, shape[1])

    def _divided(self, n_rows: int) -> Indices:
        step = max(1, BLOCK_NUMBERS * n_rows // max(int(self.pointers[-1]), 1))
        return np.append(np.arange(0, n_rows, step), n_rows)

    def blocks(self, node: Any, columns: Indices | None, first: int) -> Generator[Any, None, None]:
        columns = np.arange(self.shape[1]) if columns is None else columns
        entries = int((self.pointers[columns + 1] - self.pointers[columns]).sum())
        parts = -(-entries // ENTRIES_IN_MEMORY) or 1
        at_once = -(-(len(self.bounds) - 1) // parts)
        for block in range(first, len(self.bounds) - 1, at_once):
            bounds = self.bounds[block : block + at_once + 1]
            rows = self._rows(node, columns, int(bounds[0]), int(bounds[-1]))
            for begin, end in zip(bounds[:-1] - bounds[0], bounds[1:] - bounds[0], strict=True):
                yield rows[begin:end]

    def column_groups(self) -> Iterator[tuple[int, int]]:
        """Yield the first column of each group, and the one after the last. A group has about BLOCK_NUMBERS entries."""
        first, p = 0, self.shape[1]
        while first < p:
            fits = int(np.searchsorted(self.pointers, self.pointers[first] + BLOCK_NUMBERS, side="right")) - 1
            last = min(max(fits, first + 1), p)
            yield first, last
            first = last

    def columns(self, node: Any, first: int, last: int) -> Any:
        """Return neighbouring columns, with all rows, as a CSC array."""
        entries = self._entries(node, first, last, self.shape[0])
        columns = sp.csc_array(entries, shape=(self.shape[0], last - first))
        columns.sum_duplicates()
        return columns

    def _rows(self, node: Any, columns: Indices, begin: int, end: int) -> Any:
        """Return some columns of some rows as a CSR array."""
        kept = [self.columns(node, first, last)[begin:end] for first, last in self._runs(columns)]
        return (sp.hstack(kept) if kept else sp.csr_array((end - begin, 0))).tocsr()

    def _runs(self, columns: Indices) -> Iterator[tuple[int, int]]:
        """Yield neighbouring columns together, up to BLOCK_NUMBERS entries: few reads, and little memory for each."""
        first = 0
        for place in range(1, len(columns) + 1):
            if (
                place == len(columns)
                or columns[place] != columns[place - 1] + 1
                or self.pointers[columns[place] + 1] - self.pointers[columns[first]] > BLOCK_NUMBERS
            ):
                yield int(columns[first]), int(columns[place - 1]) + 1
                first = place
