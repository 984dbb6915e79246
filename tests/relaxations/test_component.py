"""Proposition 2 from S alone, against exhaustive search and against the search that factors S."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import best_support, decaying, gaussian, kinds, truth

from laconic.core.linalg import semidefinite_shift_of
from laconic.covariance import DeflatedCovariance, DenseCovariance, FactorCovariance
from laconic.covariance.enclosure import enclosure_of
from laconic.proof import prove
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.relaxations.component import Conditions
from laconic.relaxations.optimality import proposition_2_below


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_the_truth(seed):
    n = 7
    for kind, S in kinds(n, seed).items():
        for k in range(1, n + 1):
            conditions = Conditions(S, best_support(S, k), k, semidefinite_shift_of(S))
            if not np.isfinite(conditions.promised):
                continue
            conditions.least()
            bound = conditions.bound(DenseCovariance(S))
            assert bound.value >= truth(S, k) - 1e-14 * abs(truth(S, k)), (kind, k)
            assert isinstance(bound.witness, Proposition2Witness)
            assert bound.kind == "Proposition 2"


@given(st.integers(0, 10**6), st.integers(2, 7))
def test_it_is_the_bound_of_the_factor(seed, k):
    """A search of as many eigenvalues with a factor finds the same."""
    S = decaying(8, seed % 1000)
    support = best_support(S, k)
    conditions = Conditions(S, support, k)
    limit = 10 * float(S.trace())
    conditions.least(limit, evaluations=4)
    other = proposition_2_below(DenseCovariance(S), support, k, limit, evaluations=4)
    assert conditions.bound(DenseCovariance(S)).value == pytest.approx(other.value, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_tangents(seed):
    """The derivative is that of the largest eigenvalue, on both sides of every p_i^2."""
    S = gaussian(8, seed)
    conditions = Conditions(S, np.array([1, 4, 5]), 3)
    p = conditions._p
    for rho in np.sort(p * p)[2:] * 0.97:
        largest, slope = conditions._tangent(p, p * p, rho)
        step = 1e-6 * rho
        above, below = (conditions._tangent(p, p * p, rho + s)[0] for s in (step, -step))
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4)
        # Between two p_i^2 it is convex.
        assert below >= largest - slope * step - 1e-9 * largest


def test_scale_changes_nothing():
    S = decaying(8, 0)
    support = best_support(S, 3)
    plain = Conditions(S, support, 3)
    for scale in (4.0**-96, 2.0**-31, 3e-9, 4.0**96):
        scaled = Conditions(scale * S, support, 3)
        assert scaled.least() == pytest.approx(scale * plain.least(), rel=1e-9)
        assert scaled.bound(DenseCovariance(scale * S)).value == pytest.approx(
            scale * plain.bound(DenseCovariance(S)).value, rel=1e-9
        )


def test_a_search_that_cannot_go_below_a_limit_is_given_up(monkeypatch):
    S = gaussian(9, 1)
    support = best_support(S, 4)
    seen = []
    tangent = Conditions._tangent
    monkeypatch.setattr(Conditions, "_tangent", lambda *given: seen.append(1) or tangent(*given))
    least = Conditions(S, support, 4).least(evaluations=8)
    needed = len(seen)
    seen.clear()
    assert Conditions(S, support, 4).least(0.5 * least, evaluations=8) >= least * (1 - 1e-9)
    assert len(seen) < needed


@pytest.mark.parametrize("kind", ["factor", "deflated"])
def test_what_is_not_written_out_pays_for_its_rounding(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 8)) * 2.0 ** -np.arange(8)
    covariance = FactorCovariance(A)
    S = A.T @ A
    if kind == "deflated":
        z = np.eye(8)[0]
        image = S @ z
        covariance = DeflatedCovariance(
            DenseCovariance(S), np.stack([z, image], axis=1), np.array([[-image[0], 1], [1, 0]]), semidefinite=True
        )
        S = S - np.outer(z, image) - np.outer(image, z) + image[0] * np.outer(z, z)
    support = best_support(S, 3)
    conditions = Conditions(S, support, 3)
    conditions.least()
    bound = conditions.bound(covariance)
    assert truth(S, 3) <= bound.value <= truth(S, 3) * (1 + 1e-9)
    assert 0 < bound.margin < 1e-10 * bound.value
    again = prove(enclosure_of(covariance), 3, bound.witness)
    assert (again.value, again.margin) == (bound.value, bound.margin)
