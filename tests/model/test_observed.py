"""The covariance of the entries that are observed."""

import numpy as np
import pytest

from laconic.model.criteria import ObservedCovariance


def made(seed=0, m=50, n=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    observed = rng.random((m, n)) < 0.7
    share = observed.mean(axis=0)
    return X, observed, share, ObservedCovariance(np.where(observed, X, 0) / share / np.sqrt(m), share)


def test_entries_are_those_of_the_formula():
    X, observed, share, covariance = made()
    Y = np.where(observed, X, 0)
    expected = Y.T @ Y / len(X) / np.outer(share, share)
    np.fill_diagonal(expected, (Y**2).sum(axis=0) / len(X) / share)
    everything = np.arange(8)
    assert covariance.submatrix(everything) == pytest.approx(expected)
    assert covariance.columns(everything) == pytest.approx(expected)
    assert covariance.diagonal == pytest.approx(expected.diagonal())
    some = np.array([5, 2])
    assert covariance.columns(some) == pytest.approx(expected[:, some])
    vectors = np.random.default_rng(1).standard_normal((8, 3))
    assert covariance.product(vectors) == pytest.approx(expected @ vectors)
    assert covariance.product(vectors[:, 0]) == pytest.approx(expected @ vectors[:, 0])


def test_estimate_has_no_bias():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5))
    total = np.zeros((5, 5))
    for _ in range(3000):
        observed = rng.random(X.shape) < 0.8
        factor = np.where(observed, X, 0) / 0.8 / np.sqrt(len(X))
        total += ObservedCovariance(factor, np.full(5, 0.8)).submatrix(np.arange(5))
    expected = X.T @ X / len(X)
    assert total / 3000 == pytest.approx(expected, abs=0.02 * np.abs(expected).max())
