"""The cheap bounds against exhaustive search, closed forms and their own witnesses.

Projection on the matrices X >= 0 of trace one.
"""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from helpers import PROBLEMS, SEEDS, case, equicorrelated, minus, scale_of, truth
from laconic.covariance import DenseCovariance, FactorCovariance, SubsetCovariance, covariance_of
from laconic.covariance.deflation import Deflation
from laconic.proof.gate import Estimate
from laconic.proof.witness_plain import RowSumWitness, TraceWitness
from laconic.relaxations.elementary import (
    elementary_bound,
    elementary_bounds,
    estimated_largest_eigenvalue_bound,
    largest_eigenvalue_bound,
    project,
    row_sum_bound,
    trace_bound,
)

BOUNDS = [trace_bound, row_sum_bound, largest_eigenvalue_bound, elementary_bound]


def from_witness(S, k, witness):
    """What a witness says, computed as its docstring does and with no margin."""
    if isinstance(witness, TraceWitness):
        return np.sort(S.diagonal())[::-1][:k].sum() + (k - 1) * max(0.0, -np.linalg.eigvalsh(S)[0])
    if isinstance(witness, RowSumWitness):
        size = np.abs(S - np.diag(S.diagonal()))
        return (S.diagonal() + np.sort(size, axis=1)[:, ::-1][:, : k - 1].sum(axis=1)).max()
    return np.linalg.eigvalsh(S)[-1]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_support_is_above(bound, problem, seed):
    covariance, S = case(problem, seed)
    for k in range(1, len(S) + 1):
        best, found = truth(problem, seed, k), bound(covariance, k)
        assert isinstance(found, Estimate)
        assert found.cardinality == k
        assert float(found) >= best
        assert float(found) == pytest.approx(from_witness(S, k, found.witness), rel=1e-9, abs=1e-9 * scale_of(S))


@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), shift=st.floats(-3, 3), power=st.integers(-150, 150))
def test_no_support_is_above_whatever_the_matrix(seed, n, shift, power):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.6)
    S = G + G.T + shift * np.eye(n)
    covariance = DenseCovariance(10.0**power * S)  # said to be semidefinite, and is not
    for k in range(1, n + 1):
        best = max(np.linalg.eigvalsh(S[np.ix_(i, i)])[-1] for i in subsets(n, k))
        for bound in BOUNDS:
            assert float(bound(covariance, k)) >= 10.0**power * best * (1 - 1e-14 * np.sign(best))


def subsets(n, k):
    return [list(c) for c in combinations(range(n), k)]


def test_a_trace_is_no_bound_for_an_indefinite_matrix():
    S = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert 1 <= float(trace_bound(DenseCovariance(S), 2)) <= 1 + 1e-12
    assert float(trace_bound(DenseCovariance(S), 1)) <= 1e-12
    # Accepted from a user as semidefinite but for rounding: an eigenvalue a millionth below zero.
    S = np.full((2, 2), 1.0) + 5e-7 * (1 - np.eye(2))
    assert float(trace_bound(DenseCovariance(S), 2)) >= np.linalg.eigvalsh(S)[-1] > 2


def test_closed_forms():
    S = DenseCovariance(np.diag([3.0, 1, 2]))
    values = [float(bound) for bound in elementary_bounds(S, [1, 2, 3])]
    assert values == pytest.approx([3, 3, 3])  # row sums and the eigenvalue see that nothing is correlated
    assert float(trace_bound(S, 2)) == pytest.approx(5)
    E = DenseCovariance(equicorrelated(6, 0.5))
    assert [float(b) for b in elementary_bounds(E, range(1, 7))] == pytest.approx([1, 1.5, 2, 2.5, 3, 3.5])
    zero = DenseCovariance(np.zeros((4, 4)))
    for bound in BOUNDS:
        assert float(bound(zero, 2)) == pytest.approx(0, abs=1e-200)
        assert float(bound(DenseCovariance(np.array([[2.0]])), 1)) == pytest.approx(2)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_cardinalities_at_once_are_each_alone(problem):
    covariance, S = case(problem, 1)
    sizes = list(range(1, len(S) + 1))
    together = elementary_bounds(covariance, sizes)
    for k, bound in zip(sizes, together, strict=True):
        least = min((b(covariance, k) for b in (trace_bound, row_sum_bound, largest_eigenvalue_bound)), key=float)
        assert bound.cardinality == k
        assert float(bound) == pytest.approx(float(least), rel=1e-12, abs=1e-12 * scale_of(S))
    shuffled = elementary_bounds(covariance, sizes[::-1])
    assert [float(b) for b in shuffled] == [float(b) for b in together[::-1]]
    assert elementary_bounds(covariance, []) == []


