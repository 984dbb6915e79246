"""Time limits, Ctrl-C and progress, in one place."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from types import FrameType, TracebackType
from typing import Self


class Stop(Enum):
    """Why a search was stopped before its end."""

    TIME_LIMIT = "time limit reached"
    INTERRUPTED = "interrupted"


def check_time_limit(time_limit: float | None) -> None:
    """Raise if a time limit, in seconds, is given and not above zero."""
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit} must be above zero.")


class _StopError(Exception):
    """Raised by `Monitor.tick`, caught by `Monitor.watch`."""


class _CtrlC:
    """Takes note of Ctrl-C, to be looked at where a search can stop.

    An exception in the midst of things would leave a value without its vector, and compiled code turns it into an error
    of its own. Whoever presses a second time does not want to wait: then it is an exception.
    """

    def __init__(self) -> None:
        self.pressed = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Take note in this block; where Ctrl-C is somebody else's, or noted already, leave it."""
        own = threading.current_thread() is threading.main_thread()
        if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.pressed = False

    def _note(self, _: int, __: FrameType | None) -> None:
        self.pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if sys.stderr.isatty():
            print("\nStopping with the best found so far; press Ctrl-C again not to wait for it.", file=sys.stderr)


_ctrl_c = _CtrlC()


class Monitor:
    """Watches a solve: stops it when time is up or the user presses Ctrl-C, and shows how far it is.

    A solver wraps its search in ``with monitor.watch():`` and calls ``monitor.tick(...)`` often. Either kind of stop
    ends the block quietly; `stopped` then says which it was, and the solver returns the best it has.

    Parameters
    ----------
    time_limit
        Seconds from now; None for no limit.
    progress
        Show a progress line, if standard error is a terminal.
    """

    def __init__(self, time_limit: float | None = None, *, progress: bool = False) -> None:
        self._deadline = float("inf") if time_limit is None else time.monotonic() + time_limit
        self._progress = progress
        self._display: _Display | None = None
        self._open = ExitStack()
        self.stopped: Stop | None = None

    def __enter__(self) -> Self:
        if self._progress:
            self._display = _Display()
        self._open.enter_context(_ctrl_c.noted())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.close()
            self._display = None
        self._open.close()

    @property
    def seconds_left(self) -> float:
        """The seconds until the time limit: infinite without a limit, negative after it."""
        return self._deadline - time.monotonic()

    def part(self, count: int) -> "Monitor":
        """Return a monitor for the first of so many equal parts of the time left."""
        result = Monitor()
        left = self._deadline - time.monotonic()
        result._deadline = self._deadline if left <= 0 else time.monotonic() + left / count
        result._display, result.stopped = self._display, self.stopped
        return result

    def tick(self, stage: str = "", *, best: float | None = None) -> None:
        """Stop if time is up or the search was stopped before; show the stage and the best value so far."""
        if self.stopped is not None or _ctrl_c.pressed or time.monotonic() > self._deadline:
            raise _StopError
        if self._display is not None and stage:
            self._display.show(stage, best)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """End the block quietly at the time limit or at Ctrl-C."""
        with _ctrl_c.noted():
            try:
                yield
            except _StopError:
                self.stopped = self.stopped or Stop.TIME_LIMIT
            except KeyboardInterrupt:
                self.stopped = Stop.INTERRUPTED
            if _ctrl_c.pressed:
                self.stopped = Stop.INTERRUPTED


class _Display:
    """One line on the terminal, and nothing at all anywhere else."""

    def __init__(self) -> None:
        # rich takes a tenth of a second to import: only those who ask for progress pay for it.
        from rich.console import Console

        console = Console(stderr=True)
        self._live = console.status("starting") if console.is_terminal else None
        if self._live is not None:
            self._live.start()

    def show(self, stage: str, best: float | None) -> None:
        if self._live is not None:
            self._live.update(
                stage if best is None or best == float("-inf") else f"{stage}: best value so far {best:.6g}"
            )

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
