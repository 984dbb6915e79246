"""Wide data never make a p x p matrix, and sparse data are never filled in."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import path_of
from laconic import SparsePCA, verify


def peak_of(act):
    """Bytes at the highest, above what there was before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"scale": True, "method": "swaps"},
        {"method": "approximate-greedy", "nonnegative": True},
        pytest.param({"nonnegative": True}, marks=pytest.mark.slow),
    ],
)
def test_wide_dense_rows(settings):
    """60 x 20000: the rows take 10 MB, the matrix would take 3.2 GB."""
    X = np.random.default_rng(0).standard_normal((60, 20_000))
    X[:, :8] += 3 * np.random.default_rng(1).standard_normal((60, 1))
    model = SparsePCA(2, cardinality=8, **settings)
    peak = peak_of(lambda: model.fit(X))
    assert len(model.supports_[0]) == 8
    assert peak < 20 * X.nbytes < 20_000**2 * 8 / 10


def test_wide_dense_path():
    X = np.random.default_rng(0).standard_normal((60, 20_000))
    assert peak_of(lambda: path_of(X, 20, method="approximate-greedy")) < 10 * X.nbytes


@pytest.mark.parametrize(
    ("convert", "settings"),
    [
        (sp.csc_array, {"method": "swaps", "scale": True}),
        (sp.csr_array, {}),
        pytest.param(sp.csr_array, {"method": "swaps"}, marks=pytest.mark.slow),
        pytest.param(sp.csc_array, {"deflation": "schur", "scale": True}, marks=pytest.mark.slow),
    ],
)
def test_sparse_rows_are_never_filled_in(convert, settings):
    """10000 x 4000 with 100,000 entries: 1 MB as they are, 320 MB filled in, 128 MB as a matrix of columns."""
    rng = np.random.default_rng(2)
    X = sp.random(10_000, 4_000, 0.0025, format="csr", random_state=3)
    X.data[:] = rng.poisson(1.0, X.nnz) + 1
    X = convert(X)
    model = SparsePCA(2, cardinality=6, **settings)
    peak = peak_of(lambda: model.fit(X))
    assert peak < 120e6
    assert peak_of(lambda: model.transform(X)) < 5e6
    assert peak_of(lambda: model.score(X)) < 10e6
    assert all(len(s) == 6 for s in model.supports_)


SLOW_RULES = [pytest.param(rule, marks=pytest.mark.slow) for rule in ("schur", "hotelling", "orthogonalized-hotelling")]


@pytest.mark.parametrize("rule", ["projection", *SLOW_RULES])
@pytest.mark.parametrize("wide", [False, True])
def test_proofs_of_deflated_matrices_write_nothing_out(rule, wide):
    """A matrix of 800 MB: neither the certificates nor their verification come near it. Pairs take a share of it."""
    if wide:
        X = np.random.default_rng(0).standard_normal((20, 10_000))
    else:
        X = sp.random_array((500, 10_000), density=0.03, rng=np.random.default_rng(1), format="csc")
    settings = {"cardinality": 4, "deflation": rule, "method": "thresholding"}
    model = SparsePCA(3, **settings)
    assert peak_of(lambda: model.fit(X)) < 300e6
    for certificate in model.certificates_:
        outcome = []
        assert peak_of(lambda c=certificate, out=outcome: out.append(verify(c, X))) < 300e6
        assert outcome[0]


def test_sums_of_variances_pay_little_for_hotelling():
    """What is left lacks one eigenvalue, whatever the size of the support."""
    X = np.random.default_rng(0).standard_normal((20, 500))
    first, second = SparsePCA(2, cardinality=5, deflation="hotelling").fit(X).certificates_
    assert second.upper <= first.lower + np.sort((X - X.mean(axis=0)).var(axis=0))[-5:].sum() * (1 + 1e-9)


def test_no_whole_matrix_is_asked_of_sparse_rows(monkeypatch):
    """`toarray` on something as large as the rows, or on p columns, is what must not happen."""
    X = sp.random(3_000, 4_000, 0.01, format="csr", random_state=4)
    large = 3_000 * 4_000 // 4
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix):
        original = kind.toarray

        def guarded(self, *args, original=original, **settings):
            assert self.shape[0] * self.shape[1] < large, f"{self.shape} was filled in"
            return original(self, *args, **settings)

        monkeypatch.setattr(kind, "toarray", guarded)
    model = SparsePCA(2, cardinality=10, method="swaps").fit(X)
    model.score(X)
    assert model.transform(X).shape == (3_000, 2)
