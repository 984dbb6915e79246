"""Terms of a proof that stand for what is not known of a number: without any of them a bound here would be false.

Rounding is too small to be seen in a bound, so arithmetic is made worse: entries that are off by all that their spread
allows, sums and products that are off by a part in a million, where the proof is told so.
"""

import numpy as np
import pytest

from helpers import Blurred, best_value, random_psd
from laconic.core.eigenvalues import proved_largest_eigenvalue
from laconic.covariance.matrix import DenseCovariance
from laconic.proof import proved_lower, proved_upper, witness_dual
from laconic.proof import witness_dual as dual
from laconic.proof import witness_dual as l0
from laconic.proof import witness_proposition_2 as component
from laconic.proof.witness import Proved
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import ByRows, ByVariances, Step, StepsWitness

# What a rounding is made as large as.
ROUGH = 1e-6
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
# All entries of one size: the bounds by row sums, by eigenvalues and by every support are the truth.
EQUAL = np.outer(SIGNS, SIGNS)
LARGEST = DualWitness("largest eigenvalue")
NOTHING, ALL = np.zeros((4, 4)), np.arange(4)


def by_rows(k, inner, smaller, kept, strong=ALL[:0]):
    """The features that are not kept are left out by their rows."""
    return StepsWitness((Step(k, kept, inner), Step(k - 1, None, smaller), Step(k, None, ByRows(0, 1, strong))))


BY_VARIANCES = StepsWitness((Step(1, ALL[:1], TraceWitness()), Step(1, None, ByVariances((0,)))))
# Each of them proves the best value itself where the entries are known: matrix, k, witness.
SHARP = {
    "trace": (EQUAL, 1, TraceWitness()),
    "row sums": (EQUAL, 4, RowSumWitness()),
    "every support": (EQUAL, 4, ExhaustiveWitness()),
    "largest eigenvalue": (EQUAL, 4, LARGEST),
    "a matrix bent by nothing": (EQUAL, 4, DualWitness("", norms=NOTHING)),
    "a point on all features": (EQUAL, 4, DualWitness("", levels=NOTHING, kept=ALL)),
    "component": (EQUAL, 4, Proposition2Witness(ALL, SIGNS / 4, 0.0)),
    "threshold": (EQUAL, 4, ThresholdWitness(1.0)),
    "a feature left out by its row": (EQUAL[:2, :2], 2, by_rows(2, TraceWitness(), TraceWitness(), ALL[:1])),
    "the best feature kept": (np.diag([2.0, 1.0]), 1, BY_VARIANCES),
    "the best feature hidden": (np.diag([1.0, 2.0]), 1, BY_VARIANCES),
}


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("case", SHARP)
def test_a_spread_is_paid_for(case, share):
    S, k, witness = SHARP[case]
    truth = best_value(S, k)
    assert proved_upper(S, k, witness) == pytest.approx(truth, rel=1e-12)
    for spread in (np.full(len(S), np.sqrt(share)), np.sqrt(share) * np.linspace(1.0, 0.3, len(S))):
        for shift in (None, 0.0):
            assert proved_upper(Blurred(S, spread, shift=shift), k, witness) >= truth * (1 - 1e-9)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1])
def test_features_left_out_pay_for_the_spread_of_their_rows(share):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        S = np.where(seed % 2, EQUAL, random_psd(4, rank=1 + seed % 3, seed=seed))
        spread = np.sqrt(share * S.diagonal()) * rng.random(4)
        for k in (2, 3, 4):
            for smaller in (TraceWitness(), RowSumWitness(), ExhaustiveWitness()):
                kept, strong = np.sort(rng.permutation(4)[:2]), rng.permutation(4)[: rng.integers(5)]
                witness = by_rows(k, ExhaustiveWitness(), smaller, kept, strong)
                assert proved_upper(Blurred(S, spread), k, witness) >= best_value(S, k) * (1 - 1e-9)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1])
def test_lower_bounds_pay_for_a_spread(share):
    rng = np.random.default_rng(0)
    for seed in range(10):
        S, z = random_psd(5, seed=seed), rng.standard_normal(3)
        T = np.sort(rng.permutation(5)[:3])
        spread, signs = np.sqrt(share) * rng.random(5), np.zeros((5, 5))
        signs[np.ix_(T, T)] = np.sign(np.outer(z, z))
        value = z @ S[np.ix_(T, T)] @ z / (z @ z)
        off = (spread[T] @ np.abs(z)) ** 2 / (z @ z)
        lower = proved_lower(Blurred(S, spread, signs), T, z)
        assert value - 1e-6 * off <= lower <= value + 1e-6 * off


