"""Commands about proofs: certify, verify."""

import math
from pathlib import Path
from typing import Annotated

import typer

import laconic.cli.common as common
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options


@common.app.command()
@common.one_line_messages()
@with_table_options
def certify(
    files: common.Files,
    support: Annotated[list[str], common.option("NAME[,NAME]", "The features that you chose.")],
    proof: Annotated[str, common.option("fast|tight", "How much work to spend on the proof: fast or tight.")] = "tight",
    scale: common.Scale = False,
    missing: common.Missing = "error",
    no_center: common.NoCenter = False,
    covariance: common.Covariance = False,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
    time_limit: common.TimeLimit = None,
    out: Annotated[Path | None, common.option("FILE", "The file for the certificate (.json).")] = None,
) -> None:
    """Prove how good your own choice of features is."""
    choice = common.some_proof(proof)
    common.check_ranges(time_limit=time_limit)
    if out is not None:
        _make_ready(out)
    data = table.read(files, blocks=blocks, covariance=covariance)
    from laconic.bounds.certify_support import certify_support
    from laconic.core.wording import at_least, at_most
    from laconic.proof.storage import write_certificate

    with reading.named(files):
        certificate = certify_support(
            data,
            reading.features(support, data) or [],
            choice,
            given="covariance" if covariance else "rows",
            center=common.is_centered(no_center, covariance),
            scale=scale,
            missing=common.missing_of(missing),
            time_limit=time_limit,
            progress=True,
        )
    k, lower, upper = certificate.cardinality, at_least(certificate.lower, 6), at_most(certificate.upper, 6)
    chosen = "This feature has" if k == 1 else f"These {k} features have"
    typer.echo(f"{chosen} a component with a variance of {lower}.")
    which = "single feature" if k == 1 else f"{k} features"
    typer.echo(f"No {which} can have more than {upper} (bound: {certificate.kind}).")
    typer.echo(certificate.verdict)
    if out is not None:
        common.say_written(write_certificate(certificate, out))


def _make_ready(out: Path) -> None:
    """Raise an error before the computation if the certificate cannot be written."""
    if out.is_dir():
        raise ValueError(f"--out {out} is a folder; give a file that ends in .json.")
    if out.suffix.lower() == ".npz":
        raise ValueError(f"--out {out} must end in .json; large arrays go to an .npz file beside it.")
    common.made_directory(out.parent)


@common.app.command(short_help="Check a certificate against its data.")
@common.one_line_messages()
@with_table_options
def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate (.json).", metavar="CERTIFICATE")],
    files: common.Files,
    contrast: Annotated[
        Path | None, common.option("FILE", "The background rows, if the certificate is about a contrast.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Walk through the proof step by step, in plain words.")
    ] = False,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
) -> None:
    """Check a certificate against its data. The exit status is 0 if it is proved, 1 if not, 2 if the input is bad.

    Bad input is a table that cannot be read, or a file that is not a certificate or was changed. Missing values are bad
    input unless the certificate is about such rows.
    """
    if not certificate.is_file():
        raise ValueError(f"There is no file {certificate}.")
    if certificate.suffix == ".laconic":
        raise ValueError(
            f"{certificate} is a model; laconic show {certificate} --certificates DIR writes its certificates."
        )
    if certificate.suffix != ".json" and files[0].suffix == ".json":
        raise ValueError(f"{certificate} is no certificate; give the certificate first, and then the data.")
    from laconic.core.wording import at_least, at_most
    from laconic.data.checks import check_finite
    from laconic.data.rows import Source
    from laconic.proof.span_certificate import SpanCertificate
    from laconic.proof.storage import read_certificate
    from laconic.proof.verification import verify as check

    claim = read_certificate(certificate)
    if claim.matrix.weights is not None:
        raise ValueError(
            f"{certificate.name} is about weighted rows, and no option gives the weights; check it in Python with "
            "laconic.verify(certificate, X, sample_weight=...)."
        )
    covariance = claim.matrix.given == "covariance"
    data = table.read(files, blocks=blocks, covariance=covariance)
    if isinstance(data, Source):
        from laconic.cli.watched import verify_blocks

        found = verify_blocks(claim, data, explain=explain)
    else:
        # Empty cells of a covariance matrix may be the other half of a triangle.
        if not covariance:
            numbers = data.to_numpy(dtype=float, na_value=math.nan)
            holes = claim.matrix.missing is not None
            check_finite(numbers, name=files[0].name, feature_names=list(data.columns), allow_missing=holes)
        background = None if contrast is None else table.read([contrast])
        found = check(claim, data, contrast=background, explain=explain)
    if explain:
        from laconic.proof.explanation import lines

        typer.echo("\n".join([*lines(found.steps), ""]))
    typer.echo(common.in_options(reading.with_names(found.reason, files, contrast)))
    if not found:
        raise typer.Exit(1)
    if isinstance(claim, SpanCertificate):
        typer.echo(f"The components hold a variance of at least {at_least(found.lower, 9)} together.")
        typer.echo(f"No components of these sizes{claim.scope.supports} hold more than {at_most(found.upper, 9)}.")
        return
    typer.echo(f"The component has a variance of at least {at_least(found.lower, 9)}{claim.scope.about}.")
    typer.echo(f"No support of this size{claim.scope.supports} has more than {at_most(found.upper, 9)}.")
