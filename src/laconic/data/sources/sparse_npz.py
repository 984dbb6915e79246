"""Sparse matrices in the .npz files of SciPy: CSR and BSR by rows, CSC by columns, COO in either order."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.by_column import BUDGET, ByColumnSource, CscSource, Entries, Read, check_pointers
from laconic.data.sources.contract import Block, Source
from laconic.data.sources.fingerprint import files_fingerprint
from laconic.data.sources.joined import CountedSource
from laconic.data.sources.npz import NpzArray
from laconic.data.sources.streams import reading
from laconic.data.sources.triples import BLOCK_ENTRIES, Triples, TripleSource
from laconic.data.tables import without_duplicates


def open_sparse(file: Path) -> Source:
    """Open the file of a sparse matrix."""
    with reading(file), np.load(file, allow_pickle=False) as archive:
        form = archive["format"].item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    if form in ("csr", "bsr"):
        return CsrNpz(file)
    if form == "csc":
        return CscNpz(file)
    if form == "coo":
        rows = next(_coo_parts(file, 0, BLOCK_ENTRIES), (0, np.zeros(1), None, None))[1]
        return CooNpz(file) if (np.diff(rows) >= 0).all() else CooByColumn(file)
    raise ValueError(f"{file.name} is a sparse matrix of the form {form!r}; store X.tocsr() instead.")


class CsrNpz(CountedSource):
    """A CSR matrix, or a BSR matrix, whose entries are small dense matrices."""

    sparse = True

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES) -> None:
        self._file = file
        self.name = file.name
        self._indices, self._data = NpzArray(file, "indices"), NpzArray(file, "data")
        self.n_rows, self.n_features = _shape(file)
        self._high, self._wide = self._data.shape[1:] or (1, 1)
        self._pointers = NpzArray(file, "indptr").whole().astype(np.int64)
        n = self.n_rows // self._high
        check_pointers(self._pointers, n, self._indices.shape[0], self.name)
        # A block begins with the first row behind a multiple of this many entries.
        size = max(1, block_entries // (self._high * self._wide))
        starts = np.searchsorted(self._pointers, np.arange(0, max(int(self._pointers[-1]), 1), size))
        self._bounds = np.unique([0, *starts[starts < n], n]).tolist()

    @property
    def n_blocks(self) -> int:
        return len(self._bounds) - 1

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        form = sp.csr_array if len(self._data.shape) == 1 else sp.bsr_array
        with self._indices.opened() as indices, self._data.opened() as data:
            for begin, end in zip(self._bounds[first:-1], self._bounds[first + 1 :], strict=True):
                low, high = int(self._pointers[begin]), int(self._pointers[end])
                own = indices(low, high)
                self._check_columns(own, low)
                pointers = (self._pointers[begin : end + 1] - low).astype(own.dtype)
                shape = ((end - begin) * self._high, self.n_features)
                rows = without_duplicates(form((data(low, high), own, pointers), shape=shape).tocsr())
                yield Block(rows if columns is None else rows[:, columns], end / self._bounds[-1])

    def _check_columns(self, own: Any, low: int) -> None:
        limit = self.n_features // self._wide
        if len(own) and (int(own.min()) < 0 or int(own.max()) >= limit):
            place = int(np.flatnonzero((own < 0) | (own >= limit))[0])
            row = int(np.searchsorted(self._pointers, low + place, side="right")) - 1
            raise ValueError(
                f"{self.name} has the column index {int(own[place])} in row {row * self._high}, and {limit} columns; "
                "make the file again."
            )


class CscNpz(CscSource):
    """A CSC matrix."""

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES, budget: int = BUDGET) -> None:
        self._file = file
        self.name = file.name
        self._indices, self._data = NpzArray(file, "indices"), NpzArray(file, "data")
        shape, pointers = _shape(file), NpzArray(file, "indptr").whole()
        check_pointers(pointers, shape[1], self._indices.shape[0], self.name)
        super().__init__(pointers, shape, block_entries, budget)

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    @contextmanager
    def opened(self) -> Iterator[Read]:
        with self._indices.opened() as indices, self._data.opened() as data:
            yield lambda begin, end: (indices(begin, end), data(begin, end))


class CooNpz(TripleSource):
    """A COO matrix that is sorted by row."""

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES) -> None:
        super().__init__(block_entries)
        self._file = file
        self.name = file.name
        self.n_rows, self.n_features = _shape(file)
        self.n_entries = int(NpzArray(file, "data").shape[0])

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    def triples(self, first: int) -> Iterator[Triples]:
        for begin, rows, columns, values in _coo_parts(self._file, first, self._block_entries):
            share = (begin + len(rows)) / self.n_entries
            yield Triples(rows, columns, values, share, self.name, begin)


class CooByColumn(ByColumnSource):
    """A COO matrix that is sorted by column."""

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES, budget: int = BUDGET) -> None:
        super().__init__(block_entries, budget)
        self._file = file
        self.name = file.name
        self.n_rows, self.n_features = _shape(file)
        self.n_entries = int(NpzArray(file, "data").shape[0])

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    def entries(self, columns: Indices | None) -> Iterator[Entries]:  # noqa: ARG002 # all are read
        for begin, rows, own, values in _coo_parts(self._file, 0, self._block_entries):
            yield Entries(rows, own, values, (begin + len(rows)) / self.n_entries)


def _coo_parts(file: Path, first: int, size: int) -> Iterator[tuple[int, Any, Any, Any]]:
    """Yield the entries of a COO matrix in parts: the number of the first one, rows, columns and values."""
    arrays = [NpzArray(file, name) for name in ("row", "col", "data")]
    count = int(arrays[2].shape[0])
    with ExitStack() as stack:
        rows, columns, values = (stack.enter_context(array.opened()) for array in arrays)
        for begin in range(first, count, size):
            end = min(begin + size, count)
            yield begin, rows(begin, end), columns(begin, end), values(begin, end)


def _shape(file: Path) -> tuple[int, int]:
    rows, columns = NpzArray(file, "shape").whole()
    return int(rows), int(columns)
