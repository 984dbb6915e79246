"""Matrices that are not semidefinite: what is done about them, and the nearest ones that are."""

import warnings

import numpy as np
import pytest

from laconic.covariance.indefinite import is_semidefinite, resolve_indefinite, resolved_again
from laconic.covariance.nearest import nearest_correlation, nearest_semidefinite

SEEDS = range(4)


def symmetric(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T


def unit_diagonal(n, seed):
    A = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    A = 0.5 * (A + A.T)
    np.fill_diagonal(A, 1.0)
    return A


def alternating_projections(A, steps=5000):
    """Higham's method (2002): projections on both sets in turn, with Dykstra's correction."""
    Y, correction = A.copy(), np.zeros_like(A)
    for _ in range(steps):
        R = Y - correction
        values, vectors = np.linalg.eigh(R)
        X = (vectors * np.maximum(values, 0)) @ vectors.T
        correction = X - R
        before, Y = Y, X.copy()
        np.fill_diagonal(Y, 1.0)
        if np.abs(Y - before).max() < 1e-14:
            break
    return Y


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [3, 8, 20])
def test_the_nearest_semidefinite_matrix(n, seed):
    S = symmetric(n, seed)
    X = nearest_semidefinite(S)
    values = np.linalg.eigvalsh(S)
    # The distance is that of the negative eigenvalues, and no semidefinite matrix is nearer.
    np.testing.assert_allclose(np.linalg.norm(X - S), np.linalg.norm(np.minimum(values, 0)), rtol=1e-10, atol=1e-13)
    assert np.linalg.eigvalsh(X)[0] > -1e-12 * values[-1]
    assert np.array_equal(X, X.T)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [3, 8, 20])
def test_the_nearest_correlation_matrix_is_that_of_alternating_projections(n, seed):
    S = unit_diagonal(n, seed)
    X = nearest_semidefinite(S)
    assert np.array_equal(X.diagonal(), np.ones(n))
    assert np.array_equal(X, X.T)
    assert np.linalg.eigvalsh(X)[0] > -1e-13
    np.testing.assert_allclose(X, alternating_projections(S), atol=1e-11)


def test_the_example_of_higham():
    # Section 4 of "Computing the nearest correlation matrix": 0.7607 and 0.1573.
    X = nearest_correlation(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    np.testing.assert_allclose([X[0, 1], X[0, 2], X[1, 2]], [0.760689, 0.157298, 0.760689], atol=1e-6)


@pytest.mark.parametrize("level", [1e-9, 1e-7])
@pytest.mark.parametrize("choice", ["accept", "nearest", "error"])
def test_rounding_is_never_mentioned(level, choice):
    S = np.diag([1.0, 0.5, -level])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        used, semidefinite = resolve_indefinite(S, choice, name="S")
    assert used is S
    assert semidefinite


def test_accept_says_how_far_from_semidefinite():
    S = np.diag([2.0, 1.0, -0.5])
    with pytest.warns(
        UserWarning, match=r"^S is not positive semidefinite: its largest eigenvalue is 2 and its"
    ) as told:
        used, semidefinite = resolve_indefinite(S, "accept", name="S")
    assert used is S
    assert not semidefinite
    assert len(told) == 1
    assert "smallest -0.5 (0.25 times as large); it is used as it is" in str(told[0].message)


def test_nearest_says_how_much_was_changed():
    S = np.diag([2.0, 1.0, -0.5])
    with pytest.warns(UserWarning, match=r"nearest positive semidefinite matrix is used .* by more than 0\.5\.$"):
        used, semidefinite = resolve_indefinite(S, "nearest", name="S")
    assert semidefinite
    assert np.array_equal(used, np.diag([2.0, 1.0, 0.0]))
    with pytest.warns(UserWarning, match=r"the nearest correlation matrix is used in its place"):
        used, _ = resolve_indefinite(unit_diagonal(6, 0), "nearest", name="S")
    assert np.array_equal(used, resolved_again(unit_diagonal(6, 0), "nearest"))


def test_error_refuses():
    with pytest.raises(ValueError, match=r"^S is not positive semidefinite: .* indefinite='accept' takes it as it is"):
        resolve_indefinite(np.diag([2.0, -0.5]), "error", name="S")
    with pytest.raises(ValueError, match=r"indefinite='no' must be 'accept', 'nearest' or 'error'\."):
        resolve_indefinite(np.eye(2), "no", name="S")


def test_a_matrix_without_positive_eigenvalues():
    assert not is_semidefinite(-np.eye(3))
    assert is_semidefinite(np.zeros((3, 3)))
    with pytest.warns(UserWarning, match=r"largest eigenvalue is -1 and its smallest -1;"):
        assert not resolve_indefinite(-np.eye(3), "accept", name="S")[1]


def test_a_constant_feature_beside_correlations():
    S = np.zeros((4, 4))
    S[1:, 1:] = [[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]
    near = nearest_semidefinite(S)
    assert not near[0].any()
    np.testing.assert_array_equal(near[1:, 1:], nearest_correlation(S[1:, 1:]))
    with pytest.warns(UserWarning, match="the nearest correlation matrix is used"):
        resolve_indefinite(S, "nearest", name="S")
