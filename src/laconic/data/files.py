"""Tables in files."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from laconic.data.compression import BROKEN, decompressed, ending_of
from laconic.data.text_files import check_signs, holds_numbers, read_text, text_columns

if TYPE_CHECKING:
    import pandas as pd

# Text files: the ending of the name, and the separator to try first.
USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*USUAL, *PARQUET, ".arrow", ".feather")


@dataclass(frozen=True, eq=False)
class FileContent:
    """A table as it is in its file: row labels are still a column, and columns may hold text."""

    frame: "pd.DataFrame"
    name: str  # the name of the file, for messages
    warning: str = ""  # a sentence for the user about the content, if there is one


def read_table(
    path: str | Path | BinaryIO, *, index: str | None = None, separator: str | None = None, decimal: str | None = None
) -> "pd.DataFrame":
    """Read a table from a text, Parquet or Arrow file, compressed or not.

    Parameters
    ----------
    path
        The file. The ending of its name says the format: .csv, .tsv and .txt are text; .parquet, .pq, .arrow and
        .feather are not. It may be compressed: .gz, .bz2, .xz or .zst. A stream of bytes is read as text.
    index
        The column that holds the row labels. By default the first column, if it holds only text or has no name, and if
        all other columns are numeric.
    separator
        The separator of fields in text; " " means any number of blanks. By default it is guessed from the first two
        lines.
    decimal
        The decimal sign in text: "." or ",". By default a point. If semicolons separate the fields and a field looks
        like "1,5", it is a comma.

    Returns
    -------
    A pandas frame. Its columns are the features.
    """
    content = read_file(path, separator=separator, decimal=decimal)
    if content.warning:
        warnings.warn(content.warning, stacklevel=2)
    return label_rows(content.frame, index, content.name)[0]


def read_file(path: str | Path | BinaryIO, *, separator: str | None = None, decimal: str | None = None) -> FileContent:
    """Open a file once and parse it once. The arguments are those of `read_table`."""
    import pandas as pd
    import pyarrow as pa

    check_signs(separator, decimal)
    if isinstance(path, str | Path):
        name, ending = _name_and_ending(Path(path))
    else:
        name, ending = str(getattr(path, "name", "the table")), ".csv"
    if ending not in USUAL and (separator or decimal):
        raise ValueError(f"separator and decimal are for text, and {name} is not text.")
    try:
        with _opened(path) as content:
            if ending in USUAL:
                frame, warning = read_text(content, name, USUAL[ending], separator, decimal)
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


def label_rows(frame: "pd.DataFrame", index: str | None, name: str) -> "tuple[pd.DataFrame, list[Any]]":
    """Return a frame with the row labels as its index, and the names of the columns that hold text.

    If `index` is None, the first column holds the labels, provided that it is the only one with text and that no entry
    of it is a number. Numbers with a mark for missing ones, or with commas between thousands, are text for pandas; such
    a column is not used as labels.
    """
    if index is not None:
        if index not in frame.columns:
            raise ValueError(f"index={index!r} is not a column of {name}.")
        frame = frame.set_index(index)
    text = text_columns(frame)
    is_first = len(text) == 1 < frame.shape[1] and text[0] == frame.columns[0]
    if index is None and is_first and not holds_numbers(frame[text[0]]):
        return frame.set_index(text[0]), []
    return frame, text
