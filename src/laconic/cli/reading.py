"""Data for the commands: a small table is read as a whole, everything else in blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from laconic.data.columns import TableOptions

STANDARD_INPUT = Path("-")
# A table in one file of at most this many bytes is read as a whole, which takes about as much memory. Its scores then
# have row labels, and its rows can be drawn. A compressed file, as Parquet files are, counts as so many times its size.
WHOLE_BYTES, UNPACKED = 200_000_000, 5
# What --read takes without a value, and words for separators.
SWITCHES = ("transpose", "numeric_only", "blocks")
SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " "}


@dataclass(frozen=True, eq=False)
class Data:
    """What a command works on."""

    rows: Any  # a frame, a source that is read in blocks, or a covariance matrix
    name: str  # for messages
    note: str = ""  # a sentence about columns that are left out
    colors: "pd.Series | None" = None  # a value for each row

    @property
    def in_blocks(self) -> bool:
        """Whether the rows are read in blocks."""
        return not hasattr(self.rows, "iloc")

    def features(self, given: Sequence[str] | None) -> list[str | int] | None:
        """Return the features that an option names, separated by commas; by number if the columns have no names."""
        from laconic.data.columns import split_names

        if not given:
            return None
        names = self.rows.feature_names if self.in_blocks else list(self.rows.columns)
        found = split_names(given, names or ())
        return [int(name) if names is None and name.isdecimal() else name for name in found]


def options_of(given: Sequence[str] | None) -> dict[str, Any]:
    """Return the options of --read by name, in the words of `laconic.read_table`."""
    found: dict[str, Any] = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if bool(sign) == (key in SWITCHES):
            raise ValueError(f"--read {text}: {key} {'has no' if sign else 'needs a'} value; see laconic fit --help.")
        found[key] = SEPARATORS.get(value, value) if sign else True
    return found


def read_again(
    files: Sequence[Path], certificates: Sequence[Any], given: Sequence[str] | None, color_by: str | None = None
) -> Data:
    """Read the data of certificates: the columns that they name, or the matrix that they are about."""
    first = next((one for one in certificates if one is not None), None)
    matrix = first is not None and first.recipe.given == "covariance"
    names = None if first is None or matrix else first.feature_names
    return read(files, options_of(given), color_by=color_by, covariance=matrix, only=names)


def read(
    files: Sequence[Path],
    options: dict[str, Any],
    *,
    color_by: str | None = None,
    covariance: bool = False,
    only: Sequence[str] | None = None,
) -> Data:
    """Read a small table, or open anything else; `options` are those of `laconic.read_table`, and `blocks`.

    Columns without any number are left out, and a line on standard error says so. A column with numbers and something
    else is a ValueError. `only` are the names of the columns that a model or certificate needs; all others may hold
    anything. The column `color_by` is returned beside the rows.
    """
    from laconic.core.monitor import Note, warn
    from laconic.data.columns import TableOptions
    from laconic.data.files import find_files, name_of, open_files

    blocks, transpose = (bool(options.pop(name, False)) for name in ("blocks", "transpose"))
    # A column that is left out of a covariance matrix would leave its row behind.
    wanted = TableOptions.of(**options, text_left_out=not covariance and only is None, only=only)
    if STANDARD_INPUT in files:
        if blocks or len(files) > 1:
            raise ValueError("Standard input (-) is one table that is read as a whole; give files instead.")
        return _whole(typer.get_binary_stream("stdin"), wanted, transpose, color_by)
    found = find_files(*files)
    name = name_of(found)
    if not blocks and _is_whole(found, covariance or transpose):
        return _whole(found[0], wanted, transpose, color_by)
    if color_by is not None or transpose:
        why = "transpose" if transpose else f"color_by={color_by!r}"
        raise ValueError(f"{why} needs one table that is read as a whole, and {name} is read in blocks.")
    source = open_files(found, wanted)
    if covariance:
        return Data(_matrix(source), name)
    if source.in_memory() is None:
        warn(f"{name} {'is' if len(found) == 1 else 'are'} read in blocks.", Note)
    if source.note:
        warn(source.note, Note)
    return Data(source, name, source.note)


def _is_whole(files: Sequence[Path], whatever_its_size: bool) -> bool:
    """Return whether the files are one table that is read as a whole."""
    from laconic.data.files import ARROW, TABLES
    from laconic.data.text import PACKED, ending_of

    file = files[0]
    if len(files) > 1 or ending_of(file) not in TABLES:
        return False
    packed = file.suffix.lower() in (*PACKED, *ARROW)
    return whatever_its_size or file.stat().st_size * (UNPACKED if packed else 1) <= WHOLE_BYTES


def _whole(file: Any, options: "TableOptions", transpose: bool, color_by: str | None) -> Data:
    """Read a table, and the column that colours its rows. That is left out of the table if no option names it."""
    import pandas as pd

    from laconic.core.monitor import Note, warn
    from laconic.core.words import did_you_mean
    from laconic.data.columns import left_out
    from laconic.data.files import check_numbers, read_file, table_of

    content = read_file(file, options)
    # A Parquet file may have numbers as column names. On the command line every name is text.
    content.frame.columns = content.frame.columns.map(str)
    values: Any = None
    if color_by is not None:
        names = list(content.frame.columns)
        if color_by not in names:
            raise ValueError(f"color_by={color_by!r} is not a column of {content.name}{did_you_mean(color_by, names)}")
        values = content.frame[color_by].to_numpy()
        if not options.is_named(color_by) and color_by != options.index and options.only is None:
            options = replace(options, drop=(*options.drop, color_by))
    chosen = table_of(content, options, transpose=transpose)
    check_numbers(content, chosen, options)
    note = left_out(chosen.left_out, content.name, options)
    if note:
        warn(note, Note)
    frame = chosen.frame
    colors = None if values is None else pd.Series(values, index=frame.index, name=color_by)
    return Data(frame, content.name, note, colors)


def _matrix(source: Any) -> Any:
    """Return a matrix in a file of arrays as a frame."""
    import numpy as np
    import pandas as pd

    rows = [block.rows for block in source.blocks()]
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in rows]
    return pd.DataFrame(np.concatenate(dense), columns=source.feature_names)
