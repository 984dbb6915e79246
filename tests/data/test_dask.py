"""Passes on Dask: any chunks give the answer of memory, and a cluster may lose a worker."""

import os
import signal
import sys
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sparse
from dask.distributed import Client, LocalCluster

from laconic.core.monitor import Monitor, Stop
from laconic.data.dask import _part
from laconic.data.passes import FirstPass, GramPass, ProductPass
from laconic.data.rows import ArraySource, PassProgress, open_source

ROWS, COLUMNS = 230, 24
CHOSEN = np.array([0, 3, 7, 8, 23])
NAMES = [f"gene {j}" for j in range(COLUMNS)]


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS)) + np.linspace(-5, 50, COLUMNS)
    X[rng.random(X.shape) < 0.6] = 0
    return X


def close(found, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-12)


def assert_same_passes(source, X):
    """Compare the three passes with those over an array in memory: numbers to 1e-12, digests exactly."""
    memory, centers = ArraySource(X), X.mean(axis=0)
    vectors = np.random.default_rng(1).standard_normal((X.shape[1], 3))
    first, expected = (s.reduce(FirstPass()) for s in (source, memory))
    assert first.n_rows == len(X)
    assert first.column_digests.hexdigest() == expected.column_digests.hexdigest()
    close(first.moments.means, expected.moments.means)
    close(first.moments.variances, expected.moments.variances)
    for shift in (centers[CHOSEN], None):
        gram, expected = (s.reduce(GramPass(CHOSEN, shift)) for s in (source, memory))
        assert gram.column_digests.agrees_with(expected.column_digests)
        close(gram.gram, expected.gram)
    product, expected = (s.reduce(ProductPass(centers, vectors)) for s in (source, memory))
    close(product, expected)


CHUNKS = [(ROWS, COLUMNS), (50, 7), ((3, 200, 27), (20, 4))]
KINDS = {
    "dense": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "COO": sparse.COO.from_numpy,
}


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_any_chunks(kind, chunks):
    X = table().astype(np.float32).astype(float)
    array = da.from_array(X, chunks=chunks).map_blocks(KINDS[kind], dtype=float)
    source = open_source(array)
    assert (source.n_rows, source.n_features) == X.shape
    assert source.sparse == (kind not in ("dense", "float32"))
    assert_same_passes(source, X)


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_large_chunks_are_worked_on_in_slices(kind, monkeypatch):
    monkeypatch.setattr("laconic.data.rows.BLOCK_NUMBERS", 100)
    pieces = [KINDS[kind](table()[:, CHOSEN[:2]]), KINDS[kind](table()[:, CHOSEN[2:]])]
    part = _part(GramPass(CHOSEN, None), 0, 0, pieces)
    close(part.gram, table()[:, CHOSEN].T @ table()[:, CHOSEN])
    assert part.column_digests.n_rows == ROWS


def test_chunks_of_unknown_type():
    """Dask is told nothing about the chunks and takes them for dense ones."""
    pieces = [dask.delayed(sp.csr_matrix)(rows) for rows in np.split(table(), [100])]
    array = da.vstack([da.from_delayed(p, (n, COLUMNS), dtype=float) for p, n in zip(pieces, (100, 130), strict=True)])
    assert isinstance(array._meta, np.ndarray)
    source = open_source(array)
    assert source.sparse
    assert_same_passes(source, table())


def test_unknown_chunk_sizes_and_empty_chunks():
    X = table()
    X[:40, 0] = -1  # the first chunks lose all their rows
    kept = X[:, 0] >= 0
    array = da.from_array(X, chunks=(20, 9))
    source = open_source(array[array[:, 0] >= 0])
    assert source.n_rows is None
    assert_same_passes(source, X[kept])
    np.testing.assert_array_equal(np.vstack([block.rows for block in source.blocks()]), X[kept])


