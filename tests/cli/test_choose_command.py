"""The command choose, and the choices that path and fit print."""

import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(5)
    rows = 0.5 * rng.standard_normal((80, 12))
    rows[:, :5] += 3 * rng.standard_normal((80, 1))
    rows[:, 5:9] += rng.standard_normal((80, 1)) * [2, -2, 2, -2]
    pd.DataFrame(rows, columns=[f"gene {letter}" for letter in "ABCDEFGHIJKL"]).to_csv(
        tmp_path / "genes.csv", index=False
    )
    return tmp_path / "genes.csv"


def test_choose_prints_a_table_and_reasons_and_writes_files(csv, tmp_path):
    text = done("choose", csv, "-c", "parallel", "--out", tmp_path / "out").stdout
    assert f"Next: laconic fit {csv} -k 5,4" in text.replace("\n", " ").replace("  ", " ")
    assert "Component 1: " in text
    frame = pd.read_csv(tmp_path / "out" / "choose.csv")
    assert frame.loc[frame["recommended"], "cardinality"].tolist() == [5, 4]
    assert (tmp_path / "out" / "choose.png").read_bytes().startswith(b"\x89PNG")


def test_choose_takes_the_options_of_the_library(csv):
    text = done("choose", csv, "-K", "6", "--criterion", "hull", "--drop", "gene A", "--forced-in", "gene L").stdout
    assert "-k 5" in text
    assert "cv" not in text.split("\n")[0]
    frame_of_covariance = pd.read_csv(csv).cov()
    place = csv.parent / "covariance.csv"
    frame_of_covariance.to_csv(place)
    assert "-k 5" in done("choose", place, "--covariance", "--criterion", "hull").stdout


def test_choose_says_when_there_is_only_noise(tmp_path):
    rows = np.random.default_rng(3).standard_normal((40, 8))
    pd.DataFrame(rows, columns=list("abcdefgh")).to_csv(tmp_path / "noise.csv", index=False)
    text = done("choose", tmp_path / "noise.csv", "-c", "parallel").stdout
    assert "The first component is no better than noise." in text
    done("choose", tmp_path / "noise.csv", "-c", "parallel", "--out", tmp_path / "out")
    assert not pd.read_csv(tmp_path / "out" / "choose.csv")["recommended"].any()


def test_the_next_command_repeats_the_options_that_matter(csv, tmp_path):
    place = tmp_path / "my rows.csv"
    place.write_bytes(csv.read_bytes())
    said = done("choose", place, "--scale", "--no-center", "--columns", "gene*", "--criterion", "hull").stdout
    command = " ".join(said.split("Next: ")[1].split())
    assert shlex.split(command)[2] == str(place)
    assert command.endswith("--scale --no-center --columns 'gene*'")


def test_fit_takes_the_words_of_choose(csv):
    assert "Component 1" in done("fit", csv, "-k", "hull").stdout
    assert "Component 2" in done("fit", csv, "-c", "parallel", "-k", "hull").stdout
    assert "-k best must be a whole number" in refused("fit", csv, "-k", "best")


def test_choose_refuses_in_one_line(csv):
    assert "--criterion aic is not known" in refused("choose", csv, "--criterion", "aic")
    assert "-c many must be a whole number" in refused("choose", csv, "-c", "many")
    assert "-K 13 must be a whole number from 1" in refused("choose", csv, "-K", "13")


def test_path_prints_the_suggested_number_and_takes_forced_features(csv):
    assert "Suggested: 5 features" in done("path", csv, "--proof", "none").stdout
    text = done("path", csv, "-K", "4", "--forced-in", "gene L", "--drop", "gene A").stdout
    assert "+gene L" in text
    assert "gene A" not in text
