"""Parts that all commands share: options, reading and writing files, and messages of one line."""

import errno
import os
import re
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

app = typer.Typer(
    help="Sparse PCA with proofs: each component uses only a few features.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

DPI = 200
# The exit status after Ctrl-C, as shells use it: 128 and the number of the signal.
INTERRUPTED = 130
METHODS = (
    "auto", "exact", "dspca", "exhaustive", "swaps", "greedy", "backward-greedy", "approximate-greedy",
    "truncated-power", "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block", "thresholding", "sorting",
)  # fmt: skip
MISSING = ("error", "pairwise", "em")
DEFLATIONS = ("hotelling", "projection", "schur", "orthogonalized-hotelling", "orthogonalized-projection")
QUESTIONS = ("span",)
CRITERIA = ("cv", "hull", "sparseness", "bic", "ebic")
# The library's names of settings, and the options that set them.
OPTIONS = {
    "cardinality": "-k",
    "max_cardinality": "-K",
    "n_components": "-c",
    "min_variance": "--min-variance",
    "time_limit": "--time-limit",
    "forced_in": "--forced-in",
    "forced_out": "--forced-out",
    "permutations": "--permutations",
    "resamples": "--resamples",
    "threshold": "--threshold",
    "numeric_only": "--numeric-only",
    "fit_covariance": "--covariance",
    **{name: f"--{name}" for name in ("indefinite", "uncertainty", "contrast")},
    **{name: f"--{name}" for name in ("penalty", "deflation", "disjoint", "joint", "scale", "missing", "support")},
    **{name: f"--{name}" for name in ("drop", "columns", "na", "index", "separator", "decimal", "transpose")},
    **{name: f"--{name}" for name in ("encoding", "sheet")},
}


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def option(metavar: str, text: str, *names: str) -> Any:
    """Return an option of a command, with the word for its value and its help text."""
    return typer.Option(*names, help=text, metavar=metavar)


Files = Annotated[
    list[Path],
    typer.Argument(
        help="The data; each row is a sample. A table (.csv, .tsv, .txt, .parquet, .arrow, .feather, .xlsx, .xls, "
        ".ods), an array (.npy, .npz), a sparse matrix (.npz, .mtx, docword.*.txt) or annotated data (.h5ad, .zarr). A "
        "folder, several files or a pattern such as 'part-*.csv' are one table. Use - for text on standard input.",
        metavar="FILE",
    ),
]
Blocks = Annotated[
    bool,
    typer.Option("--blocks", help="Read the data in blocks. Large tables, several files and other formats always are."),
]
Covariance = Annotated[bool, typer.Option("--covariance", help="FILE holds a covariance matrix, not rows.")]
Indefinite = Annotated[
    str,
    option(
        "accept|nearest|error",
        "What to do about a matrix that is not positive semidefinite: accept it, take the nearest one, or stop.",
    ),
]
Uncertainty = Annotated[
    float,
    option(
        "NUMBER",
        "With --covariance: how far each entry may be from the truth, such as 0.0005 for three decimals. The bounds "
        "then hold for every such matrix.",
    ),
]
Contrast = Annotated[
    Path | None,
    option("FILE", "Background rows with the same columns: find what varies much in the data and little in these."),
]
Method = Annotated[str, option("NAME", f"The search method: {_listed(METHODS)}.")]
Deflation = Annotated[
    str, option("NAME", f"How a component is removed before the next one is searched: {_listed(DEFLATIONS)}.")
]
Scale = Annotated[bool, typer.Option("--scale", help="Divide each column by its standard deviation.")]
Missing = Annotated[
    str,
    option(
        "error|pairwise|em",
        "What to do about missing values: error refuses them, pairwise takes each covariance from the rows that have "
        "both values, em estimates the most likely covariance.",
    ),
]
NoCenter = Annotated[bool, typer.Option("--no-center", help="Do not subtract the column means.")]
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Do not allow negative loadings.")]
TimeLimit = Annotated[float | None, option("SECONDS", "Stop after this time and keep the best result found so far.")]
Proof = Annotated[
    str, option("fast|tight|none", "How much work to spend on proving upper bounds: fast, tight or none.")
]
Permutations = Annotated[
    int,
    option("INT", "Compare each component with what is found in so many tables with permuted columns, such as 99."),
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


def whole_numbers(given: list[str] | None) -> list[int]:
    """Return the numbers of -k: separated by commas, or given one by one."""
    parts = [part for text in given or [] for part in text.split(",")]
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError(
            f"-k {','.join(parts)} must be a whole number, several separated by commas, or {_listed(CRITERIA)}."
        ) from None


def components_of(text: str) -> int | Literal["parallel"]:
    """Return the value of -c: a whole number, or the word that lets the data say it."""
    if text == "parallel":
        return "parallel"
    if not text.isdecimal():
        raise ValueError(f"-c {text} must be a whole number of components, or parallel.")
    return int(text)


def as_options(**given: Any) -> list[str]:
    """Return options of a command with their values, as a user types them. Those that are not set are left out."""
    words: list[str] = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words.append(value if isinstance(value, str) else ",".join(value))
    return words


def made_directory(out: Path) -> Path:
    """Create a folder if it does not exist; raise an error if it cannot be written to."""
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(out))
    return out


def write_files(files: dict[Path, Any]) -> list[Path]:
    """Write tables, pictures and certificates, print their names and return them."""
    from laconic.proof.storage import write_certificate

    written: list[Path] = []
    for place, content in files.items():
        if place.suffix == ".json":
            written += write_certificate(content, place)
            continue
        if place.suffix == ".laconic":
            content.save(place)
        elif place.suffix == ".png":
            content.savefig(place, dpi=DPI)
        elif place.suffix == ".parquet":
            content.to_parquet(place)
        else:
            content.to_csv(place, index=content.index.name is not None)
        written.append(place)
    say_written(written)
    return written


def remove_earlier(written: Sequence[Path], names: str) -> None:
    """Remove other files in the folders of those written if their names match a pattern: an earlier run wrote them."""
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
    """Print warnings, errors about the input and interruptions as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        from laconic.core.caller import Hint

        kind = "hint" if isinstance(message, Hint) else "warning"
        typer.echo(f"laconic: {kind}: {one_line(message)}", err=True)

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
        except (ValueError, TypeError, OSError, MemoryError) as error:
            typer.echo(f"laconic: {one_line(error)}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt as error:
            typer.echo(f"laconic: {one_line(error) or 'Interrupted.'}", err=True)
            raise typer.Exit(INTERRUPTED) from None


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
    text = re.sub(rf"\b({names})='([^']*)'", lambda m: f"{OPTIONS[m[1]]} {shlex.quote(m[2])}", text)
    text = re.sub(rf"\b({names})=(?=[\s,;.]|$)", lambda m: OPTIONS[m[1]], text)
    text = re.sub(rf"\b({names})=", lambda m: f"{OPTIONS[m[1]]} ", text)
    # Settings of one word, such as penalty, are ordinary words elsewhere in a sentence.
    return re.sub(rf"\b({names})\b", lambda m: OPTIONS[m[1]] if "_" in m[1] else m[1], text)


def one_of(known: Sequence[str], given: str, option: str) -> str:
    """Return the name given for an option, or raise a ValueError that lists the known names."""
    if given not in known:
        choices = f"the only choice is {known[0]}" if len(known) == 1 else f"choose one of {', '.join(known)}"
        raise ValueError(f"{option} {given} is not known; {choices}.")
    return given


def missing_of(text: str) -> Literal["error", "pairwise", "em"]:
    """Return the value of --missing."""
    return cast("Literal['error', 'pairwise', 'em']", one_of(MISSING, text, "--missing"))


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
