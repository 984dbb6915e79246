"""The files of the commands. In: a small table is read as a whole, everything else in blocks. Out: all results."""

import os
import re
import shlex
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from laconic.covariance.make import Made
    from laconic.model.estimator import SparsePCA

# The words of this command line, without the name of the program.
COMMAND: ContextVar[tuple[str, ...]] = ContextVar("COMMAND", default=())
STANDARD_INPUT = Path("-")
# What --read takes without a value, and words for separators.
SWITCHES = ("transpose", "blocks")
SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " "}
DPI = 200
# Files of a fit that not every fit writes: those of an earlier run are removed. And files that every fit writes.
RESULTS = r"scores\.(csv|png)|(component-[1-9]\d*|components)\.(json|npz)"
ALWAYS = r"(loadings|summary)\.csv|command\.txt|model\.laconic|loadings\.png"


@dataclass(frozen=True, eq=False)
class Data:
    """What a command works on."""

    source: Any  # of rows; or a covariance matrix as a frame
    name: str  # for messages
    colors: "pd.Series | None" = None  # a value for each row

    @property
    def rows(self) -> Any:
        """The table with its row labels if it is in memory, else the source."""
        return getattr(self.source, "frame", self.source)

    @property
    def in_blocks(self) -> bool:
        """Whether the rows are read in blocks."""
        return not hasattr(self.rows, "iloc")

    @property
    def not_used(self) -> list[str]:
        """The columns of the table that hold no numbers, or that were left out on purpose."""
        if not hasattr(self.source, "feature_names"):
            return []
        used = {*(self.source.feature_names or ()), self.source.label_name}
        return [name for name in self.source.table_columns if name not in used]

    def features(self, given: Sequence[str] | None) -> list[str | int] | None:
        """Return the features that an option names, separated by commas; by number if the columns have no names."""
        from laconic.data.columns import split_names

        if not given:
            return None
        names = list(self.rows.columns) if hasattr(self.rows, "columns") else self.rows.feature_names
        found = split_names(given, names or ())
        return [int(name) if names is None and name.isdecimal() else name for name in found]


def options_of(given: Sequence[str] | None) -> dict[str, Any]:
    """Return the options of --read by name, in the words of `laconic.read_table`."""
    found: dict[str, Any] = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if bool(sign) == (key in SWITCHES):
            raise ValueError(f"--read {text}: {key} {'has no' if sign else 'needs a'} value; see laconic fit --help.")
        found[key] = SEPARATORS.get(value, value) if sign else True
    return found


def read_again(
    files: Sequence[Path],
    certificates: Sequence[Any],
    given: Sequence[str] | None,
    color_by: str | None = None,
    needed_by: str = "model",
) -> Data:
    """Read the data of certificates: the columns that they name, or the matrix that they are about."""
    first = next((one for one in certificates if one is not None), None)
    matrix = first is not None and first.recipe.given == "covariance"
    names = None if first is None or matrix else first.feature_names
    return read(files, options_of(given), color_by=color_by, covariance=matrix, only=names, needed_by=needed_by)


def read(
    files: Sequence[Path],
    options: dict[str, Any],
    *,
    color_by: str | None = None,
    covariance: bool = False,
    only: Sequence[str] | None = None,
    needed_by: str = "model",
) -> Data:
    """Read a small table, or open anything else; `options` are those of `laconic.read_table`, and `blocks`.

    `only` are the names of the columns that are `needed_by` a model or a certificate; all others may hold anything. The
    column `color_by` is returned beside the rows, and left out of them if no option names it.
    """
    from laconic.core.monitor import Note, warn
    from laconic.data.columns import TableOptions
    from laconic.data.files import WholeTable, open_paths

    wanted = TableOptions.of(**options, only=only, needed_by=needed_by)
    if STANDARD_INPUT in files:
        if wanted.blocks or len(files) > 1:
            raise ValueError("Standard input (-) is one table that is read as a whole; give files instead.")
        source: Any = WholeTable(typer.get_binary_stream("stdin"), wanted)
    else:
        source = open_paths(files, wanted)
    if covariance:
        if source.note:
            warn(source.note, Note)
        return Data(_matrix(source), source.name)
    if source.in_memory() is None:
        warn(f"{source.name} {'is' if len(source.files) == 1 else 'are'} read in blocks.", Note)
    colors = None if color_by is None else _colors(source, color_by)
    if color_by in (source.feature_names or ()) and only is None and not wanted.is_named(color_by):
        warn(f"{color_by!r} colours the rows and is left out of the fit; name it in --columns to keep it.", Note)
        source.keep(source.frame.drop(columns=color_by))
    return Data(source, source.name, colors)


def _colors(source: Any, column: str) -> "pd.Series":
    """Return a column of a table that is read as a whole, whatever it holds."""
    import pandas as pd

    from laconic.core.words import did_you_mean

    if not hasattr(source, "frame"):
        raise ValueError(
            f"color_by={column!r} needs one table that is read as a whole, and {source.name} is read in blocks."
        )
    names = source.table.names
    if column not in names:
        raise ValueError(f"color_by={column!r} is not a column of {source.name}{did_you_mean(column, names)}")
    values = next(frame for frame, _ in source.table.frames([column]))[column]
    return pd.Series(values.to_numpy(), index=source.frame.index, name=column)


def _matrix(source: Any) -> Any:
    """Return a matrix in a file of arrays as a frame."""
    import numpy as np
    import pandas as pd

    rows = [block.rows for block in source.blocks()]
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in rows]
    return pd.DataFrame(np.concatenate(dense), columns=source.feature_names)


