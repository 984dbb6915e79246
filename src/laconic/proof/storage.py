"""Certificates on disk.

A checksum shows accidental damage. It does not stop a forger; `verify` does, because it proves every claim again.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from laconic.core.archive import Decoder, archive_files, read_archive, write_archive
from laconic.core.packed import Budget
from laconic.proof.certificate import Certificate, MatrixDescription
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.registry import WITNESSES

NAME, SCHEMA = "laconic certificate", 3
# Certificates of these versions can be read, too. They lack parts of the description of the matrix that came later.
OLDER = (2,)


def write_certificate(certificate: Certificate | SpanCertificate, path: str | Path) -> list[Path]:
    """Write a certificate and return its files, the JSON file first."""
    return write_archive(certificate, path, name=NAME, schema=SCHEMA)


def certificate_files(certificate: Certificate | SpanCertificate, name: str) -> dict[str, bytes]:
    """Return the files that `write_certificate` writes, by name. `name` is that of the JSON file."""
    files = archive_files(certificate, Path(name), name=NAME, schema=SCHEMA)
    return {file.name: content for file, content in files.items()}


def read_certificate(
    path: str | Path, files: Mapping[str, bytes] | None = None, budget: Budget | None = None
) -> Certificate | SpanCertificate:
    """Read a certificate of one component, or of several together.

    `files` are the content of its files by name, if they are not on disk. `budget` limits what is unpacked.
    """
    content, arrays = read_archive(path, name=NAME, schema=SCHEMA, older=OLDER, files=files, budget=budget)
    try:
        _complete(content)
        decoder = Decoder(arrays, {Witness: WITNESSES})
        certificate: Certificate | SpanCertificate = decoder.decoded(Certificate | SpanCertificate, content)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{Path(path).name} is not as a certificate should be: {error}.") from None
    return certificate


def _complete(content: Any) -> None:
    """Add the parts that an older description of the matrix lacks, with their defaults."""
    matrix = content.get("matrix") if isinstance(content, dict) else None
    if isinstance(matrix, dict):
        for part in fields(MatrixDescription):
            if part.default is not MISSING:
                matrix.setdefault(part.name, part.default)
