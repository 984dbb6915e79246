"""Text files with an entry in each line: two or three numbers with blanks between them, below a few lines of header."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from laconic.data.sources.quick_text import quick_frame
from laconic.data.sources.streams import Lines, pieces_of_lines
from laconic.data.text_files import parse

if TYPE_CHECKING:
    import pandas as pd

# Pieces of text have this many bytes, about a million entries.
PIECE_BYTES = 12_000_000


class EntryPiece(NamedTuple):
    """Some entries: one column for each number of a line."""

    frame: "pd.DataFrame"
    first_line: int
    share: float


def read_entries(file: Path, header: int, fields: int, size: int) -> Iterator[EntryPiece]:
    """Yield the lines below a header of so many lines. Each must have so many fields; all are numbers."""
    for lines in pieces_of_lines(file, size):
        if lines.first_line == 1:
            end = 0
            for _ in range(header):
                end = lines.data.find(b"\n", end) + 1 or len(lines.data)
            lines = Lines(lines.data[end:], header + 1, lines.share)
            if not lines.data or lines.data.isspace():
                continue
        yield EntryPiece(_parsed(file, lines, fields), lines.first_line, lines.share)


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
