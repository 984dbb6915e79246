"""Missing values on the command line."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused, run


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((60, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[7] = np.nan
    pd.DataFrame(X, columns=[f"q{i}" for i in range(6)]).to_csv(tmp_path / "survey.csv", index=False)
    return tmp_path / "survey.csv"


def test_the_error_names_the_option(csv):
    for command in (["fit", csv], ["path", csv], ["certify", csv, "--support", "q1,q2"]):
        line = refused(*command)
        assert "missing values (NaN) in 6 of 6 columns: 'q" in line
        assert line.endswith("fill or drop them first, or give --missing pairwise or --missing em.")
    assert refused("fit", csv, "--missing", "mean") == (
        "laconic: --missing mean is not known; choose one of error, pairwise, em."
    )


@pytest.mark.parametrize("blocks", [[], ["--blocks"]])
@pytest.mark.parametrize("way", ["pairwise", "em"])
def test_from_a_table_with_holes_to_a_verified_proof(csv, tmp_path, way, blocks):
    out = tmp_path / "out"
    result = done("fit", csv, "-k", "3,2", "--missing", way, "--out", out, *blocks)
    assert {"pairwise": "pairwise deletion", "em": "estimated by EM"}[way] in " ".join(result.stdout.split())
    scores = pd.read_csv(out / "scores.csv")
    assert len(scores) == 60
    assert scores.filter(like="component").iloc[7].isna().all()
    checked = done("verify", out / "component-1.json", csv, *blocks)
    assert "Accepted" in checked.stdout
    assert "not about the complete data" in checked.stdout
    pd.read_csv(csv).fillna(0).to_csv(tmp_path / "filled.csv", index=False)
    assert run("verify", out / "component-1.json", tmp_path / "filled.csv", *blocks).exit_code == 1


def test_path_and_certify(csv, tmp_path):
    assert "Optimal" in done("path", csv, "-K", "3", "--missing", "em").stdout
    proof = tmp_path / "own.json"
    assert "pairwise deletion" in done(
        "certify", csv, "--support", "q1,q2", "--missing", "pairwise", "--out", proof
    ).stdout.replace("\n", " ")
    assert done("verify", proof, csv)
