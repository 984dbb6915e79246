"""Matrices that are not semidefinite are accepted with one warning."""

import warnings

import numpy as np
import pytest
from laconic.covariance.indefinite import is_semidefinite, warn_if_indefinite


@pytest.mark.parametrize("level", [1e-9, 1e-7])
def test_rounding_is_never_mentioned(level):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn_if_indefinite(np.diag([1.0, 0.5, -level]), name="S")


def test_the_warning_says_how_far_from_semidefinite():
    with pytest.warns(
        UserWarning, match=r"^S is not positive semidefinite: its largest eigenvalue is 2 and its"
    ) as told:
        assert not warn_if_indefinite(np.diag([2.0, 1.0, -0.5]), name="S")
    assert len(told) == 1
    assert "smallest -0.5 (0.25 times as large); it is used as it is" in str(told[0].message)


def test_a_matrix_without_positive_eigenvalues():
    assert not is_semidefinite(-np.eye(3))
    assert is_semidefinite(np.zeros((3, 3)))
    with pytest.warns(UserWarning, match=r"largest eigenvalue is -1 and its smallest -1;"):
        assert not warn_if_indefinite(-np.eye(3), name="S")
