"""The check of a certificate against data."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.rounding import down, up
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance import Covariance, Screening, SubsetCovariance, covariance_of
from laconic.covariance.contrast_of import checked_background, contrast_of
from laconic.covariance.deflation import Deflation
from laconic.covariance.from_data import small_rows
from laconic.covariance.missing import PresentValues
from laconic.covariance.reading import matrix_to_use
from laconic.covariance.screening import MOST_COLUMNS
from laconic.covariance.uncertainty import Uncertainty
from laconic.data.checks import check_matrix
from laconic.data.digest import digest_of
from laconic.data.names import feature_names_of
from laconic.data.sources import Source, open_source
from laconic.data.sources.memory import ArraySource
from laconic.data.tables import as_array_or_frame, rows_of
from laconic.proof.certificate import Certificate, MatrixDescription
from laconic.proof.gate import proved_upper
from laconic.proof.lower import proved_lower
from laconic.proof.span import prove_span, proved_span_lower
from laconic.proof.span_certificate import SpanCertificate, check_span_claim
from laconic.proof.storage import read_certificate
from laconic.proof.terms import checked_features, no_features
from laconic.proof.witnesses.registry import kind_of, kinds_of

# How far the squared length of loadings may be from one. The proof does not depend on it.
UNIT_LENGTH = 1e-6
# The errors that a damaged certificate, or data that cannot be read, may raise.
BAD = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError, RecursionError)
# Rows of at most this many entries are converted to the form in which they were fitted, sparse or dense: 400 MB.
OTHER_FORM_ENTRIES = 50_000_000
ABOUT_THE_MATRIX = " The proof is about this matrix, and not about the complete data, which nobody knows."
OTHER_MATRIX = (
    "This certificate is about another matrix: it was made for other data. Give the same rows and columns, in the same "
    "order."
)


@dataclass(frozen=True)
class Verification:
    """The outcome of `verify`; true if the certificate is accepted.

    Attributes
    ----------
    accepted : bool
        Whether the certificate is true of the data.
    reason : str
        One sentence: what is proved, or the first thing that is wrong.
    lower, upper : float
        The bounds computed again; NaN if the check ended before.

    See Also
    --------
    verify : Makes it.

    Examples
    --------
    >>> from laconic import SparsePCA, verify
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().to_frame()
    >>> certificate = SparsePCA(cardinality=5).fit(votes).certificates_[0]
    >>> checked = verify(certificate, votes)
    >>> checked.accepted
    True
    """

    accepted: bool
    reason: str
    lower: float = math.nan
    upper: float = math.nan

    def __bool__(self) -> bool:
        return self.accepted


def verify(
    certificate: Certificate | SpanCertificate | str | Path,
    data: Any,
    *,
    sample_weight: Any = None,
    contrast: Any = None,
) -> Verification:
    """Check a certificate against the data it is about, without any code of the solvers.

    The matrix is made from the data again, and deflated again. Both bounds are computed from the loadings and from the
    witness, with rounding errors included, and compared with those claimed. A certificate that is accepted is true.

    Parameters
    ----------
    certificate : Certificate, SpanCertificate or path
        A certificate of one component or of several together, or its path.
    data : array, sparse matrix, table, Covariance, or data that are read in blocks
        The rows, or the covariance matrix, that the component was found in: an array, a sparse matrix, a table, a
        `Covariance`, or data that are read in blocks, such as a path. Those are read twice.
    sample_weight : array-like of shape (n_samples,), optional
        The weights of the rows, if there were any.
    contrast : array, sparse matrix or table, optional
        The background rows Y, if the certificate is about a difference S_X - g S_Y. The weight g is in it.

    Returns
    -------
    Verification
        It is true if the certificate is accepted. Its `reason` says what is proved, or the first thing that is wrong.

    See Also
    --------
    Certificate : What is checked.
    certify_support : Make a certificate for a set of features.

    Notes
    -----
    The largest eigenvalue of a matrix M is proved to be at most t by a Cholesky factorisation of tI - M that succeeds,
    less a bound on its rounding errors [1]_.

    References
    ----------
    .. [1] S. M. Rump (2006). Verification of positive definiteness. BIT Numerical Mathematics 46, 433-452.

    Examples
    --------
    >>> from laconic import SparsePCA, verify
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().to_frame()
    >>> certificate = SparsePCA(cardinality=5).fit(votes).certificates_[0]
    >>> verify(certificate, votes).reason
    'Accepted. Optimal: no other support of this size reaches more variance (proved).'
    >>> bool(verify(certificate, 2 * votes))
    False
    """
    try:
        if isinstance(certificate, str | Path):
            certificate = read_certificate(certificate)
        if isinstance(certificate, SpanCertificate):
            check_span_claim(certificate)
            return _judge_span(certificate, _matrix(certificate, data, sample_weight, contrast))
        _check_claim(certificate)
        S = _deflated(_matrix(certificate, data, sample_weight, contrast), certificate)
        return _judge(certificate, S)
    except BAD as error:
        return Verification(False, str(error) or f"The certificate cannot be checked: {type(error).__name__}.")


def _check_claim(c: Certificate) -> None:
    """Raise an error if a certificate makes no sense for any data."""
    if not isinstance(c, Certificate):
        raise TypeError(f"A {type(c).__name__} is no certificate; give a Certificate or its path.")
    n = c.n_features
    if not (is_whole(c.cardinality) and is_whole(n)):
        raise ValueError(
            f"The certificate has cardinality {c.cardinality!r} and {n!r} features, which must be whole numbers."
        )
    support = checked_features(c.support, n, "The support of the certificate")
    forced = checked_features(c.forced, n, "The list of features forced in")
    allowed = np.arange(n) if c.allowed is None else checked_features(c.allowed, n, "The list of features allowed")
    if not 1 <= len(support) <= c.cardinality <= len(allowed):
        raise ValueError(
            f"The certificate has a support of {len(support)} features for cardinality {c.cardinality} "
            f"and {len(allowed)} features."
        )
    if not np.isin(support, allowed).all():
        raise ValueError("The certificate has a support with features that are not allowed.")
    if not (np.isin(forced, support).all() and np.isin(forced, allowed).all()):
        raise ValueError("The certificate has a support without the features that are forced in.")
    loadings = np.asarray(c.loadings)
    if loadings.dtype.kind != "f" or loadings.shape != support.shape or not np.isfinite(loadings).all():
        raise ValueError("The certificate must have one finite loading for each feature of the support.")
    with np.errstate(over="ignore"):  # of loadings that nobody computed
        length = float(loadings @ loadings)
    if not abs(length - 1) <= UNIT_LENGTH:
        raise ValueError("The certificate has loadings that are not of unit length.")
    if not all(math.isfinite(x) for x in (c.lower, c.upper, c.margin)):
        raise ValueError("The certificate has a bound or margin that is not finite.")
    if c.lower > c.upper or c.margin < 0:
        raise ValueError("The certificate has a lower bound above the upper bound, or a negative margin.")
    if (c.deflation is None) != (c.earlier is None):
        raise ValueError("The certificate must name a deflation and the components taken out, or neither.")
    if c.feature_names is not None and len(c.feature_names) != n:
        raise ValueError(f"The certificate has {len(c.feature_names)} names for {n} features.")


def _check_names(c: Certificate | SpanCertificate, names: list[str] | None) -> None:
    """Raise a ValueError if data and certificate have feature names that differ."""
    if names is not None and c.feature_names is not None and tuple(names) != c.feature_names:
        if sorted(names) == sorted(c.feature_names):
            raise ValueError(
                "This certificate is about features with the same names in another order; order them as its "
                "feature_names."
            )
        raise ValueError("This certificate is about features with other names.")


def _matrix(c: Certificate | SpanCertificate, data: Any, sample_weight: Any, contrast: Any = None) -> Covariance:
    """Return S before deflation, made from the data as the certificate says, if they have its digest."""
    description = c.matrix
    if description.given not in ("rows", "covariance"):
        raise ValueError(f"The certificate does not say what its matrix was made from: {description.given!r}.")
    if (contrast is None) != (description.contrast is None):
        needed = "a difference of two covariances; give the background rows, too (contrast=Y)."
        raise ValueError(f"The certificate is about {needed if contrast is None else 'rows without a contrast.'}")
    source = open_source(data)
    if description.missing is not None and contrast is not None:
        raise ValueError("There is no contrast of rows with missing values.")
    if source is not None and contrast is not None:
        rows = source.in_memory()
        if rows is None:
            raise ValueError(f"{source.name} is read in blocks; a contrast needs both tables in memory.")
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


def _deflated(S: Covariance, c: Certificate) -> Covariance:
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


def _judge_span(c: SpanCertificate, S: Covariance) -> Verification:
    """Compute both bounds on several components and compare them with those claimed."""
    lower = proved_span_lower(S, c.support, c.loadings)
    if not lower >= c.lower:
        reason = f"The lower bound is not proved: {c.lower!r} is claimed, and the loadings give {lower!r}."
        return Verification(False, reason, lower)
    part = S if c.allowed is None else SubsetCovariance(S, c.allowed)
    upper = prove_span(part, tuple(int(k) for k in c.cardinalities), c.witness).value
    if not upper <= c.upper:
        reason = f"The upper bound is not proved: {c.upper!r} is claimed, and the witness gives {upper!r}."
        return Verification(False, reason, lower, upper)
    return Verification(True, f"Accepted. {c.verdict}", lower, upper)


def _judge(c: Certificate, S: Covariance) -> Verification:
    """Compute both bounds and compare them with those claimed."""
    uncertainty = Uncertainty(S, c.matrix.uncertainty, 0 if c.earlier is None else len(c.earlier))
    lower = proved_lower(S, c.support, c.loadings)
    if c.matrix.uncertainty:
        lower = float(down(lower - uncertainty.of_vector(c.support, c.loadings)))
    if not lower >= c.lower:
        reason = f"The lower bound is not proved: {c.lower!r} is claimed, and the loadings give {lower!r}."
        return Verification(False, reason, lower)
    part, inside = S, np.asarray(c.forced, dtype=np.intp)
    if c.allowed is not None:
        part, inside = SubsetCovariance(S, c.allowed), np.flatnonzero(np.isin(c.allowed, inside))
    try:
        upper = proved_upper(part, c.cardinality, c.witness, inside=inside)
        if c.matrix.uncertainty:
            upper = float(up(upper + uncertainty.of_bound(c.cardinality)))
    except BAD as error:
        return Verification(False, f"The witness proves nothing: {error}", lower)
    if not upper <= c.upper:
        reason = f"The upper bound is not proved: {c.upper!r} is claimed, and the witness gives {upper!r}."
        return Verification(False, reason, lower, upper)
    if c.kind not in kinds_of(c.witness):
        reason = f"The upper bound is named {c.kind!r}, and its witness is of another kind: {kind_of(c.witness)!r}."
        return Verification(False, reason, lower, upper)
    note = "" if c.matrix.missing is None else ABOUT_THE_MATRIX
    return Verification(True, f"Accepted. {c.verdict}{note}", lower, upper)
