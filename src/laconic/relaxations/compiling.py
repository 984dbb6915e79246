"""Says that code is being compiled, where a user would wonder what takes so long."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer

# Seconds after which it is said.
PATIENCE = 1.0

_done = False
_lock = Lock()


def _say() -> None:
    print("laconic: preparing compiled code; the first time this takes half a minute.", file=sys.stderr)


@contextmanager
def compiling() -> Iterator[None]:
    """Say so if the block, the first of its kind in this process, takes long."""
    global _done
    if _done:
        yield
        return
    # Threads that come at the same time wait for the first.
    with _lock:
        timer = Timer(PATIENCE, _say)
        if not _done:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            _done = True
