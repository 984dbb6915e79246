"""The largest eigenvalue of what is left of A'A, from a matrix of as many rows as A has."""

import numpy as np
import pytest
from tests.helpers import best_value

import laconic.covariance.deflated
from laconic import SparsePCA
from laconic.bounds.least import bound_support
from laconic.core.rounding import UNIT
from laconic.covariance import DeflatedCovariance, FactorCovariance, SubsetCovariance
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.covariance.deflation_rules import HOTELLING, PROJECTION, Step
from laconic.covariance.enclosure import Enclosure, enclosure_of
from laconic.covariance.factor import RowProducts
from laconic.proof import proved_upper
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import largest_eigenvalue_bound
from laconic.search.auto import Auto
from laconic.search.problem import Problem

LARGEST = DualWitness("largest eigenvalue")


def deflated(kind, seed, *, rows=5, n=11, count=3, unit=1.0):
    rng = np.random.default_rng(seed)
    A = unit * rng.standard_normal((rows, n)) * rng.choice([1.0, 0.3, 3.0], n)
    deflation = Deflation(FactorCovariance(A), kind)
    for _ in range(count):
        z = np.zeros(n)
        support = rng.choice(n, 4, replace=False)
        # The leading direction of a support, or any direction at all.
        z[support] = rng.standard_normal(4)
        if rng.random() < 0.6:
            block = deflation.current.submatrix(support)
            z[support] = np.linalg.eigh(block)[1][:, -1]
        deflation.remove(z / np.linalg.norm(z))
    return deflation.current


@pytest.fixture(autouse=True)
def by_rows_at_any_size(monkeypatch):
    monkeypatch.setattr(laconic.covariance.deflated, "WRITTEN_OUT_FIRST", 0)


@pytest.fixture
def nothing_written_out(monkeypatch):
    def refused(_):
        raise AssertionError("the matrix was written out")

    monkeypatch.setattr(Enclosure, "matrix", property(refused))


@pytest.mark.parametrize("kind", DEFLATIONS)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.usefixtures("nothing_written_out")
def test_never_below_the_truth_and_near_it(kind, seed, count):
    left = deflated(kind, seed, count=count)
    truth = np.linalg.eigvalsh(left.submatrix(np.arange(11)))[-1]
    value = proved_upper(left, 11, LARGEST)
    assert truth * (1 - 1e-12) <= value
    # What is left of five rows may be nothing but the last of them, and rounding is relative to the whole.
    assert value <= truth * (1 + 1e-8) + 1e-10 * left.base.trace
    assert largest_eigenvalue_bound(left, 3).value >= truth * (1 - 1e-12)


@pytest.mark.parametrize("kind", DEFLATIONS)
@pytest.mark.parametrize("unit", [1e-29, 1e-10, 1e10, 1e29])
def test_whatever_the_units(kind, unit):
    plain = proved_upper(deflated(kind, 1), 11, LARGEST)
    scaled = proved_upper(deflated(kind, 1, unit=unit), 11, LARGEST)
    assert scaled == pytest.approx(plain * unit**2, rel=1e-7)


