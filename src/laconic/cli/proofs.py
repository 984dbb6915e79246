"""Commands about proofs: certify, verify."""

import math
from pathlib import Path
from typing import Annotated

import typer

from laconic.cli.common import (
    Covariance,
    Decimal,
    Drop,
    File,
    Index,
    NoCenter,
    Scale,
    Separator,
    TimeLimit,
    app,
    is_centered,
    made_directory,
    one_line_messages,
    read_table,
    say_written,
    some_effort,
    split_names,
)


@app.command()
def certify(
    file: File,
    support: Annotated[list[str], typer.Option(help="The features of the component.", metavar="NAME[,NAME]")],
    effort: Annotated[str, typer.Option(help="fast or tight.", metavar="EFFORT")] = "tight",
    scale: Scale = False,
    no_center: NoCenter = False,
    covariance: Covariance = False,
    index: Index = None,
    drop: Drop = None,
    separator: Separator = None,
    decimal: Decimal = None,
    time_limit: TimeLimit = None,
    out: Annotated[Path | None, typer.Option(help="File for the certificate (.json).", metavar="FILE")] = None,
) -> None:
    """Say how far from optimal a hand-picked set of features can be."""
    with one_line_messages():
        chosen = some_effort(effort, "--effort")
        if out is not None:
            _make_ready(out)
        frame = read_table(file, index, drop, separator, decimal)
        from laconic.bounds.certify import certify_support
        from laconic.proof.storage import write_certificate

        certificate = certify_support(
            frame,
            split_names(support, frame) or [],
            chosen,
            given="covariance" if covariance else "rows",
            center=is_centered(no_center, covariance),
            scale=scale,
            time_limit=time_limit,
            progress=True,
        )
        typer.echo(
            f"Variance of the best component on these {len(certificate.support)} features: {certificate.lower:.6g}"
        )
        typer.echo(
            f"No {certificate.cardinality} features reach more than {certificate.upper:.6g} ({certificate.kind})."
        )
        typer.echo(f"{certificate.verdict[0].upper()}{certificate.verdict[1:]}.")
        if out is not None:
            say_written(write_certificate(certificate, out))


def _make_ready(out: Path) -> None:
    """Raise before anything is computed if a certificate cannot be written there."""
    if out.is_dir():
        raise ValueError(f"--out {out} is a directory; give a file that ends in .json.")
    if out.suffix.lower() == ".npz":
        raise ValueError(f"--out {out} must end in .json; arrays go to a .npz file beside it.")
    made_directory(out.parent)


@app.command(short_help="Check a certificate against the data it is about.")
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate (.json).", metavar="CERTIFICATE")],
    file: File,
    index: Index = None,
    drop: Drop = None,
    separator: Separator = None,
    decimal: Decimal = None,
) -> None:
    """Check a certificate against the data it is about: exit status 0 if it is proved, 1 if not, 2 for bad input.

    Bad input is a table that cannot be read or has NaN, and a file that is no certificate, or was altered or cut short.
    """
    with one_line_messages():
        if not certificate.is_file():
            raise ValueError(f"There is no file {certificate}.")
        frame = read_table(file, index, drop, separator, decimal)
        from laconic.data.rows import check_finite
        from laconic.proof import Certificate
        from laconic.proof import verify as check

        claim = Certificate.load(certificate)
        if claim.matrix.weights is not None:
            raise ValueError(
                f"{certificate.name} is about weighted rows, whose weights no option gives; in Python "
                "laconic.verify(certificate, X, sample_weight=...) checks it."
            )
        check_finite(frame.to_numpy(dtype=float, na_value=math.nan), name=file.name, feature_names=list(frame.columns))
        found = check(claim, frame)
        typer.echo(found.reason)
        if not found:
            raise typer.Exit(1)
        typer.echo(f"Variance {found.lower:.9g} is reached, and {found.upper:.9g} is not exceeded.")
