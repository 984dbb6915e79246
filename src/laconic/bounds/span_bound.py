"""The witness of the bound on several components together; see `laconic.proof.witness_joint`."""

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats
from laconic.covariance import Covariance, DenseCovariance, largest_eigenpairs
from laconic.proof.witness_joint import JointWitness

# Relative accuracy of eigenvalues. The proof corrects for it, so it costs a little of the bound and never its truth.
ACCURACY_OF_EIGENVALUES = 1e-9


def span_witness(covariance: Covariance, n_components: int) -> JointWitness:
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
