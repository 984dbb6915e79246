"""Fits of data that are read in blocks: the same answer as in memory, whatever the blocks are."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from helpers import bound_of, certified, path_of
from laconic import SparsePCA, verify
from laconic.covariance import screening
from laconic.data.rows import ArraySource


def narrow_rows(seed=0, rows=500, columns=20):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) @ rng.standard_normal((columns, columns)) + 50


def wide_counts(rows=800, columns=2500):
    """Counts whose variances decay, with two groups of columns that vary together; no column is constant."""
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.8 / (1 + np.arange(columns)) ** 0.9, (rows, columns)).astype(np.float64)
    counts[np.arange(columns) % rows, np.arange(columns)] += 1
    counts[: rows // 4, [20, 30, 40]] += rng.poisson(4.0, (rows // 4, 1))
    counts[-rows // 5 :, [25, 35]] += rng.poisson(4.0, (rows // 5, 1))
    return sp.csr_array(counts)


class Counted(ArraySource):
    """A source in blocks of a few rows that counts its passes."""

    def __init__(self, X, step=100):
        super().__init__(X)
        self._step = step
        self.passes = []

    def in_memory(self):
        return None

    def blocks(self, columns=None):
        self.passes.append(self.n_features if columns is None else len(columns))
        yield from super().blocks(columns)


def files_of(folder, frame):
    """The same table in several formats."""
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_csv(folder / "table.csv.gz", index=False)
    frame.to_parquet(folder / "table.parquet", row_group_size=130)
    (folder / "parts").mkdir()
    for number, begin in enumerate(range(0, len(frame), 170)):
        frame.iloc[begin : begin + 170].to_parquet(folder / "parts" / f"part-{number}.parquet")
    np.save(folder / "table.npy", frame.to_numpy())
    return [
        folder / "table.csv",
        str(folder / "table.csv.gz"),
        folder / "table.parquet",
        folder / "parts",
        str(folder / "parts" / "part-*.parquet"),
        sorted((folder / "parts").iterdir()),
        folder / "table.npy",
    ]


def test_files_give_the_answer_of_the_table_in_memory(tmp_path):
    frame = pd.DataFrame(narrow_rows(), columns=[f"x{i}" for i in range(20)])
    model = SparsePCA(2, cardinality=4, proof="tight").fit(frame)
    for data in files_of(tmp_path, frame):
        again = SparsePCA(2, cardinality=4, proof="tight").fit(data)
        assert np.allclose(again.components_, model.components_, atol=1e-12)
        assert np.allclose(again.lower_bound_, model.lower_bound_, rtol=1e-12)
        assert np.allclose(again.upper_bound_, model.upper_bound_, rtol=1e-12)
        assert np.allclose(again.transform(data), model.transform(frame), atol=1e-11)
        assert again.score(data) == pytest.approx(model.score(frame), rel=1e-12)
        if not str(data).endswith(".npy"):
            assert list(again.feature_names_in_) == list(frame.columns)
        for certificate in again.certificates_:
            assert verify(certificate, data), verify(certificate, data).reason
            assert verify(certificate, frame), verify(certificate, frame).reason
        for certificate in model.certificates_:
            assert verify(certificate, data)
        assert path_of(data, 3).values == pytest.approx(path_of(frame, 3).values, rel=1e-12)
        assert bound_of(data, 3) == pytest.approx(bound_of(frame, 3), rel=1e-9)
        assert certified(data, [1, 2, 3]).lower == pytest.approx(certified(frame, [1, 2, 3]).lower, rel=1e-9)
        assert not verify(model.certificates_[0], frame + 1)


def test_sparse_files_take_two_passes(tmp_path):
    counts = wide_counts()
    sp.save_npz(tmp_path / "counts.npz", counts)
    scipy.io.mmwrite(tmp_path / "counts.mtx", counts)
    model = SparsePCA(2, cardinality=[3, 2]).fit(counts)
    for name in ("counts.npz", "counts.mtx"):
        again = SparsePCA(2, cardinality=[3, 2]).fit(tmp_path / name)
        assert [s.tolist() for s in again.supports_] == [[20, 30, 40], [25, 35]]
        assert np.allclose(again.lower_bound_, model.lower_bound_, rtol=1e-12)
        assert np.allclose(again.upper_bound_, model.upper_bound_, rtol=1e-9)
        assert again.certificates_[0].digest == model.certificates_[0].digest
        assert verify(again.certificates_[1], tmp_path / name)
        assert verify(again.certificates_[1], counts)
    assert again.loadings()["feature"].iloc[0] in (20, 30, 40)


def test_a_fit_reads_twice_and_verify_reads_twice():
    source = Counted(wide_counts())
    model = SparsePCA(2, cardinality=[3, 2]).fit(source)
    assert source.passes == [2500, screening.FEWEST_FIRST]
    source.passes.clear()
    assert verify(model.certificates_[1], source)
    assert len(source.passes) == 2
    source.passes.clear()
    model.transform(source)
    assert source.passes == [5], "only the columns that the components use"


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_the_answer_does_not_depend_on_the_blocks(convert, center, scale):
    rows = convert(np.where(np.random.default_rng(2).random((500, 20)) < 0.4, narrow_rows(2) + 1e3, 0.0))
    settings = {"cardinality": 4, "n_components": 2, "center": center, "scale": scale}
    whole = SparsePCA(**settings).fit(rows)
    for step in (7, 100, 500):
        model = SparsePCA(**settings).fit(Counted(rows, step))
        assert np.allclose(model.lower_bound_, whole.lower_bound_, rtol=1e-12)
        assert np.allclose(model.components_, whole.components_, atol=1e-11)
        assert np.allclose(model.mean_, whole.mean_, rtol=1e-12)
        assert np.allclose(model.scale_, whole.scale_, rtol=1e-12)
        assert all(verify(c, rows) for c in model.certificates_)
        assert all(verify(c, Counted(rows, 33)) for c in model.certificates_)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_few_rows_of_many_columns_are_read_into_memory(tmp_path, convert):
    rng = np.random.default_rng(0)
    rows = convert(np.where(rng.random((40, 2600)) < 0.7, rng.standard_normal((40, 2600)), 0.0))
    file = tmp_path / ("rows.npz" if sp.issparse(rows) else "rows.npy")
    sp.save_npz(file, rows) if sp.issparse(rows) else np.save(file, rows)
    model = SparsePCA(2, cardinality=3, scale=True).fit(file)
    whole = SparsePCA(2, cardinality=3, scale=True).fit(rows)
    assert np.allclose(model.components_, whole.components_)
    assert np.allclose(model.upper_bound_, whole.upper_bound_, rtol=1e-12)
    assert model.certificates_[0].digest == whole.certificates_[0].digest
    assert verify(model.certificates_[1], file), verify(model.certificates_[1], file).reason
    assert verify(model.certificates_[1], rows)


def test_standardised_rows_get_the_same_answer_in_every_container(tmp_path):
    """A group of ten among 3,000 columns, which only a look at all pairs finds."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3000))
    X[:, 2500:2510] += 1.5 * rng.standard_normal((60, 1))
    np.save(tmp_path / "rows.npy", X)
    found = [
        SparsePCA(cardinality=10, scale=True, proof=None).fit(data)
        for data in (X, sp.csr_array(X), [X[:20], X[20:]], Counted(X, 7), tmp_path / "rows.npy")
    ]
    assert found[0].supports_[0].tolist() == list(range(2500, 2510))
    for model in found:
        assert np.array_equal(model.supports_[0], found[0].supports_[0])
        assert model.lower_bound_ == pytest.approx(found[0].lower_bound_, rel=1e-12)


