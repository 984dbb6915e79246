"""Bounds of the largest eigenvalue."""

import numpy as np
import pytest

from helpers import random_psd
from laconic.core import linalg
from laconic.core.linalg import estimated_largest_eigenvalue_bound, is_below


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("seed", range(4))
def test_is_below_just_above_the_largest_eigenvalue_only(seed, scale):
    M = scale * (random_psd(20, seed=seed) - 0.3 * np.eye(20))
    largest = float(np.linalg.eigvalsh(M)[-1])
    size = float(np.abs(M).max())
    assert is_below(M, largest + 1e-10 * size)
    assert not is_below(M, largest - 1e-12 * size)
    # Nearer than rounding there is no proof.
    assert not is_below(M, largest)


def test_is_below_of_nothing_but_zeros():
    assert is_below(np.zeros((3, 3)), 1e-3)
    assert not is_below(np.zeros((3, 3)), 0.0)


@pytest.mark.parametrize("n", [6, 60, 1100])
def test_the_estimated_bound_is_just_above_the_largest_eigenvalue(n):
    S = np.cov(np.random.default_rng(1).standard_normal((n // 3, n)).T)
    for M in (S, -S, 1e200 * S, 1e-200 * S, np.eye(n)):
        largest = np.linalg.eigvalsh(M)[-1]
        assert largest <= estimated_largest_eigenvalue_bound(M) <= largest + 1e-8 * np.abs(M).max()
    assert estimated_largest_eigenvalue_bound(np.zeros((n, n))) == 0


def test_lapack_takes_over_where_lanczos_gives_up(monkeypatch):
    monkeypatch.setattr(linalg, "LANCZOS_ABOVE", 10)
    monkeypatch.setattr(linalg, "LANCZOS_RESTARTS", 1)
    # Eigenvalues this close need more than one restart.
    M = np.diag(1 - 1e-9 * np.arange(200.0))
    assert linalg._bound_by_lanczos(M) is None
    assert 1 <= estimated_largest_eigenvalue_bound(M) <= 1 + 1e-12
