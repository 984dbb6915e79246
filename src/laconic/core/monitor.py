"""Time limits, Ctrl-C, progress, the number of threads, and warnings that name the line of the user's own code.

Many small eigenproblems run faster on one BLAS thread.
"""

import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from enum import Enum
from functools import cache
from threading import local
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from threadpoolctl import ThreadpoolController

from laconic.core.words import at_least, at_most, duration_in_words

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
        """Remember Ctrl-C in this block, unless another handler is set or a block around this one remembers it."""
        own = threading.current_thread() is threading.main_thread()
        # After Ctrl-C the default handler is back, and the block around this one still has to see that it was pressed.
        if not own or self.pressed or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
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


def _display() -> "Status | None":
    """Return a line on the terminal that shows progress; None without a terminal, or without the package rich."""
    # rich takes a tenth of a second to import, so import it only if progress is shown.
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    display = console.status("starting")
    display.start()
    return display


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
            self._display = _display()
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


# One thread is used for matrices of 16 to 512 features: below, BLAS uses one thread by itself, and above, several pay.
SMALLEST_ON_ONE_THREAD, LARGEST_ON_ONE_THREAD = 16, 512

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
    small = SMALLEST_ON_ONE_THREAD <= size <= LARGEST_ON_ONE_THREAD
    return one_thread() if small and not getattr(_limited, "now", False) else nullcontext()


def mark_limited() -> None:
    """Mark this thread as limited already, so that it sets no limit: limits of several threads would not be undone."""
    _limited.now = True


# A warning names the first line outside these packages. scikit-learn wraps the methods of an estimator in functions of
# its own, and may call `fit` itself.
_PACKAGES = ("laconic", "sklearn", "joblib")


class Hint(UserWarning):
    """Something in the data that often is a mistake, and what to do about it. Nothing is wrong with the result.

    See Also
    --------
    SparsePCA : Its attribute `hints_` lists the hints of a fit.

    Examples
    --------
    >>> import warnings
    >>> from laconic.core import Hint
    >>> warnings.simplefilter("ignore", Hint)
    """


class Note(Hint):
    """Something that the user should know, and need not do anything about."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line of code that called the package."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
