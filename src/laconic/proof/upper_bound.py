"""A bound behind the gate."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from laconic.proof.estimate import Estimate


@dataclass(frozen=True, eq=False)
class UpperBound(Estimate):
    """A proved upper bound on z'Sz over unit z with at most k nonzeros. Only `laconic.proof.gate` makes one.

    Attributes
    ----------
    value
        The bound. Rounding errors are included.
    kind, cardinality
        The name of the bound, and the number of nonzeros k.
    witness
        The numbers from which the bound can be computed again.
    margin
        The part of the value that allows for rounding errors.
    others
        Estimates of the other bounds that were tried, by name.
    """

    margin: float = 0.0
    others: Mapping[str, float] = field(default_factory=dict)
