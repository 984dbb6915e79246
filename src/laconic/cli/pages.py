"""The command that makes a page: report; and the option of fit that does."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import laconic.cli.common as common
import laconic.cli.reading as reading
from laconic.cli.messages import COMMAND
from laconic.cli.table_options import TableReader, with_table_options

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA

Report = Annotated[
    Path | None,
    common.option("PAGE", "Write a page with sentences, tables, pictures and proofs: one file, such as page.html."),
]


@common.app.command(short_help="Make a page about a model, to read and to send.")
@common.one_line_messages()
@with_table_options
def report(
    model: Annotated[Path, typer.Argument(help="The model, as laconic fit --save writes it.", metavar="MODEL")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The data that the model was fitted to. Without them the page has fewer pictures.", metavar="FILE"
        ),
    ] = None,
    covariance: common.Covariance = False,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
    title: Annotated[str | None, common.option("TEXT", "The title of the page.")] = None,
    color_by: Annotated[str | None, common.option("COLUMN", "Colour the rows by this column: text or numbers.")] = None,
    time_limit: Annotated[
        float | None, common.option("SECONDS", "The time for what is computed from the data. By default 10.")
    ] = None,
    out: Annotated[Path, common.option("PAGE", "The file of the page.")] = Path("report.html"),
) -> None:
    """Make a page about a model: sentences, tables, pictures and proofs in one file."""
    from laconic.data.checks import MISSING_OPTIONS
    from laconic.model.save import load_model

    check_place(out, [model, *(files or ())])
    fitted = load_model(model)
    if color_by is not None and not files:
        raise ValueError(f"--color-by {color_by} is a column of the data; give the data, too.")
    data, colors = table.read_colored(files, color_by, blocks=blocks, covariance=covariance) if files else (None, None)
    try:
        with reading.named(files or [model]):
            write_page(fitted, data, out, files or [], time_limit=time_limit, title=title, color_by=colors)
    except ValueError as error:
        # The model says what happens to missing values, and this command has no such option.
        raise ValueError(str(error).replace(MISSING_OPTIONS, "")) from None


def check_place(place: Path, files: Sequence[Path]) -> None:
    """Raise a ValueError if a page would be written over a file that is read, or is not called .html."""
    if place.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{place} is the file of a page; let its name end in .html.")
    if not place.parent.is_dir():
        raise ValueError(f"There is no folder {place.parent} for the page {place.name}.")
    if place.resolve() in [file.resolve() for file in files]:
        raise ValueError(f"{place} holds data; give another file for the page.")


def write_page(
    model: "SparsePCA",
    data: Any,
    place: Path,
    files: Sequence[Path],
    *,
    title: str | None = None,
    time_limit: float | None = None,
    color_by: "Sequence[Any] | pd.Series | None" = None,
    **words: Any,
) -> None:
    """Write the page of a model, and say so. `words` are the labels of rows and the descriptions of features."""
    from laconic.report.page.html import to_html
    from laconic.report.page.html import write_page as written

    named = [file.name for file in files if file != reading.STANDARD_INPUT]
    text = to_html(
        model,
        data,
        title=title or (named[0] if named else None),
        command=shlex.join(["laconic", *COMMAND.get()]),
        columns_left_out=str(getattr(data, "note", "") or getattr(data, "attrs", {}).get(reading.NOTE, "")),
        in_words=common.in_options,
        time_limit=time_limit,
        color_by=color_by,
        **words,
    )
    common.say_written([written(text, place)])
