"""Long tables: a line for each entry that is not zero, with its row, its column and its value.

A Parquet, Arrow or text file is a long table if it has exactly three columns with the names of a line of `LONG`, in any
order, in small or capital letters. Row ids are whole numbers from 0 on, and the lines are sorted by them; rows that do
not occur are zero. Column ids are whole numbers from 0 on, or texts, which become the feature names, in alphabetical
order. Entries that occur twice are added.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from laconic.core.monitor import warn
from laconic.data.not_numbers import AS_NUMBERS
from laconic.data.sources.arrow import ArrowFile
from laconic.data.sources.streams import name_of
from laconic.data.sources.text import TextPiece, TextTable
from laconic.data.sources.triples import BLOCK_ENTRIES, Triples, TripleSource, check_positions, skipped
from laconic.data.text_files import text_columns

LONG = (
    ("row", "column", "value"),
    ("row", "col", "value"),
    ("row_id", "column_id", "value"),
    ("i", "j", "x"),
    ("doc", "word", "count"),
    ("doc_id", "word_id", "count"),
    ("cell", "gene", "count"),
)


def long_names(names: Sequence[str]) -> list[str] | None:
    """Return the names of the row, the column and the value if these are the columns of a long table."""
    own = {name.lower(): name for name in names}
    found = next((kind for kind in LONG if len(names) == 3 and set(own) == set(kind)), None)
    return None if found is None else [own[part] for part in found]


class LongSource(TripleSource):
    """A long table."""

    def _set_size(self, rows: int, columns: int, words: Iterable[str] | None) -> None:
        """Note the size of the table, which has been found from its ids."""
        if not self.n_entries:
            raise ValueError(f"{self.name} has no rows; give a table with at least two.")
        self.n_rows, self.n_features = rows, columns
        if words is not None:
            self.feature_names = sorted(words)
            self.n_features = len(self.feature_names)
        for what, size in (("row", self.n_rows), ("column", self.n_features)):
            check_positions(self.name, what, size, self.n_entries)

    def _warn_of_one(self, rows: Any, columns: Any) -> None:
        """Warn if the first entries look as if rows and columns were numbered from 1."""
        if len(rows) and int(rows[0]) == 1 and int(columns.min()) == 1 and self.feature_names is None:
            warn(
                f"{self.name} begins with row 1, and its first {len(rows):,} entries have no column 0; numbers of rows "
                "and columns begin at 0. If yours begin at 1, subtract 1."
            )


class LongArrow(LongSource):
    """A long table in Parquet or Arrow files."""

    def __init__(self, contents: Sequence[ArrowFile], names: Sequence[str], block_entries: int = BLOCK_ENTRIES) -> None:
        import pyarrow as pa

        super().__init__(block_entries)
        self._contents, self._names = list(contents), list(names)
        self.files = [content.file for content in contents]
        self.name = name_of(self.files)
        self.n_entries = sum(content.n_rows for content in contents)
        row, column, _ = names
        for content in contents:
            _check_types(content, names)
            if not pa.types.is_integer(content.schema.field(column).type):
                content.dictionaries = [column]
        has_words = bool(contents[0].dictionaries)
        words = set().union(*(self._words(content) for content in contents)) if has_words else None
        columns = 0 if has_words else max(self._largest(content, column) for content in contents) + 1
        self._set_size(max(self._largest(content, row) for content in contents) + 1, columns, words)

    def triples(self, first: int) -> Iterator[Triples]:
        done = 0
        for content in self._contents:
            begin = min(max(first - done, 0), content.n_rows)
            for table in content.batches(self._names, begin, self.block_entries) if begin < content.n_rows else ():
                rows, columns = (self._ids(content, table.column(i), begin) for i in range(2))
                share = (done + begin + table.num_rows) / self.n_entries
                if not done + begin:
                    self._warn_of_one(rows, columns)
                yield Triples(rows, columns, table.column(2).to_numpy(), share, content.file.name, begin)
                begin += table.num_rows
            done += content.n_rows

    def _ids(self, content: ArrowFile, ids: Any, begin: int) -> Any:
        import pyarrow as pa

        if ids.null_count:
            place = begin + int(np.argmax(ids.is_null().to_numpy()))
            raise ValueError(f"{content.file.name} has no id in entry {place}; fill or drop this entry.")
        if pa.types.is_integer(ids.type):
            found = ids.to_numpy()
            return found if found.dtype in (np.int32, np.int64) else found.astype(np.int64)
        encoded = ids.combine_chunks() if pa.types.is_dictionary(ids.type) else ids.dictionary_encode().combine_chunks()
        codes = np.searchsorted(np.array(self.feature_names), encoded.dictionary.to_pylist())
        return codes[encoded.indices.to_numpy()]

    def _words(self, content: ArrowFile) -> set[str]:
        column = self._names[1]
        found: set[str] = set()
        for table in content.batches([column], 0, self.block_entries):
            found.update(table.column(0).unique().drop_null().to_pylist())
        return found

    def _largest(self, content: ArrowFile, name: str) -> int:
        known = content.statistics(name)
        if known is not None:
            return known[1]
        tables = content.batches([name], 0, self.block_entries)
        return max((int(np.max(table.column(0).drop_null().to_numpy(), initial=-1)) for table in tables), default=-1)


class LongText(LongSource):
    """A long table in text files."""

    place_word = "line"

    def __init__(self, table: TextTable, names: Sequence[str], block_entries: int = BLOCK_ENTRIES) -> None:
        super().__init__(block_entries)
        self._table, self.files, self.name = table, table.files, table.name
        self._positions = [table.names.index(name) for name in names]
        self._labels: dict[str, int] | None = None
        rows = columns = -1
        words: set[str] = set()
        self.n_entries = 0
        is_text = bool(text_columns(table.head.reset_index()[[names[1]]]))
        kinds = ("int64", "string" if is_text else "int64", "float64")
        self._types = dict(zip(self._positions, kinds, strict=True))
        for piece in table.pieces(self._types):
            self._check(piece)
            row, column, _ = (piece.frame[position] for position in self._positions)
            self.n_entries += len(row)
            rows = max(rows, int(row.max()))
            if column.dtype.kind in "iu" and not words:
                columns = max(columns, int(column.max()))
            else:
                words.update(column.astype(str).unique())
        if words and columns >= 0:
            raise ValueError(f"{self.name} has numbers and text in the column {names[1]!r}; use one of them.")
        self._set_size(rows + 1, columns + 1, words or None)
        if self.feature_names is not None:
            self._labels = {word: j for j, word in enumerate(self.feature_names)}

    def triples(self, first: int) -> Iterator[Triples]:
        return skipped(self._all(), first)

    def _all(self) -> Iterator[Triples]:
        for number, piece in enumerate(self._table.pieces(self._types)):
            self._check(piece)
            row, column, value = (piece.frame[position] for position in self._positions)
            ids = column if self._labels is None else column.astype(str).map(self._labels)
            if not number:
                self._warn_of_one(row.to_numpy(), ids.to_numpy())
            lines, name = piece.lines, piece.file.name
            yield Triples(row.to_numpy(), ids.to_numpy(), value.to_numpy(), lines.share, name, lines.first_line)

    def _check(self, piece: TextPiece) -> None:
        """Raise a ValueError if a row id is not a whole number, or a value is not a number."""
        row, _, value = self._positions
        wrong = [p for p in text_columns(piece.frame) if p in (row, value)]
        if wrong:
            self._table.refuse_text(piece._replace(frame=piece.frame[wrong]), AS_NUMBERS)
        if piece.frame[row].dtype.kind not in "iu":
            raise ValueError(
                f"{piece.file.name} has a row id that is not a whole number at or below line {piece.lines.first_line}; "
                "number the rows 0, 1, 2 and so on."
            )


def _check_types(content: ArrowFile, names: Sequence[str]) -> None:
    import pyarrow as pa

    row, column, value = (content.schema.field(name).type for name in names)
    text = column.value_type if pa.types.is_dictionary(column) else column
    if not pa.types.is_integer(row):
        raise ValueError(
            f"{content.file.name} has row ids of the type {row} in {names[0]!r}; number the rows 0, 1, 2 and so on."
        )
    if not (pa.types.is_integer(column) or pa.types.is_string(text) or pa.types.is_large_string(text)):
        raise ValueError(
            f"{content.file.name} has column ids of the type {column} in {names[1]!r}; use whole numbers or text."
        )
    if not any(is_kind(value) for is_kind in (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)):
        raise ValueError(f"{content.file.name} has values of the type {value} in {names[2]!r}; use numbers.")
