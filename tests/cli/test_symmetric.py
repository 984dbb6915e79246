"""Matrices that are not covariances on the command line."""

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
