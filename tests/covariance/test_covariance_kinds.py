"""Every kind of covariance answers every question as the explicit matrix would."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import random_psd
from laconic.covariance import (
    Covariance,
    DeflatedCovariance,
    DenseCovariance,
    FactorCovariance,
    SparseCovariance,
    SubsetCovariance,
    covariance_of,
)


def counts(n, p, seed, density=0.3):
    """Sparse rows of the kind met in text: few entries, non-negative, one column nearly full, one empty."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(2.0, (n, p)) * (rng.random((n, p)) < density) * 1.0
    X[:, 1] = rng.poisson(5.0, n)
    X[:, 2] = 0
    return X


def explicit(X, *, center=True, scale=False, weights=None):
    """The covariance as a textbook writes it."""
    w = np.ones(len(X)) if weights is None else weights
    mean = (w @ X) / w.sum() if center else np.zeros(X.shape[1])
    Z = X - mean
    divisor = w.sum() - (w**2).sum() / w.sum() if center else w.sum()
    S = (Z * w[:, None]).T @ Z / divisor
    if scale:
        root = np.sqrt(np.where(S.diagonal() > 0, S.diagonal(), 1))
        S = S / root / root[:, None]
    return S


def sparse_kind(convert, seed, *, n=40, p=60, density=0.3, weighted=False, **settings):
    """Made by hand, so that the sparse kind is met whatever `covariance_of` would choose."""
    X = counts(n, p, seed, density)
    weights = np.random.default_rng(seed).random(n) + 0.1 if weighted else None
    S = explicit(X, weights=weights, **settings)
    w = np.ones(n) if weights is None else weights
    center = settings.get("center", True)
    means = (w @ X) / w.sum() if center else np.zeros(p)
    divisor = w.sum() - (w**2).sum() / w.sum() if center else w.sum()
    variances = explicit(X, weights=weights, center=center).diagonal().copy()
    scales = 1 / np.sqrt(np.where(variances > 0, variances, 1)) if settings.get("scale") else np.ones(p)
    return SparseCovariance(convert(X), means, variances, scales, weights, divisor), S


def factor(seed):
    A = np.random.default_rng(seed).standard_normal((5, 20))
    return FactorCovariance(A), A.T @ A


def deflated(base, seed):
    covariance, S = base(seed)
    W = np.random.default_rng(seed).standard_normal((len(S), 3))
    C = np.diag([0.1, -0.2, 0.3]) + 0.05
    return DeflatedCovariance(covariance, W, C, semidefinite=False), S - W @ C @ W.T


