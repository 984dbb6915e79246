"""From rows in memory, or from a source, to a covariance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance.build import covariance_of
from laconic.covariance.contract import Covariance
from laconic.covariance.missing import MissingValues, PresentValues
from laconic.covariance.screening import MOST_COLUMNS, Screening
from laconic.covariance.standardization import Standardization
from laconic.data.checks import MISSING_OPTIONS
from laconic.data.digest import digest_of
from laconic.data.rows import ArraySource, Source

# A source of at most this many numbers, zeros included, is read into memory if it has many columns: 400 MB.
SMALL_NUMBERS = 50_000_000


@dataclass(frozen=True, eq=False)
class CovarianceOfData:
    """The covariance of some data, how they were centred and scaled, and their digest."""

    covariance: Covariance
    standardization: Standardization
    digest: str
    screening: Screening | None = None  # the passes, if there were any
    missing: MissingValues | None = None  # what was done about missing values, if there were any
    indefinite: str = "accept"  # "nearest" if the matrix of pairwise deletion was replaced by that


def covariance_from(
    data: Any,
    *,
    center: bool,
    scale: bool,
    missing: str = "error",
    indefinite: str = "accept",
    weights: Floats | None = None,
    feature_names: Sequence[str] | None = None,
    features: int | None = None,
    needed: Indices | None = None,
    monitor: Monitor | None = None,
    with_digest: bool = True,
) -> CovarianceOfData:
    """Return the covariance of rows in memory or of a source.

    A source is read in passes. So are sparse rows with many columns, if the number of features is known and the
    variances decay: their covariance on the columns that matter is small and serves all components.

    Parameters
    ----------
    data
        Rows that were checked, or a source.
    center, scale, weights
        As in `covariance_of`. A source has no weights.
    missing
        What to do about missing values: "error", "pairwise" or "em"; see `laconic.covariance.missing`. Rows in memory
        that may have none were checked before.
    indefinite
        What to do if pairwise deletion gives a matrix that is not semidefinite; see `laconic.covariance.indefinite`.
    feature_names
        The names of the columns of rows in memory, for messages.
    features
        The number of features that are asked for, of all components together; None if it is not known yet.
    needed
        Columns that must be at hand, such as features forced in.
    monitor
        For the passes over a source: time limit and progress.
    with_digest
        Whether a digest of rows in memory is wanted.
    """
    if missing != "error":
        made = _with_missing(
            PresentValues.of(
                data,
                feature_names,
                center=center,
                scale=scale,
                weights=weights,
                monitor=monitor or Monitor(),
            ),
            missing,
            indefinite,
        )
        if made is not None:
            return made
    source = data if isinstance(data, Source) else None
    if source is None and features is not None and weights is None and sp.issparse(data):
        source = ArraySource(data) if data.shape[1] > MOST_COLUMNS else None
    if source is not None:
        screening = Screening(source, center, scale, monitor or Monitor(), remedy=MISSING_OPTIONS)
        few = source.n_features <= MOST_COLUMNS or screening.decays(features)
        if source is data and not few:
            data = small_rows(source, screening.first.n_rows)
        # Without decay, rows in memory are the operator themselves: a product with them costs little.
        if data is None or few:
            covariance = screening.covariance(features, needed)
            return CovarianceOfData(covariance, screening.standardization, screening.digest, screening)
    covariance, standardization = covariance_of(data, center=center, scale=scale, weights=weights)
    return CovarianceOfData(covariance, standardization, digest_of(data) if with_digest else "")


def _with_missing(values: PresentValues, missing: str, indefinite: str) -> CovarianceOfData | None:
    """Return the covariance of rows with missing values; None if no value is missing."""
    if values.complete:
        return None
    made = values.matrix(missing)
    values.warn_of(made.missing)
    covariance, used = made.covariance(indefinite, name=values.source.name)
    return CovarianceOfData(covariance, made.standardization, values.digest, values.passes, made.missing, used)


def small_rows(source: Source, n_rows: int) -> Any:
    """Return all rows of a source if they fit in memory easily, else None."""
    if n_rows * source.n_features > SMALL_NUMBERS:
        return None
    blocks = [block.rows.astype(np.float64, copy=False) for block in source.blocks()]
    return sp.csr_array(sp.vstack(blocks)) if source.sparse else np.concatenate(blocks)
