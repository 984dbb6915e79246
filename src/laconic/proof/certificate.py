"""A certificate: one component, both bounds, and the numbers needed to compute them again."""

import math
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.words import Scope, proof_in_words, scope_of
from laconic.covariance import Covariance, SubsetCovariance
from laconic.covariance.make import Recipe
from laconic.proof.claim import component_claim, matrix_claim
from laconic.proof.gate import ProofError, kind_of, prove, proved_lower
from laconic.proof.witness import Proved, Witness, no_features

# Both bounds are loosened by this share of their size, because another machine may round the matrix differently. It is
# some thousand times the rounding of one number.
SLACK = 1e-12
# A matrix from rows with missing values is rounded more: correlations over few rows lose up to six digits, and so do
# many steps of EM. This is still a thousandth of the gap that counts as optimal.
MISSING_SLACK = 1e-9
# The errors of sums over many rows and columns add at most this share: a tenth of the gap that counts as optimal.
MOST_SLACK = 1e-7
# After deflation, rounding is relative to the matrix before. This share of its largest variance counts as size too.
BEFORE = 0.01


def _versions() -> dict[str, str]:
    own = str(getattr(sys.modules["laconic"], "__version__", "unknown"))
    return {"laconic": own, "numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}


@dataclass(frozen=True, eq=False)
class Certificate:
    """One component, an upper bound for all components of its size, and the proof.

    The claim has two parts. With S the matrix described, lower <= z'Sz for the unit vector z with these loadings. And
    x'Sx <= upper for every unit vector x on a support of at most k allowed features that contains those forced in.
    `laconic.verify` checks the claim.

    Three fields are no part of the claim. `margin` must only be finite and not negative: another machine may find
    another. `versions` are not checked. `feature_names` are compared with those of the data if the data have names.

    Attributes
    ----------
    cardinality, n_features : int
        The number of nonzeros k, and the number of features of S.
    support, loadings : ndarray of shape (k,)
        The features of the component, and their loadings.
    lower, upper : float
        The proved bounds.
    kind, witness : str and Witness
        The name of the upper bound, and the numbers from which it is computed.
    digest : str
        The SHA-256 of the data; see `laconic.data.digest.digest_of`.
    margin : float
        The part of `upper` that allows for rounding, on the machine that made the certificate.
    recipe : Recipe
        How S was made from the data.
    deflation, earlier : str and ndarray, or None
        The rule by which earlier components were taken out of S, and those components, one a row. Both are None for a
        component found in S itself.
    allowed, forced : ndarray of int, or None
        The features that may be chosen, None for all, and those that every support considered contains. The witness
        numbers the features allowed from zero.
    feature_names, versions : tuple of str or None, and dict
        The names of all features, or None, and the versions of the software that made the certificate.

    See Also
    --------
    verify : Checks it.
    certify_support : Makes one for a set of features that you chose.
    SpanCertificate : The certificate of several components together.

    Examples
    --------
    >>> from laconic import Certificate, SparsePCA
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> certificate = SparsePCA(cardinality=5).fit(votes).certificates_[0]
    >>> certificate.verdict
    'Optimal: no other support of this size reaches more variance (proved).'
    >>> path = certificate.save("certificate.json")
    >>> Certificate.load(path).cardinality
    5
    """

    cardinality: int
    n_features: int
    support: Indices
    loadings: Floats
    lower: float
    upper: float
    kind: str
    witness: Witness
    digest: str
    margin: float
    recipe: Recipe
    deflation: str | None = None
    earlier: Floats | None = None
    allowed: Indices | None = None
    forced: Indices = field(default_factory=no_features)
    feature_names: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=_versions)

    def __repr__(self) -> str:
        return (
            f"Certificate(cardinality={self.cardinality}, n_features={self.n_features}, lower={self.lower!r}, "
            f"upper={self.upper!r}, kind={self.kind!r}: {self.verdict})"
        )

    @property
    def gap(self) -> float:
        """The relative gap (upper - lower) / lower."""
        if self.upper <= self.lower:
            return 0.0
        return (self.upper - self.lower) / self.lower if self.lower > 0 else math.inf

    @property
    def proved(self) -> bool:
        """Whether the component is optimal: no support that the claim is about is better by more than a millionth."""
        return self.gap <= PROVED

    @property
    def scope(self) -> Scope:
        """The features left out or forced in, and the components taken out before, in words."""
        left_out = () if self.allowed is None else np.setdiff1d(np.arange(self.n_features), self.allowed)
        return scope_of(
            np.asarray(left_out, dtype=np.intp),
            self.forced,
            earlier=0 if self.earlier is None else len(self.earlier),
            matrix=self.recipe.in_words,
            feature_names=self.feature_names,
        )

    @property
    def verdict(self) -> str:
        """A sentence that says what is proved."""
        return proof_in_words(self.gap, self.scope)

    @property
    def claim(self) -> tuple[str, ...]:
        """What is proved, in sentences that name both bounds and the matrix. They stand at the top of the file."""
        return (
            *component_claim(self.support, self.feature_names, self.cardinality, (self.lower, self.upper), self.scope),
            matrix_claim(self.recipe, self.digest, self.deflation),
        )

    def save(self, path: str | Path) -> Path:
        """Write the certificate as JSON to `path`, large arrays as NPZ beside it, and return the path."""
        from laconic.proof.storage import write_certificate

        return write_certificate(self, path)[0]

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate from the JSON file `path`; one that was altered or cut short raises a ValueError."""
        from laconic.proof.storage import read_certificate

        certificate = read_certificate(path)
        if not isinstance(certificate, cls):
            raise ValueError(f"{Path(path).name} is about several components together; laconic.verify takes its path.")
        return certificate


def slack_of(covariance: Covariance, value: float, recipe: Recipe) -> float:
    """Return by how much both bounds are loosened, because S may be made again in another way."""
    size = max(abs(value), BEFORE * covariance.rounding_unit)
    return (SLACK if recipe.missing is None else MISSING_SLACK) * size + min(covariance.slack, MOST_SLACK * size)


def certify(
    covariance: Covariance,
    cardinality: int,
    support: Any,
    loadings: Any,
    witness: Witness,
    *,
    digest: str,
    recipe: Recipe,
    kind: str = "",
    deflation: str | None = None,
    earlier: Floats | None = None,
    allowed: Any = None,
    forced: Any = (),
    feature_names: Any = None,
    proved: Proved | None = None,
) -> Certificate:
    """Return the certificate of a component, with both bounds proved and then loosened by `SLACK`.

    `covariance` is that of all features, deflated as it was when the component was found. `support` and `forced` number
    all features. The witness numbers only the features allowed, from zero. `earlier` holds the unit components taken
    out, one a row. `proved` is the bound of the witness, if the gate has computed it already.
    """
    choice = None if allowed is None else np.asarray(allowed, dtype=np.intp)
    must = np.asarray(forced, dtype=np.intp)
    if proved is None:
        part = covariance if choice is None else SubsetCovariance(covariance, choice)
        inside = must if choice is None else np.flatnonzero(np.isin(choice, must))
        bound = prove(part, cardinality, witness, inside=inside)
        proved = Proved(bound.value, bound.margin)
    lower = proved_lower(covariance, support, loadings)
    if not (math.isfinite(proved.value) and math.isfinite(lower)):
        raise ProofError("The witness proves nothing: its bound is infinite.")
    slack = slack_of(covariance, proved.value, recipe)
    return Certificate(
        cardinality=int(cardinality),
        n_features=covariance.n_features,
        support=np.array(support, dtype=np.intp),
        loadings=np.array(loadings, dtype=np.float64),
        lower=float(lower - slack),
        upper=float(proved.value + slack),
        kind=kind or kind_of(witness),
        witness=witness,
        digest=digest,
        margin=float(proved.margin + slack),
        recipe=recipe,
        deflation=deflation,
        earlier=None if earlier is None else np.array(earlier, dtype=np.float64),
        allowed=choice,
        forced=must,
        feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
    )
