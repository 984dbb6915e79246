"""The command about rows that are drawn again: stability."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import laconic.cli.common as common
import laconic.cli.outputs as outputs
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options


@common.app.command(short_help="Show how often each feature is chosen in samples of the rows.")
@common.one_line_messages()
@with_table_options
def stability(
    files: common.Files,
    cardinality: Annotated[
        list[str],
        common.option(
            "INT[,INT]",
            "The number of features in each component: 5, or 5,2 for two components.",
            "-k",
            "--cardinality",
        ),
    ],
    n_components: Annotated[
        int | None,
        common.option("INT", "The number of components. By default one for each number of -k.", "-c", "--components"),
    ] = None,
    resamples: Annotated[int, common.option("INT", "The number of samples of the rows.")] = 100,
    sampling: Annotated[
        str,
        common.option(
            "halves|bootstrap",
            "How rows are drawn: pairs of halves without a common row, or as many rows as there are, with repetition.",
        ),
    ] = "halves",
    threshold: Annotated[
        float, common.option("SHARE", "The share of samples from which a feature counts as stable.")
    ] = 0.75,
    method: common.Method = "auto",
    proof: common.Proof = "none",
    nonnegative: common.Nonnegative = False,
    forced_in: Annotated[
        list[str] | None, common.option("NAME[,NAME]", "Features that every component must use.")
    ] = None,
    scale: common.Scale = False,
    no_center: common.NoCenter = False,
    table: TableReader = TableReader(),
    seed: Annotated[int, common.option("INT", "The seed of the samples.")] = 0,
    jobs: Annotated[int, common.option("INT", "The number of processes; -1 uses all processors.")] = 1,
    time_limit: common.TimeLimit = None,
    out: Annotated[
        Path | None, common.option("DIR", "The folder for the table (stability.csv), the picture and the command.")
    ] = None,
    pictures: common.Pictures = "png",
) -> None:
    """Show how often each feature is chosen when the rows are drawn again."""
    chosen = common.one_of(("halves", "bootstrap"), sampling, "--sampling")
    kind = common.pictures_of(pictures, out)
    common.check_ranges(n_components=n_components, random_state=seed, n_jobs=jobs, time_limit=time_limit)
    data = table.read(files)
    from laconic.model.stability import check_threshold
    from laconic.model.stability import stability as find_stability
    from laconic.report.tables import print_tables, stability_tables

    check_threshold(threshold)
    directory = None if out is None else common.made_directory(out)
    sizes = common.whole_numbers(cardinality)
    with reading.named(files):
        found = find_stability(
            data,
            n_components=n_components,
            cardinality=sizes[0] if len(sizes) == 1 else sizes,
            resamples=resamples,
            sampling="halves" if chosen == "halves" else "bootstrap",
            method=common.one_of(common.METHODS, method, "--method"),
            proof=common.proof_of(proof),
            nonnegative=nonnegative,
            forced_in=reading.features(forced_in, data),
            center=not no_center,
            scale=scale,
            random_state=seed,
            n_jobs=jobs,
            time_limit=time_limit,
            progress=True,
        )
    print_tables(stability_tables(found))
    typer.echo(common.in_options(found.verdict_at(threshold)))
    if directory is not None:
        drawn = range(1, min(len(found.components), 6) + 1)
        bars = min(40, int(found.to_frame()["component"].value_counts().max()))
        files_out = {
            directory / "stability.csv": found.to_frame(),
            directory / "command-stability.txt": outputs.command_text(files),
            directory / f"stability.{kind}": outputs.in_panels(
                partial(found.plot, threshold=threshold), drawn, 1.7 + 0.27 * bars
            ),
        }
        outputs.remove_earlier(outputs.write_files(files_out), r"stability\.(png|svg|pdf)")
