"""The answer of a solver."""

from dataclasses import dataclass, field, replace

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.thresholds import PROVED
from laconic.core.wording import EVERYTHING, Scope, optimal_in_words, proof_in_words
from laconic.problem.status import Status
from laconic.proof.upper_bound import UpperBound
from laconic.proof.witnesses.contract import Witness


@dataclass(frozen=True, eq=False)
class Solution:
    """One sparse component.

    Attributes
    ----------
    support : ndarray of int
        The features chosen, in increasing order.
    loadings : ndarray of float
        Their loadings, a unit vector. The largest loading in absolute value is positive. If several tie, the first is.
    value : float
        The variance z'Sz of these loadings. It is a lower bound on the best possible value.
    estimate : float
        The solver's own upper estimate of the best possible value, before the gate; infinite if it has none.
    bound : UpperBound or None
        The proved upper bound on the best possible value, None if nothing is proved.
    status : Status
        How the search ended, or OPTIMAL if a proof closed the gap.
    method : str
        The name of the solver.
    reason : str
        Notes for the user: why this method was chosen, or why there is no proof.
    iterations : int
        The number of steps of the solver's main loop.
    witness : Witness or None
        The numbers from which the gate can compute `estimate` again, if the solver leaves any.
    scope : Scope
        The supports that the verdict is about.

    See Also
    --------
    SparsePCA : Its attribute `solutions_` has one for each component.
    Status : How a search may end.

    Examples
    --------
    >>> from laconic import SparsePCA
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().to_frame()
    >>> solution = SparsePCA(cardinality=5).fit(votes).solutions_[0]
    >>> solution.support
    array([13, 21, 28, 39, 45])
    >>> solution.status.name
    'OPTIMAL'
    """

    support: Indices
    loadings: Floats
    value: float
    status: Status
    estimate: float = np.inf
    bound: UpperBound | None = None
    method: str = ""
    reason: str = ""
    iterations: int = 0
    witness: Witness | None = field(default=None, repr=False)
    scope: Scope = field(default=EVERYTHING, repr=False)

    @property
    def upper(self) -> float:
        """The proved upper bound on the best possible value, infinite if nothing is proved."""
        return np.inf if self.bound is None else max(self.bound.value, self.value)

    @property
    def gap(self) -> float:
        """(upper - lower) / lower: zero when proved optimal, infinite when nothing is proved."""
        return _gap(self.lower, self.upper)

    @property
    def lower(self) -> float:
        """The variance of these loadings: a lower bound on the best possible value."""
        return self.value

    @property
    def estimated_gap(self) -> float:
        """(estimate - value) / value: the solver's own gap, before the gate."""
        return _gap(self.value, self.estimate)

    @property
    def verdict(self) -> str:
        """Full sentences: what is proved and, if a gap is left, how the search ended."""
        if self.status is Status.OPTIMAL:
            return optimal_in_words(self.scope)
        if self.status is Status.TOGETHER:
            return str(self.status)
        proof = proof_in_words(self.gap, self.scope)
        if self.status is Status.HEURISTIC:
            return proof
        return f"{proof} {self.status.said_of(self.scope)}"

    def estimated(self, estimate: float, witness: Witness | None = None) -> "Solution":
        """Return the solution with a solver's upper estimate, if it is below the one at hand."""
        if estimate >= self.estimate:
            return self
        estimate = max(estimate, self.value)
        closed = estimate - self.value <= PROVED * self.value
        status = Status.COMPLETE if closed and self.status is not Status.OPTIMAL else self.status
        return replace(self, estimate=estimate, witness=witness, status=status)

    def proved(self, bound: UpperBound) -> "Solution":
        """Return the solution with a proved upper bound, if it is below the one at hand."""
        if bound.value >= self.upper:
            return self
        optimal = bound.value - self.lower <= PROVED * self.lower
        return replace(self, bound=bound, status=Status.OPTIMAL if optimal else self.status)

    def vector(self, n_features: int) -> Floats:
        """Return the component as a vector of length `n_features`, zero off the support."""
        z = np.zeros(n_features)
        z[self.support] = self.loadings
        return z


def _gap(value: float, upper: float) -> float:
    if upper <= value:
        return 0.0
    return (upper - value) / value if value > 0 else np.inf
