import os
from pathlib import Path

import numpy as np
import pytest

from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.datasets import load_news100
from laconic.search.exhaustive import Exhaustive
from laconic.search.problem import Problem
from laconic.studies import Settings, get_study
from laconic.studies.news import PAPER_WORDS
from laconic.studies.news_components import components_by_penalty, components_by_rule

FOLDER = os.environ.get("LACONIC_DATA", "")
needs_data = pytest.mark.skipif(
    not FOLDER or not Path(FOLDER).is_dir(), reason="the environment variable LACONIC_DATA names no folder"
)


@pytest.fixture(scope="module")
def study():
    return get_study("news")(Settings(quick=True))


@pytest.fixture(scope="module")
def S():
    return np.cov(load_news100().data.toarray(), rowvar=False)


def small_covariance():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 11))
    X[:, :4] += 2 * rng.standard_normal((30, 1))
    X[:, 4:7] += 1.5 * rng.standard_normal((30, 1))
    return np.cov(X, rowvar=False)


def test_the_papers_lists_have_the_sizes_it_gives():
    assert [len(column) for column in PAPER_WORDS] == [30, 26, 10]
    assert all(len(set(column)) == len(column) for column in PAPER_WORDS)


def test_smallest_by_the_rule_is_proved_on_a_small_matrix():
    S = small_covariance()
    run = components_by_rule(DenseCovariance(S), "projection", 8, Monitor(), proof="tight")
    best = [Exhaustive().solve(Problem(DenseCovariance(S), k)).value for k in range(1, 9)]
    largest = np.linalg.eigvalsh(S)[-1]
    k = 1 + next(i for i, value in enumerate(best) if value >= 0.9 * largest)
    assert run.cardinalities[0] == k
    assert run.fewer[0] == pytest.approx(best[k - 2] / largest, rel=1e-5)
    assert run.fewer[0] >= best[k - 2] / largest
    assert (run.paths[0].upper_bounds >= np.array(best) * (1 - 1e-12)).all()
    assert run.choices[0].solution.gap <= 1e-6


def test_penalties_give_the_sizes_asked_for():
    S = np.eye(11) + 0.002
    S[:4, :4] += 0.08
    S[4:7, 4:7] += 0.06
    run = components_by_penalty(DenseCovariance(S), "hotelling", [np.arange(4), np.arange(4, 7)], 12, Monitor())
    assert [sorted(choice.solution.support) for choice in run.choices] == [[0, 1, 2, 3], [4, 5, 6]]
    largest = np.linalg.eigvalsh(S)[-1]
    assert run.papers[0] == pytest.approx(np.linalg.eigvalsh(S[:4, :4])[-1] / largest)
    assert run.choices[0].share == pytest.approx(run.papers[0])


@needs_data
def test_the_papers_words_are_found_again(study):
    facts = study.facts
    assert facts["overlaps"] == [30, 26, 9]
    assert facts["same_order"] == [True, True, False]
    assert (facts["missing"][2], facts["extra"][2]) == (["question"], ["computer"])
    assert facts["penalized_shares"][2] > facts["paper_shares"][2]


@needs_data
def test_fewer_words_keep_ninety_per_cent(study, S):
    assert study.facts["rule_cardinalities"] == [20, 23, 8]
    table = study.tables["news-words"]
    names = load_news100().feature_names
    words = [word for word in table["component 1, 90 % rule"] if word]
    support = [names.index(word) for word in words]
    share = np.linalg.eigvalsh(S[np.ix_(support, support)])[-1] / np.linalg.eigvalsh(S)[-1]
    assert len(words) == 20
    assert share == pytest.approx(study.facts["rule_shares"][0])
    assert share >= 0.9


@needs_data
def test_bounds_lie_above_values(study):
    table = study.tables["news-variance-cardinality"]
    assert (table["upper_bound"] >= table["share"] * (1 - 1e-12)).all()
    assert (table["upper_bound"] <= 1.1 * table["share"]).all()
    # The best 20 words keep 0.904267 of the dense variance. The full study proves this.
    assert table.query("component == 1 and cardinality == 20")["upper_bound"].item() >= 0.904266


@needs_data
def test_dense_components_and_deflations(study, S):
    eigenvalues = np.linalg.eigvalsh(S)[::-1]
    assert study.facts["cumulative"] == pytest.approx(np.cumsum(eigenvalues) / eigenvalues.sum())
    assert study.facts["deflations"]["hotelling"] == study.facts["rule_cardinalities"]
    assert all(numbers[:2] == [20, 23] for numbers in study.facts["deflations"].values())
    assert study.facts["lowest"] < -0.1


@needs_data
def test_the_page_and_the_files(study, tmp_path):
    written = {path.name for path in study.write(tmp_path)}
    assert {f"{name}.png" for name in study.figures} <= written
    assert {f"{name}.csv" for name in study.tables} <= written
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "30 of 30, 26 of 26 and 9 of 10 words are the same" in page
    assert "seed 0" in page
    assert set(study.captions) == set(study.figures)
