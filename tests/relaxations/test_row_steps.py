"""The projections of rows and the steps of the relaxation, in compiled code and in the plain code that replaces it."""

import cvxpy as cp
import numpy as np
import pytest

from laconic.core.monitor import Hint
from laconic.relaxations import row_kernels_plain, row_steps
from laconic.relaxations.l1_splitting import empty_memory
from laconic.relaxations.rows import RowLevels
from matrices import KINDS, gaussian, size_of


@pytest.fixture(params=["kernels", "plain"])
def code(request):
    """Both modules have the same functions."""
    if request.param == "kernels" and row_steps.kernels is None:
        pytest.skip("the package is not compiled")
    return getattr(row_steps, request.param)


def project(code, kind, Z, k, inside, multiplier=1e-3, ratio=0.0):
    """The projections at the beginning of a step, and their multipliers."""
    n, u = len(Z), np.stack([Z, Z])
    Y, mu, zeros = np.zeros_like(u), np.full((2, n), multiplier), np.zeros((n, n))
    memory = empty_memory(u.size)
    code.advance(zeros, k, inside, 1.0, 1, u, Y, mu, np.full(n, ratio), np.zeros(n), zeros[:, :0], 1.0, memory)
    part = 0 if kind == "levels" else 1
    return Y[part], mu[part]


def shares(kind, Y, k):
    """h_i of each row; zero for an empty one."""
    d = Y.diagonal()
    size = np.abs(Y).sum(axis=1) ** 2 / k if kind == "levels" else (Y**2).sum(axis=1)
    return np.divide(size, d, out=np.where(size > 0, np.inf, 0.0), where=d > 0)


def referee_projection(kind, Z, k, inside):
    n = len(Z)
    Y, h, t = cp.Variable((n, n)), cp.Variable(n), cp.Variable(n)
    rules = [cp.sum(h[~inside]) <= k - inside.sum(), h[inside] <= 1] if inside.any() else [cp.sum(h) <= k]
    for i in range(n):
        rules.append(t[i] >= (cp.norm1(Y[i]) / np.sqrt(k) if kind == "levels" else cp.norm(Y[i])))
        rules.append(cp.quad_over_lin(t[i], Y[i, i]) <= h[i])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(Y - Z)), rules)
    problem.solve(solver="CLARABEL")
    return Y.value


@pytest.mark.parametrize("kind", ["levels", "norms"])
@pytest.mark.parametrize("seed", range(2))
def test_projections_agree_with_a_conic_solver(code, kind, seed):
    rng = np.random.default_rng(seed)
    n, k = 5, 2 + seed % 3
    Z = rng.standard_normal((n, n)) * rng.choice([0.3, 1.0, 3.0])
    inside = np.zeros(n, dtype=bool)
    inside[: seed % k] = True
    assert project(code, kind, Z, k, inside)[0] == pytest.approx(referee_projection(kind, Z, k, inside), abs=2e-4)


