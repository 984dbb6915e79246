"""Features that are left out against exhaustive search: no better support contains them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import PROBLEMS, SEEDS, best_value, case, random_psd
from laconic.bounds import reduction
from laconic.bounds.prove import prove
from laconic.bounds.reduction import kept_by_penalty, large_variances, reduced_by_rows
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.datasets import spiked_rows
from laconic.relaxations.l1 import PenaltyForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.search import Auto
from laconic.search.problem import Problem, Status
from laconic.search.support import finish
from matrices import MORE as KINDS
from matrices import supports


def values_of_all(S):
    """The largest eigenvalue on every support of every size: a list over k = 1..n."""
    n = len(S)
    return [
        np.linalg.eigvalsh(S[T[:, :, None], T[:, None, :]])[:, -1] for T in (supports(n, k) for k in range(1, n + 1))
    ]


def best_of(S, values, k):
    """The best support of a size as a solution, and all features of supports that are as good or better than some."""
    covariance = DenseCovariance(S, semidefinite=False)
    best = finish(Problem(covariance, k), supports(len(S), k)[np.argmax(values[k - 1])], Status.LOCAL, method="")
    return covariance, best


def features_of(values, n, k, least, size):
    return set(supports(n, k)[values[k - 1] >= least + 1e-12 * size].ravel().tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_no_feature_of_a_better_support_is_left_out_by_rows(kind):
    """With the sharpest numbers there are: the best value of one feature fewer, and any value to beat."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    left_out = 0
    for _ in range(12):
        n = int(rng.integers(3, 9))
        S = KINDS[kind](n, int(rng.integers(10**6)))
        S = 0.5 * (S + S.T)
        values, size = values_of_all(S), np.abs(S).max()
        for k in range(2, n + 1):
            covariance, best = best_of(S, values, k)
            for value in (values[k - 1].max(), np.quantile(values[k - 1], 0.7)):
                found = reduced_by_rows(covariance, k, value, values[k - 2].max(), best)
                if found is None:
                    continue
                assert features_of(values, n, k, max(found.reach, value), size) <= set(found.kept.tolist())
                assert np.isin(best.support, found.kept).all()
                assert value <= 0 or found.reach < value
                left_out += n - len(found.kept)
    alike = {"equicorrelated", "negative correlations", "signs", "zero", "one large variance"}
    assert left_out > 0 or kind in alike or "diagonal" in kind


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_of_covariance(problem, seed):
    covariance, S = case(problem, seed)
    values, size = values_of_all(np.asarray(S)), np.abs(S).max()
    for k in range(2, len(S) + 1):
        best = finish(Problem(covariance, k), supports(len(S), k)[np.argmax(values[k - 1])], Status.LOCAL, method="")
        found = reduced_by_rows(covariance, k, best.value, values[k - 2].max(), best)
        kept = set(range(len(S))) if found is None else set(found.kept.tolist())
        assert features_of(values, len(S), k, best.value, size) <= kept


def test_too_many_strong_rows_are_not_used(monkeypatch):
    """Without anchors fewer features are left out."""
    A = spiked_rows(60, 30, 5, signal=8.0, rng=0).data
    S = np.corrcoef(A, rowvar=False)
    covariance = DenseCovariance(S)
    best = Auto().solve(Problem(covariance, 5))
    smaller = float(np.sort(np.abs(S), axis=1)[:, -4:].sum(axis=1).max())
    anchored = reduced_by_rows(covariance, 5, best.value, smaller, best)
    monkeypatch.setattr(reduction, "MOST_STRONG", 0)
    plain = reduced_by_rows(covariance, 5, best.value, smaller, best)
    assert len(anchored.strong)
    assert not len(plain.strong)
    assert set(anchored.kept) <= set(plain.kept)


