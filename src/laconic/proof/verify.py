"""The check of certificates against data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.core.rounding import gamma
from laconic.core.words import is_whole
from laconic.covariance import Covariance
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made, Recipe, make, make_of_matrix
from laconic.covariance.screening import MOST_COLUMNS
from laconic.data.rows import columns_by_name
from laconic.proof.certificate import Certificate, lower_of, upper_of
from laconic.proof.gate import kinds_of
from laconic.proof.witness import ORTHONORMAL, checked_features, no_features
from laconic.proof.witness_joint import QUESTIONS

# The errors that a damaged certificate, or data that cannot be read, may raise.
BAD = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError, RecursionError)
# How far the squared length of a component may be from one. The proof does not depend on it.
UNIT_LENGTH = 1e-6
OTHER_DATA = "This certificate was made for other data. Give the same rows and columns, in the same order."
ABOUT_THE_MATRIX = " The proof is about this matrix, and not about the complete data, which nobody knows."
LOWER_REFUSED = "The lower bound is not proved: {claimed!r} is claimed, and the loadings give {found!r}."
UPPER_REFUSED = "The upper bound is not proved: {claimed!r} is claimed, and the witness gives {found!r}."


class Step(NamedTuple):
    """One step of a check: what is checked, what was found, and whether it holds."""

    title: str
    sentences: tuple[str, ...]
    holds: bool


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
    """

    accepted: bool
    reason: str
    lower: float = math.nan
    upper: float = math.nan
    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return self.accepted

    @property
    def lines(self) -> list[str]:
        """The steps as lines to print: a numbered title each, and its sentences below."""
        text = []
        for number, step in enumerate(self.steps, start=1):
            text.append(f"{number}. {step.title}{'' if step.holds else ': this step fails'}")
            text += [f"   {sentence}" for sentence in step.sentences]
        return text


