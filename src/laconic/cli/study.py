"""The command that repeats the applications of the paper."""

from pathlib import Path
from typing import Annotated

import typer

import laconic.cli.common as common


@common.app.command(short_help="Repeat an application of the paper.")
@common.one_line_messages()
def study(
    name: Annotated[
        str,
        typer.Argument(
            help="news, china, senate, stocks, random-matrices or recovery.",
            metavar="NAME",
            autocompletion=common.completed(("news", "china", "senate", "stocks", "random-matrices", "recovery")),
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The folder for figures, tables and report.", metavar="DIR")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run a smaller version.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of random numbers.", metavar="INT")] = 0,
) -> None:
    """Repeat an application of the paper: figures, tables, and a report that compares the results."""
    from laconic.core.monitor import Monitor
    from laconic.studies import STUDIES, Settings, get_study

    run = get_study(common.one_of(list(STUDIES), name, "The study"))
    with Monitor(progress=True) as monitor:
        result = run(Settings(quick=quick, seed=seed, monitor=monitor))
    directory = Path(f"study-{name}") if out is None else out
    written = result.write(directory)
    for statement in result.statements:
        typer.echo(f"{statement.verdict}: {statement.ours}")
    typer.echo(f"Wrote {len(written)} files to {directory}; begin with {directory / 'README.md'}.")
