"""The study of articles on China: bounds for all tokens, words, and elimination."""

import numpy as np
import pytest
from studies.china import CARDINALITIES, PAPER_DSPCA, PAPER_THRESHOLDED, find_path
from studies.data import load_reuters_c50

from helpers import best_value
from laconic.covariance import DenseCovariance
from studies import china


@pytest.fixture(scope="module")
def study(data_folder):  # noqa: ARG001 - it skips without data
    return china.run(quick=True)


@pytest.mark.parametrize("seed", range(2))
def test_the_best_of_all_is_proved_though_few_are_looked_at(seed):
    X = np.random.default_rng(seed).standard_normal((15, 11)) * np.linspace(1.5, 0.3, 11)
    S = np.cov(X, rowvar=False)
    path = find_path(DenseCovariance(S), float(np.median(S.diagonal())), 4, proof="exact")
    best = np.array([best_value(S, k) for k in range(1, 5)])
    upper, values = (np.array([getattr(s, name) for s in path.solutions]) for name in ("upper", "value"))
    assert len(path.looked_at) == 5
    assert (upper >= best * (1 - 1e-12)).all()
    # A proof makes the bound equal to the best value, even if the support found is not the best.
    assert upper == pytest.approx(np.maximum(best, values), rel=1e-6)
    for solution in path.solutions:
        block = S[np.ix_(solution.support, solution.support)]
        assert solution.value == pytest.approx(np.linalg.eigvalsh(block)[-1])
    assert (np.arange(1, 5) <= path.left_by_rows).all()
    assert (np.array(path.left_by_rows) <= path.left_by_variances).all()


def test_the_papers_tables_have_as_many_words_as_they_say():
    for table in (PAPER_DSPCA, PAPER_THRESHOLDED):
        assert [len(table[k].split()) for k in CARDINALITIES] == list(CARDINALITIES)


@pytest.mark.slow
def test_words(study):
    dspca = study.facts["dspca_words"]
    assert set(dspca[2]) == {"hong", "kong"}
    assert set(dspca[3]) == {"hong", "kong", "kong's"}
    assert {"british", "handover", "colony"} <= set(dspca[9])
    assert set(study.facts["thresholded_words"][2]) == {"market", "leader"}
    assert all(len(dspca[k]) == k for k in CARDINALITIES)


@pytest.mark.slow
def test_dspca_explains_more_and_no_more_than_the_bound(study):
    table = study.tables["china-variance-cardinality"]
    assert (table["DSPCA"] > table["thresholded PCA"]).all()
    assert (table["upper bound"] >= table["DSPCA"] * (1 - 1e-12)).all()
    assert study.facts["gaps"].max() < 0.1


@pytest.mark.slow
def test_elimination_counts_tokens_by_their_variance(study):
    reuters = load_reuters_c50()
    rows = reuters.data[reuters.mentions_china] > 0
    share = np.asarray(rows.mean(axis=0)).ravel()
    variances = share * (1 - share) * rows.shape[0] / (rows.shape[0] - 1)
    for rho, number in study.facts["left_by_penalty"].items():
        assert number == (variances > rho).sum()
    assert (study.facts["articles"], study.facts["tokens"]) == (1114, 41_947)
    assert study.facts["left_by_rows"][:3] == [2, 2, 9]


@pytest.mark.slow
def test_the_page_and_the_files(study, tmp_path):
    page = study.write(tmp_path).read_text(encoding="utf-8")
    assert "1,114 articles of Reuters" in page
    assert page.count("\n| ") == 7 + 1
