"""Commands that find components: demo, fit, path."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from laconic.cli.common import (
    Certify,
    Covariance,
    Decimal,
    Drop,
    File,
    Index,
    Method,
    NoCenter,
    Nonnegative,
    Out,
    Scale,
    Separator,
    TimeLimit,
    app,
    effort_of,
    is_centered,
    made_directory,
    one_line_messages,
    read_table,
    split_names,
    whole_numbers,
    write_files,
)

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.dense_share import Comparison
    from laconic.model.estimator import SparsePCA

# A certificate that is weaker by no more than this says the same.
PROVED = 1e-6
CERTIFICATES = r"certificate-[1-9]\d*\.(json|npz)"
PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory for the picture and the table.", metavar="DIR")] = Path(
        "laconic-demo"
    ),
) -> None:
    """Show which seven bills divide the 109th US Senate."""
    with one_line_messages():
        from laconic.datasets import load_senate109
        from laconic.model.dense_share import compare_with_dense
        from laconic.model.estimator import SparsePCA
        from laconic.report.plots import plot_planes
        from laconic.report.tables import print_components

        directory = made_directory(out)
        senate = load_senate109()
        votes = senate.to_frame()
        typer.echo(f"{len(votes)} senators voted on {votes.shape[1]} bills: yea is 1, nay is -1, anything else 0.\n")
        model = SparsePCA(n_components=2, cardinality=[5, 2], proof="tight", progress=True).fit(votes)
        comparison = compare_with_dense(model, votes)
        # The record begins each title with the bill's own number.
        titles = {
            bill: title.partition("; ")[2] or title
            for bill, title in zip(senate.feature_names, senate.titles, strict=True)
        }
        print_components(model, comparison.shares, noun="bill", titles=titles)
        surnames = [senator.partition(" (")[0] for senator in senate.senators]
        names = [
            surname if surnames.count(surname) == 1 else f"{surname} ({state})"
            for surname, state in zip(surnames, senate.states, strict=True)
        ]
        figure = plot_planes(
            model,
            comparison,
            noun="bill",
            row_noun="senator",
            groups=[PARTIES[party] for party in senate.parties],
            labels=names,
        )
        loadings = model.loadings()
        loadings.insert(2, "title", loadings["feature"].map(titles))
        files: dict[Path, Any] = {directory / "senate.png": figure, directory / "loadings.csv": loadings}
        files[directory / "votes.csv"] = votes
        for number, certificate in enumerate(model.certificates_, start=1):
            files[directory / f"certificate-{number}.json"] = certificate
        write_files(files, CERTIFICATES)
        typer.echo(f"Check a proof: laconic verify {directory / 'certificate-1.json'} {directory / 'votes.csv'}")


@app.command()
def fit(
    file: File,
    cardinality: Annotated[
        list[str] | None,
        typer.Option(
            "-k", "--cardinality", help="Features a component: 5, or 5,2 for two components.", metavar="INT[,INT]"
        ),
    ] = None,
    n_components: Annotated[
        int | None,
        typer.Option(
            "-c", "--components", help="How many components. Default: one for each number of -k.", metavar="INT"
        ),
    ] = None,
    min_variance: Annotated[
        float | None,
        typer.Option(
            help="In place of -k: fewest features that keep this share of the dense component. Default: 0.9.",
            metavar="SHARE",
        ),
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(
            help="In place of -k, with --method dspca or exact: the price of a feature, in units of variance.",
            metavar="RHO",
        ),
    ] = None,
    method: Method = "auto",
    certify: Certify = "fast",
    deflation: Annotated[
        str,
        typer.Option(
            help="hotelling, projection, schur, orthogonalized-hotelling or orthogonalized-projection.", metavar="NAME"
        ),
    ] = "projection",
    disjoint: Annotated[bool, typer.Option("--disjoint", help="Use no feature twice.")] = False,
    nonnegative: Nonnegative = False,
    forced_in: Annotated[
        list[str] | None, typer.Option(help="Features of every component.", metavar="NAME[,NAME]")
    ] = None,
    forced_out: Annotated[
        list[str] | None, typer.Option(help="Features of no component.", metavar="NAME[,NAME]")
    ] = None,
    scale: Scale = False,
    no_center: NoCenter = False,
    covariance: Covariance = False,
    index: Index = None,
    drop: Drop = None,
    separator: Separator = None,
    decimal: Decimal = None,
    time_limit: TimeLimit = None,
    out: Out = None,
) -> None:
    """Find sparse components of a table."""
    with one_line_messages():
        frame = read_table(file, index, drop, separator, decimal)
        from laconic.methods.registry import get_solver
        from laconic.model.dense_share import compare_with_dense
        from laconic.model.estimator import SparsePCA
        from laconic.report.tables import print_components

        directory = None if out is None else made_directory(out)
        sizes = whole_numbers(cardinality)
        model = SparsePCA(
            n_components=max(1, len(sizes)) if n_components is None else n_components,
            cardinality=None if not sizes else sizes[0] if len(sizes) == 1 else sizes,
            min_variance=min_variance,
            penalty=penalty,
            # Asked for here, an unknown name gets the sentence that lists the known ones in order.
            method=get_solver(method),
            proof=effort_of(certify),
            deflation=deflation,
            disjoint=disjoint,
            nonnegative=nonnegative,
            forced_in=split_names(forced_in, frame),
            forced_out=split_names(forced_out, frame),
            center=is_centered(no_center, covariance),
            scale=scale,
            time_limit=time_limit,
            progress=True,
        )
        model = model.fit_covariance(frame) if covariance else model.fit(frame)
        comparison = compare_with_dense(model, frame, is_covariance=covariance)
        print_components(model, comparison.shares)
        if directory is not None:
            files = _fit_files(directory, model, frame, comparison, covariance=covariance)
            write_files(files, rf"scores\.csv|plane\.png|loadings\.png|{CERTIFICATES}")
            _say_what_is_not_on_file(model)


def _say_what_is_not_on_file(model: "SparsePCA") -> None:
    """Say which certificates prove less than the search did, so that nobody finds out from `laconic verify`."""
    for number, (certificate, upper) in enumerate(zip(model.certificates_, model.upper_bound_, strict=True), start=1):
        if certificate is not None and certificate.upper > upper * (1 + PROVED):
            reason = "it leaves the sign of loadings aside" if model.nonnegative else "the search kept no more"
            typer.echo(f"certificate-{number}.json proves less ({certificate.verdict}): {reason}.")


def _fit_files(
    directory: Path, model: "SparsePCA", frame: "pd.DataFrame", comparison: "Comparison", *, covariance: bool
) -> dict[Path, Any]:
    from laconic.report.plots import plot_loadings, plot_planes
    from laconic.report.tables import scores_table

    files: dict[Path, Any] = {directory / "loadings.csv": model.loadings()}
    for number, certificate in enumerate(model.certificates_, start=1):
        if certificate is not None:
            files[directory / f"certificate-{number}.json"] = certificate
    if not covariance:
        files[directory / "scores.csv"] = scores_table(model, frame)
    if comparison.dense_scores is not None:
        files[directory / "plane.png"] = plot_planes(model, comparison, labels=[str(name) for name in frame.index])
    else:
        files[directory / "loadings.png"] = plot_loadings(model)
    return files


@app.command()
def path(
    file: File,
    max_cardinality: Annotated[
        int | None,
        typer.Option(
            "-K", "--max-cardinality", help="Where to stop. Default: all features, at most 100.", metavar="INT"
        ),
    ] = None,
    method: Method = "auto",
    bounds: Annotated[
        str,
        typer.Option(
            help="How to prove an upper bound for every cardinality: fast, tight, l1 or none.", metavar="NAME"
        ),
    ] = "fast",
    nonnegative: Nonnegative = False,
    scale: Scale = False,
    no_center: NoCenter = False,
    covariance: Covariance = False,
    index: Index = None,
    drop: Drop = None,
    separator: Separator = None,
    decimal: Decimal = None,
    time_limit: TimeLimit = None,
    out: Out = None,
) -> None:
    """Show the variance explained for every cardinality."""
    with one_line_messages():
        frame = read_table(file, index, drop, separator, decimal)
        from laconic.model.cardinality_path import cardinality_path
        from laconic.report.tables import path_summary, path_table, print_tables

        directory = None if out is None else made_directory(out)
        found = cardinality_path(
            frame,
            max_cardinality,
            given="covariance" if covariance else "rows",
            method=method,
            proof=None if bounds == "none" else cast("Literal['fast', 'tight', 'l1']", bounds),
            nonnegative=nonnegative,
            center=is_centered(no_center, covariance),
            scale=scale,
            time_limit=time_limit,
            progress=True,
        )
        print_tables([path_table(found)])
        summary = path_summary(found)
        if summary:
            typer.echo(summary)
        if directory is not None:
            table = found.to_frame()
            table["features"] = table["features"].map(" | ".join)
            figure = found.plot().figure
            write_files({directory / "path.csv": table, directory / "path.png": figure})
