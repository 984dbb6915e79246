"""Matrices of all kinds, and the truth about them, written apart from the package."""

from itertools import combinations

import numpy as np


def truth(S, k):
    """The largest eigenvalue of a k x k block, by looking at all."""
    return max(float(np.linalg.eigvalsh(S[np.ix_(i, i)])[-1]) for i in combinations(range(len(S)), k))


def best_support(S, k):
    """The support that reaches it."""
    every = combinations(range(len(S)), k)
    return np.array(max(every, key=lambda i: float(np.linalg.eigvalsh(S[np.ix_(i, i)])[-1])))


def gaussian(n, seed, rank=None):
    F = np.random.default_rng(seed).standard_normal((rank or n, n))
    return F.T @ F


def decaying(n, seed):
    """Variances that fall fast, correlated: Proposition 2 is at home here."""
    scales = 2.0 ** -np.arange(n)
    noise = np.random.default_rng(seed).standard_normal((2 * n, n))
    return 0.2 * np.diag(scales) + 0.3 * np.sqrt(np.outer(scales, scales)) * (noise.T @ noise / (2 * n) + 0.5)


def kinds(n, seed):
    """One matrix of each kind."""
    rng = np.random.default_rng(seed)
    base = gaussian(n, seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    repeated = Q @ np.diag(np.repeat([3.0, 1.0], [n // 2, n - n // 2])) @ Q.T
    d = 1 / np.sqrt(base.diagonal())
    z = np.zeros(n)
    z[: n // 2] = 1.0
    return {
        "gaussian": base,
        "correlation": base * np.outer(d, d),
        "rank two": gaussian(n, seed, rank=2),
        "rank one": gaussian(n, seed, rank=1),
        "repeated eigenvalues": 0.5 * (repeated + repeated.T),
        "equicorrelated": np.full((n, n), 0.4) + 0.6 * np.eye(n),
        "negative correlations": np.eye(n) * (1 + 1e-9) - 0.9 / (n - 1) * (np.ones((n, n)) - np.eye(n)),
        "diagonal": np.diag(rng.random(n) + 0.1),
        "identity": np.eye(n),
        "zero": np.zeros((n, n)),
        "negative": -np.eye(n) - gaussian(n, seed, rank=1),
        "duplicated": base[np.ix_(np.arange(n) // 2, np.arange(n) // 2)],
        "tiny": 1e-57 * base,
        "huge": 1e57 * base,
        "mixed units": base * np.outer(10.0 ** np.arange(n), 10.0 ** np.arange(n)),
        "spiked": 5 * np.outer(z, z) / (z @ z) + base / n,
        "decaying": decaying(n, seed),
        "slightly indefinite": gaussian(n, seed, rank=2) - 1e-9 * np.eye(n),
        "indefinite": base - 2 * np.diag(rng.random(n) * base.diagonal()),
        "one large variance": np.diag(np.r_[100.0, np.full(n - 1, 1e-9)]),
    }
