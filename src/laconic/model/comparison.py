"""Rows in the plane of two dense components, beside the plane of two sparse ones."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats
from laconic.covariance import Covariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made, make
from laconic.model.scores import scores_of

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# The relative accuracy of dense components. They are drawn, and their shares are printed to a tenth of a percent.
ACCURACY = 1e-6


@dataclass(frozen=True, eq=False)
class Comparison:
    """The first two sparse components beside the first two dense ones."""

    dense_ratios: Floats  # the shares of the total variance that the two dense components explain
    dense_scores: Floats  # of shape (n, 2); each dense component has the sign that fits its sparse one
    sparse_scores: Floats  # of shape (n, 2)


def compare_with_dense(model: "SparsePCA", data: Any, scores: Any = None) -> Comparison:
    """Compare a fitted model of at least two components with ordinary PCA of the rows that it was fitted to.

    `data` are these rows, or what was made of them, with their `scores`.
    """
    if model.n_components_ < 2:
        raise ValueError("A plane needs at least two components; the model has one.")
    made = data if isinstance(data, Made) else make(data, model._recipe(), quiet=True)
    rows = made.rows.toarray() if sp.issparse(made.rows) else np.asarray(made.rows, dtype=np.float64)
    variances, directions = _first_two(made.covariance)
    sparse = np.asarray(model.transform(data) if scores is None else scores, dtype=np.float64)[:, :2]
    dense = scores_of(rows, directions, model.mean_, model.scale_)
    dense *= np.where(np.nansum(dense * sparse, axis=0) < 0, -1.0, 1.0)
    return Comparison(variances / model.total_variance_, dense, sparse)


def _first_two(covariance: Covariance) -> tuple[Floats, Floats]:
    """Return the two largest eigenvalues and their eigenvectors, one in each row."""
    left = Deflation(covariance, "hotelling")
    pairs = []
    for _ in range(2):
        pairs.append(largest_eigenpair(left.current, tolerance=ACCURACY))
        left.remove(pairs[-1][1])
    return np.array([value for value, _ in pairs]), np.array([vector for _, vector in pairs])
