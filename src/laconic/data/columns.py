"""Columns of a table: which ones a user wants, and one message about everything in them that is not a number.

Text in cells is judged here: whether it is a number, a number with other signs around it ("1,000", "3 %"), a date or a
word. Frames in memory, text files, spreadsheets and Parquet files follow the same rules.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from numbers import Real
from typing import Any, NamedTuple, Self

import pandas as pd

from laconic.core.words import did_you_mean
from laconic.data.tables import MOST_LISTED, listed, places_by_name

# Messages quote at most so many cells of a column, and so many letters of a cell.
MOST_QUOTED, MOST_LETTERS = 3, 60
# The different cells of a column that are kept for a message. A column of names has one for each row.
MOST_CELLS = 1000
# Dates with points, such as "31.01.2024". Points between thousands have three digits behind each.
DATE = r"\s*\d{1,4}\.\s?\d{1,2}\.\s?(?:\d{4}|\d{2})?\s*"
# A number with other signs around it or between its digits: "1,000", "$5", "3 %", "(2)", "<5". A date is not one.
NEARLY_A_NUMBER = rf"(?!{DATE}$)[^\w/:]*\d[\d.,'\s]*[^\w/:]*"
DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"
WITH_SIGNS = f"{NEARLY_A_NUMBER}|{DECIMAL_COMMA}"
# Text in the first column names the rows if at least this share of it is different.
NEARLY_UNIQUE = 0.9


@dataclass(frozen=True)
class NotNumbers:
    """The cells of one column that are not numbers. If they are most of its cells, it is a column of text."""

    column: str
    cells: list[str]  # different cells, the most frequent first
    count: int
    total: int  # the cells that are not empty
    with_signs: int = 0  # how many of the cells are numbers with other signs, such as "1,000" and "3 %"
    row: int = 0  # the number of the first row with such a cell, from 0

    @property
    def nearly(self) -> list[str]:
        """The cells that are numbers with other signs."""
        return [cell for cell in self.cells if re.fullmatch(WITH_SIGNS, cell)]

    @property
    def marks(self) -> list[str]:
        """The other cells."""
        return [cell for cell in self.cells if not re.fullmatch(WITH_SIGNS, cell)]

    @property
    def is_text(self) -> bool:
        """Whether most cells are neither numbers nor numbers with other signs, or whether all are empty."""
        return not self.total or 2 * (self.count - self.with_signs) > self.total

    def in_words(self) -> str:
        """Return the name of the column, with its cells."""
        if not self.is_text:
            return f"{self.column!r} {self.count:,} of {self.total:,} ({_quoted(self.cells)}; first in row {self.row})"
        return f"{self.column!r} ({_quoted(self.cells[:1]) or 'empty'})"

    @property
    def numbers(self) -> str:
        """How many numbers are in a column of text, if there are any."""
        some = f"numbers in {self.total - self.count:,} of {self.total:,} cells" if self.count < self.total else ""
        return some if self.total else "empty"


def _quoted(cells: Sequence[str]) -> str:
    short = [cell if len(cell) <= MOST_LETTERS else f"{cell[:MOST_LETTERS]}..." for cell in cells[:MOST_QUOTED]]
    return ", ".join(map(repr, short)) + (", ..." if len(cells) > MOST_QUOTED else "")


def any_decimal_comma(fields: Iterable[str]) -> bool:
    """Say whether a field is a number with a decimal comma."""
    return any(re.fullmatch(DECIMAL_COMMA, field) for field in fields)


def holds_numbers(values: Any) -> bool:
    """Say whether an entry of a column or of row labels is a number, perhaps with signs around it: "$5", "3 %"."""
    entries = pd.Series(values).astype(str)
    return bool((pd.to_numeric(entries, errors="coerce").notna() | entries.str.fullmatch(NEARLY_A_NUMBER)).any())


def text_columns(frame: pd.DataFrame) -> list[Any]:
    """Return the names of the columns of a frame that are not numeric. Truth values with blanks are numeric."""
    other = [j for j, dtype in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(dtype)]
    return [frame.columns[j] for j in other if pd.api.types.infer_dtype(frame.iloc[:, j], skipna=True) != "boolean"]


def find_not_numbers(frames: Iterable[pd.DataFrame], columns: Sequence[Any], decimal: str = ".") -> list[NotNumbers]:
    """Return what is not a number in some columns of a table, which may come in several frames.

    Numbers that are stored as text are numbers. `decimal` is the decimal sign of the text that the frames are from.
    """
    signs = str.maketrans({".": "_", ",": "."} if decimal == "," else {})
    cells: dict[Any, Counter[str]] = {column: Counter() for column in columns}
    counts, totals, with_signs, rows = Counter[Any](), Counter[Any](), Counter[Any](), dict[Any, Any]()
    for frame in frames:
        text = set(text_columns(frame[list(columns)]))
        for column in columns:
            entries = frame[column].dropna()
            totals[column] += len(entries)
            if column in text and len(entries):
                entries = entries.astype(str)
                different = entries.value_counts()
                numbers = pd.to_numeric(different.index.str.translate(signs), errors="coerce")
                wrong = different[numbers.isna()]
                counts[column] += int(wrong.sum())
                with_signs[column] += int(wrong[wrong.index.str.fullmatch(WITH_SIGNS)].sum())
                if len(wrong) and column not in rows:
                    rows[column] = entries.index[entries.isin(wrong.index)][0]
                if len(cells[column]) < MOST_CELLS:
                    cells[column].update(wrong.to_dict())
    found = [column for column in columns if counts[column]]
    most = {column: [cell for cell, _ in cells[column].most_common(MOST_CELLS)] for column in found}
    return [NotNumbers(str(c), most[c], counts[c], totals[c], with_signs[c], rows[c]) for c in found]


def refusal(found: Sequence[NotNumbers], name: str, *, selection: str = "", needed_by: str = "") -> str:
    """Return one message about everything in a table that is not a number, and what to do.

    It is about a file, in the words of `laconic.read_table`; with `selection`, the call that keeps the columns of
    numbers, about a table in memory. Columns that are `needed_by` a model or a certificate cannot be left out.
    """

    def remedy(of: Sequence[NotNumbers], in_file: str, in_memory: str) -> str:
        """Return what to do about some columns: the texts have fields for their names, marks, and a pronoun."""
        marks = dict.fromkeys(cell for one in of for cell in one.marks[:MOST_QUOTED] if "," not in cell)
        words = {
            "drop": repr(",".join(one.column for one in of)) if len(of) <= MOST_LISTED else "...",
            "na": repr(",".join(marks)) if marks else "...",
            "it": "it" if len(of) == 1 else "them",
            "first": repr(of[0].column),
        }
        needs = f"the {needed_by} needs {{it}}; write numbers there, or read the cells as missing values with na={{na}}"
        return (in_memory if selection else needs if needed_by else in_file).format(**words)

    text = [one for one in found if one.is_text]
    cells = [one for one in found if not one.is_text and one.marks]
    signs = [replace(one, cells=one.nearly) for one in found if not one.is_text and one.nearly]
    parts = []
    if text:
        in_file = "leave {it} out with drop={drop}, or use one as row labels with index={first}"
        do = remedy(text, in_file, f"leave {{it}} out with {selection}, or encode {{it}} as numbers")
        which = "a column that does not hold" if len(text) == 1 else "columns that do not hold"
        parts.append(f"{which} numbers: {listed([one.in_words() for one in text])}; {do}")
    if cells:
        in_file = "read them as missing values with na={na}, or leave the column out with drop={drop}"
        in_memory = "make them missing values with pandas.to_numeric(X[{first}], errors='coerce'), or leave them out"
        do = remedy(cells, in_file, in_memory)
        parts.append(f"cells that are not numbers: {listed([one.in_words() for one in cells])}; {do}")
    if signs:
        comma = any_decimal_comma(cell for one in signs for cell in one.cells)
        do = ", or give decimal=',' if the comma is the decimal sign" if comma else ""
        do += "" if selection or needed_by else remedy(signs, ", or leave {it} out with drop={drop}", "")
        which = listed([f"{one.column!r} ({_quoted(one.cells)}; first in row {one.row})" for one in signs])
        parts.append(
            f"numbers with other signs around them or between their digits: {which}; write them as plain numbers{do}"
        )
    return f"{name} has " + ". It has ".join(parts) + "."


def split_names(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Split names at commas, except the commas of known names."""
    found = []
    for text in given:
        parts = text.split(",")
        while parts:
            # The longest known name that begins here, or the text up to the next comma.
            end = next((end for end in range(len(parts), 0, -1) if ",".join(parts[:end]) in known), 1)
            found.append(",".join(parts[:end]))
            parts = parts[end:]
    return found


