"""Tables on disk."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from laconic.data.text import holds_numbers, read_text, text_columns

if TYPE_CHECKING:
    import pandas as pd

# Of a text table, the separator that its ending stands for.
USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*USUAL, *PARQUET, ".arrow", ".feather")
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")


def load(
    path: str | Path | BinaryIO, *, index: str | None = None, separator: str | None = None, decimal: str | None = None
) -> "pd.DataFrame":
    """Read a table from a text (also gzipped), Parquet or Arrow file.

    Parameters
    ----------
    path
        The file; its ending says the format: .csv, .tsv and .txt are text. A stream of bytes is read as text too.
    index
        A column to use as row labels. By default the first is taken when it alone holds text and none of it is a
        number, or when it has no name, as pandas writes the labels of rows.
    separator
        Of the fields in text; " " stands for any number of blanks. By default it is found in the first two lines: of
        a comma in .csv or a tab in .tsv and .txt, then comma, semicolon, tab, bar and blank, the first that both have
        and that makes numbers of the second; if none does, the first that both have.
    decimal
        The decimal sign in text: "." or ",". By default a point; a comma if semicolons separate fields such as 1,5.

    Returns
    -------
    A pandas frame with the features as columns.
    """
    if separator is not None and len(separator) != 1:
        raise ValueError(f"separator={separator!r} must be one character.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal={decimal!r} must be '.' or ','.")
    if isinstance(path, str | Path):
        path, ending = _checked(Path(path))
        name = path.name
        if ending not in USUAL and (separator or decimal):
            raise ValueError(f"separator and decimal are for text, and {name} is none.")
    else:
        path, ending, name = io.BytesIO(path.read()), ".csv", getattr(path, "name", "the table")
    frame = _read(path, name, ending, separator, decimal)
    if index is not None:
        if index not in frame.columns:
            raise ValueError(f"index={index!r} is not a column of {name}.")
        return frame.set_index(index)
    return label_rows(frame)


def label_rows(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the frame with its first column as labels of the rows if that column alone holds text, and no number.

    A column of numbers with a mark for missing ones, or with commas between thousands, is text to pandas: no label.

    Parameters
    ----------
    frame
        The table.
    """
    text = text_columns(frame)
    is_labelled = len(text) == 1 < frame.shape[1] and text[0] == frame.columns[0] and not holds_numbers(frame[text[0]])
    return frame.set_index(text[0]) if is_labelled else frame


def _checked(path: Path) -> tuple[Path, str]:
    """Return the path of a file, and the ending that says its format."""
    if path.is_dir():
        raise ValueError(f"{path} is a directory; give a file.")
    ending = next((s for s in map(str.lower, reversed(path.suffixes)) if s not in COMPRESSED), "")
    if ending not in ENDINGS:
        raise ValueError(f"{path.name} has no known ending; use one of {', '.join(ENDINGS)}.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    return path, ending


def _read(
    source: Path | io.BytesIO, name: str, ending: str, separator: str | None, decimal: str | None
) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow as pa

    try:
        if ending in USUAL:
            return read_text(source, name, USUAL[ending], separator, decimal)
        return pd.read_parquet(source) if ending in PARQUET else pd.read_feather(source)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, pa.ArrowException, OSError, EOFError, ImportError) as error:
        first = str(error).partition("\n")[0]
        raise ValueError(f"{name} cannot be read as a table: {first}") from None
