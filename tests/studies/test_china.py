import os
from pathlib import Path

import numpy as np
import pytest

from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.datasets import load_reuters_c50
from laconic.search.exhaustive import Exhaustive
from laconic.search.problem import Problem
from laconic.studies import Settings, get_study
from laconic.studies.china import CARDINALITIES, PAPER_DSPCA, PAPER_THRESHOLDED
from laconic.studies.china_tokens import find_path

FOLDER = os.environ.get("LACONIC_DATA", "")
needs_data = pytest.mark.skipif(
    not FOLDER or not Path(FOLDER).is_dir(), reason="the environment variable LACONIC_DATA names no folder"
)


@pytest.fixture(scope="module")
def study():
    return get_study("china")(Settings(quick=True))


def best_values(S, last):
    return [Exhaustive().solve(Problem(DenseCovariance(S), k)).value for k in range(1, last + 1)]


def decaying(seed):
    X = np.random.default_rng(seed).standard_normal((15, 11)) * np.linspace(1.5, 0.3, 11)
    return np.cov(X, rowvar=False)


@pytest.mark.parametrize("seed", range(2))
def test_the_best_of_all_is_proved_though_few_are_looked_at(seed):
    S = decaying(seed)
    threshold = float(np.median(S.diagonal()))
    path = find_path(DenseCovariance(S), threshold, 4, Monitor(), tree=True)
    best = np.array(best_values(S, 4))
    upper = np.array([solution.upper for solution in path.solutions])
    values = np.array([solution.value for solution in path.solutions])
    assert len(path.looked_at) == 5
    assert (upper >= best * (1 - 1e-12)).all()
    # Branch and bound makes the bound equal to the best value, even if the support found is not the best.
    assert upper == pytest.approx(np.maximum(best, values), rel=1e-6)
    for solution in path.solutions:
        block = S[np.ix_(solution.support, solution.support)]
        assert solution.value == pytest.approx(np.linalg.eigvalsh(block)[-1])
    assert all(k <= rows <= some for k, (rows, some) in
               enumerate(zip(path.left_by_rows, path.left_by_variances, strict=True), start=1))  # fmt: skip


def test_the_papers_tables_have_as_many_words_as_they_say():
    for table in (PAPER_DSPCA, PAPER_THRESHOLDED):
        assert [len(table[k].split()) for k in CARDINALITIES] == list(CARDINALITIES)


@needs_data
def test_words(study):
    assert set(study.facts["dspca_words"][2]) == {"hong", "kong"}
    assert set(study.facts["dspca_words"][3]) == {"hong", "kong", "kong's"}
    assert set(study.facts["thresholded_words"][2]) == {"market", "leader"}
    assert {"british", "handover", "colony"} <= set(study.facts["dspca_words"][9])
    assert [len(study.facts["dspca_words"][k]) for k in CARDINALITIES] == list(CARDINALITIES)


@needs_data
def test_dspca_explains_more_and_no_more_than_the_bound(study):
    table = study.tables["china-variance-cardinality"]
    assert (table["DSPCA"] > table["thresholded PCA"]).all()
    assert (table["upper bound"] >= table["DSPCA"] * (1 - 1e-12)).all()
    assert study.facts["largest_gap"] < 0.1
    gains = table["DSPCA"] / table["thresholded PCA"] - 1
    assert study.facts["gains"] == pytest.approx(gains.to_list())


@needs_data
def test_elimination_counts_tokens_by_their_variance(study):
    reuters = load_reuters_c50()
    rows = reuters.data[reuters.mentions_china] > 0
    share = np.asarray(rows.mean(axis=0)).ravel()
    variances = share * (1 - share) * rows.shape[0] / (rows.shape[0] - 1)
    for rho, number in study.facts["left_by_penalty"].items():
        assert number == (variances > rho).sum()
    assert (study.facts["articles"], study.facts["tokens"]) == (1114, 41_947)
    assert study.facts["left_by_rows"][:3] == [2, 2, 9]


@needs_data
def test_the_page_and_the_files(study, tmp_path):
    written = {path.name for path in study.write(tmp_path)}
    assert {f"{name}.png" for name in study.figures} <= written
    assert {f"{name}.csv" for name in study.tables} <= written
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "1,114 articles of Reuters" in page
    assert "seed 0" in page
    assert len(study.statements) == 7
