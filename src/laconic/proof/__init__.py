"""From a witness to a proved number, and certificates that anybody can check, with none of the solvers' code."""

from laconic.proof.certificate import Certificate, MatrixDescription, certify
from laconic.proof.digest import digest_of
from laconic.proof.estimate import Estimate
from laconic.proof.gate import ProofError, prove, proved_upper, proved_upper_and_margin
from laconic.proof.lower import proved_lower
from laconic.proof.terms import Proved
from laconic.proof.upper_bound import UpperBound
from laconic.proof.verification import Verification, verify

__all__ = [
    "Certificate",
    "Estimate",
    "MatrixDescription",
    "ProofError",
    "Proved",
    "UpperBound",
    "Verification",
    "certify",
    "digest_of",
    "prove",
    "proved_lower",
    "proved_upper",
    "proved_upper_and_margin",
    "verify",
]
