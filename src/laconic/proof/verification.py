"""The check of a certificate against data."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from laconic.core.arguments import is_whole
from laconic.core.arrays import WRITE_OUT_LIMIT, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, make, make_of_matrix
from laconic.covariance.deflation import Deflation
from laconic.covariance.screening import MOST_COLUMNS
from laconic.data.names import feature_names_of
from laconic.data.sources import open_source
from laconic.data.tables import as_array_or_frame
from laconic.proof.certificate import Certificate
from laconic.proof.explanation import (
    Step,
    Steps,
    claim_in_words,
    component_in_words,
    components_in_words,
    data_in_words,
    matrix_in_words,
    rounding_in_words,
    verdict_in_words,
)
from laconic.proof.gate import explained, kind_of, kinds_of, proved_lower, proved_upper
from laconic.proof.span_certificate import SpanCertificate, check_span_claim
from laconic.proof.storage import read_certificate
from laconic.proof.witness import checked_features, no_features
from laconic.proof.witness_joint import prove_span, proved_span_lower, span_in_words

# The errors that a damaged certificate, or data that cannot be read, may raise.
BAD = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError, RecursionError)
# How far the squared length of loadings may be from one. The proof does not depend on it.
UNIT_LENGTH = 1e-6
OTHER_MATRIX = (
    "This certificate is about another matrix: it was made for other data. Give the same rows and columns, in the same "
    "order."
)
ABOUT_THE_MATRIX = " The proof is about this matrix, and not about the complete data, which nobody knows."
# Titles of steps, and the reasons for which the two bounds are refused.
LOWER, UPPER = "The component and its variance", "The upper bound"
LOWER_REFUSED = "The lower bound is not proved: {claimed!r} is claimed, and the loadings give {found!r}."
UPPER_REFUSED = "The upper bound is not proved: {claimed!r} is claimed, and the witness gives {found!r}."


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
    steps : tuple of Step
        The steps of the check, in words, if they were asked for. The last one is the one that fails, if one does.

    See Also
    --------
    verify : Makes it.

    Examples
    --------
    >>> from laconic import SparsePCA, verify
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> certificate = SparsePCA(cardinality=5).fit(votes).certificates_[0]
    >>> checked = verify(certificate, votes)
    >>> checked.accepted
    True
    """

    accepted: bool
    reason: str
    lower: float = math.nan
    upper: float = math.nan
    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return self.accepted


