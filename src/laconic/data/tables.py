"""Arrays, sparse matrices and tables from the user, as arrays or pandas frames; clear messages for wrong input."""

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.data.checks import MISSING_OPTIONS, check_finite
from laconic.data.names import check_unique, feature_names_of


def as_array_or_frame(X: Any, *, name: str = "X") -> Any:
    """Return a polars or pyarrow table as a pandas frame of the same numbers, and everything else unchanged.

    A ValueError says which column is not numeric or has the name of another. A lazy frame and an array with objects
    that are not numbers raise a TypeError.
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
        _check_columns(list(dtypes), wrong, name)
        return _framed(X.to_numpy(), X.columns)
    if module == "pyarrow" and hasattr(X, "column_names"):
        import pyarrow as pa

        dtypes = dict(zip(X.column_names, X.schema.types, strict=False))
        numeric = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
        wrong = {c: str(t) for c, t in dtypes.items() if not any(is_kind(t) for is_kind in numeric)}
        _check_columns(X.column_names, wrong, name)
        table = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
        columns = [np.asarray(c.to_numpy(zero_copy_only=False), dtype=np.float64) for c in table.columns]
        return _framed(np.column_stack(columns) if columns else np.empty((X.num_rows, 0)), X.column_names)
    if module == "pandas" and hasattr(X, "columns"):
        kinds = dict(zip(X.columns, X.dtypes, strict=True))
        wrong = {c: str(d) for c, d in kinds.items() if _pandas_text(X, c, d)}
        _check_columns(list(X.columns), wrong, name)
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


def _check_columns(columns: Sequence[Any], wrong: dict[Any, str], name: str) -> None:
    check_unique(columns, name=f"{name} has the column name")
    if wrong:
        column, dtype = next(iter(wrong.items()))
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise ValueError(
            f"{name} has a column that does not hold numbers: {column!r} ({dtype}){more}; drop or encode it first."
        )


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
