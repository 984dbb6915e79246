"""Proofs in steps: each step bounds what exhaustive search finds, or is refused, whatever it refers to."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from forging import best_value

from laconic.covariance import DenseCovariance, FactorCovariance, Screening, SubsetCovariance, covariance_of
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.data.rows import ArraySource
from laconic.proof import proved_upper
from laconic.proof.gate import proved_of
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_steps import (
    Again,
    ByRows,
    ByVariances,
    Ledger,
    Step,
    StepsWitness,
    _with_excess,
    reach_by_rows,
)
from matrices import MORE

NOBODY = np.empty(0, dtype=np.intp)
EVERY, SUM = ExhaustiveWitness(), TraceWitness()


def _rows(rng, n):
    """Rows with correlated columns, some of them equal or constant, of any precision."""
    X = rng.standard_normal((int(rng.integers(3, 30)), 3)) @ rng.standard_normal((3, n))
    X += rng.standard_normal(X.shape) * 10.0 ** rng.integers(-2, 2)
    X *= 0.7 ** np.arange(n) if rng.random() < 0.5 else 1.0
    if rng.random() < 0.3:
        X[:, -1], X[:, 0] = X[:, 1], 1.0
    return X.astype(np.float32).astype(np.float64) if rng.random() < 0.3 else X


def _deflated(rng, covariance, S, hand):
    """Take one or two components on features at hand out, by any rule; and out of the whole array."""
    rule = str(rng.choice(list(DEFLATIONS)))
    left, whole = Deflation(covariance, rule), Deflation(DenseCovariance(S), rule)
    for _ in range(int(rng.integers(1, 3))):
        z = np.zeros(len(S))
        own = rng.choice(hand, int(rng.integers(1, min(3, len(hand)) + 1)), replace=False)
        z[own] = rng.standard_normal(len(own))
        z /= np.linalg.norm(z)
        left.remove(z)
        whole.remove(z)
    return left.current, whole.current.submatrix(np.arange(len(S)))


def _array(rng, n, seed):
    kind = list(MORE)[seed % len(MORE)]
    S = MORE[kind](n, seed) * (10.0 ** rng.integers(-6, 7) if rng.random() < 0.3 else 1.0)
    return DenseCovariance(0.5 * (S + S.T), semidefinite=False), 0.5 * (S + S.T)


def _factor(rng, n, seed):  # noqa: ARG001 - every kind takes the same
    A = rng.standard_normal((int(rng.integers(1, 5)), n)) * 10.0 ** rng.integers(-6, 7)
    return FactorCovariance(A), A.T @ A


def _sparse(rng, n, seed):
    X = sp.random(12, n, 0.4, random_state=seed, format="csr") * 10.0 ** rng.integers(-3, 4)
    return covariance_of(X)[0], np.cov(X.toarray(), rowvar=False)


def _subset(rng, n, seed):
    covariance, S = _factor(rng, n + 3, seed)
    keep = np.sort(rng.choice(n + 3, n, replace=False))
    return SubsetCovariance(covariance, keep), S[np.ix_(keep, keep)]


def _after_deflation(rng, n, seed):
    covariance, S = (_factor if seed % 2 else _sparse)(rng, n, seed)
    return _deflated(rng, covariance, S, np.arange(n))


def _hidden(rng, n, seed):
    X = _rows(rng, n)
    hand = np.sort(rng.choice(n, int(rng.integers(2, n + 1)), replace=False))
    covariance, S = Screening(ArraySource(X)).with_columns(hand), np.cov(X, rowvar=False)
    return _deflated(rng, covariance, S, hand) if seed % 2 else (covariance, S)


PROBLEMS = {
    "array": _array,
    "factor": _factor,
    "sparse": _sparse,
    "subset": _subset,
    "deflated": _after_deflation,
    "hidden features": _hidden,
}


class Writer:
    """Writes random steps about a random matrix: most fit together, some do not."""

    def __init__(self, problem, seed):
        self.rng = rng = np.random.default_rng([seed, *problem.encode()])
        self.n = n = int(rng.integers(3, 8))
        self.covariance, self.S = PROBLEMS[problem](rng, n, seed)
        self.k = int(rng.integers(1, n + 1))
        self.inside = NOBODY
        if rng.random() < 0.4:
            self.inside = np.sort(rng.choice(n, int(rng.integers(1, self.k + 1)), replace=False))
        self.size = max(np.abs(self.S).max(), self.covariance.rounding_unit)
        self.ledger = Ledger(self.covariance, self.k, self.inside)

    def some(self, among=None):
        """A subset of some features, often those at hand."""
        rng, hand = self.rng, self.covariance.at_hand
        if among is None:
            among = hand if hand is not None and rng.random() < 0.8 else np.arange(self.n)
        return np.sort(rng.choice(among, int(rng.integers(1, len(among) + 1)), replace=False))

    def place(self, fits):
        """The place of an earlier step that fits, or now and then of any step."""
        places = [place for place, step in enumerate(self.ledger.steps) if fits(step)]
        if not places or self.rng.random() < 0.1:
            return int(self.rng.integers(-2, len(self.ledger.steps) + 1))
        return int(self.rng.choice(places))

    def features_of(self, step):
        return np.arange(self.n) if step.features is None else step.features

    def step(self):
        rng, steps = self.rng, self.ledger.steps
        q = self.k if rng.random() < 0.5 else int(rng.integers(1, self.k + 1))
        features = None if rng.random() < 0.4 else self.some()
        own = np.arange(self.n) if features is None else features

        def within(step):
            return np.isin(self.features_of(step), own).all()

        kind = int(rng.integers(4)) if steps else 0
        if kind == 1:
            return Step(q, features, Again(self.place(lambda step: np.array_equal(self.features_of(step), own))))
        if kind == 2:
            first = self.place(within)
            kept = self.features_of(steps[first]) if 0 <= first < len(steps) else own
            others = [
                self.place(lambda step: np.array_equal(self.features_of(step), kept)) for _ in range(rng.integers(4))
            ]
            return Step(q, features, ByVariances((first, *others)))
        if kind == 3:
            kept = self.place(lambda step: within(step) and step.cardinality >= q)
            smaller = self.place(lambda step: step.cardinality >= q - 1 and np.isin(own, self.features_of(step)).all())
            strong = self.some(np.arange(len(own))) if rng.random() < 0.7 else NOBODY
            return Step(q, features, ByRows(kept, smaller, strong))
        levels = rng.standard_normal((len(own), len(own))) * 0.1 * self.size
        threshold = ThresholdWitness(float(rng.standard_normal() * self.size))
        direct = [SUM, RowSumWitness(), threshold, EVERY, DualWitness("any", levels=levels)]
        return Step(q, features, direct[int(rng.integers(len(direct)))])

    def truth(self, step):
        """The best value of the supports that a step is about."""
        own = self.features_of(step)
        q = min(step.cardinality, len(own))
        inside = self.inside if step.cardinality == self.k else NOBODY
        if not np.isin(inside, own).all() or len(inside) > q:
            return -np.inf
        return best_value(self.S[np.ix_(own, own)], q, np.searchsorted(own, inside).tolist())


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("block", [0, *(pytest.param(b, marks=pytest.mark.slow) for b in range(1, 15))])
def test_every_step_that_is_not_refused_is_true(problem, block):
    proved = dict.fromkeys([Again, ByVariances, ByRows, ThresholdWitness], 0)
    for seed in range(block * 60, block * 60 + 60):
        writer = Writer(problem, seed)
        ledger = writer.ledger
        for _ in range(25):
            step = writer.step()
            try:
                place = ledger.add(step)
            except ValueError:
                continue
            bound = ledger.proved[place].value
            assert bound >= writer.truth(step) - 1e-12 * writer.size, (seed, ledger.steps)
            proved[type(step.how)] = proved.get(type(step.how), 0) + bool(np.isfinite(bound))
        whole = [
            place for place, step in enumerate(ledger.steps) if step.features is None and step.cardinality == writer.k
        ]
        for place in whole:
            if np.isfinite(ledger.proved[place].value):
                bound = proved_of(ledger, place)
                again = proved_upper(writer.covariance, writer.k, bound.witness, inside=writer.inside)
                assert again == pytest.approx(bound.value, rel=1e-12, abs=1e-300)
    assert min(proved.values()) >= 10, proved


def by_all_supports(S, q, smaller, features, strong):
    """What supports with a feature can reach, by the docstring of ByRows and loops."""
    n, reach = len(S), []
    A = np.abs(S)

    def others(r, count):
        return sorted((A[r, j] for j in range(n) if j != r), reverse=True)[:count]

    circle = [S[r, r] + sum(others(r, q - 1)) for r in range(n)]
    for i in features:
        length = np.sqrt(sum(x * x for x in others(i, q - 1)))
        by_row = np.linalg.eigvalsh([[smaller, length], [length, S[i, i]]])[-1]
        by_anchor = circle[i]
        for r in range(n):
            if r != i:
                near = S[r, r] + sum(others(r, q - 2)) + A[r, i]
                by_anchor = max(by_anchor, min(circle[r], near) if r in strong else circle[r])
        reach.append(min(by_row, by_anchor))
    return np.array(reach)


@pytest.mark.parametrize("kind", MORE)
def test_what_a_feature_can_reach(kind):
    """The definition, written as loops, and the truth. Entries tie in many kinds."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        S = MORE[kind](n, seed)
        S = 0.5 * (S + S.T)
        size = np.abs(S).max()
        for q in range(2, n + 1):
            smaller = best_value(S, q - 1)
            features = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
            strong = np.sort(rng.choice(n, int(rng.integers(0, n + 1)), replace=False))
            reach = reach_by_rows(DenseCovariance(S, semidefinite=False), q, smaller, features, strong)
            expected = by_all_supports(S, q, smaller, features, strong)
            np.testing.assert_allclose(reach, expected, rtol=1e-12, atol=1e-12 * size + 1e-200)
            for i, reached in zip(features, reach, strict=True):
                assert reached >= best_value(S, q, [i]) - 1e-13 * size


