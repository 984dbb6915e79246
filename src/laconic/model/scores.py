"""Scores of rows, rows rebuilt from scores, and the share of variance that components hold."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats

# Directions with a singular value below this share of the largest are rounding: they are dependent on the others.
DEPENDENT = 1e-10


def scores_of(X: Any, directions: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return rows, centred by `mean` and divided by `scale`, times directions. Sparse rows stay sparse."""
    weights = (directions / scale).T
    return np.asarray(X @ weights - mean @ weights, dtype=np.float64)


def rows_from(scores: Floats, components: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return the rows in the span of the components that have the scores given."""
    gram = components @ components.T
    rows = scores @ np.linalg.pinv(gram, hermitian=True) @ components
    return np.asarray(rows * scale + mean, dtype=scores.dtype)


def orthonormal_basis(components: Floats) -> Floats:
    """Return an orthonormal basis of the span of the components, one vector in each row."""
    basis = np.linalg.svd(components, full_matrices=False)
    return np.asarray(basis.Vh[basis.S.max() * DEPENDENT < basis.S])


def share_held(blocks: Iterable[tuple[Any, Floats]], components: Floats, mean: Floats, scale: Floats) -> float:
    """Return the share of the variance of rows, about a mean, that the span of the components holds.

    The rows come in blocks, each with the weights of its rows.
    """
    orthonormal = orthonormal_basis(components)
    kept = total = 0.0
    for X, weights in blocks:
        kept += float(weights @ (scores_of(X, orthonormal, mean, scale) ** 2).sum(axis=1))
        total += float(weights @ _squared_lengths(X, mean, scale))
    return kept / total if total > 0 else 1.0


def _squared_lengths(X: Any, mean: Floats, scale: Floats) -> Floats:
    """Return the squared length of each centred and scaled row."""
    factor = 1.0 / scale
    if not sp.issparse(X):
        return np.asarray((((X - mean) * factor) ** 2).sum(axis=1))
    # |x - m|^2 = |m|^2 + sum of (x - m)^2 - m^2 over the nonzeros
    rows = X.tocsr().astype(np.float64)
    at_nonzeros = (mean * factor)[rows.indices]
    rows.data = (rows.data * factor[rows.indices] - at_nonzeros) ** 2 - at_nonzeros**2
    return np.asarray(rows.sum(axis=1)).ravel() + float(((mean * factor) ** 2).sum())
