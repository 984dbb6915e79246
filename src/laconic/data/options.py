"""What a user says about a table in files: the columns to use, row labels, marks of missing values, signs of text."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.words import did_you_mean
from laconic.data.encodings import check_encoding
from laconic.data.names import matching, places_by_name, split_names
from laconic.data.text_files import check_signs


@dataclass(frozen=True)
class TableOptions:
    """Options of tables. By default all columns are used, and labels and signs are found in the table itself."""

    drop: tuple[str, ...] = ()  # columns to leave out: names and patterns, or several separated by commas
    index: str | None = None
    separator: str | None = None
    decimal: str | None = None
    columns: tuple[str, ...] = ()  # the only columns to use, in the form of `drop`; all if there are none
    numeric_only: bool = False  # leave out columns that hold something other than numbers
    na: tuple[str, ...] = ()  # marks of missing values: text as it is in a cell, or numbers
    encoding: str | None = None
    sheet: str | None = None  # of a spreadsheet
    text_left_out: bool = False  # leave out columns without any number: text and dates
    only: tuple[str, ...] | None = None  # the exact names of the columns that a model needs; None for no such limit

    def __post_init__(self) -> None:
        check_signs(self.separator, self.decimal)
        check_encoding(self.encoding)

    def dropped(self, names: Sequence[Any], table: str) -> set[str]:
        """Return the columns to leave out. A ValueError names one that a table with these names does not have."""
        return matching(self.drop, list(map(str, names)), argument="drop", table=table) if self.drop else set()

    def wanted(self, names: Sequence[Any], table: str) -> set[str]:
        """Return the columns that `columns` names, or all if it names none."""
        known = list(map(str, names))
        return matching(self.columns, known, argument="columns", table=table) if self.columns else set(known)

    def kept(self, names: Sequence[Any], table: str) -> list[Any]:
        """Return the columns to use, in the order of the table."""
        kept = self.wanted(names, table) - self.dropped(names, table)
        return self.needed([name for name in names if str(name) in kept], table)

    def needed(self, names: list[Any], table: str) -> list[Any]:
        """Return those of the columns that a model needs. A ValueError lists the ones that the table does not have."""
        if self.only is None:
            return names
        places_by_name(self.only, list(map(str, names)), table, "the model needs")
        only = set(self.only)
        return [name for name in names if str(name) in only]

    def check_index(self, names: Sequence[Any], table: str) -> None:
        """Raise a ValueError if the column of row labels that is given is not a column of the table."""
        if self.index is not None and self.index not in names:
            close = did_you_mean(self.index, list(map(str, names)))
            raise ValueError(f"index={self.index!r} is not a column of {table}{close}")

    def is_named(self, name: Any) -> bool:
        """Whether `columns` names this column, and not only by a pattern."""
        return str(name) in split_names(self.columns, {str(name)})

    @property
    def na_numbers(self) -> list[float]:
        """The marks that are numbers. They are compared by value, so that "-999" means "-999.0", too."""
        return [float(mark) for mark in self.na if _is_number(mark)]

    @property
    def na_texts(self) -> list[str]:
        """The marks that are not numbers."""
        return [mark for mark in self.na if not _is_number(mark)]

    def without_marks(self, rows: Floats) -> Floats:
        """Return numbers with NaN in place of those that mark a missing value."""
        return np.where(np.isin(rows, self.na_numbers), np.nan, rows) if self.na_numbers else rows

    def refuse_signs(self, name: str, *, text: bool = False, sheets: bool = False) -> None:
        """Raise a ValueError if options are given that are for text tables or spreadsheets only, and this is none."""
        for sign in () if text else ("separator", "decimal", "encoding"):
            if getattr(self, sign) is not None:
                raise ValueError(f"{sign}={getattr(self, sign)!r} is for text tables only, not for {name}.")
        if self.sheet is not None and not sheets:
            raise ValueError(f"sheet={self.sheet!r} is for spreadsheets only, not for {name}.")


def options_of(
    *,
    drop: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    na: str | float | Sequence[str | float] | None = None,
    index: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    numeric_only: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
    text_left_out: bool = False,
    only: Sequence[str] | None = None,
) -> TableOptions:
    """Return the options that a user gives: one text, several separated by commas, or a list.

    `only` are the exact names of the columns that a model needs.
    """
    marks = tuple(mark for text in _listed(na) for mark in ([text] if text == "," else text.split(",")))
    return TableOptions(
        _listed(drop),
        index,
        separator,
        decimal,
        _listed(columns),
        numeric_only,
        marks,
        encoding,
        sheet,
        text_left_out,
        None if only is None else tuple(only),
    )


def _listed(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (str(given),) if isinstance(given, str | Real) else tuple(str(item) for item in given)


def _is_number(mark: str) -> bool:
    try:
        return bool(np.isfinite(float(mark)))
    except ValueError:
        return False


AS_FOUND = TableOptions()