def hostile_rows(seed):
    """Rows that a projection has to survive: zeros, negative diagonals, ties, far apart in size, feasible already."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    Z = rng.standard_normal((n, n)) * 10.0 ** rng.integers(-4, 4)
    if seed % 5 == 0:
        Z = np.round(Z)
    if seed % 5 == 1:
        Z[rng.random((n, n)) < 0.6] = 0.0
    if seed % 5 == 2:
        Z *= 10.0 ** rng.integers(-4, 3, n)[:, None]
    if seed % 5 == 3:
        Z = np.diag(np.abs(Z.diagonal()))
    if seed % 5 == 4:
        np.fill_diagonal(Z, -np.abs(Z.diagonal()))
    k = int(rng.integers(1, n + 1))
    inside = np.zeros(n, dtype=bool)
    inside[rng.permutation(n)[: rng.integers(0, k)]] = True
    return Z, k, inside


@pytest.mark.parametrize("kind", ["levels", "norms"])
@pytest.mark.parametrize("part", range(4))
def test_projections_are_feasible_idempotent_and_optimal(code, kind, part):
    """For the projection Y of Z on a convex set, <Z - Y, V - Y> <= 0 for every V of the set."""
    rng = np.random.default_rng(part)
    for seed in range(50 * part, 50 * part + 50, 6 if code is row_kernels_plain else 1):  # plain code is slow
        Z, k, inside = hostile_rows(seed)
        size = max(np.abs(Z).max(), 1e-300)
        Y, mu = project(code, kind, Z, k, inside)
        assert np.isfinite(Y).all()
        assert (mu >= 0).all()
        h = shares(kind, Y, k)
        assert h[inside].max(initial=0.0) <= 1 + 1e-7
        assert h[~inside].sum() <= (k - inside.sum()) * (1 + 1e-7)
        again = project(code, kind, Y, k, inside)[0]
        assert np.abs(again - Y).max() <= 1e-6 * size
        for other in (
            np.zeros_like(Z),
            0.5 * Y,
            project(code, kind, rng.permutation(Z), k, inside)[0],
            hostile_like(Z, Y),
        ):
            V = project(code, kind, other, k, inside)[0]
            reach = max(np.linalg.norm(Z - Y) * np.linalg.norm(V - Y), np.finfo(float).tiny)
            assert np.sum((Z - Y) * (V - Y)) <= 1e-7 * max(reach, size * reach**0.5) + 1e-13 * size**2


def hostile_like(Z, Y):
    """A point on the far side of the projection."""
    return 2 * Y - Z


def test_entries_left_out_of_the_sort_are_taken_back(code):
    """A start far above the multiplier must not hide entries that the threshold falls among."""
    rng = np.random.default_rng(0)
    Z = 0.1 * rng.standard_normal((8, 8)) + np.eye(8)
    inside = np.zeros(8, dtype=bool)
    expected = project(code, "levels", Z, 2, inside)[0]
    for start in (1e-8, 1.0, 1e3):
        assert expected == pytest.approx(project(code, "levels", Z, 2, inside, start, 5.0)[0], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_bounds_are_those_of_the_compiled_code(kind, monkeypatch):
    """With features inside and row norms, and without both."""
    if row_steps.kernels is None:
        pytest.skip("the package is not compiled")
    S = KINDS[kind](9, 0)
    for norms, inside in ((False, ()), (True, (1, 4))):
        solver = RowLevels(norms=norms, max_iterations=20)
        compiled = solver.solve(S, 4, inside=np.array(inside, dtype=np.intp))
        with monkeypatch.context() as patch:
            patch.setattr(row_steps, "kernels", None)
            other = solver.solve(S, 4, inside=np.array(inside, dtype=np.intp))
        assert other.estimate == pytest.approx(compiled.estimate, rel=1e-3, abs=1e-9 * size_of(S))


@pytest.mark.parametrize("n", [20, 70])
def test_a_few_steps_are_the_same_in_both(n, code, monkeypatch):
    """Small matrices are decomposed whole; of larger ones a few eigenvectors are followed."""
    S = gaussian(n, 0)
    S /= np.abs(S).max()
    z = np.zeros(n)
    z[:5] = 0.2**0.5
    results = []
    for module in (code, row_kernels_plain):
        state = row_steps.RowState.around(S, 5, np.array([0]), z, parts=2)
        block = np.ascontiguousarray(S[np.ix_(state.keep, state.keep)])
        monkeypatch.setattr(row_steps, "kernels", module)
        for _ in range(4):
            F, finite = row_steps.advance(state, block, 5, 3)
        assert finite
        results.append((F @ F.T, state.u, state.Y, state.residual))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_numbers_that_are_not_finite_stop_the_steps(code, monkeypatch):
    monkeypatch.setattr(row_steps, "kernels", code)
    state = row_steps.RowState.around(np.eye(4), 2, np.empty(0, dtype=np.intp), np.array([1.0, 0, 0, 0]), parts=2)
    state.u[0, 1, 2] = np.nan
    assert row_steps.advance(state, np.eye(4), 2, 5)[1] is False


def test_missing_code_is_named_once(monkeypatch):
    monkeypatch.setattr(row_steps, "kernels", None)
    row_steps.say_if_slow.cache_clear()
    with pytest.warns(Hint, match="compiled part of laconic is missing, so tight proofs take about ten times as long"):
        RowLevels(max_iterations=1).solve(np.eye(3), 2)
    RowLevels(max_iterations=1).solve(np.eye(3), 2)
    row_steps.say_if_slow.cache_clear()
