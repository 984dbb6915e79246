"""No bound is below what exhaustive search finds, whatever the matrix; and the checker agrees with every one."""

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.every_bound import every_bound
from laconic.bounds.least import bound_and_improve, bound_support
from laconic.bounds.path_bounds import bound_path
from laconic.proof.witness_reduction import EliminationWitness, TwoGroupsWitness

from helpers import best_value, minus, random_psd, solved_exactly
from laconic import SparsePCA, verify
from laconic.core.arrays import PROVED
from laconic.core.monitor import Monitor
from laconic.covariance import (
    Covariance,
    DenseCovariance,
    FactorCovariance,
    SparseCovariance,
    SubsetCovariance,
    covariance_of,
)
from laconic.datasets import load_pitprops, spiked_rows
from laconic.proof import UpperBound, proved_upper
from laconic.proof.gate import kind_of
from laconic.proof.witness_tree import TreeWitness
from laconic.search.auto import Auto
from laconic.search.greedy import VarianceSorting
from laconic.search.problem import Problem
from matrices import MORE


def least_bound(covariance, k, proof="tight", **monitor):
    """Search, and return the least proved bound with its witness."""
    covariance = covariance if isinstance(covariance, Covariance) else DenseCovariance(covariance)
    problem = Problem(covariance, k, monitor=Monitor(**monitor))
    return bound_support(problem, Auto().solve(problem), proof)


# Matrices of a block, how many blocks make 10,000 problems, and those that are not left to `make test-all`.
BLOCK, BLOCKS, QUICK = 24, 96, 2


def assert_bounds(bounds, S, k, truth):
    """Each is above the truth, and so is what the checker makes of its witness, which is not above it."""
    size = np.abs(S).max()
    for name, bound in bounds.items():
        # A proved bound may be exact to the last digit, and the truth here is computed by LAPACK.
        assert bound.value >= truth - (1e-14 * size if isinstance(bound, UpperBound) else 0), name
        assert bound.cardinality == k
        proved = proved_upper(S, k, bound.witness)
        assert proved >= truth - 1e-14 * size, name
        assert proved <= bound.value + 1e-6 * max(abs(bound.value), size) + 1e-100 * (size == 0), name


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
            for effort in ("fast", "tight"):
                bounds[effort] = least_bound(covariance, k, effort)
            truth = best_value(S, k)
            assert_bounds(bounds, S, k, truth)
            assert bounds["tight"].value <= bounds["fast"].value
            # A value found is never proved to be far from a better one.
            # The gate adds the smallest number there is to zero.
            assert bounds["tight"].value <= truth + 1e-6 * max(abs(truth), np.abs(S).max()) + 1e-300
            count += 1
    return count


@pytest.mark.parametrize("block", [pytest.param(b, marks=() if b < QUICK else pytest.mark.slow) for b in range(BLOCKS)])
def test_no_bound_is_below_the_truth(block):
    assert look_at(range(block * BLOCK, (block + 1) * BLOCK)) > 50


def _sparse(rng):
    from scipy.sparse import random as random_sparse

    return covariance_of(random_sparse(8, 11, 0.4, random_state=int(rng.integers(100)), format="csr"))[0]


def _deflated(rng):
    S = random_psd(8, seed=int(rng.integers(100)))
    z = np.zeros(8)
    z[[1, 4]] = [0.6, 0.8]
    value = float(z @ S @ z)
    return minus(DenseCovariance(S), z, value)


COVARIANCES = {
    "factor": lambda rng: FactorCovariance(rng.standard_normal((4, 9))),
    "sparse": _sparse,
    "subset": lambda rng: SubsetCovariance(
        FactorCovariance(rng.standard_normal((6, 12))), np.array([0, 2, 3, 5, 7, 8, 10])
    ),
    "deflated": _deflated,
}


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("effort", ["fast", "tight"])
@pytest.mark.parametrize("limit", [None, 3])
def test_covariances_that_are_not_written_out(kind, effort, limit, monkeypatch):
    """With a limit of three features nothing may be written out or factored, as if there were many thousands."""
    covariance = COVARIANCES[kind](np.random.default_rng(5))
    assert kind != "sparse" or isinstance(covariance, SparseCovariance)
    if limit is not None:
        for module in ("tight", "fast", "path_bounds"):
            monkeypatch.setattr(f"laconic.bounds.{module}.WRITE_OUT_LIMIT", limit)
        for module in ("fast", "path_bounds"):
            monkeypatch.setattr(f"laconic.bounds.{module}.MOST_WRITTEN_OUT", limit)
        monkeypatch.setattr("laconic.bounds.tight.ALWAYS_L0_UP_TO", limit)
        monkeypatch.setattr("laconic.bounds.fast.FIRST_GROUP", limit)
        monkeypatch.setattr("laconic.bounds.fast.DECAY", 0.0)
    n = covariance.n_features
    S = covariance.submatrix(np.arange(n))
    problem = Problem(covariance, n)
    # Supports of a poor method, so that nothing is proved before a bound is asked for.
    solutions = [VarianceSorting().solve(problem.with_cardinality(k)) for k in range(1, n + 1)]
    path = bound_path(problem, solutions, effort)
    for k, solution in enumerate(solutions, start=1):
        truth = best_value(S, k)
        bound = bound_support(problem.with_cardinality(k), solution, effort)
        assert bound.value >= truth * (1 - 1e-14)
        assert bound.value <= min(bound.others.values()) * (1 + 1e-12)
        assert path[k - 1].cardinality == k
        for found in (bound, path[k - 1]):
            assert truth * (1 - 1e-14) <= found.value == proved_upper(covariance, k, found.witness)


