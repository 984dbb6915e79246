"""Parts that all commands share: options, reading and writing files, and messages of one line."""

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
    help="Sparse PCA with proofs: each component uses only a few features.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

DPI = 200
STANDARD_INPUT = Path("-")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " "}
METHODS = (
    "auto", "exact", "dspca", "exhaustive", "swaps", "greedy", "backward-greedy", "approximate-greedy",
    "truncated-power", "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block", "thresholding", "sorting",
)  # fmt: skip
DEFLATIONS = ("hotelling", "projection", "schur", "orthogonalized-hotelling", "orthogonalized-projection")
# The library's names of settings, and the options that set them.
OPTIONS = {
    "cardinality": "-k",
    "max_cardinality": "-K",
    "n_components": "-c",
    "min_variance": "--min-variance",
    "time_limit": "--time-limit",
    "forced_in": "--forced-in",
    "forced_out": "--forced-out",
    **{name: f"--{name}" for name in ("penalty", "deflation", "disjoint", "index", "separator", "decimal", "support")},
}


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def option(metavar: str, text: str, *names: str) -> Any:
    """Return an option of a command, with the word for its value and its help text."""
    return typer.Option(*names, help=text, metavar=metavar)


File = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv, .txt, .parquet or .arrow. Each row is a sample. Use - for text on standard input.",
        metavar="FILE",
    ),
]
Index = Annotated[
    str | None,
    option("COLUMN", "The column with row labels. By default the first column, if it holds only text or has no name."),
]
Separator = Annotated[
    str | None,
    option(
        "CHARACTER",
        "The separator of text fields: a character, tab or blank. By default guessed from the first two lines.",
    ),
]
Decimal = Annotated[
    str | None,
    option("SIGN", "The decimal sign in text. By default a point; a comma if semicolons separate fields such as 1,5."),
]
Drop = Annotated[list[str] | None, option("COLUMN[,COLUMN]", "Columns to leave out, for example text.")]
Covariance = Annotated[bool, typer.Option("--covariance", help="FILE holds a covariance matrix, not rows.")]
Method = Annotated[str, option("NAME", f"The search method: {_listed(METHODS)}.")]
Deflation = Annotated[
    str, option("NAME", f"How a component is removed before the next one is searched: {_listed(DEFLATIONS)}.")
]
Scale = Annotated[bool, typer.Option("--scale", help="Divide each column by its standard deviation.")]
NoCenter = Annotated[bool, typer.Option("--no-center", help="Do not subtract the column means.")]
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Do not allow negative loadings.")]
TimeLimit = Annotated[float | None, option("SECONDS", "Stop after this time and keep the best result found so far.")]
Proof = Annotated[
    str, option("fast|tight|none", "How much work to spend on proving upper bounds: fast, tight or none.")
]
Out = Annotated[Path | None, option("DIR", "The folder for tables (.csv), pictures (.png) and certificates (.json).")]


