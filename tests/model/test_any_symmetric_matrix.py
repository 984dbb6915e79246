"""Components of symmetric matrices that are not covariances."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from helpers import best_value, bound_of, certified, path_of
from laconic import SparsePCA, verify
from laconic.bounds.names import SOLVERS
from laconic.methods import Dspca, Penalized
from symmetric import check_random_problem, random_symmetric

# How many problems the slow test looks at.
PROBLEMS = int(os.environ.get("LACONIC_PROBLEMS", "2000"))
EVERY_METHOD = tuple(sorted(set(SOLVERS) - {"gpower-l1-block", "gpower-l0-block"}))
ROWS = np.random.default_rng(7).standard_normal((60, 8)) @ np.random.default_rng(8).standard_normal((8, 8))


@pytest.mark.parametrize("seed", range(100))
def test_both_bounds_hold(seed):
    check_random_problem(seed)


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_both_bounds_hold_for_every_method_and_proof(seed):
    check_random_problem(seed, methods=EVERY_METHOD, proofs=("fast", "tight"))


@pytest.mark.slow
def test_no_bound_of_many_problems_is_wrong():
    bounds = 0
    for seed in range(PROBLEMS):
        bounds += check_random_problem(seed, verified=seed % 10 == 0)
        if seed % 1000 == 999:
            print(f"{seed + 1} problems, {bounds} bounds", flush=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_the_functions_take_them_too(seed, proof):
    rng = np.random.default_rng(seed)
    S = random_symmetric(rng, 7)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        bound = bound_of(S, 3, proof, kind="covariance")
        curve = path_of(S, kind="covariance", proof=proof)
        assert bound >= best_value(S, 3) - 1e-12 * np.abs(S).max()
        for k, solution in enumerate(curve.solutions, start=1):
            assert solution.value == pytest.approx(best_value(S, k), rel=1e-9, abs=1e-9 * np.abs(S).max())
            assert solution.upper >= best_value(S, k) - 1e-12 * np.abs(S).max()
        certificate = certified(S, curve.solutions[3].support, proof, kind="covariance")
    assert certificate.lower <= best_value(S, 4) <= certificate.upper
    assert verify(certificate, S)


@pytest.mark.parametrize("seed", range(6))
def test_penalties(seed):
    S = random_symmetric(np.random.default_rng(seed), 6)
    price = 0.2 * max(best_value(S, k) / k for k in range(1, 7))
    best = max(best_value(S, k) - price * k for k in range(1, 7))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        exact = SparsePCA(method=Penalized(price)).fit_covariance(S)
        prices = np.geomspace(0.01, 0.9, 5) * np.abs(S).max()
        found = [SparsePCA(method=Dspca(penalty=rho)).fit_covariance(S) for rho in prices if rho < S.diagonal().max()]
        with pytest.raises(ValueError, match="the solution is zero"):
            SparsePCA(method=Penalized(10 * np.abs(S).max())).fit_covariance(S)
    assert exact.lower_bound_[0] - price * len(exact.supports_[0]) == pytest.approx(best, rel=1e-6)
    for model in found:
        best = best_value(S, len(model.supports_[0]))
        assert model.lower_bound_[0] - 1e-9 * np.abs(S).max() <= best <= model.upper_bound_[0] + 1e-9 * np.abs(S).max()


def _quantiles(correlation):
    """Polychoric-like: what a table of pairs estimates, each pair for itself."""
    noise = np.random.default_rng(3).normal(scale=0.35, size=correlation.shape)
    estimate = np.clip(correlation + noise + noise.T, -0.99, 0.99)
    np.fill_diagonal(estimate, 1.0)
    return estimate


CORRELATIONS = {
    "spearman": scipy.stats.spearmanr(ROWS).statistic,
    "kendall": pd.DataFrame(ROWS).corr(method="kendall").to_numpy(),
    "pairwise": pd.DataFrame(np.where(np.random.default_rng(0).uniform(size=ROWS.shape) < 0.6, np.nan, ROWS)).corr(),
    "polychoric": _quantiles(np.corrcoef(ROWS, rowvar=False)),
    "three digits": np.round(np.corrcoef(ROWS[:5], rowvar=False), 3),
}


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_as_people_have_them(name):
    S = np.asarray(CORRELATIONS[name])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = SparsePCA(2, cardinality=3).fit_covariance(S)
    rounding = np.linalg.eigvalsh(S)[0] >= -1e-6 * np.linalg.eigvalsh(S)[-1]
    assert len(told) == (0 if rounding else 1)
    if name not in ("spearman", "kendall"):
        assert not rounding
    for certificate in model.certificates_:
        outcome = verify(certificate, S)
        assert outcome, outcome.reason


def test_a_triangle_of_correlations():
    S = np.corrcoef(ROWS, rowvar=False)
    with pytest.warns(UserWarning, match="mirrored"):
        model = SparsePCA(cardinality=3).fit_covariance(np.tril(S))
    assert model.lower_bound_[0] == SparsePCA(cardinality=3).fit_covariance(S).lower_bound_[0]


def test_negative_diagonals_are_no_constant_features():
    S = np.diag([1.0, -0.5, 0.0, 0.0])
    S[1, 2] = S[2, 1] = 2.0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = SparsePCA(cardinality=2).fit_covariance(S)
    assert [str(w.message)[:20] for w in told] == ["S is not positive se", "One column does not "]
    assert "will not be selected: 3." in str(told[1].message)
    assert model.supports_[0].tolist() == [1, 2]
    assert model.lower_bound_[0] == pytest.approx(best_value(S, 2))


def test_shares_of_a_trace_that_is_not_positive():
    S = np.array([[-1.0, 2.0, 0.5], [2.0, -1.0, 0.0], [0.5, 0.0, -1.0]])
    with pytest.warns(UserWarning, match="shares of variance are shares of a matrix that is not a covariance"):
        model = SparsePCA(cardinality=2).fit_covariance(S)
    assert model.total_variance_ == -3
    assert model.explained_variance_[0] == pytest.approx(1.0)
    assert np.isnan(model.explained_variance_ratio_).all()
    assert np.isnan(model.summary()["qr_variance"].to_numpy()[:-1]).all()
    assert model.summary()["dense_variance"].notna().all()


@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
def test_components_end_when_no_positive_variance_is_left():
    S = np.diag([2.0, 1.0, -1.0, -3.0])
    model = SparsePCA(2, cardinality=1).fit_covariance(S)
    assert [s.tolist() for s in model.supports_] == [[0], [1]]
    with pytest.raises(ValueError, match=r"Component 3 .* no positive variance is left"):
        SparsePCA(3, cardinality=1).fit_covariance(S)
    with pytest.raises(ValueError, match=r"There is no component to find: no positive"):
        SparsePCA(cardinality=2).fit_covariance(-np.eye(3))


def test_scaling_needs_variances():
    S = np.diag([2.0, 1.0, -1.0])
    with (
        pytest.warns(UserWarning, match="not positive semidefinite"),
        pytest.raises(ValueError, match=r"scale=True divides by standard deviations, and feature 2 has none"),
    ):
        SparsePCA(cardinality=1, scale=True).fit_covariance(S)
    S = np.array([[4.0, 3.0, 0], [3.0, 1.0, 0.1], [0, 0.1, 1.0]])
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = SparsePCA(cardinality=2, scale=True).fit_covariance(S)
    assert model.lower_bound_[0] == pytest.approx(2.5)
    assert verify(model.certificates_[0], S)


@pytest.mark.filterwarnings("ignore:One column does not vary")
def test_small_entries_of_a_feature_without_variance_count():
    S = np.array([[1.0, 5e-4], [5e-4, 0.0]])
    largest = np.linalg.eigvalsh(S)[-1]
    assert bound_of(S, 2) >= largest
    certificate = certified(S, [0, 1])
    assert certificate.lower <= largest <= certificate.upper
    assert verify(certificate, S)
    assert path_of(S).upper_bounds[-1] >= largest