def test_few_features_of_large_variance_decide():
    """Elimination keeps a handful of 2,500 features; the witness says why the others do not matter."""
    rows = spiked_rows(40, 2500, 6, signal=60.0, random_state=0).data
    covariance = covariance_of(rows, center=True, scale=False)[0]
    assert covariance.factor is not None
    bound = least_bound(covariance, 4)
    found = Auto().solve(Problem(covariance, 4))
    assert isinstance(bound.witness, EliminationWitness)
    assert len(bound.witness.kept) < 100
    assert found.value <= bound.value <= found.value * (1 + PROVED)
    assert proved_upper(covariance, 4, bound.witness) <= bound.value * (1 + 1e-9)


def words(n=3000, seed=0):
    """Counts of words that fall off as those of texts do, some of which go together."""
    rng = np.random.default_rng(seed)
    rates = 3.0 / np.arange(1, n + 1) ** 0.8
    topic = rng.gamma(0.5, 2.0, (400, 1)) * (rng.random(n) < 0.3)
    return sp.csr_array(rng.poisson(rates * (1 + topic)).astype(float))


def test_thousands_of_words_are_bounded_by_the_few_that_vary(monkeypatch):
    covariance = covariance_of(words(), center=True, scale=False)[0]
    problem = Problem(covariance, 6)
    found = Auto().solve(problem)
    fast = bound_support(problem, found, "fast")
    assert isinstance(fast.witness, TwoGroupsWitness)
    assert fast.kind == "two groups"
    assert fast.value < 0.5 * fast.others["trace"]
    assert found.value <= proved_upper(covariance, 6, fast.witness) <= fast.value * (1 + 1e-9)
    monkeypatch.setattr("laconic.bounds.tight.WRITE_OUT_LIMIT", 1000)
    tight = bound_support(problem, found, "tight")
    assert found.value <= tight.value <= found.value * (1 + PROVED)
    assert found.value <= proved_upper(covariance, 6, tight.witness) <= tight.value * (1 + 1e-9)
    assert kind_of(tight.witness) == tight.kind


def test_pitprops_is_proved_at_every_cardinality():
    S = load_pitprops().covariance
    values = [1.0, 1.954, 2.475, 2.937479, 3.406155, 3.770960, 3.996190, 4.068607, 4.138647, 4.172638, 4.208, 4.218]
    for k, value in enumerate(values, start=1):
        assert least_bound(S, k).value == pytest.approx(value, abs=1e-3 if k < 4 or k > 10 else 2e-6 * value)


def test_a_tree_that_is_its_root_is_called_row_levels():
    kinds = set()
    for seed in range(4):
        bound = least_bound(random_psd(30, seed=seed), 5)
        kinds.add(bound.kind)
        assert isinstance(bound.witness, TreeWitness) == (bound.kind == "branch and bound")
    assert "branch and bound" in kinds


@pytest.mark.parametrize("seconds", [1e-9, 0.05])
def test_a_time_limit_leaves_a_bound(seconds):
    S = np.corrcoef(np.random.default_rng(0).standard_normal((200, 120)), rowvar=False)
    bound = least_bound(S, 12, time_limit=seconds)
    assert np.isfinite(bound.value)
    assert bound.value >= Auto().solve(Problem(DenseCovariance(S), 12)).value


def _turned(n, seed):
    """c I - F'F, where no variance guides a search and exchanges get stuck."""
    F = np.random.default_rng(seed).standard_normal((3 * n // 4, n)) / np.sqrt(0.75 * n)
    G = F.T @ F
    return np.linalg.eigvalsh(G)[-1] * np.eye(n) - G


# A search that gets stuck there.
HASTY = Auto(polish=1, exhaustive=0)


@pytest.mark.parametrize("seed", [0, 12, 18])
def test_the_better_support_of_a_tight_proof_is_returned(seed):
    S = _turned(30, seed)
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
    S = _turned(30, 18)
    own = SparsePCA(cardinality=3, method="sorting", proof=None).fit_covariance(S)
    best = SparsePCA(cardinality=3, proof="exact").fit_covariance(S).lower_bound_[0]
    assert own.lower_bound_[0] < best * (1 - 1e-4)
    model = SparsePCA(cardinality=3, method="sorting", proof="tight").fit_covariance(S)
    assert np.array_equal(model.components_, own.components_)
    assert model.upper_bound_[0] >= best
    assert f"{best:.6g}" in model._each[0].note


@pytest.mark.parametrize("constraint", ["forced", "nonnegative"])
def test_a_better_support_is_not_taken_unless_it_may_be_chosen(constraint):
    S = _turned(30, 12)
    free = solved_exactly(Problem(DenseCovariance(S), 3))
    out = np.setdiff1d(np.arange(30), free.support)[:1]
    problem = Problem(
        DenseCovariance(S),
        3,
        forced=out if constraint == "forced" else np.empty(0, dtype=np.intp),
        nonnegative=constraint == "nonnegative",
    )
    assert constraint == "forced" or (free.loadings < 0).any()
    solution = HASTY.solve(problem)
    bound, best = bound_and_improve(problem, solution, "tight")
    assert best is solution
    # The gate may use that features are forced in, so the bound can be below the best value of all supports.
    truth = best_value(S, 3, forced=problem.forced) if constraint == "forced" else free.value
    assert bound.value >= truth * (1 - 1e-13)
    # One that holds what is asked for may be taken.
    allowed = Problem(DenseCovariance(S), 3, forced=free.support[:1])
    stuck = VarianceSorting().solve(allowed)
    assert stuck.value < free.value * (1 - 1e-4)
    assert bound_and_improve(allowed, stuck, "tight")[1].value == pytest.approx(free.value, rel=1e-9)
