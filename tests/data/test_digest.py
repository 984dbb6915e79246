"""The digest depends on the values only."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from laconic.data import digest
from laconic.data.digest import ColumnDigests, digest_of

X = np.where(np.random.default_rng(0).random((40, 7)) < 0.5, np.random.default_rng(1).standard_normal((40, 7)), 0.0)


@pytest.mark.parametrize(
    "same",
    [
        X.copy(order="F"),
        np.where(X == 0, -0.0, X),
        sp.csr_array(X),
        sp.csc_array(X),
        sp.coo_array(X),
        sp.csr_matrix(X),
        np.repeat(X, 2, axis=0)[::2],
    ],
)
def test_layout_and_form_do_not_count(same):
    assert digest_of(same) == digest_of(X)


def test_precision_does_not_count_and_values_do():
    single = X.astype(np.float32)
    assert digest_of(single) == digest_of(single.astype(np.float64)) != digest_of(X)
    assert digest_of(np.rint(X).astype(np.int8)) == digest_of(np.rint(X))
    double = sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(2, 2))
    assert digest_of(double) == digest_of(np.array([[0.0, 2.0], [0.0, 0.0]]))


@pytest.mark.parametrize(
    "other",
    [
        X[::-1],
        X[:, ::-1],
        X[:-1],
        np.vstack([X, np.zeros((1, 7))]),
        np.hstack([X, np.zeros((40, 1))]),
        np.where(np.arange(280).reshape(40, 7) == 60, np.nextafter(X, 9), X),
        X.T,
        2 * X,
        -X,
    ],
)
def test_any_change_of_values_or_places_counts(other):
    assert digest_of(other) != digest_of(X)


@given(st.lists(st.integers(0, 40), max_size=4), st.integers(1, 300))
@settings(max_examples=30, deadline=None)
def test_blocks_do_not_count(cuts, step):
    edges = [0, *sorted(cuts), 40]
    parts = [X[a:b] for a, b in pairwise(edges)]
    before, digest.BLOCK_ENTRIES = digest.BLOCK_ENTRIES, step
    try:
        total = ColumnDigests.of(parts[0])
        for part in parts[1:]:
            total = total.merge(ColumnDigests.of(sp.csr_array(part)))
    finally:
        digest.BLOCK_ENTRIES = before
    assert total.hexdigest() == digest_of(X)
    assert total.agrees_with(ColumnDigests.of(X))
    assert total.part(np.array([2, 5])).agrees_with(ColumnDigests.of(X[:, [2, 5]]))


def test_columns_that_differ_do_not_agree():
    changed = X.copy()
    changed[7, 2] += 1e-12
    whole, other = ColumnDigests.of(X), ColumnDigests.of(changed)
    assert not whole.agrees_with(other)
    assert whole.part(np.array([0, 1])).agrees_with(other.part(np.array([0, 1])))
    assert not ColumnDigests.of(X).agrees_with(ColumnDigests.of(X[:39]))
