"""Cardinality against the penalty."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from helpers import best_value, random_psd
from laconic import penalty_path
from laconic.datasets import load_pitprops, load_senate109
from laconic.search.problem import Status

VOTES = load_senate109().frame


def test_senate_as_in_the_paper_s_figure():
    path = penalty_path(VOTES, 20)
    assert len(path.penalties) == 20
    # One bill at the largest penalties, nearly all at the smallest, and a fall between them.
    assert path.cardinalities[-1] == 1
    assert path.cardinalities[0] >= 35
    assert np.corrcoef(np.log(path.penalties), path.cardinalities)[0, 1] < -0.8
    assert (path.values <= path.upper_bounds).all()
    frame = path.to_frame()
    assert list(frame["cardinality"]) == [len(f) for f in frame["features"]]
    assert set(frame["features"].iloc[0]) <= set(VOTES.columns)


def test_given_penalties_are_kept_in_order():
    path = penalty_path(load_pitprops().covariance, [0.5, 0.2])
    np.testing.assert_array_equal(path.penalties, [0.2, 0.5])


def test_plot():
    top, bottom = penalty_path(VOTES, 5).plot(Figure()).axes_
    assert "Variance" in top.get_ylabel()
    assert "Penalty" in bottom.get_xlabel()
    assert "Cardinality" in bottom.get_ylabel()


@pytest.mark.parametrize("penalties", [[0.0, 0.5], [0.5, 1.0], [], [-1.0]])
def test_penalties_out_of_range(penalties):
    with pytest.raises(ValueError, match="penalties must lie above zero and below the largest variance, 1"):
        penalty_path(load_pitprops().covariance, penalties)


@pytest.mark.parametrize("penalties", [0, np.int64(-1), True, np.True_])
def test_no_penalties(penalties):
    with pytest.raises(ValueError, match=f"penalties={penalties} must be at least 1"):
        penalty_path(load_pitprops().covariance, penalties)


def test_no_time():
    with pytest.raises(ValueError, match=r"time_limit=0 must be above zero\."):
        penalty_path(load_pitprops().covariance, 3, time_limit=0)


def test_any_whole_number_is_a_count():
    S = load_pitprops().covariance
    np.testing.assert_array_equal(penalty_path(S, np.int64(3)).penalties, penalty_path(S, 3).penalties)


@pytest.mark.parametrize("seed", [9, 13, 17, 22])
def test_columns_that_are_there_twice(seed):
    X = np.random.default_rng(seed).standard_normal((10, 5))
    X[:, 1] = X[:, 0]
    path = penalty_path(X, 10, scale=True)
    S = np.corrcoef(X.T)
    for solution in path.solutions:
        assert best_value(S, len(solution.support)) <= solution.upper * (1 + 1e-12)


def test_no_bound_is_above_the_largest_eigenvalue():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 9)) @ rng.standard_normal((9, 9))
    largest = np.linalg.eigvalsh(np.cov(X.T))[-1]
    assert (penalty_path(X, [0.5, 1, 3]).upper_bounds <= largest * (1 + 1e-9)).all()


def test_feature_names_are_used_and_checked():
    S = load_pitprops().covariance
    names = [f"length {i}" for i in range(13)]
    assert set(penalty_path(S, [0.9], feature_names=names).to_frame()["features"][0]) <= set(names)
    with pytest.raises(ValueError, match="feature_names has 2 names for 13 features"):
        penalty_path(S, 3, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names holds"):
        penalty_path(S, 3, feature_names=["a"] * 13)


def test_a_path_without_time_has_bounds_that_hold():
    S = load_pitprops().covariance
    path = penalty_path(S, 5, time_limit=1e-9)
    for solution in path.solutions:
        assert solution.status is Status.TIME_LIMIT
        assert solution.value <= best_value(S, len(solution.support)) * (1 + 1e-12)
        assert best_value(S, len(solution.support)) <= solution.upper * (1 + 1e-12)


def test_a_path_prints_in_one_line():
    printed = repr(penalty_path(load_pitprops().covariance, [0.2, 0.5]))
    assert printed.startswith("PenaltyPath(2 penalties from 0.2 to 0.5: ")
    assert "\n" not in printed


def test_features_are_forced_in():
    S = random_psd(8, 20, 3)
    names = list("abcdefgh")
    free = penalty_path(S, 6, feature_names=names)
    path = penalty_path(S, 6, feature_names=names, forced_in=["g"])
    for solution in path.solutions:
        assert 6 in solution.support
        own = S[np.ix_(solution.support, solution.support)]
        assert solution.value == pytest.approx(np.linalg.eigvalsh(own)[-1])
        assert solution.upper >= solution.value
    assert len(path.solutions) == len(free.solutions)