def test_by_hand():
    """diag(5, 4, 1), the first two kept: 5 for both of them, and 5 + 1 for one of them and the third."""
    S, kept = np.diag([5.0, 4.0, 1.0]), np.array([0, 1])
    two, one = Step(2, kept, EVERY), Step(1, kept, EVERY)
    assert proved_upper(S, 2, StepsWitness((two, Step(2, None, ByVariances((0,)))))) == pytest.approx(6)
    assert proved_upper(S, 2, StepsWitness((two, one, Step(2, None, ByVariances((0, 1)))))) == pytest.approx(6)
    trace = Step(2, kept, SUM)
    assert proved_upper(S, 2, StepsWitness((trace, Step(2, None, ByVariances((0,)))))) == pytest.approx(9)
    # Rows: the third feature has no entries besides its variance.
    rows = (Step(1, None, SUM), two, Step(2, None, ByRows(1, 0, NOBODY)))
    assert proved_upper(S, 2, StepsWitness(rows)) == pytest.approx(5)
    # The numbers of a step for other sizes.
    levels = DualWitness("row levels", levels=np.zeros((3, 3)))
    assert proved_upper(S, 3, StepsWitness((Step(1, None, levels), Step(3, None, Again(0))))) == pytest.approx(5)


def test_variances_and_rows_as_defined():
    S = np.diag([5.0, 4.0, 0.1, 0.1]) + 0.01
    kept = Step(2, np.array([0, 1]), EVERY)
    inner = np.linalg.eigvalsh(S[:2, :2])[-1]
    second = np.linalg.eigvalsh([[5.01, 0.01], [0.01, 0.11]])[-1]
    steps = (kept, Step(1, None, SUM), Step(2, None, ByRows(0, 1, NOBODY)))
    assert proved_upper(S, 2, StepsWitness(steps)) == pytest.approx(max(inner, second), rel=1e-12)
    three = np.linalg.eigvalsh([[9.02, np.sqrt(2) * 0.01], [np.sqrt(2) * 0.01, 0.11]])[-1]
    steps = (Step(3, np.array([0, 1]), EVERY), Step(2, None, SUM), Step(3, None, ByRows(0, 1, NOBODY)))
    # A support with a feature left out has the largest row sum of any feature, or what the row reaches.
    circle = 5.01 + 2 * 0.01
    assert proved_upper(S, 3, StepsWitness(steps)) == pytest.approx(max(inner, min(three, circle)), rel=1e-12)


