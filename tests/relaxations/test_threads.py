"""The compiled steps give up the lock of the interpreter, and have no state that two threads share."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from laconic.relaxations import row_steps
from laconic.relaxations.row_steps import RowState, advance


def after(seed, steps=40):
    """What the steps on one matrix leave behind."""
    rng = np.random.default_rng(seed)
    n, k = 30, 4
    rows = rng.standard_normal((2 * n, n))
    S = rows.T @ rows / (2 * n)
    z = np.zeros(n)
    z[:k] = 0.5
    state = RowState.around(S, k, np.arange(seed % 2), z, parts=1 + seed % 2)
    F, finite = advance(state, S, k, steps)
    assert finite
    return F, state.u, state.mu, state.residual


@pytest.mark.skipif(row_steps.kernels is None, reason="the package is not compiled")
def test_threads_take_the_same_steps():
    seeds = range(12)
    expected = [after(seed) for seed in seeds]
    with ThreadPoolExecutor(6) as pool:
        for found, alone in zip(pool.map(after, seeds), expected, strict=True):
            for one, other in zip(found, alone, strict=True):
                np.testing.assert_array_equal(one, other)