def verify(
    certificate: Certificate | SpanCertificate | str | Path,
    data: Any,
    *,
    sample_weight: Any = None,
    explain: bool = False,
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
    explain : bool, default=False
        Whether the result tells each step of the proof in words (`steps`). Bounds are computed twice for this.

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
    >>> votes = load_senate109().frame
    >>> certificate = SparsePCA(cardinality=5).fit(votes).certificates_[0]
    >>> verify(certificate, votes).reason
    'Accepted. Optimal: no other support of this size reaches more variance (proved).'
    >>> bool(verify(certificate, 2 * votes))
    False
    """
    steps = Steps(explain)
    try:
        steps.begin("The claim")
        if isinstance(certificate, str | Path):
            certificate = read_certificate(certificate)
        if isinstance(certificate, SpanCertificate):
            check_span_claim(certificate)
        else:
            _check_claim(certificate)
        steps.say(claim_in_words, certificate)
        steps.begin("The data are those of the certificate")
        S = _made_again(certificate, data, sample_weight)
        steps.say(data_in_words, certificate)
        steps.begin("The matrix S")
        if isinstance(certificate, SpanCertificate):
            steps.say(matrix_in_words, certificate)
            return _judge_span(certificate, S, steps)
        S = _deflated_again(S, certificate)
        steps.say(matrix_in_words, certificate)
        return _judge(certificate, S, steps)
    except BAD as error:
        reason = str(error) or f"The certificate cannot be checked: {type(error).__name__}."
        steps.fail(reason)
        return Verification(False, reason, steps=steps.done())


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


def _made_again(c: Certificate | SpanCertificate, data: Any, sample_weight: Any) -> Covariance:
    """Return S before deflation, made from the data as the certificate says, if they have its digest."""
    recipe = c.recipe
    recipe.check()
    if recipe.given == "covariance":
        if sample_weight is not None:
            raise ValueError("The certificate is about a covariance matrix, which has no sample_weight.")
        made = make_of_matrix(data, scale=recipe.scale, quiet=True)
        _check_names(c, made.names)
    else:
        if recipe.weighted != (sample_weight is not None):
            needed = "weighted rows; give the same sample_weight" if recipe.weighted else "rows without weights; give no sample_weight"
            raise ValueError(f"The certificate is about {needed}.")
        if isinstance(data, Covariance):
            raise ValueError(OTHER_MATRIX)
        if recipe.missing == "em" and recipe.iterations < 1:
            raise ValueError(f"The certificate has {recipe.iterations} steps of EM, and at least one is needed.")
        source = open_source(data)
        table = as_array_or_frame(data) if source is None else source
        names = feature_names_of(table) if source is None else source.feature_names
        _check_names(c, names)
        shape = getattr(table, "shape", (0, 0))
        if (shape[-1] if source is None else source.n_features) != c.n_features:
            raise ValueError(OTHER_MATRIX)
        needed = _features_read(c) if c.n_features > MOST_COLUMNS else ()
        made = make(table, recipe, Monitor(), weights=sample_weight, features=0, needed=needed, quiet=True)
        if recipe.missing is not None and made.missing is None:
            raise ValueError(OTHER_MATRIX)
    if made.covariance.n_features != c.n_features or made.digest() != c.digest:
        raise ValueError(OTHER_MATRIX)
    return made.covariance


def _check_names(c: Certificate | SpanCertificate, names: Any) -> None:
    """Raise a ValueError if data and certificate have feature names that differ."""
    if names is not None and c.feature_names is not None and tuple(names) != c.feature_names:
        if sorted(names) == sorted(c.feature_names):
            raise ValueError(
                "This certificate is about features with the same names in another order; order them as its "
                "feature_names."
            )
        raise ValueError("This certificate is about features with other names.")


def _features_read(c: Certificate | SpanCertificate) -> Indices:
    """Return the features whose rows of S the proof needs: those of the witness, the support, earlier components."""
    if getattr(c, "deflation", None) == "schur" and c.n_features <= WRITE_OUT_LIMIT:
        return np.arange(c.n_features)  # each component taken out makes all variances smaller
    allowed = np.arange(c.n_features) if c.allowed is None else np.asarray(c.allowed)
    earlier = no_features() if c.earlier is None else np.flatnonzero(np.any(c.earlier, axis=0))
    return np.unique(np.concatenate([allowed[c.witness.reads(len(allowed))], c.support, earlier])).astype(np.intp)


def _deflated_again(S: Covariance, c: Certificate) -> Covariance:
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


def _judge_span(c: SpanCertificate, S: Covariance, steps: Steps) -> Verification:
    """Compute both bounds on several components and compare them with those claimed."""
    steps.begin(LOWER)
    lower = proved_span_lower(S, c.support, c.loadings)
    if not lower >= c.lower:
        return _refused(LOWER_REFUSED.format(claimed=c.lower, found=lower), steps, lower)
    steps.say(components_in_words, c, lower)
    steps.begin(UPPER)
    part = S if c.allowed is None else S.part(c.allowed)
    sizes = tuple(int(k) for k in c.cardinalities)
    upper = prove_span(part, sizes, c.witness).value
    if not upper <= c.upper:
        return _refused(UPPER_REFUSED.format(claimed=c.upper, found=upper), steps, lower, upper)
    steps.say(span_in_words, part, sizes, c.witness)
    return _accepted(c, steps, lower, upper)


def _judge(c: Certificate, S: Covariance, steps: Steps) -> Verification:
    """Compute both bounds and compare them with those claimed."""
    steps.begin(LOWER)
    lower = proved_lower(S, c.support, c.loadings)
    if not lower >= c.lower:
        return _refused(LOWER_REFUSED.format(claimed=c.lower, found=lower), steps, lower)
    steps.say(component_in_words, c, lower)
    steps.begin(UPPER)
    part, inside = S, np.asarray(c.forced, dtype=np.intp)
    if c.allowed is not None:
        part, inside = S.part(c.allowed), np.flatnonzero(np.isin(c.allowed, inside))
    try:
        upper = proved_upper(part, c.cardinality, c.witness, inside=inside)
    except BAD as error:
        return _refused(f"The witness proves nothing: {error}", steps, lower)
    if not upper <= c.upper:
        return _refused(UPPER_REFUSED.format(claimed=c.upper, found=upper), steps, lower, upper)
    if c.kind not in kinds_of(c.witness):
        reason = f"The upper bound is named {c.kind!r}, and its witness is of another kind: {kind_of(c.witness)!r}."
        return _refused(reason, steps, lower, upper)
    steps.say(explained, part, c.cardinality, c.witness, inside=inside)
    return _accepted(c, steps, lower, upper)


def _refused(reason: str, steps: Steps, lower: float, upper: float = math.nan) -> Verification:
    steps.fail(reason)
    return Verification(False, reason, lower, upper, steps.done())


def _accepted(c: Certificate | SpanCertificate, steps: Steps, lower: float, upper: float) -> Verification:
    steps.begin("Rounding")
    steps.say(rounding_in_words, c, upper)
    steps.begin("Conclusion")
    steps.say(verdict_in_words, c)
    note = "" if c.recipe.missing is None or isinstance(c, SpanCertificate) else ABOUT_THE_MATRIX
    return Verification(True, f"Accepted. {c.verdict}{note}", lower, upper, steps.done())