def test_variances_alone_do_not_bound_an_indefinite_matrix():
    S = np.array([[0.0, 1.0], [1.0, 0.0]])
    steps = (Step(2, np.array([0]), SUM), Step(2, None, ByVariances((0,))))
    assert proved_upper(S, 2, StepsWitness(steps)) >= 1


SMALL = np.array([[4.0, 1.0, 0.5, 0.2], [1.0, 3.0, 0.4, 0.1], [0.5, 0.4, 2.0, 0.3], [0.2, 0.1, 0.3, 1.0]])
TWO = np.array([0, 1])
ALL_ROWS = ByRows(0, 1, NOBODY)
REFUSED = {
    "no step": ((), "last step"),
    "the last step is about some features": ((Step(3, TWO, EVERY),), "last step"),
    "the last step is about fewer nonzeros": ((Step(2, None, EVERY),), "last step"),
    "more nonzeros than are asked for": ((Step(4, None, EVERY),), "between 1 and 3"),
    "no nonzeros": ((Step(0, None, EVERY),), "between 1 and 3"),
    "a feature that does not exist": ((Step(3, np.array([0, 4]), EVERY),), "outside"),
    "a feature twice": ((Step(3, np.array([0, 0]), EVERY),), "twice"),
    "features out of order": ((Step(3, np.array([1, 0]), EVERY),), "increasing"),
    "no features": ((Step(3, NOBODY, EVERY),), "at least one"),
    "half a feature": ((Step(3, np.array([0.5]), EVERY),), "whole numbers"),
    "itself": ((Step(3, None, Again(0)),), "not before it"),
    "a later step": ((Step(3, None, Again(1)), Step(3, None, EVERY)), "not before it"),
    "a step from behind": ((Step(3, None, EVERY), Step(3, None, Again(-1))), "not before it"),
    "the numbers of other features": ((Step(3, TWO, EVERY), Step(3, None, Again(0))), "no witness on these"),
    "the numbers of a step without any": (
        (Step(3, TWO, EVERY), Step(3, None, ByVariances((0,))), Step(3, None, Again(1))),
        "no witness on these",
    ),
    "variances of nothing": ((Step(3, None, ByVariances(())),), "earlier steps"),
    "variances of a later step": ((Step(3, None, ByVariances((1,))), Step(3, TWO, EVERY)), "earlier steps"),
    "variances of features outside": (
        (Step(3, TWO, EVERY), Step(3, np.array([1, 2]), ByVariances((0,))), Step(3, None, EVERY)),
        "keep some",
    ),
    "variances of two groups": (
        (Step(3, TWO, EVERY), Step(2, np.array([0, 2]), EVERY), Step(3, None, ByVariances((0, 1)))),
        "same features",
    ),
    "rows of a later step": ((Step(2, None, SUM), Step(3, None, ByRows(2, 0, NOBODY)), Step(3, TWO, EVERY)), "earlier"),
    "rows with a smaller step for kept": (
        (Step(2, TWO, EVERY), Step(2, None, SUM), Step(3, None, ALL_ROWS)),
        "does not bound all supports of 3",
    ),
    "rows with a step that is too small": (
        (Step(3, TWO, EVERY), Step(1, None, SUM), Step(3, None, ALL_ROWS)),
        "does not bound all supports of 2",
    ),
    "rows with a step about fewer features": (
        (Step(3, TWO, EVERY), Step(2, np.arange(3), SUM), Step(3, None, ALL_ROWS)),
        "fewer features",
    ),
    "strong rows twice": (
        (Step(3, TWO, EVERY), Step(2, None, SUM), Step(3, None, ByRows(0, 1, np.array([1, 1])))),
        "twice",
    ),
    "strong rows outside": (
        (Step(3, TWO, EVERY), Step(2, None, SUM), Step(3, None, ByRows(0, 1, np.array([4])))),
        "outside",
    ),
    "a threshold that is no number": ((Step(3, None, ThresholdWitness(np.nan)),), "finite number"),
    "a threshold without end": ((Step(3, None, ThresholdWitness(np.inf)),), "finite number"),
    "a negative threshold": ((Step(3, None, ThresholdWitness(-0.3)),), "must not be negative"),
}


