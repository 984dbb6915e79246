"""The sums of passes: exact for counts, independent of blocks, with true bounds on their rounding errors."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from laconic.covariance.of_rows import standardize
from laconic.covariance.screening import Screening, covariance_from_gram
from laconic.data import passes
from laconic.data.moments import Moments
from laconic.data.passes import FirstPass, GramPass, ProductPass
from laconic.data.sources import PassProgress
from laconic.data.sources.memory import ArraySource


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
        first = in_blocks(convert(X), step).reduce(FirstPass(), PassProgress())
        assert first.moments.sums.tolist() == [sum(column) for column in whole]
        # The sums are exact, so that the result is the true one, rounded a few times.
        assert np.allclose(first.moments.squares, [float(x) for x in exact], rtol=1e-15, atol=0)
        assert np.array_equal(first.moments.squares, Moments.of(convert(X)).squares), "bit by bit"


def test_large_counts_and_long_streams_do_not_lose_digits():
    column = np.array([[2.0**24], [2.0**24 + 1]])
    moments = Moments.of(np.tile(column, (10, 1)))
    assert moments.sums is not None
    assert moments.squares[0] == 5.0
    total = moments
    for _ in range(200):
        total = total.merge(moments)
    # The sum of squares has left the range of exact whole numbers.
    assert total.sums is None
    assert total.squares[0] == pytest.approx(5.0 * 201, rel=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_large_means_and_any_blocks(convert, shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6)) + shift
    exact = np.array([_exact_squares(column, None) for column in X.T])
    for step in (3, 50, 500):
        moments = in_blocks(convert(X), step).reduce(FirstPass(), PassProgress()).moments
        assert np.allclose(moments.squares, exact, rtol=1e-12 + shift * 1e-15)
        # The deviations from the means as they are rounded, exactly, are within the error that is claimed.
        about = np.array([_exact_squares(column, mean) for column, mean in zip(X.T, moments.means, strict=True)])
        assert (np.abs(moments.squares - about) <= moments.error).all()
        assert (moments.error <= (1e-9 + shift * 1e-11) * moments.squares).all(), "and it says something"


def _exact_squares(column, center):
    values = [Fraction(float(x)) for x in column]
    center = sum(values) / len(values) if center is None else Fraction(float(center))
    return float(sum((x - center) ** 2 for x in values))


@pytest.mark.parametrize("centers", ["none", "means", "others"])
@pytest.mark.parametrize("seed", range(5))
def test_the_rounding_of_a_covariance_is_bounded(seed, centers):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -20]
    source = in_blocks(X, 17)
    moments = source.reduce(FirstPass(), PassProgress()).moments
    standard = standardize(moments, center=True, scale=False)
    columns = np.array([0, 1, 3])
    about = {"none": None, "means": standard.means[columns], "others": np.array([1.0, 4.0, -21.0])}[centers]
    part = source.reduce(GramPass(columns, about), PassProgress())
    covariance = covariance_from_gram(part, columns, about, moments, standard)
    values = [[Fraction(float(x)) for x in row] for row in X[:, columns]]
    m = [sum(column) / 60 for column in zip(*values, strict=True)]
    rows = [[x - c for x, c in zip(row, m, strict=True)] for row in values]
    exact = [[sum(r[i] * r[j] for r in rows) / 59 for j in range(3)] for i in range(3)]
    for i in range(3):
        for j in range(3):
            error = abs(exact[i][j] - Fraction(float(covariance.matrix[i, j])))
            assert error <= Fraction(float(covariance.spread[i])) * Fraction(float(covariance.spread[j]))
    assert covariance.away <= 1e-9 * covariance.trace


@pytest.mark.parametrize("most", [3, 200, 5000])
@pytest.mark.parametrize("density", [0.02, 0.6])
def test_products_of_counts_are_exact_in_every_precision(most, density, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1500, 12)) < density, rng.integers(0, most, (1500, 12)), 0).astype(np.float64)
    used = []
    single = passes._rows_exact_in_single
    monkeypatch.setattr(passes, "_rows_exact_in_single", lambda rows: used.append(single(rows)) or used[-1])
    part = GramPass(np.arange(12), None).of(sp.csr_array(X))
    assert np.array_equal(part.gram, X.T @ X)
    if density > 0.1:
        assert (used[0] >= passes.FEWEST_ROWS) == (most <= 200)


def test_a_sparse_block_with_many_rows_is_written_out_in_pieces(monkeypatch):
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 100)
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
        part = in_blocks(rows, 11).reduce(ProductPass(m, V), PassProgress())
        assert np.allclose(part.images, expected, rtol=1e-10)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_variances_of_hidden_columns_are_upper_bounds(convert, center, scale):
    X = np.random.default_rng(0).standard_normal((40, 8)) * 0.5 ** np.arange(8) + 2
    covariance = Screening(in_blocks(convert(X), 9), center, scale).with_columns(np.arange(3))
    C = X - X.mean(axis=0) if center else X
    S = C.T @ C / (len(X) - 1 if center else len(X))
    if scale:
        S = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    assert np.allclose(covariance.diagonal, S.diagonal(), rtol=1e-12)
    assert np.allclose(covariance.submatrix(np.arange(3)), S[:3, :3], rtol=1e-12, atol=1e-13)
    # Those of the columns at hand are the numbers computed, by definition of S.
    assert (covariance.variances[3:] >= S.diagonal()[3:] * (1 - 1e-15)).all()
    assert (covariance.variances <= S.diagonal() * (1 + 1e-9)).all()
