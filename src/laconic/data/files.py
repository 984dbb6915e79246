"""Tables in files."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from laconic.core.monitor import Hint, warn
from laconic.data.compression import BROKEN, decompressed, ending_of
from laconic.data.encodings import find_encoding, in_utf_8
from laconic.data.excel import EXCEL, sheet_as_text
from laconic.data.names import check_unique, matching
from laconic.data.not_numbers import (
    FOR_A_MODEL,
    IN_FILES,
    NotNumbers,
    constant_columns,
    find_not_numbers,
    left_out,
    refusal,
)
from laconic.data.options import AS_FOUND, TableOptions, options_of
from laconic.data.orientation import transpose_hint
from laconic.data.text_files import holds_numbers, read_text, text_columns

if TYPE_CHECKING:
    import pandas as pd

# Text files: the ending of the name, and the separator to try first.
USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*USUAL, *PARQUET, ".arrow", ".feather", *EXCEL)


@dataclass(frozen=True, eq=False)
class FileContent:
    """A table as it is in its file: row labels are still a column, and columns may hold text."""

    frame: "pd.DataFrame"
    name: str  # the name of the file, for messages
    warning: str = ""  # a sentence for the user about the content, if there is one
    decimal: str = "."  # the decimal sign of text


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """The columns of a table that a user wants, with the row labels as their index."""

    frame: "pd.DataFrame"
    text: Sequence[Any]  # the columns of the frame that are not numeric
    left_out: Sequence[NotNumbers]  # columns that were left out because they do not hold only numbers


def read_table(
    path: str | Path | BinaryIO,
    *,
    index: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    numeric_only: bool = False,
    na: str | float | Sequence[str | float] | None = None,
    transpose: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
) -> "pd.DataFrame":
    r"""Read a table from a text, Parquet or Arrow file or a spreadsheet, compressed or not.

    Parameters
    ----------
    path : str, Path or binary stream
        The file. The ending of its name says the format: .csv, .tsv and .txt are text; .parquet, .pq, .arrow and
        .feather are not; .xlsx, .xlsm, .xls, .xlsb and .ods are spreadsheets (``pip install 'laconic[excel]'``). It may
        be compressed: .gz, .bz2, .xz or .zst. A stream of bytes is read as text.
    index : str, optional
        The column that holds the row labels. By default the first column, if it holds only text or has no name, and if
        all other columns are numeric.
    separator : str, optional
        The separator of fields in text; " " means any number of blanks. By default it is guessed from the first two
        lines.
    decimal : {".", ","}, optional
        The decimal sign in text: "." or ",". By default a point. If semicolons separate the fields and a field looks
        like "1,5", it is a comma.
    columns : str or sequence of str, optional
        The only columns to use: names, or patterns such as "Q*". One text may hold several, separated by commas.
    drop : str or sequence of str, optional
        The columns to leave out, in the same form.
    numeric_only : bool, default=False
        Whether to leave out every column that holds something other than numbers.
    na : str, float, or sequence of them, optional
        Marks of missing values, besides blanks, "NA", "NaN" and others that pandas knows: "?", "ERR", -999. A number is
        compared by its value, a text with the whole cell of a text file. One text may hold several, separated by
        commas.
    transpose : bool, default=False
        Whether features are in rows, as genes often are: the first column has their names, and the other columns are
        the samples. `columns` then names features, and `drop` features or samples.
    encoding : str, optional
        The encoding of text, such as "utf-16" or "cp1252". By default UTF-8, or what the mark at the start of the file
        says. Text that is neither is read as cp1252, with a hint.
    sheet : str, optional
        The sheet of a spreadsheet. By default the first one, with a hint if there are others.

    Returns
    -------
    DataFrame
        The table. Its columns are the features.

    See Also
    --------
    SparsePCA.fit : Takes the path of a file, too, and reads it in blocks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from laconic import read_table
    >>> _ = Path("people.csv").write_text("name,age,weight\nAnn,31,62\nBob,?,80\n")
    >>> read_table("people.csv", na="?").loc["Ann"].to_dict()
    {'age': 31.0, 'weight': 62.0}
    """
    options = options_of(
        drop=drop,
        columns=columns,
        na=na,
        index=index,
        separator=separator,
        decimal=decimal,
        numeric_only=numeric_only,
        encoding=encoding,
        sheet=sheet,
    )
    content = read_file(path, options)
    if content.warning:
        warn(content.warning)
    chosen = table_of(content, options, transpose)
    # A column with some cells that are not numbers may be one that the user wants. Text is left out without a word.
    cells = [one for one in chosen.left_out if not one.is_text]
    if cells:
        warn(left_out(cells, content.name, options), Hint)
    hint = None if transpose else transpose_hint(chosen.frame, content.name)
    if hint is not None:
        warn(hint, Hint)
    return chosen.frame


def read_file(path: str | Path | BinaryIO, options: TableOptions = AS_FOUND) -> FileContent:
    """Open a file once and parse it once. The separator, the decimal sign and marks of missing values are used."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(path, str | Path):
        name, ending = _name_and_ending(Path(path))
    else:
        name, ending = str(getattr(path, "name", "the table")), ".csv"
    options.refuse_signs(name, text=ending in USUAL, sheets=ending in EXCEL)
    try:
        with _opened(path) as content:
            if ending in USUAL:
                encoding = find_encoding(content, name, options.encoding)
                if encoding.note:
                    warn(encoding.note, Hint)
                signs = options.separator, options.decimal
                text = in_utf_8(content, encoding)
                frame, warning, decimal = read_text(text, name, USUAL[ending], *signs, options.na_texts)
                return FileContent(frame, name, warning, decimal)
            if ending in EXCEL:
                text, note = sheet_as_text(content, name, options.sheet)
                if note:
                    warn(note, Hint)
                frame, warning, _ = read_text(text, name, ",", ",", ".", options.na_texts)
                return FileContent(frame, name, warning)
            return FileContent(pd.read_parquet(content) if ending in PARQUET else pd.read_feather(content), name)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty.") from None
    except (pd.errors.ParserError, pa.ArrowException, UnicodeDecodeError, *BROKEN) as error:
        first = str(error).partition("\n")[0]
        raise ValueError(f"{name} cannot be read as a table: {first}") from None


