"""From two tables of rows to the difference of their covariances."""

import math
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance.build import WRITE_OUT_COLUMNS, covariance_of
from laconic.covariance.contract import Covariance
from laconic.covariance.contrast import ContrastCovariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.indefinite import is_semidefinite
from laconic.covariance.standardization import Standardization
from laconic.data.rows import open_source
from laconic.data.tables import as_array_or_frame, feature_names_of, rows_of

# Sparse rows with many columns are written out up to this many entries: 400 MB.
MOST_ENTRIES = 50_000_000


def contrast_of(
    X: Any, Y: Any, weight: float, *, center: bool, scale: bool, weights: Floats | None = None
) -> tuple[Covariance, Standardization]:
    """Return S_X - g S_Y, and how the rows of X are centred and scaled.

    X and Y are rows that were checked, with the same columns. Each is centred by its own means. With `scale`, both are
    divided by the standard deviations of X: S_X is a correlation matrix then, and g means the same as without. Sample
    weights are those of X. Up to 2048 columns the difference is written out, and up to 6000 if there are as many rows.
    Otherwise both factors are kept.
    """
    first, standardization = covariance_of(_dense_if_wide(X, "X"), center=center, scale=scale, weights=weights)
    background = _dense_if_wide(Y, "contrast")
    if scale:
        # S_X is scaled by deviations with divisor W, and S_Y has its own unbiased divisor. The factor makes them alike:
        # X against itself leaves nothing at g = 1.
        total, squares = (X.shape[0],) * 2 if weights is None else (weights.sum(), (weights**2).sum())
        by = standardization.scales * (math.sqrt(1.0 - squares / total**2) if center else 1.0)
        background = background @ sp.diags_array(by) if sp.issparse(background) else background * by
    second, _ = covariance_of(background.tocsr() if sp.issparse(background) else background, center=center)
    n = first.n_features
    many_rows = X.shape[0] + Y.shape[0] >= n
    if n <= WRITE_OUT_COLUMNS or (many_rows and n <= WRITE_OUT_LIMIT):
        everything = np.arange(n)
        matrix = first.submatrix(everything) - weight * second.submatrix(everything)
        unit = max(first.rounding_unit, weight * second.rounding_unit)
        return DenseCovariance(matrix, semidefinite=is_semidefinite(matrix), rounded_to=unit), standardization
    assert first.factor is not None
    assert second.factor is not None
    return ContrastCovariance(first.factor, math.sqrt(weight) * second.factor), standardization


def checked_contrast(contrast: Any, names: Any, n_features: int) -> tuple[Any, float]:
    """Return the rows Y and the weight g of an argument `contrast`, checked against the features of X."""
    if not isinstance(contrast, tuple | list) or len(contrast) != 2:
        raise ValueError("contrast must be a pair (Y, g): rows with the columns of X, and their weight.")
    table, weight = contrast
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) < math.inf:
        raise ValueError(f"contrast has the weight {weight!r}; it must be a finite number above zero.")
    return checked_background(table, names, n_features), float(weight)


def checked_background(table: Any, names: Any, n_features: int) -> Any:
    """Return the rows Y of a contrast, checked against the features of X."""
    source = open_source(table)
    if source is not None and source.in_memory() is None:
        raise ValueError("contrast is read in blocks; a contrast needs both tables in memory (laconic.read_table).")
    frame = as_array_or_frame(table if source is None else source.in_memory(), name="contrast")
    found = feature_names_of(frame) if source is None else source.feature_names
    rows, _ = rows_of(frame, name="contrast", missing=None)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"contrast has {rows.shape[1]} columns and X has {n_features}; they must be the same features."
        )
    if found is not None and names is not None and [str(name) for name in names] != found:
        raise ValueError("contrast has other column names than X, or another order; give the same columns.")
    return rows


def _dense_if_wide(rows: Any, name: str) -> Any:
    if not sp.issparse(rows) or rows.shape[1] <= WRITE_OUT_COLUMNS:
        return rows
    if math.prod(rows.shape) > MOST_ENTRIES:
        raise ValueError(
            f"{name} is sparse with {rows.shape[0]:,} rows and {rows.shape[1]:,} columns, which a contrast would write "
            f"out; give at most {WRITE_OUT_COLUMNS:,} columns, or fewer rows."
        )
    return rows.toarray()
