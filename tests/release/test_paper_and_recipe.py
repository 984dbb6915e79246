"""The software paper and the conda recipe name only what exists."""

import re
import tomllib
from pathlib import Path

import click
import pytest
import typer.main

from laconic.cli import app

ROOT = Path(__file__).parents[2]
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`(laconic [a-z][^`]*|python -m [^`]*)`", PAPER)


def test_every_figure_is_there():
    figures = re.findall(r"\]\(([^)]+\.png)\)", PAPER)
    assert len(figures) >= 2
    for figure in figures:
        assert (ROOT / "paper" / figure).is_file(), figure


def test_every_reference_is_cited_and_every_citation_is_listed():
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    cited = set(re.findall(r"@([a-z]+\d{4})", PAPER.partition("---\n\n")[2]))
    assert len(listed) == len(set(listed))
    assert cited == set(listed)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_understood(command):
    program, *words = command.split()
    if program == "python":
        assert words[0] == "-m"
        if words[1] == "studies":
            assert (ROOT / "studies" / f"{words[2].replace('-', '_')}.py").is_file()
            return
        assert words[1] == "benchmarks"
        assert f'"{words[2]}"' in (ROOT / "benchmarks" / "__main__.py").read_text(encoding="utf-8")
        return
    group = typer.main.get_command(app)
    with click.Context(group) as context:
        name, subcommand, rest = group.resolve_command(context, words)
    if rest:
        subcommand.make_context(name, rest)  # raises if an option is unknown


def test_the_recipe_has_the_dependencies_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"^    - ([\w-]+) (>=\S+)$", recipe, re.MULTILINE)
    wanted = project["project"]["dependencies"] + project["build-system"]["requires"]
    wanted += project["project"]["optional-dependencies"]["app"]  # conda has no extras
    assert {name.removesuffix("-base") + bound for name, bound in listed} == set(wanted)
