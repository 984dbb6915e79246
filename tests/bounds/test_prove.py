"""Proofs: no bound is below what exhaustive search finds, whatever the matrix and effort; what ends them, and how."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.every_bound import every_bound

from helpers import (
    InterruptedCovariance,
    best_nonnegative,
    best_value,
    bound_of,
    certified,
    ctrl_c_is_caught,
    minus,
    path_of,
    random_psd,
)
from laconic import SparsePCA, verify
from laconic.bounds.prove import EFFORTS, Exact, check_proof, closes, prove
from laconic.core.arrays import PROVED
from laconic.core.monitor import Monitor
from laconic.covariance import (
    Covariance,
    DenseCovariance,
    FactorCovariance,
    Screening,
    SubsetCovariance,
    covariance_of,
)
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.data.rows import ArraySource
from laconic.datasets import load_pitprops, spiked_rows
from laconic.proof import Estimate, proved_upper
from laconic.proof import prove as proved_by_gate
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witness_steps import ByRows, ByVariances, StepsWitness
from laconic.proof.witness_tree import TreeWitness
from laconic.relaxations.elementary import elementary_bound
from laconic.search import Auto
from laconic.search.greedy import VarianceSorting
from laconic.search.problem import Problem, Status, solve_at_hand
from laconic.search.support import finish
from matrices import MORE


def proved(covariance, k, proof="tight", **monitor):
    """Search, and return the best solution and the least bound."""
    covariance = covariance if isinstance(covariance, Covariance) else DenseCovariance(covariance)
    problem = Problem(covariance, k, monitor=Monitor(**monitor))
    return prove(problem, Auto().solve(problem), proof)


def poor(problem, seed=0):
    """A random support, as if the search had failed."""
    free = np.setdiff1d(np.arange(problem.n_features), problem.forced)
    chosen = np.random.default_rng(seed).permutation(free)[: problem.cardinality - len(problem.forced)]
    return finish(problem, np.union1d(problem.forced, chosen).astype(np.intp), Status.LOCAL, method="poor")


@pytest.fixture
def small_is_large(monkeypatch):
    """Limits that lead small problems along the way of large ones."""
    monkeypatch.setattr("laconic.bounds.prove.SMALL", 3)
    monkeypatch.setattr("laconic.bounds.prove.FEW_SUPPORTS", 0)
    monkeypatch.setattr("laconic.bounds.reduction.FEWEST", 4)
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", 5)


# Matrices of a block, how many blocks make 10,000 problems, and those that are not left to `make test-all`.
BLOCK, BLOCKS, QUICK = 24, 96, 2


def assert_bounds(bounds, S, k, truth):
    """Each is above the truth, and so is what the checker makes of its witness, which is not above it."""
    size = np.abs(S).max()
    for name, bound in bounds.items():
        # A bound may be exact to the last digit, and the truth here is computed by LAPACK.
        assert bound.value >= truth - 1e-14 * size, name
        assert bound.cardinality == k
        again = proved_upper(S, k, bound.witness)
        assert again >= truth - 1e-14 * size, name
        assert again <= bound.value + 1e-6 * max(abs(bound.value), size) + 1e-100 * (size == 0), name


def look_at(numbers):
    """Look at all cardinalities of some matrices; return how many problems that were."""
    count = 0
    for number in numbers:
        n, name = 1 + number // 2 % 8, list(MORE)[number % len(MORE)]
        S = MORE[name](n, number)
        covariance = DenseCovariance(S, semidefinite=not np.linalg.eigvalsh(S)[0] < -1e-12 * np.abs(S).max())
        for k in range(1, len(S) + 1):
            bounds = every_bound(covariance, k)
            assert len(bounds) == 8
            truth = best_value(S, k)
            for effort in EFFORTS:
                best, bounds[effort] = proved(covariance, k, effort)
                assert best.value <= truth + 1e-12 * np.abs(S).max()
            assert_bounds(bounds, S, k, truth)
            # A value found is never proved to be far from a better one.
            # The gate adds the smallest number there is to zero.
            assert bounds["fast"].value <= truth + 1e-6 * max(abs(truth), np.abs(S).max()) + 1e-300
            count += 1
    return count


@pytest.mark.parametrize("block", [pytest.param(b, marks=() if b < QUICK else pytest.mark.slow) for b in range(BLOCKS)])
def test_no_bound_is_below_the_truth(block):
    assert look_at(range(block * BLOCK, (block + 1) * BLOCK)) > 50


def _deflated(rng):
    S = random_psd(9, seed=int(rng.integers(100)))
    z = np.zeros(9)
    z[[1, 4]] = [0.6, 0.8]
    return minus(DenseCovariance(S), z, float(z @ S @ z))


def _sparse(rng):
    return covariance_of(sp.random(8, 11, 0.4, random_state=int(rng.integers(100)), format="csr"))[0]


COVARIANCES = {
    "dense": lambda rng: DenseCovariance(random_psd(9, seed=int(rng.integers(100)))),
    "indefinite": lambda rng: DenseCovariance(
        random_psd(9, seed=int(rng.integers(100))) - np.eye(9), semidefinite=False
    ),
    "factor": lambda rng: FactorCovariance(rng.standard_normal((4, 9)) * np.linspace(2, 0.5, 9)),
    "sparse": _sparse,
    "subset": lambda rng: SubsetCovariance(FactorCovariance(rng.standard_normal((6, 12))), np.arange(0, 12, 2)),
    "deflated": _deflated,
    "projected": lambda rng: Deflation(FactorCovariance(rng.standard_normal((4, 9))), "projection").remove(
        np.eye(9)[2]
    ),
}


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("effort", EFFORTS)
def test_along_the_way_of_large_problems(kind, effort):
    """Variances and rows leave features out, and trees are grown on what is left; from good supports and poor ones."""
    ways = set()
    for seed in range(3):
        covariance = COVARIANCES[kind](np.random.default_rng(seed))
        n = covariance.n_features
        S = covariance.submatrix(np.arange(n))
        for k in range(1, n + 1):
            truth = best_value(S, k)
            problem = Problem(covariance, k)
            for first in (Auto().solve(problem), poor(problem, seed)):
                best, bound = prove(problem, replace(first, estimate=np.inf, witness=None), effort)
                assert first.value <= best.value <= truth * (1 + 1e-12)
                assert truth * (1 - 1e-13) <= bound.value
                assert bound.value == pytest.approx(proved_upper(covariance, k, bound.witness), rel=1e-12)
                assert bound.kind in bound.witness.kinds()
                if effort != "fast":
                    assert bound.value <= truth * (1 + 1.1e-6)
                    assert best.value == pytest.approx(truth, rel=1.1e-6)
                if isinstance(bound.witness, StepsWitness):
                    ways |= {type(step.how) for step in bound.witness.steps}
    assert ByRows in ways or kind in ("subset", "indefinite")
    assert ByVariances in ways or kind != "factor"


@pytest.mark.parametrize("proof", [*EFFORTS, Exact(gap=0.05), Exact(node_limit=1)])
@pytest.mark.parametrize("few", [True, False])
def test_features_forced_in(proof, few, request):
    if not few:
        request.getfixturevalue("small_is_large")
    for seed in range(4):
        S = random_psd(10, seed=seed) * np.outer(0.8 ** np.arange(10), 0.8 ** np.arange(10))
        for k, forced in ((1, [4]), (3, [7, 9]), (4, [0, 8]), (4, [2, 3, 5, 9]), (10, [1])):
            covariance = FactorCovariance(np.linalg.cholesky(S).T) if seed % 2 else DenseCovariance(S)
            problem = Problem(covariance, k, forced=np.array(forced))
            truth = best_value(S, k, forced)
            best, bound = prove(problem, poor(problem, seed), proof)
            assert np.isin(forced, best.support).all()
            assert best.value <= truth * (1 + 1e-12)
            assert truth * (1 - 1e-13) <= bound.value
            again = proved_upper(covariance, k, bound.witness, inside=np.array(forced))
            assert again == pytest.approx(bound.value, rel=1e-12)
            if proof == "exact":
                assert bound.value <= truth * (1 + 1.1e-6)


@pytest.mark.parametrize("proof", EFFORTS)
def test_nonnegative_loadings(proof):
    """A bound on all supports is one on those, and the support that is returned has only such loadings."""
    for seed in range(4):
        S = random_psd(8, seed=seed)
        for k in (1, 3, 8):
            problem = Problem(DenseCovariance(S), k, nonnegative=True)
            best, bound = prove(problem, Auto(exhaustive=0).solve(problem), proof)
            truth = best_nonnegative(S, k)
            assert (best.loadings >= 0).all()
            assert best.value <= truth * (1 + 1e-12)
            assert bound.value >= truth * (1 - 1e-13)
            assert bound.value == proved_upper(S, k, bound.witness)


@pytest.mark.parametrize("share", [0.5, 0.95, 1.0, 1.5])
def test_a_target(share):
    """Supports of the target or less are of no interest; what is said about the others is still true."""
    S = random_psd(12, seed=3)
    problem = Problem(DenseCovariance(S), 3)
    truth = best_value(S, 3)
    first = poor(problem)
    best, bound = prove(problem, first, "exact", target=share * truth)
    assert best.value >= first.value
    assert truth * (1 - 1e-13) <= bound.value
    assert bound.value <= max(truth, share * truth, best.value) * (1 + 1e-5) or share > 1
    assert share >= 1 or best.value == pytest.approx(truth, rel=1e-9)


def decaying_rows(seed, n=12, rows=40):
    """Rows with correlated columns whose variances decay."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, n)) + rng.standard_normal((rows, n))
    return mixed * 0.75 ** np.arange(n)


