"""Means and variances in one pass, in parts, of dense and sparse rows."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from laconic.data.moments import Moments


def table(seed, n=50, p=4, mean=0.0):
    rng = np.random.default_rng(seed)
    return mean + rng.standard_normal((n, p)) * [1.0, 10.0, 0.1, 3.0][:p]


@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("seed", range(3))
def test_equal_weights(convert, seed):
    X = table(seed)
    moments = Moments.of(convert(X))
    np.testing.assert_allclose(moments.means, X.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moments.variances, X.var(axis=0, ddof=1), rtol=1e-12)
    assert moments.n_rows == 50
    assert moments.divisor == pytest.approx(49)
    assert not moments.constant.any()


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("seed", range(3))
def test_weights(convert, seed):
    X = table(seed)
    weights = np.random.default_rng(seed).random(50)
    weights[:5] = 0
    moments = Moments.of(convert(X), weights)
    np.testing.assert_allclose(moments.means, np.average(X, axis=0, weights=weights), rtol=1e-11)
    np.testing.assert_allclose(moments.variances, np.cov(X, rowvar=False, aweights=weights).diagonal(), rtol=1e-11)
    # reliability weights: their scale does not matter, and rows of no weight are as good as absent
    scaled = Moments.of(convert(X), 1e6 * weights)
    np.testing.assert_allclose(scaled.variances, moments.variances, rtol=1e-11)
    shorter = Moments.of(convert(X[5:]), weights[5:])
    np.testing.assert_allclose(shorter.variances, moments.variances, rtol=1e-11)


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 30), max_size=5),
    st.booleans(),
    st.sampled_from([0.0, 1e3, -1e6]),
    st.sampled_from([np.asarray, sp.csr_array]),
)
def test_parts_merge_to_the_whole(seed, cuts, weighted, mean, convert):
    """Split anywhere, into any number of parts, empty ones among them, and merged in any order."""
    X = table(seed, 30, mean=mean)
    rng = np.random.default_rng(seed)
    weights = rng.random(30) * (rng.random(30) < 0.8) if weighted else None
    if weighted and np.count_nonzero(weights) < 2:
        weights[:2] = 1
    edges = [0, *sorted(cuts), 30]
    parts = [
        Moments.of(convert(X[a:b]), None if weights is None else weights[a:b]) for a, b in pairwise(edges) if b > a
    ]
    rng.shuffle(parts)
    merged = reduce(Moments.merge, parts)
    whole = Moments.of(convert(X), weights)
    assert merged.n_rows == 30
    assert merged.weight == pytest.approx(whole.weight)
    assert merged.divisor == pytest.approx(whole.divisor)
    np.testing.assert_allclose(merged.means, whole.means, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(merged.variances, whole.variances, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
def test_large_means_cost_no_accuracy(convert, weighted):
    X = table(1, 1000, mean=1e8)
    weights = np.random.default_rng(2).random(1000) if weighted else None
    exact = np.cov(X.astype(np.longdouble), rowvar=False, aweights=weights).diagonal().astype(float)
    moments = Moments.of(convert(X), weights)
    np.testing.assert_allclose(moments.variances, exact, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_is_right_to_the_last_digit(weighted, seed):
    """Ten thousand rows about 1e15: a sum rounded at every step would be off by several units."""
    X = table(seed, 10_000, mean=1e15)
    weights = np.random.default_rng(seed).random(10_000) if weighted else None
    exact = np.average(X.astype(np.longdouble), axis=0, weights=weights)
    assert np.abs(Moments.of(X, weights).means - exact).max() <= np.spacing(1e15)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
def test_single_precision_is_summed_in_double(convert):
    X = table(2, 5000, mean=1000.0).astype(np.float32)
    moments = Moments.of(convert(X))
    assert moments.means.dtype == np.float64
    np.testing.assert_allclose(moments.means, X.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.variances, X.astype(np.float64).var(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("level", [0.0, 0.1, 1 / 3, -1e12, 1e-12])
def test_constant_columns_are_seen_through_rounding(convert, weighted, level):
    rng = np.random.default_rng(3)
    X = np.full((1001, 3), level)
    X[:, 1] = level + 1e-6 * max(abs(level), 1e-6) * rng.standard_normal(1001)  # varies a millionth of its mean
    X[0, 2] += max(abs(level), 1.0) * 1e-3  # one entry alone differs
    weights = rng.random(1001) + 0.01 if weighted else None
    assert Moments.of(convert(X), weights).constant.tolist() == [True, False, False]


def test_blocks_of_rows(monkeypatch):
    """Rows beyond one working block give the same numbers."""
    import laconic.data.moments as module

    X = table(4, 503)
    weights = np.random.default_rng(5).random(503)
    whole = [Moments.of(c(X), weights) for c in (np.asarray, sp.csr_array)]
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 100)
    for convert, expected in zip((np.asarray, sp.csr_array), whole, strict=True):
        found = Moments.of(convert(X), weights)
        np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
        np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-12)
