"""Columns found by name: a table may have further columns, in any order."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from laconic.data.rows import SelectedSource, Source, open_source
from laconic.data.tables import as_array_or_frame, check_unique, column_names, feature_names_of, places_by_name


def columns_by_name(X: Any, names: Sequence[str], why: str, *, square: bool = False) -> Any:
    """Return X with the columns of these names only, in this order; X itself if it has no names.

    X may be a table, the path of a file, or anything else that `open_source` takes. The result is a table in memory or
    a source. `why` says who needs the columns, for a message about missing ones. The rows of a `square` matrix go with
    its columns.
    """
    if square:
        return _matrix_by_name(X, names, why)
    if isinstance(X, str | Path) or (isinstance(X, list | tuple) and X and isinstance(X[0], str | Path)):
        return _arranged(open_source(X, only=names), names, why)
    if column_names(X) is not None:
        return _selected(X, names, "X", why)
    if _yields_tables(X):
        return open_source(_SelectedTables(X, names, why))
    source = open_source(X)
    return X if source is None else _arranged(source, names, why)


def _matrix_by_name(X: Any, names: Sequence[str], why: str) -> Any:
    if column_names(X) is None or column_names(X) == list(names):
        return X
    table = as_array_or_frame(X, name="S")
    places = places_by_name(names, feature_names_of(table) or [], "S", why)
    return table.iloc[places, places]


def _arranged(source: Source | None, names: Sequence[str], why: str) -> Any:
    if source is None or source.feature_names is None or list(names) == source.feature_names:
        return source
    places = places_by_name(names, source.feature_names, source.name, why)
    return SelectedSource(source, np.array(places, dtype=np.intp))


def _selected(table: Any, names: Sequence[str], name: str, why: str) -> Any:
    """Return some columns of a table in memory, or of a Dask dataframe."""
    own = column_names(table)
    if own is None or own == list(names):
        return table
    wanted = set(names)
    check_unique([column for column in own if column in wanted], name=f"{name} has the column name")
    places_by_name(names, own, name, why)
    return table.select(list(names)) if hasattr(table, "column_names") else table[list(names)]


class _SelectedTables:
    """Some columns of tables that an object yields each time it is iterated over."""

    def __init__(self, tables: Iterable[Any], names: Sequence[str], why: str) -> None:
        self._tables, self._names, self._why = tables, names, why

    def __iter__(self) -> Iterator[Any]:
        for number, table in enumerate(self._tables):
            name = f"block {number} of X"
            if column_names(table) is None:
                raise ValueError(f"{name} has no column names, and block 0 has; give blocks with the same columns.")
            yield _selected(table, self._names, name, self._why)


def _yields_tables(X: Any) -> bool:
    """Say whether an object can be iterated over again and again, and yields tables with names."""
    if isinstance(X, Source | str | bytes | dict) or not isinstance(X, Iterable) or hasattr(X, "shape"):
        return False
    return iter(X) is not X and column_names(next(iter(X), None)) is not None
