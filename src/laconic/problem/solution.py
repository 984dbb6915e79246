"""What a solver returns."""

from dataclasses import dataclass, field, replace

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.wording import EVERYTHING, PROVED, Scope, as_sentence, proof_in_words
from laconic.problem.status import Status
from laconic.proof.witness import Witness


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
        """Full sentences: what is proved, and how the search ended."""
        if self.status in (Status.OPTIMAL, Status.PENALTY_OPTIMAL, Status.JOINTLY_OPTIMAL):
            return self.status.said_of(self.scope)
        return f"{proof_in_words(self.gap, self.scope)} {as_sentence(str(self.status))}"

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
