"""The search for components that hold the most variance together, against exhaustive search and closed forms."""

import itertools

import numpy as np
import pytest
from scipy.linalg import eigh

from laconic.core.monitor import Monitor, Stop
from laconic.covariance import DenseCovariance
from laconic.search.problem import Problem
from laconic.search.span import (
    Span,
    alternate,
    canonical,
    exchange,
    state_of,
    varimax,
)


def covariance(seed, n, rows=20):
    A = np.random.default_rng(seed).standard_normal((rows, n)) @ np.random.default_rng(seed + 1).standard_normal((n, n))
    return A.T @ A / rows


def held(S, vectors):
    """Tr(PS), by a QR decomposition and not by the code under test."""
    Q = np.linalg.qr(vectors)[0]
    return float(np.trace(Q.T @ S @ Q))


def one_by_one(S, cardinalities):
    """Components by projection deflation, each the best of all supports."""
    found, left = [], S
    for k in cardinalities:
        best = max(
            ((np.linalg.eigvalsh(left[np.ix_(T, T)])[-1], T) for T in itertools.combinations(range(len(S)), k)),
            key=lambda pair: pair[0],
        )
        T = list(best[1])
        z = np.zeros(len(S))
        z[T] = np.linalg.eigh(left[np.ix_(T, T)])[1][:, -1]
        found.append(z)
        keep = np.eye(len(S)) - np.outer(z, z)
        left = keep @ left @ keep
    return np.array(found).T


def best_on(S, first, second, rng, tries=3):
    """The most that two components on given supports hold, by generalised eigenproblems in turn, from many starts."""
    n, best = len(S), 0.0
    for _ in range(tries):
        u = np.zeros(n)
        u[list(first)] = rng.standard_normal(len(first))
        for step in range(10):
            T = list(second) if step % 2 == 0 else list(first)
            q = u / np.linalg.norm(u)
            A = np.eye(n) - np.outer(q, q)
            lengths = np.linalg.eigvalsh(A[np.ix_(T, T)])
            if lengths[0] < 0.011:  # the search does not look at components that nearly coincide
                break
            z = eigh((A @ S @ A)[np.ix_(T, T)], A[np.ix_(T, T)])[1][:, -1]
            other, u = u, np.zeros(n)
            u[T] = z
            best = max(best, held(S, np.column_stack([other, u])))
    return best


def solved(S, cardinalities, start=None, **settings):
    problem = Problem(DenseCovariance(S, semidefinite=settings.pop("semidefinite", True)), max(cardinalities))
    start = one_by_one(S, cardinalities) if start is None else start
    return canonical(
        problem.covariance, tuple(cardinalities), Span(**settings).solve(problem, tuple(cardinalities), start)
    )


