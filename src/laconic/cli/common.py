"""What the commands share: options, reading and writing, and messages of one line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    help="Principal components that use few features.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

DPI = 200

File = Annotated[Path, typer.Argument(help="Table: .csv, .tsv, .parquet or .arrow; one row a sample.", metavar="FILE")]
Index = Annotated[
    str | None,
    typer.Option(
        help="Column of row labels. Default: the first, if it alone holds text or has no name.", metavar="COLUMN"
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out, such as text.", metavar="COLUMN[,COLUMN]")]
Covariance = Annotated[bool, typer.Option("--covariance", help="FILE holds a covariance matrix, not rows.")]
Method = Annotated[
    str,
    typer.Option(
        help="auto, exact, dspca, exhaustive, swaps, greedy, backward-greedy, approximate-greedy, truncated-power, "
        "gpower-l1, gpower-l0, gpower-l1-block, gpower-l0-block, thresholding or sorting.",
        metavar="NAME",
    ),
]
Scale = Annotated[bool, typer.Option("--scale", help="Divide columns by their standard deviation.")]
NoCenter = Annotated[bool, typer.Option("--no-center", help="Do not subtract the column means.")]
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Allow no negative loading.")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds; then the best found so far is kept.", metavar="SECONDS")
]
Certify = Annotated[
    str, typer.Option(help="Effort to prove how good a component is: fast, tight or none.", metavar="EFFORT")
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Directory for tables (.csv), a picture (.png) and, of a fit, certificates (.json).", metavar="DIR"
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        from laconic import __version__

        typer.echo(f"laconic {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Principal components that use few features."""


def read_table(file: Path, index: str | None, drop: list[str] | None = None) -> "pd.DataFrame":
    """Read a table without the columns to leave out; on the command line every column name is text."""
    from laconic.data.files import label_rows, load

    frame = load(file, index=index)
    # A Parquet file may name its columns by numbers; on the command line every name is text.
    frame.columns = frame.columns.map(str)
    unwanted = split_names(drop, frame)
    if unwanted is None:
        return frame
    unknown = next((name for name in unwanted if name not in frame.columns), None)
    if unknown is not None:
        raise ValueError(f"--drop {unknown} is not a column of {file.name}.")
    frame = frame.drop(columns=unwanted)
    # What is left may have labels in its first column now.
    return frame if index is not None else label_rows(frame)


def whole_numbers(given: list[str] | None) -> list[int]:
    """Return the numbers given, with commas between or one by one."""
    parts = [part for text in given or [] for part in text.split(",")]
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError(f"-k {','.join(parts)} must be a whole number, or several with commas between.") from None


def split_names(given: list[str] | None, frame: "pd.DataFrame") -> list[str] | None:
    """Split at commas what is not itself a name with a comma."""
    if not given:
        return None
    known = set(frame.columns)
    return [name for text in given for name in ([text] if text in known else text.split(","))]


def made_directory(out: Path) -> Path:
    """Return a directory, made if need be."""
    out.mkdir(parents=True, exist_ok=True)
    return out


def write_files(files: dict[Path, Any]) -> None:
    """Write tables and figures and say where they are."""
    for place, content in files.items():
        if place.suffix == ".png":
            content.savefig(place, dpi=DPI)
        elif place.suffix == ".json":
            content.save(place)
        else:
            content.to_csv(place, index=content.index.name is not None)
    typer.echo("Wrote " + ", ".join(str(place) for place in files) + ".")


@contextmanager
def one_line_messages() -> Iterator[None]:
    """Turn warnings and what is wrong with the input into one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"laconic: warning: {one_line(message)}", err=True)

    with warnings.catch_warnings():
        # Warnings meant for programmers stay away.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # one for each letter that a font lacks
        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
            raise
        except (ValueError, TypeError, OSError) as error:
            typer.echo(f"laconic: {one_line(error)}", err=True)
            raise typer.Exit(2) from None


def effort_of(text: str, option: str = "--certify") -> Literal["fast", "tight"] | None:
    """Return the effort that an option asks for, or None for "none"."""
    if text not in ("fast", "tight", "none"):
        raise ValueError(f"{option} {text} must be fast, tight or none.")
    return None if text == "none" else cast("Literal['fast', 'tight']", text)


def one_line(message: object) -> str:
    """Return a message without its line breaks."""
    if isinstance(message, OSError) and message.filename is not None:
        message = f"{message.filename}: {message.strerror}."
    return " ".join(str(message).split())
