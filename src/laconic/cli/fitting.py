"""The command that finds components: fit."""

from pathlib import Path
from typing import Annotated, Any

import typer

import laconic.cli.common as common
import laconic.cli.outputs as outputs
import laconic.cli.pages as pages
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options


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
    time_limit: common.TimeLimit = None,
    out: common.Out = None,
    scores: Annotated[str, common.option("csv|parquet", "The format of the scores in --out: csv or parquet.")] = "csv",
    report: pages.Report = None,
    save: Annotated[
        Path | None,
        common.option("FILE", "The file for the model (.laconic), for laconic transform and show. --out has one, too."),
    ] = None,
    pictures: common.Pictures = "png",
    color_by: Annotated[
        str | None,
        common.option(
            "COLUMN",
            "Colour the rows in the pictures by this column: text or numbers. It is left out of the fit unless "
            "--columns names it.",
        ),
    ] = None,
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
    if report is not None:
        pages.check_place(report, files)
    if save is not None:
        if save.resolve() in [file.resolve() for file in [*files, *([] if contrast is None else [contrast])]]:
            raise ValueError(f"--save {save} is a file that is read; give another one.")
        common.made_directory(save.parent)
    common.check_ranges(min_variance=min_variance, penalty=penalty, permutations=permutations, time_limit=time_limit)
    kind = common.pictures_of(pictures, out)
    if color_by is not None and out is None and report is None:
        raise ValueError(f"--color-by {color_by} is for the pictures in --out and --report; give one of them, too.")
    criterion: Any = next((word for word in cardinality or () if word in common.CRITERIA), None)
    sizes = common.whole_numbers(cardinality, common.CRITERIA) if criterion is None else []
    # All options are checked before the table is read, which may take long.
    settings: dict[str, Any] = {
        "n_components": max(1, len(sizes)) if n_components is None else common.components_of(n_components),
        "cardinality": criterion if not sizes else sizes[0] if len(sizes) == 1 else sizes,
        "min_variance": min_variance,
        "penalty": penalty,
        "method": common.one_of(common.METHODS, method, "--method"),
        "proof": common.proof_of(proof),
        "permutations": permutations,
        "deflation": common.one_of(common.DEFLATIONS, deflation, "--deflation"),
        "disjoint": disjoint,
        "joint": None if joint is None else common.one_of(common.QUESTIONS, joint, "--joint"),
        "nonnegative": nonnegative,
        "center": common.is_centered(no_center, covariance),
        "scale": scale,
        "missing": common.missing_of(missing),
        "indefinite": common.one_of(("accept", "nearest", "error"), indefinite, "--indefinite"),
        "time_limit": time_limit,
        "progress": True,
    }
    data, colors = table.read_colored(files, color_by, blocks=blocks, covariance=covariance)
    from laconic.data.rows import Source
    from laconic.model.estimator import SparsePCA
    from laconic.report.tables import print_components

    directory = None if out is None else common.made_directory(out)
    if directory is not None:
        outputs.check_apart(files, directory)
    settings |= {"forced_in": reading.features(forced_in, data), "forced_out": reading.features(forced_out, data)}
    model = SparsePCA(**settings)
    background = None if contrast is None else table.read([contrast])
    with reading.named(files, contrast):
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
    if report is not None:
        pages.write_page(model, data, report, files, time_limit=time_limit, color_by=colors)
    if save is not None:
        common.say_written([model.save(save)])
    if directory is None:
        return
    place = directory / f"scores.{scores}"
    if isinstance(data, Source):
        from laconic.cli.watched import write_scores

        # The scores take another reading, so the other files are written first.
        written = outputs.write_files(outputs.fit_files(directory, model, files, pictures=kind))
        written.append(write_scores(model, data, place))
        common.say_written(written[-1:])
    else:
        rows = None if covariance else data
        written = outputs.write_files(outputs.fit_files(directory, model, files, rows, place, colors, kind))
    outputs.remove_earlier(written, outputs.RESULTS)
