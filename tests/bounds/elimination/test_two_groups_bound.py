"""The bound from two groups of features."""

import numpy as np
import pytest

from helpers import best_value, random_psd
from laconic.bounds.elimination.by_two_groups import (
    added_by_second_group,
    bounds_on_all,
    sums_of_largest,
    two_groups_bound,
)
from laconic.covariance import DenseCovariance
from laconic.proof import proved_upper
from laconic.relaxations.elementary import elementary_bound, trace_bound


def of_falling_variance(n, seed, *, semidefinite=True):
    rng = np.random.default_rng(seed)
    scale = np.exp(-rng.random() * np.arange(n))
    S = random_psd(n, seed=seed) * scale * scale[:, None]
    return S if semidefinite else S - 0.3 * S.diagonal().mean() * np.eye(n)


def test_by_hand():
    """diag(5, 4, 1), the first two kept: the trace gives 9 for both, and 5 + 1 for one of them and the third."""
    covariance = DenseCovariance(np.diag([5.0, 4.0, 1.0]))
    kept = np.array([0, 1])
    part = DenseCovariance(np.diag([5.0, 4.0]))
    np.testing.assert_allclose(added_by_second_group(covariance, kept, 2), [0, 1], rtol=1e-12)
    # The largest eigenvalue of the first group is 5, for one feature and for both.
    bounds = [elementary_bound(part, 2)]
    assert bounds[0].value == pytest.approx(5)
    assert two_groups_bound(covariance, kept, 2, bounds).value == pytest.approx(6)
    assert two_groups_bound(covariance, kept, 2, []).value == pytest.approx(9)


def test_sums():
    np.testing.assert_allclose(sums_of_largest(np.array([1.0, 3.0, 2.0]), 2), [0, 3, 5])
    np.testing.assert_allclose(sums_of_largest(np.array([1.0]), 3), [0, 1])
    np.testing.assert_allclose(sums_of_largest(np.empty(0), 3), [0])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [0, 3, 6, 11])
def test_every_cardinality_at_once(seed, count):
    S, last = of_falling_variance(11, seed), 7
    order = np.argsort(-S.diagonal())
    kept, others = order[:count], order[count:]
    # More features than there are change nothing.
    inside = [0.0] + [best_value(S[np.ix_(kept, kept)], min(k, count)) if count else 0.0 for k in range(1, last + 1)]
    bounds = bounds_on_all(np.array(inside), sums_of_largest(S.diagonal()[others], last))
    assert (bounds >= [best_value(S, k) * (1 - 1e-12) for k in range(1, last + 1)]).all()
    if not len(others):
        assert bounds == pytest.approx(inside[1:])
    if not count:
        assert bounds == pytest.approx(np.cumsum(np.sort(S.diagonal())[::-1][:last]))


@pytest.mark.parametrize("semidefinite", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_holds_the_truth_and_is_proved(seed, semidefinite):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    S = of_falling_variance(n, seed, semidefinite=semidefinite)
    covariance = DenseCovariance(S, semidefinite=semidefinite)
    kept = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    part = DenseCovariance(S[np.ix_(kept, kept)], semidefinite=semidefinite)
    for k in range(1, n + 1):
        cardinalities = {min(k, len(kept)), *rng.integers(1, min(k, len(kept)) + 1, 2).tolist()}
        found = two_groups_bound(covariance, kept, k, [elementary_bound(part, q) for q in cardinalities])
        truth = best_value(S, k)
        rounding = 1e-12 * np.abs(S).max()
        assert truth - rounding <= proved_upper(S, k, found.witness) <= found.value + rounding


def test_is_better_than_the_trace_where_variances_fall():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 300)) * 0.9 ** np.arange(300)
    S = X.T @ X
    covariance, kept = DenseCovariance(S), np.arange(40)
    part = DenseCovariance(S[:40, :40])
    found = two_groups_bound(covariance, kept, 5, [elementary_bound(part, q) for q in (5, 4, 3)])
    assert found.value < 0.9 * trace_bound(covariance, 5).value
    assert found.value <= elementary_bound(part, 5).value * (1 + 1e-3)
