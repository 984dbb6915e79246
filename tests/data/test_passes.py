"""The sums of passes: exact for counts, independent of blocks, with true bounds on their errors. The digest, too."""

from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from laconic.data import passes
from laconic.data.passes import ColumnDigests, FirstPass, GramPass, Moments, ProductPass, digest_of
from laconic.data.rows import ArraySource


def in_blocks(X, step):
    source = ArraySource(X)
    source._step = step
    return source


def counts(rows=300, columns=9, most=1000, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, columns)) < 0.5, rng.integers(0, most, (rows, columns)), 0).astype(np.float64)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
def test_counts_are_added_exactly(convert):
    X = counts()
    whole = [[int(x) for x in column] for column in X.T]
    n = len(X)
    exact = [Fraction(sum(x * x for x in column)) - Fraction(sum(column) ** 2, n) for column in whole]
    for step in (1, 7, 300):
        first = in_blocks(convert(X), step).reduce(FirstPass())
        assert first.moments.exact
        assert first.moments.first.tolist() == [sum(column) for column in whole]
        # The sums are exact, so that the result is the true one, rounded a few times.
        assert np.allclose(first.moments.squares, [float(x) for x in exact], rtol=1e-15, atol=0)
        assert np.array_equal(first.moments.squares, Moments.of(convert(X)).squares), "bit by bit"


def test_large_counts_and_long_streams_do_not_lose_digits():
    column = np.array([[2.0**24], [2.0**24 + 1]])
    moments = Moments.of(np.tile(column, (10, 1)))
    assert moments.exact
    assert moments.squares[0] == 5.0
    total = moments
    for _ in range(200):
        total = total.merge(moments)
    # The sum of squares has left the range of exact whole numbers.
    assert not total.exact
    assert total.squares[0] == pytest.approx(5.0 * 201, rel=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_large_means_and_any_blocks(convert, shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6)) + shift
    exact = np.array([_exact_squares(column, None) for column in X.T])
    for step in (3, 50, 500):
        moments = in_blocks(convert(X), step).reduce(FirstPass()).moments
        assert np.allclose(moments.squares, exact, rtol=1e-12 + shift * 1e-15)
        # The deviations from the means as they are rounded, exactly, are within the error that is claimed.
        about = np.array([_exact_squares(column, mean) for column, mean in zip(X.T, moments.means, strict=True)])
        assert (np.abs(moments.squares - about) <= moments.error).all()
        assert (moments.error <= (1e-9 + shift * 1e-11) * moments.squares).all(), "and it says something"


def _exact_squares(column, center):
    values = [Fraction(float(x)) for x in column]
    center = sum(values) / len(values) if center is None else Fraction(float(center))
    return float(sum((x - center) ** 2 for x in values))


def test_a_sparse_block_with_many_rows_is_written_out_in_pieces(monkeypatch):
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 100)
    monkeypatch.setattr(passes, "FEWEST_ROWS", 1)
    X = counts(70, 9)
    for centers in (None, np.arange(9.0)):
        part = GramPass(np.arange(9), centers).of(sp.csr_array(X))
        C = X if centers is None else X - centers
        assert np.allclose(part.gram, C.T @ C, rtol=1e-14)


def test_products_with_vectors():
    X = np.random.default_rng(0).standard_normal((50, 6)) + 3
    V = np.random.default_rng(1).standard_normal((6, 2))
    m = X.mean(axis=0)
    expected = (X - m).T @ ((X - m) @ V)
    for rows in (X, sp.csr_array(X)):
        part = in_blocks(rows, 11).reduce(ProductPass(m, V))
        assert np.allclose(part, expected, rtol=1e-10)


