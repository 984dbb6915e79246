"""Computed entries and their errors against the entries in exact rational arithmetic."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from laconic.covariance.deflation_rules import HOTELLING, PROJECTION, SCHUR, Step

from laconic.covariance import (
    Covariance,
    DeflatedCovariance,
    DenseCovariance,
    FactorCovariance,
    SparseCovariance,
    SubsetCovariance,
    covariance_of,
)
from laconic.covariance.deflation import Deflation
from laconic.covariance.matrix import as_covariance
from laconic.data.digest import digest_of
from laconic.proof import proved_lower, proved_upper
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witness_reduction import BlockWitness, EliminationWitness, TwoGroupsWitness


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def exact_entries(covariance):
    """S as the class defines it, in fractions."""
    if isinstance(covariance, DenseCovariance):
        matrix = fractions(covariance.matrix)
        return (matrix + matrix.T) / 2
    if isinstance(covariance, FactorCovariance):
        factor = fractions(covariance.factor)
        return factor.T @ factor
    if isinstance(covariance, SparseCovariance):
        rows = fractions(covariance.rows.toarray()) - fractions(covariance.means)
        weights = np.ones(len(rows)) if covariance.weights is None else covariance.weights
        scales = fractions(covariance.scales)
        inner = rows.T @ (fractions(weights)[:, None] * rows) / Fraction(covariance.divisor)
        return scales[:, None] * inner * scales
    if isinstance(covariance, DeflatedCovariance):
        factors, core = fractions(covariance.factors), fractions(covariance.core)
        return exact_entries(covariance.base) - factors @ core @ factors.T
    keep = covariance.keep
    return exact_entries(covariance.base)[np.ix_(keep, keep)]


def sparse(rng, shift=0.0, weighted=False, scale=True):
    rows = sp.random_array((30, 6), density=0.3, rng=rng, format="csr")
    rows.data += shift
    if shift:
        rows = sp.csr_array(rows.toarray() + shift)
    weights = rng.random(30) + 0.1 if weighted else None
    made, standardization = covariance_of(sp.csr_array(rows), scale=scale, weights=weights)
    assert isinstance(made, DenseCovariance)
    total = 30.0 if weights is None else weights.sum()
    return SparseCovariance(rows, standardization.means, made.diagonal, standardization.scales, weights, float(total))


def kinds(rng):
    A = rng.standard_normal((7, 6)) * 10.0 ** rng.integers(-3, 4, 6)
    dense = DenseCovariance(A.T @ A)
    z = rng.standard_normal((6, 3))
    core = np.diag([1.0, -2.0, 1e5])
    core[0, 1] = core[1, 0] = 1.0
    yield dense
    yield DenseCovariance(A[:6])  # not symmetric: its symmetric part counts
    yield FactorCovariance(A)
    yield FactorCovariance(A * 1e-25)
    for options in ({}, {"shift": 1e5}, {"weighted": True}, {"shift": 1e6, "weighted": True}, {"scale": False}):
        made = sparse(rng, **options)
        yield made
        yield DeflatedCovariance(made, z, core, semidefinite=False)
    for base in (dense, FactorCovariance(A)):
        yield DeflatedCovariance(base, z * [1.0, 1e4, 1e-4], core, semidefinite=False)
        yield SubsetCovariance(base, np.array([4, 1, 2]))
    yield SubsetCovariance(DeflatedCovariance(dense, z, core, semidefinite=False), np.array([0, 5]))


@pytest.mark.parametrize("seed", range(4))
def test_entries_lie_within_the_spread(seed):
    rng = np.random.default_rng(seed)
    for covariance in kinds(rng):
        S = as_covariance(covariance)
        true = exact_entries(covariance)
        everything = np.arange(S.n)
        spread, size = fractions(S.spread), fractions(S.size)
        for computed in (S.block(everything, everything), S.matrix):
            assert (abs(true - fractions(computed)) <= spread[:, None] * spread).all()
        assert (abs(np.diagonal(true) - fractions(S.diagonal)) <= spread**2).all()
        assert (abs(true) <= size[:, None] * size).all()
        assert (np.diagonal(true) <= fractions(S.variances)).all()
        assert Fraction(S.away) >= sum(spread**2)
        block = S.block(everything[1:], everything[:2])
        assert (abs(true[1:, :2] - fractions(block)) <= spread[1:, None] * spread[:2]).all()


def test_the_spread_is_small():
    rng = np.random.default_rng(0)
    for covariance in kinds(rng):
        S = as_covariance(covariance)
        assert S.away <= 1e-11 * S.size.max() ** 2 + 1e-200


@pytest.mark.parametrize("seed", range(3))
def test_the_shift_makes_the_matrix_semidefinite(seed):
    rng = np.random.default_rng(seed)
    for covariance in kinds(rng):
        S = as_covariance(covariance)
        least = np.linalg.eigvalsh(S.matrix)[0]
        assert S.semidefinite_shift >= -least - S.away
        assert S.semidefinite_shift <= max(-least, 0) + 1e-12 * np.abs(S.matrix).max() * S.n
        if isinstance(covariance, FactorCovariance | SparseCovariance):
            assert S.semidefinite_shift == 0


def is_semidefinite(M):
    """By elimination in fractions: no pivot is negative, and below a zero pivot there is nothing."""
    M = M.copy()
    for j in range(len(M)):
        if M[j, j] < 0 or (M[j, j] == 0 and any(M[j + 1 :, j])):
            return False
        if M[j, j]:
            M[j + 1 :, j + 1 :] -= M[j + 1 :, [j]] * M[[j], j + 1 :] / M[j, j]
    return True


@pytest.mark.parametrize("rule", ["projection", "orthogonalized-projection"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-5])
def test_what_projections_leave_is_nearly_semidefinite(rule, scale):
    """S + d I in fractions, with d known without writing anything out, and small; S itself need not be."""
    rng = np.random.default_rng(0)
    failures = 0
    for base in (FactorCovariance(scale * rng.standard_normal((3, 6))), sparse(rng), sparse(rng, shift=1e3)):
        deflation = Deflation(base, rule)
        for _ in range(3):
            z = rng.standard_normal(6) * (rng.random(6) < 0.7)
            deflation.remove(z / np.linalg.norm(z))
            S = as_covariance(deflation.current)
            true = exact_entries(deflation.current)
            identity = fractions(np.eye(6))
            assert S.known_semidefinite_shift == S.semidefinite_shift <= 1e-12 * S.size.max() ** 2
            assert is_semidefinite(true + Fraction(S.semidefinite_shift) * identity)
            failures += not is_semidefinite(true)
    assert failures > 0


def components_of(covariance, rule, count, rng):
    """Take sparse eigenvectors out, as a fit does, and yield what is left."""
    deflation = Deflation(covariance, rule)
    for _ in range(count):
        support = rng.choice(covariance.n_features, 3, replace=False)
        z = np.zeros(covariance.n_features)
        z[support] = np.linalg.eigh(deflation.current.submatrix(support))[1][:, -1]
        yield deflation.remove(z)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-5])
def test_what_schur_complements_leave_is_nearly_semidefinite(scale):
    rng = np.random.default_rng(0)
    failures = 0
    for base in (FactorCovariance(scale * rng.standard_normal((4, 7))), sparse(rng), sparse(rng, shift=1e3)):
        for left in components_of(base, "schur", 3, rng):
            S = as_covariance(left)
            true = exact_entries(left)
            assert S.known_semidefinite_shift == S.semidefinite_shift <= 1e-11 * S.size.max() ** 2
            assert is_semidefinite(true + Fraction(S.semidefinite_shift) * fractions(np.eye(S.n)))
            failures += not is_semidefinite(true)
    assert failures > 0


def test_a_schur_complement_with_other_preimages_is_not_taken_for_semidefinite():
    """The numbers of a step are checked, not believed: more taken out, or of another matrix, shows."""
    rng = np.random.default_rng(1)
    base = FactorCovariance(rng.standard_normal((4, 7)))
    *_, left = components_of(base, "schur", 2, rng)
    _, steps = left.made_by
    for change in (
        lambda z, y, v: Step(z, y, v / 1.1),
        lambda z, y, v: Step(z, y * 1.1, v),
        lambda z, y, v: Step(rng.standard_normal(len(z)), y, v),
        lambda z, y, v: Step(z, rng.standard_normal(len(y)), v),
    ):
        other = DeflatedCovariance.by_rule(base, SCHUR, tuple(change(*step) for step in steps))
        S = as_covariance(other)
        assert S.known_semidefinite_shift > 0.05 * S.size.max() ** 2
        assert is_semidefinite(exact_entries(other) + Fraction(S.known_semidefinite_shift) * fractions(np.eye(S.n)))


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
        left = DeflatedCovariance.by_rule(base, PROJECTION, (Step(z, y, share * float(z @ y)),))
        shift = as_covariance(left).known_semidefinite_shift
        assert is_semidefinite(exact_entries(left) + Fraction(shift) * fractions(np.eye(6)))
        if share < 0.9:
            assert shift > 0.1


@pytest.mark.parametrize("share", [1.01, 1.3, 3.0])
def test_more_than_its_value_taken_out_of_a_direction_is_lacking(share):
    """Of an eigenvector: what is left has the eigenvalue (1 - share) of its own."""
    A = np.random.default_rng(1).standard_normal((3, 6))
    values, vectors = np.linalg.svd(A)[1:]
    for value, z in zip(values**2, vectors, strict=False):
        left = DeflatedCovariance.by_rule(FactorCovariance(A), HOTELLING, (Step(z, value * z, share * value),))
        trace = as_covariance(left).semidefinite_trace
        assert is_semidefinite(exact_entries(left) + Fraction(trace) * fractions(np.eye(6)))
        assert trace <= 2 * (share - 1) * value * (1 + 1e-9)


@pytest.mark.parametrize("rule", ["hotelling", "orthogonalized-hotelling"])
def test_what_hotelling_leaves_lacks_no_more_than_is_said(rule, monkeypatch):
    """The sum of the negative eigenvalues is at most the trace, and each is at most the shift."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr("laconic.covariance.deflated.CHEAP_EIGENVALUES", 0)
    for _ in range(6):
        base = FactorCovariance(rng.standard_normal((4, 7)) * 10.0 ** rng.uniform(-1, 1, 7))
        for left in components_of(base, rule, 3, rng):
            S = as_covariance(left)
            values = np.linalg.eigvalsh(S.matrix)
            rounding = 1e-12 * S.size.max() ** 2
            assert -values[values < 0].sum() <= S.semidefinite_trace + rounding
            assert -values[0] <= S.known_semidefinite_shift + rounding
            assert S.semidefinite_trace <= left.core.trace() + rounding
            assert left.semidefinite_trace == S.semidefinite_trace
            assert (
                as_covariance(SubsetCovariance(left, np.arange(S.n)[::-1])).semidefinite_trace == S.semidefinite_trace
            )


