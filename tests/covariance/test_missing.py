"""Pairwise deletion and EM: closed forms, a slow maximum of the likelihood, blocks, weights, errors."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import laconic.covariance.missing as missing
from laconic import SparsePCA
from laconic.core.monitor import Monitor
from laconic.covariance import Recipe, make
from laconic.covariance.missing import PresentValues, counted, expectation
from laconic.data.rows import ArraySource


def rows_with_holes(seed, n=60, p=5, share=0.25, mean=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + mean
    X[rng.random(X.shape) < share] = np.nan
    return X


def present(X, names=None, **settings):
    return PresentValues(X if isinstance(X, ArraySource) else ArraySource(X, feature_names=names), **settings)


def made(X, way="pairwise", **settings):
    return present(X, **settings).matrix(way)


class InPieces(ArraySource):
    """An array that is read in blocks of a few rows and is never at hand as a whole."""

    def __init__(self, X, step):
        super().__init__(X)
        self._step = step

    def in_memory(self):
        return None


@pytest.mark.parametrize("seed", range(5))
def test_pairwise_is_the_covariance_and_the_correlation_of_pandas(seed):
    X = rows_with_holes(seed, mean=1000.0)
    frame = pd.DataFrame(X)
    found = made(X)
    np.testing.assert_allclose(found.matrix, frame.cov(), rtol=1e-12, atol=1e-12 * found.matrix.max())
    np.testing.assert_allclose(found.means, frame.mean(), rtol=1e-14)
    scaled = made(X, scale=True)
    np.testing.assert_allclose(scaled.matrix, frame.corr(), atol=1e-12)
    assert (scaled.matrix.diagonal() == 1.0).all()
    np.testing.assert_allclose(1 / scaled.scales, frame.std(ddof=1), rtol=1e-12)
    assert np.array_equal(found.matrix, found.matrix.T)
    assert np.array_equal(found.missing.counts, frame.isna().sum())


def test_pairwise_without_centring_divides_second_moments_by_the_number_of_rows():
    X = rows_with_holes(1, mean=3.0)
    expected = np.array([[np.nanmean(X[:, i] * X[:, j]) for j in range(5)] for i in range(5)])
    np.testing.assert_allclose(made(X, center=False).matrix, expected, rtol=1e-12)
    squares = np.array(
        [[np.nanmean(np.where(np.isnan(X[:, j]), np.nan, X[:, i] ** 2)) for j in range(5)] for i in range(5)]
    )
    np.testing.assert_allclose(
        made(X, center=False, scale=True).matrix, expected / np.sqrt(squares * squares.T), rtol=1e-12
    )


@pytest.mark.parametrize("way", ["pairwise", "em"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_whole_weights_repeat_rows(way, center, scale):
    X = rows_with_holes(2, n=40, p=4)
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = made(np.repeat(X, counts, axis=0), way, center=center, scale=scale)
    weighted = made(X, way, center=center, scale=scale, weights=counts.astype(float))
    np.testing.assert_allclose(weighted.matrix, repeated.matrix, atol=1e-12)
    np.testing.assert_allclose(weighted.means, repeated.means, atol=1e-12)
    np.testing.assert_allclose(weighted.scales, repeated.scales, rtol=1e-12)


def test_weighted_covariances_have_the_divisor_of_their_own_rows():
    X = rows_with_holes(3, p=3)
    w = np.random.default_rng(1).random(60)
    both = ~np.isnan(X[:, 0]) & ~np.isnan(X[:, 1])
    expected = np.cov(X[both, 0], X[both, 1], aweights=w[both])[0, 1]
    assert made(X, weights=w).matrix[0, 1] == pytest.approx(expected, rel=1e-12)
    assert made(X, weights=5 * w).matrix[0, 1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("way", ["pairwise", "em"])
@pytest.mark.parametrize("scale", [True, False])
def test_blocks_sparse_rows_and_float32_give_the_same_matrix(way, scale):
    X = np.round(rows_with_holes(4), 2).astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.3] = 0.0  # zeros are values
    expected = present(X, scale=scale)
    for other in (InPieces(X, 7), sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), X.astype(np.float32)):
        found = present(other, scale=scale)
        np.testing.assert_allclose(found.matrix(way).matrix, expected.matrix(way).matrix, atol=1e-11)
        assert found.digest == expected.digest


def test_em_needs_the_rows_in_memory(monkeypatch):
    monkeypatch.setattr(missing, "SMALL_NUMBERS", 100)
    with pytest.raises(ValueError, match=r"EM reads all rows in each step, and X is too large for memory"):
        made(InPieces(rows_with_holes(5), 11), "em")
    assert made(InPieces(rows_with_holes(5), 11)).matrix.shape == (5, 5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("way", ["pairwise", "em"])
def test_rows_without_holes_go_the_ordinary_way(way, scale, center):
    X = rows_with_holes(6, share=0)
    settings = {"center": center, "scale": scale}
    ordinary = make(X, Recipe(**settings))
    found = make(X, Recipe(missing=way, **settings))
    assert found.missing is None
    assert np.array_equal(found.covariance.matrix, ordinary.covariance.matrix)
    # and the code for missing values would give the same
    np.testing.assert_allclose(made(X, way, **settings).matrix, ordinary.covariance.matrix, rtol=1e-9, atol=1e-9)


def test_columns_that_do_not_vary_are_zero():
    X = rows_with_holes(7)
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 0.1)
    for way in ("pairwise", "em"):
        found = made(X, way, scale=True)
        assert found.constant.tolist() == [False, False, True, False, False]
        assert not found.matrix[2].any()


def test_a_column_that_is_constant_where_it_meets_another_has_no_correlation():
    X = rows_with_holes(8, share=0)
    X[:30, 0] = np.nan
    X[30:, 1] = 1 / 3
    assert made(X, scale=True).matrix[0, 1] == 0.0


FEW = {
    "one value": (
        lambda X: np.where(np.arange(60)[:, None] > 0, X + np.array([np.nan, 0, 0, 0, 0]), X),
        "1 column has a value",
    ),
    "no value": (
        lambda X: X + np.array([0, np.nan, 0, 0, np.nan]),
        "2 columns have a value in fewer than two rows of X: 'b', 'e'",
    ),
}


@pytest.mark.parametrize("way", ["pairwise", "em"])
@pytest.mark.parametrize("case", FEW)
def test_columns_with_too_few_values_are_named(way, case):
    change, words = FEW[case]
    X = change(rows_with_holes(9, share=0))
    with pytest.raises(ValueError, match=words):
        present(X, list("abcde")).matrix(way)


@pytest.mark.parametrize("way", ["pairwise", "em"])
def test_columns_that_never_meet_are_named(way):
    X = rows_with_holes(10, share=0)
    X[:30, 1], X[30:, 3] = np.nan, np.nan
    with pytest.raises(ValueError, match=r"1 pair of columns has fewer than two rows .* 'b' and 'd'; nothing tells"):
        present(X, list("abcde")).matrix(way)


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr(missing, "WRITE_OUT_LIMIT", 4)
    with pytest.raises(ValueError, match=r"for at most 4 columns, and X has 5; leave columns out"):
        made(rows_with_holes(0))


def log_likelihood(X, mean, covariance):
    total = 0.0
    for row in X:
        there = ~np.isnan(row)
        if there.any():
            total += multivariate_normal.logpdf(row[there], mean[there], covariance[np.ix_(there, there)])
    return total


def test_em_has_the_closed_form_of_a_monotone_pattern():
    """Anderson (1957): the first column is complete; the second depends on it as in the rows that have both."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(80) + 5
    y = 2 * x + rng.standard_normal(80)
    there = rng.random(80) < 0.6
    slope, intercept = np.polyfit(x[there], y[there], 1)
    rest = np.mean((y[there] - slope * x[there] - intercept) ** 2)
    vx = x.var()
    expected = np.array([[vx, slope * vx], [slope * vx, rest + slope**2 * vx]]) * 80 / 79
    found = made(np.column_stack([x, np.where(there, y, np.nan)]), "em")
    assert found.missing.converged
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-5)
    np.testing.assert_allclose(found.means, [x.mean(), intercept + slope * x.mean()], rtol=1e-5)


