import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse, save_npz

from laconic import datasets
from laconic.datasets import BENCHMARKS, load_benchmark, load_kos, load_stocks

FOLDER = os.environ.get("LACONIC_DATA", "")
needs_data = pytest.mark.skipif(
    not FOLDER or not Path(FOLDER).is_dir(), reason="the environment variable LACONIC_DATA names no folder"
)
LOADERS = [
    lambda: load_benchmark("wine"),
    datasets.load_news100,
    datasets.load_newsgroups,
    datasets.load_reuters_c50,
    datasets.load_kos,
    datasets.load_marrow4k,
    datasets.load_colon,
    datasets.load_stocks,
]


def assert_one_sentence_of_advice(message):
    assert message.endswith(".")
    assert ". " not in message
    assert "set LACONIC_DATA to a folder that holds benchmarks, 20news_w100," in message


@pytest.mark.parametrize("load", [datasets.data_folder, *LOADERS])
@pytest.mark.parametrize("value", [None, ""])
def test_unset_variable_is_explained(monkeypatch, load, value):
    if value is None:
        monkeypatch.delenv("LACONIC_DATA", raising=False)
    else:
        monkeypatch.setenv("LACONIC_DATA", value)
    with pytest.raises(FileNotFoundError, match="LACONIC_DATA is not set") as caught:
        load()
    assert_one_sentence_of_advice(str(caught.value))


@pytest.mark.parametrize("load", [datasets.data_folder, *LOADERS])
def test_wrong_variable_is_explained(monkeypatch, tmp_path, load):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere', which is not a folder") as caught:
        load()
    assert_one_sentence_of_advice(str(caught.value))


@pytest.mark.parametrize("load", LOADERS)
def test_missing_file_is_named(monkeypatch, tmp_path, load):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"which holds no [\w/.]+: set") as caught:
        load()
    assert_one_sentence_of_advice(str(caught.value))


def test_folder_may_start_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LACONIC_DATA", "~")
    assert datasets.data_folder() == tmp_path


def test_unknown_benchmark_names_the_choices(monkeypatch):
    monkeypatch.delenv("LACONIC_DATA", raising=False)
    with pytest.raises(ValueError, match=r"no benchmark 'pitprop'; choose one of pitprops, wine,.* lymphoma500"):
        load_benchmark("pitprop")


def write_kos(folder, counts, words):
    (folder / "kos").mkdir()
    save_npz(folder / "kos" / "counts.npz", counts)
    (folder / "kos" / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="")


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_counts_are_read_in_a_type_that_does_not_overflow(monkeypatch, tmp_path, container):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    # str.splitlines would split the third word.
    write_kos(tmp_path, container(np.array([[200, 0, 1], [200, 3, 0]], dtype=np.uint8)), ["tax", "nan", "a\x85b"])
    kos = load_kos()
    assert isinstance(kos.data, csr_array)
    assert kos.feature_names == ("tax", "nan", "a\x85b")
    assert (kos.data.T @ kos.data).toarray()[0, 0] == 2 * 200**2


def test_vocabulary_of_another_length_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    write_kos(tmp_path, csr_array(np.eye(3, dtype=np.uint8)), ["one", "two"])
    with pytest.raises(ValueError, match="2 feature names do not fit 3 columns"):
        load_kos()


def write_stocks(folder, header):
    (folder / "sp500_2005_2010").mkdir()
    (folder / "sp500_2005_2010" / "tickers.csv").write_text(
        'symbol,company,sector,sector_source,note\nNA,Nano,Energy,x,\nB,"Big, Inc",Materials,x,repaired\n'
    )
    prices = folder / "sp500_2005_2010" / "adjclose.csv.gz"
    pd.DataFrame([["2005-06-01", 1.0, 8.0], ["2005-06-02", 2.0, 4.0]], columns=header).to_csv(prices, index=False)


def test_log_returns(monkeypatch, tmp_path):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    write_stocks(tmp_path, ["date", "NA", "B"])
    stocks = load_stocks()
    assert stocks.tickers == ("NA", "B")
    assert stocks.names == ("Nano", "Big, Inc")
    assert stocks.sectors == ("Energy", "Materials")
    assert stocks.notes == ("", "repaired")
    returns = stocks.log_returns()
    assert list(returns.columns) == ["NA", "B"]
    assert returns.index[0].isoformat() == "2005-06-02T00:00:00"
    assert returns.to_numpy() == pytest.approx(np.log([[2, 0.5]]))


def test_stocks_in_another_order_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    write_stocks(tmp_path, ["date", "B", "NA"])
    with pytest.raises(ValueError, match="not the symbols"):
        load_stocks()


