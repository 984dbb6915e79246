"""Tables on disk."""

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
        A column to use as row labels. By default, when the first column alone holds text, it is taken.

    Returns
    -------
    A pandas frame with the features as columns.
    """
    import pandas as pd

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
    text = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if text and text == [frame.columns[0]]:
        return frame.set_index(text[0])
    return frame


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
    return pd.read_csv(path, sep=separator)
