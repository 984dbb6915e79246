"""What the commands share: options, reading and writing, and messages of one line."""

import errno
import os
import re
import warnings
from collections.abc import Iterator, Sequence
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
STANDARD_INPUT = Path("-")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " "}

File = Annotated[
    Path,
    typer.Argument(
        help="Table: .csv, .tsv, .txt, .parquet or .arrow, or - for text on standard input; one row a sample.",
        metavar="FILE",
    ),
]
Index = Annotated[
    str | None,
    typer.Option(
        help="Column of row labels. Default: the first, if it alone holds text, and no number, or has no name.",
        metavar="COLUMN",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="Of fields in text; tab and blank by name. Default: whichever of comma, semicolon, tab, bar and blank "
        "the first two lines have and makes numbers of the second, that of the ending first.",
        metavar="CHARACTER",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal sign in text. Default: a point; a comma if semicolons separate fields such as 1,5.",
        metavar="SIGN",
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


def read_table(
    file: Path,
    index: str | None,
    drop: list[str] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> "pd.DataFrame":
    """Read a table without the columns to leave out; what is left must be numbers."""
    from laconic.data.files import label_rows, load

    source, name = (typer.get_binary_stream("stdin"), "<stdin>") if file == STANDARD_INPUT else (file, file.name)
    separator = separator if separator is None else NAMED_SEPARATORS.get(separator, separator)
    frame = load(source, index=index, separator=separator, decimal=decimal)
    # A Parquet file may name its columns by numbers; on the command line every name is text.
    frame.columns = frame.columns.map(str)
    unwanted = split_names(drop, frame)
    if unwanted is not None:
        unknown = next((name for name in unwanted if name not in frame.columns), None)
        if unknown is not None:
            raise ValueError(f"--drop {unknown} is not a column of {name}.")
        frame = frame.drop(columns=unwanted)
        # What is left may have labels in its first column now.
        frame = frame if index is not None else label_rows(frame)
    _refuse_text(frame, name)
    return frame


def _refuse_text(frame: "pd.DataFrame", name: str) -> None:
    """Raise if a column holds text, with the options that help."""
    import pandas as pd

    from laconic.data.text import text_columns

    for column in text_columns(frame):
        entries = frame[column].dropna().astype(str)
        wrong = entries[pd.to_numeric(entries, errors="coerce").isna()]
        if len(wrong):
            raise ValueError(
                f"{name} has a column that does not hold numbers: {column!r}, with {wrong.iloc[0]!r}; leave it out "
                "(--drop) or take it for the labels of the rows (--index)."
            )


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
    """Return a directory that can be written to, made if need be."""
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(out))
    return out


def write_files(files: dict[Path, Any], replaced: str | None = None) -> None:
    """Write tables, figures and certificates, and say where they are.

    Files beside them whose name fits `replaced`, a regular expression, are what an earlier run has left: they go.
    """
    from laconic.proof.storage import write_certificate

    written: list[Path] = []
    for place, content in files.items():
        if place.suffix == ".json":
            written += write_certificate(content, place)
            continue
        if place.suffix == ".png":
            content.savefig(place, dpi=DPI)
        else:
            content.to_csv(place, index=content.index.name is not None)
        written.append(place)
    say_written(written)
    if replaced is not None:
        _remove_earlier(written, replaced)


def _remove_earlier(written: Sequence[Path], names: str) -> None:
    old = [
        file
        for directory in {place.parent for place in written}
        for file in sorted(directory.iterdir())
        if re.fullmatch(names, file.name) and file.is_file() and file not in written
    ]
    for file in old:
        file.unlink()
    if old:
        typer.echo("Removed what an earlier run had left: " + ", ".join(map(str, old)) + ".")


def say_written(files: Sequence[Path]) -> None:
    """Say which files were written."""
    typer.echo("Wrote " + ", ".join(map(str, files)) + ".")


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


def effort_of(text: str) -> Literal["fast", "tight"] | None:
    """Return the effort that --certify asks for, or None for "none"."""
    return None if text == "none" else some_effort(text, "--certify", "fast, tight or none")


def some_effort(text: str, option: str, allowed: str = "fast or tight") -> Literal["fast", "tight"]:
    """Return the effort that an option asks for."""
    if text not in ("fast", "tight"):
        raise ValueError(f"{option} {text} must be {allowed}.")
    return cast("Literal['fast', 'tight']", text)


def is_centered(no_center: bool, covariance: bool) -> bool:
    """Return whether to subtract the column means."""
    if no_center and covariance:
        raise ValueError("--no-center is about rows; a covariance matrix (--covariance) has none.")
    return not no_center


def one_line(message: object) -> str:
    """Return a message without its line breaks."""
    if isinstance(message, OSError) and message.filename is not None:
        message = f"{message.filename}: {message.strerror}."
    return " ".join(str(message).split())
