"""How many threads BLAS uses. Many small eigenproblems run faster on one thread."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import local
from typing import Any

from threadpoolctl import ThreadpoolController

# One thread is used for matrices of 16 to 512 features: below, BLAS uses one thread by itself, and above, several pay.
SMALLEST, LARGEST = 16, 512

_limited = local()


@cache
def _blas() -> Any:
    # Finding the loaded libraries takes milliseconds and setting a limit microseconds, so look for them once.
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, for this thread and the threads it starts. These must call `mark_limited`."""
    before = getattr(_limited, "now", False)
    _limited.now = True
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limited.now = before


def threads_for(size: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for work on matrices of this size, if they are small."""
    small = SMALLEST <= size <= LARGEST
    return one_thread() if small and not getattr(_limited, "now", False) else nullcontext()


def mark_limited() -> None:
    """Mark this thread as limited already, so that it sets no limit: limits of several threads would not be undone."""
    _limited.now = True