@pytest.mark.parametrize("seed", range(2))
def test_two_components_against_all_pairs_of_supports(seed):
    rng = np.random.default_rng(seed)
    n, sizes = int(rng.integers(4, 6)), (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    S = covariance(seed, n)
    truth = max(
        best_on(S, first, second, rng)
        for first in itertools.combinations(range(n), sizes[0])
        for second in itertools.combinations(range(n), sizes[1])
    )
    found = solved(S, sizes)
    assert ((found != 0).sum(axis=0) <= sizes).all()
    # The best value that exhaustive search meets, and never more than the sum of the two largest eigenvalues.
    assert held(S, found) >= truth * (1 - 1e-5)
    assert held(S, found) <= np.linalg.eigvalsh(S)[-2:].sum() * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sizes", [(3, 3, 3), (6, 2, 4), (1, 5)])
def test_no_less_than_one_after_the_other(seed, sizes):
    S = covariance(seed, 10)
    start = one_by_one(S, sizes)
    found = solved(S, sizes, start)
    assert held(S, found) >= held(S, start) * (1 - 1e-12)
    assert ((found != 0).sum(axis=0) <= sizes).all()
    assert np.allclose(np.linalg.norm(found, axis=0), 1)


def test_two_blocks_are_the_two_supports():
    S = np.eye(8)
    S[:4, :4] += 3 * np.ones((4, 4))
    S[4:, 4:] += 2 * np.ones((4, 4))
    found = solved(S, (4, 4))
    assert [np.flatnonzero(z).tolist() for z in found.T] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert held(S, found) == pytest.approx(13 + 9)


def test_all_features_give_the_dense_components():
    S = covariance(3, 7)
    found = solved(S, (7, 7, 7), np.eye(7)[:, :3])
    assert held(S, found) == pytest.approx(np.linalg.eigvalsh(S)[-3:].sum())
    # Components with the same support are principal components, and so orthogonal.
    assert np.allclose(found.T @ found, np.eye(3), atol=1e-8)
    assert np.allclose(np.abs(found), np.abs(np.linalg.eigh(S)[1][:, :-4:-1]), atol=1e-4)


def grouped(rng, groups=3, size=4, noise=8):
    """A covariance of a few groups of features that share a factor each, and features of noise."""
    X = rng.standard_normal((300, groups * size + noise))
    for g in range(groups):
        X[:, g * size : (g + 1) * size] += (3 - 0.5 * g) * rng.standard_normal((300, 1))
    return np.cov(X.T)


@pytest.mark.parametrize("seed", range(2))
def test_order_sign_and_scale_of_features_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    S, sizes = grouped(rng), (4, 4, 4)
    start = np.eye(len(S))[:, :3]
    found = solved(S, sizes, start)
    order, signs = rng.permutation(len(S)), rng.choice([-1.0, 1.0], len(S))
    changed = 7.0 * (S * np.outer(signs, signs))[np.ix_(order, order)]
    again = solved(changed, sizes, (start * signs[:, None])[order])
    assert held(changed, again) == pytest.approx(7 * held(S, found), rel=1e-6)
    assert [set(order[np.flatnonzero(z)]) for z in again.T] == [set(np.flatnonzero(z)) for z in found.T]
    assert [set(np.flatnonzero(z)) for z in found.T] == [set(range(4)), set(range(4, 8)), set(range(8, 12))]


@pytest.mark.parametrize("seed", range(2))
def test_indefinite_matrices(seed):
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((9, 9))
    S = S + S.T
    start = one_by_one(S, (3, 3))
    found = solved(S, (3, 3), start, semidefinite=False)
    assert held(S, found) >= held(S, start) - 1e-9
    assert held(S, found) <= np.linalg.eigvalsh(S)[-2:].sum() + 1e-9
    assert np.isfinite(found).all()


@pytest.mark.parametrize("seed", range(2))
def test_regressions_never_lose_and_keep_to_the_sizes(seed):
    S = covariance(seed, 12)
    problem = Problem(DenseCovariance(S), 5, forced=np.array([2]))
    start = np.linalg.eigh(S)[1][:, -3:].copy()
    for t, k in enumerate((4, 3, 5)):
        keep = np.union1d(np.argsort(-np.abs(start[:, t]))[: k - 1], [2])
        start[np.setdiff1d(np.arange(12), keep), t] = 0
    found = alternate(problem, (4, 3, 5), start, gradually=False)
    assert held(S, found) >= held(S, start) * (1 - 1e-12)
    gradual = alternate(problem, (4, 3, 5), np.linalg.eigh(S)[1][:, -3:], gradually=True)
    for vectors in (found, gradual):
        assert ((vectors != 0).sum(axis=0) <= (4, 3, 5)).all()
        assert (vectors[2] != 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_exchanges_track_the_value(seed):
    S = covariance(seed, 12)
    problem = Problem(DenseCovariance(S), 3, forced=np.array([5]))
    vectors = np.zeros((12, 3))
    vectors[[5, 0], 0] = vectors[[5, 1], 1] = vectors[[5, 2], 2] = 0.5**0.5
    state = state_of(problem.covariance, vectors)
    before = state.value
    exchange(problem, (3, 3, 3), state)
    assert state.value > before
    assert state.value == pytest.approx(held(S, state.vectors), rel=1e-9)
    assert np.allclose(state.images, S @ state.vectors)
    assert (state.vectors[5] != 0).all()
    assert ((state.vectors != 0).sum(axis=0) <= 3).all()


def test_a_support_inside_the_span_of_the_others_is_left():
    """Two equal components hold what one does; the second must move."""
    S = np.diag([4.0, 3.0, 2.0, 1.0])
    problem = Problem(DenseCovariance(S), 1)
    state = state_of(problem.covariance, np.eye(4)[:, [0, 0]])
    assert state.value == pytest.approx(4)
    exchange(problem, (1, 1), state)
    assert state.value == pytest.approx(7)


def test_time_limit_keeps_the_best_so_far():
    S = covariance(0, 30)
    monitor = Monitor(1e-9)
    start = np.eye(30)[:, :3]
    found = Span().solve(Problem(DenseCovariance(S), 5, monitor=monitor), (5, 5, 5), start)
    assert monitor.stopped is Stop.TIME_LIMIT
    assert np.array_equal(found, start)


def test_varimax_finds_a_hidden_rotation():
    simple = np.kron(np.eye(3), np.ones((4, 1))) * np.array([3.0, 2.0, 1.5])
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    rotated = varimax(simple @ turn)
    assert np.allclose(np.sort(np.abs(rotated), axis=1)[:, :2], 0, atol=1e-3)
