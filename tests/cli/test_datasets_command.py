"""Data sets on the command line, exit codes in the help, completion in a shell."""

import re

import pandas as pd
import pytest
from tests.cli.commands import done, refused
from typer.testing import CliRunner

from laconic.cli import app
from laconic.cli.datasets import SETS
from laconic.cli.messages import ORDER
from laconic.datasets import BENCHMARKS, load_senate109
from laconic.datasets.fetched import FOLDERS


def test_all_data_sets_are_listed(monkeypatch):
    monkeypatch.delenv("LACONIC_DATA", raising=False)
    text = done("datasets").stdout
    assert all(re.search(rf"^ {name} +{data.words[:20]}", text, re.M) for name, data in SETS.items())
    assert text.count("in the package") == 3
    assert text.count("not here") == len(SETS) - 2
    assert set(BENCHMARKS) <= set(SETS)
    assert {data.folder for data in SETS.values()} == {None, *FOLDERS}


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_the_votes_are_a_table_that_can_be_fitted(tmp_path, ending):
    file = tmp_path / "new" / f"votes.{ending}"
    assert done("datasets", "senate", "--out", file).stdout == f"Wrote {file}.\nNext: laconic fit {file} -k 5\n"
    result = done("fit", file, "-k", "5,2", "--color-by", "party", "--out", tmp_path / "out")
    assert "'state'" in result.stderr
    assert "29.4 % of the variance with 7 features" in result.stdout
    scores = pd.read_csv(tmp_path / "out" / "scores.csv")
    assert scores.iloc[:, 0].tolist() == list(load_senate109().senators)


def test_a_matrix_is_fitted_as_one(tmp_path):
    file = tmp_path / "p.csv"
    assert done("datasets", "pitprops", "--out", file).stdout.endswith(f"Next: laconic fit {file} --covariance -k 5\n")
    assert "26.2 % of the total variance" in done("fit", file, "--covariance", "-k", 5).stdout


def test_bad_names(tmp_path, monkeypatch):
    assert refused("datasets", "senat") == "laconic: The data set senat is not known; did you mean senate?"
    assert "must end in .csv or .parquet" in refused("datasets", "senate", "--out", tmp_path / "votes.xlsx")
    assert "needs the name of a data set" in refused("datasets", "--out", tmp_path / "votes.csv")
    monkeypatch.delenv("LACONIC_DATA", raising=False)
    assert "LACONIC_DATA" in refused("datasets", "kos", "--out", tmp_path / "kos.parquet")


def test_the_help_has_exit_codes_and_all_commands():
    text = done("--help").stdout
    assert re.findall(r"^    (\d+) +\w", text, re.M) == ["0", "1", "2", "130"]
    commands = text.partition("Commands:")[2].partition("Exit codes")[0]
    assert tuple(re.findall(r"^  (\w+) ", commands, re.M)) == ORDER
    assert "--install-completion" in text


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("laconic fi", ["fit"]),
        ("laconic fit --time", ["--time-limit"]),
        ("laconic fit --method ex", ["exact", "exhaustive"]),
        ("laconic fit --pictures ", ["png", "svg", "pdf"]),
        ("laconic choose --criterion e", ["ebic"]),
        ("laconic datasets pit", ["pitprops"]),
    ],
)
def test_completion_in_bash(words, found):
    typed = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_LACONIC_COMPLETE": "complete_bash"}
    result = CliRunner().invoke(app, [], env=typed, prog_name="laconic")
    assert result.stdout.split() == found
