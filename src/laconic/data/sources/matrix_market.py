"""Matrix Market files (.mtx): coordinates in the order of rows or of columns, or an array, which is by column."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from laconic.core.arrays import Indices
from laconic.data.sources.by_column import BUDGET, ByColumnSource, Entries
from laconic.data.sources.contract import Source
from laconic.data.sources.entry_lines import PIECE_BYTES, head_lines, read_entries
from laconic.data.sources.fingerprint import files_fingerprint
from laconic.data.sources.streams import name_of
from laconic.data.sources.triples import BLOCK_ENTRIES, Triples, TripleSource


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
    header = _header(files[0])
    if header.is_array:
        return MatrixByColumn(files[0], header)
    piece = next(read_entries(files[0], header.lines, header.fields, PIECE_BYTES), None)
    by_row = piece is None or bool((np.diff(piece.frame[0].to_numpy()) >= 0).all())
    return MatrixByRow(files[0], header) if by_row else MatrixByColumn(files[0], header)


class MatrixByRow(TripleSource):
    """Coordinates in the order of rows."""

    place_word = "line"

    def __init__(
        self, file: Path, header: MatrixHeader, block_entries: int = BLOCK_ENTRIES, piece_bytes: int = PIECE_BYTES
    ) -> None:
        super().__init__(block_entries)
        self._file, self._header, self._piece_bytes = file, header, piece_bytes
        self.name = file.name
        self.n_rows, self.n_features, self.n_entries = header[-3:]

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    def triples(self, first: int) -> Iterator[Triples]:
        done = 0
        for line, rows, columns, values, share in _coordinates(self._file, self._header, self._piece_bytes):
            skip = min(max(first - done, 0), len(rows))
            done += len(rows)
            yield Triples(rows[skip:], columns[skip:], values[skip:], share, self.name, line + skip)

    def shown(self, position: int) -> int:
        return position + 1

    def wrong_number(self, found: str) -> str:
        return _wrong_number(self.name, found, self._header)


class MatrixByColumn(ByColumnSource):
    """Coordinates in the order of columns, or an array."""

    def __init__(
        self,
        file: Path,
        header: MatrixHeader,
        block_entries: int = BLOCK_ENTRIES,
        budget: int = BUDGET,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        super().__init__(block_entries, budget)
        self._file, self._header, self._piece_bytes = file, header, piece_bytes
        self.name = file.name
        self.n_rows, self.n_features, self.n_entries = header[-3:]

    def fingerprint(self) -> str | None:
        return files_fingerprint([self._file])

    def entries(self, columns: Indices | None) -> Iterator[Entries]:  # noqa: ARG002 # all are read
        found = 0
        for _, rows, own, values, share in _coordinates(self._file, self._header, self._piece_bytes):
            found += len(rows)
            yield Entries(rows, own, values, share)
        if found != self.n_entries:
            raise ValueError(_wrong_number(self.name, found, self._header))


def _coordinates(file: Path, header: MatrixHeader, size: int) -> Iterator[tuple[int, Any, Any, Any, float]]:
    """Yield the number of the first line, the rows and columns, counted from 0, the values, and the share."""
    done = 0
    for frame, line, share in read_entries(file, header.lines, header.fields, size):
        fields = [frame[field].to_numpy() for field in range(header.fields)]
        if header.is_array:
            places = np.arange(done, done + len(frame))
            done += len(frame)
            yield line, places % header.n_rows, places // header.n_rows, fields[0], share
            continue
        if any(ids.dtype.kind not in "iu" for ids in fields[:2]):
            raise ValueError(f"{file.name} has an index that is not whole at or below line {line}; correct the line.")
        yield line, fields[0] - 1, fields[1] - 1, np.ones(len(frame)) if header.is_pattern else fields[2], share


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


def _wrong_number(name: str, found: int | str, header: MatrixHeader) -> str:
    return f"{name} has {found} entries, and line {header.lines} says {header.n_entries}; copy the file again."
