"""The l1 relaxation against conic solvers, exhaustive search, its optimality conditions and the literature."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laconic.core.monitor import Monitor
from laconic.datasets import load_pitprops, spiked_rows
from laconic.relaxations.elementary import RelaxationStatus
from laconic.relaxations.l1 import CardinalityForm, FirstOrder, PenaltyForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.relaxations.proposition_2 import optimality_conditions
from matrices import KINDS, truth

PITPROPS = load_pitprops().covariance
L1_KINDS = ["gaussian", "rank 2", "equicorrelated", "blocks", "diagonal", "negative correlations", "tiny", "huge"]


def random_covariance(n, seed, rank=None):
    F = np.random.default_rng(seed).standard_normal((rank or n, n))
    return F.T @ F


def dual_value(S, U, k):
    """lmax(S + U) + (k - 1) max |U_ij|, straight from the formula."""
    return np.linalg.eigvalsh(S + U)[-1] + (k - 1) * np.abs(U).max()


def referee(S, form, solver):
    n = len(S)
    X = cp.Variable((n, n), PSD=True)
    if isinstance(form, PenaltyForm):
        problem = cp.Problem(cp.Maximize(cp.trace(S @ X) - form.rho * cp.sum(cp.abs(X))), [cp.trace(X) == 1])
    else:
        # As the paper writes it, with the diagonal: the same set.
        inside = [cp.trace(X) == 1, cp.sum(cp.abs(X)) <= form.cardinality]
        problem = cp.Problem(cp.Maximize(cp.trace(S @ X)), inside)
    options = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 200_000} if solver == "SCS" else {}
    problem.solve(solver=solver, **options)
    return float(problem.value)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
@pytest.mark.parametrize(("n", "seed"), [(6, 0), (12, 1), (20, 2)])
def test_agrees_with_conic_solvers(n, seed, solver):
    S = random_covariance(n, seed)
    largest = S.diagonal().max()
    for form in (PenaltyForm(0.05 * largest), PenaltyForm(0.3 * largest), CardinalityForm(2), CardinalityForm(n // 3)):
        expected = referee(S, form, solver)
        found = Splitting(tolerance=1e-7).solve(S, form)
        assert found.status is RelaxationStatus.CONVERGED
        assert found.primal == pytest.approx(expected, rel=1e-5)
        assert found.dual == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", L1_KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_optimality_conditions(kind, seed):
    S = KINDS[kind](8, seed)
    scale = S.diagonal().max()
    for form in (PenaltyForm(0.2 * scale), CardinalityForm(3)):
        found = Splitting(tolerance=1e-9).solve(S, form)
        X, U = found.X, found.dual_matrix(S)
        off = ~np.eye(len(S), dtype=bool)
        level = form.rho if isinstance(form, PenaltyForm) else found.level
        # Feasible ...
        assert np.linalg.eigvalsh(X)[0] >= -1e-12
        assert np.trace(X) == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(U, U.T, atol=1e-9 * scale)
        assert np.abs(U[off]).max() <= level * (1 + 1e-12)
        if isinstance(form, CardinalityForm):
            assert np.abs(X[off]).sum() <= form.cardinality - 1 + 1e-9
        # ... and complementary: each term of the gap is non-negative, so a small sum makes all small.
        largest = np.linalg.eigvalsh(S + U)[-1]
        assert abs(largest - np.sum((S + U) * X)) <= 1e-4 * scale
        assert abs(np.sum(U * X) + level * np.abs(X[off]).sum()) <= 1e-4 * scale


@pytest.mark.parametrize("kind", L1_KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_the_truth(kind, seed):
    S = KINDS[kind](8, seed)
    for k in (1, 2, 3, 5, 8):
        best = truth(S, k)
        for tolerance in (0.2, 1e-3, 1e-6):
            found = Splitting(tolerance=tolerance).solve(S, CardinalityForm(k))
            assert found.primal <= found.dual
            assert best <= found.dual * (1 + 1e-12)
            # The bound is what its dual point says it is, for this and every other size.
            U = found.dual_matrix(S)
            assert found.dual == pytest.approx(dual_value(S, U, k), rel=1e-9)
            for size in (1, k, 8):
                assert truth(S, size) <= found.estimate(size)
                assert found.estimate(size) == pytest.approx(dual_value(S, U, size), rel=1e-9)


@given(seed=st.integers(0, 10_000), level=st.floats(0, 3), k=st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_any_dual_point_bounds_every_support(seed, level, k):
    S = random_covariance(6, seed)
    U = np.random.default_rng(seed + 1).uniform(-level, level, (6, 6))
    U = np.triu(U, 1) + np.triu(U, 1).T
    assert truth(S, k) <= dual_value(S, U, k) * (1 + 1e-12)


@pytest.mark.parametrize(("k", "percent"), [(5, 1.525), (10, 1.102)])
def test_pitprops_bounds_of_the_literature(k, percent):
    found = Splitting(tolerance=1e-8).solve(PITPROPS, CardinalityForm(k))
    assert 100 * (found.dual / truth(PITPROPS, k) - 1) == pytest.approx(percent, abs=1e-3)


def test_a_variance_below_the_penalty_does_not_remove_a_feature():
    S = np.array([[100.0, 9.0], [9.0, 0.9]])
    found = Splitting(tolerance=1e-10).solve(S, PenaltyForm(1.0))
    assert list(found.keep) == [0, 1]
    assert abs(found.vector[1]) > 1e-3
    assert found.dual == pytest.approx(referee(S, PenaltyForm(1.0), "CLARABEL"), rel=1e-7)


@pytest.mark.parametrize("seed", range(2))
def test_rank_one_and_sparse_means_proved(seed):
    data = spiked_rows(2000, 20, 4, signal=6.0, rng=seed)
    S = np.cov(data.data.T)
    found = Splitting(tolerance=1e-9).solve(S, CardinalityForm(4))
    assert found.tight
    z = found.vector
    # Proposition 2 at the support the relaxation found, written out from the paper (one rho throughout).
    support = np.sort(np.argsort(-np.abs(z))[:4])
    assert list(support) == sorted(data.support)
    assert optimality_conditions(S, support).optimal
    assert truth(S, 4) == pytest.approx(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1])


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.6])
def test_first_order_method_agrees_with_splitting(rho):
    form = PenaltyForm(rho)
    fast = Splitting(tolerance=1e-8).solve(PITPROPS, form)
    slow = FirstOrder(tolerance=1e-3).solve(PITPROPS, form)
    assert slow.status is RelaxationStatus.CONVERGED
    assert slow.gap <= 1e-3
    assert slow.primal <= fast.dual
    assert fast.primal <= slow.dual
    assert np.abs(slow.multiplier).max() <= rho * (1 + 1e-12)


def test_first_order_steps_stay_within_the_paper_s_bound():
    S = random_covariance(20, 3)
    S /= S.diagonal().max()
    for rho, tolerance in ((0.05, 1e-2), (0.2, 1e-2), (0.2, 2e-3)):
        found = FirstOrder(tolerance=tolerance).solve(S, PenaltyForm(rho))
        epsilon = tolerance * np.linalg.eigvalsh(S)[-1]
        assert found.iterations <= 4 * rho * 20 * np.sqrt(np.log(20)) / epsilon + 20


def test_tolerance_below_rounding_says_so():
    found = Splitting(tolerance=1e-300).solve(PITPROPS, PenaltyForm(0.3))
    assert found.status is RelaxationStatus.PRECISION_LIMIT
    assert found.gap < 1e-10


def test_forms_out_of_range():
    with pytest.raises(ValueError, match=r"rho=0\.0 must be above zero"):
        PenaltyForm(0.0)
    with pytest.raises(ValueError, match="cardinality=0 must be at least 1"):
        CardinalityForm(0)


@pytest.mark.parametrize("solver", [Splitting(tolerance=1e-12), FirstOrder(tolerance=1e-6)])
def test_stopped_runs_return_valid_bounds(solver):
    S = random_covariance(10, 4)
    rho = 0.1 * S.diagonal().max()
    value = Splitting(tolerance=1e-9).solve(S, PenaltyForm(rho)).primal
    for limit in (1e-9, 0.01, 0.05):
        found = solver.solve(S, PenaltyForm(rho), monitor=Monitor(limit))
        assert found.primal <= value * (1 + 1e-8)
        assert found.dual >= value * (1 - 1e-12)
    assert solver.solve(S, PenaltyForm(rho), monitor=Monitor(1e-9)).status is RelaxationStatus.TIME_LIMIT


@pytest.mark.parametrize("form", [CardinalityForm(4), PenaltyForm(0.3)], ids=["k=4", "rho=0.3"])
def test_a_start_leads_to_the_same_value(form):
    alone = Splitting(1e-6).solve(PITPROPS, form)
    assert Splitting(1e-6).solve(PITPROPS, form, start=alone).iterations <= min(5, alone.iterations)
    for near in (CardinalityForm(3), CardinalityForm(1), PenaltyForm(0.4), PenaltyForm(0.9)):
        started = Splitting(1e-6).solve(PITPROPS, form, start=Splitting(1e-6).solve(PITPROPS, near))
        assert started.status is RelaxationStatus.CONVERGED
        assert started.primal <= alone.dual
        assert alone.primal <= started.dual


@pytest.mark.parametrize("form", [CardinalityForm(1), PenaltyForm(0.2)], ids=["k=1", "rho=0.2"])
def test_one_feature_needs_no_step(form):
    S = np.diag([1.0, 3.0, 2.0]) + 0.1
    found = Splitting().solve(S, form)
    assert found.iterations == 0
    np.testing.assert_allclose(np.abs(found.vector), [0, 1, 0])
    assert found.primal == pytest.approx(found.dual, rel=1e-12)
    assert found.estimate(1) == pytest.approx(3.1)
    assert truth(S, 2) <= found.estimate(2)


@pytest.mark.parametrize("seed", range(2))
def test_the_relaxation_finds_the_best_pair_of_a_correlation_matrix(seed):
    S = np.corrcoef(np.random.default_rng(seed).standard_normal((20, 40)).T)
    found = Splitting(1e-8).solve(S, CardinalityForm(2))
    assert found.primal == pytest.approx(truth(S, 2))
    off = np.abs(S - np.diag(S.diagonal())).max()
    # The bound is above the exact sum, not only above the rounded one.
    assert (
        found.primal * (1 + 1e-7) >= Fraction(found.dual) >= Fraction(float(S.diagonal().max())) + Fraction(float(off))
    )


@pytest.mark.parametrize("k", range(2, 7))
def test_a_block_of_equal_entries_has_a_closed_form(k):
    S = np.zeros((9, 9))
    S[:6, :6] = 0.5
    np.fill_diagonal(S, 1.0)
    found = Splitting(1e-8).solve(S, CardinalityForm(k))
    assert found.primal == pytest.approx(1 + (k - 1) * 0.5)
    assert found.dual == pytest.approx(found.primal)


@pytest.mark.parametrize("rho", [0.03, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("S", [PITPROPS, random_covariance(25, 0) / 60], ids=["pitprops", "random"])
def test_a_solution_of_rank_one_with_a_penalty_is_exactly_sparse(S, rho):
    # Also at a loose tolerance, where the iterates have small entries everywhere.
    loose, fine = (Splitting(tolerance).solve(S, PenaltyForm(rho)) for tolerance in (1e-2, 1e-9))
    assert fine.tight
    z = fine.vector
    np.testing.assert_allclose(np.abs(loose.vector), np.abs(z), atol=1e-6)
    np.testing.assert_array_equal(loose.vector != 0, z != 0)
    # z is stationary: S z - rho |z|_1 sign(z) is a multiple of z on the support, and nothing else may enter.
    pull, on = S @ z - rho * np.abs(z).sum() * np.sign(z), z != 0
    np.testing.assert_allclose(pull[on], (z @ pull) * z[on], atol=1e-8)
    assert np.abs((S @ z)[~on]).max(initial=0.0) <= rho * np.abs(z).sum() * (1 + 1e-9)


def test_the_first_order_method_refuses_a_cardinality():
    with pytest.raises(TypeError, match=r"solves the form with a penalty, not CardinalityForm\(cardinality=3\); use"):
        FirstOrder().solve(PITPROPS, CardinalityForm(3))
