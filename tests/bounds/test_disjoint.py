"""Several components with disjoint supports, all together."""

from itertools import combinations

import numpy as np
import pytest

from helpers import random_psd
from laconic import SparsePCA
from laconic.bounds.disjoint import DisjointExact
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.search.problem import Problem, Status


def value_of(S, support):
    return np.linalg.eigvalsh(S[np.ix_(support, support)])[-1]


def best_total(S, sizes):
    """By looking at every disjoint choice."""

    def best(left, sizes):
        if not sizes:
            return 0.0
        return max(
            value_of(S, chosen) + best([i for i in left if i not in chosen], sizes[1:])
            for chosen in combinations(left, sizes[0])
        )

    return best(list(range(len(S))), list(sizes))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sizes", [(2, 2), (3, 1), (1, 2, 2), (2,)])
def test_equals_brute_force(seed, sizes):
    S = random_psd(7, 9, seed)
    found = DisjointExact().solve_jointly(Problem(DenseCovariance(S), 1), sizes)
    assert [len(s.support) for s in found] == list(sizes)
    together = np.concatenate([s.support for s in found])
    assert len(np.unique(together)) == sum(sizes)
    assert sum(s.value for s in found) == pytest.approx(best_total(S, sizes), rel=1e-10)
    assert all(s.status is Status.JOINTLY_COMPLETE for s in found)


def test_is_better_than_one_after_the_other():
    gains = []
    for seed in range(12):
        S = random_psd(8, 10, seed)
        jointly = SparsePCA(2, cardinality=3, method=DisjointExact(), joint="disjoint").fit_covariance(S)
        greedily = SparsePCA(2, cardinality=3, joint="disjoint").fit_covariance(S)
        total = [sum(value_of(S, s) for s in model.supports_) for model in (jointly, greedily)]
        assert total[0] >= total[1] * (1 - 1e-12)
        gains.append(total[0] / total[1] - 1)
    assert max(gains) > 0.01
    assert "excluded every choice of disjoint supports" in jointly.verdicts_[0]


@pytest.mark.parametrize("seconds", [None, 1e-9])
def test_the_bound_of_a_component_is_the_best_support_of_its_size(seconds):
    S = random_psd(8, 10, 4)
    with Monitor(seconds) as monitor:
        found = DisjointExact().solve_jointly(Problem(DenseCovariance(S), 1, monitor=monitor), [3, 2, 2])
    for solution, k in zip(found, [3, 2, 2], strict=True):
        best = max(value_of(S, support) for support in combinations(range(8), k))
        assert best <= solution.estimate <= best * (1 + 1e-9)
    model = SparsePCA(3, cardinality=[3, 2, 2], method=DisjointExact(), joint="disjoint").fit_covariance(S)
    assert np.isfinite(model.gap_).all()
    assert model.gap_.max() > 0
    assert all("excluded every choice of disjoint supports" in verdict for verdict in model.verdicts_)


def test_no_time_still_gives_disjoint_supports():
    S = random_psd(14, 16, 0)
    found = DisjointExact().solve_jointly(Problem(DenseCovariance(S), 1, monitor=Monitor(0.0)), (3, 3))
    assert not set(found[0].support) & set(found[1].support)


def test_what_cannot_be_done_is_said():
    S = random_psd(8, 10, 0)
    problem = Problem(DenseCovariance(S), 3)
    with pytest.raises(ValueError, match="more than the 8 there are"):
        DisjointExact().solve_jointly(problem, (5, 4))
    with pytest.raises(ValueError, match="limit 10"):
        DisjointExact(limit=10).solve_jointly(problem, (3, 3))
    with pytest.raises(ValueError, match=r"joint=.disjoint."):
        SparsePCA(2, cardinality=2, method=DisjointExact()).fit_covariance(S)
    with pytest.raises(ValueError, match="forced_in"):
        SparsePCA(1, cardinality=2, method=DisjointExact(), joint="disjoint", forced_in=[0]).fit_covariance(S)
