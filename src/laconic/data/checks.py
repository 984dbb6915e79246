"""Checks of numbers: finite entries, covariance matrices, sizes of variances."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import LARGEST_VARIANCE, SMALLEST_VARIANCE, Floats
from laconic.core.monitor import warn

# The two halves of a matrix may differ by this share of its largest entry. This is rounding; more is an error.
SYMMETRIC = 1e-8

# A message about missing values names at most this many columns, those with the most.
MOST_COLUMNS_NAMED = 5
# The end of such a message where rows may have missing values.
MISSING_OPTIONS = ", or give missing='pairwise' or missing='em'"


def check_two_rows(X: Any, *, name: str = "X") -> None:
    """Raise a ValueError if a table has fewer than two rows. It gives `n_samples`, for which scikit-learn looks."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] < 2:
        rows = "1 row" if shape[0] == 1 else "no rows"
        raise ValueError(f"{name} has {rows} (n_samples={shape[0]}); at least two are needed.")


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
    if sp.issparse(X):
        triples = X.tocoo()
        bad = np.isinf(triples.data) if allow_missing else ~np.isfinite(triples.data)
        rows, columns, entries = triples.row[bad], triples.col[bad], triples.data[bad]
    else:
        rows, columns = np.nonzero(bad)
        entries = X[bad]

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
    infinite = count - int(missing.sum())
    also = f"; {infinite} more {'is' if infinite == 1 else 'are'} infinite" if infinite else ""
    values = "1 missing value" if count - infinite == 1 else f"{count - infinite} missing values"
    within = f"{len(found)} of {X.shape[1]} columns"
    if block:
        noun = "column" if len(found) == 1 else "columns"
        within = f"{len(found)} {noun} of rows {first_row} to {first_row + X.shape[0] - 1}"
    raise ValueError(
        f"{name} has {values} (NaN) in {within}: {listed}; the first is {where}{also}; fill or drop them first{remedy}."
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
