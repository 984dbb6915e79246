"""Matrices in the arrays of an .npz file, an HDF5 file or a Zarr folder: dense rows, and sparse rows (CSR, BSR).

The arrays of all three are read by slices. Only the pointers of a sparse matrix, and no open file, stay in memory
between two passes. Sparse columns (CSC) are in `by_column`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.contract import BLOCK_NUMBERS, Block, CountedSource
from laconic.data.sources.triples import BLOCK_ENTRIES, positions_of
from laconic.data.tables import without_duplicates

# Reads from one number to another: rows of a dense array, or the indices and the values of sparse entries. A part must
# not begin before the end of the last one.
Read: TypeAlias = Callable[[int, int], Any]


@dataclass(frozen=True, eq=False)
class StoredMatrix:
    """Where a matrix is, and how it is opened for one reading."""

    name: str
    files: Sequence[Path]
    shape: tuple[int, int]
    opened: Callable[[], AbstractContextManager[Read]]
    #: Sparse: row i (CSR) or column i (CSC) has the entries from pointers[i] to pointers[i + 1].
    pointers: Indices = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    #: The shape of an entry: those of a BSR matrix are small dense matrices.
    tile: tuple[int, int] = (1, 1)

    def check_pointers(self, lines: int, entries: int) -> None:
        """Raise a ValueError if the beginnings of so many rows or columns do not fit the matrix."""
        own = self.pointers
        if len(own) != lines + 1 or own[0] != 0 or own[-1] > entries or (np.diff(own) < 0).any():
            raise ValueError(
                f"{self.name} has an index pointer that does not fit its shape and entries; make the file again."
            )

    def check_indices(self, indices: Any, begin: int, limit: int, words: tuple[str, str]) -> None:
        """Raise a ValueError if an index is outside the matrix, which SciPy does not check.

        `begin` is the number of the first entry. `words` say what an index and what a pointer stands for.
        """
        if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= limit):
            place = int(np.flatnonzero((indices < 0) | (indices >= limit))[0])
            line = int(np.searchsorted(self.pointers, begin + place, side="right")) - 1
            raise ValueError(
                f"{self.name} has the {words[0]} index {int(indices[place])} in {words[1]} {line * self.tile[0]}, and "
                f"{limit} {words[0]}s; make the file again."
            )


class DenseSource(CountedSource):
    """A dense array. Blocks have whole chunks of so many rows, if the file is divided into chunks."""

    def __init__(self, matrix: StoredMatrix, block_numbers: int = BLOCK_NUMBERS, chunk: int = 1) -> None:
        self._matrix = matrix
        self.name, self.files = matrix.name, matrix.files
        self.n_rows, self.n_features = matrix.shape
        step = block_numbers // max(self.n_features, 1)
        self._step = max(1, step // chunk) * chunk

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self._step)

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        with self._matrix.opened() as read:
            for begin in range(first * self._step, self.n_rows, self._step):
                end = min(begin + self._step, self.n_rows)
                rows = read(begin, end)
                yield Block(rows if columns is None else rows[:, columns], end / self.n_rows)


class CsrSource(CountedSource):
    """A CSR or BSR matrix."""

    sparse = True

    def __init__(self, matrix: StoredMatrix, block_entries: int = BLOCK_ENTRIES) -> None:
        self._matrix = matrix
        self.name, self.files = matrix.name, matrix.files
        self.n_rows, self.n_features = matrix.shape
        high, wide = matrix.tile
        self._bounds = bounds_of_blocks(matrix.pointers, block_entries // (high * wide))

    @property
    def n_blocks(self) -> int:
        return len(self._bounds) - 1

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        pointers, (high, wide) = self._matrix.pointers, self._matrix.tile
        form = sp.csr_array if high == wide == 1 else sp.bsr_array
        positions = positions_of(columns, self.n_features)
        with self._matrix.opened() as read:
            for begin, end in pairwise(self._bounds[first:]):
                low, limit = int(pointers[begin]), int(pointers[end])
                indices, values = read(low, limit)
                self._matrix.check_indices(indices, low, self.n_features // wide, ("column", "row"))
                # SciPy copies the indices if the pointers have another type.
                kind = np.int32 if max(self.n_features, limit - low) < 2**31 else np.int64
                arrays = values, indices.astype(kind, copy=False), (pointers[begin : end + 1] - low).astype(kind)
                shape = (end - begin) * high, self.n_features
                rows = without_duplicates(form(arrays, shape=shape).tocsr())
                if columns is not None:
                    rows = _selected(rows, positions, len(columns))
                yield Block(rows, end / self._bounds[-1])


def bounds_of_blocks(pointers: Any, size: int) -> list[int]:
    """Divide rows or columns into blocks of about so many entries: block i goes from bounds[i] to bounds[i + 1]."""
    full = np.arange(0, max(int(pointers[-1]), 1), max(size, 1))
    starts = np.searchsorted(pointers, full)
    last = len(pointers) - 1
    return [int(bound) for bound in np.unique([0, *starts[starts < last], last])]


def _selected(rows: Any, positions: Any, width: int) -> Any:
    """Return some columns of a CSR array. SciPy's own selection takes longer."""
    places = np.flatnonzero((positions >= 0)[rows.indices])
    pointers = np.searchsorted(places, rows.indptr).astype(rows.indptr.dtype)
    indices = positions[rows.indices[places]].astype(rows.indices.dtype, copy=False)
    return sp.csr_array((rows.data[places], indices, pointers), shape=(rows.shape[0], width))
