"""Certificates on disk.

A checksum shows accidental damage. It does not stop a forger; `verify` does, because it proves every claim again.
"""

from pathlib import Path

from laconic.core.archive import Decoder, read_archive, write_archive
from laconic.proof.certificate import Certificate
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.registry import WITNESSES

NAME, SCHEMA = "laconic certificate", 2


def write_certificate(certificate: Certificate | SpanCertificate, path: str | Path) -> list[Path]:
    """Write a certificate and return its files, the JSON file first."""
    return write_archive(certificate, path, name=NAME, schema=SCHEMA)


def read_certificate(path: str | Path) -> Certificate | SpanCertificate:
    """Read a certificate of one component, or of several together."""
    content, arrays = read_archive(path, name=NAME, schema=SCHEMA)
    try:
        decoder = Decoder(arrays, {Witness: WITNESSES})
        certificate: Certificate | SpanCertificate = decoder.decoded(Certificate | SpanCertificate, content)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{Path(path).name} is not as a certificate should be: {error}.") from None
    return certificate