def test_variances_that_decay_too_little_hide_no_columns(tmp_path):
    """Two components of words in a few rows: every container gives the gap of the array, whose pairs are all known."""
    rng = np.random.default_rng(3)
    X = 1.0 + rng.poisson(0.8 / (1 + np.arange(2500)) ** 0.3, (100, 2500))
    X[np.arange(2500) % 100, np.arange(2500)] += 1.0  # no column is constant
    np.save(tmp_path / "rows.npy", X)
    array = SparsePCA(2, cardinality=6).fit(X)
    assert (array.gap_ < 0.4).all()
    for data in (sp.csr_array(X), [X[:20], X[20:]], tmp_path / "rows.npy"):
        model = SparsePCA(2, cardinality=6).fit(data)
        assert all(np.array_equal(*pair) for pair in zip(model.supports_, array.supports_, strict=True))
        assert model.upper_bound_ == pytest.approx(array.upper_bound_, rel=1e-6)
        assert verify(model.certificates_[1], X)


def test_rows_that_do_not_fit_are_searched_by_products(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 2600))
    X[:, :10] += 3 * rng.standard_normal((60, 1))
    monkeypatch.setattr(sys.modules["laconic.covariance.screening"], "READ_NUMBERS", 1000)
    source = Counted(X, 7)
    with pytest.warns(UserWarning, match="similar variances"):
        model = SparsePCA(cardinality=10, scale=True, proof=None).fit(source)
    assert model.supports_[0].tolist() == list(range(10))
    assert source.passes[:4] == [2600] * 4


