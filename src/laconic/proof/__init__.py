"""From a witness to a proved number, and certificates that anybody can check, with none of the solvers' code."""

from laconic.proof.certificate import Certificate, MatrixDescription, certify
from laconic.proof.digest import digest_of
from laconic.proof.gate import proved_upper, proved_upper_and_margin
from laconic.proof.lower import proved_lower
from laconic.proof.terms import Proved
from laconic.proof.verification import Verification, verify

__all__ = [
    "Certificate",
    "MatrixDescription",
    "Proved",
    "Verification",
    "certify",
    "digest_of",
    "proved_lower",
    "proved_upper",
    "proved_upper_and_margin",
    "verify",
]
