"""Fits on a cluster of two processes: the answer of the same rows in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed
from dask.distributed import Client, LocalCluster

from helpers import path_of
from laconic import SparsePCA, verify


@pytest.fixture(scope="module", autouse=True)
def client():
    settings = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        yield client


def assert_same_model(model, whole):
    assert [s.tolist() for s in model.supports_] == [s.tolist() for s in whole.supports_]
    assert np.allclose(model.components_, whole.components_, atol=1e-12)
    assert np.allclose(model.lower_bound_, whole.lower_bound_, rtol=1e-12)
    assert np.allclose(model.upper_bound_, whole.upper_bound_, rtol=1e-9)
    assert np.allclose(model.mean_, whole.mean_, rtol=1e-12)


def test_dense_chunks_of_rows_and_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 30)) @ rng.standard_normal((30, 30)) + 5
    array = da.from_array(X, chunks=((170, 30, 400), (7, 23)))
    model = SparsePCA(2, cardinality=4).fit(array)
    assert_same_model(model, SparsePCA(2, cardinality=4).fit(X))
    assert verify(model.certificates_[1], array)
    assert verify(model.certificates_[1], X)
    assert np.allclose(model.transform(array), model.transform(X), atol=1e-11)
    assert path_of(array, 3).values == pytest.approx(path_of(X, 3).values, rel=1e-12)


def test_sparse_chunks_with_hidden_columns():
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.8 / (1 + np.arange(2500)) ** 0.9, (900, 2500)).astype(np.float64)
    counts[np.arange(2500) % 900, np.arange(2500)] += 1
    counts[:300, [20, 30, 40]] += rng.poisson(4.0, (300, 1))
    blocks = [sp.csr_array(counts[i : i + 200]) for i in range(0, 900, 200)]
    array = da.concatenate([da.from_delayed(delayed(b), b.shape, meta=b[:0]) for b in blocks])
    model = SparsePCA(cardinality=3, proof="tight").fit(array)
    assert model.supports_[0].tolist() == [20, 30, 40]
    assert_same_model(model, SparsePCA(cardinality=3, proof="tight").fit(sp.csr_array(counts)))
    assert verify(model.certificates_[0], array)
    assert verify(model.certificates_[0], sp.csr_array(counts))


def test_a_folder_of_parquet_files(tmp_path):
    X = np.random.default_rng(2).standard_normal((500, 6)) * [1, 2, 3, 4, 5, 6]
    for number, rows in enumerate(np.array_split(X, 4)):
        pd.DataFrame(rows, columns=list("abcdef")).to_parquet(tmp_path / f"{number}.parquet")
    model = SparsePCA(cardinality=2).fit(dd.read_parquet(tmp_path))
    assert_same_model(model, SparsePCA(cardinality=2).fit(X))
    assert set(model.loadings()["feature"]) == {"e", "f"}
