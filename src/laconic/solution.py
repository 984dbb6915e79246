"""What a solver returns, and in words how far it got."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from laconic._typing import Floats, Indices
from laconic.witness import Witness

# A relative gap this small is called a proof of optimality.
PROVED = 1e-6
# More features than this are counted, not named.
MOST_NAMED = 2


@dataclass(frozen=True)
class Scope:
    """What a verdict is about, as words for its sentence; without any, all supports of the matrix itself.

    Attributes
    ----------
    supports
        Which supports are compared: " with 'a' but without 'x'".
    setting
        How they are: " with non-negative loadings", " on what component 1 leaves".
    """

    supports: str = ""
    setting: str = ""


EVERYTHING = Scope()


def scope_of(
    left_out: Indices,
    forced: Indices,
    *,
    earlier: int = 0,
    nonnegative: bool = False,
    feature_names: Sequence[str] | None = None,
) -> Scope:
    """Say what a component was compared with.

    Parameters
    ----------
    left_out
        Features that no support considered holds.
    forced
        Features that every one holds.
    earlier
        How many components were taken out of the matrix before.
    nonnegative
        Whether only loadings that are not negative were considered.
    feature_names
        Of all features; without names they are called by their place.
    """
    parts = []
    if len(forced):
        parts.append(f"with {_listed(forced, feature_names) or f'{len(forced)} features forced in'}")
    if len(left_out):
        parts.append(f"without {_listed(left_out, feature_names) or f'{len(left_out):,} of the features'}")
    supports = f" {' but '.join(parts)}" if parts else ""
    setting = " with non-negative loadings" if nonnegative else ""
    if earlier:
        between = " and " if earlier == 2 else " to "
        before = "component 1 leaves" if earlier == 1 else f"components 1{between}{earlier} leave"
        setting += f" on what {before}"
    return Scope(supports, setting)


def _listed(features: Indices, names: Sequence[str] | None) -> str:
    """Return a few features by name, or nothing if they are many."""
    if len(features) > MOST_NAMED:
        return ""
    if names is None:
        return f"feature{'s' if len(features) > 1 else ''} {' and '.join(str(place) for place in features)}"
    return " and ".join(repr(str(names[place])) for place in features)


class Status(Enum):
    """How a solve ended; the value of each member is what the user should know or do."""

    OPTIMAL = (
        "optimal: no support of this size{supports} does better by more than a millionth{setting}, and this is proved"
    )
    PENALTY_OPTIMAL = (
        "optimal: no support of any size{supports} does better at this penalty by more than a millionth{setting}, "
        "and this is proved"
    )
    JOINTLY_OPTIMAL = (
        "jointly optimal: no disjoint supports of these sizes{supports} have a larger total, and this is proved"
    )
    LOCAL = "local optimum: no exchange of one feature that was tried improves it"
    HEURISTIC = "heuristic: the method ran to its end"
    PRECISION_LIMIT = "rounding limit reached: the tolerance is below what floating point can give"
    GAP_REACHED = "gap reached: the proved gap is as small as was asked for"
    NODE_LIMIT = "node limit reached: raise node_limit"
    ITERATION_LIMIT = "iteration limit reached: raise max_iterations"
    TIME_LIMIT = "time limit reached: this is the best found so far; raise time_limit"
    INTERRUPTED = "interrupted: this is the best found so far"

    _template: str

    def __new__(cls, template: str) -> "Status":
        """Make a member whose value is what is said of all supports."""
        member = object.__new__(cls)
        member._template = template
        member._value_ = template.format(supports="", setting="")
        return member

    def __str__(self) -> str:
        return str(self.value)

    def said_of(self, scope: Scope) -> str:
        """Return the words with what they are about."""
        return self._template.format(supports=scope.supports, setting=scope.setting)


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


def proof_in_words(gap: float, scope: Scope = EVERYTHING) -> str:
    """Say what a relative gap, not small enough to be called a proof of optimality, comes to, and of what."""
    if gap == np.inf:
        return "no bound was computed"
    supports, setting = scope.supports, scope.setting
    if gap > 1:
        most = f"{_rounded_up(1 + gap)} times its variance"
        return f"no support of this size{supports} reaches more than {most}{setting}, proved"
    among = f" among supports{supports}" if supports else ""
    return f"within {_rounded_up(100 * gap)} % of optimal{among}{setting}, proved"


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
    scope
        What the solution is compared with, for the verdict.
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
    scope: Scope = field(default=EVERYTHING, repr=False)

    @property
    def gap(self) -> float:
        """(upper - value) / value: zero when proved optimal, infinite when nothing is proved."""
        if self.upper <= self.value:
            return 0.0
        return (self.upper - self.value) / self.value if self.value > 0 else np.inf

    @property
    def verdict(self) -> str:
        """In words how the solve ended, and what is proved of what."""
        if self.status in (Status.OPTIMAL, Status.PENALTY_OPTIMAL, Status.JOINTLY_OPTIMAL):
            return self.status.said_of(self.scope)
        return f"{self.status}; {proof_in_words(self.gap, self.scope)}"

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
