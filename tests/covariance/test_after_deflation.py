"""Proofs about what is left of A'A: its largest eigenvalue, and how far it is from semidefinite."""

from fractions import Fraction

import numpy as np
import pytest
from tests.helpers import best_value

from laconic.bounds.prove import prove
from laconic.core.eigenvalues import proved_largest_by_rows
from laconic.core.rounding import UNIT
from laconic.covariance import DeflatedCovariance, DenseCovariance, FactorCovariance, SubsetCovariance
from laconic.covariance.deflation import DEFLATIONS, HOTELLING, PROJECTION, SCHUR, Deflation, Step
from laconic.covariance.matrix import Covariance
from laconic.proof import proved_upper
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import largest_eigenvalue_bound
from laconic.search.auto import Auto
from laconic.search.problem import Problem
from matrices import fractions, is_semidefinite

LARGEST = DualWitness("largest eigenvalue")


def exact_entries(left):
    """S - WCW' with the numbers W and C as they are, in fractions."""
    A, W, C = fractions(left.base.factor), fractions(left.factors), fractions(left.core)
    return A.T @ A - W @ C @ W.T


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
    monkeypatch.setattr("laconic.covariance.deflation.CHEAP_EIGENVALUES", 0)


@pytest.fixture
def nothing_written_out(monkeypatch):
    def refused(_):
        raise AssertionError("the matrix was written out")

    monkeypatch.setattr(Covariance, "matrix", property(refused))


@pytest.mark.parametrize("kind", DEFLATIONS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [1, 3])
def test_never_below_the_truth_and_near_it(kind, seed, count, request):
    if "projection" in kind:
        request.getfixturevalue("nothing_written_out")
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
        bound = prove(problem, Auto(exhaustive=0).solve(problem), "fast")[1]
        assert bound.value >= best_value(S, k) * (1 - 1e-12)


@pytest.mark.parametrize("added", [0.01, 1.0, 30.0])
def test_projections_by_another_value_are_paid_for(added):
    """S - zy' - yz' + v zz' with v too large, which is what is left of z."""
    rng = np.random.default_rng(0)
    base = FactorCovariance(rng.standard_normal((3, 8)))
    z = rng.standard_normal(8)
    z /= np.linalg.norm(z)
    y = base.product(z)
    left = DeflatedCovariance(base, PROJECTION, (Step(z, y, float(z @ y) + added),))
    assert left.largest_by_rows is not None
    assert proved_upper(left, 8, LARGEST) >= np.linalg.eigvalsh(left.submatrix(np.arange(8)))[-1] * (1 - 1e-12)


def test_inner_products_of_rows_may_be_off_by_their_roundings():
    """All of a thousand in the same direction."""
    A = np.random.default_rng(0).random((3, 1000))
    truth = np.linalg.norm(A, 2) ** 2

    class Off(np.ndarray):
        def __matmul__(self, other):
            return np.asarray(self) @ np.asarray(other) * (1 - 1000 * UNIT)

    assert truth <= proved_largest_by_rows(A.view(Off))[0] <= truth * (1 + 1e-12)


@pytest.mark.parametrize("error", [1e-9, 1e-3, 0.3])
def test_what_is_taken_out_may_be_off_by_its_error(error):
    rng = np.random.default_rng(0)
    A, H, X = rng.standard_normal((4, 9)), rng.standard_normal((4, 2)), np.diag([0.5, 0.2])
    truth = np.linalg.eigvalsh(A @ A.T - H @ X @ H.T)[-1]
    value, plain = proved_largest_by_rows(A, H * (1 + error), X, error * float(np.linalg.norm(H)) * (1 + 1e-12))
    assert plain < truth <= value


@pytest.mark.usefixtures("nothing_written_out")
def test_a_factor_alone():
    A = np.random.default_rng(0).standard_normal((4, 30))
    truth = np.linalg.norm(A, 2) ** 2
    assert truth * (1 - 1e-13) <= proved_upper(FactorCovariance(A), 30, LARGEST) <= truth * (1 + 1e-11)


@pytest.mark.parametrize("kind", ["hotelling", "schur"])
@pytest.mark.usefixtures("nothing_written_out")
def test_a_large_matrix_is_bounded_by_what_it_was_before_a_subtraction(kind):
    left = deflated(kind, 0, n=1100)
    assert proved_upper(left, 1100, LARGEST) == proved_upper(left.base, 1100, LARGEST)
    assert left.largest_by_rows.value >= np.linalg.eigvalsh(left.submatrix(np.arange(1100)))[-1]
    more = DeflatedCovariance(left.base, left.rule, (left.steps[0]._replace(value=-1.0),))
    assert more.largest_by_rows is None, "something was added"


def components_of(covariance, rule, count, rng):
    """Take sparse eigenvectors out, as a fit does, and yield what is left."""
    deflation = Deflation(covariance, rule)
    for _ in range(count):
        support = rng.choice(covariance.n_features, 3, replace=False)
        z = np.zeros(covariance.n_features)
        z[support] = np.linalg.eigh(deflation.current.submatrix(support))[1][:, -1]
        yield deflation.remove(z)


@pytest.mark.parametrize("rule", ["projection", "orthogonalized-projection", "schur"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-5])
def test_what_is_left_is_nearly_semidefinite(rule, scale):
    """S + d I in fractions, with d known without writing anything out, and small; S itself need not be."""
    rng = np.random.default_rng(0)
    failures = 0
    for rows in (scale * rng.standard_normal((4, 7)), rng.standard_normal((9, 7)) + 100 * (rule != "schur")):
        for left in components_of(FactorCovariance(rows), rule, 3, rng):
            true = exact_entries(left)
            assert left.known_semidefinite_shift == left.semidefinite_shift <= 1e-11 * left.size.max() ** 2
            assert is_semidefinite(true + Fraction(left.semidefinite_shift) * fractions(np.eye(7)))
            failures += not is_semidefinite(true)
    assert failures > 0


