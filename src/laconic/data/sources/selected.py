"""Some of the columns of another source."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from laconic.core.arrays import Indices
from laconic.data.options import TableOptions
from laconic.data.sources.contract import Block, Source


class SelectedSource(Source):
    """The columns with the given numbers, in increasing order. They are numbered from 0 again."""

    def __init__(self, source: Source, columns: Indices, feature_names: list[str] | None = None) -> None:
        self._source = source
        self._columns = columns
        self.name = source.name
        self.n_features = len(columns)
        names = source.feature_names
        own = None if names is None else [names[column] for column in columns]
        self.feature_names = own if feature_names is None else feature_names
        self.n_rows = source.n_rows
        self.sparse = source.sparse
        self.files, self.label_name = source.files, source.label_name

    def fingerprint(self) -> str | None:
        own = self._source.fingerprint()
        return own and f"{own} columns {hashlib.sha256(self._columns.tobytes()).hexdigest()}"

    def in_memory(self) -> Any:
        X = self._source.in_memory()
        return None if X is None else X[:, self._columns]

    def row_labels(self) -> Iterator[list[str]] | None:
        return self._source.row_labels()

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        return self._source.blocks(self._columns if columns is None else self._columns[columns], first)

    def column_blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block] | None:
        return self._source.column_blocks(self._columns if columns is None else self._columns[columns], first)


def chosen_source(source: Source, options: TableOptions) -> Source:
    """Return a source that has no row labels and only numbers, with the columns that a user chooses."""
    if options.index is not None:
        raise ValueError(
            f"index={options.index!r} names a column of row labels, and {source.name} is not a table with such a "
            "column; leave the option out."
        )
    if options.na:
        raise ValueError(f"na={','.join(options.na)!r} is for tables with named columns, not for {source.name}.")
    # Columns without names cannot be those that a model needs by name. Their number is compared later.
    if not (options.drop or options.columns) and (options.only is None or source.feature_names is None):
        return source
    # Columns without names are called by their numbers, also when others are left out.
    names = source.feature_names or [str(number) for number in range(source.n_features)]
    kept = set(options.kept(names, source.name))
    places = [number for number, name in enumerate(names) if name in kept]
    return SelectedSource(source, np.array(places, dtype=np.intp), [names[number] for number in places])
