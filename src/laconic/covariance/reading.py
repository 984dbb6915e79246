"""From what a function is given to the covariance the solvers see."""

from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats
from laconic.covariance.base import Covariance
from laconic.covariance.build import covariance_of
from laconic.covariance.dense import DenseCovariance
from laconic.data.checks import SYMMETRIC, check_matrix
from laconic.data.names import feature_names_of
from laconic.data.tables import as_array_or_frame, rows_of

Kind: TypeAlias = Literal["auto", "rows", "covariance"]


def read_covariance(
    X: Any, kind: Kind = "auto", *, center: bool = True, scale: bool = False
) -> tuple[Covariance, list[str] | None]:
    """Return the covariance of what a function was given, and the feature names if it has any.

    Parameters
    ----------
    X
        Rows of data, a covariance or correlation matrix, or a `Covariance`.
    kind
        What X is. By default a square symmetric matrix with no negative diagonal entry is a covariance and anything
        else is rows.
    center, scale
        As in `covariance_of`, for rows; `scale` turns a covariance into a correlation too.
    """
    if isinstance(X, Covariance):
        return X, None
    if isinstance(X, str | Path):
        raise TypeError(f"{str(X)!r} is a path; read the file with laconic.read_table first.")
    if kind not in ("auto", "rows", "covariance"):
        raise ValueError(f"kind={kind!r} must be 'auto', 'rows' or 'covariance'.")
    frame = as_array_or_frame(X)
    if is_covariance(frame, kind):
        matrix = check_matrix(frame)
        return DenseCovariance(correlation_of(matrix)[0] if scale else matrix), feature_names_of(frame)
    rows, names = rows_of(frame)
    covariance, standardization = covariance_of(rows, center=center, scale=scale)
    if not standardization.constant.all():
        standardization.warn_of_constant(names, stacklevel=4)
    return covariance, names


def correlation_of(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the correlation matrix of a covariance matrix, and the numbers its rows and columns are multiplied by.

    Certificates are about S as it is rounded here, so that fits and `laconic.verify` share it. A feature that has no
    variance is multiplied by one: its entries are zero up to rounding, and stay so.

    Parameters
    ----------
    matrix
        As `check_matrix` returns it.
    """
    variances = matrix.diagonal()
    varies = variances > 0
    scales = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 1.0)
    return np.asarray(matrix * scales * scales[:, None]), scales


def is_covariance(X: Any, kind: Kind = "auto") -> bool:
    """Say whether what a function was given is a covariance and not rows.

    Parameters
    ----------
    X
        An array or a table.
    kind
        As in `read_covariance`.
    """
    return kind == "covariance" or (kind == "auto" and _looks_like_covariance(as_array_or_frame(X)))


def _looks_like_covariance(X: Any) -> bool:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1]:
        return False
    array = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if array.dtype.kind not in "biuf" or not array.diagonal().min(initial=0) >= 0:
        return False
    difference = abs(array.astype(np.float64) - array.T.astype(np.float64)).max()
    return bool(difference <= SYMMETRIC * abs(array).max())
