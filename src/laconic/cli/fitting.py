"""Commands that find components: demo, fit, path."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import laconic.cli.common as common
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA

# Names of the files that hold certificates, and of all files of a fit that not every fit writes.
CERTIFICATES = r"(component-[1-9]\d*|components)\.(json|npz)"
RESULTS = rf"scores\.(csv|parquet)|plane\.png|loadings\.png|{CERTIFICATES}"
PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}


@common.app.command(short_help="Find the seven bills that divide the 109th US Senate.")
@common.one_line_messages()
def demo(
    out: Annotated[Path, common.option("DIR", "The folder for the picture, the tables and the certificates.")] = Path(
        "laconic-demo"
    ),
) -> None:
    """Find the seven bills that divide the 109th US Senate, and prove that they are the best."""
    from matplotlib.figure import Figure

    from laconic.datasets import load_senate109
    from laconic.model.comparison import compare_with_dense
    from laconic.model.estimator import SparsePCA
    from laconic.report.pictures.planes import plot_planes
    from laconic.report.tables import print_components

    directory = common.made_directory(out)
    senate = load_senate109()
    votes = senate.to_frame()
    typer.echo(f"{len(votes)} senators voted on {votes.shape[1]} bills: yea is 1, nay is -1, anything else is 0.\n")
    model = SparsePCA(n_components=2, cardinality=[5, 2], proof="tight", progress=True).fit(votes)
    comparison = compare_with_dense(model, votes)
    # The record begins each title with the bill's own number.
    titles = {
        bill: title.partition("; ")[2] or title for bill, title in zip(senate.feature_names, senate.titles, strict=True)
    }
    print_components(model, model.verdicts_, noun="bill", titles=titles)
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
        ax=Figure(),
    ).figure_
    loadings = model.loadings()
    loadings.insert(2, "title", loadings["feature"].map(titles))
    files: dict[Path, Any] = {directory / "senate.png": figure, directory / "loadings.csv": loadings}
    files[directory / "votes.csv"] = votes
    files |= _certificate_files(directory, model)
    common.remove_earlier(common.write_files(files), CERTIFICATES)
    typer.echo(f"Check a proof: laconic verify {directory / 'component-1.json'} {directory / 'votes.csv'}")


@common.app.command()
@common.one_line_messages()
@with_table_options
def fit(
    files: common.Files,
    cardinality: Annotated[
        list[str] | None,
        common.option(
            "INT[,INT]",
            "The number of features in each component: 5, or 5,2 for two components. Or what chooses it from the data, "
            "as in laconic choose: cv, hull, sparseness, bic or ebic.",
            "-k",
            "--cardinality",
        ),
    ] = None,
    n_components: Annotated[
        str | None,
        common.option(
            "INT|parallel",
            "The number of components. By default one for each number of -k. parallel: as many as are better than "
            "noise.",
            "-c",
            "--components",
        ),
    ] = None,
    min_variance: Annotated[
        float | None,
        common.option(
            "SHARE",
            "Instead of -k: the share of the ordinary PCA component's variance to keep. laconic uses the smallest "
            "number of features that it finds. Without -k 0.9, or the bend of the curve if that has fewer features.",
        ),
    ] = None,
    penalty: Annotated[
        float | None,
        common.option(
            "RHO", "Instead of -k, with --method dspca or exact: the price of a feature, in units of variance."
        ),
    ] = None,
    method: common.Method = "auto",
    proof: common.Proof = "fast",
    permutations: common.Permutations = 0,
    deflation: common.Deflation = "projection",
    disjoint: Annotated[bool, typer.Option("--disjoint", help="Use each feature in one component at most.")] = False,
    joint: Annotated[
        str | None,
        common.option(
            "NAME", "Find all components together: span, so that they hold the most variance. Give -k with it."
        ),
    ] = None,
    nonnegative: common.Nonnegative = False,
    forced_in: Annotated[
        list[str] | None, common.option("NAME[,NAME]", "Features that every component must use.")
    ] = None,
    forced_out: Annotated[list[str] | None, common.option("NAME[,NAME]", "Features that no component may use.")] = None,
    scale: common.Scale = False,
    missing: common.Missing = "error",
    no_center: common.NoCenter = False,
    covariance: common.Covariance = False,
    indefinite: common.Indefinite = "accept",
    uncertainty: common.Uncertainty = 0.0,
    contrast: common.Contrast = None,
    contrast_weight: Annotated[
        float | None, common.option("G", "The weight of the rows of --contrast. By default 1.")
    ] = None,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
    checkpoint: Annotated[
        Path | None,
        common.option(
            "DIR", "The folder for sums so far of data read in blocks. If the run is stopped, the next one continues."
        ),
    ] = None,
    time_limit: common.TimeLimit = None,
    out: common.Out = None,
    scores: Annotated[str, common.option("csv|parquet", "The format of the scores in --out: csv or parquet.")] = "csv",
) -> None:
    """Find sparse components of a table."""
    common.one_of(("csv", "parquet"), scores, "--scores")
    if scores != "csv" and out is None:
        raise ValueError(f"--scores {scores} is for the files in --out; give --out, too.")
    if uncertainty and not covariance:
        raise ValueError("--uncertainty is about the entries of a matrix; give it with --covariance.")
    if contrast_weight is not None and contrast is None:
        raise ValueError("--contrast-weight is the weight of the rows of --contrast; give --contrast, too.")
    if missing != "error" and covariance:
        raise ValueError("--missing is for rows; a covariance matrix (--covariance) has no missing values.")
    if contrast is not None and covariance:
        raise ValueError("--contrast is for rows; subtract the matrices before, and give the difference.")
    data = table.read(files, blocks=blocks, covariance=covariance)
    from laconic.data.sources import Source
    from laconic.model.estimator import SparsePCA
    from laconic.report.tables import print_components

    directory = None if out is None else common.made_directory(out)
    if directory is not None:
        _check_apart(files, directory)
    criterion: Any = next((word for word in cardinality or () if word in common.CRITERIA), None)
    sizes = common.whole_numbers(cardinality) if criterion is None else []
    model = SparsePCA(
        n_components=max(1, len(sizes)) if n_components is None else common.components_of(n_components),
        cardinality=criterion if not sizes else sizes[0] if len(sizes) == 1 else sizes,
        min_variance=min_variance,
        penalty=penalty,
        method=common.one_of(common.METHODS, method, "--method"),
        proof=common.proof_of(proof),
        permutations=permutations,
        deflation=common.one_of(common.DEFLATIONS, deflation, "--deflation"),
        disjoint=disjoint,
        joint=None if joint is None else common.one_of(common.QUESTIONS, joint, "--joint"),
        nonnegative=nonnegative,
        forced_in=reading.features(forced_in, data),
        forced_out=reading.features(forced_out, data),
        center=common.is_centered(no_center, covariance),
        scale=scale,
        missing=common.missing_of(missing),
        indefinite=common.one_of(("accept", "nearest", "error"), indefinite, "--indefinite"),
        time_limit=time_limit,
        progress=True,
        checkpoint=None if checkpoint is None else common.made_directory(checkpoint),
    )
    background = None if contrast is None else table.read([contrast])
    with reading.named(files):
        if covariance:
            model = model.fit_covariance(data, uncertainty=uncertainty)
        else:
            model = model.fit(
                data,
                contrast=None
                if background is None
                else (background, 1.0 if contrast_weight is None else contrast_weight),
            )
    print_components(
        model,
        [common.in_options(verdict) for verdict in model.verdicts_],
        joint_verdict=common.in_options(model.joint_verdict_),
    )
    if directory is None:
        return
    place = directory / f"scores.{scores}"
    if isinstance(data, Source):
        from laconic.cli.watched import write_scores

        # The scores take another reading, so the other files are written first.
        written = common.write_files(_fit_files(directory, model))
        written.append(write_scores(model, data, place))
        common.say_written(written[-1:])
    else:
        written = common.write_files(_fit_files(directory, model, None if covariance else data, place))
    common.remove_earlier(written, RESULTS)


def _check_apart(files: Sequence[Path], directory: Path) -> None:
    """Raise a ValueError if a result would be written over the data or among them."""
    for file in files:
        place = file.resolve()
        mixed = place == directory.resolve()
        if mixed or (place.parent == directory.resolve() and re.fullmatch(rf"loadings\.csv|{RESULTS}", file.name)):
            raise ValueError(f"--out {directory} would write results over {file}; give another folder.")


def _certificate_files(directory: Path, model: "SparsePCA") -> dict[Path, Any]:
    files: dict[Path, Any] = {
        directory / f"component-{number}.json": certificate
        for number, certificate in enumerate(model.certificates_, start=1)
        if certificate is not None
    }
    if model.joint_certificate_ is not None:
        files[directory / "components.json"] = model.joint_certificate_
    return files


def _fit_files(
    directory: Path, model: "SparsePCA", rows: "pd.DataFrame | None" = None, place: Path | None = None
) -> dict[Path, Any]:
    """Return the tables, certificates and pictures of a fit, with the scores of rows in `place` if they are given."""
    from matplotlib.figure import Figure

    from laconic.model.comparison import compare_with_dense
    from laconic.report.pictures.loadings import plot_loadings
    from laconic.report.pictures.planes import plot_planes
    from laconic.report.tables import scores_table

    files = {directory / "loadings.csv": model.loadings(), **_certificate_files(directory, model)}
    if rows is not None and place is not None:
        scores = files[place] = scores_table(model, rows)
    if rows is not None and model.n_components_ > 1:
        comparison = compare_with_dense(model, rows, scores)
        labels = [str(name) for name in rows.index]
        files[directory / "plane.png"] = plot_planes(model, comparison, labels=labels, ax=Figure()).figure_
    else:
        files[directory / "loadings.png"] = plot_loadings(model, ax=Figure()).figure_
    return files


@common.app.command()
@common.one_line_messages()
@with_table_options
def path(
    files: common.Files,
    max_cardinality: Annotated[
        int | None,
        common.option(
            "INT",
            "The largest number of features. By default all features, but at most 100.",
            "-K",
            "--max-cardinality",
        ),
    ] = None,
    method: common.Method = "auto",
    proof: common.Proof = "fast",
    nonnegative: common.Nonnegative = False,
    forced_in: Annotated[
        list[str] | None, common.option("NAME[,NAME]", "Features that every support must use.")
    ] = None,
    forced_out: Annotated[list[str] | None, common.option("NAME[,NAME]", "Features that no support may use.")] = None,
    scale: common.Scale = False,
    missing: common.Missing = "error",
    no_center: common.NoCenter = False,
    covariance: common.Covariance = False,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
    time_limit: common.TimeLimit = None,
    out: Annotated[
        Path | None, common.option("DIR", "The folder for the table (path.csv) and the picture (path.png).")
    ] = None,
) -> None:
    """Show the variance that is reached with each number of features."""
    data = table.read(files, blocks=blocks, covariance=covariance)
    from matplotlib.figure import Figure

    from laconic.model.cardinality_path import cardinality_path
    from laconic.report.tables import path_summary, path_table, print_tables

    directory = None if out is None else common.made_directory(out)
    with reading.named(files):
        found = cardinality_path(
            data,
            max_cardinality,
            given="covariance" if covariance else "rows",
            method=common.one_of(common.METHODS, method, "--method"),
            proof=common.proof_of(proof),
            nonnegative=nonnegative,
            forced_in=reading.features(forced_in, data),
            forced_out=reading.features(forced_out, data),
            center=common.is_centered(no_center, covariance),
            scale=scale,
            missing=common.missing_of(missing),
            time_limit=time_limit,
            progress=True,
        )
    print_tables([path_table(found)])
    summary = path_summary(found)
    if summary:
        typer.echo(common.in_options(summary))
    if directory is not None:
        frame = found.to_frame()
        frame["features"] = frame["features"].map(" | ".join)
        figure = found.plot(Figure()).figure_
        common.write_files({directory / "path.csv": frame, directory / "path.png": figure})
