"""Paths of the l1 relaxation: the same bounds as solving each point alone."""

from fractions import Fraction

import numpy as np
import pytest

from laconic.datasets import load_pitprops, spiked_rows
from laconic.relaxations.elementary import RelaxationStatus
from laconic.relaxations.l1 import CardinalityForm, PenaltyForm
from laconic.relaxations.l1_splitting import Splitting

PITPROPS = load_pitprops().covariance
SPIKED = np.cov(spiked_rows(60, 25, 5, signal=3.0, rng=0).data.T)


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
def test_every_cardinality_is_as_good_as_alone(S):
    found = Splitting(tolerance=1e-5).path(S, [CardinalityForm(k) for k in range(1, 14)])
    for k, solution in enumerate(found, start=1):
        alone = Splitting(tolerance=1e-7).solve(S, CardinalityForm(k))
        assert solution.form == CardinalityForm(k)
        assert solution.gap <= 1e-5 * (1 + 1e-9)
        assert solution.dual >= alone.primal * (1 - 1e-12)
        assert solution.primal <= alone.dual
        # The dual point stored proves the bound stored.
        U = solution.dual_matrix(S)
        assert np.linalg.eigvalsh(S + U)[-1] + (k - 1) * np.abs(U).max() <= solution.dual * (1 + 1e-9)
        assert solution.status is RelaxationStatus.CONVERGED


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
def test_every_penalty_is_as_good_as_alone(S):
    penalties = np.geomspace(0.02, 0.95, 15) * S.diagonal().max()
    found = Splitting(tolerance=1e-5).path(S, [PenaltyForm(rho) for rho in penalties])
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


def test_points_that_close_the_gap_at_the_next_cardinality_are_not_solved_again():
    S = np.zeros((9, 9))
    S[:6, :6] = 0.5
    np.fill_diagonal(S, 1.0)
    found = Splitting().path(S, [CardinalityForm(k) for k in range(6, 10)])
    assert [solution.iterations for solution in found[1:]] == [0] * 3
    np.testing.assert_allclose([solution.dual for solution in found], 3.5, rtol=1e-4)


def test_a_straight_piece():
    # From k = 3, a strong block of three, to k = 9, a weak one of nine, the value is a line and X has rank two.
    S = np.zeros((12, 12))
    S[:3, :3], S[3:, 3:] = 0.9, 0.5
    np.fill_diagonal(S, 1.0)
    found = Splitting(tolerance=1e-5).path(S, [CardinalityForm(k) for k in range(3, 10)])
    values = 2.8 + np.arange(7) * (5.0 - 2.8) / 6
    np.testing.assert_allclose([s.primal for s in found], values, rtol=1e-5)
    np.testing.assert_allclose([s.dual for s in found], values, rtol=1e-5)
    assert [s.rank for s in found[1:-1]] == [2] * 5
    for k, solution in enumerate(found, start=3):
        X = solution.X
        assert np.sum(S * X) == pytest.approx(solution.primal)
        assert np.abs(X).sum() <= k * (1 + 1e-9)
        assert np.linalg.eigvalsh(X)[0] >= -1e-12


def exceeds_the_largest_eigenvalue(bound, S):
    """Exactly: (b - S_11)(b - S_22) >= S_12^2 for b no less than either."""
    b, first, second, off = (Fraction(float(x)) for x in (bound, S[0, 0], S[1, 1], S[0, 1]))
    return b >= max(first, second) and (b - first) * (b - second) >= off**2


@pytest.mark.parametrize("off", [1e-16, 3e-17, 0.1, 0.3, -0.7])
@pytest.mark.parametrize("second", [1.0, 0.3, 1 / 3])
def test_no_bound_is_rounded_down(off, second):
    for scale in (1.0, 1 / 3, 1e-7, 0.7e9):
        S = scale * np.array([[1.0, off], [off, second]])
        by_cardinality = Splitting().path(S, [CardinalityForm(1), CardinalityForm(2)])
        by_penalty = Splitting().path(S, [PenaltyForm(share * scale) for share in (0.2, 0.25, 0.4)])
        for solution in by_cardinality + by_penalty:
            assert exceeds_the_largest_eigenvalue(solution.estimate(2), S)
        assert exceeds_the_largest_eigenvalue(by_cardinality[1].dual, S)
