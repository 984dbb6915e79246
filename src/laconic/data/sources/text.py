"""Text tables: CSV, TSV and TXT, compressed or not. Several files with the same first line are one table."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from laconic.core.arrays import Indices
from laconic.core.monitor import Hint, warn
from laconic.data.compression import ending_of
from laconic.data.encodings import not_in, problem_of
from laconic.data.files import USUAL, choose_columns
from laconic.data.not_numbers import IN_FILES, Remedies, find_not_numbers, left_out, refusal
from laconic.data.options import AS_FOUND, TableOptions
from laconic.data.sources.contract import BLOCK_NUMBERS, Block, Source
from laconic.data.sources.joined import check_same_columns
from laconic.data.sources.quick_text import quick_frame
from laconic.data.sources.selected import chosen_source
from laconic.data.sources.streams import Lines, encoding_of_head, mark_of, name_of, pieces_of_lines
from laconic.data.text_files import (
    TextLayout,
    any_decimal_comma,
    fields_of,
    find_layout,
    parse,
    read_text,
    refuse_ragged,
    text_columns,
)

if TYPE_CHECKING:
    import pandas as pd

# The first bytes of a file, from which its layout is found: at least this many, and at least three lines.
HEAD_BYTES = 1_000_000
# Pieces of text have at least this many numbers, and at least this many rows unless they are very long.
PIECE_NUMBERS = 1_000_000
PIECE_ROWS = 500


class TextPiece(NamedTuple):
    """Some lines of a text table without the line of names, and the frame of their fields, numbered from 0."""

    frame: "pd.DataFrame"
    file: Path
    lines: Lines
    decimal: str


class TextTable:
    """The fields of one or several text files with the same names in the first line, read in pieces."""

    def __init__(
        self,
        files: Sequence[Path],
        block_numbers: int | None = None,
        separator: str | None = None,
        decimal: str | None = None,
        na: Sequence[str] = (),
        encoding: str | None = None,
    ) -> None:
        self.files = list(files)
        self.name = name_of(files)
        self._na = list(na)
        file = self.files[0]
        found = encoding_of_head(file, encoding)
        if found.note:
            warn(found.note, Hint)
        self._given_encoding, self._encoding = encoding, found.name
        head = _head(file, found.name)
        usual = USUAL.get(ending_of(file), ",")
        self.layout: TextLayout = find_layout(io.BytesIO(head), file.name, usual, separator, decimal)
        if self.layout.warning:
            warn(self.layout.warning)
        #: A name for each field; labels may have none.
        self.names = [""] * self.layout.is_longer + self.layout.names
        self.n_fields = len(self.names)
        #: The beginning of the table, as `laconic.read_table` reads it before it looks for row labels.
        self.head = self._read_head(file, head, usual)
        #: Whether that is all of the table.
        self.head_is_all = len(self.files) == 1 and len(head) < HEAD_BYTES // 2
        # Small pieces stay in the cache of the processor, but each column of a piece has a cost of its own.
        numbers = block_numbers or min(max(PIECE_ROWS * self.n_fields, PIECE_NUMBERS), BLOCK_NUMBERS)
        # As many bytes as hold this many fields, if the other lines are as long as the first ones.
        self._header = _header(head)
        content = len(head) - len(self._header)
        self._size = max(1000, int(content / max(len(self.head) * self.n_fields, 1) * numbers))

    def pieces(self, types: Mapping[int, str], first: int = 0) -> Iterator[TextPiece]:
        """Yield the fields at these positions, from the piece with the number `first` on.

        `types` has the type that is expected at each position. Fields that have others are of the types that pandas
        finds.
        """
        number = 0
        sizes = [max(file.stat().st_size, 1) for file in self.files]
        decimal = self.layout.decimal
        for place, file in enumerate(self.files):
            encoding = self._given_encoding or mark_of(file) or self._encoding
            for is_later, lines in enumerate(pieces_of_lines(file, self._size, encoding)):
                share = (sum(sizes[:place]) + lines.share * sizes[place]) / sum(sizes)
                if not is_later:
                    lines = self._without_header(file, lines)
                    if not lines.data or lines.data.isspace():
                        continue
                lines = lines._replace(share=share)
                number += 1
                if number > first:
                    frame = self._parsed(file, lines, decimal or ".", types)
                    # Semicolons between whole numbers leave the decimal sign open until the first one is seen.
                    if decimal is None and _has_decimal_comma(frame):
                        decimal = ","
                        frame = self._parsed(file, lines, decimal, types)
                    yield TextPiece(frame, file, lines, decimal or ".")
                if decimal is None and b"." in lines.data:
                    decimal = "."

    def refuse_text(self, piece: TextPiece, remedies: Remedies = IN_FILES) -> None:
        """Raise a ValueError that counts and quotes the cells of a piece that are not numbers, if there are any."""
        found = find_not_numbers(piece.frame, text_columns(piece.frame), piece.decimal)
        if not found:
            return
        cells = {(int(one.column), cell) for one in found for cell in one.cells}
        lines = ((number, set(enumerate(fields)) & cells) for number, fields in self._fields(piece.lines))
        number, own = next(((number, own) for number, own in lines if own), (piece.lines.first_line, cells))
        named = [replace(one, column=self.names[int(one.column)]) for one in found]
        begin, end = piece.lines.first_line, piece.lines.first_line + piece.lines.data.rstrip().count(b"\n")
        raise ValueError(
            f"{refusal(named, piece.file.name, remedies)} Lines {begin} to {end} were looked at; the first of them is "
            f"{min(own)[1]!r} in line {number}."
        )

    def _read_head(self, file: Path, head: bytes, usual: str) -> "pd.DataFrame":
        import pandas as pd

        try:
            signs = self.layout.separator, self.layout.decimal
            return read_text(io.BytesIO(head), file.name, usual, *signs, self._na)[0]
        except pd.errors.ParserError as error:
            raise ValueError(f"{file.name} cannot be read as a table: {str(error).rstrip('.')}.") from None

    def _parsed(self, file: Path, lines: Lines, decimal: str, types: Mapping[int, str]) -> "pd.DataFrame":
        import pandas as pd

        if self.layout.separator != " ":
            quick = quick_frame(lines.data, self.layout.separator, self.n_fields, types, decimal, self._na)
            if quick is not None:
                return quick
        options: dict[str, Any] = {"header": None, "decimal": decimal, "low_memory": False, "na_values": self._na}
        # The text "NA" is a missing number, but it may be the name of a column, too.
        options["keep_default_na"] = "string" not in types.values()
        try:
            frame = parse(io.BytesIO(lines.data), self.layout.separator, **options)
        except UnicodeDecodeError as error:
            raise ValueError(not_in(file.name, "utf-8", problem_of(error))) from None
        except pd.errors.ParserError as error:
            self._refuse_ragged(file, lines)
            last, reason = lines.first_line + lines.data.count(b"\n"), str(error).partition("\n")[0].rstrip(".")
            raise ValueError(
                f"{file.name} cannot be read as a table between lines {lines.first_line} and {last}: {reason}."
            ) from None
        # pandas fills lines that are too short. In that case, or with too long a first line, the last field is missing.
        if frame.shape[1] != self.n_fields or frame.iloc[:, -1].isna().any():
            self._refuse_ragged(file, lines)
        return frame[list(types)]

    def _fields(self, lines: Lines) -> Iterator[tuple[int, list[str]]]:
        return fields_of(_text(lines), self.layout.separator, lines.first_line)

    def _refuse_ragged(self, file: Path, lines: Lines) -> None:
        refuse_ragged(_text(lines), file.name, self.layout, lines.first_line)

    def _without_header(self, file: Path, lines: Lines) -> Lines:
        """Return the lines below the names, which must be those of the first file."""
        header = _header(lines.data)
        if header.strip() != self._header.strip():
            names = find_layout(io.BytesIO(lines.data), file.name, self.layout.separator, self.layout.separator).names
            check_same_columns(names, self.layout.names, file, self.files[0])
        return Lines(lines.data[len(header) :], lines.first_line + header.count(b"\n"), lines.share)


class TextSource(Source):
    """Rows of numbers in text files. Row labels are left out; `laconic.read_table` finds them in the same way."""

    def __init__(self, table: TextTable, options: TableOptions = AS_FOUND) -> None:
        self._table, self._options = table, options
        self.name, self.files, self.content = table.name, table.files, str(options)
        head = table.head
        whole = table.head_is_all
        chosen = choose_columns(head, options, self.name, table.layout.decimal or ".", whole=whole)
        # A few cells that are not numbers are counted when they are met; a column of text is refused at once.
        found = find_not_numbers(chosen.frame, chosen.text, table.layout.decimal or ".")
        if any(one.is_most for one in found):
            raise ValueError(f"{refusal(found, self.name, IN_FILES)} The first {len(head):,} rows were looked at.")
        self.note = left_out(chosen.left_out, self.name, options, None if whole else len(head))
        # Labels without a name are no column of the head, and the first field of each line.
        unnamed, kept = table.n_fields - head.shape[1], set(chosen.frame.columns)
        self._positions = [unnamed + j for j, name in enumerate(head.columns) if name in kept]
        self.n_features = len(self._positions)
        self.feature_names = [table.names[position] for position in self._positions]
        label = chosen.frame.index.name
        named = [unnamed + j for j, name in enumerate(head.columns) if label is not None and name == label]
        self._labels = named[0] if named else 0 if unnamed else None
        self.label_name = str(label or "row")

    def row_labels(self) -> Iterator[list[str]] | None:
        if self._labels is None:
            return None
        pieces = self._table.pieces({self._labels: "string"})
        return (piece.frame.iloc[:, 0].astype(str).tolist() for piece in pieces)

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        wanted = range(self.n_features) if columns is None else columns
        types = {self._positions[int(j)]: "float64" for j in wanted}
        for piece in self._table.pieces(types, first):
            if text_columns(piece.frame):
                self._table.refuse_text(piece)
            rows = piece.frame.to_numpy(dtype=np.float64, na_value=np.nan)
            yield Block(self._options.without_marks(rows), piece.lines.share)


def open_text(files: list[Path], options: TableOptions = AS_FOUND) -> Source:
    """Open text files with the same columns as one table, wide or long, or a bag of words of the UCI repository."""
    from laconic.data.sources.docword import DocwordSource
    from laconic.data.sources.long import LongText, long_names

    if files[0].name.startswith("docword."):
        if len(files) > 1:
            raise ValueError(f"{name_of(files)} cannot be one table: each bag of words has its own words; give one.")
        options.refuse_signs(files[0].name)
        return chosen_source(DocwordSource(files[0]), options)
    options.refuse_signs(name_of(files), text=True)
    table = TextTable(files, None, options.separator, options.decimal, options.na_texts, options.encoding)
    names = long_names(table.names)
    return TextSource(table, options) if names is None else chosen_source(LongText(table, names), options)


def _text(lines: Lines) -> io.StringIO:
    return io.StringIO(lines.data.decode("utf-8", "replace"), newline="")


def _head(file: Path, encoding: str) -> bytes:
    """Return the first lines of a file in UTF-8."""
    size = HEAD_BYTES
    while True:
        piece = next(pieces_of_lines(file, size, encoding), None)
        if piece is None:
            raise ValueError(f"{file.name} is empty; give a table with at least two rows.")
        if piece.data.count(b"\n") >= 3 or len(piece.data) < size // 2:
            return piece.data
        size *= 4


def _header(data: bytes) -> bytes:
    """Return the first line that is not blank, with the blank ones above it. A quoted name may have several lines."""
    end = 0
    while end < len(data) and (data[:end].isspace() or not end or data.count(b'"', 0, end) % 2):
        end = data.find(b"\n", end) + 1 or len(data)
    return data[:end]


def _has_decimal_comma(frame: "pd.DataFrame") -> bool:
    return any(any_decimal_comma(frame[column].astype(str)) for column in text_columns(frame))