@needs_data
@pytest.mark.parametrize(
    ("name", "size"), [*zip(BENCHMARKS, (13, 13, 30, 34, 50, 54, 68, 79, 101, 500), strict=True)], ids=BENCHMARKS
)
def test_benchmarks(name, size):
    table = load_benchmark(name)
    S = table.covariance
    assert S.shape == (size, size)
    assert np.abs(S - S.T).max() < 1e-12
    eigenvalues = np.linalg.eigvalsh(S)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert np.allclose(np.diag(S), 1) == (table.kind == "correlation")
    assert table.feature_names[-1] == f"x{size}"


@needs_data
def test_benchmark_pitprops_is_the_embedded_one():
    assert np.array_equal(load_benchmark("pitprops").covariance, datasets.load_pitprops().covariance)


@needs_data
@pytest.mark.parametrize(
    ("load", "shape"),
    [
        (datasets.load_news100, (16_242, 100)),
        (datasets.load_newsgroups, (18_821, 93_864)),
        (datasets.load_reuters_c50, (5000, 41_947)),
        (datasets.load_kos, (3430, 6906)),
        (datasets.load_marrow4k, (4142, 16_106)),
    ],
)
def test_counts(load, shape):
    table = load()
    assert issparse(table.data)
    assert table.data.format == "csr"
    assert table.data.shape == shape
    assert table.data.dtype == np.float64
    assert table.data.data.min() >= 1
    assert np.array_equal(table.data.data, np.round(table.data.data))
    assert len(set(table.feature_names)) == shape[1]


@needs_data
def test_news100_groups_and_variance():
    news = datasets.load_news100()
    names, counts = np.unique(news.groups, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "comp.*": 4605,
        "rec.*": 3519,
        "sci.*": 2657,
        "talk.*": 5461,
    }
    assert news.data.max() == 1
    eigenvalues = np.linalg.eigvalsh(np.cov(news.data.toarray(), rowvar=False))[::-1]
    assert eigenvalues[:3] / eigenvalues.sum() == pytest.approx([0.055, 0.052, 0.032], abs=6e-4)


@needs_data
def test_newsgroups_labels():
    news = datasets.load_newsgroups()
    assert len(np.unique(news.groups)) == 20
    assert len(news.groups) == 18_821
    assert (news.splits == "train").sum() == 11_293
    assert (news.splits == "test").sum() == 7528


@needs_data
def test_reuters_articles_that_mention_china_have_the_word():
    reuters = datasets.load_reuters_c50()
    assert reuters.mentions_china.sum() == 1114
    assert len(np.unique(reuters.authors)) == 50
    assert len(np.unique(reuters.articles)) == 5000
    assert (reuters.splits == "train").sum() == 2500
    forms = [reuters.feature_names.index(word) for word in ("china", "china's")]
    has_word = reuters.data[:, forms].sum(axis=1) > 0
    assert has_word[reuters.mentions_china].all()
    # The marks are part of the data set and were not made from these lower-case words. A few articles differ.
    assert has_word[~reuters.mentions_china].sum() < 10


@needs_data
def test_marrow_cells():
    marrow = datasets.load_marrow4k()
    assert len(np.unique(marrow.cells)) == 4142
    assert marrow.data.nnz == 9_039_480


@needs_data
def test_colon():
    colon = datasets.load_colon()
    assert colon.data.shape == (62, 2000)
    assert colon.data.dtype == np.float64
    assert colon.data.min() > 0
    assert colon.is_tumor.sum() == 40
    assert len(set(colon.feature_names)) == 2000


@needs_data
def test_stocks():
    stocks = load_stocks()
    assert stocks.prices.shape == (1259, 470)
    assert (stocks.prices > 0).all(axis=None)
    assert str(stocks.prices.index[0].date()) == "2005-06-01"
    assert str(stocks.prices.index[-1].date()) == "2010-06-01"
    assert len(stocks.names) == len(stocks.sectors) == len(stocks.notes) == 470
    assert len(set(stocks.tickers)) == 470
    assert len(set(stocks.sectors)) == 10
    assert stocks.sectors.count("Financials") == 77
    returns = stocks.log_returns()
    assert returns.shape == (1258, 470)
    assert np.isfinite(returns.to_numpy()).all()
    # The sum of the log returns is the log of the change over the whole period.
    change = np.log(stocks.prices.iloc[-1] / stocks.prices.iloc[0])
    assert returns.sum().to_numpy() == pytest.approx(change.to_numpy())
