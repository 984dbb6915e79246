"""The command that does the paper's applications again."""

from pathlib import Path
from typing import Annotated

import typer

from laconic.cli.common import app, one_line_messages


@app.command(short_help="Do one of the paper's applications again.")
def study(
    name: Annotated[
        str, typer.Argument(help="news, china, senate, stocks, random-matrices or recovery.", metavar="NAME")
    ],
    out: Annotated[Path | None, typer.Option(help="Directory for figures, tables and the page.", metavar="DIR")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller run.")] = False,
    seed: Annotated[int, typer.Option(help="Of everything random.", metavar="INT")] = 0,
) -> None:
    """Do one of the paper's applications again: figures, tables, and a page that compares."""
    with one_line_messages():
        from laconic.core.monitor import Monitor
        from laconic.studies import Settings, get_study

        run = get_study(name)
        with Monitor(progress=True) as monitor:
            result = run(Settings(quick=quick, seed=seed, monitor=monitor))
        directory = Path(f"study-{name}") if out is None else out
        written = result.write(directory)
        for statement in result.statements:
            typer.echo(f"{statement.verdict}: {statement.ours}")
        typer.echo(f"Wrote {len(written)} files to {directory}; begin with {directory / 'README.md'}.")
