"""The certificates of a model as files: the bytes that `Certificate.save` writes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    room = MOST_BYTES if model.n_features_in_ <= MANY else MOST_BYTES_OF_MANY
    result = []
    for place, certificate in enumerate(model.certificates_):
        if certificate is None:
            continue
        number = None if model.joint is not None else place + 1
        name = "components.json" if number is None else f"component-{number}.json"
        written = tuple(reversed(certificate.files(name).items()))
        size = sum(len(content) for _, content in written)
        fits = size <= room
        room -= size if fits else 0
        how = f'model.certificates_[{place}].save("{name}")'
        result.append(CertificateFiles(number, certificate.verdict, written if fits else (), size, how))
    return result