def decaying(n, rows, seed, speed):
    """Rows of features whose variance falls, two groups of them correlated."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, n))
    X[:, ::3] += rng.standard_normal((rows, 1))
    X *= np.exp(-speed * np.arange(n))
    return (X - X.mean(axis=0)) / np.sqrt(rows)


@pytest.mark.parametrize("speed", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_features_of_small_variance_are_hidden_and_the_proof_says_why(seed, speed, monkeypatch):
    """Few features are treated as many: those of small variance are left out, in factors and arrays."""
    monkeypatch.setattr(reduction, "FEWEST", 4)
    monkeypatch.setattr("laconic.bounds.prove.SMALL", 5)
    monkeypatch.setattr("laconic.bounds.prove.FEW_SUPPORTS", 0)
    k = 2 + seed % 4
    A = decaying(13, 4 if seed % 2 else 30, seed, speed)
    S = 0.5 * (A.T @ A + (A.T @ A).T)
    truth = best_value(S, k)
    for covariance in (FactorCovariance(A), DenseCovariance(S)):
        problem = Problem(covariance, k)
        first = Auto(exhaustive=0).solve(problem)
        best, bound = prove(problem, first, "exact")
        assert best.value == pytest.approx(truth, rel=1e-9)
        assert truth * (1 - 1e-12) <= bound.value <= truth * (1 + 1.1e-6)
    kept = large_variances(FactorCovariance(A), np.arange(13), best, best.value)
    assert kept is not None or speed < 0.6 or k > 3
    assert kept is None or np.isin(best.support, kept).all()


def test_equal_variances_leave_nothing_out():
    S = np.full((412, 412), 0.3) + 0.7 * np.eye(412)
    problem = Problem(DenseCovariance(S, spread=np.zeros(412)), 3)
    first = Auto().solve(problem)
    assert large_variances(problem.covariance, np.arange(412), first, first.value) is None


def test_variances_alone_say_nothing_of_an_indefinite_matrix():
    S = np.diag(np.r_[5.0, 4.0, np.zeros(500)])
    S[500, 501] = S[501, 500] = 20.0
    first = finish(Problem(DenseCovariance(S, semidefinite=False), 2), np.array([0, 1]), Status.LOCAL, method="")
    assert large_variances(DenseCovariance(S, semidefinite=False), np.arange(502), first, 5.0) is None


@pytest.mark.parametrize(
    "kind", ["gaussian", "decaying", "indefinite", "deflated", "diagonal", "duplicated and zero columns"]
)
def test_the_penalised_problem_needs_only_what_is_kept(kind):
    rng = np.random.default_rng(3)
    removed = 0
    for _ in range(30):
        S = KINDS[kind](6, int(rng.integers(10**6)))
        for rho in np.quantile(np.abs(S), [0.2, 0.5, 0.9]):
            best = max(v.max() - k * rho for k, v in enumerate(values_of_all(S), 1))
            kept = kept_by_penalty(DenseCovariance(S), float(rho))
            removed += 6 - len(kept)
            left = values_of_all(S[np.ix_(kept, kept)]) if len(kept) else []
            reached = max((v.max() - k * rho for k, v in enumerate(left, 1)), default=-np.inf)
            # With nothing selected at all the penalised value is zero.
            assert max(reached, 0.0) == pytest.approx(max(best, 0.0), abs=1e-9 * np.abs(S).max())
    assert removed > 0 or kind == "indefinite"


def test_penalty_of_the_l1_relaxation():
    S = np.array([[100.0, 9.0], [9.0, 0.9]])
    assert list(kept_by_penalty(DenseCovariance(S), 1.0)) == [0]
    assert list(Splitting().solve(S, PenaltyForm(9.0)).keep) == []
    # The second feature is in the solution of the relaxation, as the docstring says.
    with_both = Splitting(tolerance=1e-9).solve(S, PenaltyForm(1.0))
    assert list(with_both.keep) == [0, 1]
    assert with_both.primal > 100 - 1 + 0.1
    assert abs(with_both.vector[1]) > 1e-3
    with pytest.raises(ValueError, match=r"rho=-1\.0 must not be negative"):
        kept_by_penalty(DenseCovariance(S), -1.0)


@given(seed=st.integers(0, 10_000), data=st.data())
def test_forced_features_stay(seed, data):
    n = data.draw(st.integers(2, 7))
    S = random_psd(n, seed=seed) * np.outer(0.5 ** np.arange(n), 0.5 ** np.arange(n))
    k = data.draw(st.integers(2, n))
    forced = np.sort(data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1, max_size=k)))
    problem = Problem(DenseCovariance(S), k, forced=forced)
    first = Auto().solve(problem)
    found = reduced_by_rows(problem.covariance, k, first.value, float(S.trace()), first)
    assert found is None or np.isin(forced, found.kept).all()
