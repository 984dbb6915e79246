"""The bound of a matrix M that differs from S, and of the difference; the bound of the l0 relaxation.

**Levels that are given on some features only; the rows of the others are cancelled.** Let K be the features kept and
m_i a limit for the entries of their rows. For i in K and j not in K let L_ij = 2 S_ij cut to [-m_i, m_i] and L_ji = 2
S_ij - L_ij. For two features j and l not in K let L_jl = S_jl. Then S - sym L is zero off the diagonal in the rows not
in K. Its eigenvalues are those of its block on K, and S_jj - c_j, where c_j = L_jj is free to choose. The rows not in
K have the level m_j = max(max_i (2 |S_ij| - m_i), max_l |S_jl|). S need not be written out.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.eigenvalues import proved_largest_eigenvalue
from laconic.core.rounding import down, gamma, grown, norm_up, shrunk, sum_up, up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_BOUND,
    Proved,
    Witness,
    checked_array,
    checked_features,
    checked_number,
    largest,
    no_features,
    times_up,
    total,
)


def row_sum(*parts: Floats) -> float:
    """Return an upper bound on the largest row sum of the sum of the absolute values of some matrices."""
    return float(grown(np.sum([np.abs(part).sum(axis=1) for part in parts], axis=0).max(), len(parts[0]) + 2))


def less_symmetric_part(M: Floats, part: Floats) -> tuple[Floats, float]:
    """Return M - (part + part') / 2, and a number that bounds its rounding, times gamma_2."""
    half = 0.5 * (part + part.T)
    return M - half, 2 * row_sum(M, half)


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


class Cancelled:
    """The matrix S - sym L - sym N, block by block, and what its rows cost, for a witness with features kept.

    `most` holds the limits m_i; by default the largest entries of the rows of L. Within a tree, L may have lost
    columns. Then the limits are those from before, because smaller ones would raise the cost of the rows not kept.

    The attributes `levels` and `norms` are the costs of each row of L and of N. `aside` are the features not kept.
    """

    def __init__(self, S: Covariance, witness: "DualWitness", most: Floats | None = None) -> None:
        self._S = S
        self._kept, L, N = witness.on_kept(S.n_features)
        m = row_levels(L) if most is None else most
        self.aside: Indices = np.delete(np.arange(S.n_features), self._kept)
        self._subtract(L, N)
        reach, self._level = self._rows_aside(m)
        self.levels, self.norms = np.zeros(S.n_features), np.zeros(S.n_features)
        self.levels[self._kept] = level_costs(L.diagonal(), np.maximum(row_levels(L), np.minimum(m, reach)))
        if N is not None:
            self.norms[self._kept] = norm_costs(N)
        self._choose(self._free_diagonal(max(checked_number(witness.price, "price"), 0.0)))

    def _subtract(self, L: Floats, N: Floats | None) -> None:
        """Subtract the levels and norms from the block of the features kept; each sum is rounded once."""
        block = self._S.block(self._kept, self._kept)
        M, sizes = block if np.array_equal(block, block.T) else 0.5 * (block + block.T), 0.0
        for part in (L, N):
            if part is not None:
                M, size = less_symmetric_part(M, part)
                sizes += size
        self._M, self._rounding = M, float(grown(sizes * gamma(2), 3))

    def _rows_aside(self, m: Floats) -> tuple[Floats, Floats]:
        """Return the largest 2 |S_ij|, j not kept, of each row kept, and the levels of the rows not kept."""
        S, kept, aside = self._S, self._kept, self.aside
        reach, level = np.zeros(len(kept)), np.zeros(len(aside))
        step = max(1, BLOCK_ENTRIES // max(len(aside), len(kept)))
        for begin in range(0, len(aside), step):
            rows = np.arange(begin, min(begin + step, len(aside)))
            cross = 2.0 * np.abs(S.block(aside[rows], kept))
            reach = np.maximum(reach, cross.max(axis=0, initial=0.0))
            among = np.abs(S.block(aside[rows], aside))
            among[np.arange(len(rows)), rows] = 0.0
            # Each difference is rounded once.
            beyond = up((cross - m).max(axis=1, initial=0.0))
            level[rows] = np.maximum(beyond, among.max(axis=1, initial=0.0))
        return reach, level

    def _free_diagonal(self, price: float) -> Floats:
        """Return a diagonal of the rows not kept that costs about a price. The bound holds for any."""
        level = self._level
        steep = level - level * (level / (4.0 * price)) if price > 0 else -level
        return np.asarray(np.where(level <= 2.0 * price, price, steep))

    def _choose(self, own: Floats) -> None:
        self._own = own
        self._left = up(self._S.diagonal[self.aside] - own)
        self.levels[self.aside] = level_costs(own, self._level)

    def raise_diagonal(self, features: Indices) -> None:
        """Raise the diagonal left of features not kept to the largest eigenvalue: their rows then cost less."""
        places = np.searchsorted(self.aside, features)
        others = np.delete(self._left, places)
        top = max(float(np.linalg.eigvalsh(self._M)[-1]), float(others.max(initial=-np.inf)))
        own = self._own.copy()
        own[places] = np.minimum(own[places], self._S.diagonal[features] - top)
        self._choose(own)

    def total(self, costs: list[float], without: int | None = None) -> Proved:
        """Return the largest eigenvalue, leaving out the feature `without`, plus the costs of L and N, as a bound."""
        if not (np.isfinite(self._M).all() and np.isfinite(self._left).all()):
            return NO_BOUND
        stay = self._kept != without
        left = self._left if without is None else self._left[self.aside != without]
        value = estimate = most = float(left.max(initial=-np.inf))
        if stay.any():
            value, estimate = (max(x, most) for x in proved_largest_eigenvalue(self._M[np.ix_(stay, stay)]))
        away = [self._S.away, self._rounding]
        return total([value, *costs, *away], value - estimate, away)


def l0_bound(A: Floats, W: Floats, rho: float, k: int) -> Proved:
    """Bound x'A'Ax by the l0 relaxation, for any directions and any penalty.

    x'A'Ax <= lmax(sum_{i in T} a_i a_i'), so it is enough that Y_i >= a_i a_i' - rho I for some Y_i >= 0: then the sum
    is below that of all Y_i plus k rho I. For Y_i = c w w' with c >= 0 and rho > 0 this says
    a'(rho I + c ww')^{-1} a <= 1, which is, by Sherman and Morrison, c d >= rho (|a|^2 - rho) with
    d = (w'a)^2 - (|a|^2 - rho) |w|^2. A larger c and a larger |a|^2 in it only raise the bound. Y_i = 0 is enough if
    |a_i|^2 <= rho. If d is not positive, w = a is used instead, with c = 1 - rho / |a|^2. For any t
    |w|^2 - (w'a)^2 / |a|^2 <= |w - ta|^2, so d >= rho |w|^2 - |a|^2 |w - ta|^2. No squares nearly cancel in this form.
    """
    if rho < 0:
        raise ValueError(f"rho={rho} must not be negative.")
    q = len(A)
    squares = grown(np.einsum("ij,ij->j", A, A), q + 1)
    active = np.flatnonzero((squares > rho) & A.any(axis=0))
    penalty = times_up(k, rho)
    if not len(active):
        return Proved(penalty, 0.0)
    A, W, squares = A[:, active], W[:, active], squares[active]
    W = np.ldexp(W, -np.frexp(np.abs(W).max(axis=0))[1])  # only its direction matters
    lengths = np.einsum("ij,ij->j", W, W)
    t = np.einsum("ij,ij->j", W, A) / squares
    rest = W - t * A
    distance = grown(np.sqrt(grown(np.einsum("ij,ij->j", rest, rest), q + 1)), 2)
    # The products t a_j are rounded as well.
    distance = grown(distance + np.abs(t) * np.sqrt(squares) * gamma(2), 4)
    d = down(down(rho * shrunk(lengths, q + 1)) - grown(squares * (distance * distance), 3))
    c = up(up(rho * up(squares - rho)) / np.where(d > 0, d, 1.0))
    plain = (d <= 0) | ~(c * lengths < 1e6 * squares)
    W = np.where(plain, A, W)
    c = np.where(plain, up(1.0 - down(rho / squares)), c)
    B = W * np.sqrt(np.maximum(c, 0.0))
    Y = B @ B.T if q <= len(active) else B.T @ B  # the same nonzero eigenvalues
    Y = 0.5 * (Y + Y.T)
    if not np.isfinite(Y).all():
        return NO_BOUND
    value, estimate = proved_largest_eigenvalue(Y)
    # max(q, n) + 4 roundings; |B||B|' and |B|'|B| have norms of at most the trace.
    trace = grown(np.einsum("ij,ij->", B, B), B.size + 4)
    rounding = grown(trace * gamma(max(q, len(active)) + 10), 3)
    return total([max(value, 0.0), rounding, penalty], value - estimate, [rounding])


@dataclass(frozen=True, eq=False)
class DualWitness(Witness):
    """A matrix M in place of S, the cost of the difference, and a way to bound x'Mx.

    M = S + U - (L + L')/2 - (N + N')/2, each part optional. For unit x with k nonzeros x'Sx <= x'Mx + the costs

        U   any symmetric matrix with zero diagonal              (k - 1) max |U_ij|
        L   any matrix; c_i = L_ii, m_i = max_j |L_ij| (j != i),
            g_i = c_i if m_i <= 2 c_i, else m_i^2 / (4 (m_i - c_i)), cut at zero from below      k^2 max_i g_i
        N   any matrix; c_i = N_ii, q_i the rest of the row,
            g_i = (c_i + sqrt(c_i^2 + |q_i|^2)) / 2                                              k max_i g_i

    With I = `inside` (s features known to be in the support) L costs k (sum_{i in I} g_i + (k - s) max_{i not in I}
    g_i), and N costs sum_{i in I} g_i + (k - s) max_{i not in I} g_i. x'Mx is bounded by lmax(M). With a factor it is
    bounded by the l0 relaxation of M + shift I = A'A (up to rounding, which is added), less the shift: see `l0_bound`.
    """

    kind: str  # the name of the bound: "largest eigenvalue", "l1 dual", "row levels", "l0", "combined"
    multiplier: Floats | None = None  # U
    levels: Floats | None = None  # L
    norms: Floats | None = None  # N
    inside: Indices = field(default_factory=no_features)  # I
    # If given, L and N are on these features only, and the rows of the others are cancelled (`Cancelled`).
    kept: Indices | None = None
    # About what the row of a feature not kept costs. The bound holds for any price.
    price: float = 0.0
    factor: Floats | None = None  # A, one column for each feature
    directions: Floats | None = None  # W, one column for each feature
    rho: float = 0.0
    shift: float = 0.0

    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        return dual_bound(S, k, self, inside)

    def kinds(self) -> tuple[str, ...]:
        # A tree that is only its root is known by the relaxation of the root.
        return self.kind, "row levels"

    def on_kept(self, n: int) -> tuple[Indices, Floats, Floats | None]:
        """Return the features kept, of n, and L and N on them; a ValueError if the witness is not of this kind."""
        others = (self.multiplier, self.factor, self.directions)
        if self.kept is None or self.levels is None or any(part is not None for part in others) or self.shift:
            raise ValueError("A point with features kept has levels on some features, perhaps norms, and nothing else.")
        kept = checked_features(self.kept, n, "kept")
        shape = (len(kept), len(kept))
        N = None if self.norms is None else checked_array(self.norms, shape, "norms")
        return kept, checked_array(self.levels, shape, "levels"), N


def dual_bound(S: Covariance, k: int, witness: DualWitness, inside: Indices, *, most: Floats | None = None) -> Proved:
    """Bound x'Sx by x'Mx and the cost of the difference.

    x'Sx = x'Mx - x'Ux + x'Lx + x'Nx, and with s_i = |x_i|, sigma = |x|_1 <= sqrt(k):

    U     |x'Ux| <= max |U_ij| sum_{i != j} s_i s_j = max |U_ij| (sigma^2 - 1) <= (k - 1) max |U_ij|.
    L     Row i gives at most c s_i^2 + m s_i (sigma - s_i) = sigma^2 ((c - m) h^2 + m h) with h = s_i / sigma in
          [0, 1]. The largest value over h is g_i: at h = m / (2 (m - c)) if that is below one, else at h = 1. Hence
          x'Lx <= k (the sum of the k largest g_i), and features inside count first.
    N     Row i gives at most c s_i^2 + |q| s_i (1 - s_i^2)^(1/2), a quadratic form in (s_i, (1 - s_i^2)^(1/2)) whose
          larger eigenvalue is g_i. Therefore x'Nx <= the sum of the k largest g_i.
    """
    known = checked_features(witness.inside, S.n_features, "inside of the witness")
    if not np.isin(known, inside).all():
        raise ValueError("The witness takes features for granted (inside) that need not be in a support.")
    if witness.factor is None and witness.directions is not None:
        raise ValueError("The witness has directions but no factor.")
    if witness.kept is not None:
        point = Cancelled(S, witness, most)
        return point.total([times_up(k, budget(point.levels, k, known)), budget(point.norms, k, known)])
    parts = (witness.multiplier, witness.levels, witness.norms, witness.factor)
    if all(part is None for part in parts):
        value, estimate = S.largest
        return Proved(value, value - estimate)
    M, sizes, costs = _difference(S, k, witness, known)
    # Each sum is rounded once: u times both terms bounds the error.
    away = [S.away, grown(sizes * gamma(2), 3) if costs else 0.0]
    if not np.isfinite(M).all():
        return NO_BOUND
    if witness.factor is None:
        value, estimate = proved_largest_eigenvalue(M)
        return total([value, *costs, *away], value - estimate, away)
    A = checked_array(witness.factor, (None, S.n_features), "factor")
    shift = checked_number(witness.shift, "shift")
    W = checked_array(witness.directions, A.shape, "directions", below=math.inf)
    relaxed = l0_bound(A, W, checked_number(witness.rho, "rho"), k)
    lengths = grown(np.einsum("ij,ij->", A, A), A.size + 1)
    distance = M - A.T @ A
    rounding = [grown(lengths * gamma(len(A) + 4), 3), grown((row_sum(M, distance) + 2 * abs(shift)) * gamma(4), 3)]
    distance[np.diag_indices(S.n_features)] += shift
    off = norm_up(0.5 * (distance + distance.T))
    return total([relaxed.value, -shift, off, *costs, *away, *rounding], relaxed.margin + off, [*away, *rounding])


def _difference(S: Covariance, k: int, witness: DualWitness, known: Indices) -> tuple[Floats, float, list[float]]:
    """Return M, the sizes of the terms that were added (for their rounding), and the costs."""
    M, sizes, costs = S.matrix, 0.0, []
    shape = (S.n_features, S.n_features)
    if witness.multiplier is not None:
        U = checked_array(witness.multiplier, shape, "multiplier")
        if U.diagonal().any() or not np.array_equal(U, U.T):
            raise ValueError("The multiplier must be symmetric with a zero diagonal.")
        M, sizes = M + U, sizes + row_sum(M, U)
        costs.append(times_up(k - 1, float(np.abs(U).max())))
    if witness.levels is not None:
        L = checked_array(witness.levels, shape, "levels")
        M, size = less_symmetric_part(M, L)
        sizes += size
        costs.append(times_up(k, budget(level_costs(L.diagonal(), row_levels(L)), k, known)))
    if witness.norms is not None:
        N = checked_array(witness.norms, shape, "norms")
        M, size = less_symmetric_part(M, N)
        sizes += size
        costs.append(budget(norm_costs(N), k, known))
    return M, sizes, costs


def budget(costs: Floats, k: int, inside: Indices) -> float:
    """Return the most that k features cost, those inside among them."""
    free = np.delete(costs, inside)
    return sum_up([*costs[inside], *largest(free, k - len(inside))])