@pytest.mark.parametrize("seed", [1])
def test_em_is_the_maximum_that_a_general_optimiser_finds(seed):
    X = rows_with_holes(seed, n=40, p=3, share=0.3)
    found = made(X, "em")
    n = int((~np.isnan(X)).any(axis=1).sum())
    own = log_likelihood(X, found.means, found.matrix * (n - 1) / n)

    def negative(theta):
        L = np.zeros((3, 3))
        L[np.tril_indices(3)] = theta[3:]
        return -log_likelihood(X, theta[:3], L @ L.T)

    start = np.concatenate([np.nanmean(X, axis=0), np.diag(np.nanstd(X, axis=0))[np.tril_indices(3)]])
    best = minimize(negative, start, method="BFGS", options={"gtol": 1e-4})
    assert own == pytest.approx(-best.fun, abs=1e-5)
    L = np.zeros((3, 3))
    L[np.tril_indices(3)] = best.x[3:]
    np.testing.assert_allclose(found.matrix * (n - 1) / n, L @ L.T, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_no_step_of_em_lowers_the_likelihood(seed):
    X = rows_with_holes(seed, n=30, p=4, share=0.4)
    X[3] = np.nan  # says nothing
    n = int((~np.isnan(X)).any(axis=1).sum())
    values = []
    for steps in range(1, 12):
        found = present(X).em(iterations=steps, ridge=0.0)
        values.append(log_likelihood(X, found.means, found.matrix * (n - 1) / n))
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] > values[0] + 0.1


