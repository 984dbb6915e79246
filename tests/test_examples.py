"""The scripts of the gallery: each has a title, and each runs."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(FOLDER.rglob("plot_*.py"))
NAMES = [script.relative_to(FOLDER).as_posix() for script in SCRIPTS]


def test_the_gallery_is_small():
    assert 15 <= len(SCRIPTS) <= 22


def test_every_folder_is_listed():
    """The gallery leaves out a folder without a header, and a file with another name."""
    folders = {script.parent for script in SCRIPTS}
    assert not [folder.name for folder in folders if not any(folder.glob("README.*"))]
    assert set(FOLDER.rglob("*.py")) == set(SCRIPTS)
    assert len({script.name for script in SCRIPTS}) == len(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_an_example_compiles_and_says_what_it_shows(script):
    text = script.read_text()
    described = ast.get_docstring(ast.parse(text, str(script)))
    title, underline, blank, *words = described.splitlines()
    assert set(underline) == {"="}
    assert len(underline) >= len(title)
    assert blank == ""
    assert 40 <= len(" ".join(words)) <= 600
    assert re.search(r"\bplot|\bpicture\b|\bplt\b", text.partition('"""\n\n')[2])


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_an_example_runs(script, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
