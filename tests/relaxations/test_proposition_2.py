"""Proposition 2 against exhaustive search, and against the relaxations where they are tight.

Proposition 2 at one support, against exhaustive search; from the matrix and from its factor.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.covariance import DeflatedCovariance, DenseCovariance, FactorCovariance
from laconic.covariance.deflation import PROJECTION, Step
from laconic.covariance.matrix import as_covariance
from laconic.datasets import load_senate109
from laconic.methods import ApproximateGreedy, Auto, Problem
from laconic.proof import prove, proved_upper
from laconic.relaxations import proposition_2
from laconic.relaxations.elementary import elementary_bounds
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.l1 import CardinalityForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.relaxations.proposition_2 import (
    Conditions,
    optimality_conditions,
    path_bounds,
    proposition_2_below,
    proved_bound,
)
from matrices import best_support, decaying, gaussian, kinds, truth


@pytest.mark.parametrize("seed", range(2))
def test_proves_what_exhaustive_search_finds(seed):
    S = decaying(8, seed)
    proved = 0
    for k in range(1, 9):
        found = optimality_conditions(S, best_support(S, k))
        assert found.value == pytest.approx(truth(S, k), rel=1e-12)
        assert found.upper >= truth(S, k) * (1 - 1e-14)
        proved += found.optimal
        if found.optimal and 1 < k < 8:
            assert found.lower_rho <= found.rho <= found.upper_rho
    assert proved >= 6


@pytest.mark.parametrize("seed", range(2))
def test_the_conditions_as_printed(seed):
    """The bound is that of the paper's Y_i, and it is tight just when the second condition holds."""
    S = decaying(7, seed)
    every = [optimality_conditions(S, best_support(S, k)) for k in range(2, 7)]
    found = next(f for f in every if f.optimal)
    assert found.lower_rho < found.rho < found.upper_rho
    values, vectors = np.linalg.eigh(S)
    A, rho = (vectors * np.sqrt(values)).T, found.rho
    inside = A[:, found.support]
    x = np.linalg.eigh(inside @ inside.T)[1][:, -1]
    total = np.zeros((len(A), len(A)))
    out = np.eye(len(A)) - np.outer(x, x)
    for i, a in enumerate(A.T):
        if i in found.support:
            B = np.outer(a, a) - rho * np.eye(len(A))
            total += B @ np.outer(x, x) @ B / (x @ B @ x)
        else:
            share = max(0.0, rho * (a @ a - rho) / (rho - (a @ x) ** 2))
            total += share * out @ np.outer(a, a) @ out / np.linalg.norm(out @ a) ** 2
    largest = np.linalg.eigvalsh(total)[-1]
    assert largest + len(found.support) * rho == pytest.approx(found.upper, rel=1e-9)
    assert largest <= (((x @ inside) ** 2 - rho).sum()) * (1 + 1e-6)


def reaches_the_value(S, support, rho):
    """Return whether the conditions hold for this rho, computed as they are printed."""
    values, vectors = np.linalg.eigh(S)
    A = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    largest, x = (pair[..., -1] for pair in np.linalg.eigh(A[:, support] @ A[:, support].T))
    s, p = np.diag(S), x @ A
    inside = np.isin(np.arange(len(S)), support)
    W = np.where(inside, p * A - rho * x[:, None], A - np.outer(x, p))
    outside = rho * np.maximum(s - rho, 0.0) / np.where(inside, 1.0, (rho - p**2) * np.maximum(s - p**2, 1e-300))
    Y = (W * np.where(inside, 1 / np.where(inside, p**2 - rho, 1.0), outside)) @ W.T
    return np.linalg.eigvalsh(Y)[-1] <= (largest - rho * len(support)) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [7, 20])
def test_an_admissible_penalty_is_found_if_there_is_one(seed, n):
    """Every rho of a fine grid, also near the ends of the interval, is compared with what the search finds."""
    S = decaying(n, seed) if n == 7 else gaussian(n, seed, 40) * np.outer(*[0.8 ** np.arange(n)] * 2)
    near = np.geomspace(1e-5, 0.5, 60)
    admissible = 0
    for k in range(2, n):
        support = ApproximateGreedy().solve(Problem(S, k)).support
        found = optimality_conditions(S, support)
        low, high = found.lower_rho, found.upper_rho
        grid = low + (high - low) * np.concatenate([near, 1 - near]) if low < high else []
        if any(reaches_the_value(S, support, rho) for rho in grid):
            admissible += 1
            assert found.optimal
            assert low < found.rho < high
            assert reaches_the_value(S, support, found.rho)
    assert admissible >= 2


