"""The extreme k-sparse eigenvalues of F'F against exhaustive search."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from laconic import sparse_eigenvalues


def extremes(F, k):
    """The least and the largest eigenvalue of F_T'F_T over all T of k columns, from singular values."""
    smallest, largest = np.inf, 0.0
    for T in combinations(range(F.shape[1]), k):
        values = np.linalg.svd(F[:, T], compute_uv=False) ** 2
        smallest = min(smallest, values[-1] if F.shape[0] >= k else 0.0)
        largest = max(largest, values[0])
    return smallest, largest


def _rank_two(rng):
    return rng.standard_normal((7, 2)) @ rng.standard_normal((2, 8))


def _repeated_columns(rng):
    return rng.standard_normal((9, 4))[:, [0, 1, 2, 3, 0, 1]]


MATRICES = {
    "tall": lambda rng: rng.standard_normal((20, 7)) / np.sqrt(20),
    "wide": lambda rng: rng.standard_normal((5, 10)) / np.sqrt(5),
    "square": lambda rng: rng.standard_normal((6, 6)),
    "orthogonal": lambda rng: np.linalg.qr(rng.standard_normal((6, 6)))[0],
    "rank two": _rank_two,
    "repeated columns": _repeated_columns,
    "signs": lambda rng: rng.choice([-1.0, 1.0], (6, 9)) / np.sqrt(6),
    "zero": lambda rng: np.zeros((3, 4)),  # noqa: ARG005 - the same for all
    "one column": lambda rng: rng.standard_normal((4, 1)),
    "one row": lambda rng: rng.standard_normal((1, 5)),
    "tiny": lambda rng: 1e-29 * rng.standard_normal((5, 6)),
    "huge": lambda rng: 1e29 * rng.standard_normal((5, 6)),
}


@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_the_bounds_hold_for_products_with_all_their_roundings(proof):
    """Of signs the products are exact; of a thousand other numbers they may be off by a thousand roundings."""
    F = np.random.default_rng(0).choice([-1.0, 1.0], (1000, 4))
    off = 1000 * 2.0**-53 * float((F**2).sum())
    for k in (1, 2, 4):
        found = sparse_eigenvalues(F, k, proof=proof)
        smallest, largest = extremes(F, k)
        assert found.largest.lower + off <= largest <= found.largest.upper - off
        assert found.smallest.lower + off <= smallest <= found.smallest.upper - off
        assert found.largest.upper - found.largest.lower <= 20 * off or proof == "fast"


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_against_exhaustive_search(kind, proof):
    F = MATRICES[kind](np.random.default_rng(1))
    size = float((F**2).sum()) or 1.0
    for k in range(1, F.shape[1] + 1):
        found = sparse_eigenvalues(F, k, proof=proof)
        smallest, largest = extremes(F, k)
        assert found.largest.lower - 1e-14 * size <= largest <= found.largest.upper + 1e-14 * size
        assert found.smallest.lower - 1e-14 * size <= smallest <= found.smallest.upper + 1e-14 * size
        delta = max(largest - 1, 1 - smallest, 0.0)
        constant = found.isometry_constant
        assert constant.lower - 1e-14 * size <= delta <= constant.upper + 1e-14 * size
        # Problems as small as these are proved.
        assert found.largest.upper - found.largest.lower <= 1e-5 * size
        assert found.smallest.upper - found.smallest.lower <= 1e-5 * size
        for support, value in (
            (found.largest_support, found.largest.lower),
            (found.smallest_support, found.smallest.upper),
        ):
            assert len(support) <= k
            reached = np.linalg.eigvalsh(F[:, support].T @ F[:, support])
            assert min(abs(reached - value)) <= 1e-9 * size
        assert found.cardinality == k
        assert all(found.kinds)


def test_larger_problems_are_bounded_on_both_sides():
    F = np.random.default_rng(0).standard_normal((30, 40)) / np.sqrt(30)
    fast, tight = (sparse_eigenvalues(F, 3, proof=proof) for proof in ("fast", "tight"))
    for found in (fast, tight):
        assert 0 <= found.smallest.lower <= found.smallest.upper < found.largest.lower <= found.largest.upper
        assert found.isometry_constant.lower <= found.isometry_constant.upper
    assert tight.largest.upper <= fast.largest.upper
    assert tight.smallest.lower >= fast.smallest.lower
    assert tight.largest.upper - tight.largest.lower <= 1e-5
    assert tight.kinds == ("exhaustive", "exhaustive")
    smallest, largest = extremes(F, 3)
    assert tight.smallest.upper == pytest.approx(smallest, rel=1e-9)
    assert tight.largest.lower == pytest.approx(largest, rel=1e-9)


def test_a_tight_bound_keeps_the_supports_found_on_the_way():
    """A search from many starts ends at 0.140 here: the shifted matrix has no variances to guide it."""
    F = np.random.default_rng(0).standard_normal((30, 40)) / np.sqrt(30)
    found = sparse_eigenvalues(F, 5)
    support = found.smallest_support
    assert np.linalg.eigvalsh(F[:, support].T @ F[:, support])[0] == pytest.approx(found.smallest.upper, rel=1e-9)
    assert found.smallest.upper < 0.126


@pytest.mark.parametrize("convert", [pd.DataFrame, sp.csr_array, np.ndarray.tolist, lambda F: F.astype(int)])
def test_matrices_of_every_kind(convert):
    F = np.random.default_rng(2).integers(-2, 3, (4, 6)).astype(float)
    assert sparse_eigenvalues(convert(F), 3).largest == sparse_eigenvalues(F, 3).largest


@pytest.mark.parametrize(
    ("F", "arguments", "words"),
    [
        (np.eye(3), {"cardinality": 0}, "cardinality=0"),
        (np.eye(3), {"cardinality": 4}, "number of columns, 3"),
        (np.eye(3), {"cardinality": 1.5}, "cardinality=1.5"),
        (np.eye(3), {"cardinality": True}, "cardinality=True must be an int"),
        (np.eye(3), {"cardinality": 2, "proof": "none"}, "proof='none'"),
        (np.eye(3), {"cardinality": 2, "time_limit": -1}, "time_limit=-1"),
        (np.ones(3), {"cardinality": 1}, "F must be a matrix"),
        (np.ones((0, 3)), {"cardinality": 1}, "F must be a matrix"),
        (np.array([[1.0, np.nan]]), {"cardinality": 1}, "F must be a matrix of finite numbers"),
    ],
)
def test_bad_arguments(F, arguments, words):
    with pytest.raises(ValueError, match=words):
        sparse_eigenvalues(F, **arguments)
