"""Columns and cells that are not numbers: how many, which, and what to do about them, in one message for all."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from laconic.data.names import MOST_LISTED, listed
from laconic.data.options import TableOptions
from laconic.data.text_files import DECIMAL_COMMA, NEARLY_A_NUMBER, any_decimal_comma

if TYPE_CHECKING:
    import pandas as pd

# A message quotes at most this many different cells of a column.
MOST_QUOTED = 3
# A sentence about columns of text that are left out names at most this many.
MOST_LEFT_OUT = 5
# The different cells of a column that are kept. A column of names has one for each row.
MOST_CELLS = 1000


@dataclass(frozen=True)
class NotNumbers:
    """The cells of one column that are not numbers. If they are most of its cells, it is a column of text."""

    column: str
    cells: list[str]  # different cells, the most frequent first
    count: int
    total: int  # the cells that are not empty
    kind: str = ""  # the type of the column, if it tells that no cell is a number

    @property
    def is_text(self) -> bool:
        """Whether most cells are not numbers, and do not look like numbers."""
        return self.is_most and not self.nearly

    @property
    def is_wholly_text(self) -> bool:
        """Whether no cell is a number, or looks like one: text and dates."""
        return bool(self.kind) or (self.count == self.total and not self.nearly)

    @property
    def is_most(self) -> bool:
        """Whether most cells are not numbers."""
        return bool(self.kind) or 2 * self.count > self.total

    @property
    def nearly(self) -> list[str]:
        """The cells that are numbers with other signs, such as "1,000" and "3 %"."""
        return [cell for cell in self.cells if _is_nearly(cell) and not self.kind]

    @property
    def marks(self) -> list[str]:
        """The other cells."""
        return [cell for cell in self.cells if not _is_nearly(cell)]

    def in_words(self) -> str:
        """Return the name of the column, with its cells."""
        if self.is_text:
            example = repr(self.cells[0]) if self.cells[0] else ""
            some = "" if self.is_wholly_text else f"{self.count} of {self.total} cells"
            return f"{self.column!r} ({', such as '.join(filter(None, [self.kind or some, example]))})"
        return f"{self.column!r} {self.count} of {self.total} ({_quoted(self.cells)})"


def _is_nearly(cell: str) -> bool:
    return re.fullmatch(f"{NEARLY_A_NUMBER}|{DECIMAL_COMMA}", cell) is not None


def _quoted(cells: Sequence[str]) -> str:
    return ", ".join(map(repr, cells[:MOST_QUOTED])) + (", ..." if len(cells) > MOST_QUOTED else "")


def find_not_numbers(frame: "pd.DataFrame", columns: Sequence[Any], decimal: str = ".") -> list[NotNumbers]:
    """Return what is not a number in some columns of a frame. Numbers that are stored as text are numbers.

    `decimal` is the decimal sign of the text that the frame was read from.
    """
    import pandas as pd

    signs = str.maketrans({".": "_", ",": "."} if decimal == "," else {})
    found = []
    for column in columns:
        entries = frame[column].dropna().astype(str)
        wrong = entries[pd.to_numeric(entries.str.translate(signs), errors="coerce").isna()]
        if len(wrong):
            cells = wrong.value_counts().index[:MOST_CELLS].tolist()
            found.append(NotNumbers(str(column), cells, len(wrong), len(entries)))
    return found


@dataclass(frozen=True)
class Remedies:
    """What to do: sentences that end a list of columns. Each takes the columns that it is about."""

    text: Callable[[Sequence[NotNumbers]], str]
    cells: Callable[[Sequence[NotNumbers]], str]
    signs: Callable[[Sequence[NotNumbers]], str]
    constant: Callable[[Sequence[str]], str]


def _names(found: Sequence[NotNumbers]) -> str:
    return _option([one.column for one in found])


def _option(names: Sequence[str]) -> str:
    return repr(",".join(names)) if len(names) <= MOST_LISTED else "..."


def _it(found: Sequence[NotNumbers]) -> str:
    return "it" if len(found) == 1 else "them"


def _marks(found: Sequence[NotNumbers]) -> str:
    marks = list(dict.fromkeys(cell for one in found for cell in one.marks[:MOST_QUOTED] if "," not in cell))
    return repr(",".join(marks)) if marks else "..."


#: For a table in a file, in the words of `laconic.read_table`. The command line turns them into its own.
IN_FILES = Remedies(
    text=lambda found: (
        f"leave {_it(found)} out with numeric_only=True or drop={_names(found)}, or use "
        f"{'one' if len(found) > 1 else 'it'} as row labels with index={found[0].column!r}"
    ),
    cells=lambda found: (
        f"read them as missing values with na={_marks(found)}, or leave the column{'s' * (len(found) > 1)} out with "
        f"drop={_names(found)}"
    ),
    signs=lambda found: f", or leave {_it(found)} out with drop={_names(found)}",
    constant=lambda names: f"no component can use them; leave them out with drop={_option(names)}",
)


def _as_missing(found: Sequence[NotNumbers]) -> str:
    remedy = f"write numbers there, or read the cells as missing values with na={_marks(found)}"
    return f"the model needs {_it(found)}; {remedy}"


#: For new rows: the columns that a model needs.
FOR_A_MODEL = Remedies(text=_as_missing, cells=_as_missing, signs=lambda _: "", constant=lambda _: "")


#: For a table in which no column can be left out.
AS_NUMBERS = Remedies(
    text=lambda _: "write numbers there",
    cells=lambda _: "write numbers there",
    signs=lambda _: "",
    constant=lambda _: "no component can use them",
)


def in_memory(selection: str, name: str) -> Remedies:
    """Return the remedies for a table in memory. `selection` is the call that keeps its columns of numbers."""
    return Remedies(
        text=lambda found: f"leave {_it(found)} out with {selection}, or encode {_it(found)} as numbers",
        cells=lambda found: (
            f"make them missing values with pandas.to_numeric({name}[{found[0].column!r}], errors='coerce'), "
            "or leave the columns out"
        ),
        signs=lambda _: "",
        constant=lambda _: "no component can use them",
    )


def refusal(found: Sequence[NotNumbers], name: str, remedies: Remedies, constant: Sequence[str] = ()) -> str:
    """Return one message about everything in a table that is not a number, and its columns that do not vary."""
    parts = []
    text = [one for one in found if one.is_text]
    if text:
        which = "a column that does not hold" if len(text) == 1 else "columns that do not hold"
        parts.append(f"{which} numbers: {_all(text)}; {remedies.text(text)}")
    cells = [one for one in found if not one.is_text and one.marks]
    if cells:
        parts.append(f"cells that are not numbers: {_all(cells)}; {remedies.cells(cells)}")
    signs = [replace(one, cells=one.nearly) for one in found if one.nearly]
    if signs:
        comma = any_decimal_comma(cell for one in signs for cell in one.cells)
        parts.append(
            "numbers with other signs around them or between their digits: "
            + listed([f"{one.column!r} ({_quoted(one.cells)})" for one in signs])
            + "; write them as plain numbers"
            + (", or give decimal=',' if the comma is the decimal sign" if comma else "")
            + remedies.signs(signs)
        )
    if constant:
        parts.append(
            f"columns that do not vary: {listed([repr(one) for one in constant])}; {remedies.constant(constant)}"
        )
    return f"{name} has " + ". It has ".join(parts) + "."


def left_out(found: Sequence[NotNumbers], name: str, options: TableOptions, rows: int | None = None) -> str:
    """Return a sentence about columns that were left out because of what they hold; empty without any.

    `rows` is the number of rows that were looked at, if there may be others.
    """
    if not found:
        return ""
    one = len(found) == 1
    columns = f"{'One column' if one else f'{len(found)} columns'} of {name} {'is' if one else 'are'} left out because"
    if options.numeric_only:
        return f"{columns} {'it does' if one else 'they do'} not hold only numbers: {_all(found)}."
    names = listed([repr(item.column) for item in found], MOST_LEFT_OUT)
    change = "columns=, drop= or numeric_only=True"
    where = "" if rows is None else f" in the first {rows:,} rows"
    return f"{columns} {'it has' if one else 'they have'} no numbers{where}: {names}; choose columns with {change}."


def _all(found: Sequence[NotNumbers]) -> str:
    return listed([one.in_words() for one in found])


def constant_columns(frame: "pd.DataFrame") -> list[str]:
    """Return the names of the columns of numbers in which all numbers are equal."""
    import pandas as pd

    numeric = [c for c, kind in zip(frame.columns, frame.dtypes, strict=True) if pd.api.types.is_numeric_dtype(kind)]
    values = frame[numeric]
    return [str(c) for c, same in zip(numeric, values.max() == values.min(), strict=True) if same]
