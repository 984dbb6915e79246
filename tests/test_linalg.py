"""What a Cholesky factorisation shows of the largest eigenvalue."""

import numpy as np
import pytest

from helpers import random_psd
from laconic.linalg import is_below


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