@pytest.mark.parametrize("k", [22, 25, 27, 29, 30, 34])
def test_the_senate_supports_with_a_narrow_range_of_penalties(k):
    X = load_senate109().frame.to_numpy(dtype=float)
    S = np.cov(X.T)
    support = Auto().solve(Problem(S, k)).support
    centred = (X - X.mean(axis=0)) / np.sqrt(len(X) - 1)
    for covariance in (S, FactorCovariance(np.linalg.qr(centred)[1])):
        found = optimality_conditions(covariance, support)
        assert found.optimal
        assert found.lower_rho < found.rho < found.upper_rho
        assert found.upper <= found.value * (1 + 1e-11)
        assert reaches_the_value(S, support, found.rho)


@pytest.mark.parametrize("kind", kinds(7, 0))
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_hold_the_truth(kind, seed):
    S = kinds(7, seed)[kind]
    rng = np.random.default_rng(seed)
    best = np.array([truth(S, k) for k in range(1, 8)])
    rounding = 1e-14 * np.abs(S).max()
    supports = [best_support(S, k) for k in range(1, 8)]
    supports += [np.sort(rng.choice(7, k, replace=False)) for k in (1, 3, 5)]
    for support in supports:
        for k in (1, len(support), 7):
            found = optimality_conditions(S, support, k)
            assert found.upper >= best[k - 1] - rounding
            if found.optimal:
                assert found.value >= best[k - 1] - 1.01e-6 * abs(best[k - 1])
    path = np.array([float(bound) for bound in path_bounds(S, supports, range(1, 8))])
    assert (path >= best - rounding).all()
    # Never worse than what needs no support.
    trivial = np.minimum(np.arange(1, 8) * S.diagonal().max(), np.linalg.eigvalsh(S)[-1])
    # The gate refuses matrices without a nonzero entry.
    if np.linalg.eigvalsh(S)[0] >= -1e-9 and S.any():
        assert (path <= trivial + 1e-6 * np.abs(S).max()).all()


@given(seed=st.integers(0, 10_000), size=st.integers(1, 6), k=st.integers(1, 6), rank=st.integers(1, 8))
def test_any_support_bounds_every_cardinality(seed, size, k, rank):
    S = gaussian(6, seed, rank)
    support = np.random.default_rng(seed).choice(6, size, replace=False)
    assert optimality_conditions(S, support, k).upper >= truth(S, k) * (1 - 1e-13)


@pytest.mark.parametrize("kind", ["gaussian", "decaying", "spiked", "rank 2", "duplicated and zero columns"])
def test_no_bound_is_below_the_relaxation(kind):
    """Every pair of x and rho is a dual point of the l0 relaxation."""
    S = kinds(7, 4)[kind]
    path = path_bounds(S, [best_support(S, k) for k in range(1, 8)], range(1, 8))
    for k in range(1, 8):
        assert path[k - 1].value >= L0Relaxation().solve(S, k).primal * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_wide_factors_are_used_as_they_are(seed):
    A = np.random.default_rng(seed).standard_normal((4, 10)) * np.linspace(2, 0.1, 10)
    S = A.T @ A
    supports = [best_support(S, k) for k in range(1, 7)]
    by_factor, by_matrix = (path_bounds(given, supports, range(1, 7)) for given in (FactorCovariance(A), S))
    for k, own, other in zip(range(1, 7), by_factor, by_matrix, strict=True):
        assert own.value == pytest.approx(other.value, rel=1e-6)
        assert own.value >= truth(S, k) * (1 - 1e-14)
    # A witness holds for the matrix and for its factor.
    assert proved_upper(S, 3, by_factor[2].witness) == pytest.approx(by_factor[2].value, rel=1e-9)
    single = optimality_conditions(FactorCovariance(A), supports[2])
    assert proved_upper(S, 3, single.witness) == pytest.approx(single.upper, rel=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "decaying", "indefinite", "huge", "correlation", "tiny"])
def test_bounds_below_those_known_hold_and_are_no_worse(kind):
    """Little is spent on them; beside the elementary bounds they are about those of the whole search."""
    S = kinds(9, 6)[kind]
    covariance, ks = DenseCovariance(S, semidefinite=False), range(1, 10)
    plain = [float(bound) for bound in elementary_bounds(covariance, ks)]
    for k, cheap in zip(ks, plain, strict=True):
        support, top = best_support(S, k), truth(S, k)
        whole = optimality_conditions(S, support).upper
        for known in {min(top * factor, cheap) for factor in (1.0, 1.05, 3.0)}:
            found = proposition_2_below(covariance, support, k, known)
            if found is None:
                assert known <= whole * 1.05
            else:
                assert top * (1 - 1e-12) <= found.value <= whole * 1.05
                assert proved_upper(S, k, found.witness) == pytest.approx(found.value, rel=1e-9)


