"""Proposition 2 at one support, against exhaustive search; from the matrix and from its factor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinds import best_support, decaying, gaussian, kinds, truth
from laconic.core.linalg import semidefinite_shift_of
from laconic.covariance import DeflatedCovariance, DenseCovariance, FactorCovariance
from laconic.covariance.after_deflation import Step
from laconic.covariance.deflation import PROJECTION
from laconic.covariance.matrix import as_covariance
from laconic.proof import prove
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.relaxations.proposition_2.support import Conditions, FactorProducts, MatrixProducts, proved_bound


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_the_truth(seed):
    n = 7
    for kind, S in kinds(n, seed).items():
        for k in range(1, n + 1):
            conditions = Conditions(MatrixProducts(S, semidefinite_shift_of(S)), best_support(S, k))
            found = conditions.best(k)
            assert (found is None) == np.isinf(conditions.promised(k))
            if found is None:
                continue
            bound = proved_bound(DenseCovariance(S), k, found[1])
            assert bound.value >= truth(S, k) - 1e-14 * abs(truth(S, k)), (kind, k)
            assert isinstance(bound.witness, Proposition2Witness)
            assert bound.kind == "Proposition 2"


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(4, 12))
def test_a_factor_gives_the_bound_of_its_matrix(seed, k, rows):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, 8)) * 2.0 ** -np.arange(8)
    support = np.sort(rng.choice(8, k, replace=False))
    by_factor, by_matrix = (
        Conditions(products, support).best(k, evaluations=4)
        for products in (FactorProducts(A), MatrixProducts(A.T @ A))
    )
    assert by_factor[0] == pytest.approx(by_matrix[0], rel=1e-6)
    bounds = [proved_bound(FactorCovariance(A), k, found[1]).value for found in (by_factor, by_matrix)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_tangents(seed):
    """The derivative is that of the largest eigenvalue, on both sides of every p_i^2."""
    A = np.random.default_rng(seed).standard_normal((8, 8))
    products = [MatrixProducts(A.T @ A), FactorProducts(A)][seed % 2]
    conditions = Conditions(products, np.array([1, 4, 5]))
    for rho in np.sort(conditions.p**2)[2:] * 0.97:
        largest, slope = conditions._tangent(rho)
        step = 1e-6 * rho
        above, below = (conditions._tangent(rho + s)[0] for s in (step, -step))
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4)
        # Between two p_i^2 it is convex.
        assert below >= largest - slope * step - 1e-9 * largest


def test_scale_changes_nothing():
    S = decaying(8, 0)
    support = best_support(S, 3)
    plain = Conditions(MatrixProducts(S), support).best(3)
    for scale in (4.0**-80, 2.0**-31, 3e-9, 4.0**80):
        scaled = Conditions(MatrixProducts(scale * S), support).best(3)
        assert scaled[0] == pytest.approx(scale * plain[0], rel=1e-9)
        bounds = [proved_bound(DenseCovariance(M), 3, found[1]) for M, found in ((scale * S, scaled), (S, plain))]
        assert bounds[0].value == pytest.approx(scale * bounds[1].value, rel=1e-9)


def test_a_search_that_cannot_go_below_a_limit_is_given_up(monkeypatch):
    S = gaussian(9, 1)
    support = best_support(S, 4)
    seen = []
    tangent = Conditions._tangent
    monkeypatch.setattr(Conditions, "_tangent", lambda *given: seen.append(1) or tangent(*given))
    conditions = Conditions(MatrixProducts(S), support)
    least, _ = conditions.best(4, evaluations=8)
    needed = len(seen)
    seen.clear()
    assert conditions.best(4, 0.5 * least, evaluations=8) is None
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
        covariance = DeflatedCovariance(DenseCovariance(S), PROJECTION, (Step(z, image, image[0]),))
        S = S - np.outer(z, image) - np.outer(image, z) + image[0] * np.outer(z, z)
    support = best_support(S, 3)
    _, witness = Conditions(MatrixProducts(S), support).best(3)
    bound = proved_bound(covariance, 3, witness)
    assert truth(S, 3) <= bound.value <= truth(S, 3) * (1 + 1e-9)
    assert 0 < bound.margin < 1e-10 * bound.value
    again = prove(as_covariance(covariance), 3, bound.witness)
    assert (again.value, again.margin) == (bound.value, bound.margin)
