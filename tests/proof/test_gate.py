"""Every witness, with any arrays in it, bounds what exhaustive search finds; loosely if need be, never falsely.

A new kind of witness is one class and one line of the registry.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from forging import best_value
from hypothesis import given
from hypothesis import strategies as st
from test_two_programs import random_witness

from helpers import Blurred
from laconic import verify
from laconic.core.rounding import sum_up
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Recipe
from laconic.data.passes import digest_of
from laconic.proof import Certificate, certify, gate, prove, proved_lower, proved_upper
from laconic.proof.gate import ProofError
from laconic.proof.witness import WITNESSES, Proved, Witness, checked_number
from laconic.proof.witness_dual import DualWitness, l0_bound
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import ByRows, ByVariances, Step, StepsWitness


def off_diagonal(M):
    M = 0.5 * (M + M.T)
    np.fill_diagonal(M, 0.0)
    return M


class Draw:
    """A random matrix of some kind and scale, and dual points and components for it."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.n = n = int(rng.integers(1, 8))
        self.k = int(rng.integers(1, n + 1))
        scale = 10.0 ** rng.choice([0, 0, 0, -3, 4, -55, 55])
        A = rng.standard_normal((int(rng.integers(1, 9)), n)) * 10.0 ** rng.integers(-2, 3, n)
        kind = rng.integers(6)
        if kind == 0:
            self.covariance = FactorCovariance(A * math.sqrt(scale))
            self.S = A.T @ A * scale
        else:
            G = rng.standard_normal((n, n))
            matrices = [A.T @ A, G + G.T, np.diag(rng.random(n)), np.ones((n, n)), self.correlation()]
            self.S = 0.5 * (matrices[kind - 1] + matrices[kind - 1].T) * scale
            self.covariance = DenseCovariance(self.S)
        self.size = np.abs(self.S).max()

    def correlation(self):
        return np.atleast_2d(np.corrcoef(self.rng.standard_normal((self.n + 2, self.n)), rowvar=False))

    def some(self, shape):
        return self.rng.standard_normal(shape) * self.size * 10.0 ** self.rng.integers(-4, 1)

    def dual(self, S, inside=()):
        """Parts of a dual witness at random; the factor fits, or does not."""
        rng, n = self.rng, len(S)
        parts, M = {"inside": np.array(inside, dtype=np.intp)}, S
        if rng.random() < 0.5:
            parts["multiplier"] = off_diagonal(self.some((n, n)))
            M = M + parts["multiplier"]
        for name in ("levels", "norms"):
            if rng.random() < 0.5:
                parts[name] = self.some((n, n))
                M = M - 0.5 * (parts[name] + parts[name].T)
        if rng.random() < 0.5:
            values, vectors = np.linalg.eigh(M)
            parts["shift"] = max(0.0, -values[0]) + rng.random() * self.size
            A = (vectors * np.sqrt(values + parts["shift"])).T
            if rng.random() < 0.3:
                A = rng.standard_normal((3, n)) * math.sqrt(self.size)
            good = np.linalg.solve(np.eye(len(A)) + rng.random() * A @ A.T / self.size, A)
            parts["factor"] = A
            parts["directions"] = good if rng.random() < 0.7 else rng.standard_normal(A.shape)
            parts["rho"] = float(rng.random() * self.size * rng.choice([0.1, 1, 3]))
        return DualWitness("combined", **parts)

    def component(self, S):
        """Any component, the leading one of its support or not, and any penalty."""
        rng, n = self.rng, len(S)
        features = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        weights = rng.standard_normal(len(features)) / math.sqrt(self.size) * 10.0 ** rng.integers(-1, 2)
        values, vectors = np.linalg.eigh(S[np.ix_(features, features)])
        if values[-1] > 0 and rng.random() < 0.7:
            weights = vectors[:, -1] / math.sqrt(values[-1])
        return Proposition2Witness(features, weights, float(rng.random() * self.size * rng.choice([0, 0.01, 0.3, 2])))


