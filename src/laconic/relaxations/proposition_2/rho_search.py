"""The search for the penalty rho of Proposition 2: cheap estimates first, then tangents.

See `conditions` beside this file for the mathematics. The bound lmax(sum_i Y_i) + rho k of one support is a line in
k, and it is convex in rho between two neighbouring p_i^2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.thresholds import PROVED
from laconic.proof.witnesses.proposition_2 import Proposition2Witness

# Cheap estimates are computed at so many values of rho in each gap between two p_i^2, in so many gaps on each side of
# the size of the support. The best rho is rarely farther away.
SAMPLES, GAPS = 9, 3
BETWEEN = np.linspace(0.0, 1.0, SAMPLES + 2)[1:-1]
# Gaps whose width is below this share of their upper end are skipped: rho would be next to a pole.
NARROW = 1e-9
# Relative to k, a slope below this is zero.
FLAT = 1e-9
# Steps keep this share of the bracket away from its ends.
AWAY_FROM_ENDS = 0.05
# Stop when the tangents allow an improvement of at most this share of the bound, far below a visible gap.
WORTHLESS = 0.01 * PROVED
# Smallest penalty, times n and relative to lmax(S). The bound is then lmax(S) up to this share.
LEAST_PENALTY = 1e-7
# Entries of a working block of the cheap estimates (2 MB), so that they stay in the processor's cache.
ENTRIES_IN_CACHE = 250_000

Tangent = Callable[[float], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Line:
    """The bound `largest + rho k` for every k, before rounding is accounted for."""

    witness: Proposition2Witness
    largest: float  # an estimate of lmax(sum_i Y_i)
    support: int = -1  # its place in the list of supports tried; -1 for a line that needs no support
    target: int = 0  # the cardinality for which the penalty was sought
    gap: tuple[float, float] = (0.0, 0.0)  # the two neighbouring p_i^2 that the penalty lies between

    @property
    def rho(self) -> float:
        """The penalty for each nonzero."""
        return self.witness.rho

    def at(self, k: int) -> float:
        """Return the estimate of the bound for k nonzeros."""
        return self.largest + self.rho * k


@dataclass(frozen=True, eq=False)
class Estimates:
    """Cheap estimates of the bound at some rho, in the gaps between two p_i^2 near the size of a support.

    lmax(sum_i Y_i) is at least sum (p_i^2 - rho)_+ = x'(sum_i Y_i)x, and at least every |Y_i|.
    """

    rhos: Floats
    share: Floats  # the first estimate for each penalty
    single: Floats  # the second
    lows: Floats  # the ends of each gap, which holds `SAMPLES` of the penalties
    highs: Floats

    @classmethod
    def of(cls, norms: Floats, squares: Floats, size: int) -> "Estimates | None":
        """Return the estimates for a support of a given size from |a_i|^2 and p_i^2; None if all gaps are narrow."""
        ends = np.concatenate([[float(norms.max())], np.sort(squares)[::-1], [0.0]])
        near = np.arange(max(size - GAPS, 0), min(size + GAPS, len(norms)) + 1)
        highs, lows = ends[near], ends[near + 1]
        wide = highs - lows > NARROW * highs
        if not wide.any():
            return None
        highs, lows = highs[wide], lows[wide]
        # The samples of a gap that begins at zero need a positive lower end.
        lows = np.where(lows > 0, lows, 1e-3 * LEAST_PENALTY * highs)
        rhos = (lows[:, None] * (highs / lows)[:, None] ** BETWEEN).ravel()
        active = norms > rhos.min()
        s, p2 = norms[active], squares[active]
        share, single = np.empty(len(rhos)), np.empty(len(rhos))
        step = max(1, ENTRIES_IN_CACHE // max(len(s), 1))
        for begin in range(0, len(rhos), step):
            part = slice(begin, begin + step)
            rho = rhos[part, None]
            excess = p2 - rho
            rest = np.where(excess > 0, p2 * np.maximum(s - p2, 0.0), -rho * np.maximum(s - rho, 0.0)) / excess
            above = np.maximum(excess, 0.0)
            share[part], single[part] = above.sum(axis=1), (above + rest).max(axis=1, initial=0.0)
        return cls(rhos, share, single, lows, highs)

    def gap(self, k: int) -> tuple[float, float, float]:
        """Return the rho of the lowest estimate for k nonzeros, and the ends of its gap."""
        score = np.maximum(self.share, self.single) + self.rhos * k
        # The first estimate may be the larger one over a whole range of rho. The second then selects the middle.
        best = int(np.argmin(score + 1e-3 * (self.single + self.rhos * k)))
        gap = best // SAMPLES
        return float(self.rhos[best]), float(self.lows[gap]), float(self.highs[gap])

    def promised(self, ks: Sequence[int]) -> Floats:
        """Return the lowest estimate for each k. The bound is rarely below it."""
        least = np.maximum(self.share, self.single)
        return np.asarray((least[:, None] + np.multiply.outer(self.rhos, ks)).min(axis=0))


def descend(
    tangent: Tangent, k: int, rho: float, gap: tuple[float, float], evaluations: int, limit: float = np.inf
) -> list[tuple[float, float]]:
    """Search for the rho of the lowest bound within a gap, by intersecting tangents.

    `tangent` returns lmax(sum_i Y_i) at a rho, and its derivative. Return the pairs (rho, lmax(sum_i Y_i)) that were
    evaluated. The search stops as soon as a tangent shows that no bound of the gap is below the limit.
    """
    low, high = gap
    below: tuple[float, float] | None = None
    above: tuple[float, float] | None = None
    found: list[tuple[float, float]] = []
    for _ in range(evaluations):
        largest, slope = tangent(rho)
        found.append((rho, largest))
        # The tangent at this rho is the line height + slope rho.
        height = largest - slope * rho
        end = low if slope + k > 0 else high
        if height + (slope + k) * end >= limit or abs(slope + k) <= FLAT * k:
            break
        if slope + k > 0:
            high, above = rho, (height, slope)
        else:
            low, below = rho, (height, slope)
        if below is None or above is None:
            rho = float(np.sqrt(low * high))
        else:
            rho = (below[0] - above[0]) / (above[1] - below[1])
            least = below[0] + (below[1] + k) * rho
            if min(value + tried * k for tried, value in found) - least <= WORTHLESS * least:
                break
            margin = AWAY_FROM_ENDS * (high - low)
            rho = min(max(rho, low + margin), high - margin)
        if not low < rho < high:
            break
    return found
