"""Certificates on disk.

A checksum shows accidental damage. It does not stop a forger; `verify` does, because it proves every claim again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.core.store import Budget, Decoder, archive_files, read_document, write_archive
from laconic.proof.certificate import Certificate
from laconic.proof.gate import WITNESSES
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.witness import Witness

NAME, SCHEMA = "laconic certificate", 4


def write_certificate(certificate: Certificate | SpanCertificate, path: str | Path) -> list[Path]:
    """Write a certificate and return its files, the JSON file first."""
    return write_archive(certificate, path, name=NAME, schema=SCHEMA, words={"claim": certificate.claim})


def certificate_files(certificate: Certificate | SpanCertificate, name: str) -> dict[str, bytes]:
    """Return the files that `write_certificate` writes, by name. `name` is that of the JSON file."""
    words = {"claim": certificate.claim}
    files = archive_files(certificate, Path(name), name=NAME, schema=SCHEMA, words=words)
    return {file.name: content for file, content in files.items()}


def read_certificate(
    path: str | Path, files: Mapping[str, bytes] | None = None, budget: Budget | None = None
) -> Certificate | SpanCertificate:
    """Read a certificate of one component, or of several together; its claim in words must be what its fields say.

    `files` are the content of its files by name, if they are not on disk. `budget` limits what is unpacked.
    """
    name = Path(path).name
    document, arrays = read_document(path, name=NAME, schema=SCHEMA, words=["claim"], files=files, budget=budget)
    try:
        certificate = decoded_certificate(document["content"], arrays)
        words = list(certificate.claim)
    except (TypeError, OverflowError, LookupError) as error:
        raise ValueError(f"{name} is not as a certificate should be: {error}.") from None
    if document["claim"] != words:
        raise ValueError(f"{name} was altered: its claim in words is not what its numbers say.")
    return certificate


def decoded_certificate(content: Any, arrays: dict[str, Any]) -> Certificate | SpanCertificate:
    """Return the certificate that the content of a file stands for."""
    decoder = Decoder(arrays, {Witness: WITNESSES})
    certificate: Certificate | SpanCertificate = decoder.decoded(Certificate | SpanCertificate, content)
    return certificate
