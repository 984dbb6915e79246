"""From rows of data to a covariance."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats
from laconic.core.threads import threads_for
from laconic.core.thresholds import BLOCK_ENTRIES
from laconic.covariance.contract import Covariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.factor import FactorCovariance
from laconic.covariance.sparse import SparseCovariance
from laconic.covariance.standardization import Standardization, standardize
from laconic.data.passes import Moments

# Up to this many columns the matrix is written out, if there are at least as many rows. It costs about as much as one
# leading singular vector of the data, and makes all later work cheaper.
WRITE_OUT_COLUMNS = 2048


def covariance_of(
    X: Any, *, center: bool = True, scale: bool = False, weights: Floats | None = None
) -> tuple[Covariance, Standardization]:
    """Return the covariance (or correlation) of rows, in the form that suits their shape.

    Tall, narrow data give the matrix, summed over blocks of rows. Wide data, or data with many columns, give the
    centred factor. Sparse data are kept as they are, with the means beside them.

    Parameters
    ----------
    X
        Rows that were checked: a float array, or a CSR or CSC matrix.
    center
        Subtract the column means. Otherwise S holds second moments about zero, divided by the sum of the weights.
    scale
        Scale S to a unit diagonal: the correlation if the rows are centred. The standard deviations are those of the
        rows as a population, as in scikit-learn's StandardScaler.
    weights
        The weights of the rows; None if all count the same.
    """
    moments = Moments.of(X, weights)
    n, p = X.shape
    standardization, variances, divisor = standardize(moments, center=center, scale=scale)
    means, scales, constant = standardization.means, standardization.scales, standardization.constant
    tall = p <= WRITE_OUT_COLUMNS and p <= n
    if sp.issparse(X):
        sparse = SparseCovariance(X, means, variances, scales, weights, divisor)
        return (DenseCovariance(sparse.submatrix(np.arange(p))) if tall else sparse), standardization
    if tall:
        return DenseCovariance(_gram(X, standardization, weights, divisor)), standardization
    factor = np.array(X, dtype=np.float64, order="C")
    factor -= means
    factor *= scales
    if weights is not None:
        factor *= np.sqrt(weights)[:, None]
    factor /= np.sqrt(divisor)
    factor[:, constant] = 0.0
    return FactorCovariance(factor), standardization


def _gram(X: Any, standardization: Standardization, weights: Floats | None, divisor: float) -> Floats:
    n, p = X.shape
    gram = np.zeros((p, p))
    step = max(1, BLOCK_ENTRIES // p)
    # Distributing one small product among threads takes longer than the product.
    with threads_for(p if n <= step else n):
        for begin in range(0, n, step):
            block = np.asarray(X[begin : begin + step], dtype=np.float64) - standardization.means
            block *= standardization.scales
            if weights is not None:
                block *= np.sqrt(weights[begin : begin + step])[:, None]
            gram += block.T @ block
    gram /= divisor
    gram[standardization.constant] = 0.0
    gram[:, standardization.constant] = 0.0
    return 0.5 * (gram + gram.T)