def table(seed, n=50, p=4, mean=0.0):
    rng = np.random.default_rng(seed)
    return mean + rng.standard_normal((n, p)) * [1.0, 10.0, 0.1, 3.0][:p]


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


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_whole_weights_count_rows_and_one_that_is_not_makes_all_reliabilities(convert):
    X, weights = table(0), np.arange(50) % 4
    found = Moments.of(convert(X), weights.astype(float))
    np.testing.assert_allclose(found.variances, np.cov(X, rowvar=False, fweights=weights).diagonal(), rtol=1e-11)
    assert found.divisor == weights.sum() - 1
    parts = [Moments.of(convert(X[a : a + 10]), weights[a : a + 10].astype(float)) for a in range(0, 50, 10)]
    assert reduce(Moments.merge, parts).divisor == weights.sum() - 1
    half = weights + 0.5 * (np.arange(50) == 49)
    parts[-1] = Moments.of(convert(X[40:]), half[40:])
    assert reduce(Moments.merge, parts).divisor == pytest.approx(half.sum() - (half**2).sum() / half.sum())


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 30), max_size=5),
    st.sampled_from(["", "whole", "any"]),
    st.sampled_from([0.0, 1e3, -1e6]),
    st.sampled_from([np.asarray, sp.csr_array]),
)
def test_parts_merge_to_the_whole(seed, cuts, weighted, mean, convert):
    """Split anywhere, into any number of parts, empty ones among them, and merged in any order."""
    X = table(seed, 30, mean=mean)
    rng = np.random.default_rng(seed)
    weights = rng.random(30) * (rng.random(30) < 0.8) if weighted else None
    weights = rng.integers(0, 3, 30).astype(float) if weighted == "whole" else weights
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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_is_right_to_the_last_digit(weighted, seed):
    """Ten thousand rows about 1e15: a sum rounded at every step would be off by several units."""
    X = table(seed, 10_000, mean=1e15)
    weights = np.random.default_rng(seed).random(10_000) if weighted else None
    exact = np.average(X.astype(np.longdouble), axis=0, weights=weights)
    assert np.abs(Moments.of(X, weights).means - exact).max() <= np.spacing(1e15)


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
    X = table(4, 503)
    weights = np.random.default_rng(5).random(503)
    whole = [Moments.of(c(X), weights) for c in (np.asarray, sp.csr_array)]
    monkeypatch.setattr(passes, "CACHED_ENTRIES", 100)
    for convert, expected in zip((np.asarray, sp.csr_array), whole, strict=True):
        found = Moments.of(convert(X), weights)
        np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
        np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-12)


ENTRIES = np.where(
    np.random.default_rng(0).random((40, 7)) < 0.5, np.random.default_rng(1).standard_normal((40, 7)), 0.0
)


@pytest.mark.parametrize(
    "same",
    [
        ENTRIES.copy(order="F"),
        np.where(ENTRIES == 0, -0.0, ENTRIES),
        sp.csr_array(ENTRIES),
        sp.csc_array(ENTRIES),
        sp.coo_array(ENTRIES),
        sp.csr_matrix(ENTRIES),
        np.repeat(ENTRIES, 2, axis=0)[::2],
    ],
)
def test_layout_and_form_do_not_count_for_the_digest(same):
    assert digest_of(same) == digest_of(ENTRIES)


def test_precision_does_not_count_for_the_digest_and_values_do():
    single = ENTRIES.astype(np.float32)
    assert digest_of(single) == digest_of(single.astype(np.float64)) != digest_of(ENTRIES)
    assert digest_of(np.rint(ENTRIES).astype(np.int8)) == digest_of(np.rint(ENTRIES))
    double = sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(2, 2))
    assert digest_of(double) == digest_of(np.array([[0.0, 2.0], [0.0, 0.0]]))


@pytest.mark.parametrize(
    "other",
    [
        ENTRIES[::-1],
        ENTRIES[:, ::-1],
        ENTRIES[:-1],
        np.vstack([ENTRIES, np.zeros((1, 7))]),
        np.hstack([ENTRIES, np.zeros((40, 1))]),
        np.where(np.arange(280).reshape(40, 7) == 60, np.nextafter(ENTRIES, 9), ENTRIES),
        ENTRIES.T,
        2 * ENTRIES,
        -ENTRIES,
    ],
)
def test_any_change_of_values_or_places_counts(other):
    assert digest_of(other) != digest_of(ENTRIES)


@given(st.lists(st.integers(0, 40), max_size=4), st.integers(1, 300))
@settings(max_examples=30, deadline=None)
def test_blocks_do_not_count_for_the_digest(cuts, step):
    edges = [0, *sorted(cuts), 40]
    parts = [ENTRIES[a:b] for a, b in pairwise(edges)]
    before, passes.BLOCK_ENTRIES = passes.BLOCK_ENTRIES, step
    try:
        total = ColumnDigests.of(parts[0])
        for part in parts[1:]:
            total = total.merge(ColumnDigests.of(sp.csr_array(part)))
    finally:
        passes.BLOCK_ENTRIES = before
    assert total.hexdigest() == digest_of(ENTRIES)
    assert total.agrees_with(ColumnDigests.of(ENTRIES))
    assert total.part(np.array([2, 5])).agrees_with(ColumnDigests.of(ENTRIES[:, [2, 5]]))


def test_digests_of_columns_that_differ_do_not_agree():
    changed = ENTRIES.copy()
    changed[7, 2] += 1e-12
    whole, other = ColumnDigests.of(ENTRIES), ColumnDigests.of(changed)
    assert not whole.agrees_with(other)
    assert whole.part(np.array([0, 1])).agrees_with(other.part(np.array([0, 1])))
    assert not ColumnDigests.of(ENTRIES).agrees_with(ColumnDigests.of(ENTRIES[:39]))


def test_a_sparse_column_that_is_constant_where_weights_count_has_no_negative_square():
    weights = np.append(np.random.default_rng(0).random(39) * 0.3, 0.0)
    column = np.append(np.full(39, 5.1), 0.0)[:, None]
    for kind in (sp.csr_array, sp.csc_array):
        assert 0 <= Moments.of(kind(column), weights).squares[0] < 1e-12
