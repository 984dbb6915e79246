"""What the user hands over, as an array, a sparse matrix or a pandas frame, with sentences for what is wrong."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from laconic.core.arrays import Floats
from laconic.core.limits import LARGEST_VARIANCE, SMALLEST_VARIANCE

# Relative difference between an entry and its mirror image that counts as rounding.
SYMMETRIC = 1e-8


def as_array_or_frame(X: Any, *, name: str = "X") -> Any:
    """Return polars and pyarrow tables as pandas frames over the same numbers; everything else as it is.

    Raises
    ------
    ValueError
        If a column of a table is not numeric, or two have the same name.
    """
    module = type(X).__module__.partition(".")[0]
    if module == "polars":
        if not hasattr(X, "to_numpy"):
            raise TypeError(f"{name} is a {type(X).__name__}; call collect() on it first.")
        if not hasattr(X, "columns"):
            return X.to_numpy()
        dtypes = dict(zip(X.columns, X.dtypes, strict=True))
        _check_columns(list(dtypes), {c: str(d) for c, d in dtypes.items() if not _polars_numeric(d)}, name)
        return _framed(X.to_numpy(), X.columns)
    if module == "pyarrow" and hasattr(X, "column_names"):
        import pyarrow as pa

        dtypes = dict(zip(X.column_names, X.schema.types, strict=False))
        numeric = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
        wrong = {c: str(t) for c, t in dtypes.items() if not any(is_kind(t) for is_kind in numeric)}
        _check_columns(X.column_names, wrong, name)
        columns = [np.asarray(c.to_numpy(zero_copy_only=False), dtype=np.float64) for c in _chunked(X)]
        return _framed(np.column_stack(columns) if columns else np.empty((X.num_rows, 0)), X.column_names)
    if module == "pandas" and hasattr(X, "columns"):
        kinds = dict(zip(X.columns, X.dtypes, strict=True))
        wrong = {c: str(d) for c, d in kinds.items() if _pandas_text(X, c, d)}
        _check_columns(list(X.columns), wrong, name)
    _refuse_objects(X, name)
    return X


def as_rows(X: Any, *, name: str = "X") -> tuple[Any, list[str] | None]:
    """Return rows for a function, checked: a float array or a CSR or CSC matrix, and the column names if any."""
    X = as_array_or_frame(X, name=name)
    names = feature_names_of(X)
    rows = check_array(
        X,
        accept_sparse=("csr", "csc"),
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=2,
        input_name=name,
    )
    check_finite(rows, name=name, feature_names=names)
    return without_duplicates(rows), names


def without_duplicates(X: Any) -> Any:
    """Return a sparse matrix with repeated entries added up, in a copy if there are any; dense rows as they are."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _chunked(table: Any) -> list[Any]:
    import pyarrow as pa

    return list((pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table).columns)


def _polars_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or str(dtype) == "Boolean")


def _pandas_text(frame: Any, column: Any, dtype: Any) -> bool:
    """Say whether a column holds something other than numbers. Object columns of plain numbers are taken."""
    if getattr(dtype, "kind", "O") in "biufc" or str(dtype) == "boolean":
        return False
    if str(dtype).startswith("Sparse"):
        return False
    values = frame[column]
    if values.ndim > 1:  # the name occurs twice, which is reported by itself
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


def check_unique(names: Sequence[Any], *, name: str) -> None:
    """Raise if a name occurs twice; `name` begins the sentence."""
    seen: set[Any] = set()
    for item in names:
        if item in seen:
            raise ValueError(f"{name} {item!r} more than once; give each feature a name of its own.")
        seen.add(item)


def check_finite(X: Any, *, name: str = "X", feature_names: Sequence[Any] | None = None) -> None:
    """Raise a sentence that says where the first NaN or infinite entry is and how many there are."""
    values = X.data if sp.issparse(X) else X
    # One pass that makes no copy; only a total that is not finite calls for a closer look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return
    bad = ~np.isfinite(values)
    count = int(bad.sum())
    if not count:
        return
    if sp.issparse(X):
        triples = X.tocoo()
        place = int(np.flatnonzero(~np.isfinite(triples.data))[0])
        row, column, entry = int(triples.row[place]), int(triples.col[place]), triples.data[place]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        entry = X[row, column]
    what = "NaN" if np.isnan(entry) else "an infinite entry (inf)"
    where = repr(feature_names[column]) if feature_names is not None else str(column)
    more = f" ({count} entries in all are NaN or inf)" if count > 1 else ""
    raise ValueError(f"{name} has {what} at row {row}, column {where}{more}; fill or drop it first.")


def feature_names_of(X: Any) -> list[str] | None:
    """Return the column names of a frame whose names are all strings, else None."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return names if all(isinstance(c, str) for c in names) else None


def check_matrix(S: Any, *, name: str = "S") -> Floats:
    """Return a covariance or correlation matrix given by the user as an exactly symmetric float64 array.

    Raises
    ------
    ValueError
        If it is not square, not finite, not symmetric, or clearly indefinite. Asymmetry and negative eigenvalues of
        the size of rounding (1e-8 and 1e-6 of the largest entry and eigenvalue) are accepted.
    """
    if sp.issparse(S):
        S = S.toarray()
    array = np.asarray(S)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} has object dtype and entries that are no numbers; give a numeric array.") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}; give a real numeric array.")
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"{name} has shape {array.shape}; a covariance matrix is square, and rows of data are no covariance."
        )
    if not array.size:
        raise ValueError(f"{name} is empty; give a matrix with at least one feature.")
    matrix = np.array(array, dtype=np.float64)
    check_finite(matrix, name=name, feature_names=feature_names_of(S))
    largest = float(np.abs(matrix).max())
    difference = np.abs(matrix - matrix.T)
    if difference.max() > SYMMETRIC * largest:
        i, j = (int(x) for x in np.unravel_index(int(difference.argmax()), matrix.shape))
        raise ValueError(
            f"{name} is not symmetric: {name}[{i}, {j}] is {matrix[i, j]:.6g}, {name}[{j}, {i}] is {matrix[j, i]:.6g}; "
            "average it with its transpose if that is rounding."
        )
    matrix = 0.5 * (matrix + matrix.T)
    check_magnitude(largest, name=name)
    _check_semidefinite(matrix, largest, name)
    return matrix


def check_magnitude(largest: float, *, name: str) -> None:
    """Raise an error if variances are too large or too small for products of them to be computed.

    Parameters
    ----------
    largest
        The largest variance.
    name
        The name of the data, for the error.
    """
    if largest and not SMALLEST_VARIANCE <= largest <= LARGEST_VARIANCE:
        raise ValueError(
            f"{name} has variances up to {largest:.2g}; rescale its columns so that the largest variance lies between "
            f"{SMALLEST_VARIANCE:.0e} and {LARGEST_VARIANCE:.0e}."
        )


def _check_semidefinite(matrix: Floats, largest: float, name: str) -> None:
    if largest == 0:
        return
    shifted = matrix / largest
    shifted.flat[:: len(matrix) + 1] += 1e-6
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(matrix)
        if values[0] < -1e-6 * max(values[-1], largest):
            raise ValueError(
                f"{name} is not a covariance matrix: its smallest eigenvalue is {values[0]:.6g} and its largest "
                f"{values[-1]:.6g}; give a positive semidefinite matrix."
            ) from None


def _refuse_objects(X: Any, name: str) -> None:
    """Name the first entry of an object array that is no number; plain numbers in one are taken."""
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
