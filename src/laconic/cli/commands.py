"""The commands: demo, fit, choose, stability, certify, verify, transform, report."""

import re
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import laconic.cli.on_disk as disk
import laconic.cli.options as opt
from laconic.cli.options import NOT_PROVED, command, option
from laconic.cli.options import app as app

if TYPE_CHECKING:
    from laconic.core.monitor import Monitor
    from laconic.covariance.make import Made
    from laconic.model.estimator import SparsePCA

PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}
# Options of `choose` that the command for the next fit does not repeat, with their values.
OWN_OPTIONS = r" (-k|--cardinality|-c|--components|--out)[ =]?('[^']*'|\S+)"
# The most columns that a printout lists.
MOST_COLUMNS = 40


def _made(model: "SparsePCA", data: disk.Data, settings: opt.Settings, monitor: "Monitor | None" = None) -> "Made":
    """Make the covariance of the data once, for everything that a command does."""
    from laconic.core.monitor import Monitor
    from laconic.model.settings import features_asked_for, made_of

    model.forced_in = data.features(settings.forced_in)
    features = None if monitor is None else features_asked_for(model)
    rows, matrix = (None, data.source) if settings.covariance else (data.source, None)
    with nullcontext(monitor) if monitor else Monitor(settings.time_limit, progress=True) as own:
        return made_of(model, rows, matrix, None, own, features=features, name=data.name)


@command
def demo(
    out: Annotated[Path, option("DIR", "The folder for the page, tables and certificates.")] = Path("laconic-demo"),
) -> None:
    """Find the seven bills that divide the 109th US Senate, and prove that they are the best."""
    from laconic.datasets import load_senate109
    from laconic.model.estimator import SparsePCA
    from laconic.report.printed import print_components

    directory = disk.folder(out)
    senate = load_senate109()
    votes = senate.frame
    typer.echo(f"{len(votes)} senators voted on {votes.shape[1]} bills: yea is 1, nay is -1, anything else is 0.\n")
    model = SparsePCA(cardinality=[5, 2], proof="tight", verbose=True).fit(votes)
    # The record begins each title with the bill's own number.
    pairs = zip(senate.feature_names, senate.titles, strict=True)
    titles = {bill: title.partition("; ")[2] or title for bill, title in pairs}
    print_components(model, noun="bill", titles=titles)
    parties = [PARTIES[party] for party in senate.parties]
    files = {directory / "votes.csv": votes, directory / "model.laconic": model}
    disk.write_files(files | disk.certificate_files(directory, model))
    title = "Seven bills divide the 109th US Senate"
    page = model.report(votes, directory / "senate.html", title=title, color=parties, descriptions=titles)
    disk.say_written(page)
    typer.echo(f"Open this page in a browser: {page}")
    typer.echo(f"Check a proof: laconic verify {directory / 'component-1.json'} {directory / 'votes.csv'}")


@command
def fit(
    files: opt.Files,
    cardinality: opt.Cardinality = None,
    n_components: opt.Components = None,
    joint: Annotated[
        str | None,
        option(
            "common|disjoint|orthogonal|span",
            "Find all components together: with the same columns; with no column twice; with orthogonal loadings; or "
            "any that hold the most variance.",
        ),
    ] = None,
    settings: opt.Settings = opt.Settings(),
    color_by: opt.ColorBy = None,
    out: opt.Out = None,
    report: Annotated[Path | None, option("PAGE", "The file for a page with all results, such as page.html.")] = None,
    save: Annotated[Path | None, option("MODEL", "The file for the model (.laconic). --out has one, too.")] = None,
) -> None:
    """Find sparse components of a table."""
    if color_by is not None and out is None and report is None:
        raise ValueError(f"--color-by {color_by} is for the pictures in --out and --report; give one of them, too.")
    if report is not None:
        disk.check_file(report, "--report", (".html", ".htm"), files)
    if save is not None:
        disk.check_file(save, "--save", (), files)
    model = settings.model(cardinality, n_components, joint=joint)
    data = settings.read_files(files, color_by)
    if out is not None:
        disk.check_apart(files, disk.folder(out))
    from laconic.report.printed import print_components

    with model._begin() as monitor:
        made = _made(model, data, settings, monitor)
        model._fit(made, monitor)
    page = ""
    if report is not None:
        # Before the components are printed: a curve of the page may meet better ones.
        page = disk.page_of(model, report, files, data, made=made, time_limit=settings.time_limit)
    print_components(model)
    if report is not None:
        disk.write_page(page, report)
    if save is not None:
        disk.say_written(model.save(save))
    if out is None:
        return
    disk.write_files(disk.fit_files(out, model, made, data), disk.RESULTS)
    if data.in_blocks:
        # The scores take another reading, so the other files are written first.
        disk.write_scores(model, data, out / "scores.csv")


