"""The command that finds components of all sizes: path."""

from pathlib import Path
from typing import Annotated

import typer

import laconic.cli.common as common
import laconic.cli.outputs as outputs
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options


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
    scale: common.Scale = False,
    missing: common.Missing = "error",
    no_center: common.NoCenter = False,
    covariance: common.Covariance = False,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
    time_limit: common.TimeLimit = None,
    out: Annotated[
        Path | None, common.option("DIR", "The folder for the table (path.csv), the picture and the command.")
    ] = None,
    pictures: common.Pictures = "png",
) -> None:
    """Show the variance that is reached with each number of features."""
    kind = common.pictures_of(pictures, out)
    common.check_ranges(max_cardinality=max_cardinality, time_limit=time_limit)
    data = table.read(files, blocks=blocks, covariance=covariance)
    from matplotlib.figure import Figure

    from laconic.model.cardinality_path import cardinality_path
    from laconic.report.plot_results import path as draw_path
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
        files_out = {
            directory / "path.csv": frame,
            directory / "command-path.txt": outputs.command_text(files),
            directory / f"path.{kind}": draw_path(found, ax=Figure()).figure,
        }
        outputs.remove_earlier(outputs.write_files(files_out), r"path\.(png|svg|pdf)")
