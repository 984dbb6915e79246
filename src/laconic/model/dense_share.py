"""Plain PCA of the same data: the measure that sparse components are held against."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance import Covariance, DenseCovariance, covariance_of, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.data.checks import check_matrix

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Shares are read to a tenth of a per cent.
ACCURACY = 1e-6


@dataclass(frozen=True, eq=False)
class Comparison:
    """Sparse components beside dense ones.

    Attributes
    ----------
    shares
        For each sparse component its variance as a share of the dense component's, both on the covariance that the
        sparse components before it leave: the share that `min_variance` asks for.
    dense_ratios
        The shares of the total variance that the first dense components explain, at most two.
    dense_scores, sparse_scores
        Rows in the plane of the first two components of either kind; the dense axes are turned to point the way of the
        sparse ones. None where there are no rows or fewer than two components.
    """

    shares: Floats
    dense_ratios: Floats
    dense_scores: Floats | None = None
    sparse_scores: Floats | None = None


def compare_with_dense(model: "SparsePCA", data: Any, *, is_covariance: bool = False) -> Comparison:
    """Hold a fitted model against plain PCA of the data it was fitted to.

    Parameters
    ----------
    model
        Fitted.
    data
        The frame of rows, or the covariance matrix, that it was fitted to.
    is_covariance
        Which of the two.
    """
    covariance: Covariance
    if is_covariance:
        covariance = DenseCovariance(check_matrix(data) / model.scale_ / model.scale_[:, None])
    else:
        rows = np.asarray(data, dtype=np.float64)
        covariance, _ = covariance_of(rows, center=model.center, scale=model.scale)
    shares = _shares(covariance, model.components_, model.deflation)
    variances, directions = _leading(covariance, min(2, len(model.components_)))
    ratios = variances / model.total_variance_
    if is_covariance or len(directions) < 2:
        return Comparison(shares, ratios)
    sparse = np.asarray(model.transform(data), dtype=np.float64)[:, :2]
    dense = (rows - model.mean_) / model.scale_ @ directions.T
    dense *= np.where((dense * sparse).sum(axis=0) < 0, -1.0, 1.0)
    return Comparison(shares, ratios, dense, sparse)


def _shares(covariance: Covariance, components: Floats, deflation: str) -> Floats:
    left = Deflation(covariance, deflation)
    shares = []
    for z in components:
        dense, _ = largest_eigenpair(left.current, tolerance=ACCURACY)
        shares.append(float(z @ left.current.product(z)) / dense if dense > 0 else 0.0)
        left.remove(z)
    return np.array(shares)


def _leading(covariance: Covariance, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues and their eigenvectors, one a row."""
    left = Deflation(covariance, "hotelling")
    pairs = []
    for _ in range(count):
        pairs.append(largest_eigenpair(left.current, tolerance=ACCURACY))
        left.remove(pairs[-1][1])
    return np.array([value for value, _ in pairs]), np.array([vector for _, vector in pairs])