@pytest.mark.parametrize("proof", EFFORTS)
@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_holds_for_hidden_features(seed, deflation, proof):
    """Against exhaustive search on the whole matrix, which textbook formulas deflate."""
    rows = decaying_rows(seed)
    S = np.cov(rows, rowvar=False)
    kept = np.sort(np.argsort(-S.diagonal())[:7])
    left = Deflation(Screening(ArraySource(rows)).with_columns(kept), deflation)
    whole = Deflation(DenseCovariance(S), deflation)
    for k in (3, 1, 2, 4):
        problem = Problem(left.current, k)
        solution, bound = prove(problem, solve_at_hand(Auto(), problem), proof)
        matrix = whole.current.submatrix(np.arange(len(S)))
        assert bound.value >= best_value(matrix, k) * (1 - 1e-12)
        block = matrix[np.ix_(solution.support, solution.support)]
        assert solution.value == pytest.approx(np.linalg.eigvalsh(block)[-1])
        assert set(solution.support) <= set(kept)
        for deflated in (left, whole):
            deflated.remove(solution.vector(len(S)))


def made_counts(rows=3000, columns=4000, seed=0):
    """Counts with columns that thin out as words do, and two groups of words that occur together."""
    rng = np.random.default_rng(seed)
    rate = 0.8 / (1 + np.arange(columns)) ** 0.9
    counts = rng.poisson(rate, (rows, columns)).astype(np.float64)
    counts[np.arange(columns) % rows, np.arange(columns)] += 1  # no column is constant
    counts[: rows // 4, [20, 30, 40]] += rng.poisson(4.0, (rows // 4, 1))
    counts[-rows // 5 :, [25, 35]] += rng.poisson(4.0, (rows // 5, 1))
    return sp.csr_array(counts)


@pytest.fixture(scope="module")
def counts():
    return made_counts()


def test_sparse_rows_are_proved_from_the_columns_at_hand(counts):
    model = SparsePCA(2, cardinality=[3, 2]).fit(counts)
    assert [s.tolist() for s in model.supports_] == [[20, 30, 40], [25, 35]]
    for certificate in model.certificates_:
        assert len(certificate.witness.reads(counts.shape[1])) < counts.shape[1] / 2
        assert verify(certificate, counts)
        assert verify(certificate, counts.tocsc())
        assert verify(certificate, ArraySource(counts))
        assert not verify(certificate, counts * 2)
    dense = np.cov(counts.toarray(), rowvar=False)
    z = model.components_[0]
    assert model.lower_bound_[0] == pytest.approx(float(z @ dense @ z), rel=1e-12)
    assert model.explained_variance_ratio_[0] == pytest.approx(float(z @ dense @ z) / np.trace(dense), rel=1e-12)
    assert np.allclose(model.transform(ArraySource(counts)), model.transform(counts))


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_later_components_are_proved_for_all_features(counts, deflation):
    model = SparsePCA(2, cardinality=[3, 2], deflation=deflation, proof="tight").fit(counts)
    assert (model.gap_ <= 1e-6).all()
    for certificate in model.certificates_:
        assert verify(certificate, counts), verify(certificate, counts).reason


def test_settings_that_name_features_work_with_hidden_ones(counts):
    last = counts.shape[1] - 1
    model = SparsePCA(cardinality=3, forced_in=[last]).fit(counts)
    assert last in model.supports_[0]
    assert verify(model.certificates_[0], counts)
    model = SparsePCA(2, cardinality=2, joint="disjoint").fit(counts)
    assert not set(model.supports_[0]) & set(model.supports_[1])
    assert all(verify(certificate, counts) for certificate in model.certificates_)


def test_paths_bounds_and_chosen_supports_work_with_hidden_features(counts):
    path = path_of(counts, 4)
    assert (np.diff(path.values) >= 0).all()
    assert all(verify(certificate, counts) for certificate in path.certificates)
    bound = bound_of(counts, 3)
    assert bound == pytest.approx(path.upper_bounds[2], rel=0.05)
    own = certified(counts, [20, 30, counts.shape[1] - 1])
    assert own.upper >= path.values[2] * (1 - 1e-9)
    assert verify(own, counts)


@pytest.mark.parametrize("method", ["greedy", "gpower-l0-block", "dspca"])
def test_other_methods_see_the_features_at_hand(counts, method):
    model = SparsePCA(2, cardinality=3, method=method).fit(counts)
    assert model.supports_[0].tolist() == [20, 30, 40]
    assert all(c is None or verify(c, counts) for c in model.certificates_)


def test_no_tree_is_grown_where_hidden_features_alone_reach_more():
    """Eight hidden variances are larger than the best bound on the features at hand, and no tree changes that."""
    rows = np.random.default_rng(0).standard_normal((200, 60)) * np.linspace(1.2, 1, 60)
    covariance = Screening(ArraySource(rows)).with_columns(np.arange(30))
    problem = Problem(covariance, 8)
    best, bound = prove(problem, solve_at_hand(Auto(), problem), "tight")
    assert best.status is Status.TOO_MANY
    assert "only the variances are used" in best.reason
    assert "branch and bound" not in best.reason
    assert bound.value >= -np.sort(-rows.var(axis=0, ddof=1)[30:])[:8].sum()


def test_thousands_of_words_are_proved_by_the_few_that_vary():
    """Counts of words that fall off as those of texts do, some of which go together."""
    rng = np.random.default_rng(0)
    rates = 3.0 / np.arange(1, 3001) ** 0.8
    topic = rng.gamma(0.5, 2.0, (400, 1)) * (rng.random(3000) < 0.3)
    covariance = covariance_of(sp.csr_array(rng.poisson(rates * (1 + topic)).astype(float)), scale=False)[0]
    bound = proved(covariance, 6, "fast")[1]
    assert bound.value < 0.5 * proved_upper(covariance, 6, TraceWitness())
    found, bound = proved(covariance, 6, "tight")
    assert found.value <= bound.value <= found.value * (1 + PROVED)
    assert any(isinstance(step.how, ByVariances) for step in bound.witness.steps)
    assert len(bound.witness.innermost.features) < 1000


@pytest.mark.parametrize("n", [300, 700])
def test_few_features_decide(n):
    """A group of twelve strong features. The witness shows why the others are of no use."""
    rng = np.random.default_rng(0)
    A = 0.3 * rng.standard_normal((400, n))
    A[:, :12] += rng.standard_normal((400, 1)) * np.linspace(1.5, 1, 12) + 0.5 * rng.standard_normal((400, 12))
    solution, bound = proved(np.cov(A.T), 6, "fast")
    assert bound.value <= solution.value * (1 + PROVED)
    assert n < 400 or isinstance(bound.witness, StepsWitness)


@pytest.mark.parametrize("seed", range(2))
def test_wide_standardised_rows(seed):
    """A group among thousands of features of 38 rows: all pairs are looked at, and no matrix of all is held."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((38, 2500))
    X[:, 100:400] += 1.5 * rng.standard_normal((38, 1))
    X[:, 2000:2010] += 4 * rng.standard_normal((38, 1))
    model = SparsePCA(cardinality=8, scale=True).fit(X)
    assert model.gap_[0] < 1e-6
    assert any(isinstance(step.how, ByRows) for step in model.certificates_[0].witness.steps)
    assert verify(model.certificates_[0], X)


def test_pitprops_is_proved_at_every_cardinality():
    S = load_pitprops().covariance
    values = [1.0, 1.954, 2.475, 2.937479, 3.406155, 3.770960, 3.996190, 4.068607, 4.138647, 4.172638, 4.208, 4.218]
    for k, value in enumerate(values, start=1):
        for effort in EFFORTS:
            assert proved(S, k, effort)[1].value == pytest.approx(value, abs=1e-3 if k < 4 or k > 10 else 2e-6 * value)


@pytest.mark.parametrize("k", [4, 8, 15])
def test_it_is_much_lower_than_eigenvalues_and_row_sums(k):
    """Features in groups that overlap: standardised, with many supports of nearly the same value."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((200, 13))
    X = common[:, np.arange(60) // 5] + common[:, (np.arange(60) + 2) // 5] + 1.2 * rng.standard_normal((200, 60))
    S = np.corrcoef(X, rowvar=False)
    solution, bound = proved(S, k, replace(EFFORTS["fast"], features=0))
    gap = bound.value / solution.value - 1
    assert 0 <= gap < 0.1
    assert gap < 0.3 * (elementary_bound(DenseCovariance(S), k).value / solution.value - 1)


def test_a_tree_that_is_its_root_is_called_row_levels():
    kinds = set()
    for seed in range(4):
        bound = proved(random_psd(30, seed=seed), 5)[1]
        kinds.add(bound.kind)
        steps = isinstance(bound.witness, StepsWitness)
        direct = bound.witness.innermost.how if steps else bound.witness
        assert isinstance(direct, TreeWitness) == (bound.kind == "branch and bound")
    assert "branch and bound" in kinds


# What ends a proof.


@pytest.mark.parametrize("proof", [*EFFORTS, Exact(gap=0.1)])
@pytest.mark.parametrize("seconds", [0.0, 1e-9, 0.05])
def test_a_time_limit_leaves_a_bound(proof, seconds):
    S = np.corrcoef(np.random.default_rng(0).standard_normal((200, 120)), rowvar=False)
    first = Auto().solve(Problem(DenseCovariance(S), 12))
    problem = Problem(DenseCovariance(S), 12, monitor=Monitor(seconds))
    best, bound = prove(problem, first, proof)
    assert np.isfinite(bound.value)
    assert first.value <= best.value <= bound.value
    reached = isinstance(proof, Exact) and bound.value <= first.value * (1 + proof.gap)
    if problem.monitor.stopped is not None:
        assert best.status is (Status.GAP_REACHED if reached else Status.TIME_LIMIT)


@pytest.mark.parametrize("proof", EFFORTS)
@pytest.mark.parametrize("at", [1, 2, 3, 5, 9, 20])
def test_ctrl_c_leaves_a_bound(proof, at, monkeypatch):
    monkeypatch.setattr("laconic.bounds.prove.FEW_SUPPORTS", 0)
    S = random_psd(12, seed=1)
    covariance = InterruptedCovariance(S, np.inf)
    problem = Problem(covariance, 4)
    first = poor(problem)
    covariance.at, covariance.calls = at, 0
    with ctrl_c_is_caught(proof):
        best, bound = prove(problem, first, proof)
    stopped = problem.monitor.stopped is not None
    assert stopped == (covariance.calls >= at)
    ended = Status.INTERRUPTED if stopped and not closes(bound, best) else Status.COMPLETE
    assert best.status is ended or proof == "fast"
    truth = best_value(S, 4)
    assert first.value <= best.value <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-13) <= bound.value


def noise(n=60, seed=0):
    return np.corrcoef(np.random.default_rng(seed).standard_normal((90, n)), rowvar=False)


def test_how_a_tree_ended():
    S = noise()
    first = Auto().solve(Problem(DenseCovariance(S), 8))
    ends = {}
    for proof in (Exact(), Exact(gap=0.2), Exact(node_limit=1), "tight", "exact"):
        best, bound = prove(Problem(DenseCovariance(S), 8), first, proof)
        ends[str(proof)] = best.status
        gap = bound.value / best.value - 1
        assert (gap <= PROVED) == (best.status is Status.COMPLETE)
        assert "branch and bound" in best.reason
        if isinstance(proof, Exact) and proof.gap == 0.2:
            assert PROVED < gap <= 0.2 * (1 + 1e-6)
            assert best.status is Status.GAP_REACHED
    assert ends[str(Exact(node_limit=1))] is Status.NODE_LIMIT
    assert ends["exact"] is Status.COMPLETE


def test_more_features_than_a_tree_is_grown_on(monkeypatch):
    """A limit on what is written out; the reason says how many features are left, and the status that they are many."""
    monkeypatch.setattr("laconic.bounds.prove.SMALL", 5)
    effort = replace(EFFORTS["exact"], features=30)
    problem = Problem(DenseCovariance(noise()), 8)
    best, bound = prove(problem, Auto().solve(problem), effort)
    assert best.status is Status.TOO_MANY
    assert "60 features may be in a better support" in best.reason
    assert bound.value >= best.value


def test_no_proof_takes_only_the_bound_of_the_solver():
    S = random_psd(8, seed=0)
    problem = Problem(DenseCovariance(S), 3)
    best, bound = prove(problem, Auto().solve(problem), None)
    assert bound.kind == "exhaustive"
    assert prove(problem, poor(problem), None)[1].kind == "trace"
    assert best.value == pytest.approx(best_value(S, 3))


# Better supports that are found on the way.


def turned(n, seed):
    """c I - F'F, where no variance guides a search and exchanges get stuck."""
    F = np.random.default_rng(seed).standard_normal((3 * n // 4, n)) / np.sqrt(0.75 * n)
    G = F.T @ F
    return np.linalg.eigvalsh(G)[-1] * np.eye(n) - G


# A search that gets stuck there.
HASTY = Auto(polish=1, exhaustive=0)


@pytest.mark.parametrize("seed", [0, 12, 18])
def test_the_better_support_of_a_proof_is_returned(seed):
    S = turned(30, seed)
    before = HASTY.solve(Problem(DenseCovariance(S), 3))
    best = SparsePCA(cardinality=3, proof="exact").fit_covariance(S)
    assert before.value < best.lower_bound_[0] * (1 - 1e-4)
    model = SparsePCA(cardinality=3, method=HASTY, proof="tight").fit_covariance(S)
    assert model.lower_bound_[0] == pytest.approx(best.lower_bound_[0], rel=1e-9)
    assert model.verdicts_[0].startswith("Optimal")
    assert "on the way to the proof" in model._each[0].note
    z = model.components_[0]
    assert z @ S @ z == pytest.approx(model.lower_bound_[0])
    assert np.array_equal(np.flatnonzero(z), model.supports_[0])
    assert model.certificates_[0].lower == pytest.approx(model.lower_bound_[0])
    assert verify(model.certificates_[0], S)


def test_a_method_chosen_by_name_keeps_its_support_and_says_what_is_known():
    S = turned(30, 18)
    own = SparsePCA(cardinality=3, method="sorting", proof=None).fit_covariance(S)
    best = SparsePCA(cardinality=3, proof="exact").fit_covariance(S).lower_bound_[0]
    assert own.lower_bound_[0] < best * (1 - 1e-4)
    model = SparsePCA(cardinality=3, method="sorting", proof="tight").fit_covariance(S)
    assert np.array_equal(model.components_, own.components_)
    assert model.upper_bound_[0] >= best
    assert f"{best:.6g}" in model._each[0].note


def test_a_better_support_is_not_taken_unless_it_may_be_chosen():
    S = turned(30, 12)
    free = proved(S, 3, "exact")[0]
    assert (free.loadings < 0).any()
    problem = Problem(DenseCovariance(S), 3, nonnegative=True)
    solution = HASTY.solve(problem)
    best, bound = prove(problem, solution, "tight")
    assert (best.loadings >= 0).all()
    assert bound.value >= free.value * (1 - 1e-13)
    # One that has what is asked for may be taken.
    allowed = Problem(DenseCovariance(S), 3, forced=free.support[:1])
    stuck = VarianceSorting().solve(allowed)
    assert stuck.value < free.value * (1 - 1e-4)
    assert prove(allowed, stuck, "tight")[0].value == pytest.approx(free.value, rel=1e-9)


@dataclass(frozen=True)
class Noted(Auto):
    """Auto that counts its whole searches."""

    searches: ClassVar[list] = []

    def solve(self, problem, *, start=None):
        self.searches.append(start)
        return super().solve(problem, start=start)


def test_a_proved_first_support_ends_the_search():
    Noted.searches.clear()
    rows = spiked_rows(300, 150, 8, signal=5.0, rng=0)
    model = SparsePCA(cardinality=8, method=Noted()).fit(rows.data)
    assert not Noted.searches
    assert model.verdicts_[0].startswith("Optimal")
    assert "few directions" in model._each[0].note
    assert verify(model.certificates_[0], rows.data)
    assert SparsePCA(cardinality=8, method=Noted(), proof=None).fit(rows.data).certificates_ == [None]
    assert len(Noted.searches) == 1


@pytest.mark.parametrize("settings", [{}, {"nonnegative": True}, {"forced_in": [3, 7]}])
def test_a_gap_leads_to_the_whole_search(settings):
    """It starts from the first support, and the result is no worse than without a bound."""
    Noted.searches.clear()
    X = np.random.default_rng(0).standard_normal((60, 160))
    guided = SparsePCA(2, cardinality=6, method=Noted(), **settings).fit(X)
    assert [start is not None for start in Noted.searches] == [True, True]
    plain = SparsePCA(2, cardinality=6, proof=None, **settings).fit(X)
    assert guided.lower_bound_[0] >= plain.lower_bound_[0] * (1 - 1e-12)
    assert np.isfinite(guided.upper_bound_).all()
    assert all(verify(certificate, X) for certificate in guided.certificates_)


# Bounds of the user's own.


@dataclass(frozen=True)
class Own:
    """A bound that yields some estimates."""

    yielded: tuple

    def estimates(self, problem, solution):  # noqa: ARG002 - the contract
        yield from self.yielded


def test_a_bound_of_ones_own_is_what_its_witness_proves():
    S = random_psd(9, seed=2)
    problem = Problem(DenseCovariance(S), 3)
    truth = best_value(S, 3)
    trace, rows = proved_by_gate(S, 3, TraceWitness()), proved_by_gate(S, 3, RowSumWitness())
    first = poor(problem)

    def bound(*yielded):
        return prove(problem, first, Own(yielded))[1]

    for claimed in (0.0, truth / 2, 100 * truth):
        assert bound(Estimate(claimed, "trace", 3, TraceWitness())).value == trace.value
    assert bound(trace, rows).value == min(trace.value, rows.value)
    assert bound().kind == "trace"
    # One that is proved for another size, or of a witness that does not fit, counts for nothing by itself.
    assert bound(proved_by_gate(S, 1, ExhaustiveWitness())).value >= truth
    assert bound(Estimate(0.0, "any", 3, ByRows(0, 0, np.arange(2)))).value == trace.value


@pytest.mark.parametrize("proof", ["best", 3, Own])
def test_proofs_that_make_no_sense(proof):
    with pytest.raises(ValueError, match="must be 'fast', 'tight', 'exact', or an object"):
        check_proof(proof)


def test_what_closes_a_gap():
    solution = poor(Problem(DenseCovariance(np.eye(3)), 1))
    assert not closes(None, solution)
    assert closes(Estimate(1 + 1e-7, "", 1, TraceWitness()), solution)
    assert not closes(Estimate(1 + 1e-5, "", 1, TraceWitness()), solution)
