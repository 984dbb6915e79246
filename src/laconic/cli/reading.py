"""What the commands read: a small table as a whole, and everything else in blocks."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

if TYPE_CHECKING:
    import pandas as pd

    from laconic.data.files import FileContent
    from laconic.data.sources import Source
    from laconic.data.sources.options import TableOptions

# A table as a whole, or data that are read in blocks.
Data: TypeAlias = "pd.DataFrame | Source"

STANDARD_INPUT = Path("-")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " "}
# A table in one file of at most this many bytes is read as a whole, which takes about as much memory. Its scores then
# have row labels, and its rows can be drawn.
WHOLE_BYTES = 200_000_000
# A file that is compressed, as Parquet files are, counts as this many times its size. Tables of counts reach that.
UNPACKED = 5


def read(
    files: Sequence[Path],
    index: str | None,
    drop: Sequence[str] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    *,
    blocks: bool = False,
    covariance: bool = False,
) -> Data:
    """Read a small table, without the unwanted columns; open anything else, or any data if `blocks` is set.

    A column that does not hold numbers is a ValueError. A covariance matrix is always read as a whole.
    """
    from laconic.data.files import read_file
    from laconic.data.sources.long import long_names
    from laconic.data.sources.options import TableOptions
    from laconic.data.sources.registry import find_files

    separator = separator if separator is None else NAMED_SEPARATORS.get(separator, separator)
    options = TableOptions(tuple(drop or ()), index, separator, decimal)
    if STANDARD_INPUT in files:
        if blocks or len(files) > 1:
            raise ValueError("Standard input (-) is one table that is read as a whole; give files instead.")
        return _numbers(read_file(typer.get_binary_stream("stdin"), separator=separator, decimal=decimal), options)
    found = find_files(*files)
    if not blocks and _is_whole(found, covariance):
        content = read_file(found[0], separator=separator, decimal=decimal)
        # A long table has a line for each entry, so that its lines are no rows.
        if covariance or long_names([str(name) for name in content.frame.columns]) is None:
            return _numbers(content, options)
    return _opened(found, options, covariance)


def features(given: Sequence[str] | None, data: Data) -> list[str | int] | None:
    """Return the features that an option names, separated by commas; by their numbers if the data have no names."""
    from laconic.data.names import split_names
    from laconic.data.sources import Source

    if not given:
        return None
    names = data.feature_names if isinstance(data, Source) else list(data.columns)
    found = split_names(given, names or ())
    return [int(name) if names is None and name.isdecimal() else name for name in found]


def _is_whole(files: Sequence[Path], covariance: bool) -> bool:
    """Return whether the files are one table that is read as a whole."""
    from laconic.data.compression import DECOMPRESSORS, ending_of
    from laconic.data.files import ENDINGS, PARQUET

    file = files[0]
    if len(files) > 1 or ending_of(file) not in ENDINGS or file.name.startswith("docword."):
        return False
    packed = file.suffix.lower() in (*DECOMPRESSORS, *PARQUET)
    return covariance or file.stat().st_size * (UNPACKED if packed else 1) <= WHOLE_BYTES


def _opened(files: Sequence[Path], options: "TableOptions", covariance: bool) -> "Source":
    from laconic.core.wording import memory_in_words
    from laconic.data.sources.registry import open_files
    from laconic.data.sources.streams import name_of

    name = name_of(files)
    if covariance:
        raise ValueError(
            f"{name} would be read in blocks of rows; give a covariance matrix as one table (.csv, .parquet, ...), "
            "without --blocks."
        )
    size = memory_in_words(sum(_bytes_of(file) for file in files))
    be = "is" if len(files) == 1 else "are"
    typer.echo(f"laconic: {name} ({size}) {be} read in blocks, at least twice.", err=True)
    try:
        return open_files(files, options)
    except ImportError as error:  # a package that only this format needs
        raise ValueError(str(error)) from None


def _bytes_of(file: Path) -> int:
    return sum(f.stat().st_size for f in file.rglob("*") if f.is_file()) if file.is_dir() else file.stat().st_size


def _numbers(content: "FileContent", options: "TableOptions") -> "pd.DataFrame":
    """Return a table with row labels, without the unwanted columns; a ValueError names a column of something else."""
    from laconic.data.files import label_rows

    if content.warning:
        warnings.warn(content.warning, stacklevel=1)
    frame = content.frame
    # A Parquet file may have numbers as column names. On the command line every name is text.
    frame.columns = frame.columns.map(str)
    frame = frame.drop(columns=options.dropped(list(frame.columns), content.name))
    frame, text = label_rows(frame, options.index, content.name)
    _refuse_text(frame, text, content.name)
    return frame


def _refuse_text(frame: "pd.DataFrame", text: Sequence[Any], name: str) -> None:
    """Raise a ValueError if one of the text columns has an entry that is not a number."""
    import pandas as pd

    for column in text:
        entries = frame[column].dropna().astype(str)
        wrong = entries[pd.to_numeric(entries, errors="coerce").isna()]
        if len(wrong):
            raise ValueError(
                f"{name} has a column that does not hold numbers: {column!r}, with {wrong.iloc[0]!r}; leave it out "
                "(--drop) or use it as row labels (--index)."
            )
