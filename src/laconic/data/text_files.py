"""Text tables: find the separator and the decimal sign from the first lines, then parse the text once."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from laconic.data.excel import EXCEL

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|", " ")
# Dates with points, such as "31.01.2024". Points between thousands have three digits behind each.
DATE = r"\s*\d{1,4}\.\s?\d{1,2}\.\s?(?:\d{4}|\d{2})?\s*"
# A number with other signs around it or between its digits: "1,000", "$5", "3 %", "(2)", "<5". A date is not one.
NEARLY_A_NUMBER = rf"(?!{DATE}$)[^\w/:]*\d[\d.,'\s]*[^\w/:]*"
NUMBER = r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*"
DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"
# Lines that are read before the separator and the decimal sign are known. Two would do, unless a name has line breaks.
HEAD_LINES = 100


@dataclass(frozen=True)
class TextLayout:
    """How the lines of a text table are to be read, as far as its first lines tell."""

    separator: str
    decimal: str | None  # None if both signs are possible
    names: list[str]  # the fields of the first line
    is_longer: bool  # whether the other lines have more fields: labels without a name
    warning: str  # a sentence for the user about the names, if there is one

    @property
    def is_labelled(self) -> bool:
        """Whether the first name is missing. pandas and R write row labels so."""
        return len(self.names) > 1 and not self.names[0] and bool(self.names[1])


def check_signs(separator: str | None, decimal: str | None) -> None:
    """Raise a ValueError if the separator or the decimal sign that a user gives cannot be one."""
    if separator is not None and len(separator) != 1:
        raise ValueError(f"separator={separator!r} must be one character.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal={decimal!r} must be '.' or ','.")


def find_layout(
    content: BinaryIO, name: str, usual: str, separator: str | None = None, decimal: str | None = None
) -> TextLayout:
    """Find the separator, the decimal sign and the column names in the first lines of a text.

    `usual` is the separator to try first. A separator or decimal sign that is None is found in the text.
    """
    head = _first_lines(content)
    separator = _find_separator(head, usual) if separator is None else separator
    names, is_longer = _column_names(head, separator)
    warning = _check_names(names, name)
    if decimal is None and separator != ";":
        decimal = "."
    elif decimal is None and any_decimal_comma(field for line in head[1:] for field in line.split(";")):
        decimal = ","
    return TextLayout(separator, decimal, names, is_longer, warning)


def read_text(
    content: BinaryIO,
    name: str,
    usual: str,
    separator: str | None = None,
    decimal: str | None = None,
    na: Sequence[str] = (),
) -> "tuple[pd.DataFrame, str, str]":
    """Read a table in UTF-8 whose first line holds the column names.

    Return it with a warning, or an empty string, and with its decimal sign. `na` are more marks of missing values than
    those that pandas knows. The other arguments are those of `find_layout`.
    """
    import pandas as pd

    layout = find_layout(content, name, usual, separator, decimal)
    options: dict[str, Any] = {"index_col": 0 if layout.is_labelled and not layout.is_longer else None}
    options["na_values"] = list(na)
    decimal = layout.decimal or "."
    try:
        frame = parse(content, layout.separator, decimal=decimal, **options)
        # The first decimal comma may be far down in the file.
        unsure = text_columns(frame) if layout.decimal is None else []
        if any_decimal_comma(entry for column in unsure for entry in frame[column].astype(str)):
            decimal = ","
            frame = parse(content, layout.separator, decimal=decimal, **options)
    except pd.errors.ParserError:
        _refuse_ragged(content, name, layout)
        raise
    if layout.is_longer:
        _check_labels(frame, layout.names, name)
    _check_split(frame, name)
    # pandas fills lines that are too short. The last field of such a line is missing.
    if frame.shape[1] and frame.iloc[:, -1].isna().any():
        _refuse_ragged(content, name, layout)
    return frame, layout.warning, decimal


def _refuse_ragged(content: BinaryIO, name: str, layout: TextLayout) -> None:
    content.seek(0)
    text = io.TextIOWrapper(content, "utf-8-sig", "replace", newline="")
    try:
        refuse_ragged(text, name, layout)
    finally:
        text.detach()


def fields_of(lines: Iterable[str], separator: str, first_line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and the fields of the lines that are not blank."""
    if separator == " ":
        reader = csv.reader((" ".join(line.split()) for line in lines), delimiter=" ")
    else:
        reader = csv.reader(lines, delimiter=separator)
    before = 0
    for fields in reader:
        if fields:
            yield first_line + before, fields
        before = reader.line_num


def refuse_ragged(lines: Iterable[str], name: str, layout: TextLayout, first_line: int = 1) -> None:
    """Raise a ValueError that names the first line with more or fewer fields than there are columns.

    The lines of a triangle are accepted: each has one field more than the line above, from one field, or a label and
    one field, to all of them. The line of names, if it is among the lines, is line 1.
    """
    n_fields = len(layout.names) + layout.is_longer
    rows = islice(fields_of(lines, layout.separator, first_line), int(first_line == 1), None)
    wrong: tuple[int, int] | None = None
    place = count = 0
    triangles = {1, 2}  # the number of fields in the first line of a triangle
    for place, (number, fields) in enumerate(rows):
        count = len(fields)
        triangles = {first for first in triangles if count == first + place}
        if wrong is None and count != n_fields:
            wrong = number, count
        if wrong is not None and not triangles:
            break
    if wrong is None or (triangles and place > 1 and count == n_fields):
        return
    number, count = wrong
    raise ValueError(
        f"{name} has {count} {'field' if count == 1 else 'fields'} in line {number}, and {n_fields} columns; correct "
        "the line."
    )


