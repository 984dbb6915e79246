"""The search for several components together, against exhaustive search, and what every answer keeps."""

import itertools

import numpy as np
import pytest

from helpers import best_nonnegative
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.datasets import load_pitprops
from laconic.search.several import JointProblem, solve_jointly, value_of

REACHED = 1 - 1e-8


def random_matrix(seed, n, indefinite=False):
    rng = np.random.default_rng(seed)
    if indefinite:
        M = rng.standard_normal((n, n))
        return M + M.T
    A = rng.standard_normal((n + 2, n)) @ np.diag(rng.uniform(0.5, 1.5, n))
    return A.T @ A / n


def make(S, question, sizes, **settings):
    semidefinite = bool(np.linalg.eigvalsh(S)[0] >= -1e-9)
    return JointProblem(DenseCovariance(S, semidefinite=semidefinite), question, tuple(sizes), **settings)


def solved(problem, starts=(), **settings):
    """Solve, and check all that the question asks of the components."""
    U = solve_jointly(problem, starts, **settings)
    r, nonzeros = problem.count, (U != 0).sum(axis=0)
    assert U.shape == (problem.covariance.n_features, r)
    assert np.abs(U.T @ U - np.eye(r)).max() < 1e-12
    assert (nonzeros >= 1).all()
    variances = np.einsum("ij,ij->j", U, problem.covariance.product(U))
    falls = variances[:-1] >= variances[1:] - 1e-12 * np.abs(variances).max()
    if problem.question == "common":
        used = np.union1d(np.flatnonzero(U.any(axis=1)), problem.forced)
        assert len(used) <= problem.cardinalities[0]
        assert falls.all()
        return U
    inside = U != 0
    inside[problem.forced] = True
    if problem.total is None:
        assert (inside.sum(axis=0) <= problem.cardinalities).all()
        same = np.diff(problem.cardinalities) == 0
    else:
        assert inside.sum() <= problem.total
        assert (nonzeros <= sorted(problem.cardinalities, reverse=True)).all()
        assert (np.diff(nonzeros) <= 0).all()
        same = np.diff(nonzeros) == 0
    assert falls[same].all()
    if problem.question == "disjoint":
        assert (inside.sum(axis=1) <= 1).all()
    if problem.nonnegative:
        assert (U >= 0).all()
    return U


def subsets(n, k, forced=()):
    return [T for T in itertools.combinations(range(n), k) if set(forced) <= set(T)]


def splits(total, most):
    """All sizes of at least one, at most those given, that add up to the total."""
    return {sizes for sizes in itertools.product(*(range(1, m + 1) for m in most)) if sum(sizes) == total}


def best_common(S, k, r, forced=()):
    return max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-r:].sum() for T in subsets(len(S), k, forced))


def best_disjoint(S, sizes, value=None):
    """Component by component, the best choice among the features that are left."""
    value = value or (lambda T: np.linalg.eigvalsh(S[np.ix_(T, T)])[-1])
    known = {T: value(T) for k in set(sizes) for T in subsets(len(S), k)}

    def best(t, used):
        if t == len(sizes):
            return 0.0
        return max(known[T] + best(t + 1, used | set(T)) for T in subsets(len(S), sizes[t]) if not used & set(T))

    return best(0, set())


def best_beside(S, T, Q):
    left, values, _ = np.linalg.svd(Q[list(T)])
    free = left[:, (values > 1e-10).sum() :]
    if not free.shape[1]:
        return None
    z = np.zeros(len(S))
    z[list(T)] = free @ np.linalg.eigh(free.T @ S[np.ix_(T, T)] @ free)[1][:, -1]
    return z


def best_orthogonal(S, sizes, forced=(), tries=6):
    """All pairs of supports; on each, two vectors are renewed in turn from random starts."""
    rng, best = np.random.default_rng(0), -np.inf
    for first, second in itertools.product(subsets(len(S), sizes[0], forced), subsets(len(S), sizes[1], forced)):
        most = sum(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in (first, second))
        if most <= best:
            continue
        for _ in range(tries if set(first) & set(second) else 1):
            u, v = np.zeros(len(S)), np.zeros(len(S))
            v[list(second)] = rng.standard_normal(len(second))
            for _ in range(25):
                u = best_beside(S, first, v[:, None])
                w = None if u is None else best_beside(S, second, u[:, None])
                if w is None:
                    break
                v = w
                best = max(best, u @ S @ u + v @ S @ v)
    return best


