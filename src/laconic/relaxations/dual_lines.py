"""Lines in k above the value of every support, from the leading eigenvector of one of them.

See `laconic.relaxations.optimality` for the mathematics.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic.core.arrays import Floats, Indices
from laconic.core.limits import PROVED
from laconic.core.linalg import extreme_eigenpair
from laconic.relaxations.l0_bound import EPS, above_sum, feasible_directions

# Values of rho looked at with the cheap estimate: so many in each gap between two p_i^2, in so many gaps on each side.
SAMPLES, GAPS = 9, 3
BETWEEN = np.linspace(0.0, 1.0, SAMPLES + 2)[1:-1]
# Gaps narrower than this share of their upper end are passed over.
NARROW = 1e-9
# A slope of so little, relative to k, is none; and steps keep so far from the ends of the bracket, relative to it.
FLAT, NEAR = 1e-9, 0.05
# The least penalty, times k and relative to lmax(S).
LEAST_PENALTY = 1e-7
# Above this size largest eigenvalues that only steer the search are computed by Lanczos' method.
DENSE = 200
# Entries of a working block of the cheap estimates, 2 MB.
BLOCK_ENTRIES = 250_000


@dataclass(frozen=True, eq=False)
class Line:
    """The bound `largest + rho k` for every k.

    Attributes
    ----------
    rho, largest
        The penalty, and lmax(sum_i Y_i).
    x
        The eigenvector the directions come from; None for w_i = a_i.
    target, gap
        The k it was looked for, and between which two p_i^2.
    """

    rho: float
    largest: float
    x: Floats | None = None
    target: int = 0
    gap: tuple[float, float] = (0.0, 0.0)

    def directions(self, A: Floats) -> Floats:
        """Return W for columns of the factor."""
        if self.x is None:
            return A
        p = self.x @ A
        inside = p**2 > self.rho
        return np.where(inside, p * A - (self.rho * self.x)[:, None], A - np.outer(self.x, p))

    def proved(self, A: Floats, norms: Floats) -> "Line":
        """Return the line with its eigenvalue computed anew and a margin for rounding."""
        above = norms * (1 + (len(A) + 16) * EPS) > self.rho
        active = A[:, above]
        largest = above_sum(*feasible_directions(active, self.directions(active), self.rho))
        return replace(self, largest=largest)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Cheap estimates of the bound at some rho, in the gaps between two p_i^2 near the size of a support.

    lmax(sum_i Y_i) is at least sum (p_i^2 - rho)_+ = x'(sum_i Y_i)x and at least every |Y_i|.

    Attributes
    ----------
    rhos
        The penalties.
    share, single
        Both estimates for each.
    lows, highs
        The ends of each gap; it holds `SAMPLES` of the penalties.
    """

    rhos: Floats
    share: Floats
    single: Floats
    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, norms: Floats, squares: Floats, size: int) -> "Estimates | None":
        """Return the estimates from S_ii = |a_i|^2 and p_i^2; None if all gaps are too narrow."""
        ends = np.concatenate([[float(norms.max())], np.sort(squares)[::-1], [0.0]])
        near = np.arange(max(size - GAPS, 0), min(size + GAPS, len(norms)) + 1)
        highs, lows = ends[near], ends[near + 1]
        wide = highs - lows > NARROW * highs
        if not wide.any():
            return None
        highs, lows = highs[wide], lows[wide]
        # Towards a lower end of zero no step is too small.
        lows = np.where(lows > 0, lows, 1e-3 * LEAST_PENALTY * highs)
        rhos = (lows[:, None] * (highs / lows)[:, None] ** BETWEEN).ravel()
        active = norms > rhos.min()
        s, p2 = norms[active], squares[active]
        share, single = np.empty(len(rhos)), np.empty(len(rhos))
        step = max(1, BLOCK_ENTRIES // max(len(s), 1))
        for begin in range(0, len(rhos), step):
            part = slice(begin, begin + step)
            rho = rhos[part, None]
            excess = p2 - rho
            rest = np.where(excess > 0, p2 * np.maximum(s - p2, 0.0), -rho * np.maximum(s - rho, 0.0)) / excess
            above = np.maximum(excess, 0.0)
            share[part], single[part] = above.sum(axis=1), (above + rest).max(axis=1, initial=0.0)
        return cls(rhos, share, single, lows, highs)

    def gap(self, k: int) -> tuple[float, float, float]:
        """Return the rho of the least estimate for k, and the gap that it lies in."""
        score = np.maximum(self.share, self.single) + self.rhos * k
        # Where the first estimate is the larger over a whole range, the middle of it is wanted.
        best = int(np.argmin(score + 1e-3 * (self.single + self.rhos * k)))
        gap = best // SAMPLES
        return float(self.rhos[best]), float(self.lows[gap]), float(self.highs[gap])

    def promised(self, ks: Sequence[int]) -> Floats:
        """Return the least estimate for each k: a bound will hardly be below it."""
        least = np.maximum(self.share, self.single)
        return np.asarray((least[:, None] + np.multiply.outer(self.rhos, ks)).min(axis=0))


class Descent(ABC):
    """A search for the rho of the least bound that a support proves."""

    @abstractmethod
    def squares(self, x: Floats) -> Floats:
        """Return p_i^2."""

    @abstractmethod
    def _tangent(self, x: Floats, squares: Floats, rho: float) -> tuple[float, float]:
        """Return lmax(sum_i Y_i), with no margin, and its derivative in rho."""

    def descend(
        self, x: Floats, k: int, rho: float, gap: tuple[float, float], evaluations: int, limit: float = np.inf
    ) -> list[Line]:
        """Return the lines met on the way to the least bound at k, from a rho, within a gap.

        It ends where a tangent shows that no bound of the gap is below the limit.
        """
        squares = self.squares(x)
        low, high = gap
        below: tuple[Line, float] | None = None
        above: tuple[Line, float] | None = None
        found: list[Line] = []
        for _ in range(evaluations):
            largest, slope = self._tangent(x, squares, rho)
            line = Line(rho, largest, x, k, gap)
            found.append(line)
            lowest_end = low if slope + k > 0 else high
            beyond = largest + slope * (lowest_end - rho) + lowest_end * k >= limit
            if beyond or abs(slope + k) <= FLAT * k:
                break
            if slope + k > 0:
                high, above = rho, (line, slope)
            else:
                low, below = rho, (line, slope)
            if below is None or above is None:
                rho = float(np.sqrt(low * high))
            else:
                (left, falling), (right, rising) = below, above
                rho = (left.largest - falling * left.rho - right.largest + rising * right.rho) / (rising - falling)
                least = left.largest + falling * (rho - left.rho) + rho * k
                best = self.lowest(found, k)
                if best.largest + best.rho * k - least <= 0.01 * PROVED * least:
                    break
                rho = min(max(rho, low + NEAR * (high - low)), high - NEAR * (high - low))
            if not low < rho < high:
                break
        return found

    @staticmethod
    def lowest(lines: Sequence[Line], k: int) -> Line:
        """Return the line that is lowest at k."""
        return min(lines, key=lambda line: line.largest + line.rho * k)


class LineSearch(Descent):
    """Lines in k above every support, from the leading eigenvectors of some."""

    def __init__(self, A: Floats) -> None:
        self.A, self.n = A, A.shape[1]
        self.norms = np.einsum("ij,ij->j", A, A)

    def squares(self, x: Floats) -> Floats:
        """Return p_i^2."""
        return np.asarray((x @ self.A) ** 2)

    def leading(self, support: Indices) -> tuple[Floats, float]:
        """Return x and the value of a support."""
        chosen = self.A[:, support]
        small = chosen.T @ chosen if chosen.shape[1] <= chosen.shape[0] else chosen @ chosen.T
        if not small.size:
            return np.zeros(len(self.A)), 0.0
        value, vector = extreme_eigenpair(small, -1)
        x = chosen @ vector if chosen.shape[1] <= chosen.shape[0] else vector
        length = float(np.linalg.norm(x))
        return (x / length if length > 0 else x), max(value, 0.0)

    def known(self) -> list[Line]:
        """Return the two lines that need no support: all Y_i zero, and w_i = a_i with next to no penalty."""
        if not self.A.size:
            return [Line(0.0, 0.0)]
        top = Line(float(self.norms.max()) * (1 + (len(self.A) + 32) * EPS), 0.0)
        largest, _ = _largest(self.A)
        rho = LEAST_PENALTY * largest / self.n
        return [top, Line(rho, largest)] if rho > 0 else [top]

    def lines(self, x: Floats, size: int, ks: Sequence[int], evaluations: int) -> list[Line]:
        """Return one line for each rho tried, with estimates of their eigenvalues."""
        if not self.A.size or not x.any():
            return []
        estimates = Estimates.of(self.norms, self.squares(x), size)
        if estimates is None:
            return []
        # The line is meant for the size of the support, or what is nearest to it.
        k = min(ks, key=lambda other: abs(other - size))
        rho, low, high = estimates.gap(k)
        return self.descend(x, k, rho, (low, high), evaluations)

    def envelope(
        self, lines: Sequence[Line], ks: Sequence[int], known: Floats | None = None, loss: float = 0.0
    ) -> list[Line]:
        """Return for each k the line that is lowest there, proved.

        A line is passed over where it is not below the bounds that are known, or lower than another line proved by no
        more than a relative loss. There may be none then.
        """
        proved: dict[int, Line] = {}
        limits = np.full(len(ks), np.inf) if known is None else known
        for k, limit in zip(ks, limits, strict=True):
            line = self.lowest(lines, k)
            least = line.largest + line.rho * k
            reached = min((other.largest + other.rho * k for other in proved.values()), default=np.inf)
            if id(line) not in proved and least < limit and least < reached * (1 - loss):
                proved[id(line)] = line.proved(self.A, self.norms)
        if not proved:
            return []
        # Estimates may have been too low: of what is proved, the least.
        return [self.lowest(list(proved.values()), k) for k in ks]

    def _tangent(self, x: Floats, squares: Floats, rho: float) -> tuple[float, float]:
        active = self.norms > rho
        A, s, p2 = self.A[:, active], self.norms[active], squares[active]
        if not A.size:
            return 0.0, 0.0
        p = x @ A
        inside = p2 > rho
        excess = p2 - rho
        # |b_i|^2, where it is divided by: there |a_i|^2 > rho > p_i^2.
        rest = np.where(inside, 1.0, s - p2)
        c = np.where(inside, 1.0, rho * (s - rho) / rest) / np.abs(excess)
        W = np.where(inside, p * A - (rho * x)[:, None], A - np.outer(x, p))
        largest, u = _largest(W * np.sqrt(c))
        along = u @ W
        by_inside = -2.0 * along * float(u @ x) * c + along**2 * c**2
        by_outside = along**2 * ((s - 2 * rho) * -excess - rho * (s - rho)) / (excess**2 * rest)
        return largest, float(np.where(inside, by_inside, by_outside).sum())


def _largest(V: Floats) -> tuple[float, Floats]:
    """Return about the largest eigenvalue of VV' and its unit eigenvector."""
    q, n = V.shape
    if min(q, n) <= DENSE:
        if q <= n:
            return extreme_eigenpair(V @ V.T, -1)
        value, y = extreme_eigenpair(V.T @ V, -1)
    else:
        # A start that is neither an eigenvector nor orthogonal to one.
        first = np.cos(np.arange(1.0, n + 1))
        operator = LinearOperator((n, n), matvec=lambda y: V.T @ (V @ y), dtype=np.float64)
        try:
            values, vectors = eigsh(operator, k=1, which="LA", v0=first, tol=1e-7)
        except ArpackError:
            return extreme_eigenpair(V @ V.T, -1)
        value, y = float(values[0]), vectors[:, 0]
    u = V @ y
    length = float(np.linalg.norm(u))
    return value, u / length if length > 0 else u