def test_repeated_entries_are_added_up():
    X = sp.csr_array((np.ones(4), [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    array = da.from_delayed(dask.delayed(X), (2, 3), meta=sp.csr_array((0, 0)))
    (block,) = open_source(array).blocks()
    np.testing.assert_array_equal(block.rows.toarray(), [[1, 0, 2], [0, 1, 0]])
    assert block.rows.has_canonical_format
    assert not X.has_canonical_format  # the user's own matrix is as it was


@pytest.mark.parametrize("partitions", [1, 9])
def test_dataframe(partitions):
    X = table()
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(ROWS) + 1000)
    frame["gene 3"] = frame["gene 3"].astype("Float64")
    frame["gene 5"] = (X[:, 5] > 0).astype("int8")
    X[:, 5] = X[:, 5] > 0
    source = open_source(dd.from_pandas(frame, npartitions=partitions))
    assert (source.feature_names, source.n_rows, source.n_features) == (NAMES, None, COLUMNS)
    assert not source.sparse
    assert_same_passes(source, X)
    assert_same_passes(open_source(dd.from_pandas(frame, npartitions=partitions).to_dask_array().astype(float)), X)


def test_only_the_columns_asked_for_are_read_from_parquet(tmp_path):
    pd.DataFrame(table(), columns=NAMES).to_parquet(tmp_path / "a.parquet")
    source = open_source(dd.read_parquet(tmp_path))
    chunks = source._chunks(CHOSEN)
    assert list(chunks[0][0].compute().columns) == [NAMES[j] for j in CHOSEN]
    assert_same_passes(source, table())


def test_blocks_are_the_chunks_of_rows():
    source = open_source(da.from_array(table(), chunks=(100, 10)))
    blocks = list(source.blocks(CHOSEN))
    assert [(len(b.rows), b.share) for b in blocks] == [(100, 1 / 3), (100, 2 / 3), (30, 1.0)]
    np.testing.assert_array_equal(np.vstack([b.rows for b in blocks]), table()[:, CHOSEN])


def first_pass(X, **settings):
    return open_source(X).reduce(FirstPass(**settings))


def test_errors_before_anything_is_computed():
    array = da.ones((6, 3), chunks=2)
    with pytest.raises(ValueError, match="array of 1 dimensions; give one with two"):
        open_source(array[0])
    with pytest.raises(ValueError, match=r"column chunks of unknown size; call X\.compute_chunk_sizes"):
        open_source(array[:, array[0] > 0])
    with pytest.raises(TypeError, match="X has dtype complex128; give a real numeric array"):
        open_source(array * 1j)
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(ValueError, match=r"a column that does not hold numbers: 'b' \(.*\); leave it out with X"):
        open_source(frame)
    with pytest.raises(TypeError, match="X is a Dask Series; give a Dask array or dataframe"):
        open_source(frame["a"])
    with pytest.raises(TypeError, match=r"X is a Dask Delayed.*; give a Dask array or dataframe"):
        open_source(dask.delayed(1))


def test_errors_in_the_data():
    X = table()
    X[107, 3] = np.nan
    sentence = "X has NaN at row {}, column 'gene 3'; fill or drop it first, or set missing to pairwise, em or drop."
    array = da.from_array(X, chunks=(100, 10))
    with pytest.raises(ValueError, match=f"^{sentence.format(107)}$"):
        first_pass(array, feature_names=tuple(NAMES))
    with pytest.raises(ValueError, match=f"^{sentence.format(107)}$"):
        first_pass(array[array[:, 0] > -1000], feature_names=tuple(NAMES))
    with pytest.raises(ValueError, match=r"^In chunk 1, with its rows counted from 0: X has NaN at row 7, column 3; "):
        _part(FirstPass(), 1, None, [X[100:200]])
    with pytest.raises(ValueError, match=r"^X has no rows; give a table with at least two.$"):
        first_pass(da.from_array(X, chunks=(100, 10))[:0])
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(pd.DataFrame({"a": np.array([1.0, "x"], dtype=object)}), npartitions=1)
        with pytest.raises(ValueError, match="X has cells that are not numbers: 'a' 1 of 2"):
            first_pass(frame)


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes on this machine."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", memory_limit="1GiB"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_cluster(client, kind):
    array = da.from_array(table(), chunks=(11, 9)).map_blocks(KINDS[kind], dtype=float)
    assert_same_passes(open_source(array), table())
    assert_same_passes(open_source(client.persist(array)), table())


def test_cluster_with_a_dataframe(client, tmp_path):  # noqa: ARG001
    for number, rows in enumerate(np.array_split(table(), 4)):
        pd.DataFrame(rows, columns=NAMES).to_parquet(tmp_path / f"{number}.parquet")
    assert_same_passes(open_source(dd.read_parquet(tmp_path)), table())


class Deadly:
    """Kills the process that computes the chunk with a mark, as often as it is told: the files count."""

    def __init__(self, folder, times):
        self.folder, self.times = folder, times

    def __call__(self, x):
        if x[0, 0] == -99:
            deaths = len(list(self.folder.iterdir()))
            if deaths < self.times:
                (self.folder / str(deaths)).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return x


def deadly(folder, times):
    X = table()
    X[150, 0] = -99
    array = da.from_array(X, chunks=(10, COLUMNS))
    return X, array.map_blocks(Deadly(folder, times), dtype=float, meta=np.empty((0, 0)))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows ends processes in another way")
def test_a_killed_worker_changes_nothing(client, tmp_path):
    before = set(client.scheduler_info()["workers"])
    X, array = deadly(tmp_path, times=1)
    assert_same_passes(open_source(array), X)
    assert len(list(tmp_path.iterdir())) == 1
    client.wait_for_workers(2, timeout=30)
    assert set(client.scheduler_info()["workers"]) != before


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows ends processes in another way")
def test_a_chunk_that_kills_every_worker(client, tmp_path, monkeypatch):
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 1)
    _, array = deadly(tmp_path, times=100)
    with pytest.raises(RuntimeError, match=r"Dask workers died again and again .* most likely for"):
        first_pass(array)
    client.wait_for_workers(2, timeout=30)


def test_a_file_that_the_workers_do_not_have(client, tmp_path):  # noqa: ARG001
    file = tmp_path / "a.parquet"
    pd.DataFrame(table(), columns=NAMES).to_parquet(file)
    frame = dd.read_parquet(file)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"A Dask worker cannot see the file '.*a.parquet'; put it on storage"):
        first_pass(frame)


