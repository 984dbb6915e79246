"""Commands about models on disk: transform, show."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import laconic.cli.common as common
import laconic.cli.outputs as outputs
import laconic.cli.reading as reading
from laconic.cli.table_options import TableReader, with_table_options

if TYPE_CHECKING:
    import pandas as pd

    from laconic.core.arrays import Floats
    from laconic.data.rows import Source
    from laconic.model.estimator import SparsePCA

Model = Annotated[Path, typer.Argument(help="The model, as laconic fit --save writes it.", metavar="MODEL")]
# The most columns that a printout lists.
MOST_COLUMNS = 40


@common.app.command()
@common.one_line_messages()
@with_table_options
def transform(
    model: Model,
    files: common.Files,
    out: Annotated[
        Path | None,
        common.option("FILE", "The file for the scores (.csv or .parquet). By default text on standard output."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Demand all columns of the fit, in the same order, and no others.")
    ] = False,
    missing: Annotated[
        str | None,
        common.option(
            "error|pairwise|em",
            "What to do about missing values in columns that are used: error refuses them; with pairwise or em, the "
            "score is that of the values that are there. By default as in the fit.",
        ),
    ] = None,
    table: TableReader = TableReader(),
    blocks: common.Blocks = False,
) -> None:
    """Compute the scores of new rows with a model on disk.

    Columns are found by name. Only those that the components use are needed; all others may be absent or hold anything.
    """
    if out is not None:
        _check_out(out, [model, *files])
    from laconic.data.rows import Source
    from laconic.model.blocks_out import print_frames, write_frames
    from laconic.model.storage import load_model
    from laconic.report.tables import scores_table

    found = load_model(model).set_params(new_rows="all" if strict else "used")
    if missing is not None:
        found.set_params(missing=common.missing_of(missing))
    used = None if strict else _used(found)
    data = table.read(files, blocks=blocks, only=used, once=True)
    if not isinstance(data, Source) and not len(data):
        raise ValueError(f"{files[0]} has no rows; at least one is needed.")
    with reading.named(files):
        frames = _in_blocks(found, data) if isinstance(data, Source) else iter([scores_table(found, data)])
        if out is None:
            print_frames(frames, typer.get_text_stream("stdout"))
            return
        write_frames(frames, out)
    common.say_written([out])


def _check_out(out: Path, read: list[Path]) -> None:
    """Raise an error before the computation if the scores cannot be written."""
    if out.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise ValueError(f"--out {out} must end in .csv or .parquet.")
    if out.resolve() in [file.resolve() for file in read]:
        raise ValueError(f"--out {out} is a file that is read; give another one.")
    common.made_directory(out.parent)


def _used(model: "SparsePCA") -> list[str] | None:
    """Return the names of the features that the components use, or None if the model has no names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names[model.components_.any(axis=0)]]


def _in_blocks(model: "SparsePCA", source: "Source") -> "Iterator[pd.DataFrame]":
    """Yield the scores of blocks of rows, with the labels of the rows or with their numbers from 0 on."""
    import numpy as np

    from laconic.cli.watched import watched_blocks
    from laconic.model.present_scores import warn_of_undetermined

    undetermined = 0
    for scores in labelled(model, source, watched_blocks(model, source)):
        undetermined += int(np.isnan(scores.to_numpy()).any(axis=1).sum())
        yield scores
    warn_of_undetermined(undetermined)


def labelled(model: "SparsePCA", source: "Source", blocks: "Iterator[Floats]") -> "Iterator[pd.DataFrame]":
    """Yield blocks of scores as tables with the labels of the rows, or with their numbers from 0 on."""
    import pandas as pd

    from laconic.report.tables import score_names

    labels, waiting, first = source.row_labels(), list[str](), 0
    for block in blocks:
        own: Any = range(first, first + len(block))
        first += len(block)
        if labels is not None:
            while len(waiting) < len(block):
                waiting += next(labels)
            own, waiting = waiting[: len(block)], waiting[len(block) :]
        index = pd.Index(own, name=source.label_name)
        yield pd.DataFrame(block, index=index, columns=score_names(model))


@common.app.command(short_help="Print a model on disk, and what is proved about it.")
@common.one_line_messages()
def show(
    model: Model,
    certificates: Annotated[
        Path | None, common.option("DIR", "Write the certificates to this folder, so that laconic verify checks them.")
    ] = None,
) -> None:
    """Print the components of a model on disk, what is proved about them, and how it was made."""
    from laconic.cli.outputs import certificate_files
    from laconic.model.storage import load_model
    from laconic.report.tables import print_components

    found = load_model(model)
    if certificates is not None:
        files = certificate_files(certificates, found)
        if not files:
            raise ValueError(f"{model.name} has no certificates: no proof was asked for, or none was found.")
        common.made_directory(certificates)
        outputs.write_files(files)
        typer.echo(f"Check a proof: laconic verify {next(iter(files))} DATA")
        return
    print_components(
        found,
        [common.in_options(verdict) for verdict in found.verdicts_],
        joint_verdict=common.in_options(found.joint_verdict_),
    )
    typer.echo("How it was made:")
    for line in _origin(found, model):
        typer.echo(f"  {common.in_options(line)}")


def _origin(model: "SparsePCA", file: Path) -> "Iterator[str]":
    """Yield sentences on how a model was made, and what new rows need."""
    from laconic.cli.outputs import certificate_files
    from laconic.data.tables import listed
    from laconic.model.estimator import SparsePCA

    versions = ", ".join(f"{name} {version}" for name, version in model.versions_.items())
    yield f"Software: {versions}."
    certificate = next((c for c in [*model.certificates_, model.joint_certificate_] if c is not None), None)
    digest = "not computed, because there is no proof" if certificate is None else certificate.digest
    yield f"Data: {model.n_features_in_:,} features; SHA-256 {digest}."
    defaults = SparsePCA().get_params()
    changed = [f"{name}={value!r}" for name, value in model.get_params().items() if value != defaults[name]]
    yield f"Settings: {', '.join(name for name in changed if name != 'progress=True') or 'as by default'}."
    if model.missing_ is not None:
        yield f"Missing values: {int(model.missing_.counts.sum()):,}; the matrix was made with {model.missing_.way}."
    if model.choice_ is not None:
        yield f"Choice: {model.choice_.reason}"
    yield from (f"Hint: {hint}" for hint in model.hints_)
    used = _used(model)
    count = int(model.components_.any(axis=0).sum())
    which = f"{count:,} of {model.n_features_in_:,} columns"
    rows = f"{which}: {listed(used, MOST_COLUMNS)}" if used else f"all {model.n_features_in_:,} columns, without names"
    yield f"New rows need {rows}."
    names = [place.name for place in certificate_files(Path(), model)]
    if names:
        yield f"Certificates: {', '.join(names)}; write them out with laconic show {file} --certificates DIR."
