"""From what a function is given to the covariance the solvers see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from laconic.core.arguments import places_of
from laconic.core.arrays import Floats, Mask
from laconic.core.monitor import Monitor
from laconic.covariance.contract import Covariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.from_data import covariance_from
from laconic.covariance.indefinite import (
    ROUNDING,
    check_choice,
    is_semidefinite,
    resolve_indefinite,
    resolved_again,
)
from laconic.covariance.missing import MissingValues, check_missing
from laconic.covariance.nearest import has_unit_diagonal
from laconic.covariance.uncertainty import check_uncertainty, check_unit_diagonal
from laconic.data.checks import SYMMETRIC, check_matrix
from laconic.data.digest import digest_of
from laconic.data.rows import open_source
from laconic.data.tables import as_array_or_frame, check_names, feature_names_of, rows_of

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
    indefinite: str = "accept"  # "nearest" if a matrix that is not semidefinite was replaced
    missing: MissingValues | None = None  # what was done about missing values, if there were any


def read_data(
    X: Any,
    given: Given = "auto",
    *,
    center: bool = True,
    scale: bool = False,
    missing: str = "error",
    indefinite: str = "accept",
    uncertainty: float = 0.0,
    feature_names: Sequence[str] | None = None,
    features: int | None = None,
    needed: Any = (),
    needed_name: str = "support",
    monitor: Monitor | None = None,
) -> Reading:
    """Check the data that a function was given, once, and make their covariance.

    By default (given="auto") a square symmetric matrix without a negative diagonal entry is a covariance, and anything
    else is rows. `center` and `scale` are those of `covariance_of`. `scale` turns a covariance matrix into a
    correlation matrix, too. `missing` says what to do about missing values in rows, and `indefinite` what to do about a
    matrix that is not semidefinite; see the modules of these names in this room. An `uncertainty` is only checked here.
    `feature_names` are, by default, the column names of a table. `features`, `needed` (by name or place) and `monitor`
    are those of `covariance_from`. Errors call `needed` by `needed_name`.
    """
    if given not in ("auto", "rows", "covariance"):
        raise ValueError(f"given={given!r} must be 'auto', 'rows' or 'covariance'.")
    check_missing(missing)
    check_choice(indefinite)
    check_uncertainty(uncertainty, indefinite=indefinite)
    if isinstance(X, Covariance):
        settings = (("missing", missing, "error"), ("indefinite", indefinite, "accept"), ("scale", scale, False))
        for argument, value, default in settings:
            if value != default:
                raise ValueError(f"{argument}={value!r} is for rows or a matrix; a Covariance is used as it is.")
        return Reading(X, _checked_names(None, feature_names, X.n_features), digest_of(X), "covariance", center, False)
    source = open_source(X)
    if source is not None and given == "covariance":
        raise ValueError(f"{source.name} is read in blocks of rows; read a covariance matrix with laconic.read_table.")
    frame = as_array_or_frame(X) if source is None else source
    if given == "covariance" or (given == "auto" and source is None and looks_like_covariance(frame)):
        matrix = check_matrix(frame)
        names = _checked_names(feature_names_of(frame), feature_names, len(matrix))
        check_unit_diagonal(matrix, scale=scale, uncertainty=uncertainty)
        used = matrix_to_use(matrix, scale=scale, indefinite=indefinite)
        return Reading(
            used.covariance, names, digest_of(matrix), "covariance", center, scale, indefinite=used.indefinite
        )
    if uncertainty:
        raise ValueError(f"uncertainty={uncertainty} is for a covariance or correlation matrix, and X holds rows.")
    rows: Any
    if source is None:
        rows, found = rows_of(frame, missing=missing)
        n = rows.shape[1]
    else:
        rows, found, n = source, source.feature_names, source.n_features
    names = _checked_names(found, feature_names, n)
    places = np.array(places_of(needed, names, n, argument=needed_name), dtype=np.intp)
    made = covariance_from(
        rows,
        center=center,
        scale=scale,
        missing=missing,
        indefinite=indefinite,
        feature_names=names,
        features=features,
        needed=places,
        monitor=monitor,
    )
    if not made.standardization.constant.all():
        made.standardization.warn_of_constant(names)
    sparse = bool(sp.issparse(rows)) if source is None else source.sparse
    return Reading(made.covariance, names, made.digest, "rows", center, scale, sparse, made.indefinite, made.missing)


def _checked_names(found: list[str] | None, feature_names: Sequence[str] | None, n: int) -> list[str] | None:
    if feature_names is None:
        return found
    return check_names(feature_names, n)


@dataclass(frozen=True, eq=False)
class MatrixToUse:
    """The covariance made of a matrix that a user gave."""

    covariance: DenseCovariance
    scales: Floats  # the numbers that rows and columns were multiplied by
    constant: Mask  # the features that do not vary
    indefinite: Literal["accept", "nearest"]  # "nearest" if the matrix was replaced


def matrix_to_use(matrix: Floats, *, scale: bool, indefinite: str, quiet: bool = False) -> MatrixToUse:
    """Return a checked matrix, scaled to a unit diagonal if asked for, and made semidefinite if that is the choice.

    A feature of a semidefinite matrix is constant if it has no variance: its other entries are rounding then. They are
    kept, because proofs are about the matrix as it was given, unless scaling would enlarge them. A feature of an
    indefinite matrix is constant if all its entries are zero. `quiet` leaves warnings out, for `laconic.verify`.
    """
    given_as_covariance = semidefinite = is_semidefinite(matrix)
    constant = np.asarray(matrix.diagonal() <= 0 if semidefinite else ~matrix.any(axis=0))
    scales = np.ones(len(matrix))
    if scale:
        matrix, scales = correlation_of(matrix)
        if constant.any():
            matrix = np.where(constant | constant[:, None], 0.0, matrix)
    if not semidefinite:
        if quiet:
            matrix = resolved_again(matrix, indefinite)
        else:
            matrix, semidefinite = resolve_indefinite(matrix, indefinite, name="S")
    replaced = indefinite == "nearest" and not given_as_covariance
    covariance = DenseCovariance(matrix, semidefinite=semidefinite)
    return MatrixToUse(covariance, scales, constant, "nearest" if replaced else "accept")


def correlation_of(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the correlation matrix of a covariance matrix, and the numbers its rows and columns are multiplied by.

    Certificates are about S as it is rounded here: fits and `laconic.verify` both call this function. A feature without
    variance is multiplied by one: its entries are zero up to rounding, and stay so. More than rounding is a ValueError:
    with S + e I semidefinite and S_ii <= 0, S_ij^2 is at most e (S_jj + e).
    """
    variances = matrix.diagonal()
    varies = variances > 0
    if not varies.all():
        size = np.abs(matrix).max(axis=1)
        limit = float(size.max())
        impossible = (variances < -ROUNDING * limit) | (~varies & (size > 1.01 * np.sqrt(ROUNDING) * limit))
        if impossible.any():
            i = int(np.flatnonzero(impossible)[0])
            raise ValueError(
                f"scale=True divides by standard deviations, and feature {i} has none: S[{i}, {i}] is "
                f"{variances[i]:.4g}, and its row has larger entries; use scale=False."
            )
    scales = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 1.0)
    return np.asarray(matrix * scales * scales[:, None]), scales


def looks_like_correlation(X: Any) -> bool:
    """Say whether rows look like a correlation matrix: square, symmetric, a unit diagonal, and not the identity."""
    if sp.issparse(X) or X.shape[0] != X.shape[1] or not has_unit_diagonal(X):
        return False
    return bool(np.abs(X - X.T).max() <= SYMMETRIC and 0 < np.abs(X - np.eye(len(X))).max() <= 1)


def looks_like_covariance(X: Any) -> bool:
    """Say whether data are taken for a covariance: square and symmetric, without a negative diagonal entry."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1]:
        return False
    array = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if array.dtype.kind not in "biuf" or not array.diagonal().min(initial=0) >= 0:
        return False
    difference = abs(array.astype(np.float64) - array.T.astype(np.float64)).max()
    return bool(difference <= SYMMETRIC * abs(array).max())