def _version(wanted: bool) -> None:
    if wanted:
        from laconic import __version__

        typer.echo(f"laconic {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Sparse PCA with proofs: each component uses only a few features."""


def read_numbers(
    file: Path,
    index: str | None,
    drop: list[str] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> "pd.DataFrame":
    """Read a table, leave out the unwanted columns, and raise a ValueError if one of the others is not numeric."""
    from laconic.data.files import label_rows, read_file

    source = typer.get_binary_stream("stdin") if file == STANDARD_INPUT else file
    separator = separator if separator is None else NAMED_SEPARATORS.get(separator, separator)
    content = read_file(source, separator=separator, decimal=decimal)
    if content.warning:
        warnings.warn(content.warning, stacklevel=1)
    frame = content.frame
    # A Parquet file may have numbers as column names. On the command line every name is text.
    frame.columns = frame.columns.map(str)
    unwanted = split_names(drop, frame) or []
    unknown = next((name for name in unwanted if name not in frame.columns), None)
    if unknown is not None:
        raise ValueError(f"--drop {unknown} is not a column of {content.name}.")
    frame, text = label_rows(frame.drop(columns=unwanted), index, content.name)
    _refuse_text(frame, text, content.name)
    return frame


def _refuse_text(frame: "pd.DataFrame", text: Sequence[Any], name: str) -> None:
    """Raise a ValueError if one of the text columns has an entry that is not a number."""
    import pandas as pd

    for column in text:
        entries = frame[column].dropna().astype(str)
        wrong = entries[pd.to_numeric(entries, errors="coerce").isna()]
        if len(wrong):
            raise ValueError(
                f"{name} has a column that does not hold numbers: {column!r}, with {wrong.iloc[0]!r}; leave it out "
                "(--drop) or use it as row labels (--index)."
            )


def whole_numbers(given: list[str] | None) -> list[int]:
    """Return the numbers of -k: separated by commas, or given one by one."""
    parts = [part for text in given or [] for part in text.split(",")]
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError(f"-k {','.join(parts)} must be a whole number, or several separated by commas.") from None


def split_names(given: list[str] | None, frame: "pd.DataFrame") -> list[str] | None:
    """Split names at commas, except a column name that contains a comma."""
    if not given:
        return None
    known = set(frame.columns)
    return [name for text in given for name in ([text] if text in known else text.split(","))]


def made_directory(out: Path) -> Path:
    """Create a folder if it does not exist; raise an error if it cannot be written to."""
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(out))
    return out


def write_files(files: dict[Path, Any], replaced: str | None = None) -> None:
    """Write tables, pictures and certificates, and print their names.

    Other files in the same folders are removed if their names match the pattern `replaced`: an earlier run wrote them.
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
        typer.echo("Removed files of an earlier run: " + ", ".join(map(str, old)) + ".")


def say_written(files: Sequence[Path]) -> None:
    """Print the names of the files that were written."""
    typer.echo("Wrote " + ", ".join(map(str, files)) + ".")


@contextmanager
def one_line_messages() -> Iterator[None]:
    """Print warnings and errors about the input as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"laconic: warning: {one_line(message)}", err=True)

    with warnings.catch_warnings():
        # Other warnings are for programmers.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # one for each letter that a font does not have
        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:  # the program that reads our output, such as head, has ended
            raise
        except (ValueError, TypeError, OSError) as error:
            typer.echo(f"laconic: {one_line(error)}", err=True)
            raise typer.Exit(2) from None


def one_line(message: object) -> str:
    """Return a message without line breaks, in the words of the command line."""
    if isinstance(message, OSError) and message.filename is not None:
        return f"{message.filename}: {message.strerror}."
    return in_options(" ".join(str(message).split()))


def in_options(text: str) -> str:
    """Return a text of the library with its settings as options: `time_limit=5` becomes `--time-limit 5`."""
    names = "|".join(OPTIONS)
    text = re.sub(rf"The '({names})' parameter of SparsePCA", lambda m: OPTIONS[m[1]], text)
    text = re.sub(rf"\b({names})=True\b", lambda m: OPTIONS[m[1]], text)
    text = re.sub(rf"\b({names})=\[([\d, ]+)\]", lambda m: f"{OPTIONS[m[1]]} {m[2].replace(' ', '')}", text)
    text = re.sub(rf"\b({names})='([^']*)'", lambda m: f"{OPTIONS[m[1]]} {m[2]}", text)
    text = re.sub(rf"\b({names})=", lambda m: f"{OPTIONS[m[1]]} ", text)
    # Settings of one word, such as penalty, are ordinary words elsewhere in a sentence.
    return re.sub(rf"\b({names})\b", lambda m: OPTIONS[m[1]] if "_" in m[1] else m[1], text)


def one_of(known: Sequence[str], given: str, option: str) -> str:
    """Return the name given for an option, or raise a ValueError that lists the known names."""
    if given not in known:
        raise ValueError(f"{option} {given} is not known; choose one of {', '.join(known)}.")
    return given


def proof_of(text: str) -> Literal["fast", "tight"] | None:
    """Return the value of --proof for the library, which says None for "none"."""
    return None if text == "none" else some_proof(text, "fast, tight or none")


def some_proof(text: str, allowed: str = "fast or tight") -> Literal["fast", "tight"]:
    """Return the value of --proof if it is not "none"."""
    if text not in ("fast", "tight"):
        raise ValueError(f"--proof {text} must be {allowed}.")
    return cast("Literal['fast', 'tight']", text)


def is_centered(no_center: bool, covariance: bool) -> bool:
    """Return whether to subtract the column means."""
    if no_center and covariance:
        raise ValueError("--no-center is for rows; a covariance matrix (--covariance) has no rows.")
    return not no_center
