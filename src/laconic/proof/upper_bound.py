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
    value : float
        The bound. Rounding errors are included.
    kind, cardinality : str and int
        The name of the bound, and the number of nonzeros k.
    witness : Witness
        The numbers from which the bound can be computed again.
    margin : float
        The part of the value that allows for rounding errors.
    others : mapping of str to float
        Estimates of all bounds that were tried, by name.

    See Also
    --------
    upper_bound : Makes it.
    Certificate : A bound together with a component and a digest of the data.

    Examples
    --------
    >>> from laconic import upper_bound
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> bound = upper_bound(votes, 5, proof="fast")
    >>> bound.kind, bound.cardinality
    ('exhaustive', 5)
    """

    margin: float = 0.0
    others: Mapping[str, float] = field(default_factory=dict)

    def raised_to(self, value: float, margin: float) -> "UpperBound":
        """Return the bound with a larger value, such as that of a certificate, which adds slack."""
        if not value >= self.value:
            raise ValueError(f"A bound of {self.value!r} cannot be lowered to {value!r}.")
        return replace(self, value=value, margin=margin)