@pytest.mark.parametrize("block", range(12))
def test_any_witness_gives_a_true_bound(block):
    for seed in range(40 * block, 40 * block + 40):
        draw = Draw(seed)
        truth = best_value(draw.S, draw.k)
        rounding = 2e-13 * draw.size
        simple = [TraceWitness(), RowSumWitness(), DualWitness("largest eigenvalue")]
        some = [draw.dual(draw.S) for _ in range(3)] + [draw.component(draw.S) for _ in range(3)]
        nested = [random_witness(draw.rng, draw.n, draw.k, draw.size) for _ in range(3)]
        for witness in [*simple, *some, *nested]:
            assert proved_upper(draw.covariance, draw.k, witness) >= truth - rounding, (seed, witness)
        exact = proved_upper(draw.covariance, draw.k, ExhaustiveWitness())
        assert truth - rounding <= exact <= truth + 1e-12 * draw.n * draw.size


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1])
def test_any_witness_of_a_matrix_known_up_to_a_spread(share):
    """What is computed of S is off by all that the spread allows, or by some of it."""
    for seed in range(60):
        draw = Draw(seed)
        spread = math.sqrt(share) * np.sqrt(np.abs(draw.S).max(axis=1)) * draw.rng.random(draw.n)
        signs = off_diagonal(draw.rng.uniform(-1, 1, draw.S.shape)) if seed % 3 else None
        truth = best_value(draw.S, draw.k)
        simple = [TraceWitness(), RowSumWitness(), DualWitness("largest eigenvalue"), ExhaustiveWitness()]
        for witness in [
            *simple,
            draw.dual(draw.S),
            draw.component(draw.S),
            random_witness(draw.rng, draw.n, draw.k, draw.size),
        ]:
            bound = proved_upper(Blurred(draw.S, spread, signs), draw.k, witness)
            assert bound >= truth - 1e-11 * draw.size, (seed, witness)


@given(st.integers(0, 10**6))
def test_features_known_to_be_inside(seed):
    draw = Draw(seed)
    inside = np.sort(draw.rng.choice(draw.n, int(draw.rng.integers(0, draw.k + 1)), replace=False))
    truth = best_value(draw.S, draw.k, inside)
    for witness in (draw.dual(draw.S, inside), ExhaustiveWitness()):
        bound = proved_upper(draw.covariance, draw.k, witness, inside=inside)
        assert bound >= truth - 2e-13 * draw.size
    assert bound <= truth + 1e-12 * draw.n * draw.size  # the exhaustive one


def costs_by_definition(witness, n, k):
    """What the bending costs, from the formulas of the witness, one row at a time."""
    cost = 0.0
    if witness.multiplier is not None:
        cost += (k - 1) * np.abs(witness.multiplier).max()
    levels, norms = [], []
    for i in range(n):
        if witness.levels is not None:
            c, m = witness.levels[i, i], np.abs(np.delete(witness.levels[i], i)).max(initial=0.0)
            levels.append(max(c if m <= 2 * c else m**2 / (4 * (m - c)), 0.0))
        if witness.norms is not None:
            c, q = witness.norms[i, i], np.delete(witness.norms[i], i)
            norms.append((c + math.sqrt(c**2 + q @ q)) / 2)
    return cost + k * sum(sorted(levels)[-k:]) + sum(sorted(norms)[-k:])


@given(st.integers(0, 10**6))
def test_dual_bounds_are_what_the_formulas_say(seed):
    draw = Draw(seed)
    S, n, k = draw.S, draw.n, draw.k
    witness = replace(draw.dual(S), factor=None, directions=None)
    M = S.copy()
    if witness.multiplier is not None:
        M += witness.multiplier
    for part in (witness.levels, witness.norms):
        M -= 0 if part is None else 0.5 * (part + part.T)
    expected = np.linalg.eigvalsh(M)[-1] + costs_by_definition(witness, n, k)
    bound = prove(S, k, witness)
    value, margin = bound.value, bound.margin
    size = max(np.abs(M).max(), draw.size, abs(expected)) * n * k
    assert abs(value - expected) <= 1e-13 * size
    assert 0 <= margin <= 1e-13 * size


