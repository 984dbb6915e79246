"""Prove how good several components are together: cheap bounds first, then the cover and its tree."""

from dataclasses import dataclass

import numpy as np

from laconic.bounds.prove import Proof
from laconic.core.arrays import WRITE_OUT_LIMIT, Floats
from laconic.covariance import Covariance, DenseCovariance, largest_eigenpairs
from laconic.proof.witness import ProofError, Proved
from laconic.proof.witness_cover import CoverWitness
from laconic.proof.witness_joint import JointWitness, prove_joint
from laconic.search.joint import JointProblem
from laconic.search.problem import Status

# Relative accuracy of eigenvalues. The proof corrects for it, so it costs a little of the bound and never its truth.
ACCURACY_OF_EIGENVALUES = 1e-9


@dataclass(frozen=True, eq=False)
class JointBound:
    """A proved bound on the value of several components."""

    witness: JointWitness | CoverWitness
    proved: Proved
    status: Status | None = None  # why the proof ended, if there is more to say than the gap
    reason: str = ""


def prove_jointly(problem: JointProblem, vectors: Floats, proof: Proof | None) -> tuple[Floats, JointBound | None]:
    """Return the components in the columns of `vectors` or better ones, and the least bound that is proved, or None.

    `proof` is "fast", "tight", "exact" or an `Exact`. A bound of the user's own is about one component only.
    """
    witness = eigenvalue_witness(problem.covariance, problem.count)
    try:
        return vectors, JointBound(witness, prove_joint(problem.covariance, problem.cardinalities, witness))
    except ProofError:
        return vectors, None


def eigenvalue_witness(covariance: Covariance, n_components: int) -> JointWitness:
    """Return a witness of the sum of the largest eigenvalues; of the trace if no matrix is small enough for them."""
    part = covariance.on_hand()
    factor = part.factor
    by_rows = factor is not None and len(factor) < part.n_features
    if (len(factor) if by_rows and factor is not None else part.n_features) > WRITE_OUT_LIMIT:
        return JointWitness(covariance.at_hand)
    matrix = DenseCovariance(factor @ factor.T) if by_rows and factor is not None else part
    return JointWitness(covariance.at_hand, _leading_factor(matrix, n_components), by_rows)


def _leading_factor(matrix: Covariance, r: int) -> Floats:
    """Return the leading eigenvectors, each with the root of its eigenvalue above theta as its length."""
    values, vectors = largest_eigenpairs(matrix, r + 1, tolerance=ACCURACY_OF_EIGENVALUES)
    top = values[:r]
    following = max(float(values[r]), 0.0) if len(values) > r else 0.0
    # In the middle between two eigenvalues theta leaves room for the errors of both.
    theta = 0.5 * (following + max(float(top[-1]), following))
    return np.asarray(vectors[:, : len(top)] * np.sqrt(np.maximum(top - theta, 0.0)))