@pytest.mark.parametrize("forgery", REFUSED)
def test_steps_that_do_not_fit_are_refused(forgery):
    steps, words = REFUSED[forgery]
    with pytest.raises(ValueError, match=words):
        proved_upper(SMALL, 3, StepsWitness(steps))


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1e9])
def test_any_threshold_is_true(threshold):
    for k in range(1, 5):
        assert proved_upper(SMALL, k, ThresholdWitness(threshold)) >= best_value(SMALL, k)


def test_more_nonzeros_than_features_are_all_of_them():
    """A step about fewer features than it has nonzeros is about the support of all of them, not about none."""
    three = np.array([0, 1, 2])
    steps = (Step(4, TWO, EVERY), Step(4, three, ByVariances((0,))), Step(4, None, ByVariances((1,))))
    assert proved_upper(SMALL, 4, StepsWitness(steps)) >= best_value(SMALL, 4)
    steps = (*steps[:2], Step(3, None, SUM), Step(4, None, ByRows(1, 2, NOBODY)))
    assert proved_upper(SMALL, 4, StepsWitness(steps)) >= best_value(SMALL, 4)


@pytest.mark.parametrize("how", [ByVariances((0,)), ByRows(0, 1, NOBODY)])
def test_a_bound_with_features_inside_says_nothing_of_other_supports(how):
    """A step for k features is about supports with the features inside, one for fewer about all."""
    smaller = Step(1, None, SUM)
    steps = (Step(3, np.array([1, 2, 3]), EVERY), smaller, Step(2, None, how), Step(3, None, ByVariances((2,))))
    with pytest.raises(ValueError, match="all supports"):
        proved_upper(SMALL, 3, StepsWitness(steps), inside=np.array([3]))
    # Without features inside the same steps are true.
    assert proved_upper(SMALL, 3, StepsWitness(steps)) >= best_value(SMALL, 3)


