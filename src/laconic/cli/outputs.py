"""The files that commands write: tables, pictures, certificates, models, the page."""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from laconic.cli.options import COMMAND
from laconic.cli.reading import STANDARD_INPUT, Data

if TYPE_CHECKING:
    from laconic.covariance.make import Made
    from laconic.model.estimator import SparsePCA

DPI = 200
# Files of a fit that not every fit writes: those of an earlier run are removed. And files that every fit writes.
RESULTS = r"scores\.(csv|png)|plane\.png|(component-[1-9]\d*|components)\.(json|npz)"
ALWAYS = r"(loadings|summary)\.csv|command\.txt|model\.laconic|loadings\.png"


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
    from laconic.report import plot

    loadings = model.loadings()
    features = [
        " | ".join(loadings["feature"][loadings["component"] == i + 1].astype(str)) for i in range(model.n_components_)
    ]
    summary = model.summary().rename_axis("component").assign(features=[*features, ""])
    files: dict[Path, Any] = {
        directory / "summary.csv": summary,
        directory / "loadings.csv": loadings,
        directory / "command.txt": command_text(model),
        directory / "loadings.png": plot.loadings(model, ax=Figure()).figure,
        **certificate_files(directory, model),
        directory / "model.laconic": model,
    }
    if data.in_blocks or made.rows is None:
        return files
    found = files[directory / "scores.csv"] = scores(model, data.rows)
    labels = [str(name) for name in data.rows.index]
    if model.n_components_ > 1:
        files[directory / "plane.png"] = plot.planes(model, made, found, groups=data.colors, labels=labels)
    elif data.colors is not None:
        files[directory / "scores.png"] = plot.scores(model, data.rows, color_by=data.colors, ax=Figure()).figure
    return files


def write_scores(model: "SparsePCA", data: Data, place: Path | None) -> None:
    """Write the scores of rows to a file block by block, or print them."""
    from laconic.core.monitor import Monitor
    from laconic.model.scores import write_scores as write

    with Monitor(progress=True) as monitor:
        write(model, data.rows, typer.get_text_stream("stdout") if place is None else place, monitor)
    if place is not None:
        say_written(place)


def in_panels(draw: Callable[..., Any], components: Sequence[int], height: float) -> Any:
    """Return a figure in which a picture is drawn once for each component, below each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, height * len(components)), layout="constrained")
    for ax, component in zip(figure.subplots(len(components), squeeze=False).ravel(), components, strict=True):
        draw(ax, component=component)
    return figure


def write_page(model: "SparsePCA", place: Path, files: Sequence[Path], data: Data | None, **options: Any) -> None:
    """Write the page of a model, and say so."""
    from laconic.report import page

    named = [file.name for file in files if file != STANDARD_INPUT]
    options["title"] = options.get("title") or (named[0] if named else None)
    if data is not None:
        options |= {"color_by": data.colors, "columns_left_out": data.note}
    html = page.to_html(
        model, None if data is None else data.rows, command=shlex.join(["laconic", *COMMAND.get()]), **options
    )
    say_written(page.write_page(html, place))