def _name_and_ending(file: Path) -> tuple[str, str]:
    """Return the name of a file and the ending that says its format."""
    if file.is_dir():
        raise ValueError(f"{file} is a directory; give a file.")
    ending = ending_of(file)
    if ending not in ENDINGS:
        raise ValueError(f"{file.name} has no known ending; use one of {', '.join(ENDINGS)}.")
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    return file.name, ending


@contextmanager
def _opened(path: str | Path | BinaryIO) -> Iterator[Any]:
    """Open a file, decompressed if its last ending says so; or read a stream. A text is read from its start twice."""
    if not isinstance(path, str | Path):
        yield io.BytesIO(path.read())
        return
    with Path(path).open("rb") as raw, decompressed(raw, Path(path)) as content:
        yield content if content.seekable() else io.BytesIO(content.read())


def table_of(content: FileContent, options: TableOptions, transpose: bool) -> ChosenColumns:
    """Return the columns that a user wants, in columns of the file or, with `transpose`, in its rows."""
    if transpose:
        return _transposed(content, options)
    return choose_columns(content.frame, options, content.name, content.decimal)


def choose_columns(
    frame: "pd.DataFrame", options: TableOptions, name: str, decimal: str = ".", *, whole: bool = True
) -> ChosenColumns:
    """Return the columns that a user wants, with the row labels as the index.

    If no column of labels is given, the first column holds them, provided that no entry of it is a number and that it
    is the only wanted one with text, or that the others with text are left out. Numbers with a mark for missing ones,
    or with commas between thousands, are text for pandas; such a column is not used as labels. `decimal` is the decimal
    sign of the text that the frame was read from. `whole` says that the frame is all of the table, not its first rows.
    """
    names = list(frame.columns)
    options.check_index(names, name)
    kept = [column for column in options.kept(names, name) if column != options.index]
    labels: Any = options.index
    wanted = frame if len(kept) == len(names) else frame[kept]
    text = text_columns(wanted)
    if labels is None and names and str(names[0]) not in options.dropped(names, name):
        first, others = names[0], [column for column in kept if column != names[0]]
        is_text = first in text if first in kept else bool(text_columns(frame[[first]]))
        free = options.numeric_only or options.text_left_out or first not in kept or text == [first]
        if is_text and free and others and not holds_numbers(frame[first]):
            labels, text = first, [column for column in text if column != first]
    if labels is not None:
        wanted = frame[[*(c for c in kept if c != labels), labels]].set_index(labels)
    wrong: list[NotNumbers] = []
    if options.numeric_only or options.text_left_out:
        wrong = _to_leave_out(wanted, text, options, decimal, whole)
        unwanted = {one.column for one in wrong}
        wanted = wanted[[column for column in wanted.columns if str(column) not in unwanted]]
        text = [column for column in text if str(column) not in unwanted]
    if options.na_numbers:
        wanted = wanted.mask(wanted.isin(options.na_numbers))
    return ChosenColumns(wanted, text, wrong)