def test_the_l0_bound_is_what_the_formula_says():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 6))
    rho, k = 1.0, 2
    W = np.linalg.solve(rho * np.eye(4) + 0.3 * A @ A.T, A)
    Y = np.zeros((4, 4))
    for a, w in zip(A.T, W.T, strict=True):
        d = (w @ a) ** 2 - (a @ a - rho) * (w @ w)
        if a @ a > rho:
            assert d > 0
            Y += rho * (a @ a - rho) / d * np.outer(w, w)
    expected = np.linalg.eigvalsh(Y)[-1] + rho * k
    assert l0_bound(A, W, rho, k).value == pytest.approx(expected)
    S = A.T @ A - 0.5 * np.eye(6)
    shifted = DualWitness("l0", factor=A, directions=W, rho=rho, shift=0.5)
    assert proved_upper(0.5 * (S + S.T), k, shifted) == pytest.approx(expected - 0.5)


@pytest.mark.parametrize("witness", [TraceWitness(), RowSumWitness()])
def test_variances_and_row_sums_as_defined(witness):
    S = np.array([[4.0, 0.5, -1], [0.5, 3, 0.5], [-1, 0.5, 1]])
    assert proved_upper(S, 2, witness) == pytest.approx(7 if isinstance(witness, TraceWitness) else 5, rel=1e-14)


def test_variances_do_not_bound_an_indefinite_matrix():
    S = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert proved_upper(S, 2, TraceWitness()) >= 1


@given(st.integers(0, 10**6))
def test_a_component_gives_the_l0_bound_of_its_directions(seed):
    """What the witness with a factor and directions written out proves."""
    rng = np.random.default_rng(seed)
    n, k = 7, int(rng.integers(1, 8))
    A = rng.standard_normal((9, n)) * 10.0 ** rng.integers(-1, 2, n)
    S = 0.5 * (A.T @ A + (A.T @ A).T)
    T = np.sort(rng.choice(n, k, replace=False))
    values, vectors = np.linalg.eigh(S[np.ix_(T, T)])
    z = vectors[:, -1] / math.sqrt(values[-1])
    x = A[:, T] @ z
    p = x @ A
    # Not next to a p_i^2, where the directions have no limit.
    rho = float(np.sort(p**2)[int(rng.integers(n))] * rng.uniform(1.05, 1.3))
    if (np.abs(p**2 / rho - 1) < 0.01).any() or (np.abs(S.diagonal() / rho - 1) < 0.01).any():
        return
    W = np.where(p**2 > rho, p * A - rho * x[:, None], A - np.outer(x, p))
    written = proved_upper(S, k, DualWitness("l0", factor=A, directions=W, rho=rho))
    bound = prove(S, k, Proposition2Witness(T, z, rho))
    value, margin = bound.value, bound.margin
    assert value == pytest.approx(written, rel=1e-8)
    assert 0 <= margin <= 1e-9 * value


def test_a_component_that_is_none_proves_little_but_nothing_false():
    S = np.diag([3.0, 2.0, 1.0])
    assert proved_upper(S, 2, Proposition2Witness(np.array([2]), np.array([1.0]), 4.0)) == pytest.approx(8)
    assert proved_upper(S, 2, Proposition2Witness(np.array([1]), np.array([0.0]), 0.0)) == pytest.approx(3)
    assert proved_upper(S, 2, Proposition2Witness(np.array([1]), np.array([1e130]), 1.0)) >= 3