@pytest.mark.parametrize("indefinite", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_common_support_against_all(seed, indefinite):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    r = int(rng.integers(1, 4))
    k = int(rng.integers(r, n + 1))
    forced = rng.permutation(n)[: int(rng.integers(0, 2))]
    S = random_matrix(seed, n, indefinite)
    problem = make(S, "common", (k,) * r, forced=forced)
    truth = best_common(S, k, r, forced.tolist())
    assert value_of(problem, solved(problem)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("indefinite", [False, True])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (1, 4), (2, 2, 2), (3, 1, 2)])
@pytest.mark.parametrize("seed", range(2))
def test_disjoint_supports_against_all(seed, sizes, indefinite):
    S = random_matrix(seed, 7, indefinite)
    problem = make(S, "disjoint", sizes)
    assert value_of(problem, solved(problem)) == pytest.approx(best_disjoint(S, sizes), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_disjoint_supports_that_share_a_total(seed):
    S = random_matrix(seed, 7, seed % 2 == 1)
    most, total = ((5, 4), 6) if seed < 2 else ((4, 4, 4), 6)
    problem = make(S, "disjoint", most, total=total)
    truth = max(best_disjoint(S, sizes) for sizes in splits(total, most))
    assert value_of(problem, solved(problem)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_disjoint_supports_with_loadings_of_one_sign(seed):
    S = random_matrix(seed, 6, seed % 2 == 1)
    truth = best_disjoint(S, (3, 2), lambda T: best_nonnegative(S[np.ix_(T, T)], len(T)))
    problem = make(S, "disjoint", (3, 2), nonnegative=True)
    assert value_of(problem, solved(problem)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("indefinite", [False, True])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (1, 3)])
@pytest.mark.parametrize("seed", range(2))
def test_orthonormal_loadings_against_all_pairs_of_supports(seed, sizes, indefinite):
    S = random_matrix(seed, 5, indefinite)
    problem = make(S, "orthogonal", sizes)
    assert value_of(problem, solved(problem)) >= best_orthogonal(S, sizes) - 1e-8 * np.abs(S).max()


@pytest.mark.parametrize("seed", range(3))
def test_orthonormal_loadings_with_a_forced_feature(seed):
    S = random_matrix(seed, 5)
    problem = make(S, "orthogonal", (3, 2), forced=np.array([seed]))
    assert value_of(problem, solved(problem)) >= best_orthogonal(S, (3, 2), [seed]) * REACHED


@pytest.mark.parametrize("seed", range(3))
def test_orthonormal_loadings_that_share_a_total(seed):
    S = random_matrix(seed, 5)
    problem = make(S, "orthogonal", (4, 4), total=5)
    truth = max(best_orthogonal(S, sizes, tries=3) for sizes in splits(5, (4, 4)))
    assert value_of(problem, solved(problem)) >= truth * REACHED


QUESTIONS = [
    ("common", (4, 4, 4), {}),
    ("disjoint", (3, 2, 4), {}),
    ("disjoint", (2, 3, 2), {"nonnegative": True}),
    ("disjoint", (5, 5, 5), {"total": 7}),
    ("orthogonal", (1, 3, 3), {}),
    ("orthogonal", (3, 3, 3), {"forced": np.array([3])}),
    ("orthogonal", (6, 6, 6), {"total": 6}),
]


@pytest.mark.parametrize(("question", "sizes", "settings"), QUESTIONS)
@pytest.mark.parametrize("seconds", [1e-9, 0.01])
def test_a_stopped_search_returns_components_that_answer_the_question(question, sizes, settings, seconds):
    monitor = Monitor(seconds)
    problem = make(random_matrix(3, 40), question, sizes, **settings, monitor=monitor)
    solved(problem)
    assert monitor.stopped


@pytest.mark.parametrize(("question", "sizes", "settings"), QUESTIONS)
def test_a_seed_repeats_and_a_start_is_never_lost(question, sizes, settings):
    S = random_matrix(5, 8)
    good = solved(make(S, question, sizes, **settings), seed=1)
    assert np.array_equal(good, solved(make(S, question, sizes, **settings), seed=1))
    stopped = make(S, question, sizes, **settings, monitor=Monitor(1e-9))
    assert value_of(stopped, solved(stopped, [good])) >= value_of(stopped, good) - 1e-12


@pytest.mark.parametrize(("question", "sizes", "settings"), QUESTIONS)
def test_a_start_need_not_answer_the_question(question, sizes, settings):
    start = np.random.default_rng(0).standard_normal((15, 3))
    start[:, 2] = 0.0
    problem = make(random_matrix(6, 15), question, sizes, **settings, monitor=Monitor(0.05))
    solved(problem, [start])


FACTORS = [("common", {}), ("disjoint", {}), ("orthogonal", {"total": 15}), ("orthogonal", {"forced": np.array([3])})]


@pytest.mark.parametrize(("question", "settings"), FACTORS)
def test_a_factor_is_never_written_out(question, settings):
    rng = np.random.default_rng(0)
    A = 0.2 * rng.standard_normal((30, 3000))
    groups = np.split(rng.permutation(3000)[:15], 3)
    for group in groups:
        A[:, group] += rng.standard_normal((30, 1))
    covariance = FactorCovariance(A)
    problem = JointProblem(covariance, question, (5, 5, 5), **settings)
    U = solved(problem)
    assert "matrix" not in vars(covariance)
    if question != "common" and not len(problem.forced):
        assert set(np.flatnonzero(U.any(axis=1))) == set(np.concatenate(groups))


PITPROPS = [
    ("common", (5,) * 2, 4.391046),
    ("common", (10,) * 3, 7.828490),
    ("disjoint", (3,) * 2, 0.3599 * 13),
    ("disjoint", (4,) * 3, 0.5577 * 13),
    ("disjoint", (2,) * 6, 0.74923 * 13),
    ("orthogonal", (7, 6, 2), 0.6007 * 13),
    ("orthogonal", (5,) * 3, 0.5931 * 13),
]


@pytest.mark.parametrize(("question", "sizes", "value"), PITPROPS)
def test_the_best_values_known_for_pitprops(question, sizes, value):
    problem = make(load_pitprops().covariance, question, sizes)
    assert value_of(problem, solved(problem)) >= value - 1e-6


@pytest.mark.parametrize(("k", "r", "value"), [(5, 2, 4.304063), (10, 3, 7.659183)])
def test_the_best_values_known_for_wine(k, r, value):
    from sklearn.datasets import load_wine

    problem = make(np.corrcoef(load_wine().data.T), "common", (k,) * r)
    assert value_of(problem, solved(problem)) >= value - 1e-6


def test_all_features_on_fewer_features_than_sizes_allow():
    """Disjoint components share the features there are, and orthonormal ones fill their supports."""
    S = random_matrix(0, 6)
    problem = make(S, "disjoint", (5, 5))
    truth = max(best_disjoint(S, sizes) for sizes in [(5, 1), (4, 2), (3, 3)])
    assert value_of(problem, solved(problem)) == pytest.approx(truth, rel=1e-9)
    problem = make(S, "orthogonal", (6, 6, 6))
    assert value_of(problem, solved(problem)) == pytest.approx(np.linalg.eigvalsh(S)[-3:].sum(), rel=1e-9)


def test_sizes_that_the_features_forced_in_use_up_are_refused():
    with pytest.raises(ValueError, match="force fewer"):
        solve_jointly(make(np.eye(4), "orthogonal", (1, 1), forced=np.array([2])))


@pytest.mark.parametrize(("question", "sizes", "settings"), QUESTIONS[::2])
def test_units_do_not_matter(question, sizes, settings):
    S = random_matrix(7, 7)
    values = [value_of(p := make(s * S, question, sizes, **settings), solved(p)) / s for s in (1.0, 1e-58)]
    assert values[1] == pytest.approx(values[0], rel=1e-6)
