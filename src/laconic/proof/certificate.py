"""A certificate: one component or several, both bounds, and the numbers needed to compute them again."""

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.rounding import sum_up
from laconic.core.store import Budget, Decoder, encoded, files_of, read_document, write_files
from laconic.core.words import (
    Scope,
    at_least,
    at_most,
    counted,
    held_at_least_in_words,
    proof_in_words,
    scope_of,
    several_in_words,
)
from laconic.covariance import Covariance, SubsetCovariance
from laconic.covariance.make import Recipe
from laconic.proof.gate import prove, proved_lower, relative_gap
from laconic.proof.witness import WITNESSES, ProofError, Proved, Witness, no_features
from laconic.proof.witness_cover import CoverWitness
from laconic.proof.witness_joint import JointWitness, prove_joint, proved_joint_lower
from laconic.proof.witness_steps import Again, ByRows, ByVariances, Step

# The name and version of the file format.
FORM, SCHEMA = "laconic certificate", 1
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
# The digits of a bound in a sentence. The gap of an optimal component shows in the twelfth.
DIGITS = 12
# A sentence names at most this many features.
MOST_NAMED = 12


def versions() -> dict[str, str]:
    """Return the versions of the software at hand."""
    own = str(getattr(sys.modules["laconic"], "__version__", "unknown"))
    return {"laconic": own, "numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}


@dataclass(frozen=True, eq=False)
class Certificate:
    """One component or several together, an upper bound for all components of their sizes, and the proof.

    Let S be the matrix that the recipe makes of the data, after the deflation. The value of one component z is
    z'Sz / z'z, and that of several is the sum of these, or with `joint` "common" or "span" Tr(PS), P the projection on
    their span. The claim has two parts: the value is at least `lower`; and no components with at most these numbers of
    nonzeros, all of them on features allowed, have a value above `upper`. If features are forced in, it is about
    components that contain them. `joint` says what else components must satisfy. `laconic.verify` checks the claim.

    `margin` and `versions` are no part of the claim. `feature_names` find the columns in data that have names.

    Attributes
    ----------
    cardinalities : ndarray of int of shape (r,)
        The largest number of nonzeros of each component.
    n_features : int
        The number of features of S.
    support : ndarray of int
        The features that the components use.
    loadings : ndarray of shape (r, len(support))
        The loadings on these features, one row for each component.
    lower, upper : float
        The proved bounds.
    kind, witness : str and Witness
        The name of the upper bound, and the numbers from which it is computed.
    digest : str
        The digest of the data, and of the weights if there are any; see `laconic.data.passes`.
    margin : float
        The part of `upper` that allows for rounding, on the machine that made the certificate.
    recipe : Recipe
        How S is made of the data.
    deflation, earlier : str and ndarray, or None
        The rule by which earlier components were taken out of S, and those components, one a row. Both are None for
        components found in S itself.
    allowed, forced : ndarray of int, or None
        The features that may be chosen, None for all, and those that every component contains. The witness numbers the
        features allowed from zero.
    feature_names, versions : tuple of str or None, and dict
        The names of all features, or None, and the versions of the software that made the certificate.
    joint : str or None
        What several components have to do with each other; None for one component. "common": they are orthonormal,
        and all have one support of as many features as each cardinality says. "disjoint": no feature serves two.
        "orthogonal": they are orthonormal, up to 1e-12. "span": anything.
    total : int or None
        The largest number of nonzeros of all components together, if there is such a limit.

    See Also
    --------
    verify : Checks it.
    certify : Makes one for a set of features that you chose.

    Examples
    --------
    >>> from laconic import Certificate, SparsePCA
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> certificate = SparsePCA(cardinality=5).fit(votes).certificates_[0]
    >>> certificate.verdict
    'Optimal: no other support of this size reaches more variance (proved).'
    >>> path = certificate.save("certificate.json")
    >>> Certificate.load(path).cardinalities
    array([5])
    """

    cardinalities: Indices
    n_features: int
    support: Indices
    loadings: Floats
    lower: float
    upper: float
    kind: str
    witness: Witness | JointWitness
    digest: str
    margin: float
    recipe: Recipe
    deflation: str | None = None
    earlier: Floats | None = None
    allowed: Indices | None = None
    forced: Indices = field(default_factory=no_features)
    feature_names: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=versions)
    joint: str | None = None
    total: int | None = None

    def __repr__(self) -> str:
        return (
            f"Certificate(cardinalities={self.cardinalities.tolist()}, n_features={self.n_features}, "
            f"lower={self.lower!r}, upper={self.upper!r}, kind={self.kind!r}: {self.verdict})"
        )

    @property
    def n_components(self) -> int:
        """The number of components that the claim is about."""
        return len(self.cardinalities)

    @property
    def gap(self) -> float:
        """The relative gap (upper - lower) / lower."""
        return relative_gap(self.lower, self.upper)

    @property
    def proved(self) -> bool:
        """Whether the components are optimal: nothing that the claim is about is better by more than a millionth."""
        return self.gap <= PROVED

    @property
    def scope(self) -> Scope:
        """The features left out or forced in, and the components taken out before, in words."""
        left_out = no_features() if self.allowed is None else np.setdiff1d(np.arange(self.n_features), self.allowed)
        earlier = 0 if self.earlier is None else len(self.earlier)
        words, names = self.recipe.in_words, self.feature_names
        return scope_of(left_out, self.forced, earlier=earlier, matrix=words, feature_names=names)

    @property
    def verdict(self) -> str:
        """A sentence that says what is proved."""
        if self.n_components == 1:
            return proof_in_words(self.gap, self.scope)
        return held_at_least_in_words(self.several, self.gap, self.scope)

    @property
    def several(self) -> str:
        """Components like these in words, such as "2 components with disjoint supports of at most 5, 4 features"."""
        return several_in_words(self.joint or "span", self.cardinalities.tolist(), self.total)

    @property
    def claim(self) -> tuple[str, str, str]:
        """What is proved, in sentences that name both bounds and the matrix. They stand at the top of the file.

        Numbers are rounded so that each sentence stays true. A file whose sentences differ from these is refused.
        """
        lower, upper = at_least(self.lower, DIGITS), at_most(self.upper, DIGITS)
        on, scope = self.features_in_words, self.scope
        if self.n_components == 1:
            size = counted(int(self.cardinalities[0]), "nonzero loading")
            among = f",{scope.supports}" if scope.supports else ""
            found = f"The component with these loadings on {on} has a variance{scope.about} of at least {lower}."
            best = f"No component with at most {size}, of either sign{among}, has a variance{scope.about} of"
        else:
            found = f"The {self.n_components} components with these loadings on {on} together hold a variance"
            found += f"{scope.about} of at least {lower}."
            best = f"No {self.several}{scope.supports} together hold a variance{scope.about} of"
        return found, f"{best} more than {upper}.", self._matrix_in_words()

    @property
    def features_in_words(self) -> str:
        """The features of the components by name, or by number from zero; the first ones if there are many."""
        names, places = self.feature_names, self.support[:MOST_NAMED].tolist()
        shown = ", ".join(str(i) if names is None else repr(str(names[i])) for i in places)
        rest = len(self.support) - len(places)
        noun = "" if names is not None else "feature " if len(self.support) == 1 else "features "
        return f"{noun}{shown}" + (f" and {rest} more" if rest else "")

    def _matrix_in_words(self) -> str:
        recipe = self.recipe
        if recipe.given == "covariance":
            made = "the matrix" + (", scaled to a unit diagonal," if recipe.scale else "")
            of = "with"
        else:
            made = "the covariance matrix" if recipe.center else "the matrix of second moments about zero"
            if recipe.scale:
                made = "the correlation matrix" if recipe.center else f"{made}, scaled to a unit diagonal,"
            if recipe.estimated:
                made += ", estimated by EM," if recipe.missing == "em" else ", made by pairwise deletion,"
            among = "complete rows among the " if recipe.missing == "drop" else ""
            of = f"of the {among}rows{' and weights' if recipe.weighted else ''} with"
        rule = self.deflation
        taken = "" if rule is None else f", after the earlier components were taken out by {rule} deflation"
        return f"Variances are those in {made} {of} the digest {self.digest}{taken}."

    @property
    def size(self) -> int:
        """The number of bytes of the arrays. Files are packed, so together they are mostly smaller."""
        arrays: dict[str, Any] = {}
        encoded(self, arrays, stored_types())
        return sum(array.nbytes for array in arrays.values())

    def files(self, name: str) -> dict[str, bytes]:
        """Return the files of the certificate by name: NPZ if arrays are large, and last the JSON file `name`."""
        return files_of(self, name, form=FORM, schema=SCHEMA, known=stored_types(), claim=self.claim)

    def save(self, path: str | Path) -> Path:
        """Write the certificate as JSON to `path`, large arrays as NPZ beside it, and return the path."""
        return write_files(self.files(Path(path).name), path)[0]

    @classmethod
    def load(
        cls, path: str | Path, files: Mapping[str, bytes] | None = None, budget: Budget | None = None
    ) -> "Certificate":
        """Read a certificate from the JSON file `path`; one that was altered or cut short raises a ValueError.

        `files` are the bytes of its files by name, if they are not on disk. `budget` limits what is unpacked.
        """
        name = Path(path).name
        document, arrays = read_document(path, form=FORM, schema=SCHEMA, claim=True, files=files, budget=budget)
        try:
            certificate: Certificate = Decoder(arrays, stored_types()).decoded(cls, document["content"])
            words = list(certificate.claim)
        except (TypeError, ValueError, OverflowError, LookupError) as error:
            raise ValueError(f"{name} is not as a certificate should be: {error}.") from None
        if document["claim"] != words:
            raise ValueError(f"{name} was altered: its claim in words is not what its numbers say.")
        return certificate


