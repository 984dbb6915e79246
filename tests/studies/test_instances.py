"""The stored instances: their certificates are true, and the page and the table say what they prove."""

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import instances
from benchmarks.data import SOURCES
from benchmarks.instances import INSTANCES, MANY_FEATURES, MATRICES, MOST_BYTES, RESULTS, STORED
from benchmarks.problems import BEST_KNOWN

from laconic import Certificate, SparsePCA, verify

ROOT = Path(__file__).parents[2]
RESULT = instances.read_results()
SLOW = dict.fromkeys(MANY_FEATURES, pytest.mark.slow)  # thousands of features, and large files


def stored_of(matrix):
    """The files of the certificates of a matrix."""
    paths = [STORED / f"{name}.json" for name, one in INSTANCES.items() if one.matrix == matrix]
    return [path for path in paths if path.is_file()]


def as_table(rows):
    """Rows as the checker takes them: an array, and names or None."""
    if isinstance(rows, pd.DataFrame):
        return rows.to_numpy(), list(rows.columns)
    return (rows.toarray() if hasattr(rows, "toarray") else rows), None


@pytest.fixture(scope="module")
def checker():
    spec = importlib.util.spec_from_file_location("check_certificate", ROOT / "tools" / "check_certificate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("matrix", [pytest.param(name, marks=SLOW.get(name, ())) for name in MATRICES])
def test_stored_certificates_are_accepted_by_both_programs(matrix, checker, request):
    if MATRICES[matrix].source in SOURCES:
        request.getfixturevalue("data_folder")
    rows = MATRICES[matrix].load()
    paths = stored_of(matrix)
    for path, outcome in zip(paths, verify(paths, rows), strict=True):
        assert outcome, f"{path.name}: {outcome.reason}"
        instances.check_question(INSTANCES[path.stem], Certificate.load(path))
    if matrix not in MANY_FEATURES:  # the checker writes the rows out
        table, names = as_table(rows)
        for path in paths:
            checker.check(path, table, names=names)


@pytest.mark.parametrize("name", RESULT)
def test_results_are_those_of_the_certificates(name):
    result, path = RESULT[name], STORED / f"{name}.json"
    assert float(result["value"]) <= float(result["bound"])
    sizes = [len(part.split()) for part in result["features"].split(";")]
    assert len(sizes) == len(INSTANCES[name].sizes)
    assert all(size <= most for size, most in zip(sorted(sizes), sorted(INSTANCES[name].sizes), strict=True))
    assert path.is_file() == (int(result["bytes"]) <= MOST_BYTES)
    if path.is_file():
        assert {**instances.result_of(name, path, None), "seconds": result["seconds"]} == result


def test_every_instance_has_a_result_and_every_file_is_of_one():
    assert list(RESULT) == list(INSTANCES)
    assert {path.stem for path in STORED.iterdir()} <= set(INSTANCES)
    assert sum(path.stat().st_size for path in STORED.iterdir()) <= 3_000_000


def test_values_reach_the_best_known():
    for matrix, known in BEST_KNOWN.items():
        for k, best in known.items():
            assert float(RESULT[f"{matrix.lower()}-k{k}"]["value"]) >= best * (1 - 1e-6)


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs" / "instances.md").read_text(encoding="utf-8") == instances.page()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results and certificates of one's own, and none at first."""
    for name in ("STORED", "LARGE"):
        monkeypatch.setattr(instances, name, tmp_path / name.lower())
    monkeypatch.setattr(instances, "RESULTS", tmp_path / "instances.csv")
    monkeypatch.setattr(instances, "PAGE", tmp_path / "instances.md")
    return tmp_path


def test_an_instance_is_solved_once(folder, monkeypatch):
    instances.main(["pitprops", "common", "k5", "r2"])
    before = instances.read_results()
    assert list(before) == ["pitprops-common-r2-k5"]
    assert "| pitprops-common-r2-k5 | 2 | 5 | 4.391046074 |" in (folder / "instances.md").read_text()
    monkeypatch.setattr(instances, "solve", None)  # calling it would fail
    instances.main(["pitprops-common-r2-k5"])
    assert instances.read_results() == before


@pytest.mark.usefixtures("folder")
def test_a_certificate_that_somebody_adds_is_checked_and_taken():
    instances.run(["wine-k5"])
    own = MATRICES["wine"].load()
    path = instances.STORED / "wine-k5.json"
    other = Certificate.load(path)
    other = replace(other, upper=1.01 * other.upper)
    other.save(path)
    instances.run(["wine-k5"])
    result = instances.read_results()["wine-k5"]
    assert (result["bound"], result["seconds"]) == (repr(other.upper), "")
    SparsePCA(cardinality=4).fit_covariance(own).certificates_[0].save(path)
    with pytest.raises(ValueError, match="The certificate of wine-k5 is about another problem"):
        instances.run(["wine-k5"])
    SparsePCA(cardinality=5).fit_covariance(own + np.eye(13)).certificates_[0].save(path)
    with pytest.raises(ValueError, match=r"wine-k5 is not accepted: .* other data"):
        instances.run(["wine-k5"])


@pytest.mark.usefixtures("folder")
def test_the_better_result_stays():
    instances.run(["pitprops-k7"])
    before = instances.read_results()
    instances.run(["pitprops-k7"], again=True, seconds=1e-9)
    assert instances.read_results() == before
    (instances.STORED / "pitprops-k7.json").unlink()
    weak = {**before["pitprops-k7"], "bound": "5.0"}
    instances.write_results({"pitprops-k7": weak})
    instances.run(["pitprops-k7"], again=True)
    assert instances.read_results()["pitprops-k7"]["bound"] == before["pitprops-k7"]["bound"]


def test_missing_data_leave_their_instances_out(folder, monkeypatch, capsys):
    monkeypatch.setenv("LACONIC_DATA", str(folder))
    instances.run(["lung-k5"])
    assert "`python -m benchmarks.data lung`" in capsys.readouterr().err
    assert instances.read_results() == {}


def test_names_that_do_not_exist():
    with pytest.raises(SystemExit, match="No instance has all of pitprop in its name"):
        instances.chosen(["pitprop"])
    with pytest.raises(SystemExit, match="no matrix 'pitprop'"):
        instances.write_data("pitprop")


@pytest.mark.parametrize("matrix", ["pitprops", "senate"])
def test_written_data_are_read_by_both_programs(matrix, folder, checker):
    path = instances.write_data(matrix)
    certificate = shutil.copy(STORED / f"{matrix}-k5.json", folder)
    assert checker.main([str(certificate), str(path)]) == 0
    table = pd.read_csv(path, index_col=0 if matrix == "senate" else None)
    assert verify(certificate, table if matrix == "senate" else table.to_numpy())


def test_results_are_a_table_that_others_can_read():
    table = pd.read_csv(RESULTS)
    assert list(table.columns) == instances.COLUMNS
    assert table["bound"].ge(table["value"]).all()
