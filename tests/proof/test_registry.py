"""A new kind of witness is one class and one line of the registry."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from laconic.covariance import Recipe
from laconic.core.rounding import sum_up
from laconic.covariance import DenseCovariance
from laconic.data.digest import digest_of
from laconic.proof import Certificate, certify, prove, verify
from laconic.proof.gate import ProofError
from laconic.proof.terms import Proved, checked_number
from laconic.proof.witnesses import registry
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.elimination import EliminationWitness
from laconic.proof.witnesses.plain import TraceWitness

S = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]])


@dataclass(frozen=True, eq=False)
class WholeTraceWitness(Witness):
    """The total variance and something on top of it."""

    added: float
    inner: Witness

    def bound(self, S, k, inside, bound_of):
        added = abs(checked_number(self.added, "added"))
        value = sum_up([*S.variances, S.semidefinite_shift * S.n, added])
        return min(Proved(value, added), bound_of(self.inner, S, k, inside))

    def kinds(self):
        return ("whole trace",)


@pytest.fixture
def registered():
    registry.register(WholeTraceWitness)
    yield WholeTraceWitness(0.25, EliminationWitness(np.array([0, 1]), TraceWitness(), False, TraceWitness()))
    del registry.WITNESSES["WholeTraceWitness"]


def certificate_of(witness):
    options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
    return certify(DenseCovariance(S), 2, [0, 1], [0.8, 0.6], witness, **options)


def test_one_line_gives_bound_name_storage_and_verification(registered, tmp_path):
    bound = prove(S, 2, registered)
    assert bound.kind == "whole trace"
    assert np.linalg.eigvalsh(S[:2, :2])[-1] <= bound.value <= S.trace() + 0.25 + 1e-9
    certificate = certificate_of(registered)
    path = certificate.save(tmp_path / "proof.json")
    again = Certificate.load(path)
    assert isinstance(again.witness, WholeTraceWitness)
    assert again.witness.added == 0.25
    assert isinstance(again.witness.inner, EliminationWitness)
    assert verify(path, S)
    assert not verify(replace(again, upper=bound.value * (1 - 1e-6)), S)


def test_a_new_witness_may_stand_inside_the_others(registered):
    inside = EliminationWitness(np.array([0, 1]), TraceWitness(), False, registered)
    assert registry.kind_of(inside) == "whole trace"
    assert prove(S, 2, inside).value >= np.linalg.eigvalsh(S[:2, :2])[-1]


def test_the_gate_proves_nothing_from_a_class_that_is_not_registered():
    with pytest.raises(ProofError, match="no witness that the gate knows"):
        prove(S, 2, WholeTraceWitness(0.0, TraceWitness()))


def test_a_class_derived_from_a_witness_is_not_that_witness():
    class Forged(TraceWitness):
        def bound(self, *_):
            return Proved(0.0, 0.0)

    Forged.__name__ = "TraceWitness"
    with pytest.raises(ProofError, match="no witness"):
        prove(S, 2, Forged())
    assert not verify(replace(certificate_of(TraceWitness()), witness=Forged()), S)


def test_a_name_is_taken_once():
    other = type("TraceWitness", (Witness,), {})
    with pytest.raises(ValueError, match="another name"):
        registry.register(other)