def test_many_features_are_never_written_out():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 7000)) * np.arange(1, 7001.0) ** -0.5
    wide = FactorCovariance(A)
    largest = np.linalg.svd(A, compute_uv=False)[0] ** 2
    subset = SubsetCovariance(wide, np.arange(6500))
    for covariance, top in ((wide, largest), (subset, np.linalg.svd(A[:, :6500], compute_uv=False)[0] ** 2)):
        first, last = elementary_bounds(covariance, [1, 5000])
        assert first.kind == "trace"
        assert float(first) == pytest.approx((A**2).sum(axis=0).max())
        assert last.kind == "largest eigenvalue"
        assert top <= float(last) <= top * (1 + 1e-9)
    rows = sp.random_array((20, 7000), density=0.01, rng=rng, format="csr")
    sparse = covariance_of(rows)[0]
    assert [b.kind for b in elementary_bounds(sparse, [1, 3])] == ["trace", "trace"]
    for refused in (row_sum_bound, largest_eigenvalue_bound):
        with pytest.raises(ValueError, match=f"{refused.__name__} needs a matrix of size 7000"):
            refused(sparse, 3)
    z = np.eye(7000, 1)
    projected = Deflation(wide, "projection").remove(z[:, 0])
    for deflated in (projected, minus(wide, z[:, 0], -0.1)):
        assert np.isfinite(float(trace_bound(deflated, 3))) == (deflated is projected)
        assert np.isfinite(float(trace_bound(deflated, 1)))


@pytest.mark.parametrize("cardinality", [0, 4])
@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
def test_cardinality_out_of_range(bound, cardinality):
    with pytest.raises(ValueError, match=f"cardinality={cardinality} must lie between 1 and the number of features, 3"):
        bound(DenseCovariance(np.eye(3)), cardinality)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8))
def test_the_nearest_weights_are_what_a_common_shift_leaves(values):
    """Of a diagonal matrix the projection is that of its diagonal on the simplex."""
    falling = np.sort(np.array(values))[::-1]
    n = len(falling)
    F, found, _ = project(np.diag(falling), np.empty((n, 0)), 0.0)
    weights = np.append(found, np.zeros(n - len(found)))
    assert found.min() > 0
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(np.sort((F**2).sum(axis=1))[::-1], weights, atol=1e-9)
    # What is above zero was moved by the same shift, and what is not lies below it.
    shift = (falling - weights)[weights > 0]
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    assert (falling[weights == 0] <= shift[0] + 1e-9).all()


def test_projection_of_a_matrix_by_hand():
    # Eigenvalues 1.6 and 0.4 of the vectors (1, 1) and (1, -1). Less by 0.6, one is left and none.
    F, weights, _ = project(np.array([[1.0, 0.6], [0.6, 1.0]]), np.empty((2, 0)), 0.0)
    np.testing.assert_allclose(weights, [1.0], atol=1e-12)
    np.testing.assert_allclose(F @ F.T, np.full((2, 2), 0.5), atol=1e-12)


@pytest.mark.parametrize("n", [6, 60, 1100])
def test_the_estimated_bound_is_just_above_the_largest_eigenvalue(n):
    S = np.cov(np.random.default_rng(1).standard_normal((n // 3, n)).T)
    for M in (S, -S, 1e200 * S, 1e-200 * S, np.eye(n)):
        largest = np.linalg.eigvalsh(M)[-1]
        assert largest <= estimated_largest_eigenvalue_bound(M) <= largest + 1e-8 * np.abs(M).max()
    assert estimated_largest_eigenvalue_bound(np.zeros((n, n))) == 0
