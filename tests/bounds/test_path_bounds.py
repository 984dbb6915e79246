"""Bounds along a path: every cardinality has its own gated bound, whose witness proves it."""

from dataclasses import dataclass

import numpy as np
import pytest
from laconic.bounds.fast import check_proof
from laconic.bounds.least import bound_support
from laconic.bounds.path_bounds import bound_path, prove_path

from helpers import best_value, bound_of, random_psd
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance, covariance_of
from laconic.proof import Estimate, ProofError, UpperBound, proved_upper
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.search.greedy import Greedy
from laconic.search.problem import Problem


def path_of(covariance, last):
    problem = Problem(covariance, last)
    return problem, Greedy().path(problem)


def assert_proved(bounds, covariance, truths):
    for k, (bound, truth) in enumerate(zip(bounds, truths, strict=True), start=1):
        assert isinstance(bound, UpperBound)
        assert bound.cardinality == k
        assert truth * (1 - 1e-13) <= bound.value == proved_upper(covariance, k, bound.witness)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_every_cardinality_has_its_own_witness(seed, proof):
    S = random_psd(11, seed=seed)
    problem, solutions = path_of(DenseCovariance(S), 11)
    truths = [best_value(S, k) for k in range(1, 12)]
    assert_proved(bound_path(problem, solutions, proof), problem.covariance, truths)


def test_a_stopped_path_proves_what_it_has():
    S = random_psd(12, seed=3)
    covariance = DenseCovariance(S)
    _, solutions = path_of(covariance, 6)
    bounds = bound_path(Problem(covariance, 6, monitor=Monitor(1e-9)), solutions, "tight")
    assert_proved(bounds, covariance, [best_value(S, k) for k in range(1, 7)])


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
    own = CutEntries(0.2, claimed)
    problem, solutions = path_of(DenseCovariance(S), 5)
    bounds = bound_path(problem, solutions, own)
    assert_proved(bounds, problem.covariance, [best_value(S, k) for k in range(1, 6)])
    assert all(bound.kind == "l1 dual" for bound in bounds)
    # Of so few features all supports are evaluated, and that is proved, too.
    assert best_value(S, 3) <= bound_of(S, 3, proof=own) <= bounds[2].value
    assert bound_support(problem.with_cardinality(3), solutions[2], own).value == bounds[2].value


def test_a_proof_that_fails_says_why(monkeypatch):
    monkeypatch.setattr("laconic.proof.witness_plain.MOST_SUPPORTS", 3)
    problem, _ = path_of(DenseCovariance(random_psd(8, seed=0)), 3)
    fails = Estimate(1.0, "exhaustive", 1, ExhaustiveWitness())
    trace = Estimate(2.0, "trace", 1, TraceWitness())
    bounds = prove_path(problem, [[fails], [fails, trace], []])
    assert isinstance(bounds[0], ProofError)
    assert "8 supports of 1; at most 3" in str(bounds[0])
    assert [bound.kind for bound in bounds[1:]] == ["trace", "trace"]


@pytest.mark.parametrize("proof", ["best", None, 3, CutEntries])
def test_proofs_that_make_no_sense(proof):
    with pytest.raises(ValueError, match="must be 'fast', 'tight', 'exact', or an object"):
        check_proof(proof)


def test_after_the_time_limit_no_proof_reads_all_of_a_large_matrix():
    rows = np.random.default_rng(3).normal(size=(6, 2500))
    covariance = covariance_of(rows)[0]
    problem, solutions = path_of(covariance, 3)
    wide = [
        [Estimate(1.0, "row sums", k, RowSumWitness()), Estimate(2.0, "trace", k, TraceWitness())] for k in (1, 2, 3)
    ]
    assert "row sums" in {bound.kind for bound in prove_path(problem, wide)}
    over = Problem(covariance, 3, monitor=Monitor(time_limit=0.0))
    late = prove_path(over, wide)
    assert {bound.kind for bound in late} == {"trace"}
    assert_proved(late, covariance, [solution.value for solution in solutions])
    # A proof that reads few features, and one that is done, still count.
    proved = prove_path(problem, wide)
    assert [bound.value for bound in prove_path(over, [[bound] for bound in proved])] == [b.value for b in proved]
