"""What a solver returns, and in words how far it got."""

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from laconic._typing import Floats, Indices
from laconic.witness import Witness

# A relative gap this small is called a proof of optimality.
PROVED = 1e-6


class Status(Enum):
    """How a solve ended; the value of each member is what the user should know or do."""

    OPTIMAL = "optimal: no support of this size does better by more than a millionth, and this is proved"
    PENALTY_OPTIMAL = (
        "optimal: no support of any size does better at this penalty by more than a millionth, and this is proved"
    )
    JOINTLY_OPTIMAL = "jointly optimal: no disjoint supports of these sizes have a larger total, and this is proved"
    LOCAL = "local optimum: no exchange of one feature that was tried improves it"
    HEURISTIC = "heuristic: the method ran to its end"
    PRECISION_LIMIT = "rounding limit reached: the tolerance is below what floating point can give"
    GAP_REACHED = "gap reached: the proved gap is as small as was asked for"
    NODE_LIMIT = "node limit reached: raise node_limit"
    ITERATION_LIMIT = "iteration limit reached: raise max_iterations"
    TIME_LIMIT = "time limit reached: this is the best found so far; raise time_limit"
    INTERRUPTED = "interrupted: this is the best found so far"

    def __str__(self) -> str:
        return self.value


def how_it_ended(value: float, upper: float, gap: float, stopped: Status | None, *, limited: bool) -> Status:
    """Say how a search for a proof ended that found a value and proved a bound.

    Parameters
    ----------
    value, upper
        What was found, and what is proved.
    gap
        The relative gap that was asked for.
    stopped
        What stopped the search, if anything did.
    limited
        Whether the number of nodes was limited.
    """
    distance, rounding = upper - value, 64 * float(np.finfo(float).eps) * abs(value)
    if distance <= max(PROVED * abs(value), rounding):
        return Status.OPTIMAL
    if distance <= gap * abs(value) + rounding:
        return Status.GAP_REACHED
    return stopped or (Status.NODE_LIMIT if limited else Status.GAP_REACHED)


def proof_in_words(gap: float) -> str:
    """Say what a relative gap, not small enough to be called a proof of optimality, comes to."""
    if gap == np.inf:
        return "no bound asked"
    if gap > 1:
        return f"no support of this size reaches more than {_rounded_up(1 + gap)} times its variance, proved"
    return f"within {_rounded_up(100 * gap)} % of optimal, proved"


def _rounded_up(number: float) -> str:
    """Return a positive number with two digits, or all before the point: not below it, as what is said is proved."""
    if number == 0:
        return "0"
    digits = max(1 - int(np.floor(np.log10(number))), 0)
    # What is off by rounding alone stays as it is.
    scaled = np.ceil(number * 10.0**digits * (1 - 1e-9))
    return f"{scaled / 10.0**digits:,.{digits}f}" if digits < 6 else f"{scaled / 10.0**digits:.2g}"


@dataclass(frozen=True, eq=False)
class Solution:
    """One sparse component.

    Attributes
    ----------
    support
        The features chosen, in increasing order.
    loadings
        Their loadings, a unit vector. The sign is fixed: the loading largest in absolute value is positive,
        and of loadings equally large the first.
    value
        z'Sz of these loadings: a lower bound on the best value.
    upper
        A proved upper bound on what any support of the size asked for could reach; infinite if none is known.
    status
        How the solve ended.
    method
        The name of the solver.
    reason
        Why that solver was taken, when it was chosen for the user.
    iterations
        Of the solver's main loop.
    witness
        What `upper` can be computed from again, if it comes from a bound that leaves one.
    """

    support: Indices
    loadings: Floats
    value: float
    status: Status
    upper: float = np.inf
    method: str = ""
    reason: str = ""
    iterations: int = 0
    witness: Witness | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """(upper - value) / value: zero when proved optimal, infinite when nothing is proved."""
        if self.upper <= self.value:
            return 0.0
        return (self.upper - self.value) / self.value if self.value > 0 else np.inf

    @property
    def verdict(self) -> str:
        """In words how the solve ended and what is proved."""
        if self.status in (Status.OPTIMAL, Status.PENALTY_OPTIMAL, Status.JOINTLY_OPTIMAL):
            return str(self.status)
        return f"{self.status}; {proof_in_words(self.gap)}"

    def bounded(self, upper: float, witness: Witness | None = None) -> "Solution":
        """Return the solution with a proved upper bound, if it is better than the one at hand."""
        if upper >= self.upper:
            return self
        upper = max(upper, self.value)
        proved = upper - self.value <= PROVED * self.value
        return replace(self, upper=upper, witness=witness, status=Status.OPTIMAL if proved else self.status)

    def vector(self, n_features: int) -> Floats:
        """Return the component as a vector of length `n_features`, zero off the support."""
        z = np.zeros(n_features)
        z[self.support] = self.loadings
        return z
