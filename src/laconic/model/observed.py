"""A covariance estimated from some of the entries of rows.

Let Y hold the observed entries of m centred rows, and zero elsewhere. Let d_j be the share of rows in which column j is
observed. If entries are observed at random, y_i'y_j / (m d_i d_j) estimates S_ij without bias, and y_j'y_j / (m d_j)
estimates S_jj. With A = Y D^-1 / sqrt(m) this is A'A with its diagonal multiplied by d.
"""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance import Covariance


class ObservedCovariance(Covariance):
    """A'A with its diagonal multiplied by d. It need not be semidefinite."""

    semidefinite = False

    def __init__(self, factor: Floats, observed: Floats) -> None:
        self._factor, self.n_features = factor, factor.shape[1]
        lengths = np.einsum("ij,ij->j", factor, factor)
        self._variances: Floats = observed * lengths
        self._excess: Floats = lengths - self._variances

    def _diagonal(self) -> Floats:
        return np.array(self._variances)

    def block(self, rows: Indices, columns: Indices) -> Floats:
        block = self._factor[:, rows].T @ self._factor[:, columns]
        return np.where(rows[:, None] == columns, self._variances[columns], block)

    def product(self, block: Floats) -> Floats:
        excess = self._excess if block.ndim == 1 else self._excess[:, None]
        return np.asarray(self._factor.T @ (self._factor @ block) - excess * block)
