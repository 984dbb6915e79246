"""BLAS threads: many small eigenproblems run faster on one."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

# Matrices up to this size are worked on with one thread.
SMALL = 512


@cache
def _blas() -> Any:
    # Finding the loaded libraries takes milliseconds, setting a limit microseconds: look once.
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Limit BLAS to one thread while matrices of a small size are at work."""
    if size > SMALL:
        yield
        return
    with _blas().limit(limits=1):
        yield
