"""What a dual point decides about features, against every support there is; the point may be as bad as it likes."""

from dataclasses import replace

import numpy as np
import pytest

from laconic.bounds.fixing import DecidedFeatures, packed
from laconic.covariance import DenseCovariance
from laconic.proof.witness_tree import Case
from laconic.relaxations.elementary import estimated_largest_eigenvalue_bound
from laconic.relaxations.rows import Aside, RowLevels, priced_levels, priced_norms
from matrices import KINDS, gaussian, size_of, supports, values


def perturbed(S, solution, noise, rng):
    """Another dual point on the same features, with its price, cost and bound."""
    keep, k = solution.keep, solution.cardinality
    inside = np.isin(keep, solution.inside)
    size = max(np.abs(solution.levels).max(initial=0.0), 1e-3 * size_of(S))
    shape = solution.levels.shape
    L = solution.levels + noise * size * rng.standard_normal(shape) * (rng.random(shape) < 0.5)
    cost, price, m = priced_levels(L, k, inside)
    N = solution.norms
    if N is not None:
        N = N + noise * size * rng.standard_normal(shape)
        cost += priced_norms(N, k, inside)
    moved = replace(solution, levels=L, norms=N, price=price, cost=cost, state=None)
    top = estimated_largest_eigenvalue_bound(moved.shifted(S))
    return replace(moved, estimate=max(top, Aside(S, keep).left(m, price).max(initial=-np.inf)) + cost)


def check(S, solution, beat, inside):
    """Return how many features are decided, all of them rightly."""
    k, n = solution.cardinality, len(S)
    decided_features = DecidedFeatures(S, solution, beat)
    chosen = supports(n, k, inside)
    better = chosen[values(S, chosen) > beat]
    for out in decided_features.out:
        assert not (better == out).any()
    for into in decided_features.into:
        assert (better == into).any(axis=1).all()
    for feature in inside:
        assert feature not in decided_features.into
        assert feature not in decided_features.out
    decided = [np.concatenate([step.out, step.into]) for step in decided_features.steps]
    together = np.concatenate([decided_features.into, decided_features.out])
    assert sorted(np.concatenate([*decided, np.empty(0, dtype=np.intp)]).tolist()) == sorted(together.tolist())
    return len(together)


@pytest.mark.parametrize("small", [4, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_no_better_support_is_lost(kind, small, monkeypatch):
    """Whether the value to beat is the optimum itself, just below it, above it or far away."""
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", small)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 9))
        S = KINDS[kind](n, seed)
        size = size_of(S)
        for k in range(2, n, 2):
            inside = np.sort(rng.permutation(n)[: seed * rng.integers(1, k)])
            best = values(S, supports(n, k, tuple(inside))).max()
            solution = RowLevels(max_iterations=int(rng.choice([5, 30, 200]))).solve(S / size, k, inside=inside)
            for noise in (0.0, 1e-2, 1.0):
                point = perturbed(S / size, solution, noise, rng) if noise else solution
                for share in (0.0, 1e-9, 1e-3, -1e-3, 0.2):
                    check(S / size, point, best / size - share * abs(best / size), tuple(inside))


def test_ties_stay(monkeypatch):
    """Every optimal support counts: with copies of a feature none of them may go, nor be called indispensable."""
    for small in (4, 40):
        monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", small)
        S = gaussian(8, 1)
        twin = np.concatenate([np.arange(8), np.arange(8)])
        S = S[np.ix_(twin, twin)][:12, :12]
        best = values(S, supports(12, 3))
        optimal = supports(12, 3)[best >= best.max() * (1 - 1e-9)]
        solution = RowLevels(max_iterations=300).solve(S, 3)
        decided_features = DecidedFeatures(S, solution, best.max() * (1 - 1e-7))
        assert not np.isin(optimal, decided_features.out).any()
        for feature in decided_features.into:
            assert (optimal == feature).any(axis=1).all()


@pytest.mark.parametrize("small", [6, 40])
def test_it_decides_something(small, monkeypatch):
    """Or nothing above would mean anything."""
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", small)
    into = out = 0
    for seed in range(8):
        S = gaussian(12, seed)
        S[:4, :4] += 10.0
        solution = RowLevels(max_iterations=300).solve(S, 4)
        best = values(S, supports(12, 4)).max()
        check(S, solution, best * (1 - 1e-7), ())
        decided_features = DecidedFeatures(S, solution, best)
        into, out = into + len(decided_features.into), out + len(decided_features.out)
    assert into >= 8
    assert out >= 16


def test_a_feature_aside_that_stands_out_stops_the_others_from_being_decided():
    """Its diagonal is the largest of the bent matrix, and the bound is no better than that."""
    S = gaussian(6, 0)
    S[:3, :3] += 10.0
    alone = RowLevels(max_iterations=200).solve(S, 3)
    beat = values(S, supports(6, 3)).max()
    assert check(S, alone, beat, ()) > 0
    larger = np.zeros((7, 7))
    larger[:6, :6], larger[6, 6] = S, 2 * beat
    # The same point read as one on seven features, the last aside: each of the others is in a better support.
    assert check(larger, alone, beat, ()) == 0


@pytest.mark.parametrize("inside", [(), (0, 1, 2)])
@pytest.mark.parametrize("k", [4, 12])
def test_a_packed_point_bounds_as_well(inside, k):
    """With many digits nothing is lost, also if rows of features inside hold nothing; with few digits, a little."""
    for seed in range(3):
        S = gaussian(40, seed)
        S[:6, :6] += 4.0
        case = Case(DenseCovariance(S), k, np.arange(40), np.array(inside, dtype=int))
        relaxed = RowLevels(max_iterations=200).solve(S, k, inside=np.array(inside, dtype=int))
        many, few = (case.bounded(point).value for point in packed(relaxed, np.arange(40), 1.0, (32639, 127)))
        assert many <= relaxed.estimate * (1 + 1e-4)
        assert few <= relaxed.estimate * (1 + 1e-2)