def matching(given: Sequence[str], names: Collection[str], *, argument: str, table: str) -> set[str]:
    """Return the names that a user means: by name, or by a pattern such as "Q*", several separated by commas.

    A ValueError names the first one that no column of the table has. `argument` is what the user calls the list.
    """
    found, known = set[str](), set(names)
    for text in split_names(given, known):
        own = {text} & known or {name for name in names if fnmatchcase(name, text)}
        if not own:
            raise ValueError(f"{argument}={text!r} is not a column of {table}{did_you_mean(text, names)}")
        found |= own
    return found


@dataclass(frozen=True)
class TableOptions:
    """What a user says about a table in files. By default all columns are used; the rest is found in the table."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None  # of a spreadsheet
    index: str | None = None  # the column of row labels
    columns: tuple[str, ...] = ()  # the only columns to use: names and patterns, or several separated by commas
    drop: tuple[str, ...] = ()  # the columns to leave out, in the same form
    na: tuple[str, ...] = ()  # marks of missing values: text as it is in a cell, or numbers
    transpose: bool = False  # the features are in the rows of the file
    blocks: bool = False  # do not read a small file as a whole
    only: tuple[str, ...] | None = None  # the exact names of the columns that are needed; None for no such limit
    needed_by: str = "model"  # who needs them, for errors

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return the options that a user gives: one text, several separated by commas, or a list."""
        unknown = next((name for name in given if name not in cls.__dataclass_fields__), None)
        if unknown is not None:
            known = [name for name in cls.__dataclass_fields__ if name not in ("only", "needed_by")]
            raise TypeError(f"{unknown!r} is no option of a table; the options are {', '.join(known)}.")
        for name in ("columns", "drop", "na"):
            value = () if given.get(name) is None else given[name]
            given[name] = (str(value),) if isinstance(value, str | Real) else tuple(str(item) for item in value)
        given["na"] = tuple(m for text in given["na"] for m in ([text] if text == "," else text.split(",")))
        given["only"] = None if given.get("only") is None else tuple(given["only"])
        return cls(**given)

    def __post_init__(self) -> None:
        if self.sep is not None and (len(self.sep) != 1 or not self.sep.isascii()):
            raise ValueError(f"sep={self.sep!r} must be one ASCII character.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r} must be '.' or ','.")
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError:
            examples = "utf-8, utf-16, cp1252, latin-1"
            raise ValueError(f"encoding={self.encoding!r} is not known; examples are {examples}.") from None

    def dropped(self, names: Sequence[str], table: str) -> set[str]:
        """Return the columns that `drop` names."""
        return matching(self.drop, names, argument="drop", table=table) if self.drop else set()

    def kept(self, names: Sequence[Any], table: str) -> list[Any]:
        """Return the columns to use, in the order of the table. A ValueError names one that the table does not have."""
        known = [str(name) for name in names]
        kept = matching(self.columns, known, argument="columns", table=table) if self.columns else set(known)
        kept -= self.dropped(known, table)
        if self.only is not None:
            places_by_name(self.only, [name for name in known if name in kept], table, f"the {self.needed_by} needs")
            kept &= set(self.only)
        return [name for name in names if str(name) in kept]

    def is_named(self, name: Any) -> bool:
        """Whether `columns` names this column, and not only by a pattern."""
        return str(name) in split_names(self.columns, {str(name)})

    def refuse(self, name: str, *options: str) -> None:
        """Raise a ValueError if one of these options is given, which a file of this format does not have."""
        for option in options:
            value = getattr(self, option)
            if value not in (None, (), False):
                given = ",".join(value) if isinstance(value, tuple) else value
                raise ValueError(f"{option}={given!r} is not for {name}; leave it out.")


