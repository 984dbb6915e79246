"""Commands about proofs: certify, verify."""

from pathlib import Path
from typing import Annotated

import typer

from laconic.cli.common import (
    Covariance,
    Drop,
    File,
    Index,
    NoCenter,
    Scale,
    TimeLimit,
    app,
    effort_of,
    one_line_messages,
    read_table,
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
    time_limit: TimeLimit = None,
    out: Annotated[Path | None, typer.Option(help="File for the certificate (.json).", metavar="FILE")] = None,
) -> None:
    """Say how far from optimal a hand-picked set of features can be."""
    with one_line_messages():
        frame = read_table(file, index, drop)
        from laconic.certification import certify_support

        chosen = effort_of(effort, "--effort")
        if chosen is None:
            raise ValueError("--effort none proves nothing; choose fast or tight.")
        certificate = certify_support(
            frame,
            split_names(support, frame) or [],
            chosen,
            kind="covariance" if covariance else "rows",
            center=not no_center,
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
            typer.echo(f"Wrote {certificate.save(out)}.")


@app.command(short_help="Check a certificate against the data it is about.")
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate (.json).", metavar="CERTIFICATE")],
    file: File,
    index: Index = None,
    drop: Drop = None,
) -> None:
    """Check a certificate against the data it is about: exit status 0 if it is proved, 1 if not, 2 for bad input."""
    with one_line_messages():
        if not certificate.is_file():
            raise ValueError(f"There is no file {certificate}.")
        frame = read_table(file, index, drop)
        from laconic.certificate import verify as check

        found = check(certificate, frame)
        typer.echo(found.reason)
        if not found:
            raise typer.Exit(1)
        typer.echo(f"Variance {found.lower:.9g} is reached, and {found.upper:.9g} is not exceeded.")
