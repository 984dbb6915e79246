"""Levels that are given on some features only: the rows of the others are cancelled.

Whatever is written into L bounds x'Sx, so nothing here has to be exact.
"""

import numpy as np

from laconic._typing import Floats, Indices
from laconic.verification.terms import array_of, features_of, number
from laconic.witness import DualWitness


def row_levels(levels: Floats) -> Floats:
    """Return the largest entry of each row in size, the diagonal apart.

    Parameters
    ----------
    levels
        L on the features kept.
    """
    others = np.abs(levels)
    np.fill_diagonal(others, 0.0)
    return np.asarray(others.max(axis=1, initial=0.0))


def written_out(
    S: Floats, witness: DualWitness, *, most: Floats | None = None
) -> tuple[Floats, Floats | None, Indices]:
    """Return L and N on all features, and the features that are not kept.

    Parameters
    ----------
    S
        The matrix.
    witness
        The point; it has `kept` and `levels`.
    most
        What the rows kept may hold; None for the largest entries of `levels`. A point that has lost features may have
        lost those: without them the rows kept would hold less, and the others pay for it.
    """
    n = len(S)
    kept = features_of(witness.kept, n, "kept")
    if witness.levels is None:
        raise ValueError("A witness with features kept must have levels on them.")
    size = len(kept)
    inner = array_of(witness.levels, (size, size), "levels")
    m = row_levels(inner) if most is None else most
    aside = np.setdiff1d(np.arange(n), kept)
    L = np.empty((n, n))
    L[np.ix_(kept, kept)] = inner
    cross = 2.0 * S[np.ix_(kept, aside)]
    taken = np.clip(cross, -m[:, None], m[:, None])
    L[np.ix_(kept, aside)] = taken
    L[np.ix_(aside, kept)] = (cross - taken).T
    L[np.ix_(aside, aside)] = S[np.ix_(aside, aside)]
    price = max(number(witness.price, "price"), 0.0)
    own = np.abs(L[aside])
    own[np.arange(len(aside)), aside] = 0.0
    level = own.max(axis=1, initial=0.0)
    steep = level - level * (level / (4.0 * price)) if price > 0 else -level
    L[aside, aside] = np.where(level <= 2.0 * price, price, steep)
    N = None
    if witness.norms is not None:
        N = np.zeros((n, n))
        N[np.ix_(kept, kept)] = array_of(witness.norms, (size, size), "norms")
    return L, N, aside