@pytest.mark.parametrize("rows", [50, 70])
def test_a_file_that_changes_while_it_is_read_into_memory_is_found_out(rows):
    class Changing(Counted):
        def blocks(self, columns=None):
            yield from super().blocks(columns)
            self._rows = np.ones((rows, 2600))

    source = Changing(np.random.default_rng(7).standard_normal((60, 2600)), 60)
    with pytest.raises(ValueError, match="has changed between two passes"):
        SparsePCA(cardinality=3, scale=True).fit(source)


def test_a_file_that_changes_between_two_passes_is_found_out():
    class Changing(Counted):
        def blocks(self, columns=None):
            for number, block in enumerate(super().blocks(columns)):
                if len(self.passes) == 2 and number == 3:
                    block.rows.data[0] += 1
                yield block

    with pytest.raises(ValueError, match="X has changed between two passes"):
        SparsePCA(cardinality=3).fit(Changing(wide_counts()))


def test_a_time_limit_within_a_pass_says_so():
    with pytest.raises(TimeoutError, match="reached in pass 1 over X, before anything was found; give more time"):
        SparsePCA(cardinality=3, time_limit=1e-9).fit(Counted(wide_counts()))


def test_blocks_that_can_be_read_twice_are_data():
    rows = narrow_rows()

    class Blocks:
        def __iter__(self):
            return (rows[begin : begin + 90] for begin in range(0, len(rows), 90))

    model = SparsePCA(cardinality=4).fit(Blocks())
    assert np.allclose(model.components_, SparsePCA(cardinality=4).fit(rows).components_, atol=1e-12)
    with pytest.raises(TypeError, match="only once"):
        SparsePCA(cardinality=4).fit(iter(Blocks()))


def test_a_time_limit_while_columns_are_added_keeps_the_components(monkeypatch):
    def late(*_):
        raise TimeoutError

    monkeypatch.setattr("laconic.model.components.widened", late)
    model = SparsePCA(cardinality=3).fit(Counted(wide_counts()))
    assert model.supports_[0].tolist() == [20, 30, 40]
    assert verify(model.certificates_[0], wide_counts())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (7, "X is of type int; give a table"),
        (None, "X is None; give a table"),
        ({"a": [1]}, "X is of type dict"),
        ("", "The path is empty"),
        (["a.csv", 7], "A list of paths holds a int; give paths only"),
        ("s3://bucket/a.parquet", "is not a local file"),
    ],
)
def test_data_that_are_none_get_a_sentence(data, words):
    with pytest.raises((TypeError, ValueError), match=words):
        SparsePCA(cardinality=2).fit(data)
