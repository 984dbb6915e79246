"""The recipes of the larger data sets."""

import gzip
import io
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks import data
from benchmarks.data import SOURCES, content_digest, counted, differing, make, write
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array
from studies.data import BENCHMARKS, WITHOUT_FILE, load_benchmark


@pytest.mark.parametrize("name", SOURCES)
def test_the_data_have_the_digests_that_are_written_down(name, data_folder):
    assert differing(name, data_folder) == []


def test_every_matrix_without_a_recipe_is_part_of_a_package():
    assert set(BENCHMARKS) - set(SOURCES) == set(WITHOUT_FILE)


@pytest.mark.parametrize("name", WITHOUT_FILE)
def test_matrices_without_a_file_are_those_of_the_literature(name, data_folder):
    with np.load(data_folder / "benchmarks" / f"{name}.npz") as archive:
        assert np.abs(load_benchmark(name).covariance - archive["S"]).max() <= 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.reached])
def test_a_recipe_gives_the_same_data(name, tmp_path):
    assert online(lambda: make(name, tmp_path)) == []


@pytest.mark.slow
def test_the_recipe_of_the_stocks_gives_the_same_prices(data_folder):
    symbols = pd.read_csv(data_folder / "sp500_2005_2010" / "tickers.csv", keep_default_na=False)["symbol"]
    found = online(lambda: data.stock_prices(s for s in symbols if s not in data.FROM_OTHER_SERIES))
    stored = pd.read_csv(data_folder / "sp500_2005_2010" / "adjclose.csv.gz", index_col="date")
    assert found.shape == (1259, 468)
    pd.testing.assert_frame_equal(found, stored[found.columns], check_exact=True)


def online(work):
    """Return the result of some work, or skip the test if nothing can be downloaded."""
    try:
        return work()
    except SystemExit as error:
        pytest.skip(f"no network: {error}")


def archive(**files):
    """A ZIP file in a ZIP file, as UCI has them."""
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    with zipfile.ZipFile(outer, "w") as file:
        file.writestr("data.zip", inner.getvalue())
    return outer.getvalue()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of --files."""
    monkeypatch.setattr(data, "FILES", tmp_path)
    return tmp_path


def test_counts_of_uci(files):
    entries = gzip.compress(b"2\n3\n3\n1 1 4\n1 3 1\n2 2 7\n")
    packed = archive(**{"docword.kos.txt.gz": entries, "vocab.kos.txt": "one\ntwo\nthree\n"})
    (files / "bag+of+words.zip").write_bytes(packed)
    found = data.kos()
    assert found["vocab.txt"] == ["one", "two", "three"]
    assert found["counts.npz"].toarray().tolist() == [[4, 0, 1], [0, 7, 0]]


def test_articles_of_uci(files):
    texts = {"C50train/Ann/1.txt": "China's trade, 3 deals. Don't!", "C50test/Bob/2.txt": "trade trade"}
    (files / "reuter+50+50.zip").write_bytes(archive(**texts))
    found = data.reuters()
    assert found["vocab.txt.gz"] == ["3", "china's", "deals", "don't", "trade"]
    assert found["counts.npz"].toarray().tolist() == [[0, 0, 0, 0, 2], [1, 1, 1, 1, 1]]
    assert found["docs.csv.gz"].iloc[1].to_dict() == {
        "path": "C50train/Ann/1.txt", "split": "train", "author": "Ann", "mentions_china": 1,
    }  # fmt: skip


def test_words_of_roweis(files):
    occurs = csc_array(np.array([[1, 0, 1], [0, 1, 1]], dtype=float))
    words = np.array(["aids", "bible"], dtype=object)
    groups = np.array(["comp.*", "rec.*"], dtype=object)
    content = {"documents": occurs, "newsgroups": [1, 2, 2], "groupnames": groups, "wordlist": words}
    savemat(files / "20news_w100.mat", content)
    found = data.news100()
    assert found["documents.npz"].toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert found["words.txt"] == ["aids", "bible"]
    assert found["groups.csv.gz"]["name"].tolist() == ["comp.*", "rec.*", "rec.*"]


def test_rows_of_uci(files):
    rows = np.random.default_rng(0).integers(1, 4, size=(6, 4)).astype(str)
    rows[2, 3] = "?"
    (files / "lung+cancer.zip").write_bytes(archive(**{"lung-cancer.data": "\n".join(map(",".join, rows))}))
    expected = np.corrcoef(rows[:, 1:3].astype(float), rowvar=False)
    assert np.allclose(data.lung(), expected)


def test_a_constant_column_is_correlated_with_nothing():
    S = data.correlations(np.array([[1.0, 5, 2], [2, 5, 1], [4, 5, 1]]))
    assert S[1].tolist() == [0, 1, 0]


def test_a_file_that_cannot_be_had_is_named(monkeypatch):
    def closed(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr(data.urllib.request, "urlopen", closed)
    with pytest.raises(SystemExit, match=r"example.org/a.txt cannot be read \(no route\).*--files FOLDER"):
        data.web("http://example.org/a.txt")


def test_the_command_tells_what_differs(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    monkeypatch.setitem(SOURCES, "kos", replace(SOURCES["kos"], make=lambda: {"vocab.txt": ["a"]}))
    data.main(["kos"])
    assert "the content of counts.npz, vocab.txt differs from ours" in capsys.readouterr().out
    data.main([])
    assert "kos is missing. UCI, bag of words." in capsys.readouterr().out
    with pytest.raises(SystemExit):
        data.main(["koss"])
    assert "there is no set koss; choose from 20newsgroups" in capsys.readouterr().err


def test_a_digest_is_that_of_the_content(tmp_path):
    counts, words = counted([["b", "a", "b"], []])
    write(tmp_path / "counts.npz", counts)
    write(tmp_path / "words.txt.gz", words)
    write(tmp_path / "words.txt", words)
    write(tmp_path / "S.npz", {"S": np.eye(2)})
    write(tmp_path / "T.npz", {"S": np.eye(2) + 1e-13})
    write(tmp_path / "U.npz", {"S": np.eye(2) + 1e-8})
    write(tmp_path / "other.npz", csr_array([[1, 3], [0, 0]]))
    S, T, U, packed, plain, one, other = (
        content_digest(tmp_path / name)
        for name in ("S.npz", "T.npz", "U.npz", "words.txt.gz", "words.txt", "counts.npz", "other.npz")
    )
    assert S == T != U
    assert packed == plain
    assert one != other
