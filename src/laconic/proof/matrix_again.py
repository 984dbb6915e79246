"""The matrix S that a certificate is about, made again from data."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance import Covariance, Screening, covariance_of
from laconic.covariance.contrast_of import checked_background, contrast_of
from laconic.covariance.deflation import Deflation
from laconic.covariance.from_data import small_rows
from laconic.covariance.missing import PresentValues
from laconic.covariance.reading import matrix_to_use
from laconic.covariance.screening import MOST_COLUMNS
from laconic.data.checks import check_matrix
from laconic.data.digest import digest_of
from laconic.data.rows import ArraySource, Source, open_source
from laconic.data.tables import as_array_or_frame, feature_names_of, rows_of
from laconic.proof.certificate import Certificate, MatrixDescription
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.terms import no_features

# How far the squared length of loadings may be from one. The proof does not depend on it.
UNIT_LENGTH = 1e-6
# Rows of at most this many entries are converted to the form in which they were fitted, sparse or dense: 400 MB.
OTHER_FORM_ENTRIES = 50_000_000
OTHER_MATRIX = (
    "This certificate is about another matrix: it was made for other data. Give the same rows and columns, in the same "
    "order."
)


def _check_names(c: Certificate | SpanCertificate, names: list[str] | None) -> None:
    """Raise a ValueError if data and certificate have feature names that differ."""
    if names is not None and c.feature_names is not None and tuple(names) != c.feature_names:
        if sorted(names) == sorted(c.feature_names):
            raise ValueError(
                "This certificate is about features with the same names in another order; order them as its "
                "feature_names."
            )
        raise ValueError("This certificate is about features with other names.")


def matrix_again(c: Certificate | SpanCertificate, data: Any, sample_weight: Any, contrast: Any = None) -> Covariance:
    """Return S before deflation, made from the data as the certificate says, if they have its digest."""
    description = c.matrix
    _check_description(description)
    if (contrast is None) != (description.contrast is None):
        needed = "a difference of two covariances; give the background rows, too (contrast=Y)."
        raise ValueError(f"The certificate is about {needed if contrast is None else 'rows without a contrast.'}")
    source = open_source(data)
    if description.missing is not None and contrast is not None:
        raise ValueError("There is no contrast of rows with missing values.")
    if source is not None and (contrast is not None or sample_weight is not None or description.weights is not None):
        rows = source.in_memory()
        if rows is None:
            needs = "sample_weight needs rows" if contrast is None else "a contrast needs both tables"
            raise ValueError(f"{source.name} is read in blocks; {needs} in memory.")
        _check_names(c, source.feature_names)
        data, source = rows, None
    if source is not None and description.missing is not None:
        return _from_passes(c, source, sample_weight)
    if source is not None:
        many = not description.hidden and source.n_features > MOST_COLUMNS
        rows = small_rows(source, Screening(source).first.n_rows) if many else None
        if rows is None:
            return _from_passes(c, source, sample_weight)
        _check_names(c, source.feature_names)
        data = rows
    if isinstance(data, Covariance) and data.matrix is None:
        as_given = description.given == "covariance" and not description.scale and data.n_features == c.n_features
        if not as_given or digest_of(data) != c.digest:
            raise ValueError(OTHER_MATRIX)
        if description.indefinite != "accept" or description.missing is not None or description.weights is not None:
            raise ValueError("The certificate is not about the matrix that is given, but about one made from it.")
        return data
    table = data.matrix if isinstance(data, Covariance) else as_array_or_frame(data)
    names = feature_names_of(table)
    _check_names(c, names)
    if description.given == "covariance":
        if sample_weight is not None:
            raise ValueError("The certificate is about a covariance matrix, which has no sample_weight.")
        matrix = check_matrix(table, name="data")
        if digest_of(matrix) != c.digest or len(matrix) != c.n_features:
            raise ValueError(OTHER_MATRIX)
        made = matrix_to_use(matrix, scale=description.scale, indefinite=description.indefinite, quiet=True)
        return made.covariance
    if description.missing is None and description.indefinite != "accept":
        raise ValueError("The certificate is about the nearest matrix, and that of complete rows is never replaced.")
    rows, _ = rows_of(table, name="data", missing=description.missing)
    if rows.shape[1] != c.n_features:
        raise ValueError(OTHER_MATRIX)
    weights = _weights(sample_weight, rows.shape[0], description)
    if description.missing is not None:
        return _with_missing(c, PresentValues.of(rows, names, weights=weights))
    # The first of two passes computes the digest.
    in_passes = description.hidden and weights is None
    if not in_passes and digest_of(rows) != c.digest:
        raise ValueError(OTHER_MATRIX)
    if sp.issparse(rows) != description.sparse and math.prod(rows.shape) <= OTHER_FORM_ENTRIES:
        # S is made from rows in the form in which they were fitted, so that it is rounded the same way.
        rows = rows.toarray() if sp.issparse(rows) else sp.csr_array(rows)
    if contrast is not None:
        return _contrasted(c, rows, names, contrast, weights)
    if in_passes:
        return _screened(c, ArraySource(rows))
    return covariance_of(rows, center=description.center, scale=description.scale, weights=weights)[0]


def _check_description(m: MatrixDescription) -> None:
    """Raise a ValueError if a description has values that describe no matrix."""
    if m.given not in ("rows", "covariance"):
        raise ValueError(f"The certificate does not say what its matrix was made from: {m.given!r}.")
    if m.missing not in (None, "pairwise", "em") or m.indefinite not in ("accept", "nearest"):
        raise ValueError(
            f"The certificate names ways to make a matrix that are not known: missing={m.missing!r} and "
            f"indefinite={m.indefinite!r}."
        )
    if m.given == "covariance" and any(part is not None for part in (m.missing, m.weights, m.contrast)):
        raise ValueError("The certificate is about a matrix, and a matrix has no rows with missing values or weights.")


def _contrasted(
    c: Certificate | SpanCertificate, rows: Any, names: Any, contrast: Any, weights: Floats | None
) -> Covariance:
    """Return the difference of two covariances, if the background has the digest of the certificate."""
    background = checked_background(contrast, names, c.n_features)
    if digest_of(background) != c.matrix.contrast or not 0 < c.matrix.contrast_weight < math.inf:
        raise ValueError("This certificate is about another contrast: give the same background rows.")
    weight, center, scale = c.matrix.contrast_weight, c.matrix.center, c.matrix.scale
    return contrast_of(rows, background, weight, center=center, scale=scale, weights=weights)[0]


def _from_passes(c: Certificate | SpanCertificate, source: Source, sample_weight: Any) -> Covariance:
    """Return S from data that are read in blocks: the first pass also computes their digest."""
    if c.matrix.given != "rows" or c.matrix.weights is not None or sample_weight is not None:
        raise ValueError("This certificate is not about rows without weights, and data read in blocks have none.")
    _check_names(c, source.feature_names)
    if source.n_features != c.n_features:
        raise ValueError(OTHER_MATRIX)
    return _screened(c, source) if c.matrix.missing is None else _with_missing(c, PresentValues.of(source))


def _with_missing(c: Certificate | SpanCertificate, values: PresentValues) -> Covariance:
    """Return S made from rows with missing values in the way that the certificate names."""
    description = c.matrix
    if values.digest != c.digest:
        raise ValueError(OTHER_MATRIX)
    values.center, values.scale = description.center, description.scale
    made = values.matrix(str(description.missing), description.iterations, description.ridge)
    return made.covariance_again(description.indefinite)


def _screened(c: Certificate | SpanCertificate, source: Source) -> Covariance:
    screening = Screening(source, c.matrix.center, c.matrix.scale)
    if screening.digest != c.digest:
        raise ValueError(OTHER_MATRIX)
    columns = _features_read(c) if c.matrix.hidden or c.n_features > WRITE_OUT_LIMIT else np.arange(c.n_features)
    if len(columns) > WRITE_OUT_LIMIT:
        raise ValueError(
            f"This proof needs the rows of {len(columns):,} features, which are too many for data read in blocks; give "
            "the data as an array or sparse matrix in memory."
        )
    return screening.with_columns(columns)


def _features_read(c: Certificate | SpanCertificate) -> Indices:
    """Return the features whose rows of S the proof needs: those of the witness, the support, earlier components."""
    allowed = np.arange(c.n_features) if c.allowed is None else np.asarray(c.allowed)
    earlier = no_features() if c.earlier is None else np.flatnonzero(np.any(c.earlier, axis=0))
    return np.unique(np.concatenate([allowed[c.witness.reads(len(allowed))], c.support, earlier])).astype(np.intp)


def _weights(sample_weight: Any, n_rows: int, description: MatrixDescription) -> Floats | None:
    if sample_weight is None:
        if description.weights is not None:
            raise ValueError("The certificate is about weighted rows; give the same sample_weight.")
        return None
    if description.weights is None:
        raise ValueError("The certificate is about rows without weights; give no sample_weight.")
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(n_rows, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n_rows,) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(f"sample_weight must be {n_rows} numbers, not negative and not all zero.")
    if digest_of(weights) != description.weights:
        raise ValueError("The certificate is about rows with other weights.")
    return weights


def deflated_again(S: Covariance, c: Certificate) -> Covariance:
    """Return S after the earlier components were taken out, as the certificate says."""
    if c.deflation is None or c.earlier is None:
        return S
    earlier = np.asarray(c.earlier)
    if earlier.dtype.kind != "f" or earlier.ndim != 2 or earlier.shape[1] != c.n_features or not len(earlier):
        raise ValueError("The certificate must give each component taken out as a row of all features.")
    if not (np.abs((earlier**2).sum(axis=1) - 1) <= UNIT_LENGTH).all():
        raise ValueError("The certificate has components taken out that are not of unit length.")
    deflation = Deflation(S, c.deflation)
    for z in earlier:
        deflation.remove(z)
    return deflation.current
