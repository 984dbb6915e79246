"""Newton's method for the l0 relaxation: its derivatives, its steps, and that it finds what quasi-Newton steps find."""

import numpy as np
import pytest
from kinds import gaussian, kinds, truth

from laconic.core.monitor import Monitor
from laconic.problem.status import Status
from laconic.relaxations import L0Relaxation
from laconic.relaxations.l0_newton import Curvature, newton_step
from laconic.relaxations.secular import SecularEquations

QUASI_NEWTON = "laconic.relaxations.l0_ascent.QUASI_NEWTON"


def factor_model(n, factors, seed):
    """The correlations of a few factors and noise: high rank at the optimum if k is small."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((n, factors))
    S = loadings @ loadings.T + np.diag(factors * rng.random(n))
    return S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))


def toeplitz(n, r):
    place = np.arange(n)
    return r ** np.abs(place[:, None] - place)


class Function:
    """f and its gradient for any X, and all that a Newton step takes for a diagonal one."""

    def __init__(self, seed, cardinality, rho=0.3):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((5, 9))
        A[0] += 1.5
        self.A = A / np.linalg.norm(A, axis=0) * np.linspace(1.1, 1.0, 9)
        self.cardinality, self.rho = cardinality, rho
        self.x = rng.random(5) + np.array([2.0, 0.05, 0.05, 0.05, 0.05])
        self.x /= self.x.sum()
        E = rng.standard_normal((5, 5))
        self.E = E + E.T

    def __call__(self, X):
        x, Q = np.linalg.eigh(X)
        g = Q.T @ self.A
        terms = SecularEquations((g**2).sum(axis=0), self.cardinality, self.rho, 1e-9)(x, g**2)
        W = Q @ (g[:, : len(terms.roots)] * terms.inverse)
        return terms, W, (W * terms.weights) @ W.T

    def at_x(self):
        """The terms, directions and gradient at diag(x), in the order of x."""
        terms = SecularEquations((self.A**2).sum(axis=0), self.cardinality, self.rho, 1e-9)(self.x, self.A**2)
        W = self.A[:, : len(terms.roots)] * terms.inverse
        return terms, W, (W * terms.weights) @ W.T


@pytest.mark.parametrize("cardinality", [None, 2.5, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_curvature_is_the_second_derivative(seed, cardinality):
    f = Function(seed, cardinality)
    terms, W, _ = f.at_x()
    assert 0.05 < terms.rho < 0.95
    half = np.sqrt(f.x)
    curvature = Curvature(f.x, half[:, None] * W, terms, np.zeros((5, 5)), cardinality)
    h = 1e-4
    D = half[:, None] * f.E * half
    up, down = (f(np.diag(f.x) + sign * h * D) for sign in (1, -1))
    assert len(up[0].roots) == len(down[0].roots)
    expected = -half[:, None] * (up[2] - down[2]) * half / (2 * h)
    np.testing.assert_allclose(curvature.times(f.E), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    assert np.vdot(f.E, curvature.times(f.E)) > 0
    if cardinality is None:
        # At a given rho f is homogeneous of degree one: there is no curvature along X.
        np.testing.assert_allclose(curvature.times(np.eye(5)), 0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("cardinality", [None, 3])
def test_the_step_points_upwards_and_keeps_the_trace(cardinality):
    f = Function(5, cardinality)
    terms, W, G = f.at_x()
    mu = 0.01
    step = newton_step(f.x, W, G, terms, mu=mu, cardinality=cardinality, tick=lambda: None)
    np.testing.assert_allclose(step.change, step.change.T, atol=1e-12)
    assert step.change.diagonal() @ f.x == pytest.approx(0, abs=1e-10)
    h = 1e-5
    half = np.sqrt(f.x)

    def height(t):
        X = np.diag(f.x) + t * half[:, None] * step.change * half
        return f(X)[0].value + mu * np.linalg.slogdet(X)[1]

    assert step.climb > 0
    assert (height(h) - height(-h)) / (2 * h) == pytest.approx(step.climb, rel=1e-4)


@pytest.mark.parametrize(
    ("S", "k"),
    [
        (factor_model(60, 5, 1), 3),
        (factor_model(60, 2, 1), 5),
        (factor_model(60, 10, 2), 2),
        (toeplitz(60, 0.9), 3),
        (toeplitz(60, 0.5), 7),
    ],
    ids=["five factors", "two factors", "ten factors", "slow decay", "fast decay"],
)
def test_high_ranks_take_few_steps(S, k, monkeypatch):
    found = L0Relaxation().solve(S, k)
    assert found.status is Status.OPTIMAL
    assert found.gap <= 1e-6
    assert found.iterations <= 60
    fine = L0Relaxation(tolerance=1e-8).solve(S, k)
    assert fine.gap <= 1e-8
    assert fine.iterations <= 150
    monkeypatch.setattr(QUASI_NEWTON, 10_000)
    slow = L0Relaxation().solve(S, k)
    assert slow.iterations > 1.2 * found.iterations
    for other in (found, slow):
        assert fine.primal <= other.upper
        assert other.primal <= fine.upper


@pytest.mark.parametrize("kind", kinds(7, 0))
def test_bounds_hold_the_truth_almost_without_quasi_newton_steps(kind, monkeypatch):
    monkeypatch.setattr(QUASI_NEWTON, 1)
    S = kinds(7, 4)[kind]
    scale = float(np.abs(S).max())
    for k in (2, 3, 5):
        found = L0Relaxation().solve(S, k)
        assert found.status is Status.OPTIMAL
        assert found.upper >= truth(S, k) - 1e-14 * scale
        assert found.upper - found.primal <= 1.01e-6 * max(abs(found.upper), 1e-3 * scale)
    rho = 0.2 * scale or 0.1
    penalised = L0Relaxation().solve_penalty(S, rho)
    assert penalised.status is Status.OPTIMAL
    assert penalised.upper >= max(truth(S, k) - rho * k for k in range(1, 8)) - 1e-14 * scale


def test_a_stop_within_a_newton_step_returns_a_bound():
    class Impatient(Monitor):
        steps = 0

        def tick(self, stage="", *, best=None):
            super().tick(stage, best=best)
            # Products with the curvature name no stage.
            self.steps += not stage
            if self.steps == 3:
                raise KeyboardInterrupt

    S = factor_model(10, 3, 0)
    found = L0Relaxation(tolerance=1e-9).solve(S, 3, monitor=Impatient())
    assert found.status is Status.INTERRUPTED
    assert found.upper >= truth(S, 3)
    assert found.primal <= found.upper


def test_warm_starts_continue_from_newton_steps():
    S = factor_model(40, 4, 3)
    first = L0Relaxation().solve(S, 3)
    warm, cold = L0Relaxation().solve(S, 4, start=first), L0Relaxation().solve(S, 4)
    assert warm.status is Status.OPTIMAL
    assert warm.upper == pytest.approx(cold.upper, rel=2e-6)


def test_ties_are_solved():
    S = np.kron(np.eye(4), gaussian(4, 1))
    for k in (2, 3, 6):
        found = L0Relaxation().solve(S, k)
        assert found.status is Status.OPTIMAL
        assert found.gap <= 1e-6
