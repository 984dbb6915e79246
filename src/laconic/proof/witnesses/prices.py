"""The costs of the rows of L and N; see `laconic.proof.witnesses.dual`."""

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.rounding import grown


def row_sum(*parts: Floats) -> float:
    """Return an upper bound on the largest row sum of the sum of the absolute values of some matrices."""
    return float(grown(np.sum([np.abs(part).sum(axis=1) for part in parts], axis=0).max(), len(parts[0]) + 2))


def row_levels(L: Floats) -> Floats:
    """Return the largest absolute value of each row of L, without the diagonal."""
    others = np.abs(L)
    np.fill_diagonal(others, 0.0)
    return np.asarray(others.max(axis=1, initial=0.0))


def level_costs(own: Floats, most: Floats) -> Floats:
    """Return g_i of each row of L, given its diagonal and the largest absolute value of the rest."""
    inner = most > 2 * own
    vertex = grown(most * (most / (4 * np.where(inner, most - own, 1.0))), 3)
    return np.asarray(np.where(inner, np.where(most > 0, vertex, 0.0), own))


def norm_costs(N: Floats) -> Floats:
    """Return g_i of each row of N."""
    own = N.diagonal()
    others = N.copy()
    np.fill_diagonal(others, 0.0)
    squares = np.einsum("ij,ij->i", others, others)
    # (c + root) / 2 = |q|^2 / (2 (root - c)), which has no cancellation for negative c.
    negative = own < 0
    safe = np.where(negative, 2 * (np.sqrt(own * own + squares) - own), 1.0)
    below = grown(grown(squares, len(N)) / safe, len(N) + 8)
    above = grown((own + np.sqrt(grown(own * own + squares, len(N) + 2))) / 2, 3)
    return np.asarray(np.where(negative, below, above))
