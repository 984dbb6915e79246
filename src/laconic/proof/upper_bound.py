"""The result of `gate.prove`: a proved upper bound."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from laconic.proof.estimate import Estimate


@dataclass(frozen=True, eq=False)
class UpperBound(Estimate):
    """A proved upper bound on z'Sz over unit z with at most k nonzeros. Only `laconic.proof.gate` makes one.

    Later code may only raise its value, with `raised_to`.

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
        Estimates of all bounds that were tried, by name.
    """

    margin: float = 0.0
    others: Mapping[str, float] = field(default_factory=dict)

    def raised_to(self, value: float, margin: float) -> "UpperBound":
        """Return the bound with a larger value, such as that of a certificate, which adds slack."""
        if not value >= self.value:
            raise ValueError(f"A bound of {self.value!r} cannot be lowered to {value!r}.")
        return replace(self, value=value, margin=margin)
