"""The program: its options, each declared once, its exit codes, and its messages of one line on standard error."""

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import laconic.cli.on_disk as disk

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Exit codes, beside 0. After Ctrl-C it is that of shells: 128 and the number of the signal.
NOT_PROVED, BAD_INPUT, INTERRUPTED = 1, 2, 130
EPILOG = "Exit codes: 0 done, or proved; 1 not proved; 2 bad options, files or data; 130 stopped before a result."
METHODS = (
    "auto", "sorting", "thresholding", "greedy", "backward-greedy", "approximate-greedy", "truncated-power",
    "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block", "swaps", "exhaustive", "dspca",
)  # fmt: skip
DEFLATIONS = ("hotelling", "projection", "schur", "orthogonalized-hotelling", "orthogonalized-projection")


def say(message: object) -> None:
    """Print a message on standard error, as one line."""
    from laconic.report.sentences import in_columns

    typer.echo(f"laconic: {in_columns(' '.join(str(message).split()))}", err=True)


@contextmanager
def one_line_messages() -> Iterator[None]:
    """Print warnings, errors about the input and interruptions as one line each on standard error."""
    said = set[str]()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        from laconic.core.monitor import Hint, Note

        kind = "" if isinstance(message, Note) else "hint: " if isinstance(message, Hint) else "warning: "
        if str(message) not in said:
            say(f"{kind}{message}")
        said.add(str(message))

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
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if getattr(error, "name", None) is not None:  # a module that is missing, without a sentence about it
                raise
            named = isinstance(error, OSError) and error.filename is not None
            say(f"{error.filename}: {error.strerror}." if named else error)  # type: ignore[union-attr]
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt as error:
            say(str(error) or "Interrupted.")
            raise typer.Exit(INTERRUPTED) from None


class Commands(TyperGroup):
    """All commands. An option that is not known, or a value of the wrong kind, is one line, too."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command whose help names its arguments without types of Python, such as list[Path]."""
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command is not None else ():
            if parameter.param_type_name == "argument":
                # Versions of typer that print the type call this.
                vars(parameter)["display_type_rich"] = lambda **_: None
        return command

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **extra: Any) -> Any:
        """Read the options above the command, and keep the words of the command line."""
        disk.COMMAND.set(tuple(args))
        with _one_line_usage():
            return super().make_context(info_name, args, *given, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of the command, and run it."""
        with _one_line_usage():
            return super().invoke(ctx)


@contextmanager
def _one_line_usage() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # typer has the class of click, or its own copy, depending on its version.
        kinds = [kind.__name__ for kind in type(error).__mro__]
        if "UsageError" not in kinds or "NoArgsIsHelpError" in kinds:
            raise
        context = getattr(error, "ctx", None)
        message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
        end = "" if message.endswith((".", "?")) else "."
        say(f"{message}{end} See {'laconic' if context is None else context.command_path} --help.")
        raise typer.Exit(BAD_INPUT) from None


app = typer.Typer(
    name="laconic",
    cls=Commands,
    help="Sparse PCA with proofs: each component uses only a few columns.",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
    """Sparse PCA with proofs: each component uses only a few columns."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function. Its parameter `settings`, a group of options, becomes the options of that group."""
    signature = inspect.signature(function)
    group = signature.parameters["settings"].annotation if "settings" in signature.parameters else None

    @wraps(function)
    def run(**given: Any) -> None:
        if group is not None:
            given["settings"] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        with one_line_messages():
            function(**given)

    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        parameters += inspect.signature(group).parameters.values() if group and one.name == "settings" else [one]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    # typer reads the options from the signature and the annotations.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    app.command()(run)
    return run


def option(names: str, text: str) -> Any:
    """Return an option: its names, if they are not that of the parameter, and the word for its value; its help text."""
    *own, metavar = names.split()
    return typer.Option(*own, help=text, metavar=metavar)


Files = Annotated[
    list[Path],
    typer.Argument(
        help="The data; each row is a sample. A table (.csv, .tsv, .txt, .parquet, .arrow, .feather, .xlsx, .xls, "
        ".ods), an array (.npy, .npz), a sparse matrix (.npz, .mtx) or annotated data (.h5ad, .zarr). A folder, "
        "several files or a pattern such as 'part-*.csv' are one table. Use - for text on standard input.",
        metavar="FILE",
    ),
]
Model = Annotated[Path, typer.Argument(help="The model, as laconic fit --save writes it.", metavar="MODEL")]
Cardinality = Annotated[
    str | None,
    option(
        "-k --cardinality INT|SHARE|total:INT",
        "The number of columns in each component: 5, or 5,2 for two components. Or a share such as 0.9: the fewest "
        "columns that keep this share of the ordinary component's variance. Or total:30, for all components of "
        "--joint disjoint or orthogonal. By default as laconic choose recommends.",
    ),
]
Components = Annotated[
    str | None,
    option(
        "-c --components INT",
        "The number of components. By default one for each number of -k; without -k as many as are better than noise.",
    ),
]
Read = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "How to read the file, several times if needed: sep=';', decimal=',', encoding=cp1252, na=ERR,-999 (marks of "
        "missing values), sheet=NAME, index=COLUMN (row labels), transpose (each column is a sample), blocks (do not "
        "load the whole file).",
    ),
]
ColorBy = Annotated[str | None, option("COLUMN", "Colour the rows in pictures by this column, which is left out.")]
Out = Annotated[Path | None, option("DIR", "The folder for tables, pictures, certificates and the command.")]


