"""The relaxation solved on few features holds for all."""

import numpy as np
import pytest

from laconic.core.monitor import Monitor
from laconic.datasets import load_pitprops, spiked_rows
from laconic.relaxations import CardinalityForm, PenaltyForm, Splitting
from laconic.relaxations.completion import pushed_at
from laconic.relaxations.few_features import solve_on_few_features

PITPROPS = load_pitprops().covariance
SPIKED = np.cov(spiked_rows(60, 25, 5, signal=3.0, random_state=0).data.T)


def solve(S, form, features, settings, near=None, most=None, monitor=None):
    near = near or Splitting(0.1).solve(S, form)
    most = len(S) if most is None else most
    pushed = pushed_at(S, near)
    return solve_on_few_features(S, form, np.array(features), settings, monitor or Monitor(), near, pushed, most)


@pytest.mark.parametrize("S", [PITPROPS, SPIKED], ids=["pitprops", "spiked"])
@pytest.mark.parametrize(
    "form", [CardinalityForm(2), CardinalityForm(4), PenaltyForm(0.3)], ids=["k=2", "k=4", "rho=0.3"]
)
@pytest.mark.parametrize("features", [[0], [1, 7]], ids=str)
def test_is_as_good_as_on_all(S, form, features):
    found = solve(S, form, features, Splitting(1e-4))
    assert found is not None
    solution, used = found
    other = Splitting(1e-7).solve(S, form)
    assert set(features) <= set(used)
    assert solution.gap <= 1e-4
    assert solution.dual >= other.primal
    assert solution.primal <= other.dual
    U, X = solution.dual_matrix(S), solution.X
    assert np.abs(U).max() <= solution.level * (1 + 1e-12)
    assert form.dual(np.linalg.eigvalsh(S + U)[-1], solution.level) <= solution.dual
    assert not np.delete(X, used, axis=0).any()


def test_stays_small_where_it_can():
    near = Splitting().solve(SPIKED, CardinalityForm(4))
    found = solve(SPIKED, CardinalityForm(3), np.flatnonzero(near.X.diagonal() > 1e-4), Splitting(), near)
    assert found is not None
    assert len(found[1]) < len(SPIKED) / 2


def test_gives_up_when_too_many_are_needed():
    assert solve(SPIKED, CardinalityForm(3), [0], Splitting(), most=1) is None


def test_a_solution_nearby_is_a_start():
    near = Splitting().solve(PITPROPS, CardinalityForm(5))
    found = solve(PITPROPS, CardinalityForm(4), range(6), Splitting(1e-5), near)
    assert found is not None
    alone = Splitting(1e-7).solve(PITPROPS, CardinalityForm(4))
    assert found[0].gap <= 1e-5
    assert found[0].primal <= alone.dual
    assert found[0].dual >= alone.primal


def test_a_stopped_solve_has_no_result():
    assert solve(SPIKED, CardinalityForm(3), [0], Splitting(1e-9), monitor=Monitor(0.0)) is None
