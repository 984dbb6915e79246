"""Callers in model/, bounds/ and report/ until they call `make`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.covariance.make import Made, Recipe, make, make_of_matrix
from laconic.covariance.make import correlation_of as correlation_of
from laconic.covariance.make import looks_like_correlation as looks_like_correlation
from laconic.covariance.matrix import Covariance
from laconic.data.checks import SYMMETRIC
from laconic.data.sources.registry import open_source
from laconic.data.tables import as_array_or_frame

Given = str


@dataclass(frozen=True, eq=False)
class Reading:
    covariance: Covariance
    feature_names: Any
    digest: str
    given: Any
    center: bool
    scale: bool
    sparse: bool = False
    missing: Any = None
    recipe: Any = None


def read_data(
    X: Any,
    given: str = "auto",
    *,
    center: bool = True,
    scale: bool = False,
    missing: str = "error",
    feature_names: Any = None,
    features: int | None = None,
    needed: Any = (),
    needed_name: str = "support",
    monitor: Any = None,
) -> Reading:
    if given not in ("auto", "rows", "covariance"):
        raise ValueError(f"given={given!r} must be 'auto', 'rows' or 'covariance'.")
    source = None if isinstance(X, Covariance) else open_source(X)
    if source is not None and given == "covariance":
        raise ValueError(f"{source.name} is read in blocks of rows; read a covariance matrix with laconic.read_table.")
    frame = X if isinstance(X, Covariance) else as_array_or_frame(X) if source is None else source
    matrix = isinstance(X, Covariance) or given == "covariance"
    made: Made
    if matrix or (given == "auto" and source is None and looks_like_covariance(frame)):
        made = make_of_matrix(frame, scale=scale, names=feature_names)
    else:
        recipe = Recipe("rows", center, scale, None if missing == "error" else missing)  # type: ignore[arg-type]
        made = make(frame, recipe, monitor, names=feature_names, features=features, needed=needed)
    names = None if made.names is None else list(made.names)
    return Reading(
        made.covariance,
        names,
        made.digest(),
        made.recipe.given,
        center,
        scale,
        missing=made.missing,
        recipe=made.recipe,
    )


def matrix_to_use(matrix: Any, *, scale: bool, quiet: bool = False) -> Any:
    return make_of_matrix(matrix, scale=scale, quiet=quiet)


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


Missing = str


def check_missing(missing: str) -> None:
    if missing not in ("error", "pairwise", "em"):
        raise ValueError(f"missing={missing!r} must be 'error', 'pairwise' or 'em'.")