@dataclass(frozen=True)
class Settings:
    """How a file is read, how the covariance is made, and how a component is searched and proved."""

    method: Annotated[str, option("NAME", f"How to search: {', '.join(METHODS)}.")] = "auto"
    proof: Annotated[str, option("fast|tight|exact|none", "How hard to prove the upper bounds.")] = "fast"
    deflation: Annotated[str, option("NAME", f"How to remove a component: {', '.join(DEFLATIONS)}.")] = "projection"
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="Do not allow negative loadings.")] = False
    forced_in: Annotated[list[str] | None, option("NAME[,NAME]", "Columns that every component must use.")] = None
    scale: Annotated[bool, typer.Option("--scale", help="Divide each column by its standard deviation.")] = False
    no_center: Annotated[bool, typer.Option("--no-center", help="Do not subtract the column means.")] = False
    missing: Annotated[
        str, option("error|pairwise|em|drop", "What to do about missing values; error refuses them.")
    ] = "error"
    covariance: Annotated[bool, typer.Option("--covariance", help="FILE holds a covariance matrix, not rows.")] = False
    time_limit: Annotated[float | None, option("SECONDS", "Stop after this time and keep the best result.")] = None
    seed: Annotated[int | None, option("INT", "The seed of methods and samples that use random numbers.")] = None
    columns: Annotated[list[str] | None, option("NAME[,NAME]", "The only columns to use: names, or 'Q*'.")] = None
    drop: Annotated[list[str] | None, option("NAME[,NAME]", "Columns to leave out: names or patterns.")] = None
    read: Read = None

    def read_files(self, files: Sequence[Path], color_by: str | None = None) -> disk.Data:
        """Read a small table, or open anything else."""
        options = {"columns": self.columns, "drop": self.drop, **disk.options_of(self.read)}
        return disk.read(files, options, color_by=color_by, covariance=self.covariance)

    def model(self, cardinality: str | None = None, n_components: str | None = None, **own: Any) -> "SparsePCA":
        """Return the model that the options ask for. Features that are forced in are texts still."""
        from laconic.model.estimator import SparsePCA
        from laconic.model.settings import check_settings

        if self.covariance and (self.no_center or self.missing != "error"):
            wrong = "no-center" if self.no_center else "missing"
            raise ValueError(f"--{wrong} is for rows; leave it out with --covariance, which says that there are none.")
        model = SparsePCA(
            n_components=number(n_components),
            cardinality=number(cardinality),
            method=self.method,
            proof=None if self.proof == "none" else self.proof,  # type: ignore[arg-type] # checked below
            deflation=self.deflation,
            nonnegative=self.nonnegative,
            center=not self.no_center,
            scale=self.scale,
            missing=self.missing,
            time_limit=self.time_limit,
            random_state=self.seed,
            verbose=True,
            **own,
        )
        # All settings are checked before the data are read, which may take long.
        check_settings(model)
        return model


@dataclass(frozen=True)
class SettingsOfProof(Settings):
    """The same options, for a command whose purpose is the proof."""

    proof: Annotated[str, option("fast|tight|exact", "How hard to prove the upper bound.")] = "tight"


def number(text: str | None) -> Any:
    """Return what a text stands for: a number, several as a list, a total, or else the text."""
    if text is not None and text.startswith("total:"):
        return {"total": number(text.removeprefix("total:"))}
    parts: list[Any] = [] if text is None else [part.strip() for part in text.split(",")]
    for place, part in enumerate(parts):
        with suppress(ValueError):
            parts[place] = int(part) if part.lstrip("-").isdecimal() else float(part)
    return parts if len(parts) > 1 else parts[0] if parts else None
