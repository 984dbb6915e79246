"""No bound is below what exhaustive search finds, whatever the matrix; and the checker agrees with every one."""

import numpy as np
import pytest
from helpers import best_value, equicorrelated, random_psd

from laconic.bounds import bound_path, every_bound, upper_bound
from laconic.covariance import (
    DeflatedCovariance,
    DenseCovariance,
    FactorCovariance,
    SparseCovariance,
    SubsetCovariance,
    covariance_of,
)
from laconic.datasets import load_pitprops, spiked_rows
from laconic.monitor import Monitor
from laconic.problem import Problem
from laconic.solution import PROVED
from laconic.solvers.auto import Auto
from laconic.verification import proved_upper
from laconic.witness import TreeWitness


def _blocks(rng, n):
    S = np.zeros((n, n))
    cut = n // 2
    S[:cut, :cut] = 1.5 * equicorrelated(cut, 0.2)
    S[cut:, cut:] = equicorrelated(n - cut, 0.9)
    order = rng.permutation(n)
    return S[np.ix_(order, order)]


def _repeated(rng, n):
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return Q @ np.diag(np.repeat([3.0, 1.0], [n // 2, n - n // 2])) @ Q.T


def _gram(rng, n, rows):
    A = rng.standard_normal((rows, n))
    return A.T @ A / rows


def _correlation(rng, n):
    S = _gram(rng, n, n + 2)
    d = np.sqrt(S.diagonal())
    return S / np.outer(d, d)


def _with_units(rng, n):
    units = 10.0 ** rng.integers(-4, 5, n)
    return _gram(rng, n, n + 2) * np.outer(units, units)


def _spiked(rng, n):
    z = np.where(rng.random(n) < 0.5, rng.choice([-1.0, 1.0], n), 0.0)
    return 5 * np.outer(z, z) + _gram(rng, n, 3 * n)


KINDS = {
    "full rank": lambda rng, n: _gram(rng, n, n + 3),
    "correlation": _correlation,
    "rank deficient": lambda rng, n: _gram(rng, n, max(1, n // 2)),
    "rank one": lambda rng, n: _gram(rng, n, 1),
    "repeated eigenvalues": _repeated,
    "tiny": lambda rng, n: 10.0 ** rng.choice([-8.0, -140.0, -200.0]) * _gram(rng, n, n),
    "huge": lambda rng, n: 10.0 ** rng.choice([8.0, 140.0, 200.0]) * _gram(rng, n, n),
    "diagonal": lambda rng, n: np.diag(rng.integers(0, 4, n).astype(float)),
    "identity": lambda rng, n: np.eye(n),  # noqa: ARG005 - the same for all
    "equicorrelated": lambda rng, n: equicorrelated(n, rng.random()),
    "negative correlations": lambda rng, n: equicorrelated(n, -rng.random() / max(n - 1, 1)),
    "zero": lambda rng, n: np.zeros((n, n)),  # noqa: ARG005
    "blocks": _blocks,
    "duplicated columns": lambda rng, n: _gram(rng, n, n + 2)[np.ix_(np.arange(n) // 2, np.arange(n) // 2)],
    "slightly indefinite": lambda rng, n: _gram(rng, n, max(1, n // 2)) - 1e-9 * np.eye(n),
    "indefinite": lambda rng, n: _gram(rng, n, n) - np.diag(rng.random(n)),
    "mixed units": _with_units,
    "spiked": _spiked,
}
# Matrices of a block, and how many blocks make 10,000 problems.
BLOCK, BLOCKS = 36, 62


def matrix(number):
    """The matrix of a number: its kind, size and entries."""
    rng = np.random.default_rng(number)
    n = 1 + number // len(KINDS) % 8
    name = list(KINDS)[number % len(KINDS)]
    S = KINDS[name](rng, n)
    return name, 0.5 * (S + S.T)


def assert_bounds(bounds, S, k, truth):
    """Each is above the truth, and so is what the checker makes of its witness, which is not above it."""
    size = np.abs(S).max()
    for name, bound in bounds.items():
        assert bound.value >= truth, name
        assert bound.cardinality == k
        proved = proved_upper(S, k, bound.witness)
        assert proved >= truth - 1e-14 * size, name
        assert proved <= bound.value + 1e-6 * max(abs(bound.value), size) + 1e-100 * (size == 0), name


def look_at(numbers):
    """Look at all cardinalities of some matrices; return how many problems that were."""
    count = 0
    for number in numbers:
        name, S = matrix(number)
        covariance = DenseCovariance(S, semidefinite=name not in ("slightly indefinite", "indefinite"))
        for k in range(1, len(S) + 1):
            bounds = every_bound(covariance, k)
            assert len(bounds) == 10
            for effort in ("fast", "tight"):
                bounds[effort] = upper_bound(covariance, k, effort)
            truth = best_value(S, k)
            assert_bounds(bounds, S, k, truth)
            assert bounds["tight"].value <= bounds["fast"].value
            # A value found is never proved to be far from a better one.
            assert bounds["tight"].value <= truth + 1e-6 * max(abs(truth), np.abs(S).max())
            count += 1
    return count


@pytest.mark.parametrize("block", [0, *(pytest.param(b, marks=pytest.mark.slow) for b in range(1, BLOCKS))])
def test_no_bound_is_below_the_truth(block):
    assert look_at(range(block * BLOCK, (block + 1) * BLOCK)) > 50


def test_these_are_ten_thousand_problems_of_every_kind_and_size():
    drawn = [matrix(number) for number in range(BLOCK * BLOCKS)]
    assert sum(len(S) for _, S in drawn) >= 10_000
    assert {(name, len(S)) for name, S in drawn} == {(name, n) for name in KINDS for n in range(1, 9)}