def test_the_trace_after_an_eigenvector_is_rounding():
    A = np.random.default_rng(0).standard_normal((4, 7))
    z = np.linalg.svd(A)[2][0]
    left = Deflation(FactorCovariance(A), "hotelling").remove(z)
    assert as_covariance(left).semidefinite_trace < 1e-12 * left.base.trace


def test_the_trace_is_met_in_the_plane():
    """S of rank one and z any: what is left has the negative eigenvalue of the formula."""
    a, z = np.array([[3.0, 4.0, 0.0]]), np.array([1.0, 0.0, 0.0])
    left = Deflation(FactorCovariance(a), "hotelling").remove(z)
    least = -np.linalg.eigvalsh(left.submatrix(np.arange(3)))[0]
    assert as_covariance(left).semidefinite_trace == pytest.approx(least, rel=1e-9)


def test_other_deflations_say_nothing():
    rng = np.random.default_rng(0)
    z = np.eye(6)[0]
    base = FactorCovariance(rng.standard_normal((3, 6)))
    left = Deflation(base, "hotelling").remove(z)
    assert as_covariance(left).known_semidefinite_shift is None  # small: the least shift is computed
    (step,) = left.made_by[1]
    for other in (step._replace(direction=3 * z), step._replace(value=-step.value)):
        assert as_covariance(DeflatedCovariance.by_rule(base, HOTELLING, (other,))).semidefinite_trace == np.inf
    assert as_covariance(DeflatedCovariance(base, left.factors, left.core)).semidefinite_trace == np.inf
    for rule in ("schur", "hotelling", "projection"):
        S = as_covariance(Deflation(DenseCovariance(base.submatrix(np.arange(6))), rule).remove(z))
        assert S.known_semidefinite_shift is None
        assert S.semidefinite_trace == np.inf
    projected = Deflation(FactorCovariance(rng.standard_normal((3, 6))), "projection").remove(z)
    (step,) = projected.made_by[1]
    longer = DeflatedCovariance.by_rule(
        projected.base, PROJECTION, (step._replace(direction=2 * z, image=2 * step.image),)
    )
    assert as_covariance(longer).known_semidefinite_shift is None
    part = as_covariance(SubsetCovariance(projected, np.arange(3)))
    assert part.known_semidefinite_shift == as_covariance(projected).known_semidefinite_shift


