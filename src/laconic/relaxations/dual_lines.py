"""Lines in k above the value of every support, from the leading eigenvector of one of them.

See `laconic.relaxations.optimality` for the mathematics.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic._typing import Floats, Indices
from laconic.linalg import extreme_eigenpair
from laconic.relaxations.l0_bound import EPS, above_sum, feasible_directions
from laconic.solution import PROVED

# Values of rho looked at with the cheap estimate: so many in each gap between two p_i^2, in so many gaps on each side.
SAMPLES, GAPS = 9, 3
# Gaps narrower than this share of their upper end are passed over.
NARROW = 1e-9
# A slope of so little, relative to k, is none; and steps keep so far from the ends of the bracket, relative to it.
FLAT, NEAR = 1e-9, 0.05
# The least penalty, times k and relative to lmax(S).
LEAST_PENALTY = 1e-7
# Above this size largest eigenvalues that only steer the search are computed by Lanczos' method.
DENSE = 200


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


class LineSearch:
    """Lines in k above every support, from the leading eigenvectors of some."""

    def __init__(self, A: Floats) -> None:
        self.A, self.n = A, A.shape[1]
        self.norms = np.einsum("ij,ij->j", A, A)

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
        # The line is meant for the size of the support, or what is nearest to it.
        k = min(ks, key=lambda other: abs(other - size))
        place = self._gap((x @ self.A) ** 2, size, k)
        return [] if place is None else self.descend(x, k, place[0], place[1:], evaluations)

    def descend(self, x: Floats, k: int, rho: float, gap: tuple[float, float], evaluations: int) -> list[Line]:
        """Return the lines met on the way to the least bound at k, from a rho, within a gap."""
        squares = (x @ self.A) ** 2
        low, high = gap
        below: tuple[Line, float] | None = None
        above: tuple[Line, float] | None = None
        found: list[Line] = []
        for _ in range(evaluations):
            largest, slope = self._tangent(x, squares, rho)
            line = Line(rho, largest, x, k, gap)
            found.append(line)
            if abs(slope + k) <= FLAT * k:
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

    def envelope(self, lines: Sequence[Line], ks: Sequence[int]) -> list[Line]:
        """Return for each k the line that is lowest there, proved."""
        proved: dict[int, Line] = {}
        for k in ks:
            line = self.lowest(lines, k)
            if id(line) not in proved:
                proved[id(line)] = line.proved(self.A, self.norms)
        # Estimates may have been too low: of what is proved, the least.
        return [self.lowest(list(proved.values()), k) for k in ks]

    def _gap(self, squares: Floats, size: int, k: int) -> tuple[float, float, float] | None:
        """Return the rho of the least cheap estimate, and the gap between two p_i^2 that it lies in.

        lmax(sum_i Y_i) is at least sum (p_i^2 - rho)_+ = x'(sum_i Y_i)x and at least every |Y_i|.
        """
        ends = np.concatenate([[float(self.norms.max())], np.sort(squares)[::-1], [0.0]])
        near = np.arange(max(size - GAPS, 0), min(size + GAPS, self.n) + 1)
        highs, lows = ends[near], ends[near + 1]
        wide = highs - lows > NARROW * highs
        if not wide.any():
            return None
        highs, lows = highs[wide], lows[wide]
        inner = np.linspace(0.0, 1.0, SAMPLES + 2)[1:-1]
        # Towards a lower end of zero no step is too small.
        lows = np.where(lows > 0, lows, 1e-3 * LEAST_PENALTY * highs)
        rhos = (lows[:, None] * (highs / lows)[:, None] ** inner).ravel()
        active = self.norms > rhos.min()
        s, p2 = self.norms[active], squares[active]
        share, single = np.empty(len(rhos)), np.empty(len(rhos))
        for i, rho in enumerate(rhos):
            excess = p2 - rho
            size_of = np.where(
                excess > 0, excess + p2 * np.maximum(s - p2, 0.0) / excess, rho * np.maximum(s - rho, 0.0) / -excess
            )
            share[i], single[i] = float(np.maximum(excess, 0.0).sum()), float(size_of.max(initial=0.0))
        score = np.maximum(share, single) + rhos * k
        # Where the first estimate is the larger over a whole range, the middle of it is wanted.
        best = int(np.argmin(score + 1e-3 * (single + rhos * k)))
        gap = best // SAMPLES
        return float(rhos[best]), float(lows[gap]), float(highs[gap])

    def _tangent(self, x: Floats, squares: Floats, rho: float) -> tuple[float, float]:
        """Return lmax(sum_i Y_i), with no margin, and its derivative in rho."""
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