@pytest.mark.parametrize(
    ("value", "loading"),
    [
        ("-0x1.dd64158152e9bp-2", "0x1.152f78339134bp-1"),
        ("-0x1.e0746c4a27280p-2", "0x1.19af74c589fa6p-1"),
        ("-0x1.e57e8e9ac91f6p-2", "0x1.1713b8166dd68p-1"),
    ],
)
def test_a_negative_value_is_divided_by_no_more_than_the_length(value, loading):
    """z S z / z^2 = S, with roundings that all go towards zero."""
    value, loading = float.fromhex(value), float.fromhex(loading)
    assert loading * (value * loading) / (loading * loading) > value
    assert proved_lower(np.array([[value]]), [0], [loading]) <= value


class RoughSums(np.ndarray):
    """Sums of arrays that come out too small by a part of both terms."""

    def __add__(self, other):
        exact, parts = np.asarray(self) + other, np.abs(np.asarray(self)) + np.abs(other)
        return (exact - ROUGH * parts).view(RoughSums)

    def __sub__(self, other):
        return self + -np.asarray(other)


def rough_gamma(operations):
    return operations * ROUGH


# For one feature what bending costs is what it takes off, so that these prove the largest variance itself.
BENDING = {
    "multiplier": {"multiplier": NOTHING},
    "levels": {"levels": 0.5 * np.eye(4)},
    "norms": {"norms": 0.5 * np.eye(4)},
    "levels on all features": {"levels": 0.5 * np.eye(4), "kept": ALL},
    "norms on all features": {"levels": NOTHING, "norms": 0.5 * np.eye(4), "kept": ALL},
}


def rough(matrix):
    """A matrix that is added to others roughly."""
    S = DenseCovariance(matrix)
    S.matrix = matrix.view(RoughSums)
    return S


@pytest.mark.parametrize("part", BENDING)
def test_the_rounding_of_a_bent_matrix_is_paid_for(monkeypatch, part):
    S = rough(np.diag([2.0, 1.0, 1.5, 0.5]))
    witness = DualWitness("", **BENDING[part])
    assert proved_upper(S, 1, witness) < 2.0 - ROUGH
    for module in (dual, witness_dual):
        monkeypatch.setattr(module, "gamma", rough_gamma)
    assert 2.0 <= proved_upper(S, 1, witness) <= 2.0 + 100 * ROUGH


def test_the_rounding_of_the_product_in_the_l0_bound_is_paid_for(monkeypatch):
    """Inner products of q terms that are off by q roundings."""
    for q, n in ((3, 5), (5, 3)):
        A = np.random.default_rng(q).standard_normal((q, n))
        truth = np.linalg.norm(A, 2) ** 2
        with monkeypatch.context() as patch:
            patch.setattr(
                l0, "proved_largest_eigenvalue", lambda Y, part=1 - q * ROUGH: proved_largest_eigenvalue(part * Y)
            )
            assert l0.l0_bound(A, A, 0.0, n).value < truth * (1 - ROUGH)
            patch.setattr(l0, "gamma", rough_gamma)
            assert truth <= l0.l0_bound(A, A, 0.0, n).value <= truth * (1 + 100 * ROUGH)


def test_a_factor_that_seems_to_fit_is_paid_for(monkeypatch):
    """A'A is less than S by what rounding hides; the bound of A'A itself has none."""
    S = np.diag([2.0, 1.0, 1.5, 0.5])
    A = np.sqrt(S) * (1 - ROUGH)
    S = rough(S)
    witness = DualWitness("l0", factor=A, directions=A, rho=0.0)
    monkeypatch.setattr(dual, "l0_bound", lambda A, *_: Proved(float((A**2).max()), 0.0))
    assert proved_upper(S, 4, witness) < 2.0 - ROUGH
    monkeypatch.setattr(dual, "gamma", rough_gamma)
    assert 2.0 <= proved_upper(S, 4, witness) <= 2.0 + 100 * ROUGH


def test_the_rounding_of_a_component_is_paid_for(monkeypatch):
    """One feature, where both errors have closed forms: that of d, and that of the matrix of directions."""
    monkeypatch.setattr(component, "gamma", rough_gamma)
    for s, z, rho in ((2.0, 1.0, 0.5), (2.0, 0.8, 1.5), (0.5, 3.0, 0.1), (1.0, 0.3, 0.5)):
        p, x = s * z, np.sqrt(s) * z
        f, h = (p, rho) if p * p > rho else (1.0, p)
        t, w = abs(f) * np.sqrt(s) + abs(h) * x, s * (f - h * z) ** 2
        c = (s - rho) / w
        of_d = 34 * ROUGH * c * (t * t + 2 * h * h / rho * s * x * x)
        of_products = 26 * ROUGH * c * t * t
        bound = proved_upper(np.array([[s]]), 1, Proposition2Witness(np.array([0]), np.array([z]), rho))
        assert s + of_d + of_products <= bound * (1 + 1e-12)
        assert bound <= s + 2 * (of_d + of_products)
