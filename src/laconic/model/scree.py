"""The variances of ordinary principal components, beside those of tables with permuted columns.

Permuting each column on its own keeps every variance and breaks every relation between columns (parallel analysis, Horn
1965). The t-th ordinary component is compared with the t-th one of the permuted tables. That hides weak components
after strong ones, because the permuted columns still have the variance of the strong ones. The comparison of sparse
components with noise takes earlier components out first.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance import largest_eigenvalues
from laconic.covariance.make import Made
from laconic.model.permuting import EQUAL, QUANTILE, RowsLeft

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


def scree_of(made: Made, count: int, tables: int = 0) -> Scree:
    """Return the variances of at most `count` ordinary components. So many `tables` of complete rows are permuted."""
    S, rows = made.covariance, None
    if made.in_memory and made.missing is None and made.weights is None:
        rows = RowsLeft.of(made)
        count = min(count, max(1, made.rows.shape[0] - made.recipe.center))
    found = largest_eigenvalues(S, min(count, S.n_features), tolerance=ACCURACY)
    if S.semidefinite:
        found = np.maximum(found, 0.0)  # rounding may turn a zero into a small negative number
    if rows is None or not tables:
        return Scree(found, S.trace)
    noise = np.empty((tables, len(found)))
    for table in range(tables):
        permuted = rows.permuted(np.random.default_rng((0, table)))
        noise[table] = np.maximum(largest_eigenvalues(permuted.covariance(None), len(found), tolerance=ACCURACY), 0.0)
    return Scree(found, S.trace, noise)
