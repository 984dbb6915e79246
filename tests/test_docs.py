"""What the documents show works, and every row of the paper map leads somewhere."""

import ast
import doctest
import importlib
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAPER_MAP = ROOT / "docs" / "paper-map.md"


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_readme_python_runs(tmp_path, monkeypatch, capsys):
    if not README.is_file():
        pytest.skip("there is no README.md yet")
    blocks = python_blocks(README.read_text())
    assert blocks, "README.md shows no Python"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "Accepted" in printed
    assert " ... " not in printed  # pandas leaves columns out that do not fit a terminal


@pytest.mark.parametrize(
    "document", ["README.md", *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_links_between_documents_lead_somewhere(document):
    path = ROOT / document
    if not path.is_file():
        pytest.skip(f"there is no {document} yet")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{document} points at {target}"


def anchors(path):
    """Return the anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "document", ["README.md", *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_links_to_headings_lead_somewhere(document):
    path = ROOT / document
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", path.read_text()):
        if "://" not in target:
            assert anchor in anchors(path.parent / target if target else path), (
                f"{document} points at {target}#{anchor}"
            )


# A document shows this warning on purpose.
@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
@pytest.mark.parametrize("document", [f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))])
def test_documented_python_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in python_blocks((ROOT / document).read_text()):
        exec(compile(block, document, "exec"), namespace)


@pytest.mark.parametrize(
    "module", ["laconic.model.estimator", "laconic.datasets.embedded", "laconic.model.cardinality_path"]
)
def test_examples_in_docstrings(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


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
    resolve_test("tests/test_docs.py::test_readme_python_runs[case]")
    assert resolve_code("laconic.SparsePCA.fit") is resolve_code("laconic.model.estimator:SparsePCA.fit")
    assert os.fspath(PAPER_MAP).endswith("docs/paper-map.md")