class ChosenColumns(NamedTuple):
    """The columns of a table that a user wants, with the row labels as their index."""

    frame: pd.DataFrame
    wrong: list[NotNumbers]  # columns of the frame with cells that are not numbers
    left_out: list[NotNumbers]  # columns of text, and empty columns


def choose_columns(
    frame: pd.DataFrame,
    options: TableOptions,
    name: str,
    decimal: str = ".",
    *,
    labels: str | None = None,
    whole: bool = True,
) -> ChosenColumns:
    """Return the columns that a user wants, with the row labels as the index. See `without_text`.

    `labels` is the column that the format of the file itself calls so.
    """
    kept = options.kept([column for column in frame.columns if column != labels], name)
    labelled = with_labels(frame, options, name, labels)
    return without_text(labelled[[c for c in kept if c in labelled.columns]], options, decimal, whole=whole)


def with_labels(frame: pd.DataFrame, options: TableOptions, name: str, labels: str | None) -> pd.DataFrame:
    """Return a frame with its row labels as the index.

    They are the column that the user says, or that the format says, or else the first one, provided that it holds only
    text, hardly any of it twice, and that no model needs it. Numbers with a mark for missing ones, or with commas
    between thousands, are text for pandas; such a column is not used as labels.
    """
    names = [str(column) for column in frame.columns]
    if options.index is not None:
        if options.index not in names:
            raise ValueError(f"index={options.index!r} is not a column of {name}{did_you_mean(options.index, names)}")
        return frame.set_index(frame.columns[names.index(options.index)])
    if labels is not None:
        is_name = labels and not labels.startswith("__index_level")
        return frame.set_index(labels).rename_axis(labels if is_name else None)
    if len(names) < 2 or names[0] in {*options.dropped(names, name), *(options.only or ())}:
        return frame
    first = frame[frame.columns[0]]
    different = len(first) and first.nunique() >= NEARLY_UNIQUE * len(first)
    is_label = different and text_columns(first.to_frame()) and not holds_numbers(first)
    return frame.set_index(first.name) if is_label else frame


