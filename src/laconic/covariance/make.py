"""How S is made of data, once: `make(data, recipe)` for rows, `make_of_matrix(S)` for a covariance matrix.

`fit`, every function of a model, the page and `verify` call these, and hand the result on.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from laconic.core.arguments import places_of
from laconic.core.arrays import Floats, Mask
from laconic.core.monitor import Monitor, warn
from laconic.covariance.contract import Covariance
from laconic.covariance.from_data import covariance_from
from laconic.covariance.missing import MissingValues
from laconic.covariance.reading import looks_like_correlation, matrix_to_use
from laconic.data.checks import check_matrix
from laconic.data.digest import digest_of
from laconic.data.names import check_names, check_unique, feature_names_of, listed
from laconic.data.sources import Source, open_source
from laconic.data.tables import as_array_or_frame, rows_of

# Rows of at most this many numbers, zeros included, are read into memory if they are needed there: 400 MB.
SMALL_NUMBERS = 50_000_000
# One row has all the weight if the others have at most this share.
ONE_ROW = 1e-12


@dataclass(frozen=True)
class Recipe:
    """How S is made of data: everything that `verify` needs to make it again.

    S of rows is their covariance, with the divisor n - 1. Rows with weights w have the divisor W - (sum of w^2) / W,
    W the sum of the weights; it is n - 1 if all weights are one. Without centring S holds second moments about zero,
    with the divisor W. With scaling S has a unit diagonal: each column is divided by its standard deviation, which has
    the same divisor. So the variance of scores (ddof=1) is the variance that a model reports, scaled or not.
    """

    given: Literal["rows", "covariance"] = "rows"
    center: bool = True  # whether rows are centred
    scale: bool = False  # whether S is scaled to a unit diagonal
    missing: Literal["pairwise", "em"] | None = None  # what is done about missing values; None if there may be none
    weighted: bool = False  # whether rows have weights
    iterations: int = 0  # the steps of EM; 0 to go on until they change nothing
    ridge: float = 0.0  # the ridge of EM

    def check(self) -> None:
        """Raise a ValueError if there is no such recipe."""
        if self.given not in ("rows", "covariance"):
            raise ValueError(f"given={self.given!r} must be 'rows' or 'covariance'.")
        if self.missing not in (None, "pairwise", "em"):
            raise ValueError(f"missing={self.missing!r} must be 'error', 'pairwise' or 'em'.")
        if self.given == "covariance" and (self.missing is not None or self.weighted):
            raise ValueError("A covariance matrix has no rows with missing values or weights.")

    @property
    def in_words(self) -> str:
        """What variances are of, if not of the data alone: words that follow "variance"."""
        ways = {
            None: "",
            "em": " in the matrix estimated by EM",
            "pairwise": " in the matrix made by pairwise deletion",
        }
        return ways[self.missing]


@dataclass(frozen=True, eq=False)
class Made:
    """S and how it was made: z = (x - means) * scales are the rows that S is the covariance of.

    Attributes
    ----------
    covariance, recipe
        S, and how it was made.
    names
        The names of the features, or None.
    means, scales
        Subtracted from each row, and multiplied with it. Zero without centring, one without scaling.
    constant
        True for features that do not vary.
    digest
        Returns the digest of the rows, and of the weights if there are any. It is computed when it is called.
    rows
        The rows in memory, a source that is read in blocks, or None if a matrix was given.
    missing
        The missing values and what was done about them; None if there are none.
    name
        What messages call the data.
    weights
        The weights of the rows, or None.
    """

    covariance: Covariance
    recipe: Recipe
    names: tuple[str, ...] | None
    means: Floats
    scales: Floats
    constant: Mask
    digest: Callable[[], str]
    rows: Any = None
    missing: MissingValues | None = None
    name: str = "X"
    weights: Floats | None = None

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
    needed: Any = (),
    needed_name: str = "forced_in",
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
        columns that can matter are read.
    needed, needed_name
        Features, by name or place, whose columns of S must be at hand. Errors call them by `needed_name`.
    quiet
        Leave warnings out.
    """
    recipe.check()
    if recipe.given != "rows":
        raise ValueError("The recipe is that of a covariance matrix, and the data are rows.")
    monitor = monitor or Monitor()
    source = open_source(data)
    rows: Any = source if source is not None else as_array_or_frame(data)
    if source is not None and (source.in_memory() is not None or weights is not None):
        rows = source.in_memory() if source.in_memory() is not None else _read(source, "sample_weight")
    found, name = (None, "X") if source is None else (source.feature_names, source.name)
    if not isinstance(rows, Source):
        rows, own = rows_of(rows, missing="error" if recipe.missing is None else recipe.missing)
        found = own if found is None else found
        if not quiet and looks_like_correlation(rows):
            warn(
                "X is square and symmetric with a unit diagonal, and is taken for rows; if it is a correlation matrix, "
                "use fit_covariance."
            )
    n = rows.n_features if isinstance(rows, Source) else rows.shape[1]
    labels = _names(found, names, n, name)
    row_weights = None if weights is None else _weights(weights, rows.shape[0])
    made = covariance_from(
        rows,
        center=recipe.center,
        scale=recipe.scale,
        missing=recipe.missing or "error",
        weights=row_weights,
        feature_names=labels,
        features=features,
        needed=np.array(places_of(needed, labels, n, argument=needed_name), dtype=np.intp),
        monitor=monitor,
        with_digest=False,
    )
    standardization = made.standardization
    if not quiet:
        warn_of_constant(standardization.constant, labels)
    used = replace(recipe, missing=None, weighted=row_weights is not None, iterations=0, ridge=0.0)
    if made.missing is not None:
        used = replace(used, missing=recipe.missing, iterations=made.missing.iterations, ridge=made.missing.ridge)
    return Made(
        made.covariance,
        used,
        labels,
        standardization.means,
        standardization.scales,
        standardization.constant,
        _digest(rows, row_weights, made.digest),
        rows,
        made.missing,
        name,
        row_weights,
    )


