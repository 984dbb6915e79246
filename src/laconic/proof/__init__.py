"""From a witness to a proved bound, and certificates that anybody can check without the code of the solvers."""

from laconic.proof.certificate import Certificate, certify
from laconic.proof.gate import Estimate, ProofError, UpperBound, prove, proved_lower, proved_upper
from laconic.proof.verification import Verification, verify
from laconic.proof.witness import Proved

__all__ = [
    "Certificate",
    "Estimate",
    "ProofError",
    "Proved",
    "UpperBound",
    "Verification",
    "certify",
    "prove",
    "proved_lower",
    "proved_upper",
    "verify",
]
