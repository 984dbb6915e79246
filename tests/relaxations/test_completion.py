"""A multiplier known on some features, completed for all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import random_psd
from laconic.relaxations import CardinalityForm, Splitting, completion
from laconic.relaxations.completion import Completion, Pushed, _with_products, completed, pushed_at

BLOCKS = np.zeros((12, 12))
BLOCKS[:3, :3], BLOCKS[3:, 3:] = 0.9, 0.5
np.fill_diagonal(BLOCKS, 1.0)


@given(st.integers(0, 100), st.integers(1, 3))
def test_rows_get_the_products_wanted(seed, columns):
    rng = np.random.default_rng(seed)
    rows = 2 * rng.standard_normal((4, 7))
    basis = np.linalg.qr(rng.standard_normal((7, columns)))[0]
    # Products of rows inside of the box can be had.
    wanted = rng.uniform(-0.9, 0.9, (4, 7)) @ basis
    result, errors = _with_products(rows, basis, wanted, 1.0, 1e-7)
    assert np.abs(result).max() <= 1
    np.testing.assert_allclose(np.abs(result @ basis - wanted).max(axis=1), errors)
    assert errors.max() <= 1e-7
    for row, made in zip(rows, result, strict=True):
        # It is the nearest: what was added lies in the span wherever the box is not in the way.
        free = np.abs(made) < 1 - 1e-12
        added, span = (made - row)[free], basis[free]
        outside = added - span @ np.linalg.lstsq(span, added, rcond=None)[0]
        assert np.abs(outside).max(initial=0.0) <= 1e-6 * max(1, np.abs(added).max(initial=0.0))


@pytest.mark.parametrize("seed", range(4))
def test_sorting_the_break_points_finds_the_same_rows(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows, z = 2 * rng.standard_normal((20, 7)), rng.standard_normal((7, 1))
    z[seed] = 0.0
    z /= np.linalg.norm(z)
    wanted = rng.uniform(-0.9, 0.9, (20, 7)) @ z
    by_newton, _ = _with_products(rows, z, wanted, 1.0, 1e-9)
    monkeypatch.setattr(completion, "NEWTON_STEPS", 0)
    by_sorting, errors = _with_products(rows, z, wanted, 1.0, 1e-9)
    assert errors.max() <= 1e-9
    np.testing.assert_allclose(by_sorting, by_newton, atol=1e-7)


def test_products_out_of_reach_are_told():
    result, errors = _with_products(np.zeros((2, 1)), np.ones((1, 1)), np.array([[0.5], [3.0]]), 1.0, 1e-9)
    np.testing.assert_allclose(result.ravel(), [0.5, 1.0])
    np.testing.assert_allclose(errors, [0.0, 2.0], atol=1e-9)


def test_a_mixture_of_two_blocks_is_completed():
    # With a feature in none of the blocks, whose row is to be filled.
    S = np.eye(13) * 0.8
    S[:12, :12] = BLOCKS
    S[12, :12] = S[:12, 12] = 0.1
    form, on = CardinalityForm(5), np.arange(12)
    inside = Splitting(1e-6).solve(BLOCKS, form)
    assert inside.rank == 2
    leading = np.linalg.eigvalsh(BLOCKS + inside.dual_matrix(BLOCKS))[-1]
    found = completed(
        S, on, inside.factor, inside.dual_matrix(BLOCKS), inside.level, leading, None, 1e-4 * inside.primal
    )
    assert isinstance(found, Completion)
    assert np.abs(found.U).max() <= inside.level * (1 + 1e-12)
    np.testing.assert_allclose(found.U, found.U.T)
    np.testing.assert_allclose(found.U[np.ix_(on, on)], inside.dual_matrix(BLOCKS))
    assert leading - 1e-9 <= np.linalg.eigvalsh(S + found.U)[-1] <= found.largest <= leading + 1e-4 * inside.primal


def test_features_that_are_missing_are_told():
    # Of a block of three two are given: no multiplier keeps the third out.
    z = np.full((2, 1), np.sqrt(0.5))
    found = completed(BLOCKS, np.arange(2), z, np.zeros((2, 2)), 0.1, 1.9, None, 1e-4)
    assert not isinstance(found, Completion)
    assert 2 in found


@pytest.mark.parametrize("seed", range(4))
def test_what_was_pushed_gives_the_multiplier_back(seed):
    S = random_psd(9, seed=seed)
    solution = Splitting(1e-6).solve(S, CardinalityForm(3))
    pushed = pushed_at(S, solution)
    U = np.clip(-S - pushed.on(np.arange(9)), -solution.level, solution.level)
    np.fill_diagonal(U, 0.0)
    np.testing.assert_allclose(U, solution.dual_matrix(S), atol=1e-5 * solution.level)


def test_what_was_pushed_on_other_features():
    first, second = Pushed(np.array([0, 2]), np.eye(2)), Pushed(np.array([2, 3]), np.full((2, 2), 2.0))
    mean = first.mean(second, 0.25)
    np.testing.assert_array_equal(mean.keep, [0, 2, 3])
    np.testing.assert_allclose(mean.push, [[0.25, 0, 0], [0, 1.75, 1.5], [0, 1.5, 1.5]])
    np.testing.assert_allclose(mean.on(np.array([1, 2])), [[0, 0], [0, 1.75]])
