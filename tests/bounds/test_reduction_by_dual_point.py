"""Many features: those eliminated before the search belong to no better support, and the proof says so."""

import numpy as np
import pytest

from helpers import best_value, random_psd, solved_exactly
from laconic.bounds import reduction_by_dual_point
from laconic.bounds import tree as tree_search
from laconic.bounds.reduction_by_dual_point import eliminate_by_dual_point
from laconic.bounds.tree import TreeSearch
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.proof import proved_upper
from laconic.search.auto import Auto
from laconic.search.problem import Problem, Status
from laconic.search.support import finish


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(tree_search, "MOST_WITHOUT_ELIMINATION", 6)
    monkeypatch.setattr(reduction_by_dual_point, "FIRST_CORE", 5)


def decaying(n, rows, seed, *, correlation=False):
    """Rows of a component hidden in features of falling variance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, n)) * np.linspace(1.5, 0.3, n)
    X[:, ::3] += rng.standard_normal((rows, 1))
    X -= X.mean(axis=0)
    return X / (X.std(axis=0) * np.sqrt(rows)) if correlation else X / np.sqrt(rows)


@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_against_every_support(seed, correlation):
    k = 2 + seed % 4
    A = decaying(14, 4 if seed % 2 else 30, seed, correlation=correlation)
    S = A.T @ A
    S = 0.5 * (S + S.T)
    truth = best_value(S, k)
    for covariance in (FactorCovariance(A), DenseCovariance(S)):
        found = solved_exactly(Problem(covariance, k))
        assert found.status is Status.COMPLETE
        assert found.value == pytest.approx(truth, rel=1e-9)
        assert truth <= found.estimate <= truth * (1 + 2e-6)
        if found.witness is not None:
            assert truth * (1 - 1e-12) <= proved_upper(covariance, k, found.witness) <= found.estimate * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_dual_points_put_features_out_and_the_proof_is_whole(seed):
    A = decaying(60, 40, seed, correlation=True)
    problem = Problem(FactorCovariance(A), 8)
    whole = TreeSearch().search_all(problem, Auto().solve(problem), quick=False)
    elimination = eliminate_by_dual_point(problem, whole, whole.value)
    assert elimination.decision is not None
    assert len(elimination.kept) < len(elimination.earlier.kept)
    assert np.isin(whole.support, elimination.kept).all()
    found = solved_exactly(problem)
    assert found.value == pytest.approx(whole.value, rel=1e-9)
    assert whole.value <= proved_upper(problem.covariance, 8, found.witness) <= found.estimate * (1 + 1e-9)


def test_what_rounding_could_undo_puts_no_feature_out(monkeypatch):
    """Roundings as large as what the features put out are short of."""
    problem = Problem(FactorCovariance(decaying(60, 40, 0, correlation=True)), 8)
    first = Auto().solve(problem)
    counts = []
    for rounding in (reduction_by_dual_point.EPS, 1e-5, 1e-4):
        monkeypatch.setattr(reduction_by_dual_point, "EPS", rounding)
        decision = eliminate_by_dual_point(problem, first, first.value).decision
        counts.append(0 if decision is None else len(decision.decisions[0].out))
    assert counts[0] >= counts[1] >= counts[2]
    assert counts[0] > 0 == counts[2]


@pytest.mark.parametrize("share", [0.9, 1.0, 1.5])
def test_a_target_that_the_first_support_does_not_reach(share):
    """Supports of the target or less are of no interest, whatever was given to start with."""
    S = random_psd(12, seed=3)
    problem = Problem(DenseCovariance(S), 3)
    truth = best_value(S, 3)
    poor = finish(problem, np.array([0, 1, 2]), Status.LOCAL, method="")
    found = TreeSearch().search(problem, poor, share * truth)
    assert found.value >= poor.value
    assert found.value == pytest.approx(np.linalg.eigvalsh(S[np.ix_(found.support, found.support)])[-1], rel=1e-9)
    assert max(truth, found.value) <= found.estimate <= max(truth, share * truth) * (1 + 1e-6)
    if share < 1:
        assert found.value == pytest.approx(truth, rel=1e-9)


def test_more_than_can_be_searched(monkeypatch):
    monkeypatch.setattr(tree_search, "WRITE_OUT_LIMIT", 8)
    problem = Problem(DenseCovariance(np.eye(20) + 0.01 * random_psd(20, seed=1)), 5)
    with pytest.warns(UserWarning, match="20 features may belong to a better support, and at most 8 are searched"):
        found = solved_exactly(problem)
    assert found.status is not Status.COMPLETE
    assert len(found.support) == 5
