"""From what a function is given to the covariance the solvers see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from laconic.core.arguments import places_of
from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.covariance.contract import Covariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.from_data import covariance_from
from laconic.data.checks import SYMMETRIC, check_matrix
from laconic.data.digest import digest_of
from laconic.data.names import check_names, feature_names_of
from laconic.data.sources.registry import open_source
from laconic.data.tables import as_array_or_frame, rows_of

Given: TypeAlias = Literal["auto", "rows", "covariance"]


@dataclass(frozen=True, eq=False)
class Reading:
    """The data that a function was given, checked, and the covariance made from them."""

    covariance: Covariance
    feature_names: list[str] | None
    digest: str  # of the data
    given: Literal["rows", "covariance"]
    center: bool  # of rows; a matrix is not centred
    scale: bool
    sparse: bool = False  # whether rows were stored as a sparse matrix


def read_data(
    X: Any,
    given: Given = "auto",
    *,
    center: bool = True,
    scale: bool = False,
    feature_names: Sequence[str] | None = None,
    features: int | None = None,
    needed: Any = (),
    monitor: Monitor | None = None,
) -> Reading:
    """Check the data that a function was given, once, and make their covariance.

    By default (given="auto") a square symmetric matrix without a negative diagonal entry is a covariance, and anything
    else is rows. `center` and `scale` are those of `covariance_of`. `scale` turns a covariance matrix into a
    correlation matrix, too. `feature_names` are, by default, the column names of a table. `features`, `needed` (by
    name or place) and `monitor` are those of `covariance_from`.
    """
    if given not in ("auto", "rows", "covariance"):
        raise ValueError(f"given={given!r} must be 'auto', 'rows' or 'covariance'.")
    if isinstance(X, Covariance):
        return Reading(X, _checked_names(None, feature_names, X.n_features), digest_of(X), "covariance", center, False)
    source = open_source(X)
    if source is not None and given == "covariance":
        raise ValueError(f"{source.name} is read in blocks of rows; read a covariance matrix with laconic.read_table.")
    frame = as_array_or_frame(X) if source is None else source
    if given == "covariance" or (given == "auto" and source is None and _looks_like_covariance(frame)):
        matrix = check_matrix(frame)
        names = _checked_names(feature_names_of(frame), feature_names, len(matrix))
        covariance: Covariance = DenseCovariance(correlation_of(matrix)[0] if scale else matrix)
        return Reading(covariance, names, digest_of(matrix), "covariance", center, scale)
    rows: Any
    if source is None:
        rows, found = rows_of(frame)
        n = rows.shape[1]
    else:
        rows, found, n = source, source.feature_names, source.n_features
    names = _checked_names(found, feature_names, n)
    places = np.array(places_of(needed, names, n, argument="support"), dtype=np.intp)
    made = covariance_from(rows, center=center, scale=scale, features=features, needed=places, monitor=monitor)
    if not made.standardization.constant.all():
        made.standardization.warn_of_constant(names)
    sparse = bool(sp.issparse(rows)) if source is None else source.sparse
    return Reading(made.covariance, names, made.digest, "rows", center, scale, sparse)


def _checked_names(found: list[str] | None, feature_names: Sequence[str] | None, n: int) -> list[str] | None:
    if feature_names is None:
        return found
    return check_names(feature_names, n)


def correlation_of(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the correlation matrix of a covariance matrix, and the numbers its rows and columns are multiplied by.

    Certificates are about S as it is rounded here: fits and `laconic.verify` both call this function. A feature without
    variance is multiplied by one: its entries are zero up to rounding, and stay so.
    """
    variances = matrix.diagonal()
    varies = variances > 0
    scales = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 1.0)
    return np.asarray(matrix * scales * scales[:, None]), scales


def _looks_like_covariance(X: Any) -> bool:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1]:
        return False
    array = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if array.dtype.kind not in "biuf" or not array.diagonal().min(initial=0) >= 0:
        return False
    difference = abs(array.astype(np.float64) - array.T.astype(np.float64)).max()
    return bool(difference <= SYMMETRIC * abs(array).max())
