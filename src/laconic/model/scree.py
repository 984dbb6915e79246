"""The variances of ordinary principal components, beside those of tables with permuted columns.

Permuting each column on its own keeps every variance and breaks every relation between columns (parallel analysis, Horn
1965). The t-th ordinary component is compared with the t-th one of the permuted tables. That hides weak components
after strong ones, because the permuted columns still have the variance of the strong ones. The comparison of sparse
components with noise takes earlier components out first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance import Covariance, largest_eigenvalues
from laconic.covariance.rows_left import RowsLeft
from laconic.model.permuting import EQUAL, QUANTILE

# The relative accuracy of variances that Lanczos' method computes. They are drawn, and printed to a tenth of a percent.
ACCURACY = 1e-4


@dataclass(frozen=True, eq=False)
class Scree:
    """The variances of ordinary components, the largest first, and those of permuted tables, a row for each table."""

    variances: Floats
    total: float
    noise: Floats | None = None

    @property
    def noise_95(self) -> Floats | None:
        """The 95 % quantile of the variances in permuted tables, for each component; None without permuted tables."""
        return None if self.noise is None else np.quantile(self.noise, QUANTILE, axis=0)

    @property
    def n_above_noise(self) -> int | None:
        """How many components come before the first that is not above `noise_95`; None without permuted tables."""
        if self.noise_95 is None:
            return None
        below = np.flatnonzero(self.variances <= self.noise_95 * (1 + EQUAL))
        return int(below[0]) if len(below) else len(self.variances)


def scree_of(covariance: Covariance, count: int, rows: RowsLeft | None = None, tables: int = 0, seed: Any = 0) -> Scree:
    """Return the variances of at most `count` ordinary components. With rows, so many tables are permuted."""
    most = (
        covariance.n_features if rows is None else min(covariance.n_features, max(1, rows.rows.shape[0] - rows.center))
    )
    found = largest_eigenvalues(covariance, min(count, most), tolerance=ACCURACY)
    if covariance.semidefinite:
        found = np.maximum(found, 0.0)  # rounding may turn a zero into a small negative number
    if rows is None or not tables:
        return Scree(found, covariance.trace)
    noise = np.empty((tables, len(found)))
    for table in range(tables):
        permuted = rows.permuted(np.random.default_rng((seed, table)))
        values = largest_eigenvalues(permuted.covariance(None), len(found), tolerance=ACCURACY)
        noise[table] = permuted.unit * np.maximum(values, 0.0)
    return Scree(found, covariance.trace, noise)