def stored_types() -> dict[str, type]:
    """Return the classes that the file of a certificate may hold, by name."""
    own = (Certificate, Recipe, JointWitness, Step, Again, ByVariances, ByRows)
    return {**WITNESSES, **{cls.__name__: cls for cls in own}}


def certify(
    covariance: Covariance,
    cardinalities: int | Sequence[int],
    support: Any,
    loadings: Any,
    witness: Witness | JointWitness,
    *,
    digest: str,
    recipe: Recipe,
    kind: str = "",
    deflation: str | None = None,
    earlier: Floats | None = None,
    allowed: Any = None,
    forced: Any = (),
    feature_names: Sequence[str] | None = None,
    proved: Proved | None = None,
    joint: str | None = None,
    total: int | None = None,
) -> Certificate:
    """Return the certificate of a component, or of several with a row of `loadings` each.

    Both bounds are proved, and then loosened by a slack. `covariance` is that of all features, deflated as it was when
    the components were found. `support` and `forced` number all features. The witness numbers only the features
    allowed, from zero. `earlier` holds the unit components taken out, one a row. `proved` is the bound of the witness,
    if the gate has computed it already.
    """
    sizes = np.atleast_1d(np.asarray(cardinalities, dtype=np.intp))
    choice = None if allowed is None else np.asarray(allowed, dtype=np.intp)
    places, rows = np.array(support, dtype=np.intp), np.atleast_2d(np.array(loadings, dtype=np.float64))
    must = np.asarray(forced, dtype=np.intp)
    value, margin = proved or upper_of(covariance, sizes, witness, choice, must, joint=joint, total=total)
    lower = lower_of(covariance, places, rows, joint)
    if not (np.isfinite(value) and np.isfinite(lower)):
        raise ProofError("The witness proves nothing: its bound is infinite.")
    size = max(abs(value), BEFORE * covariance.rounding_unit)
    # S may be made again from another container of the data, which has other errors.
    errors = covariance.slack if earlier is None else covariance.slack + 16 * margin  # deflation makes them larger
    slack = (MISSING_SLACK if recipe.estimated else SLACK) * size + min(errors, MOST_SLACK * size)
    # Bounds by all pairs have the rounding of single precision, which depends on the container, too.
    slack += 2 * margin if recipe.given == "rows" else 0.0
    return Certificate(
        cardinalities=sizes,
        n_features=covariance.n_features,
        support=places,
        loadings=rows,
        lower=float(lower - slack),
        upper=float(value + slack),
        kind=kind or witness.kinds()[0],
        witness=witness,
        digest=digest,
        margin=float(margin + slack),
        recipe=recipe,
        deflation=deflation,
        earlier=None if earlier is None else np.array(earlier, dtype=np.float64),
        allowed=choice,
        forced=must,
        feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
        joint=joint,
        total=total,
    )


