"""The gate and the stand-alone checker on random witnesses and on fits: both bounds are true, and they are the same."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from forging import best_value, checker, largest
from test_witness_tree import Planter

from helpers import random_psd
from laconic import SparsePCA, verify
from laconic.core import store
from laconic.covariance import DenseCovariance
from laconic.covariance.deflation import DEFLATIONS
from laconic.methods import Auto
from laconic.proof import proved_upper
from laconic.proof.certificate import stored_types
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import Again, ByRows, ByVariances, Step, StepsWitness
from matrices import kinds, truth

NOBODY = np.empty(0, dtype=np.intp)


def as_read(witness):
    """Return a witness as the checker reads it from a file."""
    return checker().decoded(json.loads(json.dumps(store.encoded(witness, {}, stored_types()))), {})


def compare(S, k, witness, inside=NOBODY):
    """Return the bound of the gate, after a look at that of the checker; None if both refuse the witness."""
    tool = checker()
    try:
        ours = proved_upper(S, k, witness, inside=inside)
    except ValueError:
        with pytest.raises(tool.RejectedError):
            tool.bound(as_read(witness), tool.Matrix(S), k, inside)
        return None
    other = tool.bound(as_read(witness), tool.Matrix(S), k, inside)
    assert other == pytest.approx(ours, rel=1e-7, abs=1e-9 * np.abs(S).max())
    return min(ours, other)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 20))])
def test_trees(block):
    for seed in range(block * 40, block * 40 + 40):
        planter = Planter(seed)
        bound = compare(planter.S, planter.k, planter.tree(), planter.inside)
        assert bound is None or bound >= best_value(planter.S, planter.k, planter.inside) - 1e-13 * planter.size


def direct_witness(rng, n, size):
    """A witness with any numbers, for n features, that is no list of steps."""
    kind, scale = int(rng.integers(7)), size * 10.0 ** rng.integers(-4, 1)

    def matrix():
        return rng.standard_normal((n, n)) * scale if rng.random() < 0.5 else None

    kept = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    m = len(kept)
    if kind == 0:
        return [TraceWitness(), RowSumWitness()][int(rng.integers(2))]
    if kind == 1:
        return ExhaustiveWitness()
    if kind == 2:
        U = np.tril(rng.standard_normal((n, n)) * scale, -1)
        return DualWitness("any", multiplier=U + U.T, levels=matrix(), norms=matrix())
    if kind == 3:
        levels = rng.standard_normal((m, m)) * scale
        return DualWitness("any", levels=levels, kept=kept, price=float(rng.standard_normal() * size))
    if kind == 4:
        A = rng.standard_normal((int(rng.integers(1, n + 3)), n)) * np.sqrt(size)
        W = A + rng.standard_normal(A.shape) * np.sqrt(scale)
        rho, shift = float(rng.random() * size), float(rng.standard_normal() * scale)
        return DualWitness("any", levels=matrix(), factor=A, directions=W, rho=rho, shift=shift)
    if kind == 5:
        return Proposition2Witness(kept, rng.standard_normal(m) / np.sqrt(size), float(rng.random() * size))
    # Below the floor of the pairs, the gate takes the floor.
    return ThresholdWitness(float(size * (1 + rng.random())))


def some(rng, n, least=0):
    """Some of n features, perhaps none."""
    return np.sort(rng.choice(n, int(rng.integers(least, n + 1)), replace=False))


def any_steps(rng, n, k, size):
    """Steps with any numbers. Many of them do not fit one another."""
    steps = []
    for last in (False,) * int(rng.integers(1, 6)) + (True,):
        q = k if last else int(rng.integers(max(1, k - 2), k + 1))
        place, other = (int(place) for place in rng.integers(0, max(1, len(steps)), 2))
        features = None if last or rng.random() < 0.4 else some(rng, n, 1)
        features = steps[place].features if steps and not last and rng.random() < 0.4 else features
        m = n if features is None else len(features)
        ways = [direct_witness(rng, m, size), Again(place), ByVariances((place,)), ByRows(place, other, some(rng, m))]
        steps.append(Step(q, features, ways[int(rng.integers(4)) if steps else 0]))
    return StepsWitness(tuple(steps))


def fitting_steps(rng, n, k, size):
    """Steps of every kind that fit one another: some features are left out by variances, and others by rows."""
    among = some(rng, n, 1)
    kept = among[some(rng, len(among), 1)]
    q = max(k - 1, 1)
    inner = Step(k, kept, direct_witness(rng, len(kept), size)), Step(q, kept, Again(0))
    smaller = Step(q, among, direct_witness(rng, len(among), size))
    by_rows = Step(k, among, ByRows(0, 2, some(rng, len(among))))
    return StepsWitness((*inner, smaller, by_rows, Step(q, among, Again(2)), Step(k, None, ByVariances((3, 4, 2)))))


def random_witness(rng, n, k, size):
    """A witness with any numbers, of any kind but a tree."""
    return fitting_steps(rng, n, k, size) if rng.random() < 0.3 else direct_witness(rng, n, size)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 20))])
def test_witnesses_of_all_kinds(block):
    for seed in range(block * 5, block * 5 + 5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        for name, S in kinds(n, seed).items():
            size, k = np.abs(S).max(), int(rng.integers(1, n + 1))
            if size > 0:
                bound = compare(S, k, random_witness(rng, n, k, size))
                assert bound is None or bound >= truth(S, k) - 1e-13 * size * n, (seed, name)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 20))])
def test_steps(block):
    """Steps prove bounds about all supports, and about those that contain some features."""
    proved = 0
    for seed in range(block * 10, block * 10 + 10):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        for name, S in kinds(n, seed).items():
            size, k = np.abs(S).max(), int(rng.integers(1, n + 1))
            inside = np.sort(rng.choice(n, int(rng.integers(0, k + 1)), False)) if rng.random() < 0.5 else NOBODY
            if size > 0:
                witness = any_steps(rng, n, k, size) if rng.random() < 0.7 else fitting_steps(rng, n, k, size)
                bound = compare(S, k, witness, inside)
                proved += bound is not None
                assert bound is None or bound >= best_value(S, k, inside) - 1e-13 * size * n, (seed, name)
    assert proved > 20


def test_thresholds():
    """The gate stops its power steps when they gain little, and the checker makes all of them."""
    for seed in range(20):
        S = random_psd(12, rank=4, seed=seed)
        pairs = DenseCovariance(S).pairs(2)
        t = pairs.floor + np.random.default_rng(seed).random() * (pairs.largest.max() - pairs.floor)
        for k in (1, 2, 4):
            ours = proved_upper(S, k, ThresholdWitness(t))
            other = checker().bound(as_read(ThresholdWitness(t)), checker().Matrix(S), k, NOBODY)
            assert truth(S, k) <= other <= ours * (1 + 1e-13)
            assert other >= ours * (1 - 1e-6)


# Steps that would prove too much of a feature of variance one, and three equal ones that are not correlated with it.
FIRST = np.array([0])
FALSE = {
    "more features than there are": StepsWitness(
        (Step(3, FIRST, TraceWitness()), Step(3, np.array([0, 1]), ByVariances((0,))), Step(3, None, ByVariances((1,))))
    ),
    "only some supports": StepsWitness(
        (
            Step(3, None, ExhaustiveWitness()),
            Step(2, None, ByVariances((0,))),
            Step(3, np.array([1, 2]), TraceWitness()),
            Step(3, None, ByRows(2, 1, NOBODY)),
        )
    ),
    "fewer features": StepsWitness((Step(2, None, TraceWitness()), Step(3, None, ByVariances((0,))))),
    "another size": StepsWitness((Step(2, None, TraceWitness()),)),
    "a part of the features": StepsWitness((Step(3, np.arange(3), TraceWitness()),)),
    "itself": StepsWitness((Step(3, None, ByVariances((0,))),)),
    "what follows": StepsWitness((Step(3, None, ByRows(1, 1, NOBODY)), Step(3, None, TraceWitness()))),
    "steps in a step": StepsWitness((Step(3, None, StepsWitness((Step(3, None, TraceWitness()),))),)),
}


@pytest.mark.parametrize("name", FALSE)
@pytest.mark.parametrize("inside", [NOBODY, FIRST])
def test_steps_do_not_prove_too_much(name, inside):
    S = np.ones((4, 4))
    S[0, 1:] = S[1:, 0] = 0
    bound = compare(S, 3, FALSE[name], inside)
    assert bound is None or bound >= 3 - len(inside)


@pytest.fixture
def small_is_large(monkeypatch):
    """Limits that lead small problems along the way of large ones, with products in single precision."""
    for limit, value in {
        "bounds.prove.SMALL": 3,
        "bounds.prove.FEW_SUPPORTS": 0,
        "bounds.reduction.FEWEST": 4,
        "bounds.fixing.SUPPORTS_ONE_BY_ONE": 3,
        "relaxations.row_steps.KEEP_ALL": 5,
        "covariance.pairs.CHEAP": 0,
    }.items():
        monkeypatch.setattr(f"laconic.{limit}", value)


def any_fit(rng):
    """A fit with any settings, and its data: tall or wide rows of any kind and container, or any symmetric matrix."""
    n = int(rng.integers(4, 10))
    X = rng.standard_normal((int(rng.choice([n // 2 + 1, n, 3 * n])), n))
    X = [X, X * 0.6 ** np.arange(n), X + 2 * X[:, :1], X * (rng.random(X.shape) < 0.5), np.rint(2 * X)][rng.integers(5)]
    X = X * 10.0 ** (rng.integers(-25, 25) * (rng.random() < 0.3))
    if rng.random() < 0.2:
        X[:, 0] = X[0, 0]
    k, several = int(rng.integers(2, n)), int(rng.choice([1, 2, 3]))
    settings = {"n_components": several, "cardinality": k, "proof": ["fast", "tight", "exact"][rng.integers(3)]}
    settings |= {"deflation": list(DEFLATIONS)[rng.integers(5)], "method": Auto(exhaustive=0)}
    settings |= {"forced_in": [n - 1]} if rng.random() < 0.2 else {}
    if rng.random() < 0.3:
        S = np.cov(X, rowvar=False)
        S -= rng.random() * np.abs(S).max() * 0.3 * np.eye(n)
        return SparsePCA(**settings).fit_covariance(S), S
    data = [X, sp.csr_array(X), sp.csc_array(X), X.astype(np.float32), np.asfortranarray(X)][rng.integers(5)]
    return SparsePCA(scale=bool(rng.random() < 0.5), **settings).fit(data), data


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 40))])
def test_fits_of_all_kinds(block, tmp_path):
    """The truth lies between the bounds of every certificate, and both programs accept it."""
    tool, fitted, used = checker(), 0, set()
    for seed in range(block * 50, block * 50 + 50):
        try:
            model, data = any_fit(np.random.default_rng(seed))
        except ValueError:  # fewer components than asked for, or a feature forced in that does not vary
            continue
        table = np.asarray(data.toarray() if sp.issparse(data) else data, dtype=float)
        for certificate in model.certificates_:
            assert verify(certificate, data), seed
            path = certificate.save(tmp_path / "proof.json")
            assert tool.check(path, table)
            content = tool.read_certificate(path)
            S = whole = tool.matrix_of(content, table, None)
            if content["deflation"] is not None:
                S = tool.deflated(S, content["deflation"], content["earlier"])
            best, room = largest(S.S, content, certificate.cardinalities[0]), 1e-12 * np.abs(whole.S).max()
            assert certificate.lower - room <= best <= certificate.upper + room, seed
            if model.proof != "fast":
                assert certificate.upper - best <= 2e-6 * best + 1e-9 * np.abs(whole.S).max(), seed
            steps = getattr(certificate.witness, "steps", ())
            used |= {type(certificate.witness), *(type(step.how) for step in steps)}
            fitted += 1
    assert fitted > 50
    assert len(used) >= 6, used
