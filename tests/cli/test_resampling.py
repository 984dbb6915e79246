"""laconic stability, and laconic fit --permutations."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from tests.cli.commands import done, refused


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    X[:, :3] += 1.5 * rng.standard_normal((60, 1))
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    pd.DataFrame(X, columns=[f"gene {letter}" for letter in "ABCDEFGH"]).to_csv(file, index=False)
    return file


def test_stability_prints_features_by_frequency_and_writes_files(csv, tmp_path):
    result = done("stability", csv, "-k", "3,2", "--resamples", 10, "--out", tmp_path)
    first, second = result.stdout.split("Component 2: 10 half samples")
    assert first.index("gene A") < first.index("Chosen from all rows") + 400
    assert "100 %" in first
    assert "Component 1: 3 of its 3 features are chosen in at least 75 % of 10 half samples." in second
    table = pd.read_csv(tmp_path / "stability.csv")
    assert set(table["feature"][(table["component"] == 1) & table["in_support"]]) == {"gene A", "gene B", "gene C"}
    assert imread(tmp_path / "stability.png").ndim == 3
    assert "Wrote" in result.stdout


def test_options_of_stability_reach_the_library(csv):
    text = done(
        "stability", csv, "-k", 3, "--resamples", 5, "--sampling", "bootstrap", "--forced-in", "gene H", "--threshold",
        0.6, "--seed", 3, "--scale", "--proof", "fast",
    ).stdout  # fmt: skip
    assert "5 bootstrap samples" in text
    assert "at least 60 %" in text
    assert any("gene H" in line and "100 %" in line and "yes" in line for line in text.splitlines())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("-k", 3, "--resamples", 5), "laconic: --resamples 5 must be even: half samples come in pairs."),
        (
            ("-k", 3, "--sampling", "thirds"),
            "laconic: --sampling thirds is not known; choose one of halves, bootstrap.",
        ),
        (("-k", 30), "laconic: -k 30 must lie between 1 and the number of features, 8."),
        (("-k", 3, "--threshold", 3), "laconic: --threshold 3.0 must be above 0 and at most 1."),
    ],
)
def test_bad_options_of_stability(csv, options, sentence):
    assert refused("stability", csv, *options) == sentence


def test_fit_compares_with_noise_on_request(csv):
    text = " ".join(done("fit", csv, "-k", 3, "--permutations", 19).stdout.split())
    assert "It is better than in 19 of 19 permuted tables (p <= 0.05)." in text
    assert "permuted tables" not in done("fit", csv, "-k", 3).stdout


def test_a_fit_that_cannot_be_compared_says_so_in_options(csv):
    line = refused("fit", csv, "-k", 3, "-c", 2, "--permutations", 9, "--deflation", "schur")
    assert line == (
        "laconic: --permutations 9 takes earlier components out of the rows, and --deflation schur cannot; give "
        "--deflation projection."
    )
