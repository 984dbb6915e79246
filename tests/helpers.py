"""The (solver x problem x property) table, and the truth by brute force, written apart from the package."""

from contextlib import contextmanager
from functools import cache
from itertools import combinations

import numpy as np
import pytest

import laconic
from laconic.bounds.names import SOLVERS
from laconic.bounds.prove import Exact, prove
from laconic.covariance import DeflatedCovariance, DenseCovariance, FactorCovariance, SubsetCovariance
from laconic.covariance.deflation import HOTELLING, Step
from laconic.covariance.matrix import Covariance
from laconic.search import ApproximateGreedy, Auto, Thresholding, TruncatedPower

SEEDS = range(2)


def _dense(matrix, **settings):
    return DenseCovariance(matrix, **settings), matrix


def random_psd(n, rank=None, seed=0):
    A = np.random.default_rng(seed).standard_normal((rank or n + 3, n))
    S = A.T @ A / len(A)
    return 0.5 * (S + S.T)


def equicorrelated(n, correlation):
    return (1 - correlation) * np.eye(n) + correlation


def _wide_factor(seed):
    A = np.random.default_rng(seed).standard_normal((4, 9))
    return FactorCovariance(A), A.T @ A


def _repeated_eigenvalues(seed):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((7, 7)))[0]
    S = Q @ np.diag([3.0, 3, 3, 1, 1, 0.5, 0.5]) @ Q.T
    return _dense(0.5 * (S + S.T))


def two_blocks(seed):
    """Block-diagonal: {0..3} correlated a little with large variances, {4..7} correlated more with small ones."""
    S = np.zeros((8, 8))
    S[:4, :4] = 1.5 * equicorrelated(4, 0.2)
    S[4:, 4:] = equicorrelated(4, 0.9)
    order = np.random.default_rng(seed).permutation(8)
    return S[np.ix_(order, order)]


def _negative(seed):
    S = np.abs(random_psd(8, seed=seed))
    return _dense(2 * np.diag(S.sum(axis=0)) - S)  # diagonally dominant, every correlation negative


def _duplicated(seed):
    A = np.random.default_rng(seed).standard_normal((12, 5))
    A = A[:, [0, 1, 2, 0, 3, 1, 4, 0]]
    return _dense(A.T @ A / 12)


def _spiked(seed):
    rng = np.random.default_rng(seed)
    u = np.zeros(9)
    u[rng.permutation(9)[:3]] = rng.choice([-1.0, 1.0], 3) / np.sqrt(3)
    return _dense(5 * np.outer(u, u) + random_psd(9, 90, seed))


def _subset(seed):
    S = random_psd(12, seed=seed)
    keep = np.array([0, 2, 3, 5, 7, 8, 10, 11])
    return SubsetCovariance(DenseCovariance(S), keep), S[np.ix_(keep, keep)]


def minus(base, z, v):
    """Return S - v zz' as a deflated covariance."""
    return DeflatedCovariance(base, HOTELLING, (Step(z, base.product(z), v),))


def _hotelling(seed):
    """Deflated by a sparse vector that is no eigenvector: indefinite, and said to be."""
    S = random_psd(7, seed=seed)
    z = np.zeros(7)
    z[[1, 4]] = [0.6, 0.8]
    v = z @ S @ z
    return minus(DenseCovariance(S), z, v), S - v * np.outer(z, z)


def _negative_variances(seed):
    """Indefinite with negative entries on the diagonal, as repeated Hotelling deflation leaves."""
    S = random_psd(6, seed=seed) - 3 * np.diag([1.0, 0, 0, 1, 0, 0])
    return _dense(S, semidefinite=False)


PROBLEMS = {
    "full-rank": lambda seed: _dense(random_psd(9, seed=seed)),
    "rank-2": lambda seed: _dense(random_psd(8, 2, seed)),
    "rank-1": lambda seed: _dense(random_psd(7, 1, seed)),
    "wide-factor": _wide_factor,
    "diagonal": lambda seed: _dense(np.diag(np.random.default_rng(seed).permutation(np.arange(1.0, 8)))),
    "identity": lambda seed: _dense(np.eye(6)),  # noqa: ARG005 - every seed the same
    "equicorrelated": lambda seed: _dense(equicorrelated(7, 0.1 + 0.3 * seed)),
    "repeated-eigenvalues": _repeated_eigenvalues,
    "two-blocks": lambda seed: _dense(two_blocks(seed)),
    "negative-correlations": _negative,
    "duplicated-columns": _duplicated,
    "tiny": lambda seed: _dense(1e-8 * random_psd(7, seed=seed)),
    "huge": lambda seed: _dense(1e8 * random_psd(7, seed=seed)),
    "vanishing": lambda seed: _dense(1e-58 * random_psd(7, seed=seed)),
    "enormous": lambda seed: _dense(1e58 * random_psd(7, seed=seed)),
    "mixed-units": lambda seed: _dense(random_psd(7, seed=seed) * np.outer(10.0 ** np.arange(7), 10.0 ** np.arange(7))),
    "spiked": _spiked,
    "subset": _subset,
    "deflated": _hotelling,
    "negative-variances": _negative_variances,
    "one-feature": lambda seed: _dense(np.array([[2.0 + seed]])),
    "two-features": lambda seed: _dense(np.array([[2.0, 1 - seed], [1 - seed, 1.0]])),
}


SOLVER_TABLE = {
    **SOLVERS,
    "approximate-greedy-3-best": ApproximateGreedy(candidates=3),
    "auto-without-exhaustive": Auto(exhaustive=0),
    "auto-with-core": Auto(exhaustive=0, core=4),
    "thresholding-seed-5": Thresholding(seed=5),
    "truncated-power-3-steps": TruncatedPower(max_iterations=3),
}


