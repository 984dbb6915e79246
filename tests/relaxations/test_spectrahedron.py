"""Projection on the matrices X >= 0 of trace one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import random_psd
from laconic.relaxations.spectrahedron import SpectrahedronProjection, project


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8))
def test_the_nearest_weights_are_what_a_common_shift_leaves(values):
    """Of a diagonal matrix the projection is that of its diagonal on the simplex."""
    falling = np.sort(np.array(values))[::-1]
    n = len(falling)
    F, found, _ = project(np.diag(falling), np.empty((n, 0)), 0.0)
    weights = np.append(found, np.zeros(n - len(found)))
    assert found.min() > 0
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(np.sort((F**2).sum(axis=1))[::-1], weights, atol=1e-9)
    # What is above zero was moved by the same shift, and what is not lies below it.
    shift = (falling - weights)[weights > 0]
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    assert (falling[weights == 0] <= shift[0] + 1e-9).all()


def test_projection_of_a_matrix_by_hand():
    # Eigenvalues 1.6 and 0.4 of the vectors (1, 1) and (1, -1). Less by 0.6, one is left and none.
    F, weights = SpectrahedronProjection()(np.array([[1.0, 0.6], [0.6, 1.0]]), 0.0)
    np.testing.assert_allclose(weights, [1.0], atol=1e-12)
    np.testing.assert_allclose(F @ F.T, np.full((2, 2), 0.5), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_followed_eigenvectors_lead_to_the_same_projection(seed):
    W, step = random_psd(80, seed=seed) / 80, random_psd(80, seed=seed + 10) / 8000
    following = SpectrahedronProjection()
    for _ in range(5):
        F, weights = following(W, 1e-10)
        G, other = SpectrahedronProjection()(W, 0.0)
        np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-8)
        np.testing.assert_allclose(weights, other[: len(weights)], atol=1e-8)
        assert np.trace(F @ F.T) == pytest.approx(1)
        W = W + step


@pytest.mark.parametrize("seed", range(3))
def test_a_guess_of_the_eigenvectors_leads_to_the_same_projection(seed):
    v = np.random.default_rng(seed).standard_normal((80, 1))
    v /= np.linalg.norm(v)
    W = random_psd(80, seed=seed) / 800 + v @ v.T
    guessed = SpectrahedronProjection()
    guessed.begin_with(v)
    np.testing.assert_array_equal(guessed._basis[:, :1], v)
    F, _ = guessed(W, 1e-6)
    G, _ = SpectrahedronProjection()(W, 0.0)
    np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-5)