def folder(out: Path, option: str = "--out") -> Path:
    """Create a folder if it does not exist; raise an error if it cannot be written to."""
    if out.is_file():
        raise ValueError(f"{option} {out} is a file; give a folder.")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise ValueError(f"{option} {out} cannot be written to; give another folder.")
    return out


def check_file(place: Path, option: str, endings: Sequence[str], read: Sequence[Path]) -> None:
    """Raise an error before the computation if a result cannot be written to a file."""
    if place.is_dir() or (endings and place.suffix.lower() not in endings):
        raise ValueError(f"{option} {place} must be a file that ends in {' or '.join(endings) or '.laconic'}.")
    if place.resolve() in [file.resolve() for file in read]:
        raise ValueError(f"{option} {place} is a file that is read; give another one.")
    folder(place.parent, option)


def check_apart(files: Sequence[Path], directory: Path) -> None:
    """Raise a ValueError if a result would be written over the data or among them."""
    for file in files:
        inside = file.resolve().parent == directory.resolve()
        if file.resolve() == directory.resolve() or (inside and re.fullmatch(rf"{ALWAYS}|{RESULTS}", file.name)):
            raise ValueError(f"--out {directory} would write results over {file}; give another folder.")


def write_files(files: dict[Path, Any], earlier: str = "") -> None:
    """Write tables, pictures, texts, models and certificates, and say so.

    Other files in the folder are removed if their names match the pattern `earlier`: an earlier run wrote them.
    """
    from laconic.core import store

    written: list[Path] = []
    for place, content in files.items():
        if place.suffix == ".json":
            written += store.write_files(content.files(place.name), place)
            continue
        if place.suffix == ".laconic":
            content.save(place)
        elif place.suffix == ".png":
            content.savefig(place, dpi=DPI)
        elif place.suffix == ".txt":
            place.write_text(content, encoding="utf-8")
        else:
            content.to_csv(place, index=content.index.name is not None)
        written.append(place)
    say_written(*written)
    places = {place.parent for place in written}
    old = [file for one in places for file in sorted(one.iterdir()) if re.fullmatch(earlier, file.name)]
    old = [file for file in old if file.is_file() and file not in written]
    for file in old:
        file.unlink()
    if old:
        typer.echo("Removed files of an earlier run: " + ", ".join(map(str, old)) + ".")


def say_written(*files: Path) -> None:
    """Print the names of the files that were written."""
    typer.echo("Wrote " + ", ".join(map(str, files)) + ".")


def command_text(model: "SparsePCA | None" = None) -> str:
    """Return what is needed to repeat a run: the version, the command, and the digest of the data."""
    from laconic import __version__

    lines = [f"laconic {__version__}", shlex.join(["laconic", *COMMAND.get()])]
    certificates = [] if model is None else [one for one in model.certificates_ if one is not None]
    if certificates:
        lines.append(f"digest of the numbers that were used, as in the certificates: {certificates[0].digest}")
    return "\n".join(lines) + "\n"


def certificate_files(directory: Path, model: "SparsePCA") -> dict[Path, Any]:
    """Return the certificates of a model by their places in a folder."""
    from laconic.model import save

    return {directory / name: one for name, one in save.certificate_files(model).items() if one is not None}


def fit_files(directory: Path, model: "SparsePCA", made: "Made", data: Data) -> dict[Path, Any]:
    """Return the tables, certificates and pictures of a fit."""
    from matplotlib.figure import Figure

    from laconic.model.scores import scores
    from laconic.report import pictures

    loadings = model.loadings()
    features = loadings.astype({"feature": str}).groupby("component")["feature"].agg(" | ".join)
    summary = model.summary().rename_axis("component").assign(features=[*features, ""])
    files: dict[Path, Any] = {
        directory / "summary.csv": summary,
        directory / "loadings.csv": loadings,
        directory / "command.txt": command_text(model),
        directory / "loadings.png": pictures.loadings(model, ax=Figure()).figure,
        **certificate_files(directory, model),
        directory / "model.laconic": model,
    }
    if data.in_blocks or made.rows is None:
        return files
    files[directory / "scores.csv"] = scores(model, data.rows)
    if model.n_components_ > 1 or data.colors is not None:
        files[directory / "scores.png"] = pictures.scores(model, data.rows, color=data.colors, ax=Figure()).figure
    return files


def write_scores(model: "SparsePCA", data: Data, place: Path | None) -> None:
    """Write the scores of rows to a file block by block, or print them."""
    from laconic.core.monitor import Monitor
    from laconic.model.scores import write_scores as write

    with Monitor(progress=True) as monitor:
        write(model, data.rows, typer.get_text_stream("stdout") if place is None else place, monitor)
    if place is not None:
        say_written(place)


def write_page(model: "SparsePCA", place: Path, files: Sequence[Path], data: Data | None, **options: Any) -> None:
    """Write the page of a model, and say so."""
    from laconic.report import page

    named = [file.name for file in files if file != STANDARD_INPUT]
    options["title"] = options.get("title") or (named[0] if named else None)
    if data is not None:
        options |= {"color": data.colors, "not_used": data.not_used}
    rows, command = None if data is None else data.rows, shlex.join(["laconic", *COMMAND.get()])
    say_written(page.write_page(page.rendered(page.content_of(model, rows, command=command, **options)), place))
