"""Tables in memory: names of features, frames of every library as rows of numbers, and checks of the numbers."""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import LARGEST_VARIANCE, SMALLEST_VARIANCE, Floats
from laconic.core.monitor import warn
from laconic.core.words import counted, did_you_mean

# Messages list at most this many names.
MOST_LISTED = 10
# Names are compared with a misspelt one if there are at most this many. More would take seconds.
MOST_COMPARED = 5000
# The two halves of a matrix may differ by this share of its largest entry. This is rounding; more is an error.
SYMMETRIC = 1e-8

# A message about missing values names at most this many columns, those with the most.
MOST_COLUMNS_NAMED = 5
# The end of such a message where rows may have missing values.
MISSING_OPTIONS = ", or set missing to pairwise, em or drop"


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
    if missing:
        close = [did_you_mean(name, names) if len(names) <= MOST_COMPARED else "." for name in missing[:MOST_LISTED]]
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
        _refuse_text(X, [c for c, d in kinds if _is_text(X[c], d)], name, f"{name}.select_dtypes('number')")
        return X
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a {_type(X)}; call collect() on it first.")
    if isinstance(frame, nw.Series):
        return frame.to_numpy()
    if not isinstance(frame, nw.DataFrame):
        return X
    schema = dict(frame.schema)
    wrong = [column for column, kind in schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
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


def _refuse_text(frame: Any, wrong: Sequence[Any], name: str, selection: str) -> None:
    """Raise one message about the columns of a frame that are not numeric. `selection` keeps the other columns."""
    if not wrong:
        return
    import pandas as pd

    from laconic.data.columns import NotNumbers, find_not_numbers, refusal

    table = pd.DataFrame({str(column): list(frame[column]) for column in wrong})
    found = find_not_numbers([table], list(table.columns))
    found += [NotNumbers(column, [], 0, 0) for column in table.columns[table.isna().all()]]
    if found:
        raise ValueError(refusal(found, name, selection=selection))
    which = f"{name}[{wrong[0]!r}]"
    raise ValueError(
        f"{name} has numbers that are stored as text, in {listed([repr(column) for column in wrong])}; make them "
        f"numbers with {which} = pandas.to_numeric({which})."
    )


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


def rows_of(
    X: Any, *, name: str = "X", missing: str | None = "error", names: list[str] | None = None
) -> tuple[Any, list[str] | None]:
    """Return the result of `as_array_or_frame` as float rows, dense, CSR or CSC, and `names` or its own, or None.

    NaN is an error if `missing` is "error", or None, where the caller has no such option.
    """
    # scikit-learn takes a second to import, and most of this room does not need it.
    from sklearn.utils import check_array

    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] < 2:
        # scikit-learn looks for n_samples in the message.
        rows = "1 row" if shape[0] == 1 else "no rows"
        raise ValueError(f"{name} has {rows} (n_samples={shape[0]}); at least two are needed.")
    names = feature_names_of(X) if names is None else names
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


def check_finite(
    X: Any,
    *,
    name: str = "X",
    feature_names: Sequence[Any] | None = None,
    first_row: int = 0,
    block: bool = False,
    allow_missing: bool = False,
    remedy: str = "",
) -> None:
    """Raise a ValueError about the NaN or infinite entries of a float array or sparse matrix: places and counts.

    `first_row` is the number of the first row of X in the whole table, and `block` says that X is only a part of it.
    `allow_missing` lets NaN pass. `remedy` is what else a user can do about missing values, such as `MISSING_OPTIONS`.
    """
    values = X.data if sp.issparse(X) else X
    # A sum makes no copy. Only if it is not finite, look at the entries.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return
    bad = np.isinf(values) if allow_missing else ~np.isfinite(values)
    count = int(bad.sum())
    if not count:
        return
    rows, columns = (places[bad] for places in X.tocoo().coords) if sp.issparse(X) else np.nonzero(bad)
    entries = values[bad]

    def label(column: int) -> str:
        return repr(feature_names[column]) if feature_names is not None else str(column)

    missing = np.isnan(entries)
    first = int(np.argmax(missing))
    where = f"at row {rows[first] + first_row}, column {label(columns[first])}"
    if not missing[first]:
        more = f" ({count} entries in all are NaN or inf)" if count > 1 else ""
        raise ValueError(f"{name} has an infinite entry (inf) {where}{more}; fill or drop it first.")
    if count == 1:
        raise ValueError(f"{name} has NaN {where}; fill or drop it first{remedy}.")
    found, sizes = np.unique(columns[missing], return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:MOST_COLUMNS_NAMED]
    listed = ", ".join(f"{label(found[i])} ({sizes[i]})" for i in order) + (", ..." if len(found) > len(order) else "")
    present, infinite = int(missing.sum()), count - int(missing.sum())
    also = f"; {infinite} more {'is' if infinite == 1 else 'are'} infinite" if infinite else ""
    within = f"{len(found)} of {X.shape[1]} columns"
    if block:
        within = f"{counted(len(found), 'column')} of rows {first_row} to {first_row + X.shape[0] - 1}"
    raise ValueError(
        f"{name} has {counted(present, 'missing value')} (NaN) in "
        f"{within}: {listed}; the first is {where}{also}; fill or drop them first{remedy}."
    )


