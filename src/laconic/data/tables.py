"""Arrays, sparse matrices and tables from the user, as arrays or pandas frames; clear messages for wrong input."""

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.data.checks import MISSING_OPTIONS, check_finite, check_two_rows
from laconic.data.names import check_unique, feature_names_of, listed
from laconic.data.not_numbers import NotNumbers, constant_columns, find_not_numbers, in_memory, refusal

# The rows of a polars or pyarrow table from which a message quotes cells.
EXAMPLE_ROWS = 100


def as_array_or_frame(X: Any, *, name: str = "X") -> Any:
    """Return a polars or pyarrow table as a pandas frame of the same numbers, and everything else unchanged.

    A ValueError names all columns that are not numeric, or one that has the name of another. A lazy frame and an array
    with objects that are not numbers raise a TypeError.
    """
    if X is None or isinstance(X, Real | dict | bytes | str | Path):
        raise TypeError(f"{name} is {_kind(X)}; give a table, an array or a sparse matrix.")
    module = type(X).__module__.partition(".")[0]
    if module == "polars":
        if not hasattr(X, "to_numpy"):
            raise TypeError(f"{name} is a {type(X).__name__}; call collect() on it first.")
        if not hasattr(X, "columns"):
            return X.to_numpy()
        dtypes = dict(zip(X.columns, X.dtypes, strict=True))
        wrong = {c: str(d) for c, d in dtypes.items() if not d.is_numeric() and str(d) != "Boolean"}
        _check_columns(X, list(dtypes), wrong, name, f"{name}.select(polars.selectors.numeric())")
        return _framed(X.to_numpy(), X.columns)
    if module == "pyarrow" and hasattr(X, "column_names"):
        import pyarrow as pa

        dtypes = dict(zip(X.column_names, X.schema.types, strict=False))
        numeric = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
        wrong = {c: str(t) for c, t in dtypes.items() if not any(is_kind(t) for is_kind in numeric)}
        _check_columns(X, X.column_names, wrong, name, f"{name}.select([...])")
        table = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
        columns = [np.asarray(c.to_numpy(zero_copy_only=False), dtype=np.float64) for c in table.columns]
        return _framed(np.column_stack(columns) if columns else np.empty((X.num_rows, 0)), X.column_names)
    if module == "pandas" and hasattr(X, "columns"):
        kinds = dict(zip(X.columns, X.dtypes, strict=True))
        wrong = {c: str(d) for c, d in kinds.items() if _pandas_text(X, c, d)}
        _check_columns(X, list(X.columns), wrong, name, f"{name}.select_dtypes('number')")
    _refuse_objects(X, name)
    return X


def _kind(X: Any) -> str:
    return "None" if X is None else "the path of a file" if isinstance(X, str | Path) else f"of type {type(X).__name__}"


def rows_of(X: Any, *, name: str = "X", missing: str | None = "error") -> tuple[Any, list[str] | None]:
    """Return the result of `as_array_or_frame` as float rows, dense, CSR or CSC, and its column names or None.

    NaN is an error if `missing` is "error", or None, where the caller has no such option.
    """
    # scikit-learn takes a second to import, and most of this room does not need it.
    from sklearn.utils import check_array

    check_two_rows(X, name=name)
    names = feature_names_of(X)
    rows = check_array(
        X,
        accept_sparse=("csr", "csc"),
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=2,
        input_name=name,
    )
    allow = missing not in ("error", None)
    remedy = MISSING_OPTIONS if missing == "error" else ""
    check_finite(rows, name=name, feature_names=names, allow_missing=allow, remedy=remedy)
    return without_duplicates(rows), names


def without_duplicates(X: Any) -> Any:
    """Return a sparse matrix with repeated entries added up, as a copy if there are any; dense rows unchanged."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _pandas_text(frame: Any, column: Any, dtype: Any) -> bool:
    """Say whether a column holds something other than numbers. Numbers in an object column are accepted."""
    if getattr(dtype, "kind", "O") in "biufc" or str(dtype) == "boolean" or str(dtype).startswith("Sparse"):
        return False
    values = frame[column]
    if values.ndim > 1:  # two columns have this name: another check reports it
        return False
    return str(dtype) != "object" or any(isinstance(v, str) for v in values)


def _framed(array: Any, columns: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(array, columns=list(columns), copy=False)


def _check_columns(X: Any, columns: Sequence[Any], wrong: dict[Any, str], name: str, selection: str) -> None:
    """Raise a ValueError if a name occurs twice, or one message about all columns that are not numeric.

    `wrong` has their types. `selection` is the call that keeps the other columns.
    """
    check_unique(columns, name=f"{name} has the column name")
    if not wrong:
        return
    # Other tables than those of pandas have types that tell text. A few of their rows are enough for examples.
    frame = X if hasattr(X, "iloc") else X[:EXAMPLE_ROWS].to_pandas()
    mixed = [column for column, kind in wrong.items() if frame is X and kind == "object"]
    found = find_not_numbers(frame, mixed)
    if len(mixed) == len(wrong) and not found:
        which = f"{name}[{mixed[0]!r}]"
        raise ValueError(
            f"{name} has numbers that are stored as text, in {listed([repr(column) for column in mixed])}; make them "
            f"numbers with {which} = pandas.to_numeric({which})."
        )
    for column, kind in wrong.items():
        if column not in mixed:
            cells = frame[column].dropna().astype(str).tolist()
            found.append(NotNumbers(str(column), cells[:1] or [""], 1, 1, kind))
    raise ValueError(refusal(found, name, in_memory(selection, name), constant_columns(X) if frame is X else ()))


def _refuse_objects(X: Any, name: str) -> None:
    """Raise an error for the first entry of an object array that is not a number. Strings such as "1.5" are numbers."""
    if not isinstance(X, np.ndarray) or X.dtype != np.dtype(object) or X.ndim != 2:
        return
    for (row, column), entry in np.ndenumerate(X):
        if not isinstance(entry, (Real, np.generic, str)) and entry is not None:
            raise TypeError(
                f"{name} has object dtype and a {type(entry).__name__} at row {row}, column {column}; "
                "every argument must be a string of a number or a number."
            )
        if isinstance(entry, str):
            try:
                float(entry)
            except ValueError:
                raise ValueError(
                    f"{name} has object dtype and the text {entry!r} at row {row}, column {column}; encode or drop it."
                ) from None
