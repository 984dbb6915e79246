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
    print("laconic: preparing compiled code; the first time this takes about twenty seconds.", file=sys.stderr)


@contextmanager
def compiling() -> Iterator[None]:
    """Say so if the block, the first of its kind in this process, compiles for long; reading it from disk is silent."""
    global _done
    if _done:
        yield
        return
    # Threads that come at the same time wait for the first.
    with _lock:
        if _done:
            yield
            return
        try:
            with _announced():
                yield
        finally:
            _done = True


@contextmanager
def _announced() -> Iterator[None]:
    from numba.core import event

    timer = Timer(PATIENCE, _say)

    class Begun(event.Listener):
        """Hears of what is compiled, which what is read from disk is not."""

        def on_start(self, _: event.Event) -> None:
            if timer.ident is None:
                timer.start()

        def on_end(self, _: event.Event) -> None:
            """Go on: most of the time is still to come."""

    with event.install_listener("numba:compile", Begun()):
        try:
            yield
        finally:
            timer.cancel()
