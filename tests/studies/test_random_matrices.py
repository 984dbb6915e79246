"""Sparse eigenvalues of random matrices: bounds are above the exact values, and the statements follow the numbers."""

from itertools import combinations

import numpy as np
import pytest
from studies.random_matrices import (
    BOUNDS,
    L0,
    L1,
    MARKS,
    NOISY,
    PROPOSITION,
    ROWS,
    TREE,
    Isometry,
    bound_eigenvalues,
    bound_isometry,
    gram_of,
    isometry_verdict,
    noisy_rank_one,
)

from studies import random_matrices


@pytest.fixture(scope="module")
def study():
    return random_matrices.run(quick=True, seed=3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_bound_is_above_exhaustive_search(seed):
    S = gram_of(6, 9, seed)
    curves = bound_eigenvalues(S, range(1, 10), exhaustive=True)
    for name in MARKS:
        assert (curves.upper[name] >= curves.truth * (1 - 1e-12)).all(), name
    for values in curves.found.values():
        assert (values <= curves.truth * (1 + 1e-12)).all()
    np.testing.assert_allclose(curves.best, curves.truth, rtol=1e-9)
    assert curves.proved(TREE) == 9


def test_isometry_constants_enclose_those_of_all_column_sets():
    F = np.random.default_rng(1).standard_normal((12, 8)) / np.sqrt(12)
    bounds = bound_isometry(F.T @ F, [1, 2, 3], node_limit=100)
    for place, k in enumerate(bounds.sizes):
        squares = np.array([np.linalg.svd(F[:, list(c)], compute_uv=False) ** 2 for c in combinations(range(8), k)])
        delta = max(squares.max() - 1, 1 - squares.min())
        assert bounds.attained[place] == pytest.approx(delta, abs=1e-8)
        for name in MARKS:
            assert bounds.constant(name)[place] >= delta - 1e-9, name
            assert bounds.below[name][place] <= squares.min() + 1e-9, name
            assert bounds.above[name][place] >= squares.max() - 1e-9, name


def test_certified_cardinalities_end_at_the_first_failure():
    above, below = np.array([1.2, 1.5, 2.1, 1.9]), np.array([0.8, 0.5, 0.2, -0.1])
    bounds = Isometry(np.array([1, 2, 3, 4]), above, below, {"a": above}, {"a": below})
    assert (bounds.certified("a"), bounds.independent("a")) == (2, 3)


def test_bounds_of_the_study_are_valid_and_branch_and_bound_is_exact(study):
    facts = study.facts
    for curves in (*facts["exact"].values(), *facts["large"].values()):
        assert min(curves.above(name).min() for name in MARKS) >= -1e-9
    for curves in facts["exact"].values():
        np.testing.assert_allclose(curves.best, curves.truth, rtol=1e-9)
    isometry = facts["isometry"]
    assert all((isometry.constant(name) >= isometry.attained).all() for name in MARKS)
    assert isometry.certified(TREE) >= isometry.certified(L0)


def test_the_matrix_as_printed_is_no_noisy_spike_but_a_quieter_one_is(study):
    assert study.facts["noise"] > 20
    assert study.facts["exact"][NOISY].proved(PROPOSITION) < 10
    quiet = study.facts["by_noise"][0.0005]
    assert quiet.proved(PROPOSITION) == quiet.proved(L0) == 10
    assert study.statements[0][2].startswith("differs because")


def test_row_levels_are_better_than_both_relaxations_of_the_paper_where_search_is_hopeless(study):
    gaussian, noisy = study.facts["large"].values()
    assert gaussian.worst(ROWS) < gaussian.worst(L1)
    assert noisy.worst(ROWS) < noisy.worst(L0)


def test_the_verdict_on_isometry_follows_the_numbers():
    def verdict(tree, relaxed, attained):
        above = {name: 1 + np.array(relaxed) for name in BOUNDS} | {TREE: 1 + np.array(tree)}
        ones = np.ones(len(attained))
        sizes = np.arange(1, len(attained) + 1)
        return isometry_verdict(Isometry(sizes, 1 + np.array(attained), ones, above, dict.fromkeys(MARKS, ones)))

    assert verdict([1.1, 1.8], [1.1, 1.9], [1.1, 1.8]) == "agrees"
    assert verdict([0.5, 0.8], [0.6, 0.9], [0.5, 0.8]) == "agrees"
    assert verdict([0.5, 0.8, 1.2], [0.6, 1.1, 1.4], [0.5, 0.8, 1.1]) == (
        "better: branch and bound proves delta_k < 1 up to k = 2, and its bound is exact there. "
        "The l0 relaxation proves it only up to k = 1."
    )
    assert "up to k = 2. The l0" in verdict([0.5, 0.8, 1.2], [0.6, 1.1, 1.4], [0.5, 0.7, 1.1])


def test_the_study_is_written_whole(study, tmp_path):
    page = study.write(tmp_path).read_text()
    assert "seed 3" in page
    assert page.count("\n| ") == 5 + 1
    assert "nan" not in page


def test_gaussian_gram():
    F = np.random.default_rng(1).standard_normal((100, 150))
    np.testing.assert_allclose(gram_of(100, 150, 1), F.T @ F)


def test_noisy_rank_one_is_the_printed_formula():
    V = np.random.default_rng(3).random((3, 3))
    # ||(1, 1/2, 1/3)||^2 = 49/36
    spike = np.array([[36, 18, 12], [18, 9, 6], [12, 6, 4]]) / 49
    np.testing.assert_allclose(noisy_rank_one(3, 3), spike + 2 * V.T @ V)
