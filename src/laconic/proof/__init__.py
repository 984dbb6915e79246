"""From a witness to a proved bound, and certificates that anybody can check without the code of the solvers."""

from laconic.proof.certificate import Certificate, certify
from laconic.proof.gate import Estimate, UpperBound, prove, proved_lower, proved_upper, relative_gap
from laconic.proof.witness import ProofError, Proved

__all__ = [
    "Certificate",
    "Estimate",
    "ProofError",
    "Proved",
    "UpperBound",
    "certify",
    "prove",
    "proved_lower",
    "proved_upper",
    "relative_gap",
]