def upper_of(
    covariance: Covariance,
    sizes: Indices,
    witness: Witness | JointWitness,
    allowed: Indices | None,
    forced: Indices,
    *,
    joint: str | None = None,
    total: int | None = None,
) -> Proved:
    """Return the upper bound that a witness proves for components of these sizes."""
    part = covariance if allowed is None else SubsetCovariance(covariance, allowed)
    inside = forced if allowed is None else np.flatnonzero(np.isin(allowed, forced))
    if len(sizes) > 1 and isinstance(witness, JointWitness | CoverWitness):
        # The span is that of any components: what all of them contain does not matter.
        inside = inside[:0] if joint == "span" else inside
        return prove_joint(part, tuple(sizes.tolist()), witness, joint=joint or "span", total=total, inside=inside)
    if len(sizes) != 1 or isinstance(witness, JointWitness):
        raise ProofError("The witness and the certificate are about different numbers of components.")
    bound = prove(part, int(sizes[0]), witness, inside=inside)
    return Proved(bound.value, bound.margin)


def lower_of(covariance: Covariance, support: Indices, loadings: Floats, joint: str | None = None) -> float:
    """Return a lower bound on the value of the components in the rows of `loadings`."""
    if len(loadings) == 1 or joint in ("disjoint", "orthogonal"):
        used = [np.flatnonzero(row) if len(loadings) > 1 else np.arange(len(row)) for row in loadings]
        parts = [proved_lower(covariance, support[own], row[own]) for own, row in zip(used, loadings, strict=True)]
        return -sum_up([-part for part in parts]) if len(parts) > 1 else parts[0]
    return proved_joint_lower(covariance, support, loadings)
