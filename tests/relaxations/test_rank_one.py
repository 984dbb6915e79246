"""Solutions of rank one: closed forms, agreement with the splitting, and a bound that holds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import best_value, random_psd
from laconic.datasets import load_pitprops, spiked_covariance, spiked_rows
from laconic.relaxations import CardinalityForm, PenaltyForm, Splitting, dual_bound
from laconic.relaxations.rank_one import _nearest, at_once, best_pair, penalized_vector, solve_rank_one

PITPROPS = load_pitprops().covariance
SPIKED = np.cov(spiked_rows(60, 25, 5, signal=3.0, random_state=0).data.T)


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
@pytest.mark.parametrize("make", [CardinalityForm, lambda k: PenaltyForm(0.5 / k)], ids=["cardinality", "penalty"])
def test_agrees_with_the_splitting(S, make):
    solved = 0
    for k in range(2, 11):
        form = make(k)
        found, other = solve_rank_one(S, form, 1e-6), Splitting(tolerance=1e-7).solve(S, form)
        if found is None:
            continue
        solved += 1
        assert found.gap <= 1e-6
        assert found.dual >= other.primal
        assert found.primal <= other.dual
        assert found.tight
        U, X = found.dual_matrix(S), found.X
        assert np.abs(U).max() <= found.level * (1 + 1e-12)
        assert form.dual(np.linalg.eigvalsh(S + U)[-1], found.level) <= found.dual
        assert np.trace(X) == pytest.approx(1)
        off = np.abs(X).sum() - 1
        assert form.primal(np.sum(S * X), S.diagonal() @ X.diagonal(), off) == pytest.approx(found.primal)
    assert solved >= 6


def test_one_feature_is_left_by_a_large_penalty():
    S = np.diag([1.0, 3.0, 2.0]) + 0.1
    found = solve_rank_one(S, PenaltyForm(0.2), 1e-9)
    assert found is not None
    np.testing.assert_allclose(np.abs(found.vector), [0, 1, 0])
    assert found.dual == pytest.approx(3.1 - 0.2)


def test_cardinality_one_is_the_largest_variance():
    S = np.diag([1.0, 3.0, 2.0]) + 0.1
    found = solve_rank_one(S, CardinalityForm(1), 1e-9)
    assert found is not None
    np.testing.assert_allclose(np.abs(found.vector), [0, 1, 0])
    assert found.primal == found.dual == pytest.approx(3.1)
    assert found.upper_bound(1) == pytest.approx(3.1)


@pytest.mark.parametrize("seed", range(3))
def test_two_features_of_a_correlation_matrix_are_known_at_once(seed):
    S = np.corrcoef(np.random.default_rng(seed).standard_normal((20, 40)).T)
    found = Splitting().solve(S, CardinalityForm(2))
    assert found.iterations == 0
    assert found.gap <= 1e-12
    assert found.primal == pytest.approx(best_value(S, 2))
    off = np.abs(S - np.diag(S.diagonal())).max()
    # Above the sum itself, not only above what is left of it by rounding.
    assert Fraction(found.dual) >= Fraction(float(S.diagonal().max())) + Fraction(float(off))
    assert found.dual == pytest.approx(1 + off)
    assert found.upper_bound(2) == pytest.approx(found.dual)
    assert np.abs(found.dual_matrix(S)).max() <= found.level == off


def test_what_is_known_at_once_is_proved():
    S = np.diag([1.0, 3.0, 2.0]) + 0.1
    assert at_once(S, CardinalityForm(2), 1e-4) is None
    assert at_once(S, CardinalityForm(3), 0.5) is None
    assert at_once(S, PenaltyForm(0.09), 0.5) is None
    rough = at_once(S, CardinalityForm(2), 0.1)
    assert rough is not None
    assert rough.primal == pytest.approx(best_value(S, 2))
    assert rough.dual == pytest.approx(3.2)


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
def test_a_wide_ball_leaves_the_leading_eigenvector(S):
    values, vectors = np.linalg.eigh(S)
    k = int(np.ceil(np.abs(vectors[:, -1]).sum() ** 2))
    found = solve_rank_one(S, CardinalityForm(k), 1e-6)
    assert found is not None
    assert found.level == 0
    assert found.primal == pytest.approx(values[-1], rel=1e-12)
    assert values[-1] <= found.dual <= values[-1] * (1 + 1e-6)


def test_what_was_pushed_down_nearby_is_a_start_on_other_features():
    S = spiked_covariance(60, 60, 15, signal=23.0, random_state=0).covariance
    near, pushed, on_others = None, 0, 0
    for rho in S.diagonal().max() / np.arange(20, 3, -1):
        found = solve_rank_one(S, PenaltyForm(rho), 1e-4, near)
        if found is None:
            continue
        largest = np.linalg.eigvalsh(S + found.dual_matrix(S))[-1]
        assert largest - rho <= found.dual <= found.primal * (1 + 1e-4)
        pushed += found.iterations > 0
        on_others += near is not None and len(near.keep) != len(found.keep)
        near = found
    assert pushed
    assert on_others


@pytest.mark.parametrize("k", range(2, 7))
def test_a_block_of_equal_entries_has_a_closed_form(k):
    S = np.zeros((9, 9))
    S[:6, :6] = 0.5
    np.fill_diagonal(S, 1.0)
    found = solve_rank_one(S, CardinalityForm(k), 1e-6)
    assert found is not None
    assert found.primal == pytest.approx(1 + (k - 1) * 0.5)
    assert found.dual == pytest.approx(found.primal)


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_holds_the_truth(seed):
    S = random_psd(8, seed=seed)
    for k in range(1, 9):
        found = solve_rank_one(S, CardinalityForm(k), 1e-4)
        if found is not None:
            assert best_value(S, k) <= found.dual
            assert dual_bound(S, found.dual_matrix(S), k) <= found.dual * (1 + 1e-12)


@pytest.mark.parametrize("k", range(4, 9))
def test_no_result_where_the_rank_is_two(k):
    # Between a strong block of three and a weak one of nine the relaxation mixes both.
    S = np.zeros((12, 12))
    S[:3, :3], S[3:, 3:] = 0.9, 0.5
    np.fill_diagonal(S, 1.0)
    assert solve_rank_one(S, CardinalityForm(k), 1e-4) is None


@given(st.integers(1, 9), st.integers(0, 50))
def test_nearest_vector_of_the_ball(k, seed):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(10)
    z = _nearest(v, k)
    assert np.linalg.norm(z) == pytest.approx(1)
    assert np.abs(z).sum() <= np.sqrt(k) * (1 + 1e-9)
    # No feasible vector does better: candidates are shrunk copies of v and single features.
    for other in [np.where(np.abs(v) >= cut, v, 0.0) for cut in np.abs(v)]:
        unit = other / np.linalg.norm(other)
        if np.abs(unit).sum() <= np.sqrt(k):
            assert v @ z >= v @ unit - 1e-9


def test_penalized_vector_is_stationary():
    rho = 0.2
    z = penalized_vector(PITPROPS, np.linalg.eigh(PITPROPS)[1][:, -1], rho)
    assert z is not None
    pull = PITPROPS @ z - rho * np.abs(z).sum() * np.sign(z)
    on = z != 0
    np.testing.assert_allclose(pull[on], (z @ pull) * z[on], atol=1e-10)
    assert np.abs((PITPROPS @ z)[~on]).max() <= rho * np.abs(z).sum() * (1 + 1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_best_pair(scale):
    S = scale * random_psd(7, seed=3)
    z = best_pair(S)
    assert np.count_nonzero(z) == 2
    assert z @ S @ z == pytest.approx(best_value(S, 2))
