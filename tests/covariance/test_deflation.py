"""Five deflations against their dense formulas, and explained variance by three definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from laconic.model.explained_variance import explained_variances

from helpers import random_psd
from laconic import SparsePCA
from laconic.covariance import DeflatedCovariance, DenseCovariance, FactorCovariance, covariance_of
from laconic.covariance.deflation import DEFLATIONS, Deflation


def sparse_unit_vectors(count, n, k, seed):
    """Neither eigenvectors nor orthogonal to each other: what sparse components are."""
    rng = np.random.default_rng(seed)
    Z = np.zeros((count, n))
    for row in Z:
        row[rng.permutation(n)[:k]] = rng.standard_normal(k)
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def dense_deflation(S, Z, kind):
    """Mackey's formulas, with matrices written out."""
    n = len(S)
    directions = []
    for z in Z:
        if kind.startswith("orthogonalized"):
            for d in directions:
                z = z - d * (d @ z)
            for d in directions:
                z = z - d * (d @ z)
            z = z / np.linalg.norm(z)
            directions.append(z)
        value = z @ S @ z
        if kind.endswith("hotelling"):
            S = S - value * np.outer(z, z)
        elif kind.endswith("projection"):
            P = np.eye(n) - np.outer(z, z)
            S = P @ S @ P
        else:
            S = S - S @ np.outer(z, z) @ S / value
    return S


BASES = {
    "dense": lambda seed: (lambda S: (DenseCovariance(S), S))(random_psd(10, 20, seed)),
    "factor": lambda seed: (lambda A: (FactorCovariance(A), A.T @ A))(
        np.random.default_rng(seed).standard_normal((6, 15))
    ),
    "sparse": lambda seed: (lambda X: (covariance_of(X)[0], np.cov(X.toarray(), rowvar=False)))(
        sp.random(12, 20, 0.4, format="csr", random_state=seed)
    ),
}


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", DEFLATIONS)
def test_equals_the_dense_formula_after_each_of_four_components(kind, base, seed, scale):
    covariance, S = BASES[base](seed)
    if scale != 1.0:
        covariance, S = DenseCovariance(scale * S), scale * S
    Z = sparse_unit_vectors(4, len(S), 3, seed)
    deflation = Deflation(covariance, kind)
    everything = np.arange(len(S))
    for count in range(1, 5):
        left = deflation.remove(Z[count - 1])
        expected = dense_deflation(S, Z[:count], kind)
        tolerance = 1e-10 * np.abs(S).max()
        assert left is deflation.current
        np.testing.assert_allclose(left.submatrix(everything), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(left.diagonal, expected.diagonal(), rtol=0, atol=tolerance)
        np.testing.assert_allclose(left.columns(np.array([2, 0])), expected[:, [2, 0]], rtol=0, atol=tolerance)
        v = np.random.default_rng(seed).standard_normal(len(S))
        np.testing.assert_allclose(left.product(v), expected @ v, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_what_is_left_is_an_operator_of_low_rank(kind):
    """No n x n matrix is kept beside the one there was: two columns a component at most."""
    covariance = FactorCovariance(np.random.default_rng(0).standard_normal((5, 400)))
    deflation = Deflation(covariance, kind)
    for count, z in enumerate(sparse_unit_vectors(3, 400, 4, 1), start=1):
        left = deflation.remove(z)
        assert isinstance(left, DeflatedCovariance)
        assert left.base is covariance
        assert left.factors.shape[0] == 400
        assert left.factors.shape[1] <= 2 * count


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", DEFLATIONS)
def test_semidefinite_where_claimed(kind, seed):
    S = random_psd(9, 12, seed)
    deflation = Deflation(DenseCovariance(S), kind)
    for z in sparse_unit_vectors(5, 9, 3, seed):
        left = deflation.remove(z)
        smallest = np.linalg.eigvalsh(left.submatrix(np.arange(9)))[0]
        if left.semidefinite:
            assert smallest >= -1e-10
    claimed = kind in {"projection", "schur", "orthogonalized-projection"}
    assert deflation.current.semidefinite == claimed
    if kind == "hotelling":
        assert smallest < -1e-3  # and rightly not claimed


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", DEFLATIONS)
def test_what_is_taken_out_is_gone(kind, seed):
    """z explains nothing of what is left; projections and the Schur complement leave z in the kernel."""
    S = random_psd(9, 12, seed)
    z = sparse_unit_vectors(1, 9, 3, seed)[0]
    left = Deflation(DenseCovariance(S), kind).remove(z)
    assert abs(z @ left.product(z)) < 1e-12
    if kind not in {"hotelling", "orthogonalized-hotelling"}:
        assert np.abs(left.product(z)).max() < 1e-12


@pytest.mark.parametrize("kind", ["projection", "orthogonalized-projection", "schur"])
@pytest.mark.parametrize("seed", range(3))
def test_earlier_components_stay_out(kind, seed):
    """The Schur complement and the orthogonalised projection never bring back what was taken out before."""
    S = random_psd(9, 12, seed)
    Z = sparse_unit_vectors(3, 9, 3, seed)
    deflation = Deflation(DenseCovariance(S), kind)
    for z in Z:
        left = deflation.remove(z)
    if kind == "projection":  # the plain one does bring it back, which is why the other exists
        assert np.abs(left.product(Z[0])).max() > 1e-3
    else:
        assert np.abs(left.product(Z.T)).max() < 1e-10


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_an_eigenvector_is_taken_out_alike_by_all(kind):
    S = random_psd(8, 12, 3)
    values, vectors = np.linalg.eigh(S)
    left = Deflation(DenseCovariance(S), kind).remove(vectors[:, -1])
    expected = (vectors[:, :-1] * values[:-1]) @ vectors[:, :-1].T
    np.testing.assert_allclose(left.submatrix(np.arange(8)), expected, atol=1e-12)


def test_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="deflation='qr' is not known; choose one of hotelling, projection, schur"):
        Deflation(DenseCovariance(np.eye(2)), "qr")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [1, 3, 5])
