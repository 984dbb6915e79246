"""A number called upper is one: the places where it nearly was not."""

import numpy as np
import pytest

from laconic import SparsePCA
from laconic.covariance import DenseCovariance
from laconic.proof.gate import UpperBound
from laconic.proof.witness_plain import TraceWitness
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
