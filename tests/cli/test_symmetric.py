"""Matrices that are not covariances, and contrasts on the command line."""

import numpy as np
import pandas as pd
import pytest
from commands import done, refused

NAMES = list("abcdefgh")


@pytest.fixture
def matrix(tmp_path):
    """Correlations of few rows with one digit, as a file."""
    R = np.round(np.corrcoef(np.random.default_rng(0).standard_normal((4, 8)), rowvar=False), 1)
    place = tmp_path / "r.csv"
    pd.DataFrame(R, index=NAMES, columns=NAMES).to_csv(place)
    return place


def test_what_is_done_about_an_indefinite_matrix(matrix, tmp_path):
    accepted = done("fit", matrix, "--covariance", "-k", 3)
    assert "warning: S is not positive semidefinite" in accepted.stderr
    nearest = done("fit", matrix, "--covariance", "-k", 3, "--indefinite", "nearest", "--out", tmp_path / "out")
    assert "the nearest correlation matrix is used" in nearest.stderr
    text = done("verify", tmp_path / "out" / "component-1.json", matrix).stdout
    assert "of the nearest positive semidefinite matrix" in text
    assert "--indefinite accept takes it as it is" in refused(
        "fit", matrix, "--covariance", "-k", 3, "--indefinite", "error"
    )
    assert "--indefinite perhaps is not known" in refused("fit", matrix, "-k", 3, "--indefinite", "perhaps")


def test_a_total_that_is_not_positive_is_not_printed(tmp_path):
    S = np.array([[-1.0, 2.0, 0.5], [2.0, -1.0, 0.0], [0.5, 0.0, -1.0]])
    pd.DataFrame(S, columns=list("abc")).to_csv(tmp_path / "s.csv", index=False)
    text = done("fit", tmp_path / "s.csv", "--covariance", "-k", 2).stdout
    assert "Component 1: 2 features, 94.2 % of the dense" in text
    assert "nan" not in text


def test_a_triangle_with_empty_cells(tmp_path):
    R = np.corrcoef(np.random.default_rng(0).standard_normal((40, 8)), rowvar=False)
    place = tmp_path / "triangle.csv"
    pd.DataFrame(np.where(np.tril(np.ones((8, 8))) > 0, R, np.nan), columns=NAMES).to_csv(place, index=False)
    result = done("fit", place, "--covariance", "-k", 3, "--out", tmp_path / "out")
    assert "so the lower one is mirrored" in result.stderr
    done("verify", tmp_path / "out" / "component-1.json", place)


def test_contrast(tmp_path):
    rng = np.random.default_rng(0)
    common = 4 * rng.standard_normal((20, 1))
    X, Y = rng.standard_normal((20, 8)), rng.standard_normal((20, 8))
    X[:, :3] += common
    Y[:, :3] += common
    X[:, 5:7] += 2 * rng.standard_normal((20, 1))
    for name, rows in (("x", X), ("y", Y)):
        pd.DataFrame(rows, columns=NAMES).to_csv(tmp_path / f"{name}.csv", index=False)
    x, y, out = tmp_path / "x.csv", tmp_path / "y.csv", tmp_path / "out"
    done("fit", x, "--contrast", y, "--contrast-weight", 2, "-k", 2, "--out", out)
    assert set(pd.read_csv(out / "loadings.csv")["feature"]) == {"f", "g"}
    proof = out / "component-1.json"
    assert "less 2 times that of the contrast" in done("verify", proof, x, "--contrast", y).stdout
    assert "--contrast is for rows" in refused("fit", x, "--contrast", y, "--covariance", "-k", 2)
