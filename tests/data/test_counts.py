"""Counts are added up in compiled code: the same sums and digests as the general code gives."""

import numpy as np
import pytest
import scipy.sparse as sp

from laconic.data import passes
from laconic.data.passes import FirstPass

compiled_counts = pytest.importorskip("laconic.data.counts", reason="the package is not compiled")
LARGEST_COUNT, sums_of_counts = compiled_counts.LARGEST_COUNT, compiled_counts.sums_of_counts


def counts(dtype, rows=40):
    X = sp.random_array((rows, 9), density=0.3, format="csr", rng=np.random.default_rng(5)).tocsr()
    X.data = np.random.default_rng(5).integers(0, 100, X.nnz).astype(dtype)
    X.data[0] = 100 if dtype == np.uint8 else LARGEST_COUNT if dtype != np.int16 else 30_000
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.int16])
def test_sums_and_digests_are_those_of_the_general_code(dtype, monkeypatch):
    X = counts(dtype)
    general = FirstPass().of(X)
    monkeypatch.setattr(passes, "MANY_ENTRIES", 0)
    compiled = FirstPass().of(X)
    assert sums_of_counts(X) is not None
    assert compiled.column_digests.hexdigest() == general.column_digests.hexdigest()
    assert (compiled.n_rows, compiled.power, compiled.depth) == (general.n_rows, general.power, general.depth)
    np.testing.assert_array_equal(compiled.sums, general.moments.means * 40 if general.sums is None else general.sums)
    np.testing.assert_allclose(compiled.moments.variances, general.moments.variances, rtol=1e-14)


@pytest.mark.parametrize("entry", [-1.0, 0.5, LARGEST_COUNT + 1, np.inf, -np.inf, np.nan, 1e300])
def test_other_numbers_are_left_to_the_general_code(entry):
    X = counts(np.float64)
    X.data[7] = entry
    assert sums_of_counts(X) is None


def test_zeros_of_both_signs_count_for_nothing():
    X = counts(np.float64)
    X.data[3:5] = [0.0, -0.0]
    pruned = X.copy()
    pruned.eliminate_zeros()
    for found, expected in zip(sums_of_counts(X), sums_of_counts(pruned), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_sums_that_are_not_exact_are_left_to_the_general_code():
    n = 2**53 // LARGEST_COUNT**2 + 2
    X = sp.csr_array(np.full((n, 1), float(LARGEST_COUNT)))
    assert sums_of_counts(X) is None
    assert sums_of_counts(X[:-3]) is not None
