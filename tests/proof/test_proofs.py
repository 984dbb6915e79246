"""A number called upper is one: the places where it nearly was not."""

import numpy as np
import pytest

from laconic import SparsePCA
from laconic.bounds.dspca import Dspca
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance, SubsetCovariance
from laconic.datasets import spiked_rows
from laconic.proof.gate import UpperBound
from laconic.proof.witness_plain import TraceWitness
from laconic.relaxations.elementary import RelaxationStatus
from laconic.relaxations.l1_splitting import Splitting, solve_cardinalities
from laconic.search import Auto, Exhaustive
from laconic.search.problem import Problem, Solution, Status

NEAR_IDENTITY = np.eye(5) + 1e-3 * np.array(
    [[-4, -2, 3, -2, 0], [-2, 6, 1, -5, 1], [3, 1, 6, 1, -1], [-2, -5, 1, 0, -2], [0, 1, -1, -2, 6]]
)


def test_forcing_every_feature_in_does_not_lower_a_nonnegative_bound():
    free = SparsePCA(cardinality=5, nonnegative=True).fit_covariance(NEAR_IDENTITY)
    forced = SparsePCA(cardinality=5, nonnegative=True, forced_in=[0, 1, 2, 3]).fit_covariance(NEAR_IDENTITY)
    assert forced.upper_bound_[0] >= free.lower_bound_[0]
    assert forced.lower_bound_[0] == pytest.approx(free.lower_bound_[0], rel=1e-9)


@pytest.mark.parametrize("solver", [Exhaustive(), Auto()])
@pytest.mark.parametrize("difference", [5e-13, 5e-12])
def test_equal_to_rounding_is_still_below_the_bound(solver, difference):
    variances = np.array([1.0, 1.0 + difference, 0.5])
    solution = solver.solve(Problem(DenseCovariance(np.diag(variances)), 1))
    assert solution.estimate >= variances.max()


def test_margin_of_an_indefinite_matrix_is_of_its_largest_entry():
    S = np.array([[1e-9, 1e6, 0], [1e6, 1e-9, 3.0], [0, 3.0, 1e-9]])
    solution = Exhaustive().solve(Problem(DenseCovariance(S, semidefinite=False), 2))
    assert solution.estimate - solution.value >= 1e6 * np.finfo(float).eps


@pytest.mark.parametrize(("value", "upper", "gap"), [(0.0, 1.0, np.inf), (-1.0, -0.5, np.inf), (0.0, 0.0, 0.0)])
def test_nothing_is_proved_about_a_value_that_is_not_positive(value, upper, gap):
    bound = UpperBound(upper, "trace", 1, TraceWitness())
    solution = Solution(np.array([0]), np.array([1.0]), value, Status.HEURISTIC, bound=bound)
    assert solution.gap == gap


def test_first_order_method_without_time_still_answers():
    solver = Dspca(penalty=0.3, algorithm="first-order")
    solution = solver.solve(Problem(DenseCovariance(NEAR_IDENTITY), 5, monitor=Monitor(1e-9)))
    assert solution.status is Status.TIME_LIMIT
    assert solution.value <= np.linalg.eigvalsh(NEAR_IDENTITY)[-1] <= solution.estimate * (1 + 1e-9)


def test_points_of_a_stopped_path_do_not_claim_to_be_solved():
    S = np.cov(spiked_rows(80, 40, 5, signal=2.0, random_state=0).data.T)
    found = solve_cardinalities(S, range(1, 41), Splitting(tolerance=1e-7), Monitor(0.005))
    assert any(s.status is RelaxationStatus.TIME_LIMIT for s in found)
    assert all(s.gap <= 1e-7 for s in found if s.status is RelaxationStatus.CONVERGED)


def test_points_of_a_path_have_the_rank_they_say():
    S = np.cov(spiked_rows(80, 10, 4, signal=3.0, random_state=1).data.T)
    for solution in solve_cardinalities(S, range(1, 11), Splitting(tolerance=1e-2)):
        lengths = (solution.factor**2).sum(axis=0)
        assert (np.diff(lengths) <= 1e-12).all()
        full = solution.factor @ solution.factor.T
        np.testing.assert_allclose(np.linalg.eigvalsh(full)[::-1][: len(lengths)], lengths, atol=1e-9)


@pytest.mark.parametrize("kept", [3, 190])
def test_lengths_of_a_subset_are_its_own(kept):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((300, 200))
    S = F.T @ F / 300
    keep = np.sort(rng.choice(200, kept, replace=False))
    lengths = SubsetCovariance(DenseCovariance(S), keep).column_lengths()
    expected = (S[np.ix_(keep, keep)] ** 2).sum(axis=0)
    np.testing.assert_allclose(lengths, expected, rtol=1e-9 if kept == 190 else 0.8)
