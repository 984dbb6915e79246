"""Certificates: a component, a bound that no other exceeds, and the proof, to keep and to check anywhere."""

from laconic.certificate.checking import Verification, verify
from laconic.certificate.digest import digest_of
from laconic.certificate.record import Certificate, MatrixDescription, certify

__all__ = ["Certificate", "MatrixDescription", "Verification", "certify", "digest_of", "verify"]
