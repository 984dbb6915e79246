"""From a witness to a proved bound, and certificates that anybody can check without the code of the solvers."""

from laconic.proof.certificate import Certificate, certify
from laconic.proof.estimate import Estimate
from laconic.proof.gate import ProofError, prove, proved_upper
from laconic.proof.lower import proved_lower
from laconic.proof.terms import Proved
from laconic.proof.upper_bound import UpperBound
from laconic.proof.verification import Verification, verify

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
