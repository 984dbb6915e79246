"""What describes the package to other tools agrees: metadata, workflows, the conda recipe, addresses."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import laconic

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = {
    place.stem: yaml.safe_load(place.read_text("utf-8")) for place in (ROOT / ".github" / "workflows").glob("*.yml")
}
MANUAL = PROJECT["project"]["urls"]["Documentation"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def steps():
    return [step for flow in WORKFLOWS.values() for job in flow["jobs"].values() for step in job["steps"]]


def test_every_action_is_pinned_by_its_digest_and_names_its_version():
    lines = [
        line
        for place in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in place.read_text("utf-8").splitlines()
        if re.search(r"\buses:", line)
    ]
    assert len(lines) == sum("uses" in step for step in steps()) >= 10
    for line in lines:
        assert re.fullmatch(r"\s*- uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    versions = {}
    for line in lines:
        action, _, pin = line.partition("@")
        versions.setdefault(action.strip(), set()).add(pin)
    assert all(len(pins) == 1 for pins in versions.values()), versions


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read(name):
    flow = WORKFLOWS[name]
    assert flow["permissions"] == {"contents": "read"}
    for title, job in flow["jobs"].items():
        assert job["timeout-minutes"] <= 60
        if title == "publish":
            assert (job["permissions"], job["environment"]) == ({"id-token": "write"}, "release")
            assert job["if"] == "github.event_name == 'push'"
            assert job["steps"][-1]["with"]["attestations"] is True
        else:
            assert not {"permissions", "environment"} & set(job)
    for step in steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_versions_of_python_agree():
    project = PROJECT["project"]
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    tested = WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert named == tested
    assert project["requires-python"] == f">={tested[0]}"  # and no upper limit
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    first, last = (version.replace(".", "") for version in (tested[0], tested[-1]))
    assert built == [f"cp{first}-*", f"cp{last}-*", f"cp{last}t-*"]
    assert re.search(r'"Py_LIMITED_API", "0x03(..)0000"', read("setup.py"))[1] == f"{int(first[1:]):02X}"
    assert f'"cp{first}"' in read("setup.py")
    oldest = WORKFLOWS["tests"]["jobs"]["oldest"]["steps"]
    assert [step["with"]["python-version"] for step in oldest if "setup-python" in step.get("uses", "")] == [tested[0]]


def test_free_threads_are_promised_where_they_are_tested():
    promised = "freethreading_compatible=True" in read("src/laconic/relaxations/row_kernels.pyx").splitlines()[0]
    versions = [
        step["with"].get("python-version", "") for step in WORKFLOWS["tests"]["jobs"]["free-threads"]["steps"][1:2]
    ]
    assert promised
    assert versions[0].endswith("t")
    assert any("Free Threading" in line for line in PROJECT["project"]["classifiers"])


def test_folders_that_workflows_test_exist():
    names = re.findall(r"\btests/[\w/.]+", "\n".join(step.get("run", "") for step in steps()))
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_recipe_has_the_version_and_the_dependencies_of_the_package():
    recipe = yaml.safe_load(read("recipe/recipe.yaml"))
    assert (recipe["schema_version"], recipe["context"]["version"]) == (1, laconic.__version__)
    assert recipe["build"]["skip"] == f'match(python, "<{PROJECT["project"]["requires-python"][2:]}")'
    requirements, extras = recipe["requirements"], PROJECT["project"]["optional-dependencies"]
    bounded = {
        part: {need.replace("-base", "").replace(" ", "") for need in requirements[part] if " >=" in need}
        for part in ("host", "run")
    }
    assert bounded["host"] == set(PROJECT["build-system"]["requires"])
    assert bounded["run"] == set(PROJECT["project"]["dependencies"] + extras["app"])  # conda has no extras


def test_the_manual_has_one_address():
    assert laconic.SparsePCA()._get_doc_link() == f"{MANUAL}/en/stable/api/laconic.SparsePCA.html"
    assert MANUAL in laconic.SparsePCA()._repr_html_()
    assert yaml.safe_load(read("CITATION.cff"))["url"] == MANUAL
    assert yaml.safe_load(read("recipe/recipe.yaml"))["about"]["documentation"] == MANUAL
    for address in PROJECT["project"]["urls"].values():
        page = address.removeprefix(MANUAL).removeprefix("/en/stable/")
        assert address.startswith(MANUAL)
        assert not page or (ROOT / "docs" / page.replace(".html", ".md")).is_file()
    hosted = yaml.safe_load(read(".readthedocs.yaml"))
    assert (ROOT / hosted["sphinx"]["configuration"]).is_file()
    assert set(hosted["python"]["install"][0]["extra_requirements"]) <= set(PROJECT["project"]["optional-dependencies"])


def test_files_that_a_project_is_expected_to_have_are_there_and_have_no_placeholder():
    for name in (
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CITATION.cff",
        "LICENSE",
        "docs/releasing.md",
        "recipe/recipe.yaml",
    ):
        assert not re.search(r"TODO|FIXME|example\.(com|org)|to be completed|0{20}", read(name), re.IGNORECASE), name
