"""Random matrices and rows from models with a known answer: a planted component, or a known formula."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.datasets.drawing import RandomState, check_number, check_size, generator

Entries: TypeAlias = Literal["equal", "signed", "gaussian"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikedCovariance:
    """A covariance matrix with a planted component (a spike) and Gaussian noise.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        The matrix Sigma of `spiked_covariance`.
    component : array of shape (n_features,)
        The planted component u: a unit vector, zero outside ``support``.
    support : array of shape (cardinality,)
        Indices of the nonzero entries of u, in increasing order.
    signal : float
        The factor of u u' in Sigma.
    n_samples : int
        The number m of columns of the noise matrix V.
    """

    covariance: Floats = field(repr=False)
    component: Floats = field(repr=False)
    support: Indices = field(repr=False)
    signal: float
    n_samples: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikedRows:
    """Gaussian rows with a planted component (a spike).

    Attributes
    ----------
    data : array of shape (n_samples, n_features)
        Independent rows.
    component : array of shape (n_features,)
        The planted component u: a unit vector, zero outside ``support``. It is the leading eigenvector of the
        population covariance.
    support : array of shape (cardinality,)
        Indices of the nonzero entries of u, in increasing order.
    signal : float
        The variance that the spike adds along u.
    """

    data: Floats = field(repr=False)
    component: Floats = field(repr=False)
    support: Indices = field(repr=False)
    signal: float


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianGram:
    """The Gram matrix of a Gaussian matrix.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        F'F.
    factor : array of shape (n_rows, n_features)
        The Gaussian matrix F.
    """

    covariance: Floats = field(repr=False)
    factor: Floats = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyRankOne:
    """The paper's rank-one matrix plus noise.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        The matrix Sigma of `noisy_rank_one`.
    u : array of shape (n_features,)
        The vector ``1, 1/2, ..., 1/n``. Its length is not one.
    """

    covariance: Floats = field(repr=False)
    u: Floats = field(repr=False)


def spiked_covariance(
    n_features: int = 250,
    n_samples: int = 400,
    cardinality: int = 25,
    *,
    signal: float = 1.0,
    entries: Entries = "equal",
    random_state: RandomState = 0,
) -> SpikedCovariance:
    """Make the paper's spiked covariance, a sparse rank-one matrix plus noise.

    The matrix is ::

        Sigma = signal * u u' + V V' / sqrt(m)

    u is a unit vector with ``cardinality`` nonzero entries at random places. V is an n x m matrix of independent
    N(0, 1) entries, with n = ``n_features`` and m = ``n_samples``.

    The noise is divided by sqrt(m), as the paper prints it, and not by m. It is sqrt(m) times a sample covariance of
    white noise, so it grows with m. The defaults n = 250, m = 400, k = 25 are the paper's. The paper does not give
    the length of u.

    The theory of spiked Wishart matrices says when the leading eigenvector is correlated with u, in the limit of large
    n and m: only if signal > sqrt(n) (1 + sqrt(n / m)). This threshold is 28.3 at the defaults, and it is above
    sqrt(n) = 15.8 for every m. A unit u (``signal=1``) is far below it. With ``signal=cardinality`` the nonzero entries
    of sqrt(signal) u are one, and the signal exceeds the threshold if m is above about 740.

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
    entries : {"equal", "signed", "gaussian"}, default "equal"
        The nonzero entries of u: all 1/sqrt(k), 1/sqrt(k) with random signs, or Gaussian scaled to unit length.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    SpikedCovariance
        Sigma, the planted component and its support.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Statistical consistency vs. computational complexity".
    F. Benaych-Georges and R. R. Nadakuditi, "The eigenvalues and eigenvectors of finite, low rank perturbations of
    large random matrices", Advances in Mathematics 227 (2011), 494-521: the threshold.
    """
    check_size("n_samples", n_samples)
    check_number("signal", signal)
    rng = generator(random_state)
    component, support = _sparse_unit_vector(rng, n_features, cardinality, entries)
    noise = rng.standard_normal((n_features, n_samples))
    return SpikedCovariance(
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
    entries: Entries = "equal",
    random_state: RandomState = 0,
) -> SpikedRows:
    """Draw rows from the spiked covariance model of Amini and Wainwright.

    The rows are independent, with distribution N(0, I + signal * u u'). u is a unit vector with k = ``cardinality``
    nonzero entries at random places. Each row is z + sqrt(signal) g u, where the n entries of z and the number g are
    independent N(0, 1). No n x n matrix is made.

    Amini and Wainwright show how many rows m are needed to find the support. Thresholding the diagonal of the sample
    covariance finds it if m / (k^2 log(n - k)) is large. The semidefinite relaxation, if it is tight, finds it if
    m / (k log(n - k)) is large.

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
    entries : {"equal", "signed", "gaussian"}, default "equal"
        The nonzero entries of u: all 1/sqrt(k), 1/sqrt(k) with random signs, or Gaussian scaled to unit length.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    SpikedRows
        The rows, the planted component and its support.

    References
    ----------
    A. A. Amini and M. J. Wainwright, "High-dimensional analysis of semidefinite relaxations for sparse principal
    components", Annals of Statistics 37 (2009), 2877-2921.
    """
    check_size("n_samples", n_samples)
    check_number("signal", signal)
    rng = generator(random_state)
    component, support = _sparse_unit_vector(rng, n_features, cardinality, entries)
    data = rng.standard_normal((n_samples, n_features))
    # The spike is added to the columns of the support only. An outer product over all columns would double the memory.
    data[:, support] += np.outer(math.sqrt(signal) * rng.standard_normal(n_samples), component[support])
    return SpikedRows(data=data, component=component, support=support, signal=float(signal))


def gaussian_gram(
    n_rows: int, n_features: int, *, normalized: bool = False, random_state: RandomState = 0
) -> GaussianGram:
    """Make the Gram matrix F'F of a Gaussian matrix F, the hard case of the paper's random matrices.

    The entries of F are independent N(0, 1). The largest and the smallest k-sparse eigenvalue of F'F give the
    restricted isometry constant of compressed sensing. With ``normalized``, F is divided by sqrt(n_rows). Then the
    expected squared length of each column is one, and the expectation of F'F is I.

    Parameters
    ----------
    n_rows : int
        The number of rows of F.
    n_features : int
        The number of columns of F, and of rows and columns of F'F.
    normalized : bool, default False
        Whether to divide F by sqrt(n_rows).
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    GaussianGram
        F'F and F.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Random matrices".
    E. J. Candes and T. Tao, "Decoding by linear programming", IEEE Transactions on Information Theory 51 (2005),
    4203-4215.
    """
    check_size("n_rows", n_rows)
    check_size("n_features", n_features)
    factor = generator(random_state).standard_normal((n_rows, n_features))
    if normalized:
        factor /= math.sqrt(n_rows)
    return GaussianGram(covariance=factor.T @ factor, factor=factor)


def noisy_rank_one(n_features: int, *, random_state: RandomState = 0) -> NoisyRankOne:
    """Make the paper's rank-one matrix plus noise, the easy case of its random matrices.

    The matrix is ::

        Sigma = u u' / ||u||^2 + 2 V'V

    as printed in the paper, with u_i = 1/i and an n x n matrix V of independent entries, uniform on [0, 1].

    The entries of V have mean 1/2, so 2 V'V is close to (n/2) 1 1' + (n/6) I. The leading eigenvector of Sigma is
    therefore close to the vector of ones and not to u. Do not compare a component with u: it is returned only as a part
    of the formula.

    Parameters
    ----------
    n_features : int
        The number n of rows and columns of Sigma.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    NoisyRankOne
        Sigma and u.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Random matrices".
    """
    check_size("n_features", n_features)
    u = 1.0 / np.arange(1, n_features + 1)
    noise = generator(random_state).random((n_features, n_features))
    return NoisyRankOne(covariance=np.outer(u, u) / (u @ u) + 2 * (noise.T @ noise), u=u)


def _sparse_unit_vector(
    rng: np.random.Generator, n_features: int, cardinality: int, entries: Entries
) -> tuple[Floats, Indices]:
    """Draw a unit vector with nonzero entries at random places; return it and these places."""
    check_size("n_features", n_features)
    check_size("cardinality", cardinality)
    if cardinality > n_features:
        raise ValueError(f"cardinality must be at most n_features = {n_features}, got {cardinality}.")
    support = np.sort(rng.choice(n_features, size=cardinality, replace=False)).astype(np.intp)
    match entries:
        case "equal":
            values = np.ones(cardinality)
        case "signed":
            values = rng.choice(np.array([-1.0, 1.0]), size=cardinality)
        case "gaussian":
            values = rng.standard_normal(cardinality)
        case _:
            raise ValueError(f"entries must be 'equal', 'signed' or 'gaussian', got {entries!r}.")
    component = np.zeros(n_features)
    component[support] = values / np.linalg.norm(values)
    return component, support
