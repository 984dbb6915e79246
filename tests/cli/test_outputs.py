"""What --out leaves: a summary, the command, pictures of a format, and rows coloured by a column."""

import hashlib
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused

import laconic
from laconic import SparsePCA

RNG = np.random.default_rng(2)
TABLE = pd.DataFrame(
    RNG.standard_normal((40, 2)) @ np.kron(np.eye(2), np.ones(3)) + 0.5 * RNG.standard_normal((40, 6)),
    columns=list("abcdef"),
)


@pytest.fixture
def csv(tmp_path):
    file = tmp_path / "my table.csv"
    TABLE.assign(kind=["x", "y"] * 20, year=range(1980, 2020)).to_csv(file, index=False)
    return file


def test_a_summary_of_all_components(csv, tmp_path):
    out = tmp_path / "out"
    done("fit", csv, "-k", "3,2", "--drop", "year", "--out", out)
    model = SparsePCA(cardinality=[3, 2]).fit(TABLE)
    found = pd.read_csv(out / "summary.csv")
    assert found["component"].tolist() == ["1", "2", "all"]
    np.testing.assert_allclose(found["variance"][:2], model.explained_variance_ratio_)
    np.testing.assert_allclose(found["variance"][2], model.joint_variance_ratio_)
    assert found["verdict"][:2].tolist() == model.summary()["verdict"].tolist()
    assert found["features"][0].split(" | ") == model.loadings().query("component == 1")["feature"].tolist()
    assert found["in_words"].str.endswith((".", "together.")).all()
    assert not found["in_words"].str.contains("joint=").any()


def test_the_command_is_written_down(csv, tmp_path):
    words = ["fit", csv, "-k", 2, "--drop", "year", "--out", tmp_path / "out"]
    done(*words)
    version, _, command, _, data, digest = (tmp_path / "out" / "command.txt").read_text().splitlines()
    assert version == f"laconic {laconic.__version__}"
    assert shlex.split(command) == ["laconic", *map(str, words)]
    assert data == f"{csv}: {csv.stat().st_size} bytes, SHA-256 {hashlib.sha256(csv.read_bytes()).hexdigest()}"
    assert digest.endswith(": " + SparsePCA(cardinality=2).fit(TABLE).certificates_[0].digest)
    # The same command gives the same files.
    first = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    done(*words)
    assert first == {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), pytest.param("pdf", b"%PDF", marks=pytest.mark.slow)])
def test_pictures_of_other_formats(csv, tmp_path, kind, start):
    out = tmp_path / "out"
    options = ("--drop", "year", "--out", out)
    done("fit", csv, "-k", "3,2", *options)
    text = done("fit", csv, "-k", "3,2", *options, "--pictures", kind).stdout
    assert f"Removed files of an earlier run: {out / 'loadings.png'}, {out / 'plane.png'}." in text
    done("path", csv, "-K", 2, *options, "--pictures", kind)
    done("stability", csv, "-k", 2, "--resamples", 2, *options, "--pictures", kind)
    done("choose", csv, "-K", 2, "--criterion", "hull", *options, "--pictures", kind)
    names = ["loadings", "plane", "path", "stability", "choose"]
    assert all((out / f"{name}.{kind}").read_bytes().startswith(start) for name in names)
    assert not list(out.glob("*.png"))
    assert {f"command-{name}.txt" for name in names[2:]} < {file.name for file in out.iterdir()}


def test_rows_are_coloured_by_a_column(csv, tmp_path):
    out = tmp_path / "out"
    options = ("-k", "3,2", "--out", out, "--pictures", "svg")
    plain = done("fit", csv, *options, "--drop", "year")
    without = (out / "plane.svg").read_text()
    # A column of text is left out of the fit in any case, one of numbers because it colours the rows.
    text = done("fit", csv, *options, "--drop", "year", "--color-by", "kind")
    assert text.stderr == ""
    assert plain.stderr.count("'kind'") == 1
    assert text.stdout == plain.stdout
    coloured = (out / "plane.svg").read_text()
    assert all(f"<!-- {name} -->" in coloured and f"<!-- {name} -->" not in without for name in ("x (20)", "y (20)"))
    numbers = done("fit", csv, *options, "--color-by", "year")
    assert numbers.stdout == plain.stdout
    assert "<!-- year -->" in (out / "plane.svg").read_text()
    used = done("fit", csv, *options, "--columns", "a,b,c,year", "--color-by", "year")
    assert re.search(r" year +[+-]", used.stdout)


def test_one_component_is_coloured_too(csv, tmp_path):
    done("fit", csv, "-k", 3, "--color-by", "kind", "--drop", "year", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "scores.png").is_file()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--out", "o", "--color-by", "knd"], "--color-by knd is not a column of my table.csv; did you mean 'kind'?"),
        (["--color-by", "kind"], "--color-by kind is for the pictures in --out and --report; give one of them, too."),
        (["--out", "o", "--color-by", "kind", "--blocks"], "is read as a whole; leave out --blocks."),
        (["--out", "o", "--color-by", "kind", "--covariance"], "is read as a whole; leave out --covariance."),
        (["--out", "o", "--pictures", "jpg"], "--pictures jpg is not known; choose one of png, svg, pdf."),
        (["--pictures", "svg"], "--pictures svg is for the files in --out; give --out, too."),
    ],
)
def test_bad_options(csv, options, sentence):
    assert refused("fit", csv, *options).endswith(sentence)