@command
def choose(
    files: opt.Files,
    cardinality: opt.Cardinality = None,
    n_components: opt.Components = None,
    settings: opt.Settings = opt.Settings(),
    out: opt.Out = None,
) -> None:
    """Recommend a number of components and of columns, and say what they cost."""
    model = settings.model(cardinality, n_components)
    data = settings.read_files(files)
    directory = None if out is None else disk.folder(out)
    from matplotlib.figure import Figure

    from laconic.model.choosing import choose as choose_numbers
    from laconic.report.sentences import in_columns

    choice = choose_numbers(model, _made(model, data, settings))
    typer.echo(in_columns(str(choice)))
    words = re.sub(OWN_OPTIONS, "", shlex.join(["laconic", "fit", *disk.COMMAND.get()[1:]]))
    typer.echo(f"\nNext: {words} -k {','.join(map(str, choice.cardinality))}")
    if directory is not None:
        disk.write_files(
            {
                directory / "choose.csv": choice.to_frame(),
                directory / "choose.png": choice.plot(Figure())[0].figure,
                directory / "command-choose.txt": disk.command_text(),
            }
        )


@command
def stability(
    files: opt.Files,
    cardinality: opt.Cardinality = None,
    n_components: opt.Components = None,
    resamples: Annotated[int, option("INT", "The number of samples of the rows.")] = 100,
    settings: opt.Settings = opt.Settings(),
    jobs: Annotated[int, option("INT", "The number of processes; -1 uses all processors.")] = 1,
    out: opt.Out = None,
) -> None:
    """Show how often each column is chosen when the rows are drawn again."""
    from laconic.model.stability import stability as find_stability
    from laconic.report.printed import print_tables, stability_tables
    from laconic.report.sentences import in_columns

    model = settings.model(cardinality, n_components)
    data = settings.read_files(files)
    directory = None if out is None else disk.folder(out)
    made = _made(model, data, settings)
    found = find_stability(model, made, resamples=resamples, n_jobs=jobs)
    print_tables(stability_tables(found))
    typer.echo(in_columns(found.verdict))
    if directory is not None:
        disk.write_files(
            {
                directory / "stability.csv": found.to_frame(),
                directory / "command-stability.txt": disk.command_text(),
            }
        )


@command
def certify(
    files: opt.Files,
    features: Annotated[list[str] | None, option("NAME[,NAME]", "Your columns; else those found for -k.")] = None,
    cardinality: Annotated[
        str | None,
        option("-k --cardinality INT", "The number of columns. With --component 2 also 5,2: the first has 5."),
    ] = None,
    component: Annotated[int, option("INT", "The number of the component; those before it are found first.")] = 1,
    settings: opt.SettingsOfProof = opt.SettingsOfProof(),
    out: Annotated[Path | None, option("FILE", "The file for the certificate (.json).")] = None,
) -> None:
    """Prove how good your own choice of columns is."""
    from laconic.core.words import at_least, at_most
    from laconic.data.tables import listed
    from laconic.model.paths import certify as certify_features
    from laconic.report.sentences import NO_PROOF, certified, count_of

    if out is not None:
        disk.check_file(out, "--out", (".json",), files)
    model = settings.model(cardinality)
    data = settings.read_files(files)
    made = _made(model, data, settings)
    found = certify_features(model, made, data.features(features), component=component)
    names, count = found.to_frame()["feature"].astype(str).tolist(), count_of(len(found.support))
    this, has = ("This", "has") if len(names) == 1 else ("These", "have")
    variance = f"{at_least(found.lower, 6)}: {listed(names, MOST_COLUMNS)}"
    typer.echo(f"{this} {count} {has} a component with a variance of {variance}.")
    typer.echo(f"No {count} can have more than {at_most(found.upper, 6)}.")
    typer.echo(NO_PROOF if found.certificate is None else certified(found.certificate))
    if out is not None and found.certificate is not None:
        disk.write_files({out: found.certificate})


