"""The input of `gate.prove`: a number that is not proved yet, and its witness."""

from dataclasses import dataclass, field

from laconic.proof.witnesses.contract import Witness


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number that bounds z'Sz over unit z with at most k nonzeros, up to rounding errors that nobody has bounded.

    `laconic.proof.gate.prove` turns the witness into an `UpperBound`, which includes them.
    """

    value: float
    kind: str  # the name of the bound
    cardinality: int  # k
    witness: Witness = field(repr=False)  # the numbers from which the gate computes the bound again

    def __float__(self) -> float:
        return float(self.value)