def holds_numbers(values: Any) -> bool:
    """Say whether an entry of a column or of row labels is a number, perhaps with signs around it: "$5", "3 %"."""
    import pandas as pd

    entries = pd.Series(values).astype(str)
    return bool((pd.to_numeric(entries, errors="coerce").notna() | entries.str.fullmatch(NEARLY_A_NUMBER)).any())


def text_columns(frame: "pd.DataFrame") -> list[Any]:
    """Return the names of the columns of a frame that are not numeric. Truth values with blanks are numeric."""
    import pandas as pd

    other = [j for j, dtype in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(dtype)]
    return [frame.columns[j] for j in other if pd.api.types.infer_dtype(frame.iloc[:, j], skipna=True) != "boolean"]


def _first_lines(content: BinaryIO) -> list[str]:
    """Return the first lines that are not blank."""
    content.seek(0)
    text = io.TextIOWrapper(content, "utf-8-sig")
    try:
        return list(islice((line.rstrip("\n") for line in text if line.strip()), HEAD_LINES))
    finally:
        text.detach()


def parse(content: BinaryIO | io.StringIO, separator: str, **options: Any) -> "pd.DataFrame":
    """Read a text with pandas, every number to its last digit; " " means any number of blanks.

    The options are those of `pandas.read_csv`.
    """
    import pandas as pd

    content.seek(0)
    # Before version 3.1, pandas gets the last digit of one number in three wrong by default.
    if separator.isascii() and tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"
    frame: pd.DataFrame = pd.read_csv(content, sep=r"\s+" if separator == " " else separator, **options)
    return frame


def _find_separator(head: Sequence[str], usual: str) -> str:
    """Return the separator that both of the first two lines contain.

    It should divide the second one into numbers. Otherwise semicolons are taken if a field is a number such as 1,5.
    """
    unquoted = [re.sub('"[^"]*("|$)', "x", line).strip(" ") for line in head[:2]]
    # A sign in one of the two lines only may be part of a name or of a number.
    possible = [s for s in (usual, *SEPARATORS) if unquoted and all(s in line for line in unquoted)]
    numbers = [s for s in possible if _are_numbers(unquoted[-1], s)]
    # Text beside the numbers: a comma may be in a name such as weight, kg and in a number such as 1,5.
    decimal = [s for s in possible if s == ";" and any_decimal_comma(unquoted[-1].split(s))]
    return next(iter([*numbers, *decimal, *possible]), usual)


def _are_numbers(line: str, separator: str) -> bool:
    number = f"{NUMBER}|{DECIMAL_COMMA}" if separator == ";" else NUMBER
    return all(re.fullmatch(number, field) for field in line.split(separator if separator != " " else None))


def any_decimal_comma(fields: Iterable[str]) -> bool:
    """Say whether a field is a number with a decimal comma."""
    return any(re.fullmatch(DECIMAL_COMMA, field) for field in fields)


def _column_names(head: Sequence[str], separator: str) -> tuple[list[Any], bool]:
    """Return the column names, and whether the next line has more fields than there are names."""
    import pandas as pd

    lines = io.StringIO("\n".join(head))
    options: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False}
    try:
        return parse(lines, separator, nrows=2, **options).iloc[0].tolist(), False
    except pd.errors.ParserError:
        return parse(lines, separator, nrows=1, **options).iloc[0].tolist(), True


def _check_names(names: list[Any], name: str) -> str:
    """Raise a ValueError if a name occurs twice. Return a warning if the names look like data."""
    import pandas as pd

    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:  # pandas would rename the second one without a word
        raise ValueError(f"{name} has the column name {twice!r} more than once; give each column its own name.")
    counted = any(names == [str(start + i) for i in range(len(names))] for start in (0, 1))
    if len(names) > 1 and not counted and pd.to_numeric(pd.Series(names), errors="coerce").notna().all():
        return (
            f"{name} begins with a line of numbers. They are used as column names. If they are data, add a line of "
            "names above them."
        )
    return ""


def _check_labels(frame: "pd.DataFrame", names: list[Any], name: str) -> None:
    """Raise a ValueError if the fields without a name, which pandas uses as row labels, are not labels."""
    more = frame.index.nlevels
    last_is_empty = frame.iloc[:, -1].isna().all()
    if more > 1 or not names[0] or last_is_empty or holds_numbers(frame.index):
        raise ValueError(
            f"{name} has {len(names)} {'name' if len(names) == 1 else 'names'} in its first line and "
            f"{len(names) + more} fields in the next; begin the file with one name for each column, without a comment."
        )


def _check_split(frame: "pd.DataFrame", name: str) -> None:
    """Raise a ValueError if the table is a single column of text: its lines were not divided."""
    if frame.shape[1] == 1 and len(frame) and text_columns(frame):
        entry = frame.iloc[:, 0].dropna().iloc[0]
        what = f"{name} has one column, of text such as {entry!r}"
        if name.lower().endswith(EXCEL):
            raise ValueError(f"{what}; give another sheet with sheet='NAME'.")
        raise ValueError(
            f"{what}; begin the file with one name for each column, with the same separator as in the lines below."
        )
