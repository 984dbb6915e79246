"""Text tables: CSV, TSV and TXT, compressed or not. The first lines tell the layout, and pandas parses all of them.

A table is parsed with the same settings whole and in chunks, and every number to its last digit. So both ways of
reading give the same numbers, and the same digest.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

from laconic.core.monitor import warn
from laconic.data.columns import DECIMAL_COMMA, TableOptions, any_decimal_comma, holds_numbers
from laconic.data.rows import needed, reading
from laconic.data.tables import check_unique

# Text files: the ending of the name, and the separator to try first.
USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
SEPARATORS = (",", ";", "\t", "|", " ")
NUMBER = r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*"
# Before version 3.1, pandas gets the last digit of one number in three wrong by default.
EVERY_DIGIT = {"float_precision": "round_trip"} if [int(n) for n in pd.__version__.split(".")[:2]] < [3, 1] else {}
# Lines that are read before the separator and the decimal sign are known. Two would do, unless a name has line breaks.
HEAD_LINES = 100


def _zstandard(raw: Any) -> Any:
    return needed("pyarrow", "a .zst file", "app").CompressedInputStream(raw, "zstd")


# Compressed files: the last ending of the name, and how a stream of bytes is decompressed.
PACKED: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _zstandard}


def ending_of(file: Path) -> str:
    """Return the ending that says the format, in small letters; that of a compression stands behind it."""
    return next((s for s in map(str.lower, reversed(file.suffixes)) if s not in PACKED), "")


@contextmanager
def opened(file: Path | bytes, name: str) -> Iterator[tuple[Any, Any]]:
    """Open a file, and decompress it if its last ending says so: give the file itself, and its content."""
    if isinstance(file, bytes):
        yield (raw := io.BytesIO(file)), raw
        return
    packed = PACKED.get(file.suffix.lower(), nullcontext)
    with reading(name), file.open("rb") as own, packed(own) as content:
        yield own, content


class TextFile:
    """A text table in a file, or in bytes that were read from a stream or a spreadsheet."""

    def __init__(self, file: Path | bytes, name: str, options: TableOptions, usual: str = ",") -> None:
        self._file, self.name, self._na = file, name, list(options.na)
        self.encoding = options.encoding or "utf-8-sig"
        if options.encoding is None:
            with opened(self._file, self.name) as (_, content):
                self.encoding = "utf-16" if content.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        with self._text() as (_, text):
            head = list(islice((line for line in text if line.strip()), HEAD_LINES))
        if not head:
            raise ValueError(f"{name} is empty; give a table with at least two rows.")
        if "\0" in head[0]:
            raise ValueError(self._other_encoding())
        self.sep = options.sep or _find_separator(head, usual)
        records = [fields for _, fields in fields_of(head, self.sep)]
        self.names = self._names(records)
        #: The column of row labels that has no name, as pandas and R write it.
        self.labels = "" if self.names[0] == "" else None
        self.decimal = options.decimal or (self._find_decimal(records[1:]) if self.sep == ";" else ".")
        self._no_short_line = False

    def _find_decimal(self, first: list[list[str]]) -> str:
        """Return the decimal sign, which the first lines tell, or else the first other line with one."""
        with self._text() as (_, text):
            next(text)
            others = (fields for _, fields in fields_of((line for line in text if re.search("[,.]", line)), self.sep))
            for cells in chain([list(chain.from_iterable(first))], others):
                if any_decimal_comma(cells):
                    return ","
                if any("." in cell and re.fullmatch(NUMBER, cell) for cell in cells):
                    return "."
        return "."

    def frames(
        self, columns: Sequence[str] | None = None, rows: int | None = None
    ) -> Generator[tuple[pd.DataFrame, float]]:
        """Yield some columns in frames of so many rows, all rows by default, and the share that has been read."""
        settings: dict[str, Any] = {
            "sep": r"\s+" if self.sep == " " else self.sep,
            "decimal": self.decimal,
            "names": self.names,
            "header": 0,
            "usecols": columns,
            "na_values": self._na,
            "low_memory": False,
            **EVERY_DIGIT,
        }
        size = max(self._file.stat().st_size if isinstance(self._file, Path) else len(self._file), 1)
        with self._text() as (raw, text):
            try:
                found: Any = pd.read_csv(text, chunksize=rows, **settings)
                for frame in [found] if rows is None else found:
                    # pandas fills lines that are too short. The last field of such a line is missing.
                    if not self._no_short_line and frame.shape[1] and frame.iloc[:, -1].isna().any():
                        self._refuse_ragged()
                        self._no_short_line = True
                    yield frame, min(raw.tell() / size, 1.0)
            except pd.errors.ParserError as error:
                self._refuse_ragged()
                reason = str(error).partition("\n")[0].rstrip(".")
                raise ValueError(f"{self.name} cannot be read as a table: {reason}.") from None

    @contextmanager
    def _text(self) -> Iterator[tuple[Any, io.TextIOWrapper]]:
        try:
            with opened(self._file, self.name) as (raw, content):
                yield raw, io.TextIOWrapper(content, self.encoding, newline="")
        except UnicodeError:
            raise ValueError(self._other_encoding()) from None

    def _other_encoding(self) -> str:
        own = self.encoding.upper().removesuffix("-SIG")
        return f"{self.name} is not text in {own}; give its encoding, such as encoding='cp1252' or encoding='utf-16'."

    def _names(self, lines: list[list[str]]) -> list[str]:
        """Return a name for each field of a line: those of the first line, and "" for labels without a name."""
        names, others = lines[0], lines[1:]
        more = len(others[0]) - len(names) if others else 0
        if more > 0:
            labels, last_is_empty = [fields[0] for fields in others], not any(fields[-1] for fields in others)
            if more > 1 or not names[0] or last_is_empty or holds_numbers(labels):
                raise ValueError(
                    f"{self.name} has {len(names)} {'name' if len(names) == 1 else 'names'} in its first line and "
                    f"{len(names) + more} fields in the next; begin the file with one name for each column, without a "
                    "comment."
                )
            names = ["", *names]
        check_unique(names, name=f"{self.name} has the column name")
        cells = [fields[0] for fields in others if fields[0]]
        if len(names) == 1 and cells and not any(re.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}", cell) for cell in cells):
            raise ValueError(
                f"{self.name} has one column, of text such as {cells[0]!r}; begin the table with one name for each "
                "column, with the same separator as in the lines below, or choose another sheet with sheet=."
            )
        counted = any(names == [str(start + i) for i in range(len(names))] for start in (0, 1))
        if len(names) > 1 and not counted and all(re.fullmatch(NUMBER, name) for name in names):
            warn(
                f"{self.name} begins with a line of numbers. They are used as column names. If they are data, add a "
                "line of names above them."
            )
        return [name or (f"Unnamed: {place}" if place else "") for place, name in enumerate(names)]

    def _refuse_ragged(self) -> None:
        """Raise a ValueError that names the first line with more or fewer fields than there are columns."""
        with self._text() as (_, text):
            for line, fields in islice(fields_of(text, self.sep), 1, None):
                if len(fields) != len(self.names):
                    words = f"{len(fields)} {'field' if len(fields) == 1 else 'fields'} in line {line}"
                    raise ValueError(f"{self.name} has {words}, and {len(self.names)} columns; correct the line.")


def fields_of(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers, from 1, and the fields of the lines that are not blank."""
    if separator == " ":
        lines = (" ".join(line.split()) for line in lines)
    reader = csv.reader(lines, delimiter=separator)
    before = 0
    for fields in reader:
        if fields:
            yield before + 1, fields
        before = reader.line_num


def _find_separator(head: Sequence[str], usual: str) -> str:
    """Return the separator that both of the first two lines contain.

    It should divide the second one into numbers. Otherwise semicolons are taken if a field is a number such as 1,5.
    """
    unquoted = [re.sub('"[^"]*("|$)', "x", line).strip(" \r\n") for line in head[:2]]
    # A sign in one of the two lines only may be part of a name or of a number.
    possible = [s for s in (usual, *SEPARATORS) if all(s in line for line in unquoted)]
    numbers = [s for s in possible if _are_numbers(unquoted[-1], s)]
    # Text beside the numbers: a comma may be in a name such as weight, kg and in a number such as 1,5.
    decimal = [s for s in possible if s == ";" and any_decimal_comma(unquoted[-1].split(s))]
    return next(iter([*numbers, *decimal, *possible]), usual)


def _are_numbers(line: str, separator: str) -> bool:
    number = f"{NUMBER}|{DECIMAL_COMMA}" if separator == ";" else NUMBER
    return all(re.fullmatch(number, field) for field in line.split(separator if separator != " " else None))
