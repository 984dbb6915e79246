"""How a search ended."""

from enum import Enum

import numpy as np

from laconic.core.monitor import Stop
from laconic.core.thresholds import PROVED
from laconic.core.wording import Scope


class Status(Enum):
    """How a search ended. The value of each member tells the user what that means or what to do.

    See Also
    --------
    Solution : Has a status.

    Examples
    --------
    >>> from laconic import Status
    >>> print(Status.OPTIMAL)
    Optimal: a proved upper bound leaves a gap of at most one millionth.
    """

    OPTIMAL = "Optimal: a proved upper bound leaves a gap of at most one millionth."
    COMPLETE = "The search has excluded every better support of this size{supports}{setting}, up to rounding errors."
    PENALTY_COMPLETE = (
        "The search has excluded every better support of any size{supports} at this penalty{setting}, up to rounding "
        "errors."
    )
    JOINTLY_COMPLETE = (
        "The search has excluded every choice of disjoint supports{supports} with a larger total, up to rounding "
        "errors."
    )
    TOGETHER = "No exchange of one feature that was tried raises the variance that the components hold together."
    LOCAL = "No exchange of one feature that was tried improves it."
    HEURISTIC = "The method ran to its end."
    PRECISION_LIMIT = "Rounding limit reached: floating point cannot reach the tolerance."
    GAP_REACHED = "The gap is as small as requested."
    NODE_LIMIT = "Node limit reached: a larger node_limit may narrow the gap."
    ITERATION_LIMIT = "Iteration limit reached: a larger max_iterations may improve the result."
    TIME_LIMIT = "Time limit reached: this is the best result so far. A larger time_limit may improve it."
    INTERRUPTED = "Interrupted: this is the best result so far."

    _template: str

    def __new__(cls, template: str) -> "Status":
        """Make a member. Its value is the sentence about all supports."""
        member = object.__new__(cls)
        member._template = template
        member._value_ = template.format(supports="", setting="")
        return member

    def __str__(self) -> str:
        return str(self.value)

    def said_of(self, scope: Scope) -> str:
        """Return the sentence about some of the supports only."""
        return self._template.format(supports=scope.supports, setting=scope.setting)


def how_it_ended(value: float, upper: float, gap: float, stopped: Stop | None, *, limited: bool) -> Status:
    """Return the status of a search that found a value and an upper estimate.

    The search may end at the relative `gap`. `limited` says that the number of nodes was limited.
    """
    distance, rounding = upper - value, 64 * float(np.finfo(float).eps) * abs(value)
    if distance <= max(PROVED * abs(value), rounding):
        return Status.COMPLETE
    if distance <= gap * abs(value) + rounding:
        return Status.GAP_REACHED
    return stopped_or(stopped, Status.NODE_LIMIT if limited else Status.GAP_REACHED)


def stopped_or(stop: Stop | None, status: Status) -> Status:
    """Return the status of a search that a time limit or Ctrl-C may have stopped."""
    return status if stop is None else Status[stop.name]
