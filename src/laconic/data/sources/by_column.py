"""Sparse matrices that are stored column after column (CSC), read as blocks of rows.

All wanted columns must be read to get some of their rows. If their entries fit a budget, they are read once, and then
divided into blocks. Otherwise the rows are divided into ranges, and the columns are read once for each range. Means,
variances and digests need no rows: the first pass reads groups of whole columns, once.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.contract import Block, Job, Part, Source
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.triples import BLOCK_ENTRIES, positions_of
from laconic.data.tables import without_duplicates

# At most this many entries are held at a time, if the rows have about equally many: about 1 GB with the copies.
BUDGET = 25_000_000


class Entries(NamedTuple):
    """Some entries in the order of columns."""

    rows: Any
    columns: Any
    values: Any
    share: float  # how much of the reading is done after them


class ByColumnSource(Source):
    """Entries in the order of columns. `n_rows`, `n_features` and `n_entries` must be set."""

    sparse = True
    n_rows: int
    n_entries: int
    #: The number of entries of each column, if it is known.
    counts: Indices | None = None

    def __init__(self, block_entries: int = BLOCK_ENTRIES, budget: int = BUDGET) -> None:
        self._block_entries = block_entries
        self._budget = budget

    @abstractmethod
    def entries(self, columns: Indices | None) -> Iterator[Entries]:
        """Yield the entries of some columns, in the order of columns; the format may yield those of others, too."""

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        step = max(1, self._block_entries * self.n_rows // max(self.n_entries, 1))
        # If the columns have not been counted, any of them may have all entries.
        known = columns is not None and self.counts is not None
        wanted = int(self.counts[columns].sum()) if known else self.n_entries  # type: ignore[index]
        readings = -(-wanted // self._budget)
        # A reading has whole blocks, so that blocks do not depend on the columns.
        span = -(-self.n_rows // max(readings, 1) // step) * step
        for begin in range(first * step, self.n_rows, span):
            end = min(begin + span, self.n_rows)
            rows = self._rows(columns, begin, end)
            for start in range(begin, end, step):
                until = min(start + step, end)
                yield Block(rows[start - begin : until - begin], until / self.n_rows)

    def reduce(self, job: Job[Part], progress: PassProgress) -> Part:
        """Do the work of one pass, column by column if the job allows it."""
        if not job.by_column:
            return super().reduce(job, progress)
        total: Part | None
        total, first = progress.resumed(self, job)
        counts = []
        for number, (begin, group, share) in enumerate(self._groups()):
            counts.append(np.diff(group.indptr))
            if number >= first:
                own = job.of(group, (0, begin))
                total = own if total is None else job.beside(total, own)
                progress.advance(self, job, total, number + 1, share)
        self.counts = np.concatenate(counts)
        assert total is not None  # there is at least one group
        progress.finished(self, job)
        return total

    def _rows(self, columns: Indices | None, begin: int, end: int) -> Any:
        """Return some rows of some columns as a CSR array."""
        positions = positions_of(columns, self.n_features)
        width = self.n_features if columns is None else len(columns)
        found = []
        for part in self._checked(columns):
            own = part.columns if positions is None else positions[part.columns]
            keep = (part.rows >= begin) & (part.rows < end) & (own >= 0)
            found.append((part.rows[keep] - begin, own[keep], np.asarray(part.values[keep], dtype=np.float64)))
        return without_duplicates(_csc(found, (end - begin, width)).tocsr())

    def _groups(self) -> Iterator[tuple[int, Any, float]]:
        """Yield all entries in groups of whole columns: the first column, a CSC array, and the share."""
        held: list[tuple[Any, Any, Any]] = []
        begin, count = 0, 0
        for part in self._checked(None):
            held.append(part[:3])
            count += len(part.rows)
            last = int(part.columns[-1])
            if count < self._block_entries or last == begin:
                continue
            # The last column may go on.
            joined = tuple(np.concatenate([h[i] for h in held]) for i in range(3))
            cut = int(np.searchsorted(joined[1], last))
            own = (joined[0][:cut], joined[1][:cut] - begin, joined[2][:cut])
            yield begin, self._group([own], last - begin), part.share
            held = [(joined[0][cut:], joined[1][cut:], joined[2][cut:])]
            begin, count = last, len(held[0][0])
        yield begin, self._group([(r, c - begin, v) for r, c, v in held], self.n_features - begin), 1.0

    def _group(self, found: list[tuple[Any, Any, Any]], width: int) -> Any:
        group = _csc(found, (self.n_rows, width))
        group.sort_indices()
        return without_duplicates(group)

    def _checked(self, columns: Indices | None) -> Iterator[Entries]:
        """Yield the entries, all of them within the table and in the order of columns."""
        before = 0
        for part in self.entries(columns):
            if not len(part.rows):
                continue
            for ids, limit, what in ((part.rows, self.n_rows, "row"), (part.columns, self.n_features, "column")):
                if int(ids.min()) < 0 or int(ids.max()) >= limit:
                    wrong = ids[(ids < 0) | (ids >= limit)][0]
                    raise ValueError(
                        f"{self.name} has an entry with the {what} index {int(wrong)}, and {limit} {what}s; make the "
                        "file again."
                    )
            if int(part.columns[0]) < before or (np.diff(part.columns) < 0).any():
                raise ValueError(
                    f"{self.name} is sorted neither by row nor by column; sort its entries, or store it as CSR."
                )
            before = int(part.columns[-1])
            yield part


# Reads the rows and the values of the entries with the numbers from the first to the second, which only increase.
Read: TypeAlias = Callable[[int, int], tuple[Any, Any]]


class CscSource(ByColumnSource):
    """A CSC matrix on disk: the entries of column j are those from pointers[j] to pointers[j + 1]."""

    def __init__(
        self, pointers: Any, shape: tuple[int, int], block_entries: int = BLOCK_ENTRIES, budget: int = BUDGET
    ) -> None:
        super().__init__(block_entries, budget)
        self.n_rows, self.n_features = shape
        self._pointers = np.asarray(pointers, dtype=np.int64)
        self.n_entries = int(self._pointers[-1])
        self.counts = np.diff(self._pointers)

    @abstractmethod
    def opened(self) -> AbstractContextManager[Read]:
        """Open the file for one reading."""

    def entries(self, columns: Indices | None) -> Iterator[Entries]:
        wanted = np.arange(self.n_features) if columns is None else np.asarray(columns)
        total, done = max(int(self.counts[wanted].sum()), 1), 0  # type: ignore[index]
        with self.opened() as read:
            for first, last in _runs(wanted):
                end = int(self._pointers[last])
                for begin in range(int(self._pointers[first]), end, self._block_entries):
                    until = min(begin + self._block_entries, end)
                    done += until - begin
                    yield Entries(*self._with_columns(begin, until, *read(begin, until)), done / total)

    def _with_columns(self, begin: int, end: int, rows: Any, values: Any) -> tuple[Any, Any, Any]:
        """Return the entries with these numbers together with their columns."""
        first = int(np.searchsorted(self._pointers, begin, side="right")) - 1
        last = int(np.searchsorted(self._pointers, end, side="left"))
        bounds: Indices = np.clip(self._pointers[first : last + 1], begin, end)
        counts = bounds[1:] - bounds[:-1]
        return rows, np.repeat(np.arange(first, last, dtype=np.int32), counts), values


def check_pointers(pointers: Any, n: int, entries: int, name: str) -> None:
    """Raise a ValueError if the beginnings of rows or columns do not fit the matrix."""
    if len(pointers) != n + 1 or int(pointers[0]) != 0 or int(pointers[-1]) != entries or (np.diff(pointers) < 0).any():
        raise ValueError(f"{name} has an index pointer that does not fit its shape and entries; make the file again.")


def _runs(columns: Any) -> Iterator[tuple[int, int]]:
    """Yield the runs of consecutive columns: the first one, and the one after the last."""
    if not len(columns):
        return
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    for run in np.split(columns, breaks):
        yield int(run[0]), int(run[-1]) + 1


def _csc(found: list[tuple[Any, Any, Any]], shape: tuple[int, int]) -> Any:
    """Return entries in the order of columns as a CSC array."""
    if not found:
        return sp.csc_array(shape, dtype=np.float64)
    rows, columns, values = (np.concatenate([part[i] for part in found]) for i in range(3))
    pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=shape[1]))])
    return sp.csc_array((np.asarray(values, dtype=np.float64), rows, pointers), shape=shape)
