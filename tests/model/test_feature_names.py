"""Names for rows without names, and names after the fit."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from laconic import SparsePCA, verify

X = np.random.default_rng(0).standard_normal((30, 4)) * [1, 2, 3, 4]
NAMES = ["a", "b", "c", "d"]
# Real text: the paragraphs of our own documents.
TEXTS = [
    paragraph
    for document in sorted((Path(__file__).resolve().parents[2] / "docs").glob("*.md"))
    for paragraph in document.read_text().split("\n\n")
]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_matrix, np.ndarray.tolist])
def test_names_for_rows_without_names(convert):
    model = SparsePCA(cardinality=2, forced_in=["a"]).fit(convert(X), feature_names=NAMES)
    assert model.feature_names_in_.tolist() == NAMES
    assert sorted(model.loadings()["feature"]) == ["a", "d"]
    assert model.certificates_[0].feature_names == tuple(NAMES)
    assert verify(model.certificates_[0], X)
    # Warnings are errors here: rows without names are taken as they are, and tables by their names.
    expected = model.transform(convert(X))
    np.testing.assert_allclose(model.transform(pd.DataFrame(X, columns=NAMES)), expected)
    model.score(convert(X))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(pd.DataFrame(X, columns=NAMES[::-1]))
    with pytest.raises(ValueError, match="X has 3 features, but SparsePCA is expecting 4"):
        model.transform(convert(X[:, :3]))
    # The names of an earlier fit are forgotten.
    assert not hasattr(model.set_params(forced_in=None).fit(convert(X)), "feature_names_in_")


def test_a_table_keeps_its_names():
    frame = pd.DataFrame(X, columns=NAMES)
    model = SparsePCA(cardinality=2).fit(frame, feature_names=NAMES)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature_names differ from the column names that X has"):
        SparsePCA(cardinality=2).fit(frame, feature_names=NAMES[::-1])


def test_names_for_files_without_names(tmp_path):
    np.save(tmp_path / "t.npy", X)
    model = SparsePCA(cardinality=2, forced_in=["d"]).fit(tmp_path / "t.npy", feature_names=NAMES)
    assert "d" in set(model.loadings()["feature"])
    assert model.transform(tmp_path / "t.npy").shape == (30, 1)
    assert model.transform(X).shape == (30, 1)


def test_names_of_text_in_a_pipeline():
    """scikit-learn passes no names with sparse data. The steps before know them."""
    pipe = make_pipeline(TfidfVectorizer(stop_words="english"), SparsePCA(2, cardinality=6)).fit(TEXTS)
    words = pipe[:-1].get_feature_names_out()
    loadings = pipe[-1].loadings(feature_names=words)
    numbered = pipe[-1].loadings()
    assert loadings["feature"].tolist() == [words[j] for j in numbered["feature"]]
    assert "import" in set(loadings["feature"])  # the component of code
    assert list(pipe.get_feature_names_out()) == ["sparsepca0", "sparsepca1"]
    with pytest.raises(ValueError, match="feature_names has 2 names for"):
        pipe[-1].loadings(feature_names=["a", "b"])
    # The names may be given to the step, if they are known before.
    pipe.fit(TEXTS, sparsepca__feature_names=words)
    assert pipe[-1].loadings()["feature"].tolist() == loadings["feature"].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pipe.transform(TEXTS).shape == (len(TEXTS), 2)
