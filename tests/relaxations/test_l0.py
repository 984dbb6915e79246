"""The l0 relaxation against its explicit semidefinite program, exhaustive search, and the literature."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.monitor import Monitor
from laconic.datasets import load_pitprops
from laconic.proof.witness_dual import l0_bound
from laconic.relaxations.elementary import RelaxationStatus
from laconic.relaxations.l0 import L0Relaxation, SecularEquations
from matrices import gaussian, kinds, truth

PITPROPS = load_pitprops().covariance


def explicit(S, cardinality):
    """Proposition 1 as printed, a matrix P_i for each feature, by an interior-point solver."""
    values, vectors = np.linalg.eigh(S)
    A = (vectors * np.sqrt(np.maximum(values, 0))).T
    n = len(S)
    X, P = cp.Variable((n, n), symmetric=True), [cp.Variable((n, n), symmetric=True) for _ in range(n)]
    inside = [cp.trace(X) == 1, *(p >> 0 for p in P), *(X - p >> 0 for p in P)]
    gain = sum(cp.trace(np.outer(a, a) @ p) for a, p in zip(A.T, P, strict=True))
    total = sum(cp.trace(p) for p in P)
    problem = cp.Problem(cp.Maximize(gain), [*inside, total <= cardinality])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    return float(problem.value)


def recomputed(witness, k):
    """The bound of a witness, from the formula in its docstring."""
    A, W, rho = witness.factor, witness.directions, witness.rho
    total = np.zeros((len(A), len(A)))
    for a, w in zip(A.T, W.T, strict=True):
        if a @ a > rho:
            total += rho * (a @ a - rho) / ((w @ a) ** 2 - (a @ a - rho) * (w @ w)) * np.outer(w, w)
    return np.linalg.eigvalsh(total)[-1] + rho * k - witness.shift


@pytest.mark.parametrize(("n", "seed", "rank"), [(4, 0, None), (6, 1, None), (6, 2, 3), (8, 3, None)])
def test_agrees_with_the_explicit_program(n, seed, rank):
    S = gaussian(n, seed, rank)
    for k in {2, n // 2, n - 1}:
        found = L0Relaxation(tolerance=1e-7).solve(S, k)
        assert found.status is RelaxationStatus.CONVERGED
        expected = explicit(S, k)
        assert found.primal == pytest.approx(expected, rel=3e-6)
        assert found.estimate == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize("kind", kinds(7, 0))
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_hold_the_truth(kind, seed):
    S = kinds(7, seed)[kind]
    best = [truth(S, k) for k in range(1, 8)]
    rounding = 1e-14 * np.abs(S).max()
    for k in range(1, 8):
        found = L0Relaxation().solve(S, k)
        assert found.primal <= found.estimate
        if S.diagonal().max() > 0:
            assert found.status is RelaxationStatus.CONVERGED
            assert found.estimate - found.primal <= 1.01e-6 * max(abs(found.estimate), 1e-3 * np.abs(S).max())
        # One dual point bounds every cardinality.
        for other in range(1, 8):
            assert found.estimate + (other - k) * found.rho >= best[other - 1] - rounding
        assert found.estimate >= best[k - 1] - rounding


@given(seed=st.integers(0, 10_000), k=st.integers(1, 5), share=st.floats(1e-6, 1.2), wild=st.floats(0, 2))
def test_any_directions_bound_every_support(seed, k, share, wild):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((int(rng.integers(1, 7)), 5))
    W = A + wild * rng.standard_normal(A.shape)
    rho = share * float((A**2).sum(axis=0).max())
    bound = l0_bound(A, W, rho, k).value
    assert bound >= truth(A.T @ A, k) * (1 - 1e-14)
    # Directions may be of any length and sign.
    assert l0_bound(A, W * rng.choice([-1e-90, 1e90], 5), rho, k).value == pytest.approx(bound, rel=1e-6)


def test_directions_of_the_features_give_the_closed_form():
    A = np.random.default_rng(4).standard_normal((6, 5))
    norms = (A**2).sum(axis=0)
    rho = float(np.median(norms))
    expected = np.linalg.eigvalsh((A * np.maximum(1 - rho / norms, 0)) @ A.T)[-1] + 2 * rho
    assert l0_bound(A, A, rho, 2).value == pytest.approx(expected, rel=1e-12)


def test_infeasible_directions_are_replaced_by_those_of_the_features():
    A = np.diag([1.0, 2.0, 3.0])
    own = l0_bound(A, A, 0.5, 1).value
    assert l0_bound(A, np.roll(A, 1, axis=0), 0.5, 1).value == pytest.approx(own, rel=1e-12)
    assert l0_bound(A, A, 0.0, 1).value == pytest.approx(9.0)


@pytest.mark.parametrize("kind", ["gaussian", "correlation", "rank 2", "indefinite", "tiny", "decaying"])
def test_witness_gives_the_bound_again(kind):
    S = kinds(7, 5)[kind]
    for k in (2, 4):
        found = L0Relaxation().solve(S, k)
        witness = found.witness()
        assert witness.kind == "l0"
        unit = 1e57 if kind == "tiny" else 1.0
        A = witness.factor
        rebuilt = (A.T @ A - witness.shift * np.eye(7)) * unit
        np.testing.assert_allclose(rebuilt, S * unit, atol=1e-10 * np.abs(S * unit).max())
        assert recomputed(witness, k) == pytest.approx(found.estimate, rel=1e-8)


def test_closed_cases():
    S = gaussian(8, 2)
    assert L0Relaxation().solve(S, 1).estimate == pytest.approx(S.diagonal().max(), rel=1e-12)
    largest = np.linalg.eigvalsh(S)[-1]
    for k in (8, 50):
        assert largest <= L0Relaxation().solve(S, k).estimate <= largest * (1 + 1e-6)
    single = L0Relaxation().solve(np.array([[2.5]]), 1)
    assert single.estimate == pytest.approx(2.5, rel=1e-12)
    zero = L0Relaxation().solve(np.zeros((4, 4)), 2)
    assert (zero.primal, zero.estimate, zero.gap) == (0.0, 0.0, 0.0)
    for k in (1, 3):
        assert L0Relaxation().solve(-np.eye(4), k).estimate == pytest.approx(-1.0, rel=1e-9)
    # Rank one: the k largest squares.
    a = np.array([3.0, -2.0, 1.0, 0.5])
    assert L0Relaxation().solve(np.outer(a, a), 2).estimate == pytest.approx(13.0, rel=1e-6)


@pytest.mark.parametrize(("k", "percent"), [(5, 2.367), (7, 0.0), (10, 0.0887)])
def test_pitprops(k, percent):
    found = L0Relaxation().solve(PITPROPS, k)
    assert found.status is RelaxationStatus.CONVERGED
    assert found.estimate >= truth(PITPROPS, k)
    assert 100 * (found.estimate / truth(PITPROPS, k) - 1) == pytest.approx(percent, abs=2e-3 if percent else 1e-4)


@pytest.mark.parametrize(
    ("name", "k", "known", "percent"),
    [
        ("wine", 10, 4.594293, 0.2686),
        ("wdbc", 5, 5.64828763, 0.0),
        ("wdbc", 15, 5.65879247, 0.0),
        ("Eisen1", 5, 14.07570594, 0.2386),
        ("Eisen1", 10, 17.33549909, 0.0),
        ("Eisen1", 50, 18.06858927, 0.0),
        ("lymphoma500", 50, 14546.93081, 0.1486),
    ],
)
def test_values_of_the_literature(data_folder, name, k, known, percent):
    S = np.load(data_folder / "benchmarks" / f"{name}.npz")["S"]
    found = L0Relaxation().solve(S, k)
    assert found.gap <= 1e-6
    assert found.estimate >= known * (1 - 1e-8)
    assert 100 * (found.estimate / known - 1) == pytest.approx(percent, abs=2e-3 if percent else 1e-4)


def test_stops_give_bounds_that_only_improve():
    S = gaussian(12, 8)
    S /= np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    best = truth(S, 3)
    uppers, primals = [], []
    for steps in (0, 1, 2, 5, 10, 20, 40, 200):
        found = L0Relaxation(max_iterations=steps).solve(S, 3)
        assert found.status is (RelaxationStatus.CONVERGED if found.gap <= 1e-6 else RelaxationStatus.ITERATION_LIMIT)
        uppers.append(found.estimate)
        primals.append(found.primal)
    assert min(uppers) >= best
    assert uppers[-1] < uppers[0]
    assert primals == sorted(primals)
    stopped = L0Relaxation().solve(S, 3, monitor=Monitor(time_limit=0.0))
    assert stopped.status is RelaxationStatus.TIME_LIMIT
    assert best <= stopped.estimate <= min(3.0, np.linalg.eigvalsh(S)[-1]) * (1 + 1e-6)


def test_an_interrupt_returns_the_best_so_far():
    class Impatient(Monitor):
        ticks = 0

        def tick(self, stage="", **known):
            super().tick(stage, **known)
            self.ticks += 1
            if self.ticks == 5:
                raise KeyboardInterrupt

    S = gaussian(12, 8)
    found = L0Relaxation().solve(S, 3, monitor=Impatient())
    assert found.status is RelaxationStatus.INTERRUPTED
    assert found.estimate >= truth(S, 3)


@pytest.mark.parametrize("seed", range(2))
def test_roots_are_eigenvalues(seed):
    """Each root is the largest eigenvalue of X^1/2 B_i X^1/2, and the penalty makes the traces add up to k."""
    rng = np.random.default_rng(seed)
    x = rng.random(5) + 0.01
    x /= x.sum()
    g = rng.standard_normal((5, 9))
    g = g[:, np.argsort(-(g**2).sum(axis=0))]
    terms = SecularEquations((g**2).sum(axis=0), 3.0, 0.1, 1e-9)(x, g**2)
    half = np.sqrt(x)
    slopes = []
    for rho in (terms.rho * (1 - 1e-6), terms.rho, terms.rho * (1 + 1e-6)):
        roots = [max(np.linalg.eigvalsh(np.outer(half * a, half * a) - rho * np.diag(x))[-1], 0.0) for a in g.T]
        slopes.append(sum(roots) + 3.0 * rho)
        if rho == terms.rho:
            np.testing.assert_allclose(terms.roots, roots[: len(terms.roots)], rtol=1e-9)
    assert slopes[1] <= min(slopes) + 1e-12
    assert terms.value == pytest.approx(slopes[1], rel=1e-12)
    assert terms.least <= terms.value


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="tolerance=0"):
        L0Relaxation(tolerance=0)
    with pytest.raises(ValueError, match="max_iterations=-1"):
        L0Relaxation(max_iterations=-1)
    with pytest.raises(ValueError, match="cardinality=0"):
        L0Relaxation().solve(np.eye(2), 0)