@pytest.mark.parametrize("inside", [[0], [3], [1, 3], [0, 1, 2]])
def test_features_inside(inside):
    """Those that must be in a support may be among the features kept, or among the others, or both."""
    truth = best_value(SMALL, 3, inside)
    for kept in (list(T) for size in (1, 2, 3) for T in combinations(range(4), size)):
        core = Step(3, np.array(kept), EVERY)
        for how in (ByVariances((0,)), ByRows(0, 1, NOBODY), ByRows(0, 1, np.arange(4))):
            witness = StepsWitness((core, Step(2, None, EVERY), Step(3, None, how)))
            assert proved_upper(SMALL, 3, witness, inside=inside) >= truth * (1 - 1e-13)


def test_what_steps_read_and_what_they_are_called():
    steps = (Step(2, np.array([1, 3]), RowSumWitness()), Step(2, np.array([0, 1, 3]), ByVariances((0,))))
    witness = StepsWitness((*steps, Step(2, None, ByVariances((1,)))))
    assert witness.reads(5).tolist() == [1, 3]
    assert witness.kinds() == ("row sums",)
    assert witness.innermost is steps[0]
    rows = StepsWitness((*steps, Step(1, np.array([0, 1, 3]), SUM), Step(2, np.array([0, 1, 3]), ByRows(0, 2, NOBODY))))
    assert rows.reads(5).tolist() == [0, 1, 3]
    assert rows.kinds() == ("row sums", "trace")
    with pytest.raises(ValueError, match="not before it"):
        _ = StepsWitness((Step(2, None, Again(0)),)).innermost


