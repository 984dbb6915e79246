"""BLAS threads: many small eigenproblems run faster on one."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local
from typing import Any

from threadpoolctl import ThreadpoolController

# Matrices up to this size are worked on with one thread; the smallest are not shared out among threads anyway.
SMALL, SMALLEST = 512, 16

_limited = local()


@cache
def _blas() -> Any:
    # Finding the loaded libraries takes milliseconds, setting a limit microseconds: look once.
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Limit BLAS to one thread while matrices of a small size are at work."""
    if not SMALLEST <= size <= SMALL or getattr(_limited, "now", False):
        yield
        return
    _limited.now = True
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limited.now = False


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread for this thread and for those it starts, which must call `mark_limited`."""
    before = getattr(_limited, "now", False)
    _limited.now = True
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limited.now = before


def mark_limited() -> None:
    """Say that BLAS is limited already: a limit set and lifted by several threads at once would not be restored."""
    _limited.now = True
