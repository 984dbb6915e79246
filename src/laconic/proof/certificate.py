"""What a certificate holds."""

import math
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy

from laconic.core.arrays import Floats, Indices
from laconic.core.wording import PROVED, Scope, proof_in_words, scope_of
from laconic.covariance import Covariance, DeflatedCovariance, SubsetCovariance
from laconic.covariance.enclosure import Enclosure
from laconic.proof.gate import proved_upper_and_margin
from laconic.proof.lower import proved_lower
from laconic.proof.terms import Proved
from laconic.proof.witness import Witness, kind_of

# Both bounds are loosened by this much of their size, so that another machine's rounding accepts them too.
SLACK = 1e-12
# A deflated matrix carries the rounding of what was there before: its size counts too, less a factor.
BEFORE = 0.01


def _nobody() -> Indices:
    return np.empty(0, dtype=np.intp)


def _versions() -> dict[str, str]:
    own = str(getattr(sys.modules["laconic"], "__version__", "unknown"))
    return {"laconic": own, "numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}


@dataclass(frozen=True)
class MatrixDescription:
    """How S was made of the data.

    A matrix that is given is S, digit by digit. Of rows, S is what `covariance_of` makes of them: the matrix it writes
    out, or the exact product of the factor, or of the centred sparse rows, that it keeps. Deflation likewise: S - WCW'
    with the numbers W and C as they were computed. Another machine may round these otherwise; the slack of the bounds
    is far above that.

    Attributes
    ----------
    source
        "rows" if the data are rows, "covariance" if they are the matrix itself.
    center, scale
        Whether rows were centred, and whether rows or matrix were brought to unit variances.
    weights
        The digest of the sample weights, None if there were none.
    """

    source: Literal["rows", "covariance"]
    center: bool = True
    scale: bool = False
    weights: str | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """One component, what no other of its size can exceed, and the proof.

    The claim: with S the matrix described, lower <= z'Sz for the unit z with these loadings, and x'Sx <= upper for
    every unit x on a support of at most k features, all of them allowed, that holds those forced in. `laconic.verify`
    checks it.

    Three fields inform and are no part of the claim. `margin` is looked at only for being finite and not negative: of
    two cases that come to the same bound up to rounding either may have set it, so that another machine may find
    another. `versions` are not looked at. `feature_names` are compared with those of the data only if these have names.

    Attributes
    ----------
    cardinality
        k.
    n_features
        The size of S.
    support, loadings
        The component.
    lower, upper
        The bounds.
    kind
        The name of the upper bound, one of those that its witness may go by.
    witness
        What the upper bound is computed from.
    digest
        SHA-256 of the data; see `digest_of`.
    margin
        How much of `upper` is allowance for rounding, as computed by whoever made the certificate.
    matrix
        How S was made of the data.
    deflation, earlier
        The rule by which earlier components were taken out of S, and those components, one a row; None and None for a
        component found in S itself.
    allowed
        The features the claim is about, None for all. The witness numbers them from zero.
    forced
        Features that every support considered holds.
    feature_names
        Of all features, or None.
    versions
        Of the software that made the certificate.
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
    matrix: MatrixDescription
    deflation: str | None = None
    earlier: Floats | None = None
    allowed: Indices | None = None
    forced: Indices = field(default_factory=_nobody)
    feature_names: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=_versions)

    def __repr__(self) -> str:
        return (
            f"Certificate(cardinality={self.cardinality}, n_features={self.n_features}, lower={self.lower!r}, "
            f"upper={self.upper!r}, kind={self.kind!r}: {self.verdict})"
        )

    @property
    def gap(self) -> float:
        """(upper - lower) / lower."""
        if self.upper <= self.lower:
            return 0.0
        return (self.upper - self.lower) / self.lower if self.lower > 0 else math.inf

    @property
    def proved(self) -> bool:
        """Whether no support of this size that the claim is about does better by more than a millionth."""
        return self.gap <= PROVED

    @property
    def scope(self) -> Scope:
        """What the claim is about, in words: features left out or forced in, components taken out before."""
        left_out = () if self.allowed is None else np.setdiff1d(np.arange(self.n_features), self.allowed)
        return scope_of(
            np.asarray(left_out, dtype=np.intp),
            self.forced,
            earlier=0 if self.earlier is None else len(self.earlier),
            feature_names=self.feature_names,
        )

    @property
    def verdict(self) -> str:
        """A sentence that says what is proved."""
        return proof_in_words(self.gap, self.scope)

    def save(self, path: str | Path) -> Path:
        """Write the certificate as JSON, large arrays as NPZ beside it, and return the path.

        Parameters
        ----------
        path
            Of the JSON file.
        """
        from laconic.proof.storage import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate.

        Parameters
        ----------
        path
            Of the JSON file.

        Raises
        ------
        ValueError
            If it is no certificate, or was altered or cut short.
        """
        from laconic.proof.storage import load

        return load(path)


def certify(
    covariance: Covariance,
    cardinality: int,
    support: Any,
    loadings: Any,
    witness: Witness,
    *,
    digest: str,
    matrix: MatrixDescription,
    kind: str = "",
    deflation: str | None = None,
    earlier: Floats | None = None,
    allowed: Any = None,
    forced: Any = (),
    feature_names: Any = None,
    proved: Proved | None = None,
    enclosed: Enclosure | Covariance | None = None,
) -> Certificate:
    """Return the certificate of a component: both bounds computed again, rigorously, and loosened by `SLACK`.

    Parameters
    ----------
    covariance
        S, on all features, as deflated when the component was found.
    cardinality
        k.
    support, loadings
        The component, in terms of all features.
    witness
        Of the upper bound, in terms of the features allowed.
    digest
        `digest_of` the data.
    matrix
        How S was made of the data.
    kind
        The name of the bound, one of `kinds_of` the witness; by default that of the witness.
    deflation, earlier
        How S was deflated, and by which unit components, one a row.
    allowed
        The features that may be chosen; None for all.
    forced
        Features that must be chosen, in terms of all features.
    feature_names
        Names of all features.
    proved
        What `laconic.proof` makes of the witness, if that is known already.
    enclosed
        The enclosure of the covariance, if there is one already.

    Raises
    ------
    ValueError
        If the witness does not fit, or proves nothing.
    """
    choice = None if allowed is None else np.asarray(allowed, dtype=np.intp)
    whole = covariance if enclosed is None else enclosed
    part = whole if choice is None else SubsetCovariance(covariance, choice)
    must = np.asarray(forced, dtype=np.intp)
    inside = must if choice is None else np.flatnonzero(np.isin(choice, must))
    if proved is None:
        proved = proved_upper_and_margin(part, cardinality, witness, inside=inside)
    lower = proved_lower(whole, support, loadings)
    if not (math.isfinite(proved.value) and math.isfinite(lower)):
        raise ValueError("The witness proves nothing: its bound is infinite.")
    base = covariance.base if isinstance(covariance, DeflatedCovariance) else covariance
    slack = SLACK * max(abs(proved.value), BEFORE * float(np.abs(base.diagonal).max()))
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
        matrix=matrix,
        deflation=deflation,
        earlier=None if earlier is None else np.array(earlier, dtype=np.float64),
        allowed=choice,
        forced=must,
        feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
    )
