"""Certificates on disk.

A checksum shows accidental damage. Against a forged certificate the mathematics helps: `verify` proves every claim
again, whether the checksum fits or not.
"""

from pathlib import Path

from laconic.core.archive import read_archive, write_archive
from laconic.proof.certificate import Certificate, MatrixDescription
from laconic.proof.witnesses.contract import WitnessReader
from laconic.proof.witnesses.registry import WITNESSES

NAME, SCHEMA = "laconic certificate", 1


def write_certificate(certificate: Certificate, path: str | Path) -> list[Path]:
    """Write a certificate and return its files, the JSON file first.

    Parameters
    ----------
    certificate
        The certificate.
    path
        The path of the JSON file. Large arrays go to an NPZ file beside it.
    """
    return write_archive(certificate, path, name=NAME, schema=SCHEMA)


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate; see `Certificate.load`."""
    content, arrays = read_archive(path, name=NAME, schema=SCHEMA)
    read = WitnessReader(arrays, WITNESSES)
    description = {"given": read.text, "center": read.flag, "scale": read.flag, "weights": read.maybe(read.text)}
    form = {
        "cardinality": read.whole,
        "n_features": read.whole,
        "support": read.indices,
        "loadings": read.floats,
        "lower": read.number,
        "upper": read.number,
        "kind": read.text,
        "witness": read.witness,
        "digest": read.text,
        "margin": read.number,
        "matrix": read.object_of(MatrixDescription, description, "the description of the matrix"),
        "deflation": read.maybe(read.text),
        "earlier": read.maybe(read.floats),
        "allowed": read.maybe(read.indices),
        "forced": read.indices,
        "feature_names": read.maybe(read.listed(read.text)),
        "versions": read.texts,
    }
    try:
        certificate: Certificate = read.object_of(Certificate, form, "the certificate")(content)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{Path(path).name} is not as a certificate should be: {error}.") from None
    return certificate
