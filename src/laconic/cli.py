"""The command line: it reads options, calls the library, and prints or writes what comes back.

Everything slow to import is imported by the command that needs it.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

if TYPE_CHECKING:
    import pandas as pd

    from laconic.estimator import SparsePCA
    from laconic.report.dense import Comparison

app = typer.Typer(
    help="Principal components that use few features.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

DPI = 200
PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}

File = Annotated[Path, typer.Argument(help="Table: .csv, .tsv, .parquet or .arrow; one row a sample.", metavar="FILE")]
Index = Annotated[
    str | None, typer.Option(help="Column of row labels. Default: the first, if it alone holds text.", metavar="COLUMN")
]
Covariance = Annotated[bool, typer.Option("--covariance", help="FILE holds a covariance matrix, not rows.")]
Method = Annotated[str, typer.Option(help="Solver: greedy, swaps, exhaustive, truncated-power, ...", metavar="NAME")]
Scale = Annotated[bool, typer.Option("--scale", help="Divide columns by their standard deviation.")]
NoCenter = Annotated[bool, typer.Option("--no-center", help="Do not subtract the column means.")]
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Allow no negative loading.")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds; then the best found so far is kept.", metavar="SECONDS")
]
Out = Annotated[Path | None, typer.Option(help="Directory for tables (.csv) and a picture (.png).", metavar="DIR")]


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


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory for the picture and the table.", metavar="DIR")] = Path(
        "laconic-demo"
    ),
) -> None:
    """Show which seven bills divide the 109th US Senate."""
    with _one_line_messages():
        from laconic.datasets import load_senate109
        from laconic.estimator import SparsePCA
        from laconic.report.dense import compare_with_dense
        from laconic.report.plots import plot_planes
        from laconic.report.tables import print_components

        directory = _directory(out)
        senate = load_senate109()
        votes = senate.to_frame()
        typer.echo(f"{len(votes)} senators voted on {votes.shape[1]} bills: yea is 1, nay is -1, anything else 0.\n")
        model = SparsePCA(n_components=2, cardinality=[5, 2], progress=True).fit(votes)
        comparison = compare_with_dense(model, votes)
        # The record begins each title with the bill's own number.
        titles = {
            bill: title.partition("; ")[2] or title
            for bill, title in zip(senate.feature_names, senate.titles, strict=True)
        }
        print_components(model, comparison.shares, noun="bill", titles=titles)
        surnames = [senator.partition(" (")[0] for senator in senate.senators]
        names = [
            surname if surnames.count(surname) == 1 else f"{surname} ({state})"
            for surname, state in zip(surnames, senate.states, strict=True)
        ]
        figure = plot_planes(
            model,
            comparison,
            noun="bill",
            row_noun="senator",
            groups=[PARTIES[party] for party in senate.parties],
            labels=names,
        )
        loadings = model.loadings()
        loadings.insert(2, "title", loadings["feature"].map(titles))
        _write({directory / "senate.png": figure, directory / "loadings.csv": loadings})


@app.command()
def fit(
    file: File,
    cardinality: Annotated[
        list[str] | None,
        typer.Option(
            "-k", "--cardinality", help="Features a component: 5, or 5,2 for two components.", metavar="INT[,INT]"
        ),
    ] = None,
    n_components: Annotated[
        int | None,
        typer.Option(
            "-c", "--components", help="How many components. Default: one for each number of -k.", metavar="INT"
        ),
    ] = None,
    min_variance: Annotated[
        float | None,
        typer.Option(
            help="In place of -k: fewest features that keep this share of the dense component. Default: 0.9.",
            metavar="SHARE",
        ),
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(help="In place of -k, with --method dspca: the l1 penalty, in units of variance.", metavar="RHO"),
    ] = None,
    method: Method = "auto",
    deflation: Annotated[
        str, typer.Option(help="hotelling, projection, schur, orthogonalized-...", metavar="NAME")
    ] = "projection",
    disjoint: Annotated[bool, typer.Option("--disjoint", help="Use no feature twice.")] = False,
    nonnegative: Nonnegative = False,
    forced_in: Annotated[
        list[str] | None, typer.Option(help="Features of every component.", metavar="NAME[,NAME]")
    ] = None,
    forced_out: Annotated[
        list[str] | None, typer.Option(help="Features of no component.", metavar="NAME[,NAME]")
    ] = None,
    scale: Scale = False,
    no_center: NoCenter = False,
    covariance: Covariance = False,
    index: Index = None,
    time_limit: TimeLimit = None,
    out: Out = None,
) -> None:
    """Find sparse components of a table."""
    with _one_line_messages():
        frame = _read(file, index)
        from laconic.estimator import SparsePCA
        from laconic.methods import get_solver
        from laconic.report.dense import compare_with_dense
        from laconic.report.tables import print_components

        directory = None if out is None else _directory(out)
        sizes = _integers(cardinality)
        model = SparsePCA(
            n_components=max(1, len(sizes)) if n_components is None else n_components,
            cardinality=None if not sizes else sizes[0] if len(sizes) == 1 else sizes,
            min_variance=min_variance,
            penalty=penalty,
            # Asked for here, an unknown name gets the sentence that lists the known ones in order.
            method=get_solver(method),
            deflation=deflation,
            disjoint=disjoint,
            nonnegative=nonnegative,
            forced_in=_names(forced_in, frame),
            forced_out=_names(forced_out, frame),
            center=not no_center,
            scale=scale,
            time_limit=time_limit,
            progress=True,
        )
        model = model.fit_covariance(frame) if covariance else model.fit(frame)
        comparison = compare_with_dense(model, frame, is_covariance=covariance)
        print_components(model, comparison.shares)
        if directory is not None:
            _write(_fit_files(directory, model, frame, comparison, covariance=covariance))


def _fit_files(
    directory: Path, model: "SparsePCA", frame: "pd.DataFrame", comparison: "Comparison", *, covariance: bool
) -> dict[Path, Any]:
    from laconic.report.plots import plot_loadings, plot_planes
    from laconic.report.tables import scores_table

    files: dict[Path, Any] = {directory / "loadings.csv": model.loadings()}
    if not covariance:
        files[directory / "scores.csv"] = scores_table(model, frame)
    if comparison.dense_scores is not None:
        files[directory / "plane.png"] = plot_planes(model, comparison, labels=[str(name) for name in frame.index])
    else:
        files[directory / "loadings.png"] = plot_loadings(model)
    return files


@app.command()
def path(
    file: File,
    max_cardinality: Annotated[
        int | None,
        typer.Option(
            "-K", "--max-cardinality", help="Where to stop. Default: all features, at most 100.", metavar="INT"
        ),
    ] = None,
    method: Method = "auto",
    bounds: Annotated[
        str | None, typer.Option(help="l1: prove an upper bound for every cardinality.", metavar="NAME")
    ] = None,
    nonnegative: Nonnegative = False,
    scale: Scale = False,
    no_center: NoCenter = False,
    covariance: Covariance = False,
    index: Index = None,
    time_limit: TimeLimit = None,
    out: Out = None,
) -> None:
    """Show the variance explained for every cardinality."""
    with _one_line_messages():
        frame = _read(file, index)
        from laconic.path import cardinality_path
        from laconic.report.tables import path_table, print_tables

        directory = None if out is None else _directory(out)
        found = cardinality_path(
            frame,
            max_cardinality,
            kind="covariance" if covariance else "rows",
            method=method,
            bounds=cast("Literal['l1'] | None", bounds),
            nonnegative=nonnegative,
            center=not no_center,
            scale=scale,
            time_limit=time_limit,
            progress=True,
        )
        print_tables([path_table(found)])
        if directory is not None:
            table = found.to_frame()
            table["features"] = table["features"].map(" | ".join)
            figure = found.plot().figure
            _write({directory / "path.csv": table, directory / "path.png": figure})


def _read(file: Path, index: str | None) -> "pd.DataFrame":
    from laconic.data.files import load

    frame = load(file, index=index)
    # A Parquet file may name its columns by numbers; on the command line every name is text.
    frame.columns = frame.columns.map(str)
    return frame


def _integers(given: list[str] | None) -> list[int]:
    parts = [part for text in given or [] for part in text.split(",")]
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError(f"-k {','.join(parts)} must be a whole number, or several with commas between.") from None


def _names(given: list[str] | None, frame: "pd.DataFrame") -> list[str] | None:
    """Split at commas what is not itself a name with a comma."""
    if not given:
        return None
    known = set(frame.columns)
    return [name for text in given for name in ([text] if text in known else text.split(","))]


def _directory(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out


def _write(files: dict[Path, Any]) -> None:
    """Write tables and figures and say where they are."""
    for place, content in files.items():
        if place.suffix == ".png":
            content.savefig(place, dpi=DPI)
        else:
            content.to_csv(place, index=content.index.name is not None)
    typer.echo("Wrote " + ", ".join(str(place) for place in files) + ".")


@contextmanager
def _one_line_messages() -> Iterator[None]:
    """Turn warnings and what is wrong with the input into one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"laconic: warning: {_one_line(message)}", err=True)

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
            typer.echo(f"laconic: {_one_line(error)}", err=True)
            raise typer.Exit(2) from None


def _one_line(message: object) -> str:
    if isinstance(message, OSError) and message.filename is not None:
        message = f"{message.filename}: {message.strerror}."
    return " ".join(str(message).split())
