"""Spreadsheets. They are small, and are read as a whole."""

from pathlib import Path

import numpy as np

from laconic.core.monitor import warn
from laconic.data.files import check_numbers, read_file, table_of
from laconic.data.not_numbers import left_out
from laconic.data.options import AS_FOUND, TableOptions
from laconic.data.sources.contract import CountedSource, Source
from laconic.data.sources.joined import check_same_columns, joined
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.streams import name_of


def open_excel(files: list[Path], options: TableOptions = AS_FOUND) -> Source:
    """Open spreadsheets with the same columns as one table."""
    sources = [_open(file, options) for file in files]
    first = sources[0]
    for file, source in zip(files, sources, strict=True):
        check_same_columns(source.feature_names or [], first.feature_names or [], file, files[0])
    return joined(sources, name_of(files))


def _open(file: Path, options: TableOptions) -> CountedSource:
    content = read_file(file, options)
    if content.warning:
        warn(content.warning)
    chosen = table_of(content, options, transpose=False)
    check_numbers(chosen, content.name)
    numbers = chosen.frame.to_numpy(dtype=np.float64, na_value=np.nan)
    source = ArraySource(numbers, content.name, [str(column) for column in chosen.frame.columns])
    source.files, source.content = [file], str(options)
    source.note = left_out(chosen.left_out, content.name, options)
    return source
