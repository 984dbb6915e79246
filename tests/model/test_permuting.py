"""Rows without components: their covariance is the deflated one, and permuted columns keep what they must."""

import numpy as np
import pytest
import scipy.sparse as sp

from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Recipe, make
from laconic.model.noise import RowsLeft


def table(seed, n=30, p=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ np.diag(rng.uniform(0.5, 2, p)) + rng.uniform(-3, 3, p)
    X[rng.random((n, p)) < 0.6] = 0.0
    return X


def unit(values):
    return np.asarray(values, dtype=float) / np.linalg.norm(values)


Z = [unit([2, -1, 0, 1, 0, 0, 0, 0]), unit([0, 1, 1, 0, 0, -1, 0, 0])]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_the_covariance_is_the_one_deflated_by_projection(sparse, center, scale):
    for seed in range(3):
        X = table(seed)
        made = make(sp.csr_array(X) if sparse else X, Recipe(center=center, scale=scale), quiet=True)
        deflation, left = Deflation(made.covariance, "projection"), RowsLeft.of(made)
        everything = np.arange(8)
        for z in (None, *Z):
            if z is not None:
                deflation.remove(z)
                left = left.without(z)
            found = left.covariance(3).submatrix(everything)
            np.testing.assert_allclose(found, deflation.current.submatrix(everything), atol=1e-10)
            assert sp.issparse(left.rows) == sparse


@pytest.mark.parametrize("sparse", [False, True])
def test_permuted_columns_hold_the_same_numbers_in_another_order(sparse):
    X = table(0)
    left = RowsLeft.of(make(sp.csc_array(X) if sparse else X, Recipe(), quiet=True))
    moved = left.permuted(np.random.default_rng(1)).rows
    before, after = (A.toarray() if sparse else A for A in (left.rows, moved))
    np.testing.assert_array_equal(np.sort(before, axis=0), np.sort(after, axis=0))
    # Each column has an order of its own.
    ranks = {tuple(np.argsort(after[:, j], kind="stable")) for j in range(X.shape[1])}
    assert len(ranks) == X.shape[1]


def test_every_place_of_a_sparse_entry_is_equally_likely():
    # One column is crowded and is permuted by itself; the other two are drawn.
    X = sp.csc_array(np.array([[1.0, 1.0, 1.0], [2.0, 0, 2.0], [3.0, 0, 0], [4.0, 0, 0], [0, 0, 0]] + [[0, 0, 0]] * 5))
    left = RowsLeft.of(make(X, Recipe(), quiet=True))
    counts = np.zeros((10, 3))
    pairs = np.zeros((10, 10))
    for seed in range(3000):
        rows = left.permuted(np.random.default_rng(seed)).rows.toarray()
        counts += rows == 1.0
        pairs[np.argmax(rows[:, 2] == 1.0), np.argmax(rows[:, 2] == 2.0)] += 1
    # Chi-square with 9 and with 89 degrees of freedom: the 0.999 quantiles are 27.9 and 136.
    assert (((counts - 300) ** 2 / 300).sum(axis=0) < 27.9).all()
    expected = 3000 / 90
    off = ~np.eye(10, dtype=bool)
    assert pairs.trace() == 0
    assert ((pairs[off] - expected) ** 2 / expected).sum() < 136


@pytest.mark.parametrize("sparse", [False, True])
def test_permuted_rows_have_no_variance_along_the_components_taken_out(sparse):
    X = table(2)
    left = RowsLeft.of(make(sp.csr_array(X) if sparse else X, Recipe(), quiet=True))
    for z in Z:
        left = left.without(z)
    moved = left.permuted(np.random.default_rng(0))
    S = moved.covariance(3).submatrix(np.arange(8))
    assert Z[1] @ S @ Z[1] == pytest.approx(0, abs=1e-12)
    # The columns that no component uses are permuted and nothing else.
    untouched = [4, 6, 7]
    np.testing.assert_allclose(S.diagonal()[untouched], left.covariance(3).diagonal[untouched])
