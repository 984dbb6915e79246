"""Explained variance by three definitions."""

import numpy as np
import pytest

from helpers import random_psd
from laconic import SparsePCA
from laconic.covariance import DenseCovariance
from laconic.covariance.deflation import DEFLATIONS
from laconic.model.components import explained_variances
from matrices import sparse_unit_vectors


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


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_estimator_reports_the_three(deflation):
    X = np.random.default_rng(2).standard_normal((40, 10)) @ np.random.default_rng(3).standard_normal((10, 10))
    model = SparsePCA(4, cardinality=4, deflation=deflation).fit(X)
    S = np.cov(X, rowvar=False)
    Z = model.components_
    raw, qr = (model.summary()[name].to_numpy()[:-1] for name in ("raw_variance", "qr_variance"))
    Q = np.linalg.qr(Z.T)[0]
    assert model.explained_variance_.sum() == pytest.approx(np.trace(Q.T @ S @ Q), rel=1e-9)
    np.testing.assert_allclose(raw, np.einsum("ij,jk,ik->i", Z, S, Z), rtol=1e-9)
    R = np.linalg.qr((X - X.mean(axis=0)) @ Z.T)[1]
    np.testing.assert_allclose(qr, R.diagonal() ** 2 / 39, rtol=1e-8)
    # the first component shares nothing with any before it
    first = [model.explained_variance_[0], raw[0], qr[0], model.lower_bound_[0]]
    np.testing.assert_allclose(first, first[0], rtol=1e-9)
