"""What the documents show works: code, command lines, links, pictures, and every row of the paper map."""

import ast
import importlib
import os
import re
import shlex

import matplotlib.pyplot as plt
import pytest
import typer.main
from tests.documents import (
    PAGES,
    ROOT,
    Block,
    blocks_of,
    commands_of,
    headings_of,
    inline_commands_of,
    links_of,
    name_of,
    write_tables,
)
from typer.testing import CliRunner

from laconic.cli import app

PAPER_MAP = ROOT / "docs" / "paper-map.md"
# Pages whose code is not run here, and why.
NOT_RUN = {
    "CHANGELOG.md": "it is about earlier versions",
    "docs/releasing.md": "it builds and uploads a release",
    "docs/benchmarks.md": "its commands take hours; `make bench` runs them",
    "docs/instances.md": "tests/studies/test_instances.py checks the certificates",
}
# Commands that are not run here, and why. Their options are checked.
COMMANDS_NOT_RUN = {"demo": "tests/cli runs it"}
# Pages that take more than a few seconds.
SLOW = {
    "docs/large-data.md": "it starts a Dask cluster",
    "docs/is-it-real.md": "it searches 800 tables",
    "docs/choosing.md": "it permutes tables",
}


def pages(*, run=False):
    """Return the pages as parameters of a test."""
    chosen = [page for page in PAGES if not run or name_of(page) not in NOT_RUN]
    marks = {name: [pytest.mark.slow] if run and name in SLOW else [] for name in map(name_of, chosen)}
    return [pytest.param(page, id=name_of(page), marks=marks[name_of(page)]) for page in chosen]


def run_python(block, page, namespace):
    """Run a block as a part of its page, so that a message names the page's line."""
    exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), namespace)


def run_command(words):
    """Run a command line in this process."""
    if words[0] in COMMANDS_NOT_RUN or words[0].startswith("-"):
        return
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"laconic {shlex.join(words)}\n{result.output}\n{result.exception}"


# One page shows such a warning on purpose. Hints are ignored everywhere.
@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
@pytest.mark.parametrize("page", pages(run=True))
def test_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """Its blocks of Python and its commands, in order, in one folder and one namespace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    write_tables(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language == "python":
            run_python(block, name_of(page), namespace)
        for words in commands_of(block):
            run_command(words)
    plt.close("all")
    assert " ... " not in capsys.readouterr().out  # pandas leaves columns out that do not fit a terminal


def parse(words, *, whole):
    """Read a command line without running it. One inside of a sentence need not be whole."""
    group = typer.main.get_command(app)
    if words[0].startswith("-"):
        assert any(words[0] in option.opts for option in group.params), f"laconic has no option {words[0]}"
        return
    commands = group.commands
    assert words[0] in commands, f"there is no command {words[0]!r}"
    problem, kind = None, ""
    try:
        commands[words[0]].make_context(words[0], list(words[1:]))
    except Exception as error:
        # typer has a copy of click, or uses click itself, depending on its version. The names of exceptions are equal.
        problem, kind = error, type(error).__name__
    fine = ["", "Exit"] if whole else ["", "Exit", "MissingParameter", "BadOptionUsage"]
    assert kind in fine, f"laconic {shlex.join(words)}: {problem}"


@pytest.mark.parametrize("page", pages())
def test_command_lines_have_options_that_exist(page):
    text = page.read_text(encoding="utf-8")
    for block in blocks_of(text):
        for words in commands_of(block):
            parse(words, whole=True)
    for words in inline_commands_of(text):
        if not {"...", "…"} & set(words):
            parse(words, whole=False)


def test_an_option_that_does_not_exist_is_caught():
    block = Block("console", "$ laconic fit data.csv --cardinality-of 5  # wrong", 1)
    (words,) = commands_of(block)
    assert words == ["fit", "data.csv", "--cardinality-of", "5"]
    with pytest.raises(AssertionError, match="cardinality-of"):
        parse(words, whole=True)
    with pytest.raises(AssertionError, match="no command 'fitt'"):
        parse(["fitt", "data.csv"], whole=False)


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    for target, anchor in links_of(page.read_text(encoding="utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), f"{name_of(page)} points at {target}"
        if anchor:
            headings = headings_of(path.read_text(encoding="utf-8"))
            assert anchor in headings, f"{name_of(page)} points at {target}#{anchor}"


def test_every_picture_is_shown():
    shown = {
        (page.parent / target).resolve() for page in PAGES for target, _ in links_of(page.read_text(encoding="utf-8"))
    }
    pictures = [path for path in (ROOT / "docs" / "images").rglob("*") if path.is_file()]
    assert pictures
    assert [name_of(path) for path in pictures if path.resolve() not in shown] == []


def test_the_tables_of_this_file_name_pages():
    assert all((ROOT / name).is_file() for name in [*NOT_RUN, *SLOW])


def rows():
    """The rows of the map: (paper, what, code cell, test cell)."""
    found = []
    for line in PAPER_MAP.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[0] != "paper" and not set(cells[0]) <= set(":- "):
            found.append(cells)
    return found


def resolve_code(reference):
    """`laconic.room.module:Name.attribute` or the same with dots alone."""
    dotted = reference.replace(":", ".")
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            thing = getattr(thing, attribute)
        return thing
    raise ModuleNotFoundError(reference)


def resolve_test(reference):
    """`tests/path.py::test_name`, by reading the file: nothing is run."""
    path, _, name = reference.partition("::")
    assert path.startswith("tests/")
    tree = ast.parse((ROOT / path).read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert re.sub(r"\[.*\]$", "", name) in functions, f"{path} has no {name}"


def test_every_row_of_the_paper_map_resolves():
    assert PAPER_MAP.is_file(), "docs/paper-map.md is missing"
    table = rows()
    assert len(table) >= 5
    for paper, what, code, test in table:
        assert paper
        assert what
        functions, tests = re.findall(r"`([^`]+)`", code), re.findall(r"`([^`]+)`", test)
        assert functions, f"{paper} names no code"
        assert tests, f"{paper} names no test"
        for reference in functions:
            assert resolve_code(reference) is not None
        for reference in tests:
            resolve_test(reference)


def test_a_row_that_leads_nowhere_is_caught():
    with pytest.raises(AttributeError):
        resolve_code("laconic.model.estimator:DensePCA")
    with pytest.raises(ModuleNotFoundError):
        resolve_code("laconia.estimator")
    with pytest.raises(AssertionError):
        resolve_test("tests/test_docs.py::test_that_is_not_there")
    with pytest.raises(FileNotFoundError):
        resolve_test("tests/test_nothing.py::test_that_is_not_there")
    resolve_test("tests/test_docs.py::test_code_of_a_page_runs[case]")
    assert resolve_code("laconic.SparsePCA.fit") is resolve_code("laconic.model.estimator:SparsePCA.fit")
    assert os.fspath(PAPER_MAP).endswith("docs/paper-map.md")
