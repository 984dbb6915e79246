"""Sparse eigenvalues of random matrices: bounds are above the exact values, and the statements follow the numbers."""

from itertools import combinations

import numpy as np
import pytest
from laconic.studies.random_matrices import _isometry_verdict
from laconic.studies.sparse_eigenvalue_bounds import BOUNDS, L0, TREE, IsometryBounds, bound_eigenvalues, bound_isometry

from laconic.core.monitor import Monitor
from laconic.datasets import gaussian_gram
from laconic.studies import Settings, get_study


@pytest.fixture(scope="module")
def study():
    return get_study("random-matrices")(Settings(quick=True, seed=3))


def quiet(_stage):
    """Ignore progress."""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_bound_is_above_exhaustive_search(seed):
    S = gaussian_gram(6, 9, random_state=seed).covariance
    curves = bound_eigenvalues(S, range(1, 10), quiet, exhaustive=True)
    for name in (*BOUNDS, TREE):
        assert (curves.upper[name] >= curves.exhaustive * (1 - 1e-12)).all(), name
    for values in curves.found.values():
        assert (values <= curves.exhaustive * (1 + 1e-12)).all()
    np.testing.assert_allclose(curves.best, curves.exhaustive, rtol=1e-9)
    assert curves.proved(TREE) == 9


def test_isometry_constants_enclose_those_of_all_column_sets():
    F = gaussian_gram(12, 8, normalized=True, random_state=1).factor
    bounds = bound_isometry(F.T @ F, [1, 2, 3], quiet, node_limit=100, tolerance=1e-6)
    for place, k in enumerate(bounds.cardinalities):
        squares = np.array([np.linalg.svd(F[:, list(c)], compute_uv=False) ** 2 for c in combinations(range(8), k)])
        delta = max(squares.max() - 1, 1 - squares.min())
        assert bounds.attained[place] == pytest.approx(delta, abs=1e-8)
        for name in (*BOUNDS, TREE):
            assert bounds.constant(name)[place] >= delta - 1e-9, name
            assert bounds.below[name][place] <= squares.min() + 1e-9, name
            assert bounds.above[name][place] >= squares.max() - 1e-9, name


def test_certified_cardinalities_end_at_the_first_failure():
    k = np.array([1, 2, 3, 4])
    above = {"a": np.array([1.2, 1.5, 2.1, 1.9])}
    below = {"a": np.array([0.8, 0.5, 0.2, -0.1])}
    bounds = IsometryBounds(k, above["a"], below["a"], above, below)
    assert bounds.certified("a") == 2
    assert bounds.certified("a", level=0.1) == 0
    assert bounds.independent("a") == 3


def test_bounds_of_the_study_are_valid_and_branch_and_bound_is_exact(study):
    facts = study.facts
    least = [value for name, value in facts.items() if ": least " in name]
    assert len(least) == 4 * (len(BOUNDS) + 1)
    assert min(least) >= -1e-9
    assert max(value for name, value in facts.items() if "against exhaustive" in name) < 1e-9
    assert all(facts[f"isometry: {name} is above the constant attained"] for name in (*BOUNDS, TREE))


def test_the_matrix_as_printed_is_no_noisy_spike_but_a_quieter_one_is(study):
    facts = study.facts
    assert facts["noise eigenvalue"] > 20
    assert facts["small noisy: proved by Proposition 2"] < 10
    assert facts["proved at the least noise by Proposition 2"] == 10
    assert facts["proved at the least noise by l0 relaxation"] == 10
    first = study.statements[0]
    assert first.verdict.startswith("differs because")
    assert f"{facts['noise eigenvalue']:.0f}" in first.verdict


def test_row_levels_are_better_than_both_relaxations_of_the_paper_where_search_is_hopeless(study):
    facts = study.facts
    assert facts["large gaussian: worst row levels"] < facts["large gaussian: worst DSPCA dual"]
    assert facts["large noisy: worst row levels"] < facts["large noisy: worst l0 relaxation"]
    assert facts["isometry certified by branch and bound"] >= facts["isometry certified by l0 relaxation"]


def constants(tree, relaxed, attained):
    """Make bounds on the isometry constant for k = 1, 2, ... The smallest eigenvalues are one."""
    none = np.ones(len(attained))
    above = {name: 1 + np.array(relaxed) for name in BOUNDS} | {TREE: 1 + np.array(tree)}
    below = dict.fromkeys((*BOUNDS, TREE), none)
    return IsometryBounds(np.arange(1, len(attained) + 1), 1 + np.array(attained), none, above, below)


def test_the_verdict_on_isometry_follows_the_numbers(study):
    assert _isometry_verdict(constants([1.1, 1.8], [1.1, 1.9], [1.1, 1.8])) == "agrees"
    assert _isometry_verdict(constants([0.5, 0.8], [0.6, 0.9], [0.5, 0.8])) == "agrees"
    further = _isometry_verdict(constants([0.5, 0.8, 1.2], [0.6, 1.1, 1.4], [0.5, 0.8, 1.1]))
    assert further == (
        "better: branch and bound proves delta_k < 1 up to k = 2, and its bound is exact there. "
        "The l0 relaxation proves it only up to k = 1."
    )
    loose = _isometry_verdict(constants([0.5, 0.8, 1.2], [0.6, 1.1, 1.4], [0.5, 0.7, 1.1]))
    assert "up to k = 2. The l0 relaxation" in loose
    certified = [study.facts[f"isometry certified by {name}"] for name in (TREE, L0)]
    assert study.statements[-1].verdict.startswith("better") == (certified[0] > certified[1])


def test_the_study_is_written_whole(study, tmp_path):
    names = {path.name for path in study.write(tmp_path)}
    assert set(study.figures) == set(study.captions)
    assert {f"{name}.png" for name in study.figures} <= names
    assert {f"{name}.csv" for name in study.tables} <= names
    page = (tmp_path / "README.md").read_text()
    assert "seed 3" in page
    assert page.count("\n| ") == len(study.statements) + 1
    assert "nan" not in page


def test_a_time_limit_that_is_too_short_is_an_error():
    with pytest.raises(TimeoutError, match="not finished"):
        get_study("random-matrices")(Settings(quick=True, monitor=Monitor(time_limit=0)))
