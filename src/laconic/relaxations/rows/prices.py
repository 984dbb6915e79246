"""The price of a row of L in the row-level relaxation, and the diagonal that a price allows.

See `laconic.relaxations.rows.relaxation` for the mathematics: c is the diagonal of the row and m its level, the largest
|L_ij| with j != i.
"""

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
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


def priced_levels(L: Floats, k: int, inside: Mask) -> tuple[float, float, Floats]:
    """Return the cost of L, max g over the rows not inside, and each row's m; the diagonal is raised where it is free.

    The rows not inside pay for the largest g among them, so each may have the largest c of that price.
    """
    m = level_of_each_row(L)
    g = own_price(L.diagonal(), m)
    price = float(g[~inside].max(initial=0.0))
    raised = free_diagonal(m, price)
    # At the price zero only a row of zeros has a free diagonal.
    raised = np.where(inside | ~np.isfinite(raised), L.diagonal(), raised)
    np.fill_diagonal(L, raised)
    count = max(k - int(np.count_nonzero(inside)), 0)
    return k * (float(g[inside].sum()) + count * price) * (1 + 8 * EPS), price, m


def priced_norms(N: Floats, k: int, inside: Mask) -> float:
    """Return the cost of N; the diagonal of the rows not inside is raised where it is free."""
    c, rest = N.diagonal().copy(), N.copy()
    np.fill_diagonal(rest, 0.0)
    square = np.einsum("ij,ij->i", rest, rest)
    length = np.sqrt(c * c + square)
    # The second form is the first without the cancellation.
    g = np.where(c >= 0, 0.5 * (c + length), 0.5 * square / np.maximum(length - c, SMALLEST_NORMAL))
    worst = float(g[~inside].max(initial=0.0))
    if worst > 0:
        np.fill_diagonal(N, np.where(inside, c, worst - square / (4 * worst) * (1 + 4 * EPS)))
    count = max(k - int(np.count_nonzero(inside)), 0)
    # The sums of squares are off by n EPS at most.
    return (float(g[inside].sum()) + count * worst) * (1 + (2 * len(N) + 8) * EPS)


def level_of_each_row(L: Floats) -> Floats:
    """Return max_j |L_ij| over j != i for each i."""
    size = np.abs(L)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))


class Aside:
    """The features that are not kept, and what is needed of their rows to cancel them."""

    def __init__(self, S: Floats, keep: Indices) -> None:
        self.features: Indices = np.setdiff1d(np.arange(len(S)), keep)
        self._S, self._across = S, 2 * np.abs(S[self.features][:, keep])
        self._among, self._partner = np.zeros(len(self.features)), self.features.copy()
        self._look_at(np.arange(len(self.features)), keep)

    def _look_at(self, rows: Indices, keep: Indices) -> None:
        """Find the largest entry of some rows among the features aside, and the feature where it stands."""
        if not len(rows):
            return
        # Whole rows are copied much faster than some entries of each.
        size, places = np.abs(self._S[self.features[rows]]), np.arange(len(rows))
        size[:, keep] = 0.0
        size[places, self.features[rows]] = 0.0
        self._partner[rows] = size.argmax(axis=1)
        self._among[rows] = size[places, self._partner[rows]]

    def keep(self, keep: Indices) -> None:
        """Keep more features. Only rows whose largest entry is lost are looked at again."""
        stay = ~np.isin(self.features, keep)
        self.features, self._among, self._partner = self.features[stay], self._among[stay], self._partner[stay]
        self._across = 2 * np.abs(self._S[self.features][:, keep])
        self._look_at(np.flatnonzero(np.isin(self._partner, keep)), keep)

    def levels(self, m: Floats) -> Floats:
        """Return the level that each feature needs to cancel its row of S, if those kept have the levels m."""
        return np.asarray(np.maximum((self._across - m).max(axis=1, initial=0.0), self._among))

    def left(self, m: Floats, price: float) -> Floats:
        """Return the diagonal that is left to each feature after its row is cancelled at a price, rounded up."""
        variances, free = self._S.diagonal()[self.features], free_diagonal(self.levels(m), price)
        return np.asarray(variances - free + 4 * EPS * (np.abs(variances) + np.abs(free)))