def value_on(S, support):
    """The largest eigenvalue on a support."""
    return float(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1])


def supports_of(n, k, forced=()):
    """Every support of size k that holds the forced features."""
    free = [i for i in range(n) if i not in forced]
    return [tuple(sorted((*forced, *rest))) for rest in combinations(free, k - len(forced))]


def best_value(S, k, forced=()):
    """Maximum of z'Sz over unit z with at most k nonzeros, the forced features counted among the k."""
    return max(value_on(S, J) for J in supports_of(len(S), k, tuple(forced)))


def best_nonnegative(S, k, forced=()):
    """The same over z >= 0, by stationary points.

    Where z is positive it is an eigenvector (any, not only the leading one) of its block: the value of every
    one-signed eigenvector of every block is attained, and the largest of them is the maximum.
    """
    best = -np.inf
    for size in range(1, k + 1):
        for J in combinations(range(len(S)), size):
            if len({*J, *forced}) > k:
                continue
            values, vectors = np.linalg.eigh(S[np.ix_(J, J)])
            one_sign = (vectors.min(axis=0) >= -1e-12) | (vectors.max(axis=0) <= 1e-12)
            if one_sign.any():
                best = max(best, float(values[one_sign].max()))
    return best


@cache
def case(problem, seed=0):
    """A problem of the table, built once: (covariance, explicit matrix)."""
    covariance, S = PROBLEMS[problem](seed)
    S.flags.writeable = False
    return covariance, S


@cache
def truth(problem, seed, k, forced=(), nonnegative=False):
    """The best value of a problem of the table."""
    S = case(problem, seed)[1]
    return best_nonnegative(S, k, forced) if nonnegative else best_value(S, k, forced)


def scale_of(S):
    """The size of what rounding is relative to."""
    return float(np.abs(S).max())


def assert_valid(solution, S, k, *, forced=(), nonnegative=False):
    """A unit vector on a sorted support of at most k features that reaches its value and obeys the sign rule."""
    support, z = solution.support, solution.loadings
    assert 1 <= len(support) <= k
    assert len(z) == len(support)
    assert (np.diff(support) > 0).all()
    assert support.min() >= 0
    assert support.max() < len(S)
    assert np.isfinite(z).all()
    assert abs(np.linalg.norm(z) - 1) < 1e-12
    assert set(forced) <= set(support.tolist())
    if nonnegative:
        assert z.min() >= 0
    reached = z @ S[np.ix_(support, support)] @ z
    assert abs(reached - solution.value) <= 1e-9 * scale_of(S)
    # of the loadings largest in absolute value the first is positive
    size = np.abs(z)
    assert z[np.flatnonzero(size >= size.max() * (1 - 1e-9))[0]] > 0
    assert solution.estimate >= solution.value
    assert solution.method


class Blurred(Covariance):
    """Entries of S that are off by all that a spread l allows, S_ij + signs_ij l_i l_j: towards zero unless told.

    A shift is what is known of S from how it was made: zero for a semidefinite matrix.
    """

    def __init__(self, S, spread, signs=None, shift=None):
        self.n_features, self.semidefinite = len(S), False
        off = (-np.sign(S) if signs is None else signs) * np.outer(spread, spread)
        self._entries = S + off * (1 - 1e-12)
        # What others compute when it is asked for.
        self.__dict__.update(spread=spread, known_semidefinite_shift=shift)

    def _diagonal(self):
        return self._entries.diagonal().copy()

    def block(self, rows, columns):
        return self._entries[rows[:, None], columns]

    def product(self, block):
        return self._entries @ block


@contextmanager
def ctrl_c_is_caught(what=""):
    """Fail, and not end the whole run of tests, when Ctrl-C comes through."""
    try:
        yield
    except KeyboardInterrupt:
        pytest.fail(f"KeyboardInterrupt came through {what}")


class InterruptedCovariance(DenseCovariance):
    """Raises KeyboardInterrupt at the n-th question it is asked, as Ctrl-C would."""

    def __init__(self, matrix, at, **settings):
        super().__init__(matrix, **settings)
        self.at = at
        self.calls = 0

    def _count(self):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt

    def columns(self, indices):
        self._count()
        return super().columns(indices)

    def product(self, block):
        self._count()
        return super().product(block)

    def submatrix(self, indices):
        self._count()
        return super().submatrix(indices)

    def submatrices(self, supports):
        self._count()
        return super().submatrices(supports)


def solved_exactly(problem, **settings):
    """Search for a support, then grow the tree of cases, as ``proof="exact"`` does."""
    return prove(problem, Auto().solve(problem), Exact(**settings))[0]


def given(data, kind="auto"):
    """Return the argument that a function of a model takes: a symmetric matrix is a covariance, anything else rows."""
    square = isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[0] == data.shape[1]
    matrix = kind == "covariance" or isinstance(data, Covariance)
    matrix = matrix or (kind == "auto" and square and np.allclose(data, data.T))
    return {"covariance" if matrix else "X": data}


def path_of(data, sizes=None, *, kind="auto", component=1, **settings):
    """Return the path of a model with some settings."""
    own = {"sizes": sizes, "component": component}
    return laconic.path(laconic.SparsePCA(**settings), **given(data, kind), **own)


def certified(data, features, proof="tight", *, kind="auto", **settings):
    """Return the certificate of some features."""
    model = laconic.SparsePCA(proof=proof, **settings)
    return laconic.certify(model, features=features, **given(data, kind)).certificate


def bound_of(data, k, proof="tight", *, kind="auto", **settings):
    """Return the proved bound on the variance of every support of a size."""
    return laconic.certify(laconic.SparsePCA(cardinality=k, proof=proof, **settings), **given(data, kind)).upper