def check_matrix(S: Any, *, name: str = "S") -> Floats:
    """Return a covariance or correlation matrix as an exactly symmetric float64 array.

    Asymmetry of the size of rounding is accepted. If one triangle is empty, all zeros or NaN, the other one is
    mirrored, with a warning. A matrix that is not square, finite and symmetric raises a ValueError; entries that are
    not real numbers raise a TypeError. Whether it is semidefinite is the matter of `laconic.covariance.indefinite`.
    """
    if sp.issparse(S):
        S = S.toarray()
    array = np.asarray(S)
    try:
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} has object dtype and an entry that is not a number ({error}).") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}; give a real numeric array.")
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"{name} has shape {array.shape}; a covariance matrix is square, and rows of data are not a covariance."
        )
    if not array.size:
        raise ValueError(f"{name} is empty; give a matrix with at least one feature.")
    matrix = _mirrored(np.array(array, dtype=np.float64), name)
    columns = getattr(S, "columns", None)
    check_finite(matrix, name=name, feature_names=None if columns is None else list(columns))
    largest = float(np.abs(matrix).max())
    difference = np.abs(matrix - matrix.T)
    if difference.max() > SYMMETRIC * largest:
        i, j = (int(x) for x in np.unravel_index(int(difference.argmax()), matrix.shape))
        raise ValueError(
            f"{name} is not symmetric: {name}[{i}, {j}] is {matrix[i, j]:.6g}, {name}[{j}, {i}] is {matrix[j, i]:.6g}; "
            "if this is rounding, average the matrix with its transpose."
        )
    matrix = 0.5 * (matrix + matrix.T)
    check_magnitude(largest, name=name)
    return matrix


def _mirrored(matrix: Floats, name: str) -> Floats:
    """Return a matrix whose one triangle is empty with the other one in its place; any other matrix as it is."""
    lower, upper = np.tril(matrix, -1), np.triu(matrix, 1).T
    for given, other, kept, empty in ((lower, upper, "lower", "upper"), (upper, lower, "upper", "lower")):
        if not ((other == 0) | np.isnan(other)).all() or not np.isfinite(given).all():
            continue
        # Two triangles of zeros and rounding are those of a diagonal matrix.
        if not np.isnan(other).any() and np.abs(given).max() <= SYMMETRIC * np.abs(matrix).max():
            continue
        diagonal = matrix.diagonal()
        if ((diagonal == 0) | np.isnan(diagonal)).all():
            raise ValueError(
                f"{name} is a triangle without its diagonal; give the diagonal too, which is all ones for correlations."
            )
        warn(f"The {empty} triangle of {name} is empty, so the {kept} one is mirrored.")
        return given + given.T + np.diag(diagonal)
    return matrix


def check_magnitude(largest: float, *, name: str) -> None:
    """Raise a ValueError if the largest variance is too large or too small to compute products of variances."""
    if largest and not SMALLEST_VARIANCE <= largest <= LARGEST_VARIANCE:
        raise ValueError(
            f"{name} has variances up to {largest:.2g}; rescale its columns so that the largest variance lies between "
            f"{SMALLEST_VARIANCE:.0e} and {LARGEST_VARIANCE:.0e}."
        )
