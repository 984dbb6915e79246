"""Tables on disk."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

READERS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "feather",
    ".feather": "feather",
}


def load(path: str | Path, *, index: str | None = None) -> "pd.DataFrame":
    """Read a table from a CSV (also gzipped), TSV, Parquet or Arrow file.

    Parameters
    ----------
    path
        The file; its ending says the format.
    index
        A column to use as row labels. By default the first is taken when it alone holds text, or has no name, as pandas
        writes the labels of rows.

    Returns
    -------
    A pandas frame with the features as columns.
    """
    path = Path(path)
    suffixes = [s.lower() for s in path.suffixes]
    ending = next((s for s in reversed(suffixes) if s not in (".gz", ".zst", ".bz2", ".xz")), "")
    if ending not in READERS:
        raise ValueError(f"{path.name} has no known ending; use one of {', '.join(READERS)}.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    frame = _read(path, READERS[ending])
    if index is not None:
        if index not in frame.columns:
            raise ValueError(f"index={index!r} is not a column of {path.name}.")
        return frame.set_index(index)
    return label_rows(frame)


def label_rows(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the frame with its first column as labels of the rows if that column alone holds text.

    Parameters
    ----------
    frame
        The table.
    """
    import pandas as pd

    text = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    return frame.set_index(text[0]) if text and text == [frame.columns[0]] else frame


def _read(path: Path, kind: str) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow as pa

    try:
        if kind == "parquet":
            return pd.read_parquet(path)
        if kind == "feather":
            return pd.read_feather(path)
        return _read_text(path, "," if kind == "csv" else "\t")
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path.name} is empty.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, pa.ArrowException, OSError, EOFError) as error:
        first = str(error).partition("\n")[0]
        raise ValueError(f"{path.name} cannot be read as a table: {first}") from None


def _read_text(path: Path, separator: str) -> "pd.DataFrame":
    import pandas as pd

    names = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str).iloc[0].tolist()
    twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if twice is not None:
        # pandas would rename the second one quietly.
        raise ValueError(f"{path.name} has the column name {twice!r} more than once; give each its own.")
    if len(names) > 1 and all(_is_number(name) for name in names) and not all(name.isdecimal() for name in names):
        warnings.warn(
            f"{path.name} begins with a line of numbers, which are taken as the names of the columns; "
            "add a line of names if they are data.",
            stacklevel=4,
        )
    # A first column without a name holds the labels of the rows: pandas and R write them so.
    labelled = len(names) > 1 and pd.isna(names[0]) and not pd.isna(names[1])
    return pd.read_csv(path, sep=separator, index_col=0 if labelled else None)


def _is_number(text: object) -> bool:
    try:
        return float(str(text)) == float(str(text))
    except ValueError:
        return False
