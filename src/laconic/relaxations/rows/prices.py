"""The price of a row of L in the row-level relaxation, and the diagonal that a price allows.

See `laconic.relaxations.rows.relaxation` for the mathematics: c is the diagonal of the row and m its level, the largest
|L_ij| with j != i.
"""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS

# Divisors are at least this, the smallest normal number.
SMALLEST_NORMAL = float(np.finfo(float).tiny)


def free_diagonal(m: Floats, price: float) -> Floats:
    """Return the largest c with g(c, m) <= price for each m."""
    if price <= 0:
        return np.where(m > 0, -np.inf, 0.0)
    return np.asarray(np.where(m <= 2 * price, price, m - m * m / (4 * price) * (1 + 4 * EPS)))


def own_price(c: Floats, m: Floats) -> Floats:
    """Return the price g(c, m) of each row, at least zero."""
    # Where m - c is the divisor it is above m/2.
    g = np.where(m <= 2 * c, c, m * m / (4 * np.maximum(m - c, 0.5 * m + SMALLEST_NORMAL)))
    return np.asarray(np.maximum(g, 0.0) * (1 + 8 * EPS))


def level_of_each_row(L: Floats) -> Floats:
    """Return max_j |L_ij| over j != i for each i."""
    size = np.abs(L)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))


def levels_aside(S: Floats, keep: Indices, aside: Indices, m: Floats) -> Floats:
    """Return the level that each feature set aside needs to cancel its row of S, if those kept have the levels m."""
    against_kept = (2 * np.abs(S[np.ix_(aside, keep)]) - m).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(against_kept, level_of_each_row(S[np.ix_(aside, aside)])))
