"""Random symmetric matrices that are not covariances, and their components by brute force, written apart."""

import warnings

import numpy as np

from helpers import best_value
from laconic import SparsePCA, verify
from laconic.covariance.deflation import DEFLATIONS


def wishart(rng, n, rows=None):
    A = rng.standard_normal((rows or n + 2, n)) * rng.uniform(0.3, 2.0, n)
    return A.T @ A / len(A)


def goe(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


def contrast(rng, n):
    return wishart(rng, n) - rng.uniform(0.1, 2.0) * wishart(rng, n)


def pairwise_deleted(rng, n):
    """Correlations of the rows that have both features."""
    X = wishart(rng, n)[rng.integers(n, size=12)] + rng.standard_normal((12, n))
    there = rng.uniform(size=X.shape) > 0.35
    S = np.eye(n)
    for i in range(n):
        for j in range(i):
            both = there[:, i] & there[:, j]
            if both.sum() > 2 and np.ptp(X[both, i]) and np.ptp(X[both, j]):
                S[i, j] = S[j, i] = np.corrcoef(X[both, i], X[both, j])[0, 1]
    return S


def rounded_correlations(rng, n):
    """Correlations of few rows, so that some eigenvalues are zero, with one to three digits."""
    return np.round(np.corrcoef(rng.standard_normal((max(3, n // 2), n)), rowvar=False), int(rng.integers(1, 4)))


def negative_diagonal(rng, n):
    return wishart(rng, n) - np.diag(rng.uniform(0, 4, n) * (rng.uniform(size=n) < 0.6))


def zero_diagonal(rng, n):
    """The adjacency matrix of a graph with weights."""
    A = np.triu(rng.standard_normal((n, n)) * (rng.uniform(size=(n, n)) < 0.7), 1)
    return A + A.T


KINDS = (goe, contrast, pairwise_deleted, rounded_correlations, negative_diagonal, zero_diagonal)


def random_symmetric(rng, n):
    kind = KINDS[rng.integers(len(KINDS))]
    S = kind(rng, n)
    return 0.5 * (S + S.T) * 10.0 ** rng.integers(-3, 4)


def deflated(S, components, kind):
    """S without some components, by the formulas of Mackey (2008)."""
    S, directions = S.copy(), []
    for z in components:
        q = z
        if kind.startswith("orthogonalized"):
            basis = np.linalg.qr(np.array(directions).T)[0] if directions else np.zeros((len(S), 0))
            q = z - basis @ (basis.T @ z)
            q = q / np.linalg.norm(q)
            directions.append(q)
        if kind == "schur":
            S = S - np.outer(S @ z, S @ z) / (z @ S @ z)
        elif kind.endswith("hotelling"):
            S = S - (q @ S @ q) * np.outer(q, q)
        else:
            P = np.eye(len(S)) - np.outer(q, q)
            S = P @ S @ P
    return 0.5 * (S + S.T)


NOT_SO_MANY = ("no positive variance is left", "would explain nothing", "exceeds the rank", "no column that varies")


def quietly_fitted(S, **settings):
    """The model, or None if there are not as many components."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        try:
            return SparsePCA(**settings).fit_covariance(S)
        except ValueError as error:
            if any(words in str(error) for words in NOT_SO_MANY):
                return None
            raise


def check_random_problem(seed, *, methods=("auto",), proofs=("fast",), verified=True):
    """Fit a random problem; compare both bounds of every component with the truth. Return how many were compared."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    S = random_symmetric(rng, n)
    k = int(rng.integers(1, n + 1))
    varying = np.flatnonzero(S.any(axis=0))
    forced = sorted(rng.permutation(varying)[: rng.integers(0, k + 1)].tolist()) if rng.uniform() < 0.25 else []
    deflation = list(DEFLATIONS)[rng.integers(len(DEFLATIONS))]
    method = methods[rng.integers(len(methods))]
    settings = {
        "n_components": int(rng.integers(1, 3)),
        "cardinality": k,
        "method": method,
        "proof": proofs[rng.integers(len(proofs))],
        "deflation": deflation,
        "forced_in": forced or None,
    }
    model = quietly_fitted(S, **settings)
    if model is None:
        model = quietly_fitted(S, **(settings | {"n_components": 1}))
    if model is None:
        scale = float(np.abs(S).max())
        assert best_value(S, k, forced) <= 1e-9 * scale or method not in ("auto", "exact"), (seed, settings)
        return 0
    scale = float(np.abs(S).max())
    for index, certificate in enumerate(model.certificates_):
        left = deflated(S, model.components_[:index], deflation)
        scale = max(scale, float(np.abs(left).max()))
        truth = best_value(left[np.ix_(varying, varying)], min(k, len(varying)), np.searchsorted(varying, forced))
        told = (seed, settings, index, truth, model.lower_bound_[index], model.upper_bound_[index])
        assert model.lower_bound_[index] <= truth + 1e-11 * scale, told
        assert truth <= model.upper_bound_[index] + 1e-11 * scale, told
        if method == "exact":
            assert model.lower_bound_[index] >= truth - 1e-6 * scale, told
        if certificate is not None:
            assert certificate.lower <= truth + 1e-11 * scale, told
            assert truth <= certificate.upper + 1e-11 * scale, told
            if verified:
                outcome = verify(certificate, S)
                assert outcome, (told, outcome.reason)
    return model.n_components_
