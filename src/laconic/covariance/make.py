"""How S is made of data, once: `make(data, recipe)` for rows, `make_of_matrix(S)` for a covariance matrix.

`fit`, every function of a model, the page and `verify` call these, and hand the result on.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.core.eigenvalues import eigvalsh
from laconic.core.monitor import Monitor, Note, threads_for, warn
from laconic.core.words import places_of
from laconic.covariance.matrix import Covariance, DenseCovariance
from laconic.covariance.missing import ONE_ROW, WAYS, MissingValues, PresentValues
from laconic.covariance.of_rows import Standard, covariance_of
from laconic.covariance.screening import MOST_COLUMNS, Screening, read_whole
from laconic.data.passes import digest_of
from laconic.data.rows import ArraySource, Source, open_source
from laconic.data.tables import (
    SYMMETRIC,
    as_array_or_frame,
    check_matrix,
    check_names,
    check_unique,
    feature_names_of,
    listed,
    rows_of,
)

# A negative eigenvalue of at most this share of the largest one, or of the largest entry, is rounding.
ROUNDING = 1e-6
# A diagonal entry is one if it is no farther from it than this.
UNIT_DIAGONAL = 1e-9


@dataclass(frozen=True)
class Recipe:
    """How S is made of data: everything that `verify` needs to make it again.

    S of rows is their covariance, with the divisor n - 1. Rows may have weights w with the sum W. Weights that are all
    whole numbers count rows: the divisor is W - 1. Other weights say how reliable a row is: the divisor is
    W - (sum of w^2) / W. Without centring S holds second moments about zero, with the divisor W. With scaling S has a
    unit diagonal: each column is divided by its standard deviation, which has the same divisor. So the variance of
    scores (ddof=1) is the variance that a model reports, scaled or not. Columns that do not vary, up to rounding, count
    as zero.

    S is a matrix of real numbers: how the rows are stored and in which order sums are taken does not matter. A matrix
    that is given, or made from rows with missing values, is taken as the numbers that were computed.
    """

    given: Literal["rows", "covariance"] = "rows"
    center: bool = True  # whether rows are centred
    scale: bool = False  # whether S is scaled to a unit diagonal
    missing: Literal["pairwise", "em", "drop"] | None = None  # the way with missing values; None if there may be none
    weighted: bool = False  # whether rows have weights
    iterations: int = 0  # the steps of EM; 0 to go on until they change nothing
    ridge: float = 0.0  # the ridge of EM

    def check(self) -> None:
        """Raise a ValueError if there is no such recipe."""
        if self.given not in ("rows", "covariance"):
            raise ValueError(f"given={self.given!r} must be 'rows' or 'covariance'.")
        if self.missing not in (None, *WAYS[1:]):
            raise ValueError(f"missing={self.missing!r} must be one of {', '.join(map(repr, WAYS))}.")
        if self.given == "covariance" and (self.missing is not None or self.weighted):
            raise ValueError("A covariance matrix has no rows with missing values or weights.")

    @property
    def estimated(self) -> bool:
        """Whether S is not the covariance of rows or a given matrix, but made from the values that are there."""
        return self.missing in ("pairwise", "em")

    @property
    def in_words(self) -> str:
        """What variances are of, if not of the data alone: words that follow "variance"."""
        made = {"em": "matrix estimated by EM", "pairwise": "matrix made by pairwise deletion", "drop": "complete rows"}
        return "" if self.missing is None else f" in the {made[self.missing]}"


@dataclass(frozen=True, eq=False)
class Made:
    """S and how it was made: S is the covariance of the rows z = (x - means) * scales."""

    covariance: Covariance
    recipe: Recipe  # if no value is missing, it says so
    names: tuple[str, ...] | None  # of the features
    means: Floats  # zero without centring
    scales: Floats  # one without scaling
    constant: Mask  # features that do not vary
    digest: Callable[[], str]  # of the rows, and of the weights if there are any; computed when it is called
    rows: Any = None  # in memory, or a source that is read in blocks; None if a matrix was given
    missing: MissingValues | None = None  # and what was done about them
    name: str = "X"  # what messages call the data
    weights: Floats | None = None  # of the rows

    @property
    def in_memory(self) -> bool:
        """Whether there are rows, and all of them are in memory."""
        return self.rows is not None and not isinstance(self.rows, Source)


def make(
    data: Any,
    recipe: Recipe,
    monitor: Monitor | None = None,
    *,
    weights: Any = None,
    names: Sequence[str] | None = None,
    features: int | None = None,
    by_products: bool = False,
    needed: Any = (),
    needed_name: str = "forced_in",
    name: str = "X",
    quiet: bool = False,
) -> Made:
    """Open and check rows of any kind, and make S of them as the recipe says.

    Parameters
    ----------
    data
        An array, a table, a sparse matrix, an AnnData object, a path, a Dask collection, an iterable of blocks, or a
        source that was opened before.
    recipe
        How to make S. If no value is missing, the recipe of the result says so.
    monitor
        The time limit and progress.
    weights
        The weights of the rows, or None. Rows in blocks are read into memory for weights, if they fit.
    names
        The names of the features, if the data have none.
    features
        The number of features of all components together; None if it is not known. Of data with many columns, only the
        columns that can matter are read. With 0 only those needed are.
    by_products
        Few products with S are asked for: rows in memory are kept as an operator, and no matrix is written out.
    needed, needed_name
        Features, by name or place, whose columns of S must be at hand. Errors call them by `needed_name`.
    name
        What messages call the data, if they have no name of their own.
    quiet
        Leave warnings out.
    """
    recipe.check()
    if recipe.given != "rows":
        raise ValueError("The recipe is that of a covariance matrix, and the data are rows.")
    source = open_source(data)
    found, name = (None, name) if source is None else (source.feature_names, source.name)
    if source is not None and source.note and not quiet:
        warn(source.note, Note)
    rows: Any = as_array_or_frame(data) if source is None else source.in_memory()
    if rows is None and source is not None:
        rows = source if weights is None else read_whole(source)
        if rows is None:
            raise ValueError(f"sample_weight needs the rows in memory, and {name} has too many; leave it out.")
    if not isinstance(rows, Source):
        rows, found = rows_of(rows, name=name, missing=recipe.missing or "error", names=found)
        if not quiet and looks_like_correlation(rows):
            warn(
                f"{name} is square and symmetric with a unit diagonal, and is taken for rows; if it is a correlation "
                "matrix, use fit_covariance (--covariance)."
            )
    n = rows.n_features if isinstance(rows, Source) else rows.shape[1]
    labels = _names(found, names, n, name)
    places = np.array(places_of(needed, labels, n, argument=needed_name), dtype=np.intp)
    row_weights = None if weights is None else _weights(weights, rows.shape[0])
    how: dict[str, Any] = {"center": recipe.center, "scale": recipe.scale, "monitor": monitor or Monitor()}
    opened = _opened(rows, name, labels)
    screening = PresentValues(opened, **how, weights=row_weights) if recipe.missing else Screening(opened, **how)
    digest = partial(_digest, rows, row_weights, screening)
    used = replace(recipe, missing=None, weighted=row_weights is not None, iterations=0, ridge=0.0)
    missing, standard = None, cast("Any", None)
    if isinstance(screening, PresentValues) and screening.first.incomplete:
        values = screening
        if recipe.missing == "drop":
            rows, row_weights, missing = values.complete_rows()
            row_weights = None if row_weights is None else _weights(row_weights, rows.shape[0])
            screening = Screening(_opened(rows, name, labels), **how)
        else:
            standard = values.matrix(str(recipe.missing), recipe.iterations, recipe.ridge)
            missing = standard.missing
        used = replace(used, missing=recipe.missing, iterations=missing.iterations, ridge=missing.ridge)
        if not quiet:
            values.warn_of(missing)
    if standard is None:
        covariance, standard = _complete(rows, screening, row_weights, features, places, by_products)
    else:
        what = "" if quiet else f"The matrix of pairwise deletion of {opened.name}"
        covariance = DenseCovariance(standard.matrix, semidefinite=is_semidefinite(standard.matrix, what))
    if not quiet:
        warn_of_constant(standard.constant, labels)
    transform = standard.means, standard.scales, standard.constant
    return Made(covariance, used, labels, *transform, digest, rows, missing, name, row_weights)


def _opened(rows: Any, name: str, labels: Sequence[str] | None) -> Source:
    return rows if isinstance(rows, Source) else ArraySource(rows, name, None if labels is None else list(labels))


def _complete(
    rows: Any,
    screening: Screening,
    weights: Floats | None,
    features: int | None,
    needed: Indices,
    by_products: bool,
) -> tuple[Covariance, Standard]:
    """Return the covariance of rows without missing values, and how it was made.

    A source is read in passes. So are sparse rows with many columns, if the number of features is known and the
    variances decay: their covariance on the columns that matter is small and serves all components. A source that gives
    a wide matrix is read into memory if it is small, because rows in memory are an operator that costs little.
    """
    source = screening.source
    many = source.n_features > MOST_COLUMNS
    if source is rows or (many and weights is None and features is not None and sp.issparse(rows)):
        screening.rows = rows if by_products and source is not rows else None
        n_rows, small = screening.first.n_rows, screening.small
        if many and features == 0 and not small and len(needed) <= WRITE_OUT_LIMIT:
            return screening.with_columns(np.unique(needed)), screening.standard
        in_passes = (features != 0 and screening.decays(features)) if many else source.n_features <= n_rows
        in_memory = None if in_passes else rows if source is not rows else read_whole(source, n_rows) if small else None
        if in_memory is None:
            if features == 0 and many:
                raise ValueError(
                    f"This proof needs the rows of {len(needed):,} features, which are too many for data read in "
                    "blocks; give the data as an array or sparse matrix in memory."
                )
            return screening.covariance(features, needed), screening.standard
        rows = in_memory
    how: Any = {"center": screening.center, "scale": screening.scale, "weights": weights}
    return covariance_of(rows, **how, matrix=not by_products)


def make_of_matrix(
    S: Any, *, scale: bool = False, names: Sequence[str] | None = None, name: str = "S", quiet: bool = False
) -> Made:
    """Check a covariance or correlation matrix, and scale it to a unit diagonal if asked for.

    A `Covariance` is taken as it is. A matrix that is not positive semidefinite is accepted with a warning. A feature
    of a semidefinite matrix is constant if it has no variance: its other entries are rounding then. They are kept,
    because proofs are about the matrix as it was given, unless scaling would enlarge them. A feature of an indefinite
    matrix is constant if all its entries are zero.
    """
    recipe = Recipe("covariance", scale=scale)
    if isinstance(S, Covariance) and not isinstance(S, DenseCovariance):
        if scale:
            raise ValueError("scale=True is for rows or a matrix; a Covariance is used as it is.")
        n = S.n_features
        labels = None if names is None else tuple(check_names(names, n))
        return Made(S, recipe, labels, np.zeros(n), np.ones(n), ~S.varies, lambda: _digest_of_operator(S), name=name)
    table = S.matrix if isinstance(S, DenseCovariance) else as_array_or_frame(S, name=name)
    given = check_matrix(table, name=name)
    labels = _names(feature_names_of(table), names, len(given), name)
    semidefinite = is_semidefinite(given, "" if quiet else name)
    constant = np.asarray(given.diagonal() <= 0 if semidefinite else ~given.any(axis=0))
    matrix, scales = correlation_of(given) if scale else (given, np.ones(len(given)))
    if scale and constant.any():
        matrix = np.where(constant | constant[:, None], 0.0, matrix)
    if not quiet:
        warn_of_constant(constant, labels)
    covariance = DenseCovariance(matrix, semidefinite=semidefinite)
    return Made(covariance, recipe, labels, np.zeros(len(given)), scales, constant, lambda: digest_of(given), name=name)


def correlation_of(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the correlation matrix of a covariance matrix, and the numbers its rows and columns are multiplied by.

    A feature without variance is multiplied by one: its entries are zero up to rounding, and stay so. More than
    rounding is a ValueError: with S + e I semidefinite and S_ii <= 0, S_ij^2 is at most e (S_jj + e).
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


def is_semidefinite(matrix: Floats, warn_of: str = "") -> bool:
    """Return whether a symmetric array is semidefinite up to rounding; if not, warn of it by the name `warn_of`.

    Pairwise deletion, rank correlations and correlations with few digits give matrices that are not. The problem
    max z'Sz makes sense for them, and so do the bounds. Only words such as "share of the variance" do not.
    """
    size = float(np.abs(matrix).max(initial=0.0))
    if size == 0.0:
        return True
    shifted = matrix / size
    shifted.flat[:: len(matrix) + 1] += ROUNDING
    # A Cholesky factorisation is much faster than eigenvalues.
    try:
        with threads_for(len(matrix)):
            np.linalg.cholesky(shifted)
        return True
    except np.linalg.LinAlgError:
        smallest, largest = eigvalsh(matrix)[[0, -1]].tolist()
    if smallest >= -ROUNDING * max(largest, size):
        return True
    if warn_of:
        share = f" ({-smallest / largest:.2g} times as large)" if largest > 0 else ""
        warn(
            f"{warn_of} is not positive semidefinite: its largest eigenvalue is {largest:.4g} and its smallest "
            f"{smallest:.4g}{share}; it is used as it is, and the bounds hold all the same, but shares of variance "
            "are shares of a matrix that is not a covariance."
        )
    return False


def looks_like_correlation(X: Any) -> bool:
    """Say whether rows look like a correlation matrix: square, symmetric, a unit diagonal, and not the identity."""
    if sp.issparse(X) or X.shape[0] != X.shape[1] or not np.abs(X.diagonal() - 1).max() <= UNIT_DIAGONAL:
        return False
    return bool(np.abs(X - X.T).max() <= SYMMETRIC and 0 < np.abs(X - np.eye(len(X))).max() <= 1)


def warn_of_constant(constant: Mask, names: Sequence[str] | None) -> None:
    """Warn if some columns do not vary, and list them by name or number. If none varies, an error follows anyway."""
    places = np.flatnonzero(constant)
    if len(places) and not constant.all():
        labels = [str(i) if names is None else repr(str(names[i])) for i in places.tolist()]
        subject = f"{len(places)} columns do" if len(places) > 1 else "One column does"
        warn(f"{subject} not vary and will not be selected: {listed(labels)}.")


def _names(found: Sequence[str] | None, given: Sequence[str] | None, n: int, name: str) -> tuple[str, ...] | None:
    """Return the names of the features: those that the data have, or those that the user gives."""
    if found is not None:
        check_unique(found, name=f"{name} has the column name")
    if given is None:
        return None if found is None else tuple(found)
    names = tuple(check_names(given, n))
    if found is not None and names != tuple(found):
        raise ValueError(f"feature_names differ from the column names that {name} has; rename its columns instead.")
    return names


def _weights(weights: Any, n_rows: int) -> Floats:
    """Return checked weights, one a row."""
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be {n_rows} numbers, one for each row.") from None
    found = np.full(n_rows, float(found)) if found.ndim == 0 else found
    if found.ndim != 1:
        raise ValueError(f"Sample weights must be 1D: sample_weight has shape {found.shape}; give {n_rows} numbers.")
    if len(found) != n_rows:
        raise ValueError(f"sample_weight has {len(found)} numbers for {n_rows} rows; give one for each row.")
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError("sample_weight has entries that are negative, NaN or infinite; give numbers of at least 0.")
    if found.sum() - found.max(initial=0.0) <= ONE_ROW * found.sum():
        raise ValueError("sample_weight leaves fewer than 2 rows that count; give two rows a weight above zero.")
    return found


def _digest(rows: Any, weights: Floats | None, screening: Screening) -> str:
    """Return the digest of rows and weights. After a pass over the rows, theirs is known."""
    own = screening.digest if "first" in vars(screening) else digest_of(rows)
    return own if weights is None else hashlib.sha256(f"{own} {digest_of(weights)}".encode()).hexdigest()


def _digest_of_operator(S: Covariance) -> str:
    """Return a digest of a covariance that is not written out: of its variances and its products with some vectors."""
    vectors = np.random.default_rng(0).standard_normal((S.n_features, 4))
    return digest_of(np.column_stack([S.diagonal, S.product(vectors)]))
