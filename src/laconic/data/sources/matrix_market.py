"""Matrix Market files (.mtx): coordinates in the order of rows or of columns, or an array, which is by column."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from laconic.data.sources.by_column import EntriesByColumn, in_its_order
from laconic.data.sources.contract import Source
from laconic.data.sources.entry_lines import PIECE_BYTES, head_lines, read_entries
from laconic.data.sources.streams import name_of
from laconic.data.sources.triples import BLOCK_ENTRIES, Triples, TripleSource, skipped


class MatrixHeader(NamedTuple):
    """What the first lines of a file say."""

    lines: int  # the number of lines above the entries
    is_array: bool
    is_pattern: bool
    n_rows: int
    n_features: int
    n_entries: int

    @property
    def fields(self) -> int:
        """The number of fields of each line."""
        return 1 if self.is_array else 2 if self.is_pattern else 3


def open_matrix_market(files: list[Path]) -> Source:
    """Open one Matrix Market file."""
    if len(files) > 1:
        raise ValueError(f"{name_of(files)} cannot be one table: a Matrix Market file is a table of its own; give one.")
    source = MatrixMarketSource(files[0])
    return EntriesByColumn(source) if source.header.is_array else in_its_order(source)


class MatrixMarketSource(TripleSource):
    """Coordinates in the order of rows. `EntriesByColumn` takes those in the order of columns, and arrays."""

    place_word = "line"

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES, piece_bytes: int = PIECE_BYTES) -> None:
        super().__init__(block_entries)
        self.header = _header(file)
        self._piece_bytes = piece_bytes
        self.name, self.files = file.name, [file]
        self.n_rows, self.n_features, self.n_entries = self.header[-3:]

    def triples(self, first: int) -> Iterator[Triples]:
        return skipped(self._all(), first)

    def _all(self) -> Iterator[Triples]:
        file, header, done = self.files[0], self.header, 0
        for frame, line, share in read_entries(file, header.lines, header.fields, self._piece_bytes):
            fields = [frame[field].to_numpy() for field in range(header.fields)]
            if header.is_array:
                places = np.arange(done, done + len(frame))
                rows, columns = places % header.n_rows, places // header.n_rows
                done += len(frame)
            elif any(ids.dtype.kind not in "iu" for ids in fields[:2]):
                raise ValueError(
                    f"{self.name} has an index that is not whole at or below line {line}; correct the line."
                )
            else:
                rows, columns = fields[0] - 1, fields[1] - 1
            values = np.ones(len(frame)) if header.is_pattern else fields[-1]
            yield Triples(rows, columns, values, share, self.name, line)

    def shown(self, position: int) -> int:
        return position + 1

    def wrong_number(self, found: str) -> str:
        header = self.header
        return f"{self.name} has {found} entries, and line {header.lines} says {header.n_entries}; copy the file again."


def _header(file: Path) -> MatrixHeader:
    lines = head_lines(file)
    kind = lines[0].lower().split()
    if len(kind) != 5 or kind[0] != "%%matrixmarket" or kind[1] != "matrix" or kind[2] not in ("coordinate", "array"):
        raise ValueError(
            f"{file.name} must begin with '%%MatrixMarket matrix coordinate' or '... array'; make it again."
        )
    if kind[3] not in ("real", "double", "integer", "pattern"):
        raise ValueError(f"{file.name} has {kind[3]} entries; give real numbers or integers.")
    if kind[4] != "general":
        raise ValueError(f"{file.name} is a {kind[4]} matrix, which has no rows of data; give one that is general.")
    number = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    sizes = lines[number].split() if number < len(lines) else []
    is_array = kind[2] == "array"
    if len(sizes) != (2 if is_array else 3) or not all(size.isdigit() for size in sizes):
        what = "rows and columns" if is_array else "rows, columns and entries"
        raise ValueError(f"{file.name} must have the numbers of {what} in line {number + 1}; correct the line.")
    rows, columns = int(sizes[0]), int(sizes[1])
    entries = rows * columns if is_array else int(sizes[2])
    return MatrixHeader(number + 1, is_array, kind[3] == "pattern", rows, columns, entries)