def make_of_matrix(S: Any, *, scale: bool = False, names: Sequence[str] | None = None, quiet: bool = False) -> Made:
    """Check a covariance or correlation matrix, and scale it to a unit diagonal if asked for.

    A `Covariance` is taken as it is. A matrix that is not positive semidefinite is accepted with a warning.
    """
    recipe = Recipe("covariance", scale=scale)
    if isinstance(S, Covariance) and S.matrix is None:
        if scale:
            raise ValueError("scale=True is for rows or a matrix; a Covariance is used as it is.")
        n = S.n_features
        labels = None if names is None else tuple(check_names(names, n))
        return Made(S, recipe, labels, np.zeros(n), np.ones(n), ~S.varies, lambda: digest_of(S), name="S")
    table = S.matrix if isinstance(S, Covariance) else as_array_or_frame(S, name="S")
    matrix = check_matrix(table)
    labels = _names(feature_names_of(table), names, len(matrix), "S")
    used = matrix_to_use(matrix, scale=scale, quiet=quiet)
    if not quiet:
        warn_of_constant(used.constant, labels)
    return Made(
        used.covariance,
        recipe,
        labels,
        np.zeros(len(matrix)),
        used.scales,
        used.constant,
        lambda: digest_of(matrix),
        name="S",
    )


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
    if found.ndim == 0:
        found = np.full(n_rows, float(found))
    if found.ndim != 1:
        raise ValueError(f"Sample weights must be 1D: sample_weight has shape {found.shape}; give {n_rows} numbers.")
    if len(found) != n_rows:
        raise ValueError(f"sample_weight has {len(found)} numbers for {n_rows} rows; give one for each row.")
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError("sample_weight has entries that are negative, NaN or infinite; give numbers of at least 0.")
    if not found.any():
        raise ValueError("sample_weight is zero for every row; give at least two rows a weight above zero.")
    if found.sum() - found.max(initial=0.0) <= ONE_ROW * found.sum():
        raise ValueError("sample_weight leaves fewer than 2 rows with a weight that counts; nothing varies.")
    return found


def _read(source: Source, why: str) -> Any:
    """Return all rows of a source that is read in blocks, if they fit in memory easily."""
    blocks, count = [], 0
    for block in source.blocks():
        blocks.append(block.rows.astype(np.float64, copy=False))
        count += block.rows.shape[0] * source.n_features
        if count > SMALL_NUMBERS:
            raise ValueError(f"{why} needs the rows in memory, and {source.name} has too many; leave it out.")
    if not blocks:
        raise ValueError(f"{source.name} has no rows; give a table with at least two.")
    return sp.csr_array(sp.vstack(blocks)) if source.sparse else np.concatenate(blocks)


def _digest(rows: Any, weights: Floats | None, known: str) -> Callable[[], str]:
    """Return a function that computes the digest of rows and weights; `known` is that of the rows after a pass."""

    def digest() -> str:
        own = known or digest_of(rows)
        return own if weights is None else hashlib.sha256(f"{own} {digest_of(weights)}".encode()).hexdigest()

    return digest