def subset(base, seed):
    covariance, S = base(seed)
    keep = np.sort(np.random.default_rng(seed).permutation(len(S))[: len(S) // 2])
    return SubsetCovariance(covariance, keep), S[np.ix_(keep, keep)]


def dense(seed):
    S = random_psd(12, seed=seed)
    return DenseCovariance(S), S


KINDS = {
    "dense": dense,
    "factor": factor,
    "csr": lambda seed: sparse_kind(sp.csr_array, seed),
    "csc": lambda seed: sparse_kind(sp.csc_array, seed),
    "csr matrix": lambda seed: sparse_kind(sp.csr_matrix, seed),
    "csr, very sparse": lambda seed: sparse_kind(sp.csr_array, seed, density=0.02),
    "csc, very sparse, weighted, scaled": lambda seed: sparse_kind(
        sp.csc_array, seed, density=0.02, weighted=True, scale=True
    ),
    "csr, weighted": lambda seed: sparse_kind(sp.csr_array, seed, weighted=True),
    "csc, scaled": lambda seed: sparse_kind(sp.csc_array, seed, scale=True),
    "csr, weighted and scaled": lambda seed: sparse_kind(sp.csr_array, seed, weighted=True, scale=True),
    "csr, not centred": lambda seed: sparse_kind(sp.csr_array, seed, center=False),
    "csc, not centred, weighted, scaled": lambda seed: sparse_kind(
        sp.csc_array, seed, center=False, weighted=True, scale=True
    ),
    "subset of dense": lambda seed: subset(dense, seed),
    "subset of factor": lambda seed: subset(factor, seed),
    "subset of csr": lambda seed: subset(KINDS["csr, weighted"], seed),
    "deflated dense": lambda seed: deflated(dense, seed),
    "deflated factor": lambda seed: deflated(factor, seed),
    "deflated csc": lambda seed: deflated(KINDS["csc, scaled"], seed),
    "subset of deflated factor": lambda seed: subset(KINDS["deflated factor"], seed),
    "deflated subset": lambda seed: deflated(KINDS["subset of csr"], seed),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_explicit_matrix(kind, seed):
    covariance, S = KINDS[kind](seed)
    n = len(S)
    rng = np.random.default_rng(seed)
    tolerance = {"rtol": 0, "atol": 1e-11 * np.abs(S).max()}
    assert isinstance(covariance, Covariance)
    assert covariance.n_features == n
    np.testing.assert_allclose(covariance.diagonal, S.diagonal(), **tolerance)
    assert covariance.trace == pytest.approx(np.trace(S), rel=1e-10)
    for indices in (np.array([n - 1]), rng.permutation(n)[:4], np.arange(n), np.empty(0, dtype=np.intp)):
        np.testing.assert_allclose(covariance.columns(indices), S[:, indices], **tolerance)
        block = covariance.submatrix(indices)
        np.testing.assert_allclose(block, S[np.ix_(indices, indices)], **tolerance)
        assert np.array_equal(block, block.T)
    supports = np.sort(np.array([rng.permutation(n)[:3] for _ in range(6)]), axis=1)
    expected = S[supports[:, :, None], supports[:, None, :]]
    np.testing.assert_allclose(covariance.submatrices(supports), expected, **tolerance)
    vector, matrix = rng.standard_normal(n), rng.standard_normal((n, 5))
    wide = {"rtol": 0, "atol": 1e-11 * np.abs(S).sum(axis=1).max() * 4}
    np.testing.assert_allclose(covariance.product(vector), S @ vector, **wide)
    np.testing.assert_allclose(covariance.product(matrix), S @ matrix, **wide)
    assert covariance.product(vector).shape == (n,)
    assert covariance.product(matrix).shape == (n, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_not_views_that_a_caller_could_spoil(kind):
    covariance, S = KINDS[kind](0)
    columns = covariance.columns(np.array([0, 1]))
    columns[:] = 7
    covariance.submatrix(np.arange(2))[:] = 7
    np.testing.assert_allclose(covariance.columns(np.array([0, 1])), S[:, :2], atol=1e-11 * np.abs(S).max())
    with pytest.raises(ValueError, match="read-only"):
        covariance.diagonal[0] = 7


@pytest.mark.parametrize("shape", [(50, 10), (20, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}, {"center": False, "scale": True}])
def test_built_from_rows(shape, dtype, convert, weighted, settings):
    X = counts(*shape, seed=4)
    weights = np.random.default_rng(5).random(shape[0]) if weighted else None
    covariance, standardization = covariance_of(convert(X.astype(dtype)), weights=weights, **settings)
    S = explicit(X, weights=weights, **settings)
    np.testing.assert_allclose(covariance.submatrix(np.arange(shape[1])), S, atol=1e-12 * np.abs(S).max())
    np.testing.assert_allclose(covariance.diagonal, S.diagonal(), atol=1e-12 * np.abs(S).max())
    Z = (X - standardization.means) * standardization.scales
    w = np.ones(shape[0]) if weights is None else weights
    if settings.get("center", True):
        np.testing.assert_allclose(w @ Z, 0, atol=1e-10)
    assert standardization.constant.tolist() == [j == 2 for j in range(shape[1])]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(300, 6), (40, 60)])
@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_huge_means_cost_no_accuracy(convert, shape, density, weighted):
    """Mean 1e6, unit variance: E[xy] - E[x]E[y] would keep four digits; ten are asked for here."""
    rng = np.random.default_rng(6)
    deviations = rng.standard_normal(shape)
    X = 1e6 + deviations
    if density < 1:  # some columns sparse as well
        X[:, ::2] = deviations[:, ::2] * (rng.random((shape[0], (shape[1] + 1) // 2)) < 0.3)
    weights = rng.random(shape[0]) if weighted else None
    S = np.cov(X.astype(np.longdouble), rowvar=False, aweights=weights).astype(float)
    covariance, _ = covariance_of(convert(X), weights=weights)
    p = shape[1]
    np.testing.assert_allclose(covariance.diagonal, S.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(covariance.submatrix(np.arange(p)), S, atol=1e-9)
    np.testing.assert_allclose(covariance.columns(np.array([0, 3])), S[:, [0, 3]], atol=1e-9)
    v = rng.standard_normal((p, 2))
    np.testing.assert_allclose(covariance.product(v), S @ v, atol=1e-8 * np.sqrt(p))


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(400, 20), (60, 200)])
def test_single_precision_rows_lose_nothing(convert, shape):
    """The numbers are stored in single precision; sums of products must not be."""
    rng = np.random.default_rng(7)
    X = (rng.random(shape) < 0.03) * rng.random(shape) * 1000
    X[:, 0] = 1000 + rng.standard_normal(shape[0])  # a full column with a large mean
    X = X.astype(np.float32)
    S = np.cov(X.astype(np.longdouble), rowvar=False).astype(float)
    covariance, _ = covariance_of(convert(X))
    indices = np.arange(shape[1])
    root = np.sqrt(np.maximum(np.outer(S.diagonal(), S.diagonal()), 1e-300))
    for found in (covariance.submatrix(indices), covariance.columns(indices), covariance.product(np.eye(shape[1]))):
        assert (np.abs(found - S) / root)[S.diagonal() > 0][:, S.diagonal() > 0].max() < 1e-9


def test_a_wide_table_stays_a_factor_and_a_tall_one_is_written_out():
    rng = np.random.default_rng(8)
    assert isinstance(covariance_of(rng.standard_normal((50, 10)))[0], DenseCovariance)
    assert isinstance(covariance_of(rng.standard_normal((10, 50)))[0], FactorCovariance)
    assert isinstance(covariance_of(sp.random(10, 50, 0.5, format="csr", random_state=0))[0], SparseCovariance)
