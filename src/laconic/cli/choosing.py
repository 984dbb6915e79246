"""The command that chooses numbers of features and of components: choose."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import laconic.cli.common as common
import laconic.cli.outputs as outputs
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options


@common.app.command()
@common.one_line_messages()
@with_table_options
def choose(
    files: common.Files,
    max_cardinality: Annotated[
        int | None,
        common.option(
            "INT",
            "The largest number of features that is tried. By default all features, but at most 100.",
            "-K",
            "--max-cardinality",
        ),
    ] = None,
    n_components: Annotated[
        str,
        common.option(
            "INT|parallel",
            "The number of components; parallel: as many as are better than noise.",
            "-c",
            "--components",
        ),
    ] = "1",
    criterion: Annotated[
        str,
        common.option(
            "NAME",
            "What to recommend: cv (held-out entries), hull (the bend of the curve), sparseness, bic or ebic.",
            words=common.CRITERIA,
        ),
    ] = "cv",
    nonnegative: common.Nonnegative = False,
    forced_in: Annotated[
        list[str] | None, common.option("NAME[,NAME]", "Features that every component must use.")
    ] = None,
    scale: common.Scale = False,
    missing: common.Missing = "error",
    no_center: common.NoCenter = False,
    covariance: common.Covariance = False,
    table: TableReader = TableReader(),
    time_limit: common.TimeLimit = None,
    out: Annotated[
        Path | None, common.option("DIR", "The folder for the table (choose.csv), the picture and the command.")
    ] = None,
    pictures: common.Pictures = "png",
) -> None:
    """Choose the number of features and of components, and say why."""
    common.one_of(common.CRITERIA, criterion, "--criterion")
    kind = common.pictures_of(pictures, out)
    common.check_ranges(max_cardinality=max_cardinality, time_limit=time_limit)
    count: Any = common.components_of(n_components)
    data = table.read(files, covariance=covariance)
    from laconic.model.choosing.choose import choose as choose_numbers
    from laconic.report.tables import choice_table, print_tables

    directory = None if out is None else common.made_directory(out)
    with reading.named(files):
        choice = choose_numbers(
            data,
            max_cardinality,
            n_components=count,
            criterion=criterion,  # type: ignore[arg-type] # checked above
            given="covariance" if covariance else "rows",
            nonnegative=nonnegative,
            forced_in=reading.features(forced_in, data),
            center=common.is_centered(no_center, covariance),
            scale=scale,
            missing=common.missing_of(missing),
            time_limit=time_limit,
            progress=True,
        )
    print_tables([choice_table(choice)])
    for one in choice.components:
        typer.echo(f"\nComponent {one.component}: {common.in_options(one.reason)}")
    if choice.stopped is not None:
        typer.echo(f"\nThe work was stopped early: {choice.stopped.value}.")
    if choice.n_components:
        sizes = ",".join(map(str, choice.cardinality))
        again = common.as_options(
            scale=scale,
            missing=missing if missing != "error" else None,
            no_center=no_center,
            covariance=covariance,
            nonnegative=nonnegative,
            forced_in=forced_in,
        )
        command = ["laconic", "fit", *map(str, files), "-k", sizes, *again, *table.as_options()]
        typer.echo(f"\nNext: {shlex.join(command)}")
    else:
        typer.echo(f"\n{choice.without_components}")
    if directory is not None:
        drawn = [one.component for one in choice.components if one.curves][:4]
        figure = outputs.in_panels(choice.plot, drawn, 3.6)
        files_out = {
            directory / "choose.csv": choice.to_frame(),
            directory / "command-choose.txt": outputs.command_text(files),
            directory / f"choose.{kind}": figure,
        }
        outputs.remove_earlier(outputs.write_files(files_out), r"choose\.(png|svg|pdf)")
