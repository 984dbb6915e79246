"""Matrices that are not covariances on the command line."""

import numpy as np
import pandas as pd
import pytest
from commands import done

NAMES = list("abcdefgh")


@pytest.fixture
def matrix(tmp_path):
    """Correlations of few rows with one digit, as a file."""
    R = np.round(np.corrcoef(np.random.default_rng(0).standard_normal((4, 8)), rowvar=False), 1)
    place = tmp_path / "r.csv"
    pd.DataFrame(R, index=NAMES, columns=NAMES).to_csv(place)
    return place


def test_an_indefinite_matrix_is_used_with_a_warning(matrix, tmp_path):
    accepted = done("fit", matrix, "--covariance", "-k", 3, "--out", tmp_path / "out")
    assert accepted.stderr.count("warning: S is not positive semidefinite") == 1
    done("verify", tmp_path / "out" / "component-1.json", matrix)


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