def witnesses(n, k):
    """Bounds that are sharp for a matrix of equal entries, or nearly so."""
    largest, every, all_of_them = DualWitness("largest eigenvalue"), ExhaustiveWitness(), np.arange(n)
    return (
        TraceWitness(),
        RowSumWitness(),
        every,
        largest,
        DualWitness("row levels", levels=np.zeros((n, n)), kept=all_of_them),
        BlockWitness(0.0, ((all_of_them, every),)),
        EliminationWitness(all_of_them[:1], TraceWitness(), True, largest),
        TwoGroupsWitness(all_of_them, ((k, every),)),
    )


@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_computed_entries_hold_exactly(seed):
    """For the best support T the matrix u I - S_T is semidefinite in fractions."""
    for covariance in kinds(np.random.default_rng(seed)):
        S = as_covariance(covariance)
        true, k = exact_entries(covariance), min(3, S.n)
        best = max(combinations(range(S.n), k), key=lambda T: np.linalg.eigvalsh(S.matrix[np.ix_(T, T)])[-1])
        for witness in witnesses(S.n, k):
            bound = Fraction(proved_upper(covariance, k, witness))
            assert is_semidefinite(bound * fractions(np.eye(k)) - true[np.ix_(best, best)])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bounds_of_a_column_and_its_copy_hold_exactly(sign):
    """The best value is twice the sum of squares, of which most terms are lost when they are added one by one."""
    count, small = 2**18, 2.0**-29
    column = np.concatenate([np.ones(64), np.full(count, small)])
    covariance = FactorCovariance(np.stack([column, sign * column], axis=1))
    truth = 2 * (64 + count * Fraction(small) ** 2)
    for witness in witnesses(2, 2):
        assert truth <= Fraction(proved_upper(covariance, 2, witness)) <= truth * Fraction(1 + 1e-9)
    assert Fraction(proved_upper(covariance, 1, TraceWitness())) >= truth / 2
    assert Fraction(proved_lower(covariance, [0, 1], [1.0, sign])) <= truth


def test_an_enclosure_is_made_once():
    for covariance in kinds(np.random.default_rng(0)):
        assert covariance is covariance is as_covariance(covariance)
        if isinstance(covariance, DeflatedCovariance):
            assert covariance._base is covariance.base


def test_a_kind_not_known_is_written_out():
    class Own(Covariance):
        n_features = 2

        def _diagonal(self):
            return np.ones(2)

        def columns(self, indices):
            return np.array([[1.0, 0.5], [0.5, 1.0]])[:, indices]

        def product(self, block):
            return self.columns(np.arange(2)) @ block

    assert np.array_equal(as_covariance(Own()).matrix, [[1.0, 0.5], [0.5, 1.0]])
    assert digest_of(Own()) == digest_of(Own())
    assert proved_upper(Own(), 2, DualWitness("largest eigenvalue")) == pytest.approx(1.5)


def test_single_precision_rows_are_multiplied_in_double():
    rows = sp.random_array((50, 5), density=0.1, rng=np.random.default_rng(0), format="csr").astype(np.float32)
    single, _ = covariance_of(rows)
    double, _ = covariance_of(rows.astype(np.float64))
    assert np.abs(single.matrix - double.matrix).max() <= 1e-15