def test_a_ledger_gives_the_steps_that_a_bound_needs():
    ledger = Ledger(DenseCovariance(SMALL), 3, NOBODY)
    for step in (
        Step(3, None, SUM),
        Step(3, TWO, SUM),
        Step(2, None, SUM),
        Step(3, TWO, EVERY),
        Step(3, None, ALL_ROWS),
    ):
        ledger.add(step if step.how is not ALL_ROWS else Step(3, None, ByRows(3, 2, NOBODY)))
    assert ledger.witness(0) is SUM
    witness = ledger.witness(4)
    assert [step.cardinality for step in witness.steps] == [2, 3, 3]
    assert (witness.steps[2].how.kept, witness.steps[2].how.smaller) == (1, 0)
    assert proved_upper(SMALL, 3, witness) == ledger.proved[4].value


def test_hidden_rows_are_never_read():
    X = _rows(np.random.default_rng(0), 6)
    covariance = Screening(ArraySource(X)).with_columns(np.arange(4))
    for how in (ByRows(0, 1, NOBODY), ByRows(0, 1, np.arange(6))):
        steps = (Step(3, np.arange(4), EVERY), Step(2, None, SUM), Step(3, None, how))
        with pytest.raises(ValueError, match="not at hand"):
            proved_upper(covariance, 3, StepsWitness(steps))
    with pytest.raises(ValueError, match="not at hand"):
        proved_upper(covariance, 3, ThresholdWitness(0.1))


def test_after_hotelling_the_excess_is_needed_and_small():
    """Strongly correlated features, some of them hidden, after Hotelling's deflation of others by a part."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((40, 3)) @ rng.standard_normal((3, 6)) + rng.standard_normal((40, 6))) * 0.75 ** np.arange(
        6
    )
    S, kept = np.cov(X, rowvar=False), np.arange(4)
    left = Deflation(Screening(ArraySource(X)).with_columns(kept), "hotelling")
    z = np.array([0.8, 0.6, 0, 0, 0, 0])
    left.remove(z)
    c = float(z @ S @ z)
    assert left.current.excess(np.array([4, 5])) == pytest.approx(c)
    inner = proved_upper(left.current.on_hand(), 2, RowSumWitness())
    steps = (Step(2, kept, RowSumWitness()), Step(2, None, ByVariances((0,))))
    bound = proved_upper(left.current, 2, StepsWitness(steps))
    b = S[4, 4]
    a = min(inner, float(np.sort(left.current.diagonal[:4])[-2:].sum() + c))
    assert inner <= bound <= ((a + b) / 2 + np.hypot((a - b) / 2, np.sqrt((a + c) * b))) * (1 + 1e-9)


@np.errstate(all="ignore")  # as in the gate
def test_nothing_is_proved_if_nothing_is_known_of_the_excess():
    assert _with_excess(2.0, 0.0, np.inf) == np.inf
    assert _with_excess(2.0, 1.0, np.inf) == np.inf
    assert 3.0 <= _with_excess(2.0, 1.0, 0.0) <= 3.0 + 1e-12