def _to_leave_out(
    frame: "pd.DataFrame", text: Sequence[Any], options: TableOptions, decimal: str, whole: bool
) -> list[NotNumbers]:
    """Return the columns to leave out because of what they hold.

    With `numeric_only`, every column with something other than numbers. Otherwise columns without any number, but not
    one that the user names. A column with some numbers may be one that the user wants, so it is kept, and refused.
    """
    found = find_not_numbers(frame, text, decimal)
    if options.numeric_only:
        return found
    # The first rows of a table tell little about a column that is mostly empty there.
    least = 1 if whole else len(frame) / 2
    found = [one for one in found if one.is_wholly_text and one.total >= least]
    if whole and len(frame):
        empty = frame.columns[frame.isna().all()]
        found += [NotNumbers(str(column), [""], 0, 0, "empty") for column in empty]
    return [one for one in found if not options.is_named(one.column)]


def check_numbers(chosen: ChosenColumns, name: str, decimal: str = ".", *, for_a_model: bool = False) -> None:
    """Raise a ValueError that names every column with something other than numbers, and those that do not vary.

    The columns that a model needs cannot be left out, and the message says so.
    """
    found = find_not_numbers(chosen.frame, chosen.text, decimal)
    if found and for_a_model:
        raise ValueError(refusal(found, name, FOR_A_MODEL))
    if found:
        raise ValueError(refusal(found, name, IN_FILES, constant_columns(chosen.frame)))


def _transposed(content: FileContent, options: TableOptions) -> ChosenColumns:
    """Return a table whose features are in rows with the features in columns."""
    import pandas as pd

    frame, name = content.frame, content.name
    options.check_index(list(frame.columns), name)
    if options.index is not None or isinstance(frame.index, pd.RangeIndex):
        frame = frame.set_index(frame.columns[0] if options.index is None else options.index)
    features, samples = [str(label) for label in frame.index], [str(column) for column in frame.columns]
    check_unique(features, name=f"{name} has the row name")
    dropped = matching(options.drop, [*features, *samples], argument="drop", table=name) if options.drop else set()
    wanted = options.wanted(features, name) - dropped
    wanted = set(options.needed([feature for feature in features if feature in wanted], name))
    frame = frame.loc[[f in wanted for f in features], [s not in dropped for s in samples]]
    own = TableOptions(numeric_only=options.numeric_only, na=options.na, text_left_out=options.text_left_out)
    chosen = choose_columns(frame.reset_index(drop=True), own, name, content.decimal)
    check_numbers(chosen, name, content.decimal)
    rows = chosen.frame.T
    rows.columns = [f for f in features if f in wanted]
    return ChosenColumns(rows, [], chosen.left_out)
