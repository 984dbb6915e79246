"""Matrices of every kind that has broken a bound or a search, and the truth about them."""

from itertools import combinations

import numpy as np


def gaussian(n, seed, rank=None):
    A = np.random.default_rng(seed).standard_normal((rank or n + 3, n))
    return A.T @ A


def _repeated(n, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    S = (Q * rng.integers(0, 3, n)) @ Q.T
    return 0.5 * (S + S.T)


def _duplicated(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    A[:, 1], A[:, 2], A[:, 3] = A[:, 0], -A[:, 0], 0.0
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
    z[:2] = 0.6, 0.8
    return S - (z @ S @ z) * np.outer(z, z)


def _in_units(n, seed, exponent):
    units = 10.0 ** np.random.default_rng(seed).integers(-exponent, exponent, n)
    return gaussian(n, seed) * np.outer(units, units)


def _symmetric(n, seed):
    B = np.random.default_rng(seed).standard_normal((n, n))
    return B + B.T


def _whole(n, seed, low):
    return np.diag(np.random.default_rng(seed).integers(low, low + 4, n).astype(float))


KINDS = {
    "gaussian": gaussian,
    "rank 2": lambda n, seed: gaussian(n, seed, 2),
    "repeated eigenvalues": _repeated,
    "duplicated and zero columns": _duplicated,
    "diagonal": lambda n, seed: _whole(n, seed, 0),
    "negative diagonal": lambda n, seed: _whole(n, seed, -3),
    "equicorrelated": lambda n, seed: np.full((n, n), 0.5) + 0.5 * np.eye(n),  # noqa: ARG005 - every seed the same
    "negative correlations": lambda n, seed: np.eye(n) - 0.9 / (n - 1) * (1 - np.eye(n)),  # noqa: ARG005
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


def size_of(S):
    """What rounding is relative to."""
    return float(np.abs(S).max()) or 1.0


def supports(n, k, inside=()):
    """Every support of size k that holds some features, as rows."""
    free = [i for i in range(n) if i not in inside]
    return np.array([sorted((*inside, *rest)) for rest in combinations(free, k - len(inside))])


def values(S, chosen):
    """The value of each of a stack of supports."""
    return np.linalg.eigvalsh(S[chosen[:, :, None], chosen[:, None, :]])[:, -1]


def truth(S, k, inside=()):
    """The best value over every support of size k that holds some features."""
    return float(values(S, supports(len(S), k, inside)).max())
