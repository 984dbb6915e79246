"""All kinds of witnesses, one line each. The gate proves nothing from a witness that is not listed here."""

from laconic.proof.witnesses.blocks import BlockWitness
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.elimination import EliminationWitness
from laconic.proof.witnesses.plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.proof.witnesses.tree import TreeWitness
from laconic.proof.witnesses.two_groups import TwoGroupsWitness

WITNESSES: dict[str, type[Witness]] = {}


def register(cls: type[Witness]) -> type[Witness]:
    """Add a kind of witness, with a name that is not taken. The gate and `verify` then trust its method `bound`."""
    if WITNESSES.setdefault(cls.__name__, cls) is not cls:
        raise ValueError(f"There is another witness named {cls.__name__}; choose another name.")
    return cls


register(TraceWitness)
register(RowSumWitness)
register(ExhaustiveWitness)
register(DualWitness)
register(Proposition2Witness)
register(BlockWitness)
register(EliminationWitness)
register(TwoGroupsWitness)
register(TreeWitness)


def kind_of(witness: Witness) -> str:
    """Return the name of the bound that a witness proves."""
    return witness.kinds()[0]


def kinds_of(witness: Witness) -> set[str]:
    """Return all names that a bound with this witness may go by; branch and bound may end with any witness."""
    return {*witness.kinds(), "branch and bound"}
