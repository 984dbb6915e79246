"""Some of the columns of another source."""

import hashlib
from collections.abc import Iterator
from typing import Any

from laconic.core.arrays import Indices
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
        self.files = source.files

    def fingerprint(self) -> str | None:
        own = self._source.fingerprint()
        return own and f"{own} columns {hashlib.sha256(self._columns.tobytes()).hexdigest()}"

    def in_memory(self) -> Any:
        X = self._source.in_memory()
        return None if X is None else X[:, self._columns]

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        return self._source.blocks(self._columns if columns is None else self._columns[columns], first)

    def column_blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block] | None:
        return self._source.column_blocks(self._columns if columns is None else self._columns[columns], first)
