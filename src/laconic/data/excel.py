"""Spreadsheets: a sheet of an Excel or OpenDocument file as a text table, which the reader of text then parses.

So names, row labels, marks of missing values and numbers that are stored as text follow the same rules.
"""

import csv
import io
from typing import Any

from laconic.core.words import did_you_mean
from laconic.data.names import listed

EXCEL = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


def sheet_as_text(content: Any, name: str, sheet: str | None = None) -> tuple[io.BytesIO, str]:
    """Return a sheet, by default the first one, as text with commas; and a sentence if others were left out.

    Rows and columns without any content are left out. A cell with an error, such as #DIV/0!, is empty.
    """
    calamine = _calamine(name)
    try:
        book = calamine.CalamineWorkbook.from_object(io.BytesIO(content.read()))
        sheets = list(book.sheet_names)
        if not sheets:
            raise ValueError(f"{name} has no sheets; give a file with a table.")
        if sheet is not None and sheet not in sheets:
            close = did_you_mean(sheet, sheets)
            known = f"; its sheets are {listed([repr(own) for own in sheets])}." if close == "." else close
            raise ValueError(f"sheet={sheet!r} is not a sheet of {name}{known}")
        chosen = sheets[0] if sheet is None else sheet
        rows = book.get_sheet_by_name(chosen).to_python()
    except calamine.CalamineError as error:
        raise ValueError(f"{name} cannot be read as a spreadsheet ({str(error).rstrip('.')}); save it again.") from None
    note = ""
    if sheet is None and len(sheets) > 1:
        note = f"{name} has {len(sheets)} sheets; the first, {chosen!r}, is read. Give sheet={sheets[1]!r} for another."
    return _text(rows, f"{name}, sheet {chosen!r},"), note


def _text(rows: list[list[Any]], name: str) -> io.BytesIO:
    """Return the cells of a sheet as text with commas."""
    used = [j for j in range(len(rows[0]) if rows else 0) if any(row[j] != "" for row in rows)]
    rows = [[row[j] for j in used] for row in rows if any(row[j] != "" for j in used)]
    if not rows:
        raise ValueError(f"{name} is empty.")
    unnamed = sum(cell == "" for cell in rows[0])
    if unnamed > 1:
        raise ValueError(
            f"{name} has {unnamed} columns without a name in its first row; give each column a name there, and remove "
            "titles above the names."
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return io.BytesIO(text.getvalue().encode())


def _calamine(name: str) -> Any:
    try:
        import python_calamine
    except ImportError:
        message = f"Reading {name} needs the package python-calamine; run: pip install 'laconic[excel]'"
        raise ImportError(message, name="python_calamine") from None
    return python_calamine
