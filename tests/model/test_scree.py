"""The variances of ordinary components agree with scikit-learn's, for every kind of rows, and noise is told apart."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from laconic import scree
from laconic.data.rows import ArraySource
from laconic.datasets import load_pitprops, load_senate109


def rows(n, p, seed=0, planted=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 3.0
    for t in range(planted):
        X[:, 4 * t : 4 * t + 4] += (3 - t) * rng.standard_normal((n, 1))
    return X


@pytest.mark.parametrize(("n", "p"), [(60, 12), (30, 500), (450, 420), (1010, 1020)])
@pytest.mark.parametrize("sparse", [False, True])
def test_variances_are_those_of_ordinary_pca(n, p, sparse):
    X = rows(n, p)
    found = scree(sp.csr_array(X) if sparse else X, n_components=4, permutations=0)
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
    found = scree(sp.csc_array(X) if sparse else X, n_components=3, permutations=5, center=center, scale=scale)
    assert found.noise.shape == (5, 3)
    if scale and center:
        correlation = PCA(3).fit(StandardScaler().fit_transform(X)).explained_variance_ * 39 / 40
        np.testing.assert_allclose(found.variances, correlation)
    # Permuting keeps the trace: the largest of nine variances is at least their mean, and at most their sum.
    assert (found.noise[:, 0] > found.total / 9).all()
    assert (found.noise.sum(axis=1) < found.total).all()
    assert (np.diff(found.noise, axis=1) <= 0).all()
    if center:
        assert found.variances[0] > found.noise_95[0]


def test_planted_components_are_above_noise_and_others_are_not():
    assert scree(rows(300, 12)).n_above_noise == 2
    assert scree(rows(300, 12, planted=0)).n_above_noise == 0
    again = scree(rows(300, 12), random_state=0)
    np.testing.assert_array_equal(again.noise, scree(rows(300, 12)).noise)
    assert (again.noise != scree(rows(300, 12), random_state=1).noise).any()


def test_there_are_no_more_components_than_rows_and_features_allow():
    assert len(scree(rows(5, 30), permutations=2)) == 4
    assert len(scree(rows(50, 9), permutations=2)) == 9
    assert scree(np.ones((4, 3)), permutations=2).variances.tolist() == [0, 0, 0]
    assert np.isnan(scree(np.ones((4, 3)), permutations=2).ratios).all()


def test_a_matrix_and_rows_in_blocks_have_variances_alone():
    S = load_pitprops().covariance
    found = scree(S)
    np.testing.assert_allclose(found.variances, np.linalg.eigvalsh(S)[::-1][:10])
    assert found.total == pytest.approx(13)
    assert found.noise is None
    votes = load_senate109().data
    np.testing.assert_allclose(scree(ArraySource(votes)).variances, scree(votes).variances)
    holes = votes.copy()
    holes[::7, 3] = np.nan
    assert scree(holes, missing="pairwise").noise is None


def test_of_an_indefinite_matrix_negative_variances_are_kept():
    with pytest.warns(UserWarning, match="semidefinite"):
        found = scree(np.array([[1.0, 3.0], [3.0, 1.0]]))
    np.testing.assert_allclose(found.variances, [4, -2])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_components": 0}, "n_components=0 must be an int of at least 1"),
        ({"permutations": -1}, "permutations=-1 must be an int of at least 0"),
        ({"given": "table"}, "given='table' must be"),
    ],
)
def test_bad_input_is_one_sentence(settings, words):
    with pytest.raises(ValueError, match=words):
        scree(rows(10, 3), **settings)
