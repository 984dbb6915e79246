"""The gate and the stand-alone checker on random witnesses: both bounds are true, and they are the same."""

import json

import numpy as np
import pytest
from forging import best_value, checker
from test_witness_tree import Planter

from laconic.core import store
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
    assert other == pytest.approx(ours, rel=1e-9, abs=1e-9 * np.abs(S).max())
    return min(ours, other)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 20))])
def test_trees(block):
    for seed in range(block * 40, block * 40 + 40):
        planter = Planter(seed)
        bound = compare(planter.S, planter.k, planter.tree(), planter.inside)
        assert bound is None or bound >= best_value(planter.S, planter.k, planter.inside) - 1e-13 * planter.size


def random_witness(rng, n, k, size, *, direct=False):
    """A witness with any numbers, for n features; steps unless it must be direct."""
    kind, scale = int(rng.integers(7 if direct else 10)), size * 10.0 ** rng.integers(-4, 1)

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
    if kind == 6:
        return ThresholdWitness(float(rng.standard_normal() * size))
    return StepsWitness(tuple(random_steps(rng, n, k, size)))


def random_steps(rng, n, k, size):
    """Steps about some features, and one about all that follows from them by rows or by variances."""
    kept = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    yield Step(k, kept, random_witness(rng, len(kept), min(k, len(kept)), size, direct=True))
    yield Step(max(k - 1, 1), None, random_witness(rng, n, max(k - 1, 1), size, direct=True))
    if rng.random() < 0.5:
        strong = np.sort(rng.choice(n, int(rng.integers(0, n + 1)), replace=False))
        yield Step(k, None, ByRows(0, 1, strong))
    else:
        yield Step(int(rng.integers(1, k + 1)), kept, Again(0))
        yield Step(k, None, ByVariances((0, 2)))


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
