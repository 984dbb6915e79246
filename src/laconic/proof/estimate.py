"""A bound before the gate."""

from dataclasses import dataclass, field

from laconic.proof.witnesses.contract import Witness


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number that bounds z'Sz over unit z with at most k nonzeros, up to rounding errors that nobody has bounded.

    `laconic.proof.gate.prove` turns the witness into an `UpperBound`, which includes them.

    Attributes
    ----------
    value
        The estimate.
    kind
        The name of the bound.
    cardinality
        The number of nonzeros k.
    witness
        The numbers from which the gate computes the bound again.
    """

    value: float
    kind: str
    cardinality: int
    witness: Witness = field(repr=False)

    def __float__(self) -> float:
        return float(self.value)
