"""Random matrices and rows with a known answer. The paper is that of Zhang, d'Aspremont and El Ghaoui (2012)."""

import math
from typing import TypeAlias

import numpy as np
from sklearn.utils import Bunch

from laconic.core.arrays import Floats, Indices
from laconic.core.words import is_whole

Rng: TypeAlias = int | np.random.Generator | None


def spiked_covariance(
    n_features: int = 250,
    n_samples: int = 400,
    cardinality: int = 25,
    *,
    signal: float = 1.0,
    rng: Rng = 0,
) -> Bunch:
    """Make the paper's spiked covariance, a sparse rank-one matrix plus noise.

    The matrix is ::

        Sigma = signal * u u' + V V' / sqrt(m)

    u is a unit vector with ``cardinality`` equal nonzero entries at random places. V is an n x m matrix of independent
    N(0, 1) entries, with n = ``n_features`` and m = ``n_samples``.

    The noise is divided by sqrt(m), as the paper prints it, and not by m, so it grows with m. The defaults n = 250,
    m = 400, k = 25 are the paper's. The paper does not give the length of u. For large n and m, the leading eigenvector
    is correlated with u only if signal > sqrt(n) (1 + sqrt(n / m)) [1]_, which is 28.3 at the defaults.

    Parameters
    ----------
    n_features : int, default 250
        The number n of rows and columns of Sigma.
    n_samples : int, default 400
        The number m of columns of V.
    cardinality : int, default 25
        The number of nonzero entries of u.
    signal : float, default 1.0
        The factor of u u', at least zero.
    rng : int, numpy.random.Generator or None, default 0
        Seed, or the generator to draw from. With None each call draws other numbers.

    Returns
    -------
    sklearn.utils.Bunch
        Sigma in ``covariance``, the unit vector u in ``component``, the places of its nonzeros in ``support``, and
        ``signal`` and ``n_samples`` as given.

    References
    ----------
    .. [1] F. Benaych-Georges and R. R. Nadakuditi (2011). The eigenvalues and eigenvectors of finite, low rank
       perturbations of large random matrices. Advances in Mathematics 227, 494-521.

    Examples
    --------
    >>> from laconic.datasets import spiked_covariance
    >>> spiked_covariance(50, 100, 5, signal=40).covariance.shape
    (50, 50)
    """
    _check_size("n_samples", n_samples)
    _check_number("signal", signal)
    rng = np.random.default_rng(rng)
    component, support = _sparse_unit_vector(rng, n_features, cardinality)
    noise = rng.standard_normal((n_features, n_samples))
    return Bunch(
        covariance=signal * np.outer(component, component) + noise @ noise.T / math.sqrt(n_samples),
        component=component,
        support=support,
        signal=float(signal),
        n_samples=n_samples,
    )


def spiked_rows(
    n_samples: int,
    n_features: int,
    cardinality: int,
    *,
    signal: float = 1.0,
    rng: Rng = 0,
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
    _check_size("n_samples", n_samples)
    _check_number("signal", signal)
    rng = np.random.default_rng(rng)
    component, support = _sparse_unit_vector(rng, n_features, cardinality)
    data = rng.standard_normal((n_samples, n_features))
    # The spike is added to the columns of the support only. An outer product over all columns would double the memory.
    data[:, support] += np.outer(math.sqrt(signal) * rng.standard_normal(n_samples), component[support])
    return Bunch(data=data, component=component, support=support, signal=float(signal))


def gaussian_gram(n_rows: int, n_features: int, *, normalized: bool = False, rng: Rng = 0) -> Bunch:
    """Make the Gram matrix F'F of a Gaussian matrix F, the hard case of the paper's random matrices.

    The entries of F are independent N(0, 1). The largest and the smallest k-sparse eigenvalue of F'F give the
    restricted isometry constant (Candes and Tao 2005). With ``normalized`` the expectation of F'F is I.

    Parameters
    ----------
    n_rows : int
        The number of rows of F.
    n_features : int
        The number of columns of F, and of rows and columns of F'F.
    normalized : bool, default False
        Whether to divide F by sqrt(n_rows).
    rng : int, numpy.random.Generator or None, default 0
        Seed, or the generator to draw from. With None each call draws other numbers.

    Returns
    -------
    sklearn.utils.Bunch
        F'F in ``covariance`` and F in ``factor``.

    Examples
    --------
    >>> from laconic.datasets import gaussian_gram
    >>> gaussian_gram(30, 10).covariance.shape
    (10, 10)
    """
    _check_size("n_rows", n_rows)
    _check_size("n_features", n_features)
    factor = np.random.default_rng(rng).standard_normal((n_rows, n_features))
    if normalized:
        factor /= math.sqrt(n_rows)
    return Bunch(covariance=factor.T @ factor, factor=factor)


def noisy_rank_one(n_features: int, *, rng: Rng = 0) -> Bunch:
    """Make the paper's rank-one matrix plus noise, the easy case of its random matrices.

    The matrix is ::

        Sigma = u u' / ||u||^2 + 2 V'V

    as printed in the paper, with u_i = 1/i and an n x n matrix V of independent entries, uniform on [0, 1].

    The entries of V have mean 1/2, so the leading eigenvector of Sigma is close to the vector of ones and not to u. Do
    not compare a component with u: it is returned only as a part of the formula.

    Parameters
    ----------
    n_features : int
        The number n of rows and columns of Sigma.
    rng : int, numpy.random.Generator or None, default 0
        Seed, or the generator to draw from. With None each call draws other numbers.

    Returns
    -------
    sklearn.utils.Bunch
        Sigma in ``covariance`` and the vector 1, 1/2, ..., 1/n in ``u``. Its length is not one.

    Examples
    --------
    >>> from laconic.datasets import noisy_rank_one
    >>> noisy_rank_one(10).covariance.shape
    (10, 10)
    """
    _check_size("n_features", n_features)
    u = 1.0 / np.arange(1, n_features + 1)
    noise = np.random.default_rng(rng).random((n_features, n_features))
    return Bunch(covariance=np.outer(u, u) / (u @ u) + 2 * (noise.T @ noise), u=u)


def _sparse_unit_vector(rng: np.random.Generator, n_features: int, cardinality: int) -> tuple[Floats, Indices]:
    """Return a unit vector with equal nonzero entries at random places, and these places."""
    _check_size("n_features", n_features)
    _check_size("cardinality", cardinality)
    if cardinality > n_features:
        raise ValueError(f"cardinality must be at most n_features = {n_features}, got {cardinality}.")
    support = np.sort(rng.choice(n_features, size=cardinality, replace=False)).astype(np.intp)
    component = np.zeros(n_features)
    component[support] = 1.0 / math.sqrt(cardinality)
    return component, support


def _check_size(name: str, value: int) -> None:
    """Raise an error unless a value is a whole number of at least 1."""
    if not is_whole(value):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")


def _check_number(name: str, value: float) -> None:
    """Raise an error unless a value is finite and at least 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and at least 0, got {value}.")
