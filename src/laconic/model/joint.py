"""Components whose span holds the most variance together: `SparsePCA(joint="span")`.

They are improved from components that were found one after the other. `joint="disjoint"` needs nothing here: each
component leaves its features to none of the later ones (`laconic.model.components`).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from laconic.bounds.joint import eigenvalue_witness as span_witness
from laconic.core.arrays import Floats, Indices
from laconic.core.rounding import sum_up
from laconic.core.words import Scope, at_most, percent, scope_of
from laconic.covariance import Covariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made
from laconic.proof import Certificate, ProofError, certify
from laconic.proof.witness_joint import JointWitness, prove_joint, proved_joint_lower
from laconic.search.problem import Problem, Solution, Status, stopped_or
from laconic.search.span import Span, basis_of_span, canonical
from laconic.search.support import signed

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Relative residual of dense components. Their variance is then accurate to about 1e-5: shares are read to a tenth of a
# per cent.
ACCURACY = 1e-3


@dataclass(frozen=True, eq=False)
class Spanning:
    """Components that were found together, and a bound on what they hold."""

    solutions: list[Solution]  # on all features; the value of each is what it adds to the others
    uppers: Floats  # for each component, a proved bound on what a component of any size adds to the others
    dense_variances: Floats  # what a dense component would add to the others
    verdicts: list[str]
    upper: float = math.inf  # the proved bound on what components of these cardinalities hold together
    certificate: Certificate | None = None


def hold_most(
    model: "SparsePCA",
    made: Made,
    covariance: Covariance,
    problem: Problem,
    found: Floats,
    sizes: list[int],
) -> Spanning:
    """Return components whose span holds the most variance, from those in the rows of `found`, on all features.

    `covariance` is about all features, and `problem` about those that vary, its cardinality the largest of all `sizes`.
    Without a proof there is no certificate.
    """
    features, total = np.flatnonzero(~made.constant), covariance.trace
    part = problem.at_hand()
    own = features if problem.covariance.at_hand is None else features[problem.covariance.at_hand]
    cardinalities = tuple(min(k, part.n_features) for k in sizes)
    vectors = Span().solve(part, cardinalities, np.ascontiguousarray(found[:, own].T))
    vectors = canonical(part.covariance, cardinalities, vectors)
    vectors = np.stack([signed(z, part.forced) for z in vectors.T], axis=1)
    status = stopped_or(part.monitor.stopped, Status.TOGETHER)
    added, dense = _given_others(part.covariance, vectors)
    whole = np.zeros((len(added), covariance.n_features))
    whole[:, own] = vectors.T
    certificate, upper, uppers = None, math.inf, np.full(len(added), math.inf)
    prove = model.proof is not None
    if prove:
        witness = span_witness(problem.covariance, len(cardinalities))
        certificate, upper = _bounded(covariance, problem, cardinalities, whole, witness, features, made)
        uppers = _bounded_given_others(covariance, whole, upper)
    words = made.recipe.in_words if prove else ""
    scope = scope_of(np.empty(0, dtype=np.intp), features[problem.forced], matrix=words, feature_names=made.names)
    solutions = [
        Solution(own[np.flatnonzero(z)], z[z != 0], float(value), status, method=Span.name, scope=scope)
        for z, value in zip(vectors.T, added, strict=True)
    ]
    verdicts = [
        f"{_added_in_words(value / total, above / total, scope)} {status}"
        for value, above in zip(added, uppers, strict=True)
    ]
    return Spanning(solutions, uppers, dense, verdicts, upper, certificate)


def _given_others(covariance: Covariance, vectors: Floats) -> tuple[Floats, Floats]:
    """Return what each component adds to the span of the others, and what a dense component would add.

    With Q a basis of the others and A = I - QQ', the second is the largest eigenvalue of ASA.
    """
    images = covariance.product(vectors)
    whole = float(np.einsum("ij,ij->", *basis_of_span(vectors, images)))
    added, dense = [], []
    for t in range(vectors.shape[1]):
        others = np.arange(vectors.shape[1]) != t
        basis, image = basis_of_span(vectors[:, others], images[:, others])
        middle = basis.T @ image
        added.append(whole - float(middle.trace()))
        deflation = Deflation(covariance, "projection")
        for q in basis.T:
            deflation.remove(np.ascontiguousarray(q))
        dense.append(largest_eigenpair(deflation.current, tolerance=ACCURACY)[0])
    # A dense component adds no less than one with few features; its computed value is accurate to a few digits.
    return np.array(added), np.maximum(np.array(dense), added)


def _bounded(
    covariance: Covariance,
    problem: Problem,
    cardinalities: tuple[int, ...],
    components: Floats,
    witness: JointWitness,
    features: Indices,
    made: Made,
) -> tuple[Certificate | None, float]:
    """Return the certificate, if one can be made, and the proved bound, infinite if there is none."""
    try:
        proved = prove_joint(problem.covariance, cardinalities, witness)
    except ProofError:
        return None, math.inf
    used = np.flatnonzero(components.any(axis=0))
    try:
        certificate = certify(
            covariance,
            cardinalities,
            used,
            components[:, used],
            witness,
            digest=made.digest(),
            recipe=made.recipe,
            feature_names=made.names,
            allowed=None if len(features) == covariance.n_features else features,
            forced=features[problem.forced],
            proved=proved,
            joint="span",
        )
    except ValueError:
        return None, proved.value
    # The certificate leaves room for the rounding errors of other machines.
    return certificate, certificate.upper


def _bounded_given_others(covariance: Covariance, components: Floats, upper: float) -> Floats:
    """Return, for each component, a bound on what one of its size adds to the others, from the joint bound.

    Let L be a lower bound on what the others hold. Components that include one that adds g hold L + g or more, so that
    g <= upper - L.
    """
    uppers = np.full(len(components), math.inf)
    for t in range(len(components)):
        others = np.delete(components, t, axis=0)
        used = np.flatnonzero(others.any(axis=0))
        try:
            uppers[t] = sum_up([upper, -proved_joint_lower(covariance, used, others[:, used])])
        except ValueError:
            continue
    return uppers


def _added_in_words(share: float, upper: float, scope: Scope) -> str:
    """Return the verdict on a component that was found together with others, as shares of the total variance.

    It adds `share` to the others, and a proof shows that none of its size adds more than `upper`.
    """
    proof = (
        f"No component of this size{scope.supports} adds more than {at_most(100 * upper, 3)} % to them (proved)."
        if np.isfinite(upper)
        else "No upper bound was computed."
    )
    return f"It adds {percent(share)} of the total variance{scope.matrix} to the other components. {proof}"
