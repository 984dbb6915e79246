"""Features of small variance are eliminated only if no better support contains them, and the proof says so."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import best_nonnegative, best_value, solved_exactly
from laconic.bounds import reduction
from laconic.bounds import tree as tree_search
from laconic.bounds.reduction import eliminate_by_two_groups
from laconic.bounds.tree import TreeSearch
from laconic.covariance import DenseCovariance, FactorCovariance, covariance_of
from laconic.datasets import spiked_rows
from laconic.proof import proved_upper
from laconic.proof.witness_reduction import TwoGroupsWitness
from laconic.search.auto import Auto
from laconic.search.problem import Problem, Status


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(tree_search, "MOST_WITHOUT_ELIMINATION", 6)
    monkeypatch.setattr(reduction, "SMALLEST_FIRST_GROUP", 4)


def decaying(n, rows, seed, speed):
    """Rows of features whose variance falls, two groups of them correlated."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, n))
    X[:, ::3] += rng.standard_normal((rows, 1))
    X *= np.exp(-speed * np.arange(n))
    return (X - X.mean(axis=0)) / np.sqrt(rows)


def unproved(problem):
    """A good support, though looking at every one may have proved it the best."""
    return replace(Auto().solve(problem), status=Status.LOCAL, estimate=np.inf, witness=None)


@pytest.mark.parametrize("speed", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_against_every_support(seed, speed):
    k = 2 + seed % 4
    A = decaying(13, 4 if seed % 2 else 30, seed, speed)
    S = A.T @ A
    S = 0.5 * (S + S.T)
    truth = best_value(S, k)
    for covariance in (FactorCovariance(A), DenseCovariance(S)):
        problem = Problem(covariance, k)
        found = TreeSearch().search(problem, unproved(problem))
        assert found.status is Status.COMPLETE
        assert found.value == pytest.approx(truth, rel=1e-9)
        elimination = eliminate_by_two_groups(TreeSearch().limited, problem, found, found.value)
        if elimination is None:
            continue
        assert isinstance(found.witness, TwoGroupsWitness)
        assert np.isin(found.support, elimination.kept).all()
        assert truth * (1 - 1e-12) <= proved_upper(covariance, k, found.witness) <= found.estimate * (1 + 1e-9)


def test_fast_decay_eliminates_features():
    A = decaying(13, 30, 0, 0.6)
    problem = Problem(FactorCovariance(A), 3)
    first = unproved(problem)
    elimination = eliminate_by_two_groups(TreeSearch().limited, problem, first, first.value)
    assert elimination is not None
    assert len(elimination.kept) < 8


def test_equal_variances_eliminate_nothing():
    S = np.full((12, 12), 0.3) + 0.7 * np.eye(12)
    problem = Problem(DenseCovariance(S), 3)
    first = Auto().solve(problem)
    assert eliminate_by_two_groups(TreeSearch().limited, problem, first, first.value) is None


@pytest.mark.parametrize("seed", range(2))
def test_with_features_forced_in_and_with_signs(seed):
    A = decaying(12, 20, seed, 0.3)
    S = A.T @ A
    S = 0.5 * (S + S.T)
    forced = np.array([7, 10])
    problem = Problem(DenseCovariance(S), 4, forced=forced)
    found = TreeSearch().search(problem, unproved(problem))
    assert np.isin(forced, found.support).all()
    assert found.value == pytest.approx(best_value(S, 4, forced=forced), rel=1e-9)
    assert best_value(S, 4, forced=forced) <= found.estimate * (1 + 1e-12)
    three = Problem(DenseCovariance(S), 4, forced=np.array([2, 7, 10]))
    assert np.isin(three.forced, TreeSearch().search(three, unproved(three)).support).all()
    problem = Problem(DenseCovariance(S), 3, nonnegative=True)
    signed = TreeSearch().search(problem, unproved(problem))
    assert signed.value == pytest.approx(best_nonnegative(S, 3), rel=1e-9)


def test_thousands_of_features_of_falling_variance_are_proved(monkeypatch):
    monkeypatch.undo()
    rows = spiked_rows(60, 8000, 6, signal=60.0, random_state=0).data * np.linspace(1, 0.1, 8000)
    covariance = covariance_of(rows, center=True, scale=False)[0]
    found = solved_exactly(Problem(covariance, 4))
    assert found.status is Status.COMPLETE
    assert found.value <= proved_upper(covariance, 4, found.witness) <= found.value * (1 + 1e-6)
