"""The files that commands leave in the folder of --out."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import laconic.cli.common as common
from laconic.cli.messages import COMMAND, in_options
from laconic.cli.reading import STANDARD_INPUT

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA

DPI = 200
# Names of the files that hold certificates, and of all files of a fit that not every fit writes.
CERTIFICATES = r"(component-[1-9]\d*|components)\.(json|npz)"
RESULTS = rf"scores\.(csv|parquet)|model\.laconic|(plane|loadings|scores)\.(png|svg|pdf)|{CERTIFICATES}"
# Files that every fit writes.
ALWAYS = r"loadings\.csv|summary\.csv|command\.txt"
# The digest of larger files is left out: it would take longer than some fits.
MOST_BYTES = 2_000_000_000


def write_files(files: dict[Path, Any]) -> list[Path]:
    """Write tables, pictures, texts and certificates, print their names and return them."""
    from laconic.core import store

    written: list[Path] = []
    for place, content in files.items():
        if place.suffix == ".json":
            written += store.write_files(content.files(place.name), place)
            continue
        if place.suffix in (".png", ".svg", ".pdf"):
            # Without a date, the same results are the same file.
            no_date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(place.suffix)
            content.savefig(place, dpi=DPI, metadata=no_date)
        elif place.suffix == ".laconic":
            content.save(place)
        elif place.suffix == ".parquet":
            content.to_parquet(place)
        elif place.suffix == ".txt":
            place.write_text(content, encoding="utf-8")
        else:
            content.to_csv(place, index=content.index.name is not None)
        written.append(place)
    common.say_written(written)
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


def check_apart(files: Sequence[Path], directory: Path) -> None:
    """Raise a ValueError if a result would be written over the data or among them."""
    for file in files:
        place = file.resolve()
        mixed = place == directory.resolve()
        if mixed or (place.parent == directory.resolve() and re.fullmatch(rf"{ALWAYS}|{RESULTS}", file.name)):
            raise ValueError(f"--out {directory} would write results over {file}; give another folder.")


def command_text(files: Sequence[Path], model: "SparsePCA | None" = None) -> str:
    """Return what is needed to repeat a run: the version, the command, and digests of the data."""
    from laconic import __version__

    lines = [f"laconic {__version__}", "", shlex.join(["laconic", *COMMAND.get()]), ""]
    lines += [f"{file}: {_state_of(file)}" for file in files if file != STANDARD_INPUT]
    certificates = [] if model is None else model.certificates_
    digest = next((certificate.digest for certificate in certificates if certificate is not None), None)
    if digest is not None:
        lines.append(f"digest of the numbers that were used, as in the certificates: {digest}")
    return "\n".join(lines) + "\n"


def _state_of(file: Path) -> str:
    """Return the size and the digest of a file."""
    if not file.is_file():
        return "a folder" if file.is_dir() else "a pattern"
    size = file.stat().st_size
    if size > MOST_BYTES:
        return f"{size} bytes"
    with file.open("rb") as content:
        return f"{size} bytes, SHA-256 {hashlib.file_digest(content, 'sha256').hexdigest()}"


def certificate_files(directory: Path, model: "SparsePCA") -> dict[Path, Any]:
    """Return the certificates of a model: one for each component that has one, and one for all together."""
    together = model.joint is not None
    return {
        directory / ("components.json" if together else f"component-{number}.json"): certificate
        for number, certificate in enumerate(model.certificates_, start=1)
        if certificate is not None
    }


def summary(model: "SparsePCA") -> "pd.DataFrame":
    """Return a row for each component: variance shares, bounds, the verdict; and a row for all of them."""
    import pandas as pd

    table = model.summary()
    table.insert(0, "component", [str(number) for number in table.index])
    loadings = model.loadings()
    table["features"] = [
        " | ".join(loadings["feature"][loadings["component"] == number].astype(str)) for number in table.index
    ]
    table["in_words"] = [in_options(verdict) for verdict in model.verdicts_]
    together = {
        "component": "all",
        "cardinality": loadings["feature"].nunique(),
        "variance": model.joint_variance_ratio_,
        "of_dense": model.joint_variance_ / model.joint_dense_variance_,
        "lower": model.joint_variance_,
        "upper": model.joint_upper_bound_,
        "gap": model.joint_gap_,
        "in_words": in_options(model.joint_verdict_),
    }
    # A bound of several components together is proved only if they are found together.
    if model.n_components_ > 1 and model.joint is None:
        together |= {"upper": float("nan"), "gap": float("nan")}
    return pd.concat([table, pd.DataFrame([together])], ignore_index=True)[list(table.columns)]


def fit_files(
    directory: Path,
    model: "SparsePCA",
    inputs: Sequence[Path],
    rows: "pd.DataFrame | None" = None,
    place: Path | None = None,
    colors: "pd.Series | None" = None,
    pictures: str = "png",
) -> dict[Path, Any]:
    """Return the tables, certificates and pictures of a fit, with the scores of rows in `place` if they are given.

    `colors` has a value for each row, which colours the pictures of rows.
    """
    from matplotlib.figure import Figure

    from laconic.model.comparison import compare_with_dense
    from laconic.report.pictures.loadings import plot_loadings
    from laconic.report.pictures.planes import plot_planes
    from laconic.report.pictures.scores import plot_scores
    from laconic.report.tables import scores_table

    files: dict[Path, Any] = {
        directory / "summary.csv": summary(model),
        directory / "loadings.csv": model.loadings(),
        directory / "command.txt": command_text(inputs, model),
        directory / f"loadings.{pictures}": plot_loadings(model, ax=Figure()).figure_,
        **certificate_files(directory, model),
        directory / "model.laconic": model,
    }
    if rows is None or place is None:
        return files
    scores = files[place] = scores_table(model, rows)
    if model.n_components_ > 1:
        comparison = compare_with_dense(model, rows, scores)
        labels = [str(name) for name in rows.index]
        planes = plot_planes(model, comparison, groups=colors, labels=labels, ax=Figure())  # type: ignore[arg-type]
        files[directory / f"plane.{pictures}"] = planes.figure_
    elif colors is not None:
        files[directory / f"scores.{pictures}"] = plot_scores(model, rows, color_by=colors, ax=Figure()).figure_
    return files
