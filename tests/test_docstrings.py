"""The docstrings of the public names: complete, well formed, true, and in the manual."""

import doctest
import importlib
import inspect
import re

import matplotlib.pyplot as plt
import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from tests.documents import ROOT

import laconic

SOURCES = ROOT / "src"
# Whole modules are looked at in a test of their own.
MODULES = ["laconic.datasets", "laconic.methods", "laconic.relaxations"]
# The places of public names that are not themselves classes or functions.
INSIDE = {
    "pp": ["pp.sparse_pca"],
    "plot": [f"plot.{name}" for name in laconic.plot.__all__],
    **{module.removeprefix("laconic."): [] for module in MODULES},
}
NAMES = [inside for name in laconic.__all__ for inside in INSIDE.get(name, [name])]
# Checks of numpydoc that are left out, and why.
LEFT_OUT = {"ES01": "one sentence is enough for many names"}
# All pictures return the axes, as their module says, and docs/pictures.md leads from one to the other.
LEFT_OUT_OF_PICTURES = {"RT01", "SA01", "EX01"}


def thing(name):
    """Return the object of a public name."""
    found = laconic
    for part in name.split("."):
        found = getattr(found, part)
    return found


def full_name(name):
    found = thing(name)
    return f"{found.__module__}.{found.__qualname__}"


@pytest.mark.parametrize("name", NAMES)
def test_numpydoc_finds_nothing_to_mend(name):
    left_out = set(LEFT_OUT) | (LEFT_OUT_OF_PICTURES if name.startswith("plot.") else set())
    if inspect.isclass(thing(name)) and name != "SparsePCA":
        left_out.add("PR01")  # Functions make the results, so that Attributes describe their fields.
    errors = [f"{code}: {text}" for code, text in validate(full_name(name))["errors"] if code not in left_out]
    assert errors == []


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("plot.")])
def test_see_also_leads_somewhere(name):
    entries = [other for others, _ in get_doc_object(thing(name))["See Also"] for other, _ in others]
    assert entries
    for other in entries:
        assert inspect.getdoc(thing(other.removeprefix("laconic.")))


def modules_with_examples():
    files = [file for file in SOURCES.rglob("*.py") if ">>> " in file.read_text(encoding="utf-8")]
    return sorted(".".join(file.relative_to(SOURCES).with_suffix("").parts) for file in files)


@pytest.mark.parametrize("module", modules_with_examples())
def test_examples_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(module))
    plt.close("all")
    assert results.attempted
    assert results.failed == 0


def names_in_manual():
    """Return the names in the tables of the API reference, with their modules."""
    listed, module = set(), "laconic"
    for line in (ROOT / "docs" / "api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            listed.add(f"{module}.{line.strip()}")
    return listed


def test_the_manual_has_every_public_name():
    assert {f"laconic.{name}" for name in NAMES} <= names_in_manual()


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_a_module_has_an_example_and_a_place_in_the_manual(module):
    public = [name for name in importlib.import_module(module).__all__ if not name.isupper()]
    assert {f"{module}.{name}" for name in public} <= names_in_manual()
    for name in public:
        assert ">>> " in (getattr(importlib.import_module(module), name).__doc__ or ""), name
