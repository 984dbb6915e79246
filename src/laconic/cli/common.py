"""Parts that all commands share: options, reading and writing files, and messages of one line."""

import errno
import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from laconic.cli.messages import Commands, close_to
from laconic.cli.messages import in_options as in_options
from laconic.cli.messages import one_line_messages as one_line_messages
from laconic.cli.messages import one_of as one_of

# The sign \b keeps the lines of a paragraph apart.
EPILOG = """\b
Exit codes:
  0    done; for verify: the certificate is proved
  1    verify: the certificate is not proved
  2    the input is bad: options, files or data
  130  stopped by Ctrl-C before there was a result
"""

app = typer.Typer(
    name="laconic",
    cls=Commands,
    help="Sparse PCA with proofs: each component uses only a few features.",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

METHODS = (
    "auto", "exact", "dspca", "exhaustive", "swaps", "greedy", "backward-greedy", "approximate-greedy",
    "truncated-power", "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block", "thresholding", "sorting",
)  # fmt: skip
# The numbers that options take: a test, and what to say of others.
RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "min_variance": (lambda share: 0 < share <= 1, "above 0 and at most 1"),
    "penalty": (lambda price: 0 < price < math.inf, "above 0"),
    "time_limit": (lambda seconds: seconds > 0, "above 0"),
    "permutations": (lambda count: count >= 0, "0 or a whole number above 0"),
    "n_components": (lambda count: count >= 1, "a whole number above 0"),
    "max_cardinality": (lambda count: count >= 1, "a whole number above 0"),
    "random_state": (lambda seed: 0 <= seed < 2**32, "a whole number that is not negative, and below 2 to the 32nd"),
    "n_jobs": (lambda count: count != 0, "a whole number other than 0; -1 uses all processors"),
}
MISSING = ("error", "pairwise", "em")
DEFLATIONS = ("hotelling", "projection", "schur", "orthogonalized-hotelling", "orthogonalized-projection")
QUESTIONS = ("span",)
CRITERIA = ("cv", "hull", "sparseness", "bic", "ebic")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def completed(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that completes the first letters of a word on the command line."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def option(metavar: str, text: str, *names: str, words: Iterable[str] = ()) -> Any:
    """Return an option of a command, with the word for its value, its help text, and the words that it may be.

    Words that are divided by "|" in `metavar` need not be given again.
    """
    choices = list(words) or (metavar.split("|") if metavar.islower() and "|" in metavar else [])
    return typer.Option(*names, help=text, metavar=metavar, autocompletion=completed(choices) if choices else None)


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
Method = Annotated[str, option("NAME", f"The search method: {_listed(METHODS)}.", words=METHODS)]
Deflation = Annotated[
    str,
    option(
        "NAME",
        f"How a component is removed before the next one is searched: {_listed(DEFLATIONS)}.",
        words=DEFLATIONS,
    ),
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
Out = Annotated[Path | None, option("DIR", "The folder for tables, pictures, certificates and the command.")]
Pictures = Annotated[str, option("png|svg|pdf", "The format of the pictures in --out: png, svg or pdf.")]


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


def whole_numbers(given: list[str] | None, words: Sequence[str] = ()) -> list[int]:
    """Return the numbers of -k: separated by commas, or given one by one. `words` are what it also may be."""
    parts = [part.strip() for text in given or [] for part in text.split(",")]
    if all(part.isdecimal() and int(part) for part in parts):
        return [int(part) for part in parts]
    close = close_to(",".join(parts), words)
    other = f" above 0, or several separated by commas{', or ' if words else ''}{_listed(words) if words else ''}"
    raise ValueError(f"-k {','.join(parts)} must be a whole number{other if close == '.' else ''}{close}")


def components_of(text: str) -> int | Literal["parallel"]:
    """Return the value of -c: a whole number, or the word that lets the data say it."""
    if text == "parallel":
        return "parallel"
    if not (text.isdecimal() and int(text)):
        close = close_to(text, ["parallel"])
        raise ValueError(f"-c {text} must be a whole number of components above 0, or parallel{close}")
    return int(text)


def check_ranges(**given: float | None) -> None:
    """Raise a ValueError about the first number that an option does not take. They are named as in the library."""
    for name, value in given.items():
        allowed, words = RANGES[name]
        if value is not None and not allowed(value):
            raise ValueError(f"{name}={value:g} must be {words}.")


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


def made_directory(out: Path, option: str = "--out") -> Path:
    """Create a folder if it does not exist; raise an error if it cannot be written to."""
    if out.is_file():
        raise ValueError(f"{option} {out} is a file; give a folder.")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(out))
    return out


def say_written(files: Sequence[Path]) -> None:
    """Print the names of the files that were written."""
    typer.echo("Wrote " + ", ".join(map(str, files)) + ".")


def pictures_of(text: str, out: Path | None) -> str:
    """Return the value of --pictures."""
    if text != "png" and out is None:
        raise ValueError(f"--pictures {text} is for the files in --out; give --out, too.")
    return one_of(("png", "svg", "pdf"), text, "--pictures")


def missing_of(text: str) -> Literal["error", "pairwise", "em"]:
    """Return the value of --missing."""
    return cast("Literal['error', 'pairwise', 'em']", one_of(MISSING, text, "--missing"))


def proof_of(text: str) -> Literal["fast", "tight"] | None:
    """Return the value of --proof for the library, which says None for "none"."""
    return None if text == "none" else some_proof(text, ("fast", "tight", "none"))


def some_proof(text: str, allowed: Sequence[str] = ("fast", "tight")) -> Literal["fast", "tight"]:
    """Return the value of --proof if it is not "none"."""
    if text not in allowed:
        raise ValueError(f"--proof {text} must be {_listed(allowed)}{close_to(text, allowed)}")
    return cast("Literal['fast', 'tight']", text)


def is_centered(no_center: bool, covariance: bool) -> bool:
    """Return whether to subtract the column means."""
    if no_center and covariance:
        raise ValueError("--no-center is for rows; a covariance matrix (--covariance) has no rows.")
    return not no_center