def test_a_schur_complement_with_other_preimages_is_not_taken_for_semidefinite():
    """The numbers of a step are checked, not believed: more taken out, or of another matrix, shows."""
    rng = np.random.default_rng(1)
    base = FactorCovariance(rng.standard_normal((4, 7)))
    *_, left = components_of(base, "schur", 2, rng)
    steps = left.steps
    for change in (
        lambda z, y, v: Step(z, y, v / 1.1),
        lambda z, y, v: Step(z, y * 1.1, v),
        lambda z, y, v: Step(rng.standard_normal(len(z)), y, v),
        lambda z, y, v: Step(z, rng.standard_normal(len(y)), v),
    ):
        other = DeflatedCovariance(base, SCHUR, tuple(change(*step) for step in steps))
        assert other.known_semidefinite_shift > 0.05 * other.size.max() ** 2
        assert is_semidefinite(exact_entries(other) + Fraction(other.known_semidefinite_shift) * fractions(np.eye(7)))


@pytest.mark.parametrize("share", [0.5, 0.99, 1.0, 1.5])
@pytest.mark.parametrize("off", [0.0, 1e-3, 0.3])
def test_projections_by_other_numbers_are_not_taken_for_semidefinite(share, off):
    """S - zy' - yz' + v zz' with another v than z'Sz, and another y than Sz."""
    rng = np.random.default_rng(0)
    base = FactorCovariance(rng.standard_normal((3, 6)))
    for _ in range(4):
        z = rng.standard_normal(6)
        z /= np.linalg.norm(z)
        y = base.product(z) + off * rng.standard_normal(6)
        left = DeflatedCovariance(base, PROJECTION, (Step(z, y, share * float(z @ y)),))
        shift = left.known_semidefinite_shift
        assert is_semidefinite(exact_entries(left) + Fraction(shift) * fractions(np.eye(6)))
        if share < 0.9:
            assert shift > 0.1


@pytest.mark.parametrize("share", [1.01, 1.3, 3.0])
def test_more_than_its_value_taken_out_of_a_direction_is_lacking(share):
    """Of an eigenvector: what is left has the eigenvalue (1 - share) of its own."""
    A = np.random.default_rng(1).standard_normal((3, 6))
    values, vectors = np.linalg.svd(A)[1:]
    for value, z in zip(values**2, vectors, strict=False):
        left = DeflatedCovariance(FactorCovariance(A), HOTELLING, (Step(z, value * z, share * value),))
        trace = left.semidefinite_trace
        assert is_semidefinite(exact_entries(left) + Fraction(trace) * fractions(np.eye(6)))
        assert trace <= 2 * (share - 1) * value * (1 + 1e-9)


@pytest.mark.parametrize("rule", ["hotelling", "orthogonalized-hotelling"])
def test_what_hotelling_leaves_lacks_no_more_than_is_said(rule):
    """The sum of the negative eigenvalues is at most the trace, and each is at most the shift."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        base = FactorCovariance(rng.standard_normal((4, 7)) * 10.0 ** rng.uniform(-1, 1, 7))
        for left in components_of(base, rule, 3, rng):
            values = np.linalg.eigvalsh(left.matrix)
            rounding = 1e-12 * left.size.max() ** 2
            assert -values[values < 0].sum() <= left.semidefinite_trace + rounding
            assert -values[0] <= left.known_semidefinite_shift + rounding
            assert left.semidefinite_trace <= left.core.trace() + rounding
            assert SubsetCovariance(left, np.arange(7)[::-1]).semidefinite_trace == left.semidefinite_trace


def test_the_trace_after_an_eigenvector_is_rounding():
    A = np.random.default_rng(0).standard_normal((4, 7))
    z = np.linalg.svd(A)[2][0]
    left = Deflation(FactorCovariance(A), "hotelling").remove(z)
    assert left.semidefinite_trace < 1e-12 * left.base.trace


def test_the_trace_is_met_in_the_plane():
    """S of rank one and z any: what is left has the negative eigenvalue of the formula."""
    a, z = np.array([[3.0, 4.0, 0.0]]), np.array([1.0, 0.0, 0.0])
    left = Deflation(FactorCovariance(a), "hotelling").remove(z)
    least = -np.linalg.eigvalsh(left.submatrix(np.arange(3)))[0]
    assert left.semidefinite_trace == pytest.approx(least, rel=1e-9)


def test_other_deflations_say_nothing():
    rng = np.random.default_rng(0)
    z = np.eye(6)[0]
    base = FactorCovariance(rng.standard_normal((3, 6)))
    left = Deflation(base, "hotelling").remove(z)
    (step,) = left.steps
    for other in (step._replace(direction=3 * z), step._replace(value=-step.value)):
        assert DeflatedCovariance(base, HOTELLING, (other,)).semidefinite_trace == np.inf
    for rule in ("schur", "hotelling", "projection"):
        S = Deflation(DenseCovariance(base.submatrix(np.arange(6))), rule).remove(z)
        assert S.known_semidefinite_shift is None
        assert S.semidefinite_trace == np.inf
    projected = Deflation(FactorCovariance(rng.standard_normal((3, 6))), "projection").remove(z)
    (step,) = projected.steps
    longer = DeflatedCovariance(projected.base, PROJECTION, (step._replace(direction=2 * z, image=2 * step.image),))
    assert longer.known_semidefinite_shift is None
    part = SubsetCovariance(projected, np.arange(3))
    assert part.known_semidefinite_shift == projected.known_semidefinite_shift