def test_span_increments_add_up_to_the_projection(seed, count):
    S = random_psd(8, 15, seed)
    Z = sparse_unit_vectors(count, 8, 3, seed)
    span = explained_variances(DenseCovariance(S), Z)["span"]
    for m in range(1, count + 1):
        Q = np.linalg.svd(Z[:m], full_matrices=False)[2]
        P = Q.T @ Q  # the projector on the span of the first m
        assert span[:m].sum() == pytest.approx(np.trace(P @ S), rel=1e-9)
    assert (span >= 0).all()
    assert span.sum() <= np.trace(S) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_raw_and_qr_adjusted(seed):
    """Zou, Hastie and Tibshirani: the squared diagonal of R in the QR decomposition of the scores."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 8)) @ rng.standard_normal((8, 8))
    X -= X.mean(axis=0)
    Z = sparse_unit_vectors(4, 8, 3, seed)
    found = explained_variances(DenseCovariance(X.T @ X / 29), Z)
    scores = X @ Z.T
    np.testing.assert_allclose(found["raw"], scores.var(axis=0, ddof=1), rtol=1e-9)
    R = np.linalg.qr(scores)[1]
    np.testing.assert_allclose(found["qr"], R.diagonal() ** 2 / 29, rtol=1e-8)
    assert (found["qr"] <= found["raw"] * (1 + 1e-12)).all()


@pytest.mark.parametrize("seed", range(5))
def test_all_three_agree_for_uncorrelated_orthogonal_components(seed):
    S = random_psd(8, 15, seed)
    values, vectors = np.linalg.eigh(S)
    found = explained_variances(DenseCovariance(S), np.ascontiguousarray(vectors[:, ::-1][:, :4].T))
    for name in ("span", "raw", "qr"):
        np.testing.assert_allclose(found[name], values[::-1][:4], rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_span_and_raw_agree_for_orthogonal_components(seed):
    """Disjoint supports: nothing is counted twice, though the scores may still be correlated."""
    S = random_psd(9, 15, seed)
    Z = np.zeros((3, 9))
    for j in range(3):
        Z[j, 3 * j : 3 * j + 3] = 1 / np.sqrt(3)
    found = explained_variances(DenseCovariance(S), Z)
    np.testing.assert_allclose(found["span"], found["raw"], rtol=1e-12)
    assert found["qr"][1:].sum() < found["raw"][1:].sum()


def test_a_component_given_twice_counts_once():
    S = random_psd(6, 15, 1)
    z = sparse_unit_vectors(1, 6, 2, 0)
    found = explained_variances(DenseCovariance(S), np.vstack([z, z]))
    assert found["span"][1] == pytest.approx(0, abs=1e-12)
    assert found["qr"][1] == pytest.approx(0, abs=1e-12)
    assert found["raw"][1] == found["raw"][0]


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_estimator_reports_the_three(deflation):
    X = np.random.default_rng(2).standard_normal((40, 10)) @ np.random.default_rng(3).standard_normal((10, 10))
    model = SparsePCA(4, cardinality=4, deflation=deflation).fit(X)
    S = np.cov(X, rowvar=False)
    Z = model.components_
    Q = np.linalg.qr(Z.T)[0]
    assert model.explained_variance_.sum() == pytest.approx(np.trace(Q.T @ S @ Q), rel=1e-9)
    np.testing.assert_allclose(
        model.summary()["raw_variance"].to_numpy()[:-1], np.einsum("ij,jk,ik->i", Z, S, Z), rtol=1e-9
    )
    R = np.linalg.qr((X - X.mean(axis=0)) @ Z.T)[1]
    np.testing.assert_allclose(model.summary()["qr_variance"].to_numpy()[:-1], R.diagonal() ** 2 / 39, rtol=1e-8)
    # the first component shares nothing with any before it
    first = [
        model.explained_variance_[0],
        model.summary()["raw_variance"].to_numpy()[:-1][0],
        model.summary()["qr_variance"].to_numpy()[:-1][0],
        model.lower_bound_[0],
    ]
    np.testing.assert_allclose(first, first[0], rtol=1e-9)
