"""Witnesses: the numbers from which upper bounds are computed again. One file for each kind, and a registry."""

from laconic.proof.witnesses.blocks import BlockWitness
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.elimination import EliminationWitness
from laconic.proof.witnesses.plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.proof.witnesses.registry import kind_of, kinds_of, register
from laconic.proof.witnesses.tree import TreeWitness
from laconic.proof.witnesses.two_groups import TwoGroupsWitness

__all__ = [
    "BlockWitness",
    "DualWitness",
    "EliminationWitness",
    "ExhaustiveWitness",
    "Proposition2Witness",
    "RowSumWitness",
    "TraceWitness",
    "TreeWitness",
    "TwoGroupsWitness",
    "Witness",
    "kind_of",
    "kinds_of",
    "register",
]
