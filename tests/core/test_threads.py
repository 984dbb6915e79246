"""Small eigenproblems on one BLAS thread, whatever the size of the data they come from."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from laconic import SparsePCA
from laconic.core.threads import threads_for


def blas_threads():
    """The most threads any BLAS in the process may use; some that others brought along never use more than one."""
    return max(library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info())


def test_small_is_one_thread_and_large_is_left_alone():
    with threadpool_limits(2, user_api="blas"):
        with threads_for(100):
            assert blas_threads() == 1
        assert blas_threads() == 2
        with threads_for(100_000):
            assert blas_threads() == 2


def test_threads_come_back_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(RuntimeError, match="stop"), threads_for(100):
            raise RuntimeError("stop")
        assert blas_threads() == 2


@pytest.mark.parametrize("shape", [(40, 60), (40, 700)])
@pytest.mark.parametrize("method", ["auto", "swaps", "greedy"])
def test_small_eigenproblems_of_a_fit(monkeypatch, shape, method):
    """Thousands of them: on two threads of two busy cores they took fifty times as long."""
    seen = set()
    for name in ("eigh", "eigvalsh"):
        original = getattr(np.linalg, name)

        def watched(matrix, *args, original=original, **settings):
            if 16 <= matrix.shape[-1] <= 512:  # smaller ones are not shared out among threads anyway
                seen.add(blas_threads())
            return original(matrix, *args, **settings)

        monkeypatch.setattr(np.linalg, name, watched)
    X = np.random.default_rng(0).standard_normal(shape)
    with threadpool_limits(2, user_api="blas"):
        SparsePCA(cardinality=20, method=method).fit(X)
        assert blas_threads() == 2
    assert seen == {1}
