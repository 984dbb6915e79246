"""What the commands read: a small table as a whole, and everything else in blocks."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import typer

from laconic.cli.common import in_options

if TYPE_CHECKING:
    import pandas as pd

    from laconic.data.columns import TableOptions
    from laconic.data.files import FileContent
    from laconic.data.rows import Source

# A table as a whole, or data that are read in blocks.
Data: TypeAlias = "pd.DataFrame | Source"

STANDARD_INPUT = Path("-")
# The attribute of a table that holds the sentence about columns left out.
NOTE = "left out"
# How to give rows that are held in memory, for commands that draw rows or permute columns.
IN_MEMORY = "give them as one table (.csv, .parquet, ...), without --blocks"
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " "}
# A table in one file of at most this many bytes is read as a whole, which takes about as much memory. Its scores then
# have row labels, and its rows can be drawn.
WHOLE_BYTES = 200_000_000
# A file that is compressed, as Parquet files are, counts as this many times its size. Tables of counts reach that.
UNPACKED = 5


def read(files: Sequence[Path], index: str | None = None, **options: Any) -> Data:
    """Read a table without colours: see `read_colored`."""
    return read_colored(files, None, index, **options)[0]


def read_colored(
    files: Sequence[Path],
    color_by: str | None,
    index: str | None = None,
    drop: Sequence[str] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    numeric_only: bool = False,
    na: Sequence[str] | None = None,
    transpose: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
    blocks: bool = False,
    covariance: bool = False,
    only: Sequence[str] | None = None,
    once: bool = False,
) -> "tuple[Data, pd.Series | None]":
    """Read a small table, with the wanted columns; open anything else, or any data if `blocks` is set.

    Columns without any number are left out, and a line on standard error says so. A column with numbers and something
    else is a ValueError. A covariance matrix, and a table that is transposed, are always read as a whole. Empty cells
    are NaN. `only` are the exact names of the columns that a model needs; all others may hold anything. `once` says
    that blocks are read once. The column `color_by` is returned beside the table.
    """
    from laconic.data.columns import TableOptions
    from laconic.data.files import find_files

    if color_by is not None and (covariance or transpose or blocks):
        other = "covariance" if covariance else "transpose" if transpose else "blocks"
        raise ValueError(f"--color-by {color_by} needs a table of rows that is read as a whole; leave out --{other}.")
    separator = separator if separator is None else NAMED_SEPARATORS.get(separator, separator)
    options = TableOptions.of(
        drop=drop,
        columns=columns,
        na=na,
        index=index,
        sep=separator,
        decimal=decimal,
        numeric_only=numeric_only and only is None,
        encoding=encoding,
        sheet=sheet,
        # A column that is left out of a covariance matrix would leave its row behind.
        text_left_out=not covariance and only is None,
        only=only,
    )
    if STANDARD_INPUT in files:
        if blocks or len(files) > 1:
            raise ValueError("Standard input (-) is one table that is read as a whole; give files instead.")
        return _whole(_content(typer.get_binary_stream("stdin"), options), options, transpose, color_by)
    found = find_files(*files)
    if not blocks and _is_whole(found, covariance or transpose):
        return _whole(_content(found[0], options), options, transpose, color_by)
    if color_by is not None:
        raise ValueError(f"--color-by {color_by} needs one table that is read as a whole, and this is read in blocks.")
    return _opened(found, options, "covariance" if covariance else "transpose" if transpose else None, once=once), None


def _whole(
    content: "FileContent", options: "TableOptions", transpose: bool, color_by: str | None
) -> "tuple[pd.DataFrame, pd.Series | None]":
    """Return a table, and the column that colours its rows. That is left out of the table if no option names it."""
    import pandas as pd

    from laconic.core.wording import did_you_mean

    if color_by is None:
        return _numbers(content, options, transpose), None
    names = [str(column) for column in content.frame.columns]
    if color_by not in names:
        raise ValueError(f"--color-by {color_by} is not a column of {content.name}{did_you_mean(color_by, names)}")
    colors = content.frame.iloc[:, names.index(color_by)].to_numpy()
    if not options.is_named(color_by) and color_by != options.index:
        options = replace(options, drop=(*options.drop, color_by))
    frame = _numbers(content, options, transpose)
    return frame, pd.Series(colors, index=frame.index, name=color_by)


@contextmanager
def named(files: Sequence[Path], contrast: Path | None = None) -> Iterator[None]:
    """Name the file in errors of the library about its argument: "X has NaN" becomes "data.csv has NaN"."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (with_names(error.args[0], files, contrast), *error.args[1:])
        raise


