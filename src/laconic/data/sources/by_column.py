"""Sparse matrices that are stored column after column: as CSC, or as entries in the order of columns.

All wanted columns must be read to get some of their rows. If their entries fit a budget, they are read once, and then
divided into blocks. Otherwise the rows are divided into ranges, and the columns are read once for each range. Means,
variances and digests need no rows: the first pass reads groups of whole columns, once.
"""

from abc import abstractmethod
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.contract import Block, CountedSource
from laconic.data.sources.stored import StoredMatrix, bounds_of_blocks
from laconic.data.sources.triples import BLOCK_ENTRIES, Triples, TripleSource, positions_of
from laconic.data.tables import without_duplicates

# At most this many entries are held at a time, if the rows have about equally many: about 1 GB with the copies.
BUDGET = 25_000_000


class ByColumnSource(CountedSource):
    """Entries in the order of columns."""

    sparse = True
    n_entries: int
    #: The number of entries of each column, if it is known.
    counts: Indices | None = None
    _block_entries: int
    _budget: int

    @abstractmethod
    def entries(self, columns: Indices | None) -> Iterator[Triples]:
        """Yield the entries of some columns, in the order of columns; the format may yield those of others, too."""

    @abstractmethod
    def column_blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]: ...

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self._step)

    @property
    def _step(self) -> int:
        """The number of rows of a block."""
        return max(1, self._block_entries * self.n_rows // max(self.n_entries, 1))

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        # If the columns have not been counted, any of them may have all entries.
        known = columns is not None and self.counts is not None
        wanted = int(self.counts[columns].sum()) if known else self.n_entries  # type: ignore[index]
        readings = max(-(-wanted // self._budget), 1)
        # A reading has whole blocks, so that blocks do not depend on the columns.
        step = self._step
        span = -(-self.n_rows // readings // step) * step
        for begin in range(first * step, self.n_rows, span):
            end = min(begin + span, self.n_rows)
            rows = without_duplicates(self._part(columns, begin, end).tocsr())
            for start in range(begin, end, step):
                until = min(start + step, end)
                yield Block(rows[start - begin : until - begin], until / self.n_rows)

    def _part(self, columns: Indices | None, begin: int, end: int) -> Any:
        """Return some rows of some columns as a CSC array."""
        found = []
        for rows, own, values, _ in self._wanted(columns):
            keep = slice(None) if end - begin == self.n_rows else (rows >= begin) & (rows < end)
            found.append((rows[keep] - begin, own[keep], values[keep]))
        return _csc(found, end - begin, self.n_features if columns is None else len(columns))

    def _wanted(self, columns: Indices | None) -> Iterator[tuple[Any, Any, Any, float]]:
        """Yield the rows, the new columns and the values of the entries of some columns, and the share."""
        positions = positions_of(columns, self.n_features)
        for part in self.entries(columns):
            own = part.columns if positions is None else positions[part.columns]
            keep = slice(None) if int(own.min(initial=0)) >= 0 else own >= 0
            yield part.rows[keep], own[keep], part.values[keep], part.share


class CscSource(ByColumnSource):
    """A CSC matrix on disk."""

    def __init__(self, matrix: StoredMatrix, block_entries: int = BLOCK_ENTRIES, budget: int = BUDGET) -> None:
        self._matrix, self._block_entries, self._budget = matrix, block_entries, budget
        self.name, self.files = matrix.name, matrix.files
        self.n_rows, self.n_features = matrix.shape
        self.n_entries = int(matrix.pointers[-1])
        self.counts = np.diff(matrix.pointers)

    def entries(self, columns: Indices | None) -> Iterator[Triples]:
        pointers = self._matrix.pointers
        wanted = np.arange(self.n_features) if columns is None else np.asarray(columns)
        with self._matrix.opened() as read:
            # Neighbouring columns are read together.
            for run in np.split(wanted, np.flatnonzero(np.diff(wanted) != 1) + 1):
                if not len(run):
                    continue  # no column is wanted
                end = int(pointers[run[-1] + 1])
                for begin in range(int(pointers[run[0]]), end, self._block_entries):
                    until = min(begin + self._block_entries, end)
                    rows, values = read(begin, until)
                    self._matrix.check_indices(rows, begin, self.n_rows, ("row", "column"))
                    first = int(np.searchsorted(pointers, begin, side="right")) - 1
                    last = int(np.searchsorted(pointers, until, side="left"))
                    bounds: Indices = np.clip(pointers[first : last + 1], begin, until)
                    own = np.repeat(np.arange(first, last, dtype=np.int32), bounds[1:] - bounds[:-1])
                    yield Triples(rows, own, values)

    def column_blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        wanted = np.arange(self.n_features) if columns is None else np.asarray(columns)
        ends = np.concatenate([[0], np.cumsum(np.diff(self._matrix.pointers)[wanted])])
        for begin, end in pairwise(bounds_of_blocks(ends, self._block_entries)[first:]):
            group = without_duplicates(self._part(wanted[begin:end], 0, self.n_rows))
            yield Block(group, end / len(wanted), begin)


class EntriesByColumn(ByColumnSource):
    """The entries of a source that turned out to be sorted by column instead of by row."""

    def __init__(self, source: TripleSource, budget: int = BUDGET) -> None:
        self._source, self._block_entries, self._budget = source, source.block_entries, budget
        self.name, self.files = source.name, source.files
        self.n_rows, self.n_features, self.n_entries = source.n_rows, source.n_features, source.n_entries

    def entries(self, columns: Indices | None) -> Iterator[Triples]:  # noqa: ARG002 # all are read
        before, counts = 0, np.zeros(self.n_features, dtype=np.int64)
        for part in self._source.entries_in_range():
            if int(part.columns[0]) < before or (np.diff(part.columns) < 0).any():
                raise ValueError(
                    f"{self.name} is sorted neither by row nor by column; sort its entries, or store it as CSR."
                )
            before = int(part.columns[-1])
            counts += np.bincount(part.columns, minlength=self.n_features)
            yield part
        self.counts = counts

    def column_blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        yield from islice(self._groups(columns), first, None)

    def _groups(self, columns: Indices | None) -> Iterator[Block]:
        held: list[tuple[Any, Any, Any]] = []
        begin, count = 0, 0
        for *part, share in self._wanted(columns):
            if not len(part[0]):
                continue
            held.append((part[0], part[1], part[2]))
            count += len(part[0])
            last = int(part[1][-1])
            if count < self._block_entries or last == begin:
                continue
            # The last column may go on.
            rows, own, values = (np.concatenate([h[i] for h in held]) for i in range(3))
            cut = int(np.searchsorted(own, last))
            group = _csc([(rows[:cut], own[:cut] - begin, values[:cut])], self.n_rows, last - begin)
            yield Block(without_duplicates(group), share, begin)
            held = [(rows[cut:], own[cut:], values[cut:])]
            begin, count = last, len(rows) - cut
        rest = [(rows, own - begin, values) for rows, own, values in held]
        width = self.n_features if columns is None else len(columns)
        yield Block(without_duplicates(_csc(rest, self.n_rows, width - begin)), 1.0, begin)


def in_its_order(source: TripleSource, budget: int = BUDGET) -> CountedSource:
    """Return a source of entries as it is, unless they are not in the order of rows. The first few of them tell."""
    rows = columns = np.zeros(0, dtype=np.int64)
    for part in source.triples(0):
        # Entries of a single column are in both orders: go on until one of the two is broken.
        rows, columns = np.append(rows[-1:], part.rows), np.append(columns[-1:], part.columns)
        if (rows[1:] < rows[:-1]).any():
            return EntriesByColumn(source, budget)
        if (columns[1:] < columns[:-1]).any():
            break
    return source


def _csc(found: list[tuple[Any, Any, Any]], n_rows: int, width: int) -> Any:
    """Return entries in the order of columns as a CSC array."""
    if not found:
        return sp.csc_array((n_rows, width), dtype=np.float64)
    rows, columns = (np.concatenate([part[i] for part in found]) for i in range(2))
    values = np.concatenate([part[2] for part in found], dtype=np.float64)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=width))])
    return sp.csc_array((values, rows, pointers), shape=(n_rows, width))