def test_a_large_job_is_sent_without_a_warning(client):  # noqa: ARG001
    p = 200_000  # vectors of 13 MB, above the size that Dask warns about
    vectors = np.random.default_rng(0).standard_normal((p, 8))
    rows = sp.random_array((50, p), density=1e-3, rng=0, format="csr")
    array = da.concatenate([da.from_delayed(dask.delayed(x), (10, p), meta=rows[:0]) for x in _tens(rows)])
    part = open_source(array).reduce(ProductPass(np.zeros(p), vectors))
    close(part, rows.T @ (rows @ vectors))


def _tens(rows):
    return [rows[i : i + 10] for i in range(0, rows.shape[0], 10)]


def test_time_limit_on_a_cluster(client, tmp_path):
    def slow(x):
        time.sleep(0.1)
        (tmp_path / str(time.monotonic_ns())).touch()
        return x

    array = da.from_array(table(), chunks=(2, COLUMNS)).map_blocks(slow, dtype=float, meta=np.empty((0, 0)))
    monitor, begun = Monitor(time_limit=0.5), time.monotonic()
    with monitor.watch():
        open_source(array).reduce(FirstPass(), PassProgress(monitor=monitor))
    assert monitor.stopped is Stop.TIME_LIMIT
    assert time.monotonic() - begun < 5
    time.sleep(0.4)  # the tasks that had begun end
    done = len(list(tmp_path.iterdir()))
    time.sleep(0.4)
    assert len(list(tmp_path.iterdir())) == done < 60
    assert not client.futures


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is counted in other units")
def test_workers_of_one_gibibyte_are_enough_for_ten(client):
    """A worker that needs more than its limit is killed, and a new process takes its place. It takes two minutes."""
    rows, columns = 10 * 2**30 // 8 // 1000, np.arange(0, 1000, 5)
    source = open_source(da.random.default_rng(0).standard_normal((rows, 1000), chunks=(2**14, 1000)))
    before = sorted(client.run(os.getpid).values())
    first = source.reduce(FirstPass())
    gram = source.reduce(GramPass(columns, first.moments.means[columns]))
    assert first.n_rows == rows
    assert gram.column_digests.agrees_with(first.column_digests.part(columns))
    close(np.diag(gram.gram), first.moments.squares[columns])
    assert np.abs(gram.gram / rows - np.eye(len(columns))).max() < 0.01
    assert sorted(client.run(os.getpid).values()) == before
    assert max(client.run(peak_memory).values()) < 2**30


def peak_memory():
    import resource  # Windows has none

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
