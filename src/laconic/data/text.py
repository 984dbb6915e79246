"""Tables as text: the separator, the decimal sign and the labels of rows are found in the file itself."""

import csv
import io
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|", " ")
NEARLY_A_NUMBER = r"[^\w/:]*\d[\d.,'\s]*[^\w/:]*"
NUMBER = r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*"
DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"


def read_text(
    source: Path | io.BytesIO, name: str, usual: str, separator: str | None = None, decimal: str | None = None
) -> "pd.DataFrame":
    """Read a table whose first line holds the names of the columns.

    Parameters
    ----------
    source
        The file, or its content.
    name
        What messages call it.
    usual
        The separator that is taken if the first two lines have it.
    separator, decimal
        Both are found in the file if they are None.
    """
    if separator is None:
        separator = _found_separator(source, usual)
    names, is_longer = _first_lines(source, separator)
    _check_names(names, name)
    # A first column without a name holds the labels of the rows: pandas and R write them so.
    labelled = len(names) > 1 and not names[0] and bool(names[1])
    options: dict[str, Any] = {"index_col": 0 if labelled and not is_longer else None}
    frame = _parsed(source, separator, decimal=decimal or ".", **options)
    if decimal is None and separator == ";" and _has_decimal_commas(frame):
        frame = _parsed(source, separator, decimal=",", **options)
    if is_longer:
        _check_labels(frame, names, name)
    _check_split(frame, name)
    return frame


def holds_numbers(values: Any) -> bool:
    """Say whether any entry is a number, or would be without signs about it: 1,000, $5, 3 %, (2), <5.

    A date is none.

    Parameters
    ----------
    values
        A column or the labels of rows.
    """
    import pandas as pd

    entries = pd.Series(values).astype(str)
    return bool((pd.to_numeric(entries, errors="coerce").notna() | entries.str.fullmatch(NEARLY_A_NUMBER)).any())


def text_columns(frame: "pd.DataFrame") -> list[Any]:
    """Return the names of the columns that are not numeric.

    Parameters
    ----------
    frame
        The table.
    """
    import pandas as pd

    return [c for c, dtype in zip(frame.columns, frame.dtypes, strict=True) if not pd.api.types.is_numeric_dtype(dtype)]


def _parsed(source: Path | io.BytesIO, separator: str, **options: Any) -> "pd.DataFrame":
    import pandas as pd

    if isinstance(source, io.BytesIO):
        source.seek(0)
    if separator.isascii() and tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # Before 3.1, pandas rounds the last digit of one number in three.
    frame: pd.DataFrame = pd.read_csv(source, sep=r"\s+" if separator == " " else separator, **options)
    return frame


def _found_separator(source: Path | io.BytesIO, usual: str) -> str:
    # No table separates by the character 31, so that each line is one field.
    lines = _parsed(source, "\x1f", header=None, nrows=2, dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False)[0]
    unquoted = [re.sub('"[^"]*("|$)', "x", line).strip(" ") for line in lines]
    # In the line of names alone it may be part of a name, and in the next one part of a number.
    possible = [s for s in (usual, *SEPARATORS) if all(s in line for line in unquoted)]
    return next((s for s in possible if _are_numbers(unquoted[-1], s)), possible[0] if possible else usual)


def _are_numbers(line: str, separator: str) -> bool:
    """Say whether a separator makes nothing but numbers of a line."""
    number = f"{NUMBER}|{DECIMAL_COMMA}" if separator == ";" else NUMBER
    return all(re.fullmatch(number, field) for field in line.split(separator if separator != " " else None))


def _first_lines(source: Path | io.BytesIO, separator: str) -> tuple[list[Any], bool]:
    """Return the names of the columns, and whether the next line has more fields."""
    import pandas as pd

    options: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False}
    try:
        return _parsed(source, separator, nrows=2, **options).iloc[0].tolist(), False
    except pd.errors.ParserError:
        return _parsed(source, separator, nrows=1, **options).iloc[0].tolist(), True


def _check_names(names: list[Any], name: str) -> None:
    import pandas as pd

    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        # pandas would rename the second one quietly.
        raise ValueError(f"{name} has the column name {twice!r} more than once; give each its own.")
    counted = any(names == [str(start + i) for i in range(len(names))] for start in (0, 1))
    if len(names) > 1 and not counted and pd.to_numeric(pd.Series(names), errors="coerce").notna().all():
        warnings.warn(
            f"{name} begins with a line of numbers, which are taken as the names of the columns; "
            "add a line of names if they are data.",
            stacklevel=5,
        )


def _check_labels(frame: "pd.DataFrame", names: list[Any], name: str) -> None:
    """Raise if the fields without a name, which pandas takes from the front of each line, are no labels."""
    more = frame.index.nlevels
    ends_in_nothing = frame.iloc[:, -1].isna().all()
    if more > 1 or not names[0] or ends_in_nothing or holds_numbers(frame.index):
        raise ValueError(
            f"{name} has {len(names)} {'name' if len(names) == 1 else 'names'} in its first line and "
            f"{len(names) + more} fields in the next; begin it with one name for each column, and no comment."
        )


def _check_split(frame: "pd.DataFrame", name: str) -> None:
    """Raise if there is nothing but a column of text."""
    if frame.shape[1] == 1 and len(frame) and text_columns(frame):
        entry = frame.iloc[:, 0].dropna().iloc[0]
        raise ValueError(
            f"{name} has one column, of text such as {entry!r}; begin it with one name for each column, "
            "separated as the lines below."
        )


def _has_decimal_commas(frame: "pd.DataFrame") -> bool:
    return any(frame[c].astype(str).str.fullmatch(DECIMAL_COMMA).any() for c in text_columns(frame))
