"""Matrices of every kind that has broken a bound or a search, and the truth about them by looking at all supports."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np


def gaussian(n, seed, rank=None):
    A = np.random.default_rng(seed).standard_normal((rank or n + 3, n))
    return A.T @ A


def correlation(n, seed):
    S = gaussian(n, seed)
    d = 1 / np.sqrt(S.diagonal())
    return S * np.outer(d, d)


def decaying(n, seed):
    """Variances that fall fast, correlated: Proposition 2 is at home here."""
    scales = 2.0 ** -np.arange(n)
    noise = np.random.default_rng(seed).standard_normal((2 * n, n))
    return 0.2 * np.diag(scales) + 0.3 * np.sqrt(np.outer(scales, scales)) * (noise.T @ noise / (2 * n) + 0.5)


def _repeated(n, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    S = (Q * rng.integers(0, 3, n)) @ Q.T
    return 0.5 * (S + S.T)


def _duplicated(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    for column, sign in zip(range(1, min(n, 4)), (1.0, -1.0, 0.0), strict=False):
        A[:, column] = sign * A[:, 0]
    return A.T @ A


def _blocks(n, seed):
    S = gaussian(n, seed)
    S[: n // 2, n // 2 :] = 0.0
    S[n // 2 :, : n // 2] = 0.0
    return S


def _hotelling(n, seed):
    """Deflated by a sparse vector that is no eigenvector, which leaves an indefinite matrix."""
    S = gaussian(n, seed)
    z = np.zeros(n)
    z[:2] = [0.6, 0.8][:n]
    return S - (z @ S @ z) * np.outer(z, z)


def _in_units(n, seed, exponent):
    units = 10.0 ** np.random.default_rng(seed).integers(-exponent, exponent, n)
    return gaussian(n, seed) * np.outer(units, units)


def _symmetric(n, seed):
    B = np.random.default_rng(seed).standard_normal((n, n))
    return B + B.T


def _whole(n, seed, low):
    return np.diag(np.random.default_rng(seed).integers(low, low + 4, n).astype(float))


def _spiked(n, seed):
    z = np.zeros(n)
    z[: max(n // 2, 1)] = 1.0
    return 5 * np.outer(z, z) / (z @ z) + gaussian(n, seed) / n


def _equicorrelated(n, r):
    return r * np.ones((n, n)) + (1 - r) * np.eye(n)


KINDS = {
    "gaussian": gaussian,
    "rank 2": lambda n, seed: gaussian(n, seed, 2),
    "repeated eigenvalues": _repeated,
    "duplicated and zero columns": _duplicated,
    "diagonal": lambda n, seed: _whole(n, seed, 0),
    "negative diagonal": lambda n, seed: _whole(n, seed, -3),
    "equicorrelated": lambda n, seed: _equicorrelated(n, 0.5),  # noqa: ARG005 - every seed the same
    "negative correlations": lambda n, seed: _equicorrelated(n, -0.9 / max(n - 1, 1)),  # noqa: ARG005
    "zero": lambda n, seed: np.zeros((n, n)),  # noqa: ARG005
    "tiny": lambda n, seed: 1e-58 * gaussian(n, seed),
    "huge": lambda n, seed: 1e57 * gaussian(n, seed),
    "mixed units": lambda n, seed: _in_units(n, seed, 6),
    "wild units": lambda n, seed: _in_units(n, seed, 90),
    "signs": lambda n, seed: np.sign(gaussian(n, seed)),
    "blocks": _blocks,
    "deflated": _hotelling,
    "indefinite": _symmetric,
    "negative definite": lambda n, seed: -gaussian(n, seed),
}
# Kinds that matter to relaxations and the gate. Their numbers are not too wild for them.
MORE = {name: make for name, make in KINDS.items() if name != "wild units"} | {
    "correlation": correlation,
    "rank one": lambda n, seed: gaussian(n, seed, 1),
    "spiked": _spiked,
    "decaying": decaying,
    "slightly indefinite": lambda n, seed: gaussian(n, seed, 2) - 1e-9 * np.eye(n),
    "one large variance": lambda n, seed: np.diag(np.r_[100.0, np.full(n - 1, 1e-9)]),  # noqa: ARG005
}


def kinds(n, seed):
    """One matrix of each kind."""
    return {name: make(n, seed) for name, make in MORE.items()}


def size_of(S):
    """What rounding is relative to."""
    return float(np.abs(S).max()) or 1.0


@cache
def _supports(n, k, inside):
    free = [i for i in range(n) if i not in inside]
    return np.array([sorted((*inside, *rest)) for rest in combinations(free, k - len(inside))])


def supports(n, k, inside=()):
    """Every support of size k that holds some features, as rows."""
    return _supports(n, k, tuple(int(i) for i in inside))


def values(S, chosen):
    """The value of each of a stack of supports."""
    return np.linalg.eigvalsh(S[chosen[:, :, None], chosen[:, None, :]])[:, -1]


def truth(S, k, inside=()):
    """The best value over every support of size k that holds some features."""
    return float(values(S, supports(len(S), k, inside)).max())


def best_support(S, k):
    """The support that reaches it."""
    chosen = supports(len(S), k)
    return chosen[int(values(S, chosen).argmax())]


def fractions(array):
    """The same numbers as fractions, for exact arithmetic."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def is_semidefinite(M):
    """By elimination in fractions: no pivot is negative, and below a zero pivot there is nothing."""
    M = M.copy()
    for j in range(len(M)):
        if M[j, j] < 0 or (M[j, j] == 0 and any(M[j + 1 :, j])):
            return False
        if M[j, j]:
            M[j + 1 :, j + 1 :] -= M[j + 1 :, [j]] * M[[j], j + 1 :] / M[j, j]
    return True


def sparse_unit_vectors(count, n, k, seed):
    """Neither eigenvectors nor orthogonal to each other: what sparse components are."""
    rng = np.random.default_rng(seed)
    Z = np.zeros((count, n))
    for row in Z:
        row[rng.permutation(n)[:k]] = rng.standard_normal(k)
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)
