"""The study of newsgroups finds the paper's words, and proves bounds."""

import numpy as np
import pytest
from studies.data import load_news100

from helpers import best_value
from studies import news


@pytest.fixture(scope="module")
def study(data_folder):  # noqa: ARG001 - it skips without data
    return news.run(quick=True)


@pytest.fixture(scope="module")
def S(data_folder):  # noqa: ARG001 - it skips without data
    return np.cov(load_news100().data.toarray(), rowvar=False)


def test_smallest_by_the_rule_is_proved_on_a_small_matrix():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 11))
    X[:, :4] += 2 * rng.standard_normal((30, 1))
    X[:, 4:7] += 1.5 * rng.standard_normal((30, 1))
    S = np.cov(X, rowvar=False)
    components, curves, fewer = news.components_by_rule(S, "projection", 8, proof="tight")
    best = np.array([best_value(S, k) for k in range(1, 9)]) / np.linalg.eigvalsh(S)[-1]
    k = 1 + int(np.argmax(best >= 0.9))
    assert (components[0] != 0).sum() == k
    assert fewer[0] == pytest.approx(best[k - 2], rel=1e-5)
    assert fewer[0] >= best[k - 2] * (1 - 1e-12)
    assert (curves[0].uppers >= best * curves[0].dense * (1 - 1e-12)).all()
    assert curves[0].gaps[k - 1] <= 1e-6


def test_penalties_give_the_sizes_asked_for():
    S = np.eye(11) + 0.002
    S[:4, :4] += 0.08
    S[4:7, 4:7] += 0.06
    components, shares, _, _ = news.components_by_penalty(S, "hotelling", [4, 3], 12)
    assert [np.flatnonzero(z).tolist() for z in components] == [[0, 1, 2, 3], [4, 5, 6]]
    assert shares[0] == pytest.approx(np.linalg.eigvalsh(S[:4, :4])[-1] / np.linalg.eigvalsh(S)[-1])


def test_the_papers_words_are_found_again(study):
    facts = study.facts
    assert news.SIZES == [30, 26, 10]
    assert facts["overlaps"] == [30, 26, 9]
    assert facts["same_order"] == [True, True, False]
    assert (facts["missing"][2], facts["extra"][2]) == (["question"], ["computer"])
    assert facts["penalized_shares"][2] > facts["paper_shares"][2]


def test_fewer_words_keep_ninety_per_cent(study, S):
    assert study.facts["rule_cardinalities"] == [20, 23, 8]
    names = load_news100().feature_names
    support = [names.index(word) for word in study.tables["news-words"]["component 1, 90 % rule"] if word]
    share = np.linalg.eigvalsh(S[np.ix_(support, support)])[-1] / np.linalg.eigvalsh(S)[-1]
    assert len(support) == 20
    assert share == pytest.approx(study.facts["rule_shares"][0])
    assert share >= 0.9


def test_bounds_lie_above_values(study, S):
    table = study.tables["news-variance-cardinality"]
    assert (table["upper_bound"] >= table["value"]).all()
    assert (table["upper_bound"] <= 1.1 * table["value"]).all()
    # The best 20 words keep 0.904267 of the ordinary component's variance. The full study proves this.
    bound = table.query("component == 1 and cardinality == 20")["upper_bound"].item()
    assert bound >= 0.904266 * np.linalg.eigvalsh(S)[-1]


def test_dense_components_and_deflations(study, S):
    eigenvalues = np.linalg.eigvalsh(S)[::-1]
    assert eigenvalues[:3] / eigenvalues.sum() == pytest.approx([0.055, 0.052, 0.032], abs=6e-4)
    assert study.facts["cumulative"] == pytest.approx(np.cumsum(eigenvalues) / eigenvalues.sum())
    assert all(numbers[:2] == [20, 23] for numbers in study.facts["deflations"].values())
    assert study.facts["lowest"] < -0.1


def test_the_page_and_the_files(study, tmp_path):
    page = study.write(tmp_path).read_text(encoding="utf-8")
    assert "30 of 30, 26 of 26 and 9 of 10 words are the same" in page
    assert page.count("\n| ") == 9 + 1
