import numpy as np
import pytest
import scipy.sparse as sp

from helpers import assert_valid, random_psd
from laconic import SparsePCA
from laconic.covariance import DenseCovariance
from laconic.datasets import spiked_rows
from laconic.model.settings import MOST_BY_PRODUCTS
from laconic.search import GeneralizedPower, TruncatedPower
from laconic.search.problem import Problem, Status


def planted(seed, n=60, k=6, signal=8.0):
    rows = spiked_rows(400, n, k, signal=signal, rng=seed)
    return np.cov(rows.data, rowvar=False), rows.support


@pytest.mark.parametrize("seed", range(2))
def test_finds_the_planted_support(seed):
    S, support = planted(seed)
    solution = TruncatedPower().solve(Problem(DenseCovariance(S), 6))
    assert solution.support.tolist() == support.tolist()
    assert solution.status is Status.HEURISTIC


@pytest.mark.parametrize("k", [2, 6, 12])
@pytest.mark.parametrize("seed", range(2))
def test_the_answer_is_a_fixed_point(seed, k):
    """One more step from the answer keeps its support: every |Sz| inside is at least every |Sz| outside."""
    S, _ = planted(seed)
    solution = TruncatedPower(max_iterations=2000).solve(Problem(DenseCovariance(S), k))
    image = np.abs(S @ solution.vector(len(S)))
    outside = np.delete(image, solution.support)
    assert image[solution.support].min() >= outside.max() * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_indefinite_matrix_is_shifted(seed):
    """A negative eigenvalue larger in size than the positive ones must not attract the iteration."""
    rng = np.random.default_rng(seed)
    u, w = np.zeros(12), np.zeros(12)
    u[:3], w[6:9] = 1 / np.sqrt(3), 1 / np.sqrt(3)
    S = 2 * np.outer(u, u) - 7 * np.outer(w, w) + 0.01 * random_psd(12, 30, int(rng.integers(100)))
    solution = TruncatedPower().solve(Problem(DenseCovariance(S, semidefinite=False), 3))
    assert solution.support.tolist() == [0, 1, 2]
    assert solution.value == pytest.approx(2, abs=0.1)


def three_spikes(seed, n=30):
    """Three planted components on disjoint supports of five features, with variances apart."""
    rng = np.random.default_rng(seed)
    supports = np.sort(rng.permutation(n)[:15].reshape(3, 5), axis=1)
    u = np.zeros((3, n))
    for row, support in zip(u, supports, strict=True):
        row[support] = rng.choice([-1.0, 1.0], 5) / np.sqrt(5)
    data = rng.standard_normal((600, 3)) * np.sqrt([30.0, 20.0, 12.0]) @ u + rng.standard_normal((600, n))
    return np.cov(data, rowvar=False), u, supports


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_single_unit_finds_the_planted_support(penalty, seed):
    rows = spiked_rows(500, 60, 6, signal=6.0, rng=seed)
    S = np.cov(rows.data, rowvar=False)
    solution = GeneralizedPower(penalty).solve(Problem(DenseCovariance(S), 6))
    assert solution.support.tolist() == rows.support.tolist()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_block_finds_three_planted_components_together(penalty, seed):
    S, u, supports = three_spikes(seed)
    found = GeneralizedPower(penalty, block=True).solve_jointly(Problem(DenseCovariance(S), 5), [5, 5, 5])
    assert [s.support.tolist() for s in found] == supports.tolist()
    components = np.array([s.vector(30) for s in found])
    # the components are as orthogonal as what was planted, and close to it
    assert np.abs(components @ components.T - np.eye(3)).max() < 1e-12
    assert (np.abs(np.einsum("ij,ij->i", components, u)) > 0.97).all()
    for solution in found:
        assert_valid(solution, S, 5)


def test_unknown_penalty_is_refused():
    with pytest.raises(ValueError, match="norm='l2' must be 'l1' or 'l0'"):
        GeneralizedPower("l2")


def test_block_method_takes_no_share_and_no_question_about_all():
    S, _, _ = three_spikes(0)
    with pytest.raises(ValueError, match="block method needs cardinality="):
        SparsePCA(2, cardinality=0.9, method="gpower-l1-block").fit_covariance(S)
    with pytest.raises(ValueError, match=r"joint=.disjoint. searches in a way of its own"):
        SparsePCA(2, cardinality=3, method="gpower-l1-block", joint="disjoint").fit_covariance(S)


@pytest.mark.parametrize("time_limit", [None, 1e-9])
@pytest.mark.parametrize("forced", [None, [0]])
@pytest.mark.parametrize("method", ["gpower-l1-block", "gpower-l0-block"])
def test_no_component_of_a_block_is_another_again(method, forced, time_limit):
    """One variance is far above the others, so that every component alone would be about it."""
    for seed in range(2):
        X = np.random.default_rng(seed).standard_normal((50, 8)) @ np.diag(np.arange(1, 9.0) ** 2)
        model = SparsePCA(3, cardinality=4, method=method, forced_in=forced, time_limit=time_limit).fit(X)
        assert (model.explained_variance_ > 0.01 * model.total_variance_).all()


def test_components_of_a_block_that_explain_nothing_are_refused():
    S = random_psd(6, 20, 0)
    with pytest.raises(ValueError, match="Component 2 of n_components=2, found together, explains nothing"):
        SparsePCA(2, cardinality=1, forced_in=[3], method="gpower-l1-block").fit_covariance(S)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kind", ["tall", "sparse", "wide and sparse"])
def test_a_few_products_give_what_the_matrix_gives(kind, scale):
    """Without a proof the rows are an operator, and for many components a matrix: both give the same components."""
    X = np.random.default_rng(0).poisson(np.geomspace(4, 0.05, 2500), (300, 2500)).astype(float)
    X = X[:, :120] if kind == "tall" else sp.csr_array(X[:, :120] if kind == "sparse" else X)
    settings = {"cardinality": 6, "method": "truncated-power", "scale": scale, "proof": None}
    few, many = (SparsePCA(r, **settings).fit(X) for r in (2, MOST_BY_PRODUCTS + 1))
    assert [s.tolist() for s in few.supports_] == [s.tolist() for s in many.supports_[:2]]
    assert few.explained_variance_ == pytest.approx(many.explained_variance_[:2], rel=1e-9)
    assert few.total_variance_ == pytest.approx(many.total_variance_, rel=1e-12)
