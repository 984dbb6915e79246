"""The certificates of a model as files: the bytes that `Certificate.save` writes."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laconic.proof.certificate import Certificate
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.storage import write_certificate

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A page carries certificates of at most this many bytes, and one about many variables more, so that it stays below
# 2 MB and 5 MB. The text of a link is a third longer than the bytes.
MOST_BYTES, MOST_BYTES_OF_MANY, MANY = 800_000, 2_000_000, 1000


@dataclass(frozen=True)
class CertificateFiles:
    """The files of one certificate."""

    component: int | None  # None for the certificate of all components together
    verdict: str
    files: tuple[tuple[str, bytes], ...]  # name and content, the JSON file first; empty if they are too large
    size: int  # in bytes
    how: str  # how to save the certificate in Python


def certificate_files(model: "SparsePCA") -> list[CertificateFiles]:
    """Return the files of all certificates of a model, the first ones with their content as long as a page can bear."""
    found: list[tuple[int | None, str, Certificate | SpanCertificate]] = [
        (number, f"certificates_[{number - 1}]", certificate)
        for number, certificate in enumerate(model.certificates_, start=1)
        if certificate is not None
    ]
    if model.joint_certificate_ is not None:
        found.append((None, "joint_certificate_", model.joint_certificate_))
    room = MOST_BYTES if model.n_features_in_ <= MANY else MOST_BYTES_OF_MANY
    result = []
    with tempfile.TemporaryDirectory() as folder:
        for number, attribute, certificate in found:
            name = "components.json" if number is None else f"component-{number}.json"
            written = [(file.name, file.read_bytes()) for file in write_certificate(certificate, Path(folder) / name)]
            size = sum(len(content) for _, content in written)
            fits = size <= room
            room -= size if fits else 0
            how = f'model.{attribute}.save("{name}")'
            result.append(CertificateFiles(number, certificate.verdict, tuple(written) if fits else (), size, how))
    return result
