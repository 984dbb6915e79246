"""The files that are published: what is in them, and that they work where nothing else is installed.

Packages come from the index that pip uses. Everything together takes about a minute.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import pytest

import laconic

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "src")
COMPILED = ("laconic/relaxations/row_kernels",)
EMBEDDED = ("pitprops.csv", "senate109_bills.csv", "senate109_votes.csv")
PROOF = """
from laconic import SparsePCA, verify
from laconic.datasets import load_senate109
from laconic.relaxations import row_steps
rows = load_senate109().data
model = SparsePCA(cardinality=5, proof="tight").fit(rows)
assert verify(model.certificates_[0], rows)
print("plain" if row_steps.kernels is None else "compiled", model.verdicts_[0])
"""


def run(*command, **environment):
    """Run a program outside the source tree, with nothing of this environment in sight; return what it prints."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    with tempfile.TemporaryDirectory() as empty:
        command = [str(part) for part in command]
        done = subprocess.run(command, capture_output=True, text=True, env=kept | environment, cwd=empty, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("release")


@pytest.fixture(scope="module")
def built(folder):
    """The source distribution, and the wheel built from it."""
    source = folder / "source"
    for name in BUILT_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(exist_ok=True)
        copy(ROOT / name, source / name)
    run(sys.executable, "-m", "build", source, "--outdir", folder / "dist")
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def environment(folder, built):
    """The programs of a new environment that has the wheel and its dependencies."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "pip", "install", "--quiet", f"{built[1]}[app]")
    return programs


def source_files():
    """Every file of the package that git does not ignore."""
    listed = run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "src/laconic").split()
    return {name.removeprefix("src/") for name in listed if (ROOT / name).exists()}


def test_the_wheel_has_all_files_of_the_package_and_no_others(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        information = {name.partition(".dist-info/")[2] for name in wheel.namelist() if ".dist-info/" in name}
    compiled = {name for name in names if name.endswith((".so", ".pyd"))}
    assert {name.partition(".")[0] for name in compiled} == set(COMPILED)
    assert names - compiled == {name for name in source_files() if not name.endswith(".pyx")}
    assert {"laconic/py.typed", *(f"laconic/datasets/files/{name}" for name in EMBEDDED)} <= names
    assert "licenses/LICENSE" in information


def test_one_wheel_serves_all_versions_of_python(built):
    assert built[1].name.startswith(f"laconic-{laconic.__version__}-cp311-abi3-")


def test_the_source_distribution_has_what_a_build_needs(built):
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames() if not sdist.getmember(name).isdir()}
    expected = {f"src/{name}" for name in source_files()} | {name for name in BUILT_FROM if name != "src"}
    generated = {"PKG-INFO", "setup.cfg"} | {name for name in names if ".egg-info/" in name}
    assert names == expected | generated


def test_no_file_names_a_folder_of_the_machine(built, folder):
    folders = [str(place).encode() for place in (ROOT, folder, Path.home(), Path(sys.prefix))]
    with zipfile.ZipFile(built[1]) as wheel:
        for name in wheel.namelist():
            content = wheel.read(name)
            assert not [place for place in folders if len(place) > 5 and place in content], name


def test_the_wheel_proves_and_verifies(environment, folder):
    assert run(environment / "laconic", "--version").strip() == f"laconic {laconic.__version__}"
    votes, out = folder / "votes.csv", folder / "out"
    with zipfile.ZipFile(next((folder / "dist").glob("*.whl"))) as wheel:
        votes.write_bytes(wheel.read("laconic/datasets/files/senate109_votes.csv"))
    run(environment / "laconic", "fit", votes, "-k", "5", "--proof", "tight", "--out", out)
    assert "roved" in run(environment / "laconic", "verify", out / "component-1.json", votes)
    assert run(environment / "python", "-c", PROOF).startswith("compiled Optimal")


def test_without_a_compiler_the_source_installs_and_proves(environment, built):
    run(environment / "pip", "install", "--quiet", "cython", "setuptools>=77")
    options = ("--no-deps", "--no-build-isolation", "--force-reinstall", "--no-cache-dir")
    run(environment / "pip", "install", "--quiet", *options, built[0], CC="false", CXX="false")
    assert run(environment / "python", "-c", PROOF).startswith("plain Optimal")
