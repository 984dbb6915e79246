"""A certificate of several components: the variance that they hold together, and a bound on it."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.words import Scope, held_at_least_in_words, scope_of
from laconic.covariance import Covariance, SubsetCovariance
from laconic.covariance.make import Recipe
from laconic.proof.certificate import _versions, slack_of
from laconic.proof.claim import matrix_claim, span_claim
from laconic.proof.witness import Proved, checked_features, no_features
from laconic.proof.witness_joint import SpanWitness, prove_span, proved_span_lower


@dataclass(frozen=True, eq=False)
class SpanCertificate:
    """Several components, an upper bound for all components of their sizes together, and the proof.

    The claim has two parts. With S the matrix described and P the projection on the span of the components,
    lower <= Tr(PS). And Tr(PS) <= upper for the span of any components with at most these numbers of nonzeros, all of
    them on features allowed. `laconic.verify` checks the claim.

    `margin`, `versions` and `feature_names` are no part of the claim, as in `Certificate`.

    Attributes
    ----------
    cardinalities, n_features : ndarray of int, and int
        The largest number of nonzeros of each component, and the number of features of S.
    support, loadings : ndarray
        The features that the components use, and the loadings on them, one row for each component.
    lower, upper : float
        The proved bounds.
    witness : SpanWitness
        The numbers from which the upper bound is computed.
    digest, margin, recipe : str, float and Recipe
        As in `Certificate`.
    allowed, forced : ndarray of int, or None
        The features that may be chosen, None for all, and those that every component contains. The witness numbers the
        features allowed from zero.
    feature_names, versions : tuple of str or None, and dict
        As in `Certificate`.

    See Also
    --------
    Certificate : The certificate of one component.
    verify : Checks it.

    Examples
    --------
    >>> from laconic import SparsePCA, verify
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> model = SparsePCA(2, cardinality=3, joint="span").fit(votes)
    >>> model.joint_certificate_.verdict
    'Together these 2 components hold at least 82 % of the variance that any 2 components of these sizes hold (proved).'
    >>> bool(verify(model.joint_certificate_, votes))
    True
    """

    cardinalities: Indices
    n_features: int
    support: Indices
    loadings: Floats
    lower: float
    upper: float
    witness: SpanWitness
    digest: str
    margin: float
    recipe: Recipe
    allowed: Indices | None = None
    forced: Indices = field(default_factory=no_features)
    feature_names: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=_versions)

    def __repr__(self) -> str:
        return (
            f"SpanCertificate(cardinalities={self.cardinalities.tolist()}, n_features={self.n_features}, "
            f"lower={self.lower!r}, upper={self.upper!r}: {self.verdict})"
        )

    @property
    def earlier(self) -> None:
        """No components were taken out of S."""
        return

    @property
    def gap(self) -> float:
        """The relative gap (upper - lower) / lower."""
        if self.upper <= self.lower:
            return 0.0
        return (self.upper - self.lower) / self.lower if self.lower > 0 else math.inf

    @property
    def scope(self) -> Scope:
        """The features left out or forced in, in words."""
        left_out = no_features() if self.allowed is None else np.setdiff1d(np.arange(self.n_features), self.allowed)
        return scope_of(left_out, self.forced, matrix=self.recipe.in_words, feature_names=self.feature_names)

    @property
    def verdict(self) -> str:
        """A sentence that says what is proved."""
        return held_at_least_in_words(len(self.cardinalities), self.gap, self.scope)

    @property
    def claim(self) -> tuple[str, ...]:
        """What is proved, in sentences that name both bounds and the matrix. They stand at the top of the file."""
        sizes = [int(k) for k in self.cardinalities]
        return (
            *span_claim(self.support, self.feature_names, sizes, (self.lower, self.upper), self.scope),
            matrix_claim(self.recipe, self.digest),
        )

    def save(self, path: str | Path) -> Path:
        """Write the certificate as JSON to `path`, large arrays as NPZ beside it, and return the path."""
        from laconic.proof.storage import write_certificate

        return write_certificate(self, path)[0]


def certify_span(
    covariance: Covariance,
    cardinalities: tuple[int, ...],
    components: Floats,
    witness: SpanWitness,
    *,
    digest: str,
    recipe: Recipe,
    allowed: Any = None,
    forced: Any = (),
    feature_names: Any = None,
    proved: Proved | None = None,
) -> SpanCertificate:
    """Return the certificate of the components in the rows of `components`, on all features.

    Both bounds are proved and then loosened by `SLACK`. `proved` is the bound of the witness, if it is known already.
    """
    choice = None if allowed is None else np.asarray(allowed, dtype=np.intp)
    if proved is None:
        part = covariance if choice is None else SubsetCovariance(covariance, choice)
        proved = prove_span(part, cardinalities, witness)
    support = np.flatnonzero(components.any(axis=0))
    loadings = np.ascontiguousarray(components[:, support])
    lower = proved_span_lower(covariance, support, loadings)
    slack = slack_of(covariance, proved.value, recipe)
    return SpanCertificate(
        cardinalities=np.array(cardinalities, dtype=np.intp),
        n_features=covariance.n_features,
        support=support,
        loadings=loadings,
        lower=float(lower - slack),
        upper=float(proved.value + slack),
        witness=witness,
        digest=digest,
        margin=float(proved.margin + slack),
        recipe=recipe,
        allowed=choice,
        forced=np.asarray(forced, dtype=np.intp),
        feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
    )


def check_span_claim(c: SpanCertificate) -> None:
    """Raise an error if a certificate makes no sense for any data."""
    n, sizes = c.n_features, np.asarray(c.cardinalities)
    if not is_whole(n) or sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes):
        raise ValueError("The certificate must have a whole number of features, and one for each component.")
    support = checked_features(c.support, n, "The support of the certificate")
    forced = checked_features(c.forced, n, "The list of features forced in")
    allowed = np.arange(n) if c.allowed is None else checked_features(c.allowed, n, "The list of features allowed")
    loadings = np.asarray(c.loadings)
    if loadings.dtype.kind != "f" or loadings.shape != (len(sizes), len(support)) or not np.isfinite(loadings).all():
        raise ValueError("The certificate must have one finite loading for each component and feature of the support.")
    used = loadings != 0
    if not (sizes >= 1).all() or not (sizes <= len(allowed)).all() or (used.sum(axis=1) > sizes).any():
        raise ValueError("The certificate has a component with more features than its cardinality allows.")
    if not np.isin(support, allowed).all():
        raise ValueError("The certificate has a support with features that are not allowed.")
    if not np.isin(forced, support).all() or not used[:, np.isin(support, forced)].all():
        raise ValueError("The certificate has components without the features that are forced in.")
    if not all(math.isfinite(x) for x in (c.lower, c.upper, c.margin)):
        raise ValueError("The certificate has a bound or margin that is not finite.")
    if c.lower > c.upper or c.margin < 0:
        raise ValueError("The certificate has a lower bound above the upper bound, or a negative margin.")
    if c.feature_names is not None and len(c.feature_names) != n:
        raise ValueError(f"The certificate has {len(c.feature_names)} names for {n} features.")
