"""What the studies share: the page, sentences, bounds, deflations; and the data sets they read."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_array, csr_matrix, save_npz

from helpers import best_value
from laconic import SparsePCA
from laconic.datasets import load_pitprops, load_senate109
from studies import STUDIES, common, data

ROOT = Path(__file__).parents[2]


def test_a_page_with_tables_and_pictures_is_written(tmp_path):
    table = common.side_by_side({"k = 1": ["a"], "k = 2": ["a", "b"]})
    assert table.to_numpy().tolist() == [["a", "a"], ["", "b"]]
    statements = [("the paper | says", "here", "agrees")]
    study = common.Study("name", "Title", 3, statements, {"picture": Figure()}, {"words": table}, {})
    text = study.write(tmp_path / "new").read_text(encoding="utf-8")
    assert "# Title\n" in text
    assert "seed 3" in text
    assert "| the paper \\| says | here | agrees |" in text
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "README.md",
        "picture.png",
        "picture.svg",
        "words.csv",
    }
    with pytest.raises(ValueError, match="must be 'agrees'"):
        common.Study("name", "Title", 3, [("a", "b", "maybe")], {}, {}, {})


def test_sentences():
    assert common.listed([1, 2, 3]) == "1, 2 and 3"
    assert (common.listed(["one"]), common.listed([])) == ("one", "none")
    assert common.percent(0.000079) == "0.0079 %"
    assert common.percent(1e-9) == "0 %"
    assert common.share_reached(0.0277) == "97.3 %"
    assert common.by_loading(np.array([0.6, 0, -0.75, 0.28]), "abcd") == ["c", "a", "d"]


def test_bounds_along_a_curve_are_above_the_best_values():
    X = np.random.default_rng(3).standard_normal((8, 9)) * np.linspace(2, 1, 9)
    best = np.array([best_value(X.T @ X, k) for k in range(1, 7)])
    for curve in (
        common.curve_of(X.T @ X, range(1, 7), proof=common.RowLevelProof()),
        common.path_of(X.T @ X, 6, method="greedy", proof=common.RowLevelProof()),
    ):
        assert (curve.values <= best * (1 + 1e-12)).all()
        assert (curve.uppers >= best).all()
        assert (curve.uppers <= 1.2 * best).all()
        assert curve.to_frame("abcdefghi")["features"].str.count(",").tolist() == list(range(6))


@pytest.mark.parametrize("kind", common.DEFLATIONS)
def test_deflations_are_those_of_the_estimator(kind):
    S = np.cov(load_senate109().data, rowvar=False)
    model = SparsePCA(3, cardinality=4, deflation=kind).fit_covariance(S)
    for j, z in enumerate(model.components_):
        left = common.deflated(S, model.components_[:j], kind)
        assert z @ left @ z == pytest.approx(model.lower_bound_[j])


def test_the_command_names_the_studies_and_the_missing_folder():
    command = [sys.executable, "-m", "studies"]
    settings = {"cwd": ROOT, "capture_output": True, "text": True, "check": False}
    wrong = subprocess.run([*command, "senat"], **settings)
    assert wrong.returncode == 2
    assert all(name in wrong.stderr for name in STUDIES)
    without = {name: value for name, value in os.environ.items() if name != "LACONIC_DATA"}
    without["PYTHONPATH"] = os.pathsep.join(sys.path)
    stocks = subprocess.run([*command, "stocks"], env=without, **settings)
    assert stocks.stderr.startswith("LACONIC_DATA is not set: ")
    assert "`python -m benchmarks.data all`" in stocks.stderr


def test_a_wrong_folder_or_name_is_explained(monkeypatch, tmp_path):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere', which is not a folder"):
        data.load_kos()
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"without benchmarks/lung\.npz.*`python -m benchmarks\.data lung`"):
        data.load_benchmark("lung")
    with pytest.raises(FileNotFoundError, match=r"without kos/counts\.npz.*`python -m benchmarks\.data kos`"):
        data.load_kos()
    with pytest.raises(ValueError, match="no benchmark 'pitprop'; choose one of pitprops, wine"):
        data.load_benchmark("pitprop")


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_counts_are_read_in_a_type_that_does_not_overflow(monkeypatch, tmp_path, container):
    monkeypatch.setenv("LACONIC_DATA", str(tmp_path))
    (tmp_path / "kos").mkdir()
    save_npz(tmp_path / "kos" / "counts.npz", container(np.array([[200, 0, 1], [200, 3, 0]], dtype=np.uint8)))
    words = tmp_path / "kos" / "vocab.txt"
    words.write_text("tax\nnan\na\x85b\n", encoding="utf-8", newline="")  # str.splitlines would split the third word.
    kos = data.load_kos()
    assert kos.feature_names == ("tax", "nan", "a\x85b")
    assert (kos.data.T @ kos.data).toarray()[0, 0] == 2 * 200**2
    words.write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(ValueError, match="2 feature names do not fit 3 columns"):
        data.load_kos()


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    ("name", "size"), list(zip(data.BENCHMARKS, (13, 13, 30, 34, 50, 54, 68, 79, 101, 500), strict=True))
)
def test_benchmarks(name, size):
    table = data.load_benchmark(name)
    S = table.covariance
    assert S.shape == (size, size)
    eigenvalues = np.linalg.eigvalsh(S)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert np.allclose(np.diag(S), 1) == table.is_correlation
    if name == "pitprops":
        assert np.array_equal(S, load_pitprops().covariance)


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    ("load", "shape"),
    [
        (data.load_news100, (16_242, 100)),
        (data.load_newsgroups, (18_821, 93_864)),
        (data.load_reuters_c50, (5000, 41_947)),
        (data.load_kos, (3430, 6906)),
        (data.load_marrow4k, (4142, 16_106)),
    ],
)
def test_counts(load, shape):
    table = load()
    assert table.data.shape == shape
    assert table.data.dtype == np.float64
    assert table.data.data.min() >= 1
    assert len(set(table.feature_names)) == shape[1]


@pytest.mark.usefixtures("data_folder")
def test_labels_of_the_rows_are_those_of_the_sources():
    names, counts = np.unique(data.load_news100().groups, return_counts=True)
    assert dict(zip(names, counts, strict=True)) == {"comp.*": 4605, "rec.*": 3519, "sci.*": 2657, "talk.*": 5461}
    assert len(np.unique(data.load_newsgroups().groups)) == 20
    reuters = data.load_reuters_c50()
    assert reuters.mentions_china.sum() == 1114
    forms = [reuters.feature_names.index(word) for word in ("china", "china's")]
    assert (reuters.data[reuters.mentions_china][:, forms].sum(axis=1) > 0).all()
    colon = data.load_colon()
    assert colon.data.shape == (62, 2000)
    assert colon.is_tumor.sum() == 40


@pytest.mark.usefixtures("data_folder")
def test_stocks():
    stocks = data.load_stocks()
    assert stocks.prices.shape == (1259, 470)
    assert [str(day.date()) for day in stocks.prices.index[[0, -1]]] == ["2005-06-01", "2010-06-01"]
    assert len(set(stocks.sectors)) == 10
    assert (stocks.sectors == "Financials").sum() == 77
    # The sum of the log returns is the log of the change over the whole period.
    change = np.log(stocks.prices.iloc[-1] / stocks.prices.iloc[0])
    assert stocks.returns.sum().to_numpy() == pytest.approx(change.to_numpy())
