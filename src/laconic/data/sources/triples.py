"""Entries (row, column, value) that are sorted by row, as blocks of sparse rows.

The division into blocks depends on the entries only: block k has the rows that begin within the entries from k s to
(k + 1) s, with s the size of a block. A pass can therefore begin at any block, and a row is never divided. A row
without entries belongs to the block of the next row that has some.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.contract import Block, CountedSource
from laconic.data.tables import without_duplicates

# Sparse sources aim at blocks of this many entries. Arrays of this size (12 MB) are allocated anew much faster than
# larger ones.
BLOCK_ENTRIES = 1_500_000
# Ids are positions. Ids far beyond the number of entries are something else, such as the numbers of customers.
POSITIONS_PER_ENTRY = 1000
ALWAYS_POSITIONS = 10_000_000


class Triples(NamedTuple):
    """Some entries in the order of rows or of columns."""

    rows: Any
    columns: Any
    values: Any
    share: float = 0.0  # how much of the source has been read after them
    name: str = ""  # for messages: the name of the file
    place: int = 0  # for messages: the number of the first entry in the file, or of its line


class TripleSource(CountedSource):
    """Sparse rows from entries in the order of rows. Absent rows are zero, and repeated entries are added."""

    sparse = True
    n_entries: int
    #: What the places of entries are called in messages.
    place_word = "entry"

    def __init__(self, block_entries: int = BLOCK_ENTRIES) -> None:
        self.block_entries = block_entries

    @abstractmethod
    def triples(self, first: int) -> Iterator[Triples]:
        """Yield all entries from the one with the number `first` on, some at a time."""

    @property
    def n_blocks(self) -> int:
        return max(-(-self.n_entries // self._size), 1)

    @property
    def _size(self) -> int:
        """The number of entries of a block: no row may be longer."""
        return max(self.block_entries, self.n_features)

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        size, last = self._size, self.n_blocks - 1
        if first > last:
            return
        positions = positions_of(columns, self.n_features)
        width = self.n_features if columns is None else len(columns)
        # Begin one entry early: its row belongs to the block before, and may go on.
        position = max(first * size - 1, 0)
        parts = self._sorted(position)
        held = [next(parts, _EMPTY)]
        row = int(held[0].rows[0]) + 1 if first else 0
        for number in range(first, last + 1):
            while (cut := _end_of_rows(held, (number + 1) * size - position)) is None or number == last:
                part = next(parts, None)
                if part is None:
                    cut = sum(len(part.rows) for part in held)
                    break
                held.append(part)
            own, rest = _divided(held, cut)
            until = max([row, *(int(part.rows[-1]) + 1 for part in own if len(part.rows))])
            until = self.n_rows if number == last else until
            yield self._block(own, row, until, positions, width)
            held, position, row = [rest], position + cut, until

    def _block(self, parts: list[Triples], begin: int, end: int, positions: Any, width: int) -> Block:
        found = []
        for part in parts:
            # Leave out the rest of the row that the block before ends with.
            start = int(np.searchsorted(part.rows, part.rows.dtype.type(begin)))
            rows, columns, values = part.rows[start:], part.columns[start:], part.values[start:]
            if positions is not None:
                keep = (positions >= 0)[columns]  # a table of bytes stays in the cache of the processor
                rows, columns, values = rows[keep], positions[columns[keep]], values[keep]
            found.append((rows, columns, values))
        rows, columns = (np.concatenate([part[i] for part in found]) for i in range(2))
        values = np.concatenate([part[2] for part in found], dtype=np.float64)
        bounds = np.searchsorted(rows, np.arange(begin, end + 1, dtype=rows.dtype))
        index = np.int32 if max(width, len(columns)) < 2**31 else np.int64
        arrays = (values, columns.astype(index, copy=False), bounds.astype(index))
        return Block(without_duplicates(sp.csr_array(arrays, shape=(end - begin, width))), parts[-1].share)

    def _sorted(self, first: int) -> Iterator[Triples]:
        """Yield the entries, all of them in the order of rows."""
        before = -1
        for part in self.entries_in_range(first):
            falls = np.flatnonzero(part.rows[1:] < part.rows[:-1]) + 1
            if int(part.rows[0]) < before or len(falls):
                place = 0 if int(part.rows[0]) < before else int(falls[0])
                previous = int(part.rows[place - 1]) if place else before
                raise ValueError(
                    f"{part.name} is not sorted by row: {self.place_word} {part.place + place} has row "
                    f"{self.shown(int(part.rows[place]))} after row {self.shown(previous)}; sort the entries by row."
                )
            before = int(part.rows[-1])
            yield part

    def entries_in_range(self, first: int = 0) -> Iterator[Triples]:
        """Yield the entries, all of them within the table and as many as it says."""
        found = first
        for part in self.triples(first):
            if not len(part.rows):
                continue
            self._check_range(part, part.rows, self.n_rows, "row")
            self._check_range(part, part.columns, self.n_features, "column")
            found += len(part.rows)
            if found > self.n_entries:
                raise ValueError(self.wrong_number(f"more than {self.n_entries}"))
            yield part
        if found != self.n_entries:
            raise ValueError(self.wrong_number(str(found)))

    def _check_range(self, part: Triples, ids: Any, limit: int, what: str) -> None:
        if int(ids.min()) >= 0 and int(ids.max()) < limit:
            return
        place = int(np.flatnonzero((ids < 0) | (ids >= limit))[0])
        raise ValueError(
            f"{part.name} has {what} {self.shown(int(ids[place]))} in {self.place_word} {part.place + place}, and "
            f"{limit} {what}s; correct the {self.place_word} or the number of {what}s."
        )

    def shown(self, position: int) -> int:
        """Return a position as the file writes it."""
        return position

    def wrong_number(self, found: str) -> str:
        """Return the sentence for a file with another number of entries than it says."""
        return f"{self.name} has {found} entries now and had {self.n_entries} when it was opened; open it again."


def check_positions(name: str, what: str, positions: int, entries: int) -> None:
    """Raise a ValueError if ids cannot be positions in a table."""
    if positions > max(ALWAYS_POSITIONS, POSITIONS_PER_ENTRY * entries):
        raise ValueError(
            f"{name} has {what} ids up to {positions - 1} in {entries} entries; number the {what}s 0, 1, 2 and so on."
        )


def positions_of(columns: Indices | None, n: int) -> Any:
    """Return the new position of each column, -1 if it is not wanted; None if all are."""
    if columns is None:
        return None
    positions = np.full(n, -1, dtype=np.int32)
    positions[columns] = np.arange(len(columns), dtype=np.int32)
    return positions


def skipped(parts: Iterator[Triples], first: int) -> Iterator[Triples]:
    """Yield the entries from the one with the number `first` on, of a file that can only be read from its beginning."""
    for part in parts:
        skip = min(first, len(part.rows))
        first -= skip
        yield _part(part, slice(skip, None))._replace(place=part.place + skip)


def _end_of_rows(held: list[Triples], limit: int) -> int | None:
    """Return where the row ends that the entry before `limit` belongs to; None if that is not known yet."""
    if limit <= 0:
        return 0
    before = sum(len(part.rows) for part in held[:-1])
    rows = held[-1].rows
    if before + len(rows) <= limit:
        return None
    # The entry is in the last part or at the very end of those before it.
    row = rows[limit - 1 - before] if limit > before else held[-2].rows[-1]
    end = int(np.searchsorted(rows, row, side="right"))
    return before + end if end < len(rows) else None


_EMPTY = Triples(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), 1.0, "", 0)


def _part(part: Triples, which: slice) -> Triples:
    return part._replace(rows=part.rows[which], columns=part.columns[which], values=part.values[which])


def _divided(held: list[Triples], cut: int) -> tuple[list[Triples], Triples]:
    """Return the first entries, and the others, which are all in the last part."""
    end = cut - sum(len(part.rows) for part in held[:-1])
    return [*held[:-1], _part(held[-1], slice(0, end))], _part(held[-1], slice(end, None))