def with_names(text: str, files: Sequence[Path], contrast: Path | None = None) -> str:
    """Return a text of the library with the names of files in place of those of its arguments."""
    name = "the table" if STANDARD_INPUT in files else files[0].name
    text = re.sub(r"(?<![\w'])(X|S|data)\[(\d+), (\d+)\]", r"entry (\2, \3)", text)
    text = re.sub(r"(?<![\w'\[(=])[XS](?![\w'\]\[])", lambda _: name, text)
    text = re.sub(r"(^|(?<=: ))data(?= (has|is) )", lambda _: name, text)
    if contrast is not None:
        text = re.sub(r"(^|(?<=: ))contrast(?= (has|is) )(?! has the weight)", lambda _: contrast.name, text)
    text = text.replace("contrast has the weight", "--contrast-weight has the value").replace("contrast=Y", "contrast=")
    return re.sub(r"load (it|the rows) first(, for example)? with (laconic\.)?read_table", IN_MEMORY, text)


def features(given: Sequence[str] | None, data: Data) -> list[str | int] | None:
    """Return the features that an option names, separated by commas; by their numbers if the data have no names."""
    from laconic.data.rows import Source
    from laconic.data.tables import split_names

    if not given:
        return None
    names = data.feature_names if isinstance(data, Source) else list(data.columns)
    found = split_names(given, names or ())
    return [int(name) if names is None and name.isdecimal() else name for name in found]


def _is_whole(files: Sequence[Path], whatever_its_size: bool) -> bool:
    """Return whether the files are one table that is read as a whole."""
    from laconic.data.files import PARQUET, TABLES
    from laconic.data.text import PACKED, ending_of

    file = files[0]
    if len(files) > 1 or ending_of(file) not in TABLES:
        return False
    packed = file.suffix.lower() in (*PACKED, *PARQUET)
    return whatever_its_size or file.stat().st_size * (UNPACKED if packed else 1) <= WHOLE_BYTES


def _content(file: "Path | BinaryIO", options: "TableOptions") -> "FileContent":
    from laconic.data.files import read_file

    try:
        return read_file(file, options)
    except ImportError as error:  # a package that only this format needs
        raise ValueError(str(error)) from None


def _opened(files: Sequence[Path], options: "TableOptions", whole: str | None, *, once: bool) -> "Source":
    from laconic.core.wording import memory_in_words
    from laconic.data.files import name_of, open_files

    name = name_of(files)
    if whole is not None:
        what = "a covariance matrix" if whole == "covariance" else "a table to transpose"
        raise ValueError(
            f"{name} would be read in blocks of rows; give {what} as one table (.csv, .parquet, ...), without --blocks."
        )
    size = memory_in_words(sum(_bytes_of(file) for file in files))
    be = "is" if len(files) == 1 else "are"
    typer.echo(f"laconic: {name} ({size}) {be} read in blocks{'' if once else ', at least twice'}.", err=True)
    try:
        source = open_files(files, options)
    except ImportError as error:  # a package that only this format needs
        raise ValueError(str(error)) from None
    _say(source.note)
    return source


def _say(note: str) -> None:
    if note:
        typer.echo(f"laconic: {in_options(note)}", err=True)


def _bytes_of(file: Path) -> int:
    return sum(f.stat().st_size for f in file.rglob("*") if f.is_file()) if file.is_dir() else file.stat().st_size


def _numbers(content: "FileContent", options: "TableOptions", transpose: bool) -> "pd.DataFrame":
    """Return a table with row labels and the wanted columns; a ValueError names all columns of something else."""
    from laconic.data.columns import left_out
    from laconic.data.files import check_numbers, table_of

    chosen = table_of(content, options, transpose=transpose)
    check_numbers(content, chosen, options)
    note = left_out(chosen.left_out, content.name, options)
    _say(note)
    chosen.frame.attrs[NOTE] = note
    return chosen.frame
