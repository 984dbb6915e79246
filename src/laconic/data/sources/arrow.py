"""Parquet, Arrow and Feather files of numbers. Only the columns that are wanted are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from laconic.core.arrays import Indices
from laconic.data.compression import refuse_compressed
from laconic.data.files import PARQUET
from laconic.data.names import check_unique
from laconic.data.not_numbers import IN_FILES, NotNumbers, left_out, refusal
from laconic.data.options import AS_FOUND, TableOptions
from laconic.data.sources.contract import BLOCK_NUMBERS, Block, CountedSource, Source
from laconic.data.sources.joined import check_same_columns, joined
from laconic.data.sources.selected import chosen_source
from laconic.data.sources.streams import name_of, reading
from laconic.data.text_files import holds_numbers

# The number of row labels that are looked at: a number among them is not a label.
HEAD_ROWS = 1000
# Row labels are read so many at once.
LABELS = 100_000


class ArrowFile:
    """One Parquet or Arrow file. Rows are read from any row on, a few columns at a time."""

    def __init__(self, file: Path) -> None:
        refuse_compressed(file)
        self.file = file
        #: Columns of text that are read as numbers of words.
        self.dictionaries: list[str] = []
        self._parquet = file.suffix.lower() in PARQUET
        self._metadata: Any = None  # of a Parquet file; it is large if there are many columns, and is read once
        with reading(file), self._opened(None) as content:
            self.schema = content.schema_arrow if self._parquet else content.schema
            self.names: list[str] = list(self.schema.names)
            check_unique(self.names, name=f"{file.name} has the column name")
            #: The number of rows of each row group or record batch.
            if self._parquet:
                self._metadata = content.metadata
                self.sizes = [self._metadata.row_group(g).num_rows for g in range(content.num_row_groups)]
            else:
                self.sizes = [content.get_batch(i).num_rows for i in range(content.num_record_batches)]
        if not self.names:
            raise ValueError(f"{file.name} has no columns; give a table with at least one.")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.sizes)

    def batches(self, names: Sequence[str], first_row: int, size: int) -> Iterator[Any]:
        """Yield some columns as pyarrow tables of exactly `size` rows, the last one shorter, from a row on."""
        import pyarrow as pa

        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        group = max(int(np.searchsorted(starts, first_row, side="right")) - 1, 0)
        skip = first_row - int(starts[group])
        waiting: list[Any] = []
        with reading(self.file), self._opened(names) as content:
            for batch in self._from_group(content, group, names, size):
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                waiting.append(batch.slice(skip))
                skip = 0
                if sum(b.num_rows for b in waiting) >= size:
                    table = pa.Table.from_batches(waiting)
                    whole = table.num_rows // size * size
                    for begin in range(0, whole, size):
                        yield table.slice(begin, size)
                    waiting = table.slice(whole).to_batches() if whole < table.num_rows else []
            if waiting:
                yield pa.Table.from_batches(waiting)

    def statistics(self, name: str) -> tuple[int, int] | None:
        """Return the least and the greatest whole number of a column, if the file says them."""
        if not self._parquet:
            return None
        places = range(self._metadata.num_columns)
        place = next(j for j in places if self._metadata.schema.column(j).path == name)
        found = [self._metadata.row_group(g).column(place).statistics for g in range(len(self.sizes))]
        if not found or any(s is None or not s.has_min_max or not isinstance(s.max, int) for s in found):
            return None
        return min(s.min for s in found), max(s.max for s in found)

    def _from_group(self, content: Any, group: int, names: Sequence[str], size: int) -> Iterator[Any]:
        if self._parquet:
            groups = list(range(group, content.num_row_groups))
            yield from content.iter_batches(size, groups, columns=list(names)) if groups else ()
        else:
            order = [content.schema.names.index(name) for name in names]
            for number in range(group, content.num_record_batches):
                yield content.get_batch(number).select(order)

    @contextmanager
    def _opened(self, names: Sequence[str] | None) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._parquet:
            # Without this, pyarrow keeps the bytes of all row groups that it has read.
            options: Any = {"read_dictionary": self.dictionaries, "pre_buffer": False}
            with pq.ParquetFile(self.file, metadata=self._metadata, **options) as content:
                yield content
            return
        fields = None if names is None else sorted(self.names.index(name) for name in names)
        with pa.memory_map(str(self.file)) as mapped:
            yield pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=fields))


class ArrowSource(CountedSource):
    """The numbers of one Parquet or Arrow file. A first column of text holds row labels and is left out."""

    def __init__(
        self, content: ArrowFile, block_numbers: int = BLOCK_NUMBERS, options: TableOptions = AS_FOUND
    ) -> None:
        self._content, self._options = content, options
        self.name, self.files, self.content = content.file.name, [content.file], str(options)
        self.n_rows = content.n_rows
        self.feature_names, self.note = _features(content, options)
        self.n_features = len(self.feature_names)
        self._step = max(1, block_numbers // max(self.n_features, 1))
        self._labels = _label_column(content, options, self.feature_names)
        self.label_name = self._labels if self._labels and not self._labels.startswith("__index_level") else "row"

    def row_labels(self) -> Iterator[list[str]] | None:
        if self._labels is None:
            return None
        tables = self._content.batches([self._labels], 0, LABELS)
        return ([str(label) for label in table.column(0).to_pylist()] for table in tables)

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self._step)

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        assert self.feature_names is not None
        names = self.feature_names if columns is None else [self.feature_names[int(j)] for j in columns]
        done = first * self._step
        if done >= self.n_rows:
            return
        for table in self._content.batches(names, done, self._step):
            done += table.num_rows
            yield Block(self._options.without_marks(_numbers(table)), done / self.n_rows)


def open_arrow(files: list[Path], options: TableOptions = AS_FOUND) -> Source:
    """Open Parquet or Arrow files with the same columns as one table, wide or long."""
    from laconic.data.sources.long import LongArrow, long_names

    options.refuse_signs(name_of(files))
    contents = [ArrowFile(file) for file in files]
    for content in contents:
        check_same_columns(content.names, contents[0].names, content.file, files[0])
    names = long_names(contents[0].names)
    if names is not None:
        return chosen_source(LongArrow(contents, names), options)
    return joined([ArrowSource(content, options=options) for content in contents], name_of(files))


def _features(content: ArrowFile, options: TableOptions) -> tuple[list[str], str]:
    """Return the names of the columns of numbers, and a sentence about others that are left out.

    A ValueError names all columns of something else.
    """
    stored = (content.schema.pandas_metadata or {}).get("index_columns", [])
    index = {name for name in stored if isinstance(name, str)}
    table = content.file.name
    known = [name for name in content.names if name not in index]
    options.check_index(known, table)
    names = [name for name in options.kept(known, table) if name != options.index]
    wrong = [_not_numbers(content, name) for name in names if not _is_numeric(content, name)]
    # The first column may be one of labels, and others are what is wrong.
    labels = options.index is None and len(names) > 1 and [one.column for one in wrong[:1]] == names[:1]
    alone = len(wrong) == 1 or options.numeric_only or options.text_left_out
    if labels and alone and not holds_numbers(wrong[0].cells):
        names, wrong = names[1:], wrong[1:]
    unwanted = wrong if options.numeric_only else [one for one in wrong if _is_left_out(one, options)]
    refused = [one for one in wrong if one not in unwanted]
    if refused:
        raise ValueError(refusal(refused, table, IN_FILES))
    text = {one.column for one in wrong}
    return [name for name in names if name not in text], left_out(wrong, table, options)


def _label_column(content: ArrowFile, options: TableOptions, features: list[str]) -> str | None:
    """Return the column of row labels: the one given, the index of pandas, or a first column of text."""
    stored = (content.schema.pandas_metadata or {}).get("index_columns", [])
    index = next((name for name in stored if isinstance(name, str) and name in content.names), None)
    first = content.names[0]
    if options.index is not None or index is not None:
        return options.index or index
    if first in features or first in options.dropped(content.names, content.file.name) or _is_numeric(content, first):
        return None
    return None if holds_numbers(_not_numbers(content, first).cells) else first


def _is_left_out(column: NotNumbers, options: TableOptions) -> bool:
    """Return whether a column is left out by default: no cell looks like a number, and the user does not name it."""
    return options.text_left_out and not holds_numbers(column.cells) and not options.is_named(column.column)


def _is_numeric(content: ArrowFile, name: str) -> bool:
    import pyarrow as pa

    kind = content.schema.field(name).type
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(value) for is_kind in kinds)


def _not_numbers(content: ArrowFile, name: str) -> NotNumbers:
    """Return the first cells of a column that is not numeric."""
    head = next(content.batches([name], 0, HEAD_ROWS), None)
    cells = [] if head is None else head.column(0).to_pandas().dropna().astype(str).unique().tolist()
    return NotNumbers(name, cells or [""], 1, 1, str(content.schema.field(name).type))


def _numbers(table: Any) -> Any:
    """Return the columns of a pyarrow table as one array. Empty entries are NaN, which the first pass reports."""
    columns = [_column(column) for column in table.columns]
    dtype = np.float32 if all(c.dtype == np.float32 for c in columns) else np.float64
    numbers = np.empty((table.num_rows, len(columns)), dtype=dtype, order="F")
    for j, column in enumerate(columns):
        numbers[:, j] = column
    return numbers


def _column(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = column.to_numpy()
    return values.astype(np.float64) if values.dtype == object else values
