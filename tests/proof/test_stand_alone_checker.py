"""The stand-alone checker as a program: files in, an exit status out."""

import ast
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from certificate_examples import HERE, example, rows
from forging import CHECKER, answers, checker, document_of, sealed

from laconic import SparsePCA
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Recipe, make
from laconic.datasets import load_senate109
from laconic.proof import certify
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_steps import ByRows, Step, StepsWitness


def run(*arguments):
    return checker().main([str(argument) for argument in arguments])


def test_it_needs_numpy_and_nothing_of_the_package():
    imported = set()
    for node in ast.walk(ast.parse(CHECKER.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    assert imported <= {*sys.stdlib_module_names, "numpy"}


def test_it_is_a_program(tmp_path):
    path = example("second component").certificate.save(tmp_path / "proof.json")
    done = subprocess.run(
        [sys.executable, "-I", CHECKER, path, HERE / "rows.csv"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Accepted.\nThe component with these loadings on features ")


def test_columns_are_found_by_name(tmp_path, capsys):
    votes = load_senate109().frame
    made = make(votes, Recipe())
    support = np.array([3, 7])
    z = np.linalg.eigh(made.covariance.submatrix(support))[1][:, -1]
    options = {"digest": made.digest(), "recipe": made.recipe, "feature_names": made.names}
    path = certify(made.covariance, 2, support, z, TraceWitness(), **options).save(tmp_path / "proof.json")
    votes.assign(day="2024-01-31", age=50).iloc[:, ::-1].to_csv(tmp_path / "votes.csv")
    assert run(path, tmp_path / "votes.csv") == 0
    votes.iloc[:, 1:].to_csv(tmp_path / "votes.csv")
    assert run(path, tmp_path / "votes.csv") == 1
    assert f"no column {votes.columns[0]!r}" in capsys.readouterr().out


def test_exit_statuses(tmp_path, capsys):
    path = example("second component").certificate.save(tmp_path / "proof.json")
    assert run(path, HERE / "rows.csv") == 0
    np.save(tmp_path / "rows.npy", rows())
    assert run(path, tmp_path / "rows.npy") == 0
    np.save(tmp_path / "other.npy", 2 * rows())
    capsys.readouterr()
    assert run(path, tmp_path / "other.npy") == 1
    assert capsys.readouterr().out.startswith("Rejected. The rows are not those of the certificate")
    assert run(path, tmp_path / "missing.npy") == 2
    assert run(HERE / "rows.csv", tmp_path / "rows.npy") == 2
    path.write_text(path.read_text().replace('"n_features": 8', '"n_features": 9'))
    assert run(path, tmp_path / "rows.npy") == 2
    with_holes = example("pairwise")
    np.save(tmp_path / "holes.npy", with_holes.data)
    path = with_holes.certificate.save(tmp_path / "pairwise.json")
    capsys.readouterr()
    assert run(path, tmp_path / "holes.npy") == 3
    assert capsys.readouterr().err.startswith("Cannot check this kind. ")


def test_weights_and_labels(tmp_path, capsys):
    found = example("weighted")
    path = found.certificate.save(tmp_path / "proof.json")
    lines = (HERE / "rows.csv").read_text().splitlines()
    labelled = ["name," + lines[0], *(f'"row, {i}",{line}' for i, line in enumerate(lines[1:]))]
    (tmp_path / "rows.csv").write_text("\n".join(labelled))
    (tmp_path / "weights.csv").write_text("\n".join(["w", *map(str, found.options["sample_weight"])]))
    assert run(path, tmp_path / "rows.csv", "--weights", tmp_path / "weights.csv") == 0
    assert "Left out because they hold no numbers: 'name'." in capsys.readouterr().out
    assert run(path, tmp_path / "rows.csv") == 1


def test_the_senate(tmp_path):
    """The components of `laconic demo`: accepted, and rejected when they claim more."""
    votes = load_senate109().frame
    votes.to_csv(tmp_path / "votes.csv")
    for certificate in SparsePCA(2, cardinality=[5, 2]).fit(votes).certificates_:
        assert certificate.proved
        path = certificate.save(tmp_path / "component.json")
        assert run(path, tmp_path / "votes.csv") == 0
        document = json.loads(path.read_text())
        document["content"]["upper"] *= 1 - 1e-6
        document["content"]["lower"] *= 1 - 1e-5
        path.write_text(json.dumps(sealed(document)))
        assert run(path, tmp_path / "votes.csv") == 1


def test_large_arrays_are_read_from_the_file_beside(tmp_path, monkeypatch):
    monkeypatch.setattr("laconic.core.store.INLINE", 5)
    found = example("row levels")
    path = found.certificate.save(tmp_path / "proof.json")
    assert checker().check(path, found.data)
    beside = path.with_suffix(".npz")
    beside.write_bytes(beside.read_bytes()[:-1])
    with pytest.raises(checker().UnreadableError, match="altered"):
        checker().check(path, found.data)


@pytest.mark.parametrize("size", [2, 5, 40])
def test_eigenvalues_are_bounded_from_above(size):
    for seed in range(20):
        B = np.random.default_rng(seed).standard_normal((size, size))
        M = B + B.T
        bound = checker().largest_eigenvalue(M)
        assert 0 <= bound - np.linalg.eigvalsh(M)[-1] + 1e-13 * size <= 1e-12 * size**2
        assert checker().largest_eigenvalue(np.stack([M, -M])) >= bound - 1e-12


def test_both_programs_refuse_versions_that_are_no_texts(tmp_path):
    document = document_of("second component", tmp_path)
    document["content"]["versions"]["numpy"] = None
    outcome, other = answers("second component", sealed(document), tmp_path)
    assert not outcome.accepted
    assert other == "rejected: The versions are not texts."


@pytest.fixture
def few_are_written_out(monkeypatch):
    """The checker takes a matrix of more than 20 features for too large to be written out."""
    monkeypatch.setattr(checker(), "LARGEST_MATRIX", 20)


def wide_rows():
    """Fewer rows than columns; five columns are strongly correlated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 60))
    X[:, 30:35] += 4 * rng.standard_normal((12, 1))
    return X


def wide(witness, k=4, rule=None):
    """A certificate of the first component of wide standardised rows, or of the second one after deflation."""
    made = make(wide_rows(), Recipe(scale=True), quiet=True)
    deflation, taken = Deflation(made.covariance, rule or "projection"), {}
    support = np.arange(30, 30 + k)
    if rule is not None:
        earlier = np.zeros((1, 60))
        earlier[0, [30, 34]] = np.sqrt(0.5)
        deflation.remove(earlier[0])
        taken = {"deflation": rule, "earlier": earlier}
    S = deflation.current
    z = np.linalg.eigh(S.submatrix(support))[1][:, -1]
    return certify(S, k, support, z, witness, digest=made.digest(), recipe=made.recipe, **taken)


def steps():
    """Steps as they are found for wide data."""
    few = np.arange(25, 40)
    inner = Step(4, few, ExhaustiveWitness()), Step(3, None, ThresholdWitness(0.92))
    return StepsWitness((*inner, Step(4, None, ByRows(0, 1, np.array([3, 30])))))


WIDE = {"row sums": RowSumWitness(), "threshold": ThresholdWitness(0.92), "trace": TraceWitness(), "steps": steps()}


@pytest.mark.parametrize("rule", [None, "projection", "schur", "orthogonalized-projection"])
@pytest.mark.parametrize("name", WIDE)
def test_rows_of_a_matrix_that_is_not_written_out(name, rule, tmp_path, monkeypatch):
    path = wide(WIDE[name], rule=rule).save(tmp_path / "wide.json")
    tool = checker()
    found = tool.check(path, wide_rows())[-1]
    monkeypatch.setattr(tool, "LARGEST_MATRIX", 20)
    monkeypatch.setattr(tool, "BLOCK", 500)
    numbers = [float(x) for text in (found, tool.check(path, wide_rows())[-1]) for x in re.findall(r"\d\.\d+", text)]
    assert numbers[:2] == pytest.approx(numbers[2:], rel=1e-12)
    document = json.loads(path.read_text())
    document["content"]["upper"] = numbers[1] * (1 - 1e-9)
    document["content"]["lower"] *= 0.9
    path.write_text(json.dumps(sealed(document)))
    with pytest.raises(tool.RejectedError, match="upper bound is not proved"):
        tool.check(path, wide_rows())


@pytest.mark.usefixtures("few_are_written_out")
@pytest.mark.parametrize(
    ("witness", "rule", "words"),
    [
        (DualWitness("largest eigenvalue"), None, "A matrix of 60 features is needed"),
        (TraceWitness(), "hotelling", "Hotelling's deflation"),
    ],
)
def test_what_needs_the_whole_matrix_is_not_covered(witness, rule, words, tmp_path, capsys):
    path = wide(witness, rule=rule).save(tmp_path / "wide.json")
    np.save(tmp_path / "rows.npy", wide_rows())
    assert run(path, tmp_path / "rows.npy") == 3
    assert words in capsys.readouterr().err