def test_scale_changes_nothing():
    S = decaying(7, 2)
    support = best_support(S, 3)
    base = optimality_conditions(S, support)
    for factor in (4.0**-80, 4.0**80):
        scaled = optimality_conditions(factor * S, support)
        assert scaled.upper == pytest.approx(factor * base.upper, rel=1e-9)
        assert scaled.rho == pytest.approx(factor * base.rho, rel=1e-9)
        assert scaled.optimal == base.optimal


@pytest.mark.parametrize("seed", range(2))
def test_tight_relaxations_and_the_conditions_agree(seed):
    """Where X has rank one, on the pattern both call optimal, all proofs meet at the truth."""
    S = np.random.default_rng(seed).standard_normal((60, 7)) @ np.diag(1.6 ** -np.arange(7.0))
    S = S.T @ S / 60
    met = 0
    for k in range(1, 8):
        l1 = Splitting(tolerance=1e-8).solve(S, CardinalityForm(k))
        support = np.flatnonzero(np.abs(l1.vector) > 1e-4)
        if not l1.tight or len(support) > k:
            continue
        found = optimality_conditions(S, support, k)
        if found.optimal and l1.dual <= found.value * (1 + 1e-6):
            met += 1
            assert found.upper == pytest.approx(truth(S, k), rel=2e-6)
            assert l1.dual == pytest.approx(found.upper, rel=3e-6)
            assert list(support) == list(best_support(S, k))[: len(support)]
            assert L0Relaxation().solve(S, k).estimate == pytest.approx(found.upper, rel=3e-6)
    assert met >= 1


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="support is empty"):
        optimality_conditions(np.eye(3), [])
    with pytest.raises(ValueError, match="at least 1"):
        path_bounds(np.eye(3), [], [0])
    assert path_bounds(np.eye(3), [], []) == []
    assert [float(b) for b in path_bounds(np.eye(3), [], [1, 2])] == pytest.approx([1.0, 1.0], rel=1e-6)
    assert min(map(float, path_bounds(np.zeros((3, 3)), [np.array([0])], [1, 2]))) >= 0


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(4, 12))
def test_a_factor_gives_the_bound_of_its_matrix(seed, k, rows):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, 8)) * 2.0 ** -np.arange(8)
    support = np.sort(rng.choice(8, k, replace=False))
    by_factor, by_matrix = (
        optimality_conditions(covariance, support) for covariance in (FactorCovariance(A), DenseCovariance(A.T @ A))
    )
    assert by_factor.upper == pytest.approx(by_matrix.upper, rel=1e-6)
    assert proved_bound(FactorCovariance(A), k, by_matrix.witness).value == pytest.approx(by_matrix.upper, rel=1e-6)


@pytest.mark.parametrize("lapack", [400, 0], ids=["LAPACK", "Lanczos"])
@pytest.mark.parametrize("seed", range(2))
def test_tangents(seed, lapack, monkeypatch):
    """The derivative is that of the largest eigenvalue, on both sides of every p_i^2."""
    monkeypatch.setattr(proposition_2, "LAPACK", lapack)
    A = np.random.default_rng(seed).standard_normal((8, 8))
    covariance = [DenseCovariance(A.T @ A), FactorCovariance(A)][seed % 2]
    conditions = Conditions(covariance, np.array([1, 4, 5]))
    for rho in np.sort(conditions.p**2)[2:] * 0.97:
        largest, slope = conditions._tangent(rho)
        step = 1e-6 * rho
        above, below = (conditions._tangent(rho + s)[0] for s in (step, -step))
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4)
        # Between two p_i^2 it is convex.
        assert below >= largest - slope * step - 1e-9 * largest


@pytest.mark.parametrize("kind", ["factor", "deflated"])
def test_what_is_not_written_out_pays_for_its_rounding(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 8)) * 2.0 ** -np.arange(8)
    covariance = FactorCovariance(A)
    S = A.T @ A
    if kind == "deflated":
        z = np.eye(8)[0]
        image = S @ z
        covariance = DeflatedCovariance(DenseCovariance(S), PROJECTION, (Step(z, image, image[0]),))
        S = S - np.outer(z, image) - np.outer(image, z) + image[0] * np.outer(z, z)
    support = best_support(S, 3)
    bound = proved_bound(covariance, 3, optimality_conditions(S, support).witness)
    assert truth(S, 3) <= bound.value <= truth(S, 3) * (1 + 1e-9)
    assert 0 < bound.margin < 1e-10 * bound.value
    again = prove(as_covariance(covariance), 3, bound.witness)
    assert (again.value, again.margin) == (bound.value, bound.margin)
