"""Time limits, Ctrl-C and progress."""

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING, Self

from laconic.core.wording import at_least, at_most, duration_in_words

if TYPE_CHECKING:
    from rich.status import Status


class Stop(Enum):
    """Why a search was stopped before its end."""

    TIME_LIMIT = "time limit reached"
    INTERRUPTED = "interrupted"


def check_time_limit(time_limit: float | None) -> None:
    """Raise a ValueError if a time limit in seconds is given and is not above zero."""
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit} must be above zero.")


class _StopError(Exception):
    """Raised by `Monitor.tick`, caught by `Monitor.watch`."""


class _CtrlC:
    """Remembers that Ctrl-C was pressed. A search looks at this where it can stop.

    An exception at an arbitrary place could leave a value without its vector, and compiled code would turn it into
    another error. The second Ctrl-C raises the usual exception, because the user does not want to wait.
    """

    def __init__(self) -> None:
        self.pressed = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Remember Ctrl-C in this block, unless another handler is set or this one is active already."""
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
            print("\nStopping as soon as possible. Press Ctrl-C again to stop at once.", file=sys.stderr)


_ctrl_c = _CtrlC()


class Monitor:
    """Stops a search at its time limit (in seconds from now) or at Ctrl-C, and shows its progress on a terminal.

    A solver wraps its search in ``with monitor.watch():`` and calls ``monitor.tick(...)`` often. A stop ends the block
    without an error. `stopped` then says why, and the solver returns the best result that it has.
    """

    def __init__(self, time_limit: float | None = None, *, progress: bool = False) -> None:
        self._deadline = float("inf") if time_limit is None else time.monotonic() + time_limit
        self._progress = progress
        self._display: Status | None = None
        self._label = ""
        self._open = ExitStack()
        self.stopped: Stop | None = None

    def __enter__(self) -> Self:
        if self._progress:
            # rich takes a tenth of a second to import, so import it only if progress is shown.
            from rich.console import Console

            console = Console(stderr=True)
            if console.is_terminal:
                self._display = console.status("starting")
                self._display.start()
        self._open.enter_context(_ctrl_c.noted())
        return self

    def __exit__(self, *error: object) -> None:
        if self._display is not None:
            self._display.stop()
            self._display = None
        self._open.close()

    @property
    def seconds_left(self) -> float:
        """The seconds until the time limit: infinite without a limit, negative after it."""
        return self._deadline - time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether the next `tick` stops the work."""
        return self.stopped is not None or _ctrl_c.pressed or time.monotonic() > self._deadline

    def part(self, count: int, label: str = "") -> "Monitor":
        """Return a monitor for the first of `count` equal parts of the time that is left.

        `label` says what the part is about, such as "component 2"; progress begins with it.
        """
        result = Monitor()
        result._label = label or self._label
        left = self.seconds_left
        result._deadline = self._deadline if left <= 0 else time.monotonic() + left / count
        result._display, result.stopped = self._display, self.stopped
        return result

    def tick(self, stage: str = "", *, best: float | None = None, bound: float | None = None) -> None:
        """Stop if the time is over or the search was stopped before; else show the stage and what is known.

        `best` is the best value found so far, and `bound` what no support can exceed, as far as is estimated now.
        """
        if self.is_over:
            raise _StopError
        if self._display is not None and stage:
            from rich.text import Text

            # A name of a file in it may have brackets, which rich would take for markup.
            self._display.update(Text(self._in_words(stage, best, bound)))

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Show no progress in the block: its numbers are about a part of the problem, or in other units."""
        display, self._display = self._display, None
        try:
            yield
        finally:
            self._display = display

    def _in_words(self, stage: str, best: float | None, bound: float | None) -> str:
        """Return the line of progress: "component 2: exact, 9 nodes: found 3.2, bound about 3.4, gap about 6.3 %".

        The bound is an estimate: it is proved when the search has ended.
        """
        known = []
        if best is not None and math.isfinite(best):
            known.append(f"found {at_least(best, 5)}")
        if bound is not None and math.isfinite(bound):
            known.append(f"bound about {at_most(bound, 5)}")
        if len(known) == 2 and best is not None and bound is not None and best > 0:
            known.append(f"gap about {at_most(max(100 * (bound - best) / best, 0.0), 2)} %")
        if math.isfinite(self.seconds_left):
            known.append(f"{duration_in_words(max(self.seconds_left, 0.0))} left")
        label = f"{self._label}: " if self._label else ""
        return f"{label}{stage}: {', '.join(known)}" if known else f"{label}{stage}"

    @contextmanager
    def watch(self) -> Iterator[None]:
        """End the block without an error at the time limit or at Ctrl-C."""
        with _ctrl_c.noted():
            try:
                yield
            except _StopError:
                self.stopped = self.stopped or Stop.TIME_LIMIT
            except KeyboardInterrupt:
                self.stopped = Stop.INTERRUPTED
            if _ctrl_c.pressed:
                self.stopped = Stop.INTERRUPTED
