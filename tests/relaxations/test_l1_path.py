"""Paths of the l1 relaxation: the same bounds as solving each point alone."""

import itertools

import numpy as np
import pytest

from laconic.datasets import load_pitprops, spiked_rows
from laconic.monitor import Monitor
from laconic.relaxations import CardinalityForm, PenaltyForm, Splitting
from laconic.relaxations.l1_path import solve_cardinalities, solve_penalties

PITPROPS = load_pitprops().covariance
SPIKED = np.cov(spiked_rows(60, 25, 5, signal=3.0, random_state=0).data.T)


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
def test_every_cardinality_is_as_good_as_alone(S):
    found = solve_cardinalities(S, range(1, 14), Splitting(tolerance=1e-5))
    for k, solution in enumerate(found, start=1):
        alone = Splitting(tolerance=1e-7).solve(S, CardinalityForm(k))
        assert solution.form == CardinalityForm(k)
        assert solution.gap <= 1e-5 * (1 + 1e-9)
        assert solution.dual >= alone.primal
        assert solution.primal <= alone.dual
        # The dual point stored proves the bound stored.
        assert solution.upper_bound(S, k) <= solution.dual * (1 + 1e-9)


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
def test_every_penalty_is_as_good_as_alone(S):
    penalties = np.geomspace(0.02, 0.95, 15) * S.diagonal().max()
    found = solve_penalties(S, penalties, Splitting(tolerance=1e-5))
    for rho, solution in zip(penalties, found, strict=True):
        alone = Splitting(tolerance=1e-7).solve(S, PenaltyForm(rho))
        assert solution.gap <= 1e-5 * (1 + 1e-9)
        assert solution.dual >= alone.primal
        assert solution.primal <= alone.dual
        U = solution.dual_matrix(S)
        assert np.abs(U).max() <= rho * (1 + 1e-12)
        assert np.linalg.eigvalsh(S + U)[-1] - rho <= solution.dual * (1 + 1e-9)
        X = solution.X
        assert np.sum(S * X) - rho * np.abs(X).sum() == pytest.approx(solution.primal, rel=1e-9)


def test_bounds_hold_the_truth_for_every_cardinality():
    S = SPIKED[:9, :9]
    for k, solution in enumerate(solve_cardinalities(S, range(1, 10)), start=1):
        supports = itertools.combinations(range(9), k)
        assert max(np.linalg.eigvalsh(S[np.ix_(i, i)])[-1] for i in supports) <= solution.dual * (1 + 1e-12)


def test_a_stopped_path_is_still_proved():
    found = solve_cardinalities(SPIKED, range(1, 26), Splitting(tolerance=1e-9), Monitor(0.02))
    for k, solution in enumerate(found, start=1):
        assert solution.dual >= Splitting(tolerance=1e-6).solve(SPIKED, CardinalityForm(k)).primal


def test_one_point_is_a_path():
    (only,) = solve_cardinalities(PITPROPS, [5])
    assert only.form == CardinalityForm(5)