@overload
def verify(
    certificate: Certificate | str | Path, data: Any, *, sample_weight: Any = None, explain: bool = False
) -> Verification: ...
@overload
def verify(
    certificate: Sequence[Certificate | str | Path], data: Any, *, sample_weight: Any = None, explain: bool = False
) -> list[Verification]: ...
def verify(
    certificate: Certificate | str | Path | Sequence[Certificate | str | Path],
    data: Any,
    *,
    sample_weight: Any = None,
    explain: bool = False,
) -> Verification | list[Verification]:
    """Check certificates against the data they are about, without any code of the solvers.

    The matrix is made of the data again, and deflated again. Both bounds are computed from the loadings and from the
    witness, with rounding errors included, and compared with those claimed. A certificate that is accepted is true.

    Parameters
    ----------
    certificate : Certificate, path, or list of these
        A certificate or its path. The matrix is made once for a list of certificates of the same data.
    data : array, sparse matrix, table, Covariance, or data that are read in blocks
        The rows, or the covariance matrix, that the components were found in. Columns with names are found by name, so
        a table may have further columns. Data in blocks, such as a path, are read twice.
    sample_weight : array-like of shape (n_samples,), optional
        The weights of the rows, if there were any.
    explain : bool, default=False
        Whether the result tells each step of the proof in words (`steps`).

    Returns
    -------
    Verification or list of Verification
        It is true if the certificate is accepted. Its `reason` says what is proved, or the first thing that is wrong.

    See Also
    --------
    Certificate : What is checked.
    certify : Make a certificate for a set of features.

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
    if isinstance(certificate, Certificate | str | Path) or not isinstance(certificate, list | tuple):
        return verify([certificate], data, sample_weight=sample_weight, explain=explain)[0]  # type: ignore[list-item]
    checks = [_Check(one, explain) for one in certificate]
    groups: dict[Any, list[_Check]] = {}
    for check in checks:
        if check.outcome is None:
            groups.setdefault((check.claim.recipe, check.claim.feature_names, check.claim.n_features), []).append(check)
    for group in groups.values():
        try:
            again = made_again([check.claim for check in group], data, sample_weight)
            made: Made | BaseException = replace(again, digest=cache(again.digest))
        except BAD as error:
            made = error
        for check in group:
            check.judge(made)
    return [check.outcome for check in checks if check.outcome is not None]


class _Check:
    """The check of one certificate as far as it has come."""

    def __init__(self, given: Any, explain: bool) -> None:
        self.outcome: Verification | None = None
        self._explain, self._holding = explain, 0  # the number of steps that hold
        self._lower = self._upper = math.nan
        try:
            self.claim = Certificate.load(given) if isinstance(given, str | Path) else given
            check_claim(self.claim)
            _ = self.claim.claim  # it can be put in words
        except BAD as error:
            self._fail(error)

    def judge(self, made: Made | BaseException) -> None:
        """Compute both bounds from the matrix that was made of the data, and compare them with those claimed."""
        try:
            self._judge(made)
        except BAD as error:
            self._fail(error)

    def _judge(self, made: Made | BaseException) -> None:
        c = self.claim
        self._holding = 1
        if isinstance(made, BaseException):
            raise made
        if made.covariance.n_features != c.n_features or made.digest() != c.digest:
            raise ValueError(OTHER_DATA)
        self._holding = 2
        S = _deflated(made.covariance, c)
        self._holding = 3
        lower = self._lower = lower_of(S, c.support, c.loadings, c.joint)
        if not lower >= c.lower:
            raise ValueError(LOWER_REFUSED.format(claimed=c.lower, found=lower))
        self._holding = 4
        try:
            proved = upper_of(S, c.cardinalities, c.witness, c.allowed, c.forced, joint=c.joint, total=c.total)
            upper = self._upper = proved.value
        except BAD as error:
            raise ValueError(f"The witness proves nothing: {error}") from None
        if not upper <= c.upper:
            raise ValueError(UPPER_REFUSED.format(claimed=c.upper, found=upper))
        if c.kind not in kinds_of(c.witness):
            own = c.witness.kinds()[0]
            raise ValueError(f"The upper bound is named {c.kind!r}, and its witness is of another kind: {own!r}.")
        self._holding = 6
        note = ABOUT_THE_MATRIX if c.recipe.estimated else ""
        self._end(True, f"Accepted. {c.verdict}{note}")

    def _fail(self, error: BaseException) -> None:
        self._end(False, str(error) or f"The certificate cannot be checked: {type(error).__name__}.")

    def _end(self, accepted: bool, reason: str) -> None:
        steps = []
        if self._explain:
            # The words prove nothing, so a check without them does not load their code.
            from laconic.proof.explain import steps_in_words

            told = steps_in_words(getattr(self, "claim", None), self._holding, self._lower, self._upper)
            steps = [Step(title, sentences, True) for title, sentences in told]
            if not accepted:
                steps[-1] = Step(steps[-1].title, (reason,), holds=False)
        self.outcome = Verification(accepted, reason, self._lower, self._upper, tuple(steps))


def check_claim(c: Certificate) -> None:
    """Raise an error if a certificate makes no sense for any data."""
    if not isinstance(c, Certificate):
        raise TypeError(f"A {type(c).__name__} is no certificate; give a Certificate or its path.")
    n, sizes = c.n_features, np.asarray(c.cardinalities)
    if not is_whole(n) or sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes):
        raise ValueError("The certificate must have a whole number of features, and a cardinality for each component.")
    support = checked_features(c.support, n, "The support of the certificate")
    forced = checked_features(c.forced, n, "The list of features forced in")
    allowed = np.arange(n) if c.allowed is None else checked_features(c.allowed, n, "The list of features allowed")
    loadings = np.asarray(c.loadings)
    if loadings.dtype.kind != "f" or loadings.shape != (len(sizes), len(support)) or not np.isfinite(loadings).all():
        raise ValueError("The certificate must have one finite loading for each component and feature of the support.")
    if (c.joint is None) != (len(sizes) == 1) or c.joint not in (None, *QUESTIONS):
        raise ValueError(f"The certificate is about {len(sizes)} components and joint={c.joint!r}.")
    used = _used(c, loadings).sum(axis=1)
    if not ((used >= 1) & (used <= sizes) & (sizes <= len(allowed))).all():
        raise ValueError(
            f"The certificate has components of {used.tolist()} features for the cardinalities {sizes.tolist()}, of "
            f"{len(allowed)} features."
        )
    if not np.isin(support, allowed).all():
        raise ValueError("The certificate has a support with features that are not allowed.")
    _check_joint(c, loadings)
    if not np.isin(forced, support).all():
        raise ValueError("The certificate has a support without the features that are forced in.")
    with np.errstate(over="ignore"):  # of loadings that nobody computed
        if not (np.abs((loadings**2).sum(axis=1) - 1) <= UNIT_LENGTH).all():
            raise ValueError("The certificate has loadings that are not of unit length.")
    if not all(math.isfinite(x) for x in (c.lower, c.upper, c.margin)):
        raise ValueError("The certificate has a bound or margin that is not finite.")
    if c.lower > c.upper or c.margin < 0:
        raise ValueError("The certificate has a lower bound above the upper bound, or a negative margin.")
    if (c.deflation is None) != (c.earlier is None):
        raise ValueError("The certificate must name a deflation and the components taken out, or neither.")
    if c.feature_names is not None and len(c.feature_names) != n:
        raise ValueError(f"The certificate has {len(c.feature_names)} names for {n} features.")
    if not isinstance(c.recipe, Recipe):
        raise TypeError("The certificate does not say how its matrix is made.")
    c.recipe.check()


def _used(c: Certificate, loadings: Floats) -> Mask:
    """Return which features of the support each component uses, one row for each component.

    Those that a component must contain count even if their loadings are zero. So do all of a common support.
    """
    if c.joint in (None, "common"):
        return np.ones(loadings.shape, dtype=bool)
    used = np.asarray(loadings != 0)
    return used | np.isin(np.asarray(c.support), np.asarray(c.forced)) if c.joint == "orthogonal" else used


def _check_joint(c: Certificate, loadings: Floats) -> None:
    """Raise an error unless components have to do with each other what the claim says."""
    used = _used(c, loadings)
    if c.total is not None and (c.joint not in ("disjoint", "orthogonal") or not is_whole(c.total)):
        raise ValueError(f"The certificate has a total of {c.total!r} features for joint={c.joint!r}.")
    if c.total is not None and used.sum() > c.total:
        raise ValueError(f"The certificate has {used.sum()} loadings where at most {c.total} are allowed.")
    if c.joint == "disjoint" and ((used.sum(axis=0) > 1).any() or len(c.forced)):
        raise ValueError("The certificate has components that share a feature, which disjoint ones cannot.")
    if c.joint == "common" and len(set(np.asarray(c.cardinalities).tolist())) > 1:
        raise ValueError("The certificate has several sizes for one common support.")
    if c.joint in ("common", "orthogonal"):
        error = np.abs(loadings @ loadings.T - np.eye(len(loadings))).max() + gamma(loadings.shape[1] + 2)
        if not error <= ORTHONORMAL:
            raise ValueError(f"The certificate has components that are off orthogonal by {error:.1g}.")


def made_again(claims: Sequence[Certificate], data: Any, sample_weight: Any) -> Made:
    """Return S before deflation, made of the data by the recipe that the certificates share."""
    recipe, names = claims[0].recipe, claims[0].feature_names
    if recipe.weighted and sample_weight is None:
        raise ValueError("The certificate is about weighted rows; give the same sample_weight.")
    if not recipe.weighted and sample_weight is not None:
        raise ValueError("The certificate is about data without weights; give no sample_weight.")
    table = data
    if names is not None and not isinstance(data, Covariance):
        table = columns_by_name(data, names, "the certificate is about", square=recipe.given == "covariance")
    if recipe.given == "covariance":
        return make_of_matrix(table, scale=recipe.scale, quiet=True)
    if isinstance(data, Covariance):
        raise ValueError(OTHER_DATA)
    if recipe.missing == "em" and recipe.iterations < 1:
        raise ValueError(f"The certificate has {recipe.iterations} steps of EM, and at least one is needed.")
    many = claims[0].n_features > MOST_COLUMNS
    read = np.unique(np.concatenate([_features_read(claim) for claim in claims])) if many else ()
    made = make(table, recipe, weights=sample_weight, features=0, needed=read, quiet=True)
    ridge = recipe.ridge if recipe.missing == "em" else 0.0
    if recipe.missing is not None and (made.missing is None or made.missing.ridge != ridge):
        raise ValueError(OTHER_DATA)
    return made


def _features_read(c: Certificate) -> Indices:
    """Return the features whose rows of S the proof needs: those of the witness, the support, earlier components."""
    if c.deflation == "schur" and c.n_features <= WRITE_OUT_LIMIT:
        return np.arange(c.n_features)  # each component taken out makes all variances smaller
    allowed = np.arange(c.n_features) if c.allowed is None else np.asarray(c.allowed)
    earlier = no_features() if c.earlier is None else np.flatnonzero(np.any(c.earlier, axis=0))
    return np.concatenate([allowed[c.witness.reads(len(allowed))], c.support, earlier]).astype(np.intp)


def _deflated(S: Covariance, c: Certificate) -> Covariance:
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
