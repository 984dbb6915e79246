"""Text files with an entry in each line: two or three numbers with blanks between them, below a few lines of header."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.data.sources.quick_text import quick_frame
from laconic.data.sources.streams import Lines, pieces_of_lines
from laconic.data.sources.triples import Triples, TripleSource, skipped
from laconic.data.text_files import parse

if TYPE_CHECKING:
    import pandas as pd

# Pieces of text have this many bytes, about a million entries.
PIECE_BYTES = 12_000_000


class LineSource(TripleSource):
    """Entries in lines: row, column and value, or fewer fields. Rows and columns are counted from 1."""

    place_word = "line"
    #: The number of lines above the entries; the last of them has the number of entries.
    header_lines: int
    #: The number of fields of each line.
    n_fields = 3

    def __init__(self, file: Path, block_entries: int, piece_bytes: int) -> None:
        super().__init__(block_entries)
        self._file, self._piece_bytes = file, piece_bytes
        self.name, self.files = file.name, [file]

    def triples(self, first: int) -> Iterator[Triples]:
        return skipped(self._all(), first)

    def shown(self, position: int) -> int:
        return position + 1

    def wrong_number(self, found: str) -> str:
        line = self.header_lines
        return f"{self.name} has {found} entries, and line {line} says {self.n_entries}; copy the file again."

    def _all(self) -> Iterator[Triples]:
        done = 0
        for lines in pieces_of_lines(self._file, self._piece_bytes):
            if lines.first_line == 1:
                end = 0
                for _ in range(self.header_lines):
                    end = lines.data.find(b"\n", end) + 1 or len(lines.data)
                lines = Lines(lines.data[end:], self.header_lines + 1, lines.share)
                if not lines.data or lines.data.isspace():
                    continue
            frame = _parsed(self._file, lines, self.n_fields)
            fields = [frame[field].to_numpy() for field in range(self.n_fields)]
            rows, columns, values = self.entries(fields, done)
            if rows.dtype.kind not in "iu" or columns.dtype.kind not in "iu":
                raise ValueError(
                    f"{self.name} has an index that is not whole at or below line {lines.first_line}; correct the line."
                )
            done += len(frame)
            yield Triples(rows - 1, columns - 1, values, lines.share, self.name, lines.first_line)

    def entries(self, fields: list[Any], done: int) -> tuple[Any, Any, Any]:  # noqa: ARG002 # for other formats
        """Return the rows, the columns and the values that some lines stand for, `done` lines below the header."""
        rows, columns, values = fields
        return rows, columns, values


def head_lines(file: Path) -> list[str]:
    """Return the first lines of a file, which must not be empty."""
    piece = next(pieces_of_lines(file, 1_000_000), None)
    if piece is None:
        raise ValueError(f"{file.name} is empty; copy or make it again.")
    return piece.data.decode("utf-8", "replace").splitlines()


def _parsed(file: Path, lines: Lines, fields: int) -> "pd.DataFrame":
    import pandas as pd

    # Two ids and a value, two ids, or a value.
    ids = 0 if fields == 1 else 2
    types = {field: "int64" if field < ids else "float64" for field in range(fields)}
    frame = quick_frame(lines.data, " ", fields, types)
    if frame is not None and not frame.isna().any(axis=None):
        return frame
    try:
        frame = parse(io.BytesIO(lines.data), " ", header=None, low_memory=False, na_filter=False)
    except (pd.errors.ParserError, UnicodeDecodeError):
        frame = pd.DataFrame()
    if frame.shape[1] == fields and all(dtype.kind in "iuf" for dtype in frame.dtypes):
        return frame
    for number, line in enumerate(lines.data.decode("utf-8", "replace").split("\n"), start=lines.first_line):
        found = line.split()
        if found and (len(found) != fields or not all(map(_is_number, found))):
            raise ValueError(
                f"{file.name} has {line.strip()!r} in line {number}; write {fields} numbers with blanks between them."
            )
    raise ValueError(f"{file.name} has a line at or below {lines.first_line} that cannot be read; make the file again.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