@pytest.mark.parametrize("scale", [1.0, 1e-58, 1e58])
def test_lower_bounds_hold_exactly(scale):
    """z'Sz >= lower z'z in fractions, and sharply so."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, k = 6, int(rng.integers(1, 7))
        G = rng.standard_normal((n, n)) * scale
        S = 0.5 * (G + G.T)
        T, z = rng.choice(n, k, replace=False), rng.standard_normal(k)
        exact = [Fraction(x) for x in z.tolist()]
        value = sum(
            Fraction(S[i, j]) * a * b for i, a in zip(T, exact, strict=True) for j, b in zip(T, exact, strict=True)
        )
        value /= sum(a * a for a in exact)
        lower = Fraction(proved_lower(S, T, z))
        assert value - Fraction(1e-14 * scale) * k**2 <= lower <= value


def test_lower_bounds_of_a_factor_hold_exactly():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, z = rng.standard_normal((5, 6)), rng.standard_normal(3)
        T = rng.choice(6, 3, replace=False)
        image = [sum(Fraction(A[r, i]) * Fraction(x) for i, x in zip(T, z.tolist(), strict=True)) for r in range(5)]
        value = sum(x * x for x in image) / sum(Fraction(x) ** 2 for x in z.tolist())
        lower = Fraction(proved_lower(FactorCovariance(A), T, z))
        assert value * Fraction(1 - 1e-13) <= lower <= value


@pytest.mark.parametrize(("n", "k", "words"), [(3, 0, "cardinality"), (3, 4, "cardinality"), (60, 10, "one by one")])
def test_what_the_gate_does_not_do(n, k, words):
    with pytest.raises(ValueError, match=words):
        proved_upper(np.eye(n), k, ExhaustiveWitness())


SQUARE = np.eye(3)


@pytest.mark.parametrize(
    ("witness", "words"),
    [
        (DualWitness("", multiplier=np.eye(3)), "zero diagonal"),
        (DualWitness("", multiplier=np.triu(np.ones((3, 3)), 1)), "symmetric"),
        (DualWitness("", multiplier=np.zeros((2, 2))), "shape"),
        (DualWitness("", levels=np.full((3, 3), np.nan)), "NaN"),
        (DualWitness("", norms=np.full((3, 3), 1e300)), "larger"),
        (DualWitness("", levels=np.zeros((3, 3), dtype=complex)), "dtype"),
        (DualWitness("", inside=np.array([0])), "for granted"),
        (DualWitness("", inside=np.array([7])), "outside"),
        (DualWitness("", directions=SQUARE, rho=0.1), "no factor"),
        (DualWitness("", factor=SQUARE, rho=0.1), "directions"),
        (DualWitness("", factor=SQUARE, directions=np.ones((2, 3)), rho=0.1), "shape"),
        (DualWitness("", factor=SQUARE, directions=SQUARE, rho=-0.1), "rho"),
        (DualWitness("", factor=SQUARE, directions=SQUARE, rho=0.1, shift=math.inf), "shift"),
        (Proposition2Witness(np.array([0, 3]), np.ones(2), 0.1), "outside"),
        (Proposition2Witness(np.array([1, 1]), np.ones(2), 0.1), "twice"),
        (Proposition2Witness(np.array([0, 1]), np.ones(3), 0.1), "shape"),
        (Proposition2Witness(np.empty(0, dtype=int), np.empty(0), 0.1), "shape"),
        (Proposition2Witness(np.array([0, 1]), np.array([1.0, np.nan]), 0.1), "NaN"),
        (Proposition2Witness(np.array([0, 1]), np.ones(2), -0.1), "rho"),
        (Proposition2Witness(np.array([0, 1]), np.ones(2), math.nan), "rho"),
        (None, "no witness"),
    ],
)
def test_a_witness_that_does_not_fit_is_refused(witness, words):
    with pytest.raises(ValueError, match=words):
        proved_upper(np.eye(3), 2, witness)


def test_wide_data_are_never_written_out(monkeypatch):
    """The kinds meant for wide data work where writing out is forbidden; the others say so."""
    monkeypatch.setattr("laconic.covariance.matrix.WRITE_OUT_LIMIT", 10)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 40))
    A[:, 6:] *= 0.01
    S = FactorCovariance(A)
    own = Proposition2Witness(np.arange(2), np.array([0.3, -0.1]), 1.0)
    few = np.arange(6)
    core, fewer = Step(2, few, DualWitness("largest eigenvalue")), Step(1, None, TraceWitness())
    reduced = StepsWitness((core, Step(2, None, ByVariances((0,)))))
    by_rows = StepsWitness((core, fewer, Step(2, None, ByRows(0, 1, few))))
    truth = best_value((A.T @ A)[:8, :8], 2)
    for witness in (TraceWitness(), own, RowSumWitness(), reduced, by_rows):
        assert proved_upper(S, 2, witness) >= truth
    assert proved_upper(S, 2, reduced) <= np.linalg.eigvalsh(S.submatrix(few))[-1] + 0.02
    assert proved_upper(S, 2, DualWitness("largest eigenvalue")) >= truth
    with pytest.raises(ValueError, match="written out"):
        proved_upper(S, 2, DualWitness("l1 dual", multiplier=np.zeros((40, 40))))
    projected = Deflation(S, "projection").remove(np.eye(40)[7])
    for witness in (TraceWitness(), reduced, by_rows):
        assert proved_upper(projected, 2, witness) >= best_value(projected.submatrix(np.arange(8)), 2)


S = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]])


@dataclass(frozen=True, eq=False)
class WholeTraceWitness(Witness):
    """The total variance and something on top of it."""

    added: float
    inner: Witness

    def bound(self, S, k, inside):
        added = abs(checked_number(self.added, "added"))
        value = sum_up([*S.variances, S.semidefinite_shift * S.n_features, added])
        return min(Proved(value, added), self.inner.bound(S, k, inside))

    def kinds(self):
        return ("whole trace",)


@pytest.fixture
def registered():
    gate.register(WholeTraceWitness)
    yield WholeTraceWitness(0.25, StepsWitness((Step(2, None, TraceWitness()),)))
    del WITNESSES["WholeTraceWitness"]


def certificate_of(witness):
    options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
    return certify(DenseCovariance(S), 2, [0, 1], [0.8, 0.6], witness, **options)


def test_one_line_gives_bound_name_storage_and_verification(registered, tmp_path):
    bound = prove(S, 2, registered)
    assert bound.kind == "whole trace"
    assert np.linalg.eigvalsh(S[:2, :2])[-1] <= bound.value <= S.trace() + 0.25 + 1e-9
    certificate = certificate_of(registered)
    path = certificate.save(tmp_path / "proof.json")
    again = Certificate.load(path)
    assert isinstance(again.witness, WholeTraceWitness)
    assert again.witness.added == 0.25
    assert isinstance(again.witness.inner, StepsWitness)
    assert verify(path, S)
    assert not verify(replace(again, upper=bound.value * (1 - 1e-6)), S)


def test_the_gate_proves_nothing_from_a_class_that_is_not_registered():
    with pytest.raises(ProofError, match="no witness that the gate knows"):
        prove(S, 2, WholeTraceWitness(0.0, TraceWitness()))


def test_a_class_derived_from_a_witness_is_not_that_witness():
    class Forged(TraceWitness):
        def bound(self, *_):
            return Proved(0.0, 0.0)

    Forged.__name__ = "TraceWitness"
    with pytest.raises(ProofError, match="no witness"):
        prove(S, 2, Forged())
    with pytest.raises(ProofError, match="no witness"):
        prove(S, 2, StepsWitness((Step(2, None, Forged()),)))
    assert not verify(replace(certificate_of(TraceWitness()), witness=Forged()), S)


def test_a_name_is_taken_once():
    other = type("TraceWitness", (Witness,), {})
    with pytest.raises(ValueError, match="another name"):
        gate.register(other)