def without_text(
    wanted: pd.DataFrame, options: TableOptions, decimal: str = ".", *, whole: bool = True
) -> ChosenColumns:
    """Return a frame without its columns of text, and without empty columns if it is `whole`.

    A column that the user names is not left out, nor one that a model needs. `decimal` is the decimal sign of the text
    that the frame was read from.
    """
    text = text_columns(wanted)
    found = find_not_numbers([wanted[text].reset_index(drop=True)], text, decimal)
    if whole and len(wanted):
        found += [NotNumbers(str(column), [], 0, 0) for column in wanted.columns[wanted.isna().all()]]
    out = [one for one in found if one.is_text and options.only is None and not options.is_named(one.column)]
    unwanted = {one.column for one in out}
    kept = wanted[[column for column in wanted.columns if str(column) not in unwanted]]
    return ChosenColumns(kept, [one for one in found if one.count and one.column not in unwanted], out)


def left_out_in_words(
    found: Sequence[NotNumbers], name: str, rows: int | None = None, labels: str | None = None
) -> str:
    """Return a sentence about columns that are left out, and one about row names; empty without any.

    `rows` is the number of rows that were looked at, if there may be others. `labels` is the column of text that was
    found to name the rows.
    """
    one = len(found) == 1
    columns = f"{'One column' if one else f'{len(found)} columns'} of {name} {'is' if one else 'are'} left out"
    why = f"because {'it does' if one else 'they do'} not hold numbers"
    where = "" if rows is None else f" in the first {rows:,} rows"
    names = listed([f"{item.column!r} ({item.numbers})" if item.numbers else repr(item.column) for item in found])
    sentences = [f"{columns} {why}{where}: {names}."] if found else []
    return " ".join([*sentences, *([] if labels is None else [f"{labels!r} names the rows of {name}."])])