def test_rounding_errors_stay_small_over_many_steps():
    """Certificates rely on it: another machine rounds differently and makes the same number of steps."""
    X = rows_with_holes(17, n=80, p=6, share=0)
    X[:, 5] = X[:, 0] + 0.02 * X[:, 5]  # much is unknown where one of two similar columns is missing
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    found = made(X, "em", scale=True)
    assert found.missing.iterations > 30
    rounded = X * (1 + 1e-15 * np.random.default_rng(1).standard_normal(X.shape))
    again = present(rounded, scale=True).em(found.missing.iterations, found.missing.ridge)
    np.testing.assert_allclose(again.matrix, found.matrix, atol=1e-11)


def test_the_expectation_step_row_by_row():
    X = rows_with_holes(11, n=20, p=4, share=0.4)
    X[5] = np.nan
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 6))
    mean, V, w = rng.standard_normal(4), A @ A.T, rng.random(20)
    weights = counted(X, w)
    found = expectation(X, weights, mean, np.linalg.inv(V))
    sums, products, total = np.zeros(4), np.zeros((4, 4)), 0.0
    for row, weight in zip(X, w, strict=True):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        if not len(o):
            continue
        slope = V[np.ix_(m, o)] @ np.linalg.inv(V[np.ix_(o, o)])
        d = np.where(np.isnan(row), 0, row) - mean
        d[m] = slope @ d[o]
        C = np.zeros((4, 4))
        C[np.ix_(m, m)] = V[np.ix_(m, m)] - slope @ V[np.ix_(o, m)]
        sums, products, total = sums + weight * d, products + weight * (np.outer(d, d) + C), total + weight
    assert weights.sum() == pytest.approx(total)
    shown = found[2] - 0.5 * total * np.linalg.slogdet(V)[1]
    constants = 0.5 * np.log(2 * np.pi) * (w[:, None] * ~np.isnan(X)).sum()
    own = sum(weight * log_likelihood(row[None], mean, V) for row, weight in zip(X, w, strict=True))
    assert shown - constants == pytest.approx(own, rel=1e-10)
    np.testing.assert_allclose(found[0], sums, atol=1e-10)
    np.testing.assert_allclose(found[1], products, atol=1e-10)


def test_em_shrinks_if_there_is_no_maximum():
    X = rows_with_holes(12, n=30, p=4, share=0.2)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])  # columns that depend on each other
    with pytest.warns(UserWarning, match="no maximum-likelihood covariance"):
        found = make(X, Recipe(scale=False, missing="em"))
    assert found.missing.ridge == missing.RIDGE
    assert found.missing.converged
    assert np.linalg.eigvalsh(found.covariance.matrix)[0] > 0
    with pytest.warns(UserWarning, match="too few rows"):
        wide = make(rows_with_holes(13, n=10, p=12, share=0.1), Recipe(scale=False, missing="em"))
    assert np.linalg.eigvalsh(wide.covariance.matrix)[0] > 0


def test_the_ridge_is_that_of_more_rows_with_uncorrelated_columns():
    """Without holes: correlations divided by 1 + r."""
    X = rows_with_holes(14, share=0)
    found = present(X, scale=True).em(iterations=1, ridge=missing.RIDGE)
    expected = np.corrcoef(X.T) / (1 + missing.RIDGE)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-12)


def test_em_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr(missing, "MOST_ITERATIONS", 3)
    with pytest.warns(UserWarning, match=r"EM was stopped after 3 steps, before it converged"):
        found = make(rows_with_holes(15), Recipe(scale=False, missing="em"))
    assert not found.missing.converged
    assert found.missing.iterations == 3


def test_em_stops_at_the_time_limit(monkeypatch):
    monkeypatch.setattr(missing, "TOLERANCE", 0.0)
    monkeypatch.setattr(missing, "MOST_ITERATIONS", 10**6)
    begin = time.monotonic()
    with pytest.warns(UserWarning, match="EM was stopped at the time limit after"):
        found = make(rows_with_holes(16), Recipe(scale=False, missing="em"), Monitor(0.3))
    assert time.monotonic() - begin < 30
    assert found.missing.iterations > 1


@pytest.mark.parametrize(("iterations", "ridge"), [(-1, 0.0), (10**9, 0.0), (5, 0.5), (5, -1.0)])
def test_a_matrix_is_not_made_again_from_absurd_settings(iterations, ridge):
    with pytest.raises(ValueError, match=r"EM (makes|has)"):
        present(rows_with_holes(0)).em(iterations, ridge)


def test_pairwise_matrices_that_are_indefinite():
    X = rows_with_holes(0, n=12, p=8, share=0.3)
    with pytest.warns(UserWarning, match="The matrix of pairwise deletion of X is not positive semidefinite"):
        accepted = make(X, Recipe(scale=True, missing="pairwise")).covariance
    assert not accepted.semidefinite


@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_squares_that_underflow_are_refused(missing):
    X = np.random.default_rng(0).standard_normal((8, 4))
    X[0, 0] = X[3, 2] = np.nan
    with pytest.raises(ValueError, match="squares underflow"):
        SparsePCA(cardinality=2, missing=missing, scale=True).fit(1e-160 * X)