@command
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(help="Certificates (.json) or models (.laconic), then data.", metavar="CERTIFICATE... FILE..."),
    ],
    explain: Annotated[bool, typer.Option("--explain", help="Tell each step of the proof in plain words.")] = False,
    read: opt.Read = None,
) -> None:
    """Check certificates against their data. The exit status is 0 if all are proved, 1 if not, 2 if the input is bad.

    Columns are found by name, so the data may have others. Bad input is a table that cannot be read, or a file that is
    not a certificate or was changed.
    """
    from laconic.model.save import load_model
    from laconic.proof.certificate import Certificate
    from laconic.proof.verify import verify as check
    from laconic.report.sentences import certified, in_columns

    claims: list[tuple[str, Certificate]] = []
    data = list(files)
    while data and data[0].suffix in (".json", ".laconic"):
        file = data.pop(0)
        found = [Certificate.load(file)] if file.suffix == ".json" else load_model(file).certificates_
        names = [f"{file.name}, component {i}" for i in range(1, len(found) + 1)] if len(found) > 1 else [file.name]
        claims += [(name, one) for name, one in zip(names, found, strict=True) if one is not None]
    if not claims or not data:
        raise ValueError("Give certificates (.json) or a model (.laconic) first, and then the data.")
    certificates = [one for _, one in claims]
    needed_by = "certificate" if files[0].suffix == ".json" else "model"
    rows = disk.read_again(data, certificates, read, needed_by=needed_by).rows
    results = check(certificates, rows, explain=explain)
    for (name, one), result in zip(claims, results, strict=True):
        told = "\n".join([*result.lines, "", ""] if explain else []) + (f"{name}: " if len(claims) > 1 else "")
        typer.echo(in_columns((told + result.reason).replace(one.verdict, certified(one))))
    if not all(results):
        raise typer.Exit(NOT_PROVED)


@command
def transform(
    model: opt.Model,
    files: opt.Files,
    out: Annotated[Path | None, option("FILE", "The file for scores (.csv); else they are printed.")] = None,
    read: opt.Read = None,
) -> None:
    """Compute the scores of new rows with a model on disk.

    Columns are found by name. Only those that the components use are needed; all others may be absent or hold anything.
    """
    from laconic.model.save import load_model

    if out is not None:
        disk.check_file(out, "--out", (".csv",), [model, *files])
    fitted = load_model(model)
    data = disk.read(files, disk.options_of(read), only=_used(fitted))
    if not data.in_blocks and not len(data.rows):
        raise ValueError(f"{data.name} has no rows; at least one is needed.")
    disk.write_scores(fitted, data, out)


def _used(model: "SparsePCA") -> list[str] | None:
    """Return the names of the columns that the components use, or None if the model has no names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names[model.components_.any(axis=0)]]


@command
def report(
    model: opt.Model,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="The data of the fit. Without them the page has fewer pictures.", metavar="FILE"),
    ] = None,
    out: Annotated[Path | None, option("PAGE", "The file of the page, such as page.html.")] = None,
    title: Annotated[str | None, option("TEXT", "The title of the page.")] = None,
    color_by: opt.ColorBy = None,
    read: opt.Read = None,
    time_limit: Annotated[float | None, option("SECONDS", "Time for curves and scores.")] = None,
) -> None:
    """Print a model on disk and what is proved about it; with --out make a page to read and to send."""
    from laconic.model.save import load_model
    from laconic.report.printed import print_components

    fitted = load_model(model)
    if out is None:
        if files:
            raise ValueError("The data are for the page; give its file, too: --out page.html.")
        print_components(fitted)
        typer.echo("How it was made:")
        for line in _origin(fitted, model):
            typer.echo(f"  {line}")
        return
    disk.check_file(out, "--out", (".html", ".htm"), [model, *(files or ())])
    if color_by is not None and not files:
        raise ValueError(f"--color-by {color_by} is a column of the data; give the data, too.")
    data = disk.read_again(files, fitted.certificates_, read, color_by) if files else None
    disk.write_page(disk.page_of(fitted, out, files or [], data, title=title, time_limit=time_limit), out)


def _origin(model: "SparsePCA", file: Path) -> Iterator[str]:
    """Yield sentences on how a model was made, and what new rows need."""
    from laconic.data.tables import listed
    from laconic.model.settings import changed_settings

    certificates = [one for one in model.certificates_ if one is not None]
    if certificates:
        yield f"Software: {', '.join(f'{name} {version}' for name, version in certificates[0].versions.items())}."
    digest = certificates[0].digest if certificates else "not computed, because there is no proof"
    yield f"Data: {model.n_features_in_:,} columns; SHA-256 {digest}."
    yield f"Settings: {changed_settings(model) or 'as by default'}."
    yield from (f"Hint: {hint}" for hint in model.hints_)
    used, count = _used(model), int(model.components_.any(axis=0).sum())
    rows = f"{count:,} of {model.n_features_in_:,} columns: {listed(used, MOST_COLUMNS)}" if used else "all columns"
    yield f"New rows need {rows}."
    if certificates:
        yield f"Check its proofs with laconic verify {file} DATA."