@pytest.mark.parametrize("kind", DEFLATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_deflated_problem_holds(kind, seed):
    left = deflated(kind, seed, count=2)
    S = left.submatrix(np.arange(11))
    for k in (2, 5, 9):
        problem = Problem(left, k)
        bound = bound_support(problem, Auto(exhaustive=0).solve(problem), "fast")
        assert bound.value >= best_value(S, k) * (1 - 1e-12)


@pytest.mark.parametrize("added", [0.01, 1.0, 30.0])
def test_projections_by_another_value_are_paid_for(added):
    """S - zy' - yz' + v zz' with v too large, which is what is left of z."""
    rng = np.random.default_rng(0)
    base = FactorCovariance(rng.standard_normal((3, 8)))
    z = rng.standard_normal(8)
    z /= np.linalg.norm(z)
    y = base.product(z)
    left = DeflatedCovariance.by_rule(base, PROJECTION, (Step(z, y, float(z @ y) + added),))
    assert enclosure_of(left).largest_by_rows is not None
    assert proved_upper(left, 8, LARGEST) >= np.linalg.eigvalsh(left.submatrix(np.arange(8)))[-1] * (1 - 1e-12)


def test_inner_products_of_rows_may_be_off_by_their_roundings():
    """All of a thousand in the same direction."""
    A = np.random.default_rng(0).random((3, 1000))
    truth = np.linalg.norm(A, 2) ** 2
    rows = RowProducts(A)
    rows.gram = rows.gram * (1 - 1000 * UNIT)
    assert truth <= rows.whole()[0] <= truth * (1 + 1e-12)


@pytest.mark.parametrize("error", [1e-9, 1e-3, 0.3])
def test_what_is_taken_out_may_be_off_by_its_error(error):
    rng = np.random.default_rng(0)
    A, H, X = rng.standard_normal((4, 9)), rng.standard_normal((4, 2)), np.diag([0.5, 0.2])
    truth = np.linalg.eigvalsh(A @ A.T - H @ X @ H.T)[-1]
    value, plain = RowProducts(A).largest(H * (1 + error), X, error * float(np.linalg.norm(H)) * (1 + 1e-12))
    assert plain < truth <= value


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_some_of_the_features(kind):
    left = deflated(kind, 3, n=450, rows=6)
    keep = np.arange(20, 450)
    truth = np.linalg.eigvalsh(left.submatrix(keep))[-1]
    whole = np.linalg.eigvalsh(left.submatrix(np.arange(450)))[-1]
    part = SubsetCovariance(left, keep)
    assert truth <= proved_upper(part, 430, LARGEST) <= whole * (1 + 1e-8)
    assert largest_eigenvalue_bound(part, 430).value >= truth


@pytest.mark.usefixtures("nothing_written_out")
def test_a_factor_alone():
    A = np.random.default_rng(0).standard_normal((4, 30))
    truth = np.linalg.norm(A, 2) ** 2
    assert truth * (1 - 1e-13) <= proved_upper(FactorCovariance(A), 30, LARGEST) <= truth * (1 + 1e-11)


@pytest.mark.parametrize("core", [[[0.5, 0.2], [0.2, 0.5]], [[-1.0, 0.0], [0.0, 0.3]]])
def test_what_no_deflation_takes_out_is_written_out(core):
    rng = np.random.default_rng(0)
    left = DeflatedCovariance(
        FactorCovariance(rng.standard_normal((3, 8))), rng.standard_normal((8, 2)), np.array(core), semidefinite=False
    )
    assert enclosure_of(left).largest_by_rows is None
    truth = np.linalg.eigvalsh(left.submatrix(np.arange(8)))[-1]
    assert truth <= proved_upper(left, 8, LARGEST) <= truth + 1e-10 * left.base.trace


def test_what_cannot_be_inverted_is_bounded_by_the_whole():
    """Of a direction taken out twice with a huge weight, W'W + t C^{-1} is singular in rounding."""
    A = np.random.default_rng(0).standard_normal((5, 11))
    w = A.sum(axis=0) / np.linalg.norm(A.sum(axis=0))
    left = DeflatedCovariance.by_rule(FactorCovariance(A), HOTELLING, 2 * (Step(w, 1e20 * w, 1e20),))
    # Next to nothing of w is left.
    truth = np.linalg.norm(A - np.outer(A @ w, w), 2) ** 2
    whole = np.linalg.norm(A, 2) ** 2
    assert truth < 0.99 * whole
    assert whole <= proved_upper(left, 11, LARGEST) <= whole * (1 + 1e-11)


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_later_components_of_wide_rows_are_bounded_as_the_first(kind):
    """Supports of many features, where the sum of variances says nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3)) * [9, 6, 4] @ rng.standard_normal((3, 600)) + rng.standard_normal((20, 600))
    model = SparsePCA(3, cardinality=300, deflation=kind).fit(X)
    assert (model.gap_ < 0.6).all()
    assert model.certificates_[1].kind in ("largest eigenvalue", "row levels")
