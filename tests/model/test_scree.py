"""The variances of ordinary components agree with scikit-learn's, for every kind of rows, and noise is told apart."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from laconic import SparsePCA
from laconic.covariance.from_data import covariance_from
from laconic.covariance.rows_left import RowsLeft
from laconic.model.scree import scree_of


def rows(n, p, seed=0, planted=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 3.0
    for t in range(planted):
        X[:, 4 * t : 4 * t + 4] += (3 - t) * rng.standard_normal((n, 1))
    return X


def scree(X, count=10, tables=19, seed=0, **settings):
    model = SparsePCA(**settings)
    made = covariance_from(X, center=model.center, scale=model.scale)
    left = RowsLeft.of(X, made.standardization, center=model.center, scale=model.scale)
    return scree_of(made.covariance, count, left, tables, seed)


@pytest.mark.parametrize(("n", "p"), [(60, 12), (30, 500), (1010, 1020)])
@pytest.mark.parametrize("sparse", [False, True])
def test_variances_are_those_of_ordinary_pca(n, p, sparse):
    X = rows(n, p)
    found = scree(sp.csr_array(X) if sparse else X, 4, 0)
    np.testing.assert_allclose(
        found.variances, PCA(4, svd_solver="covariance_eigh").fit(X).explained_variance_, rtol=1e-3
    )
    np.testing.assert_allclose(found.total, X.var(axis=0, ddof=1).sum())
    assert found.noise is None
    assert found.noise_95 is None
    assert found.n_above_noise is None


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_noise_is_that_of_permuted_columns(center, scale, sparse):
    X = rows(40, 9)
    found = scree(sp.csc_array(X) if sparse else X, 3, 5, center=center, scale=scale)
    assert found.noise.shape == (5, 3)
    if scale and center:
        correlation = PCA(3).fit(StandardScaler().fit_transform(X)).explained_variance_ * 39 / 40
        np.testing.assert_allclose(found.variances, correlation)
    # Permuting keeps the trace: the largest of nine variances is at least their mean, and at most their sum.
    assert (found.noise[:, 0] > found.total / 9).all()
    assert (found.noise.sum(axis=1) < found.total).all()
    if center:
        assert found.variances[0] > found.noise_95[0]


def test_planted_components_are_above_noise_and_others_are_not():
    assert scree(rows(300, 12)).n_above_noise == 2
    assert scree(rows(300, 12, planted=0)).n_above_noise == 0
    np.testing.assert_array_equal(scree(rows(300, 12)).noise, scree(rows(300, 12)).noise)
    assert (scree(rows(300, 12)).noise != scree(rows(300, 12), seed=1).noise).any()


def test_there_are_no_more_components_than_rows_and_features_allow():
    assert len(scree(rows(5, 30), tables=2).variances) == 4
    assert len(scree(rows(50, 9), tables=2).variances) == 9
    assert scree(np.ones((4, 3)), tables=2).variances.tolist() == [0, 0, 0]
