"""New rows for a fitted model: columns are found by name, so that those that are not needed may be anything."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from laconic.data.rows import SelectedSource, Source, open_source
from laconic.data.tables import check_unique, column_names, places_by_name

#: The values of the parameter `new_rows` of `SparsePCA`.
RULES = ("used", "all")


def rows_by_name(X: Any, names: Sequence[str], why: str) -> tuple[Any, bool]:
    """Return X with the columns of these names only, in this order, and whether that could be done.

    X may be a table, the path of a file, or anything else that `open_source` takes. The result is a table in memory or
    a source. It is not done if X has no names. `why` says who needs them, for a message about missing ones.
    """
    if isinstance(X, str | Path) or (isinstance(X, list | tuple) and X and isinstance(X[0], str | Path)):
        return _arranged(open_source(X, only=names), names, why)
    if column_names(X) is not None:
        table = _selected(X, names, "X", why)
        source = open_source(table)
        return (table if source is None else source), True
    if _yields_tables(X):
        return open_source(_SelectedTables(X, names, why)), True
    source = open_source(X)
    return (X, False) if source is None else _arranged(source, names, why)


def _arranged(source: Source | None, names: Sequence[str], why: str) -> tuple[Any, bool]:
    assert source is not None
    if source.feature_names is None:
        return source, False
    if list(names) == source.feature_names:
        return source, True
    places = places_by_name(names, source.feature_names, source.name, why)
    return SelectedSource(source, np.array(places, dtype=np.intp)), True


def _selected(table: Any, names: Sequence[str], name: str, why: str) -> Any:
    """Return some columns of a table in memory, or of a Dask dataframe."""
    own = column_names(table)
    assert own is not None
    if own == list(names):
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
