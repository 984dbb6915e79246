"""Sparse matrices in the .npz files of SciPy: CSR and BSR by rows, CSC by columns, COO in either order."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from laconic.data.sources.by_column import BUDGET, CscSource, in_its_order
from laconic.data.sources.contract import CountedSource
from laconic.data.sources.npz import NpzArray
from laconic.data.sources.stored import CsrSource, Read, StoredMatrix
from laconic.data.sources.streams import reading
from laconic.data.sources.triples import BLOCK_ENTRIES, Triples, TripleSource


def open_sparse(file: Path, block_entries: int = BLOCK_ENTRIES, budget: int = BUDGET) -> CountedSource:
    """Open the file of a sparse matrix."""
    with reading(file), np.load(file, allow_pickle=False) as archive:
        form = archive["format"].item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    if form == "coo":
        return in_its_order(CooNpz(file, block_entries), budget)
    if form not in ("csr", "bsr", "csc"):
        raise ValueError(f"{file.name} is a sparse matrix of the form {form!r}; store X.tocsr() instead.")
    indices, values = NpzArray(file, "indices"), NpzArray(file, "data")

    @contextmanager
    def opened() -> Iterator[Read]:
        with indices.opened() as read_indices, values.opened() as read_values:
            yield lambda begin, end: (read_indices(begin, end), read_values(begin, end))

    pointers = NpzArray(file, "indptr").whole().astype(np.int64)
    high, wide = values.shape[1:] or (1, 1)
    matrix = StoredMatrix(file.name, [file], _shape(file), opened, pointers, (high, wide))
    matrix.check_pointers(matrix.shape[form == "csc"] // high, indices.shape[0])
    return CscSource(matrix, block_entries, budget) if form == "csc" else CsrSource(matrix, block_entries)


class CooNpz(TripleSource):
    """A COO matrix."""

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES) -> None:
        super().__init__(block_entries)
        self.name, self.files = file.name, [file]
        self.n_rows, self.n_features = _shape(file)
        self._arrays = [NpzArray(file, name) for name in ("row", "col", "data")]
        self.n_entries = int(self._arrays[2].shape[0])

    def triples(self, first: int) -> Iterator[Triples]:
        with ExitStack() as stack:
            rows, columns, values = (stack.enter_context(array.opened()) for array in self._arrays)
            for begin in range(first, self.n_entries, self.block_entries):
                end = min(begin + self.block_entries, self.n_entries)
                part = rows(begin, end), columns(begin, end), values(begin, end)
                yield Triples(*part, end / self.n_entries, self.name, begin)


def _shape(file: Path) -> tuple[int, int]:
    rows, columns = NpzArray(file, "shape").whole()
    return int(rows), int(columns)
