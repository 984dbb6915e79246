"""Scree: the variances of the ordinary principal components, beside those of tables with permuted columns.

Permuting each column on its own keeps every variance and breaks every relation between columns (parallel analysis, Horn
1965). The t-th ordinary component is compared with the t-th one of the permuted tables. That hides weak components
after strong ones, because the permuted columns still have the variance of the strong ones. `compare_with_noise` takes
earlier components out first, and is about sparse components.
"""

from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance import Covariance, Given, largest_eigenvalues
from laconic.covariance.from_data import covariance_from
from laconic.covariance.reading import looks_like_covariance, read_data
from laconic.covariance.rows_left import RowsLeft
from laconic.data.rows import open_source
from laconic.data.tables import as_array_or_frame
from laconic.model.noise import EQUAL, QUANTILE, rows_in_memory
from laconic.model.resampling import check_count, seed_of

# The relative accuracy of variances that Lanczos' method computes. They are drawn, and printed to a tenth of a percent.
ACCURACY = 1e-4


@dataclass(frozen=True, eq=False)
class Scree:
    """The variances of the ordinary principal components, beside those of permuted tables.

    Attributes
    ----------
    variances : ndarray of shape (n_components,)
        The variance of each ordinary component, the largest first.
    total : float
        The total variance: that of all components.
    noise : ndarray of shape (permutations, n_components) or None
        A row for each permuted table: the variances of its ordinary components. None if no table was permuted.

    See Also
    --------
    scree : Makes it.
    plot_scree : Draws it.

    Examples
    --------
    >>> from laconic import scree
    >>> from laconic.datasets import load_senate109
    >>> found = scree(load_senate109().to_frame(), permutations=0)
    >>> bool(found.variances[0] < found.total)
    True
    """

    variances: Floats
    total: float
    noise: Floats | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.variances)

    @property
    def ratios(self) -> Floats:
        """The share of the total variance of each component; NaN if the total is not positive."""
        return self.variances / (self.total if self.total > 0 else np.nan)

    @property
    def noise_95(self) -> Floats | None:
        """The 95 % quantile of the variances in permuted tables, for each component; None without permuted tables."""
        return None if self.noise is None else np.quantile(self.noise, QUANTILE, axis=0)

    @property
    def n_above_noise(self) -> int | None:
        """How many components come before the first that is not above `noise_95`; None without permuted tables."""
        limit = self.noise_95
        if limit is None:
            return None
        below = np.flatnonzero(self.variances <= limit * (1 + EQUAL))
        return int(below[0]) if len(below) else len(self)


def scree(
    X: Any,
    *,
    n_components: int = 10,
    permutations: int = 19,
    center: bool = True,
    scale: bool = False,
    missing: str = "error",
    given: Given = "auto",
    random_state: Any = 0,
) -> Scree:
    """Return the variances of the ordinary principal components, beside those of tables with permuted columns.

    Parameters
    ----------
    X : array, sparse matrix, table, or data that are read in blocks
        Rows: an array, a sparse matrix, a table, or data that are read in blocks; or a covariance matrix. Columns are
        permuted only if X holds complete rows in memory; otherwise `noise` is None.
    n_components : int, default=10
        The number of components. There are at most as many as features, and as rows.
    permutations : int, default=19
        The number of permuted tables; 0 for none.
    center, scale, missing : as in `SparsePCA`
        As in `SparsePCA`.
    given : {"auto", "rows", "covariance"}, default="auto"
        "rows" or "covariance". By default ("auto") a square symmetric matrix without a negative diagonal entry is a
        covariance.
    random_state : int, RandomState instance or None, default=0
        The seed of the permutations.

    Returns
    -------
    Scree
        The variances, and those of the permuted tables.

    See Also
    --------
    plot_scree : Draws it.
    choose : Counts sparse components that are better than noise.

    Examples
    --------
    >>> from laconic import scree
    >>> from laconic.datasets import load_senate109
    >>> found = scree(load_senate109().to_frame())
    >>> found.n_above_noise
    1
    """
    n_components = check_count("n_components", n_components)
    permutations = check_count("permutations", permutations, 0)
    if given not in get_args(Given):
        raise ValueError(f"given={given!r} must be 'auto', 'rows' or 'covariance'.")
    source = open_source(X)
    matrix = given == "covariance" or isinstance(X, Covariance)
    if source is None and given == "auto" and not matrix:
        matrix = looks_like_covariance(as_array_or_frame(X))
    if matrix or (source is not None and source.in_memory() is None):
        reading = read_data(X, "covariance" if matrix else "rows", center=center, scale=scale, missing=missing)
        if reading.covariance.at_hand is not None:
            raise ValueError(
                f"X is read in blocks and has {reading.covariance.n_features} columns, too many to find ordinary "
                "components; load the rows first, for example with laconic.read_table."
            )
        return _scree_of(reading.covariance, n_components)
    rows, names = rows_in_memory(X, missing=missing)
    made = covariance_from(rows, center=center, scale=scale, missing=missing, feature_names=names, with_digest=False)
    found = _scree_of(made.covariance, min(n_components, max(1, rows.shape[0] - center)))
    if not permutations or made.missing is not None:
        return found
    left, seed = RowsLeft.of(rows, made.standardization, center=center, scale=scale), seed_of(random_state)
    noise = np.empty((permutations, len(found)))
    for table in range(permutations):
        permuted = left.permuted(np.random.default_rng((seed, table)))
        noise[table] = permuted.unit * _scree_of(permuted.covariance(None), len(found)).variances
    return replace(found, noise=noise)


def _scree_of(covariance: Covariance, count: int) -> Scree:
    values = largest_eigenvalues(covariance, min(count, covariance.n_features), tolerance=ACCURACY)
    # Rounding may turn a zero into a small negative number.
    return Scree(np.maximum(values, 0.0) if covariance.semidefinite else values, covariance.trace)
