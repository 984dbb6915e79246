"""From a solution to its bound, its certificate and its status."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import InterruptedCovariance, best_value, ctrl_c_is_caught, random_psd
from laconic import SparsePCA, verify
from laconic.bounds.least import closes
from laconic.core.monitor import Stop
from laconic.covariance import DenseCovariance
from laconic.data.digest import digest_of
from laconic.model.conclusion import Question, Subject, bounded, concluded
from laconic.proof import MatrixDescription
from laconic.search import Exhaustive, Greedy
from laconic.search.problem import Problem, Solution, Status

S = random_psd(9, seed=0)
PROBLEM = Problem(DenseCovariance(S), 3)
SUBJECT = Subject(digest_of(S), MatrixDescription("covariance"))


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_ctrl_c_in_the_middle_of_the_bounds(at, proof):
    matrix = random_psd(25, seed=0)
    solution = Greedy().solve(Problem(DenseCovariance(matrix), 5))
    problem = Problem(InterruptedCovariance(matrix, at), 5)
    with ctrl_c_is_caught(proof):
        found, bound = bounded(problem, solution, proof)
    assert np.array_equal(found.support, solution.support)
    assert bound is None or bound.value >= best_value(matrix, 5)


def question_of(problem):
    """The question of a problem on all features."""
    return Question(problem.covariance, np.arange(problem.n_features), problem, np.empty(0, dtype=np.intp))


def test_ctrl_c_while_a_certificate_is_made_keeps_the_components(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("laconic.model.conclusion.certify", interrupted)
    with ctrl_c_is_caught("the certificate"):
        model = SparsePCA(2, cardinality=3, method="greedy").fit_covariance(S)
    assert model.n_components_ == 2
    assert model.certificates_ == [None, None]
    assert np.isfinite(model.upper_bound_).all()
    assert model.solutions_[0].status in (Status.INTERRUPTED, Status.OPTIMAL)


def test_a_solver_that_claims_too_much_gets_the_proved_number():
    solution = Greedy().solve(PROBLEM)
    _, bound = bounded(PROBLEM, solution, "fast")
    boastful = replace(solution, estimate=solution.value, status=Status.COMPLETE)
    final, certificate = concluded(question_of(PROBLEM), boastful, bound, None, SUBJECT)
    assert certificate.upper == final.upper >= best_value(S, 3)
    assert (final.status is Status.OPTIMAL) == certificate.proved
    assert verify(certificate, S)


def test_no_bound_of_a_component_without_variance():
    nothing = Solution(np.array([0]), np.array([1.0]), 0.0, Status.HEURISTIC)
    problem = Problem(DenseCovariance(np.eye(3)), 1)
    assert bounded(problem, nothing, "tight") == (nothing, None)
    assert concluded(question_of(problem), nothing, None, None, SUBJECT)[1] is None


SEARCHES = [Status.LOCAL, Status.HEURISTIC, Status.COMPLETE, Status.NODE_LIMIT, Status.TIME_LIMIT]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("stopped", [None, Stop.TIME_LIMIT, Stop.INTERRUPTED])
def test_the_status_joins_the_search_the_stop_and_the_proof(search, stopped):
    best = replace(Exhaustive().solve(PROBLEM), status=search)
    _, bound = bounded(PROBLEM, best, None)
    assert closes(bound, best)
    question = question_of(PROBLEM)
    # A proof that closes the gap counts for more than how the search ended.
    assert concluded(question, best, bound, stopped)[0].status is Status.OPTIMAL
    unproved = concluded(question, best, None, stopped)[0].status
    if stopped is not None and search in (Status.LOCAL, Status.HEURISTIC):
        assert unproved is Status[stopped.name]
    else:
        assert unproved is search


@pytest.mark.parametrize("search", [Status.PENALTY_COMPLETE, Status.JOINTLY_COMPLETE])
def test_a_search_that_compared_more_keeps_its_status(search):
    best = replace(Exhaustive().solve(PROBLEM), status=search)
    final, _ = concluded(question_of(PROBLEM), best, bounded(PROBLEM, best, None)[1])
    assert final.status is search
    assert final.gap <= 1e-6


def test_a_size_that_is_open_is_not_called_optimal():
    best = Exhaustive().solve(PROBLEM)
    question = replace(question_of(PROBLEM), size_is_open=True)
    final, _ = concluded(question, best, bounded(PROBLEM, best, None)[1], Stop.TIME_LIMIT)
    assert final.status is Status.TIME_LIMIT
