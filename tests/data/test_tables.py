"""Rows of every kind give the same fit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from laconic import SparsePCA
from laconic.data import as_array_or_frame, check_finite, check_matrix, feature_names_of

NAMES = [f"x{j}" for j in range(12)]


def table(shape=(60, 12), dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.5, shape) * (rng.random(shape) < 0.6)
    X[:, :3] += rng.poisson(2.0, (shape[0], 1))
    return X.astype(dtype)


KINDS = {
    "numpy": np.asarray,
    "numpy, Fortran order": np.asfortranarray,
    "numpy, read-only": lambda X: (lambda Y: (Y.setflags(write=False), Y)[1])(X.copy()),
    "list": lambda X: X.tolist(),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, mixed": lambda X: pd.DataFrame(X, columns=NAMES).astype({"x3": np.float32, "x4": int}),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "pandas, sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=NAMES),
    "pandas, objects": lambda X: pd.DataFrame(X, columns=NAMES).astype(object),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow table": lambda X: pa.table({n: X[:, j] for j, n in enumerate(NAMES)}),
    "pyarrow table in chunks": lambda X: pa.concat_tables(
        [pa.table({n: part[:, j] for j, n in enumerate(NAMES)}) for part in (X[:7], X[7:])]
    ),
    "pyarrow batch": lambda X: pa.RecordBatch.from_arrays([pa.array(c) for c in X.T], names=NAMES),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_fit(kind, dtype):
    """Counts are exact in every number format, so every kind holds the very same numbers."""
    X = table()
    model = SparsePCA(2, cardinality=4).fit(KINDS[kind](X.astype(dtype)))
    expected = SparsePCA(2, cardinality=4).fit(X)
    assert [s.tolist() for s in model.supports_] == [s.tolist() for s in expected.supports_]
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-10)
    named = kind.startswith(("pandas", "polars", "pyarrow"))
    assert hasattr(model, "feature_names_in_") == named
    if named:
        assert model.feature_names_in_.tolist() == NAMES
        assert set(model.loadings()["feature"]) <= set(NAMES)


def test_entries_given_twice_are_summed():
    X = table()
    coo = sp.coo_array(X)
    twice = sp.coo_array(
        (
            np.r_[coo.data, coo.data],
            (np.r_[coo.coords[0], coo.coords[0]], np.r_[coo.coords[1], coo.coords[1]]),
        ),
        shape=X.shape,
    )
    expected = SparsePCA(cardinality=3).fit(2 * X)
    for given in (twice, _not_canonical(twice)):
        model = SparsePCA(cardinality=3).fit(given)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-10)
        assert model.total_variance_ == pytest.approx(expected.total_variance_)


def _not_canonical(coo):
    """Rows in CSR with repeated, unsorted columns, as some libraries leave them."""
    order = np.argsort(coo.coords[0], kind="stable")
    counts = np.bincount(coo.coords[0], minlength=coo.shape[0])
    csr = sp.csr_array((coo.data[order], coo.coords[1][order], np.r_[0, np.cumsum(counts)]), shape=coo.shape)
    assert not csr.has_canonical_format
    return csr


def test_explicit_zeros_change_nothing():
    X = sp.csr_array(table())
    padded = X.copy()
    padded.data[:5] = 0
    plain = padded.copy()
    plain.eliminate_zeros()
    assert padded.nnz > plain.nnz
    first, second = (SparsePCA(cardinality=3).fit(data) for data in (padded, plain))
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-12)


def test_names_of_frames():
    assert feature_names_of(np.eye(2)) is None
    assert feature_names_of(pd.DataFrame(np.eye(2), columns=["a", "b"])) == ["a", "b"]
    assert feature_names_of(pd.DataFrame(np.eye(2))) is None  # numbers are no names
    assert as_array_or_frame(pl.DataFrame({"a": [1, 2]})).columns.tolist() == ["a"]
    assert as_array_or_frame(pa.table({"a": [1, 2]})).columns.tolist() == ["a"]
    array = np.eye(3)
    assert as_array_or_frame(array) is array


@pytest.mark.parametrize("place", [(0, 0), (7, 3), (19, 5)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_where_the_bad_entry_is(place, bad, convert):
    X = np.random.default_rng(3).standard_normal((20, 6))
    check_finite(convert(X))
    X[place] = bad
    word = "NaN" if np.isnan(bad) else "inf"
    with pytest.raises(ValueError, match=rf"X has .*{word}.* at row {place[0]}, column {place[1]}; "):
        check_finite(convert(X))


def test_finite_numbers_whose_sum_is_not():
    check_finite(np.full((20, 3), 1e308))
    check_finite(np.full((20, 3), 3e38, dtype=np.float32))


def test_a_matrix_is_made_exactly_symmetric():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((8, 5))
    S = A.T @ A
    S[0, 1] *= 1 + 1e-12
    checked = check_matrix(S)
    assert np.array_equal(checked, checked.T)
    np.testing.assert_allclose(checked, S, rtol=1e-11)
    assert check_matrix(pd.DataFrame(S)).dtype == np.float64
    assert check_matrix(sp.csr_array(S)).shape == (5, 5)
    assert np.array_equal(check_matrix([[2, 0], [0, 1]]), np.diag([2.0, 1.0]))


TRIANGLE = np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.3], [-0.2, 0.3, 1.0]])


@pytest.mark.parametrize("filling", [0.0, np.nan])
@pytest.mark.parametrize("kept", ["lower", "upper"])
def test_a_triangle_is_mirrored(kept, filling):
    given = np.tril(np.ones((3, 3), dtype=bool)) if kept == "lower" else np.triu(np.ones((3, 3), dtype=bool))
    with pytest.warns(UserWarning, match=rf"triangle of S is empty, so the {kept} one is mirrored\.$"):
        assert np.array_equal(check_matrix(np.where(given, TRIANGLE, filling)), TRIANGLE)


def test_a_diagonal_matrix_is_no_triangle():
    assert np.array_equal(check_matrix(np.diag([2.0, 1.0, 0.0])), np.diag([2.0, 1.0, 0.0]))
    assert np.array_equal(check_matrix(np.zeros((2, 2))), np.zeros((2, 2)))


@pytest.mark.parametrize("filling", [0.0, np.nan])
def test_a_triangle_without_its_diagonal_is_one_clear_error(filling):
    given = np.tril(np.ones((3, 3), dtype=bool), -1)
    with pytest.raises(ValueError, match=r"S is a triangle without its diagonal; give the diagonal"):
        check_matrix(np.where(given, TRIANGLE, filling))


def test_holes_in_both_triangles_are_an_error():
    S = np.where(np.tril(np.ones((3, 3), dtype=bool)), TRIANGLE, np.nan)
    S[2, 0] = np.nan
    with pytest.raises(ValueError, match=r"S has 4 missing values .* the first is at row 0, column 1"):
        check_matrix(S)
