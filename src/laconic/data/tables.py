"""Tables in memory: names of features, and frames of every library as rows of numbers."""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.words import did_you_mean
from laconic.data.checks import MISSING_OPTIONS, check_finite, check_two_rows

# Messages list at most this many names.
MOST_LISTED = 10
# Names are compared with a misspelt one if there are at most this many. More would take seconds.
MOST_COMPARED = 5000


def feature_names_of(X: Any) -> list[str] | None:
    """Return the column names of a table if all of them are strings, else None. An array has no names."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    return names if names is not None and all(isinstance(name, str) for name in names) else None


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a table of pandas, polars, pyarrow or Dask if all are strings, else None."""
    if hasattr(X, "column_names") and hasattr(X, "num_rows"):
        return list(X.column_names)
    # A lazy frame of polars has no columns yet.
    return feature_names_of(X) if hasattr(X, "columns") and not hasattr(X, "collect") else None


def listed(words: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return the first words of a list, and the number of the others."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def check_unique(names: Sequence[Any], *, name: str) -> None:
    """Raise a ValueError if a name occurs twice. `name` begins the message: "X has the column name"."""
    if len(set(names)) < len(names):
        twice = next(item for item, count in Counter(names).items() if count > 1)
        raise ValueError(f"{name} {twice!r} more than once; give each feature its own name.")


def check_names(names: Sequence[Any], n: int, *, name: str = "feature_names", of: str = "features") -> list[str]:
    """Return names that a user gives for `n` features as a list of texts; a ValueError says what is wrong with them."""
    found = [str(item) for item in names]
    if len(found) != n:
        raise ValueError(f"{name} has {len(found)} names for {n} {of}.")
    check_unique(found, name=f"{name} holds")
    return found


def check_same_columns(names: Sequence[str], expected: Sequence[str], own: str, first: str, of: str = "files") -> None:
    """Raise a ValueError that names the first column of a file or block that differs from those of the first one."""
    if list(names) != list(expected):
        pair = next((a, b) for a, b in zip_longest(names, expected) if a != b)
        has, other = (repr(n) if n is not None else "no column" for n in pair)
        raise ValueError(f"{own} has {has} where {first} has {other}; give {of} with the same columns.")


def places_by_name(wanted: Sequence[str], names: Sequence[str], table: str, why: str) -> list[int]:
    """Return the places of columns. A ValueError lists those that the table does not have.

    `why` says who needs them, such as "the components use".
    """
    places = {name: place for place, name in enumerate(names)}
    missing = [name for name in wanted if name not in places]
    close = [did_you_mean(name, names) if len(names) <= MOST_COMPARED else "." for name in missing[:MOST_LISTED]]
    if len(missing) == 1:
        raise ValueError(f"{table} has no column {missing[0]!r}, which {why}{close[0]}")
    if missing:
        guesses = [f" ({guess.removeprefix('; ')})" if guess != "." else "" for guess in close]
        words = listed([f"{name!r}{guess}" for name, guess in zip_longest(missing, guesses, fillvalue="")])
        raise ValueError(f"{table} lacks {len(missing)} of the {len(wanted)} columns that {why}: {words}.")
    return [places[name] for name in wanted]


def as_array_or_frame(X: Any, *, name: str = "X") -> Any:
    """Return a polars or pyarrow table as a pandas frame of the same numbers, and everything else unchanged.

    A ValueError names all columns that are not numeric, or one that has the name of another. A lazy frame and an array
    with objects that are not numbers raise a TypeError.
    """
    if X is None or isinstance(X, Real | dict | bytes | str | Path):
        kind = "None" if X is None else "the path of a file" if isinstance(X, str | Path) else f"of type {_type(X)}"
        raise TypeError(f"{name} is {kind}; give a table, an array or a sparse matrix.")
    if isinstance(X, np.ndarray) and X.dtype == np.dtype(object) and X.ndim == 2:
        _refuse_objects(X, name)
    if isinstance(X, np.ndarray | list | tuple) or sp.issparse(X):
        return X
    import narwhals as nw

    if _type(X) == "RecordBatch":
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    if not hasattr(X, "collect"):  # a lazy frame would have to be computed for its names
        columns = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
        check_unique(list(columns), name=f"{name} has the column name")
    if nw.dependencies.is_pandas_dataframe(X):
        kinds = zip(X.columns, X.dtypes, strict=True)
        _refuse_text(X, {c: str(d) for c, d in kinds if _is_text(X[c], d)}, name, f"{name}.select_dtypes('number')")
        return X
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a {_type(X)}; call collect() on it first.")
    if isinstance(frame, nw.Series):
        return frame.to_numpy()
    if not isinstance(frame, nw.DataFrame):
        return X
    schema = dict(frame.schema)
    wrong = {column: str(kind) for column, kind in schema.items() if not (kind.is_numeric() or kind == nw.Boolean)}
    _refuse_text(frame, wrong, name, f"{name}.select([...])")
    if set(schema.values()) != {nw.Float32()}:
        frame = frame.select(nw.all().cast(nw.Float64))
    import pandas as pd

    return pd.DataFrame(frame.to_numpy(), columns=frame.columns, copy=False)


def _type(X: Any) -> str:
    return type(X).__name__


def _is_text(values: Any, dtype: Any) -> bool:
    """Say whether a column of pandas holds something other than numbers. Numbers in an object column are accepted."""
    if getattr(dtype, "kind", "O") in "biufc" or str(dtype) == "boolean" or str(dtype).startswith("Sparse"):
        return False
    return str(dtype) != "object" or any(isinstance(value, str) for value in values)


def _refuse_text(frame: Any, wrong: dict[Any, str], name: str, selection: str) -> None:
    """Raise one message about all columns of a frame that are not numeric. `wrong` has their types.

    `selection` is the call that keeps the other columns.
    """
    if not wrong:
        return
    from laconic.data.columns import NotNumbers, find_not_numbers, refusal

    mixed = [column for column, kind in wrong.items() if kind == "object"]
    found = find_not_numbers([frame], mixed) if mixed else []
    if len(mixed) == len(wrong) and not found:
        which = f"{name}[{mixed[0]!r}]"
        raise ValueError(
            f"{name} has numbers that are stored as text, in {listed([repr(column) for column in mixed])}; make them "
            f"numbers with {which} = pandas.to_numeric({which})."
        )
    for column, kind in wrong.items():
        if column not in mixed:
            cell = next((str(cell) for cell in frame[column] if cell is not None and cell == cell), "")
            found.append(NotNumbers(str(column), [cell], 1, 1, kind))
    raise ValueError(refusal(found, name, selection=selection))


def _refuse_objects(X: Any, name: str) -> None:
    """Raise an error for the first entry of an object array that is not a number. Strings such as "1.5" are numbers."""
    for (row, column), entry in np.ndenumerate(X):
        where = f"at row {row}, column {column}"
        if entry is not None and not isinstance(entry, (Real, np.generic, str)):
            words = f"a {_type(entry)} {where}; every argument must be a string of a number or a number"
            raise TypeError(f"{name} has object dtype and {words}.")
        try:
            float(entry or 0)
        except ValueError:
            raise ValueError(f"{name} has object dtype and the text {entry!r} {where}; encode or drop it.") from None


def rows_of(X: Any, *, name: str = "X", missing: str | None = "error") -> tuple[Any, list[str] | None]:
    """Return the result of `as_array_or_frame` as float rows, dense, CSR or CSC, and its column names or None.

    NaN is an error if `missing` is "error", or None, where the caller has no such option.
    """
    # scikit-learn takes a second to import, and most of this room does not need it.
    from sklearn.utils import check_array

    check_two_rows(X, name=name)
    names = feature_names_of(X)
    dtypes = [np.float64, np.float32]
    rows = check_array(X, accept_sparse=("csr", "csc"), dtype=dtypes, ensure_all_finite=False, input_name=name)
    remedy = MISSING_OPTIONS if missing == "error" else ""
    check_finite(rows, name=name, feature_names=names, allow_missing=missing not in ("error", None), remedy=remedy)
    return without_duplicates(rows), names


def without_duplicates(X: Any) -> Any:
    """Return a sparse matrix with repeated entries added up, as a copy if there are any; dense rows unchanged."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
