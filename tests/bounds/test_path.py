"""Bounds along a path: every number of features has its own bound, whose witness proves it."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers import best_value, random_psd
from laconic.bounds import path
from laconic.bounds.path import prove_path
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance, covariance_of
from laconic.proof import Estimate, ProofError, UpperBound, proved_upper
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness
from laconic.search.greedy import Greedy, VarianceSorting
from laconic.search.problem import Problem


def path_of(covariance, last, **monitor):
    return Problem(covariance, last, monitor=Monitor(**monitor)), Greedy().path(Problem(covariance, last))


def assert_proved(bounds, covariance, truths):
    for k, (bound, truth) in enumerate(zip(bounds, truths, strict=True), start=1):
        assert isinstance(bound, UpperBound)
        assert bound.cardinality == k
        assert truth * (1 - 1e-13) <= bound.value
        assert bound.value == pytest.approx(proved_upper(covariance, k, bound.witness), rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_every_size_has_its_own_witness(seed, proof):
    S = random_psd(11, seed=seed)
    problem, solutions = path_of(DenseCovariance(S), 11)
    truths = [best_value(S, k) for k in range(1, 12)]
    assert_proved(prove_path(problem, solutions, proof), problem.covariance, truths)


def test_sizes_that_do_not_begin_at_one():
    S = random_psd(11, seed=0)
    problem, solutions = path_of(DenseCovariance(S), 7)
    bounds = prove_path(problem, solutions[3:], "tight")
    assert [bound.cardinality for bound in bounds] == [4, 5, 6, 7]
    assert all(bound.value >= best_value(S, bound.cardinality) * (1 - 1e-13) for bound in bounds)


def test_a_bound_of_a_larger_size_serves_smaller_ones(monkeypatch):
    """Supports of a poor method, so that one number of features leaves a visible gap and is proved by itself."""
    proved = []
    original = path.prove
    monkeypatch.setattr(path, "prove", lambda problem, *rest: proved.append(problem) or original(problem, *rest))
    S = np.eye(30) + 1e-3 * random_psd(30, seed=0)
    problem, solutions = path_of(DenseCovariance(S), 8)
    truths = [best_value(S, k) for k in (1, 2)] + [solution.value for solution in solutions[2:]]
    assert_proved(prove_path(problem, solutions, "fast"), problem.covariance, truths)
    assert len(proved) < 8
    proved.clear()
    poor = [VarianceSorting().solve(problem.with_cardinality(k)) for k in range(1, 9)]
    assert_proved(prove_path(problem, poor, "tight"), problem.covariance, [s.value for s in poor])


def test_a_stopped_path_proves_what_it_has():
    S = random_psd(12, seed=3)
    problem, solutions = path_of(DenseCovariance(S), 6, time_limit=1e-9)
    bounds = prove_path(problem, solutions, "tight")
    assert_proved(bounds, problem.covariance, [best_value(S, k) for k in range(1, 7)])


def test_after_the_time_limit_no_proof_reads_all_of_a_large_matrix():
    rows = np.random.default_rng(3).normal(size=(6, 2500))
    covariance = covariance_of(rows)[0]
    over, solutions = path_of(covariance, 3, time_limit=0.0)
    bounds = prove_path(over, solutions, "fast")
    assert {bound.kind for bound in bounds} == {"trace"}
    assert_proved(bounds, covariance, [solution.value for solution in solutions])


@dataclass(frozen=True)
class CutEntries:
    """A bound from outside: small entries are cut to zero, and the cut is paid for."""

    level: float = 0.2
    claimed: float = 1.0

    def estimates(self, problem, solution):  # noqa: ARG002 - the contract
        k, S = problem.cardinality, problem.covariance.submatrix(np.arange(problem.n_features))
        off = S - np.diag(S.diagonal())
        U = -np.clip(off, -self.level, self.level)
        value = np.linalg.eigvalsh(S + U)[-1] + (k - 1) * self.level
        yield Estimate(self.claimed * value, "l1 dual", k, DualWitness("l1 dual", multiplier=U))


@pytest.mark.parametrize("claimed", [1.0, 0.1, 10.0])
def test_a_bound_from_outside_is_proved_again(claimed):
    """A number that is too low does not pass: the gate computes its own from the witness."""
    S = random_psd(10, seed=5)
    problem, solutions = path_of(DenseCovariance(S), 5)
    bounds = prove_path(problem, solutions, CutEntries(0.2, claimed))
    assert_proved(bounds, problem.covariance, [best_value(S, k) for k in range(1, 6)])
    assert all(bound.kind == "l1 dual" for bound in bounds)


class Fails:
    """A bound from outside that the gate refuses."""

    def estimates(self, problem, solution):  # noqa: ARG002 - the contract
        yield Estimate(1.0, "exhaustive", problem.cardinality, ExhaustiveWitness())


def test_where_a_proof_fails_variances_count(monkeypatch):
    monkeypatch.setattr("laconic.proof.witness_plain.MOST_SUPPORTS", 3)
    problem, solutions = path_of(DenseCovariance(random_psd(8, seed=0)), 3)
    assert [bound.kind for bound in prove_path(problem, solutions, Fails())] == ["trace"] * 3


def test_a_path_of_which_nothing_is_proved_says_why():
    problem, solutions = path_of(DenseCovariance(1e-70 * random_psd(8, seed=0)), 3)
    for bound in prove_path(problem, solutions, "fast"):
        assert isinstance(bound, ProofError)
        assert "Rescale" in str(bound)
