"""The question a solver answers."""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance

# Scores that differ by less than this share of the largest are equal, and the first feature is taken. Otherwise
# rounding, which depends on the number of threads, would choose between duplicated columns.
TIE = 1e-11


@cache
def tie_breaker(n: int) -> Floats:
    """Return a small penalty for each place, in units of the largest score, so that the first of equal scores wins."""
    column = (np.arange(n, dtype=np.float64) * (TIE / n))[:, None]
    column.flags.writeable = False
    return column


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximise z'Sz over unit vectors z with at most k nonzeros (equation 3 of the paper).

    Attributes
    ----------
    covariance
        The matrix S.
    cardinality
        The largest number of nonzeros, k.
    forced
        Features that every support must contain.
    nonnegative
        Whether all loadings must be at least zero.
    monitor
        Stops the search at the time limit or at Ctrl-C.
    """

    covariance: Covariance
    cardinality: int
    forced: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    nonnegative: bool = False
    monitor: Monitor = field(default_factory=Monitor)

    def __post_init__(self) -> None:
        n = self.covariance.n_features
        if not 1 <= self.cardinality <= n:
            raise ValueError(f"cardinality={self.cardinality} must lie between 1 and the number of features, {n}.")
        if len(self.forced) > self.cardinality:
            raise ValueError(
                f"{len(self.forced)} features are forced in but cardinality={self.cardinality}: "
                "force fewer or raise the cardinality."
            )

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.covariance.n_features

    @property
    def forced_mask(self) -> Mask:
        """True at the features forced in."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[self.forced] = True
        return mask

    def at_hand(self) -> "Problem":
        """Return the problem on the features at hand: itself if all of them are."""
        hand = self.covariance.at_hand
        if hand is None:
            return self
        forced = np.searchsorted(hand, self.forced)
        k = min(self.cardinality, len(hand))
        return replace(self, covariance=self.covariance.on_hand(), cardinality=k, forced=forced)

    def with_cardinality(self, cardinality: int) -> "Problem":
        """Return the same problem for another cardinality."""
        return replace(self, cardinality=cardinality)

    def largest_variances(self) -> Indices:
        """Choose the k features of largest variance, and always the forced ones."""
        # Deflation may leave negative variances.
        diagonal = self.covariance.diagonal
        return self.top((diagonal - min(float(diagonal.min()), 0.0))[:, None])[:, 0]

    def top(self, directions: Floats, *, ordered: bool = True) -> Indices:
        """Choose the k features of largest absolute value in each column, and always the forced ones.

        With non-negative loadings only positive entries count. Each column returned is a support, sorted if `ordered`.
        """
        n, k = self.n_features, self.cardinality
        size = np.maximum(directions, 0.0) if self.nonnegative else np.abs(directions)
        if k == n:
            return np.repeat(np.arange(n)[:, None], directions.shape[1], axis=1)
        largest = size.max(axis=0)
        largest[largest == 0] = 1.0
        size -= tie_breaker(n) * largest
        if len(self.forced):
            size[self.forced] = np.inf
        supports = size.argpartition(n - k, axis=0)[n - k :]
        if ordered:
            supports.sort(axis=0)
        return supports
