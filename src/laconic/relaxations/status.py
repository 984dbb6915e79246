"""How the solve of a relaxation ended."""

from enum import Enum

from laconic.core.monitor import Stop


class RelaxationStatus(Enum):
    """How the solve of a relaxation ended; the value of each member is the advice for the user.

    It says nothing about a support. Every bound of a relaxation is valid, no matter how the solve ended.
    """

    CONVERGED = "converged: the gap between the primal and the dual value is below the tolerance"
    TARGET_REACHED = "target reached: the bound is no larger than the value given as known"
    STALLED = "stopped early: the bound was falling too slowly; lower least_progress"
    PRECISION_LIMIT = "rounding limit reached: floating point cannot close the gap any further; raise tolerance"
    ITERATION_LIMIT = "iteration limit reached: raise max_iterations"
    TIME_LIMIT = "time limit reached: the bound holds, but it may be loose; give the monitor a larger time_limit"
    INTERRUPTED = "interrupted: the bound holds, but it may be loose"

    def __str__(self) -> str:
        return str(self.value)


def final_status(stopped: Stop | None, otherwise: RelaxationStatus) -> RelaxationStatus:
    """Return TIME_LIMIT or INTERRUPTED if the monitor stopped the solve, else the status of the solve itself."""
    return otherwise if stopped is None else RelaxationStatus[stopped.name]
