"""Random rows with a known answer."""

import math

import numpy as np
from sklearn.utils import Bunch

from laconic.core.words import is_whole


def spiked_rows(
    n_samples: int,
    n_features: int,
    cardinality: int,
    *,
    signal: float = 1.0,
    rng: int | np.random.Generator | None = 0,
) -> Bunch:
    """Draw rows from the spiked covariance model of Amini and Wainwright.

    The rows are independent, with distribution N(0, I + signal * u u'). u is a unit vector with k = ``cardinality``
    equal nonzero entries at random places. Each row is z + sqrt(signal) g u, where the n entries of z and the number g
    are independent N(0, 1). No n x n matrix is made.

    Thresholding the diagonal of the sample covariance finds the support if m / (k^2 log(n - k)) is large. The
    semidefinite relaxation, if it is tight, finds it if m / (k log(n - k)) is large.

    Parameters
    ----------
    n_samples : int
        The number m of rows.
    n_features : int
        The number n of features.
    cardinality : int
        The number k of nonzero entries of u.
    signal : float, default 1.0
        The variance that the spike adds along u, at least zero.
    rng : int, numpy.random.Generator or None, default 0
        Seed, or the generator to draw from. With None each call draws other numbers.

    Returns
    -------
    sklearn.utils.Bunch
        The rows in ``data``, the unit vector u in ``component``, the places of its nonzeros in ``support``, and
        ``signal`` as given.

    References
    ----------
    A. A. Amini and M. J. Wainwright, "High-dimensional analysis of semidefinite relaxations for sparse principal
    components", Annals of Statistics 37 (2009), 2877-2921.

    Examples
    --------
    >>> from laconic.datasets import spiked_rows
    >>> spiked_rows(100, 50, 5, signal=4).data.shape
    (100, 50)
    """
    for name, size in (("n_samples", n_samples), ("n_features", n_features), ("cardinality", cardinality)):
        if not is_whole(size) or size < 1:
            raise ValueError(f"{name}={size!r} must be a whole number of at least 1.")
    if cardinality > n_features:
        raise ValueError(f"cardinality={cardinality} must be at most n_features={n_features}.")
    if not (math.isfinite(signal) and signal >= 0):
        raise ValueError(f"signal={signal} must be finite and at least 0.")
    rng = np.random.default_rng(rng)
    support = np.sort(rng.choice(n_features, size=cardinality, replace=False))
    component = np.zeros(n_features)
    component[support] = 1.0 / math.sqrt(cardinality)
    data = rng.standard_normal((n_samples, n_features))
    # The spike is added to the columns of the support only. An outer product over all columns would double the memory.
    data[:, support] += np.outer(math.sqrt(signal) * rng.standard_normal(n_samples), component[support])
    return Bunch(data=data, component=component, support=support, signal=float(signal))
