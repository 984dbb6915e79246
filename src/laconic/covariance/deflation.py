"""Five ways to take a component out of a covariance (Mackey 2008).

A sparse component is not an eigenvector. Subtracting it as in ordinary PCA may leave some of its variance in the
matrix, or a matrix that is not semidefinite. With S the current covariance, z the unit component, y = Sz, v = z'y, and
q the part of z orthogonal to the directions taken out before, scaled to unit length:

    hotelling                   S - v zz'
    projection                  (I - zz') S (I - zz') = S - zy' - yz' + v zz'
    schur                       S - yy' / v
    orthogonalized-hotelling    S - (q'Sq) qq'
    orthogonalized-projection   (I - qq') S (I - qq')

Each is S - WCW' with one or two columns of W for a component. The deflations of Hotelling may leave S indefinite. If
only some features of S are at hand, components are zero at all others, and the part at hand is deflated.

**Variances of features without loadings never grow.** Let z be zero at feature i, and y = Sz.

    projection   ((I - zz') S (I - zz'))_ii = S_ii - 2 z_i y_i + z_i^2 z'y = S_ii
    hotelling    (S - v zz')_ii = S_ii - v z_i^2 = S_ii
    schur        (S - yy'/v)_ii = S_ii - y_i^2/v <= S_ii

The orthogonalised rules take out q, a combination of components, and q_i = 0 as well. So the variances of hidden
features before deflation bound those after it, for any number of components.

**The excess.** Let A be a set of features at hand, and B features on which all components are zero. The bound of two
groups limits the entries S_AB by variances. For this it needs a semidefinite matrix M with M_AB = S_AB, M_BB <= S_BB
and M_AA <= S_AA + e I for a number e.

    no deflation        M is S, and e = 0.
    projection, schur   B is hidden. There S stands for its exact deflation M, and e bounds the errors of the steps on
                        A. Schur complements are monotone.
    hotelling           The deflation is indefinite. M is the covariance before it: M_AB is the same, because z_B = 0,
                        and M_AA <= S_AA + the sum of c zz'. So e is the sum of c |z|^2.

Let a bound the supports in A, and b be the sum of the variances of B. A unit vector x has a part of length cos f on A
and a part of length sin f on B. The first gives at most a cos^2 f, the second b sin^2 f, and both together
2 ((a + e) b)^(1/2) cos f sin f. So the value is at most the larger eigenvalue of [[a, c], [c, b]] with c^2 = (a + e) b,
which is a + b if e = 0.

**How far S - WCW' is from semidefinite, without writing it out.** S + d I is semidefinite for a known d. Two numbers
tell how far S - WCW' is from semidefinite: the shift D with S - WCW' + D I semidefinite, and the trace t of some
semidefinite E with S - WCW' + E semidefinite. For a set T of k features lmax(S_T) <= Tr S_T + min((k - 1) D, t).

**The largest eigenvalue of S = A'A after projections, without an n x n matrix.** A has fewer rows than columns. A'A
and AA' have the same largest eigenvalue. The deflated matrix is ...P_2 P_1 S P_1 P_2..., P_i = I - z_i z_i'. As
P_i P_i = I - (2 - |z_i|^2) z_i z_i', it has the largest eigenvalue of the small matrix AA' less the sum of
(2 - |z_i|^2) g_i g_i', g_i = A P_1 ... P_{i-1} z_i.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue, proved_largest_by_rows
from laconic.core.monitor import Monitor
from laconic.core.rounding import down, gamma, grown, sum_up, up
from laconic.covariance.matrix import CHEAP_EIGENVALUES, Covariance
from laconic.covariance.pairs import Pairs, few_differ, revised
from laconic.covariance.views import SubsetCovariance

# After the deflations that have only a weak bound by rows, a matrix of at most this size (8 MB) is written out.
WRITE_OUT_COLUMNS = 1000
# A direction shorter than this, after the earlier directions are subtracted, is only rounding.
SHORTEST = 1e-10
# A component is multiplied by S again only if this takes at most so many entries of S: about a second of work.
MOST_ENTRIES = 400_000_000
# The length of a direction must lie between these, or nothing is proved. Components have unit length up to rounding;
# the proofs only need that the squared length is at most two.
LENGTHS = (0.7, 1.4)
NOT_KNOWN = (math.inf, math.inf)


class Step(NamedTuple):
    """One component that was taken out of a matrix T."""

    direction: Floats  # z, about of unit length
    image: Floats  # y, which is Tz up to rounding
    value: float  # v, which is z'Tz up to rounding


def length_up(z: Floats) -> float:
    """Return an upper bound on the length of a vector."""
    return float(grown(np.sqrt(grown(z @ z, len(z))), 1))


def length_within(rest: Floats, error: Floats) -> float:
    """Return an upper bound on the length of a vector whose entries are known up to some errors."""
    reach = up(np.abs(rest) + error)
    return float(grown(np.sqrt(grown(reach @ reach, len(rest) + 1)), 1))


def after_projections(S: "DeflatedCovariance", before: float) -> tuple[float, float]:
    """Return the shift after projections, given the shift d before them.

    Let S + d I be semidefinite, y nearly Sz and v nearly z'Sz. The deflated matrix is S+ = S - zy' - yz' + v zz'. With
    e = y - Sz and P = I - zz', S+ - PSP = -ze' - ez' + (v - z'y + z'e) zz'. As |P| <= 1 for |z|^2 <= 2, the shift of S+
    is at most d + 2 |z||e| + |z|^2 (|v - z'y| + |z||e|).
    """
    n, total = S.base.n_features, before
    for place, (z, y, v) in enumerate(S.steps):
        length = length_up(z)
        away = length_within(*S.distance(y, z, place))
        product = abs(v - float(z @ y)) + float(grown(np.abs(z) @ np.abs(y) * gamma(n + 4), n + 4))
        if not length <= LENGTHS[1]:
            return NOT_KNOWN
        grip = grown(product + abs(v) * gamma(4) + length * away, 6)
        total = sum_up([total, grown(2 * length * away, 3), grown(length * length * grip, 3)])
    return total, math.inf


def after_schur_complements(S: "DeflatedCovariance", before: float) -> tuple[float, float]:
    """Return the shift after Schur complements, given the shift d before them.

    Let R = S + d I be semidefinite, Q any matrix, F = W - RQ and G = Q'RQ = Q'W - Q'F. With b >= lmax(C^(1/2) G
    C^(1/2)) - 1, f^2 >= sum_j C_jj |f_j|^2 and L >= lmax(R), for unit u

        |C^(1/2) W'u| <= |C^(1/2) Q'Ru| + f <= ((1 + b) u'Ru)^(1/2) + f,

    so u'(R - WCW')u >= -b L - 2 f ((1 + b) L)^(1/2) - f^2. As w_j is nearly (S less the columns of W before j) z_j, it
    is nearly S (z_j - sum_{i < j} C_ii (w_i'z_j) q_i). For these q_j both b and f are of the size of rounding.
    """
    n, weights = S.base.n_features, np.array([1 / v for *_, v in S.steps])
    directions, W = (np.stack([step[part] for step in S.steps], axis=1) for part in (0, 1))
    mixed = np.triu(weights[:, None] * (W.T @ directions), 1) + np.eye(len(weights))
    if not ((weights > 0).all() and np.isfinite(mixed).all() and np.isfinite(directions).all()):
        return NOT_KNOWN
    Q = solve_triangular(mixed, directions.T, trans="T", unit_diagonal=True).T
    lengths = np.array([length_up(q) for q in Q.T])
    apart = [length_within(*S.distance(w, q, 0)) for w, q in zip(W.T, Q.T, strict=True)]
    distances = np.asarray(grown(np.array(apart) + before * lengths, 3))
    roots = np.sqrt(weights)
    size = roots[:, None] * roots
    error = (np.abs(Q).T @ np.abs(W)) * gamma(n + 12) + lengths[:, None] * distances
    off = np.abs(size * (Q.T @ W) - np.eye(len(weights))) * (1 + gamma(8)) + grown(size * error, n + 8) + gamma(8)
    b = float(grown(np.sqrt(grown((off**2).sum(), off.size + 4)), 2))
    f = float(grown(np.sqrt(grown(weights @ distances**2, len(weights) + 4)), 2))
    largest = sum_up([sum_up(S.base.variances), grown(n * before, 2)])
    mixed_term = grown(2 * f * math.sqrt(grown((1 + b) * largest, 4)), 4)
    return sum_up([before, grown(b * largest, 2), mixed_term, grown(f * f, 2)]), math.inf


def after_hotelling(S: "DeflatedCovariance", before: float) -> tuple[float, float]:
    """Return the shift and the trace after subtracting c zz', c nearly z'Sz, for each of several z.

    Let R = S + E be semidefinite, with E semidefinite too and e >= |E|. R - c zz' has at most one negative eigenvalue,
    and it is not below -c |z|^2. Let Sz = cz + g, h = z'g / |z|^2, and take unit vectors z / |z| cos f + w sin f,
    w orthogonal to z. As (w'Rz)^2 <= z'Rz w'Rw, the eigenvalue is not below the smaller one of
    [[-a, t], [t, t^2 / b]] either, with a >= c (|z|^2 - 1) - h, a >= 0, t >= |g| / |z| + e, b >= c + h + e; and
    that is at least -a - 2 t / (t/b + (t^2/b^2 + 4)^(1/2)). E grows by the rank-one matrix that lifts it to zero.
    """
    norm, trace = before, float(grown(S.base.n_features * before, 1))
    for place, (z, _, c) in enumerate(S.steps):
        rest, error = S.distance(c * z, z, place)
        length = length_up(z)
        if not (LENGTHS[0] <= length <= LENGTHS[1] and c > 0):
            return NOT_KNOWN
        size = len(z) + 8
        square = float(z @ z)
        doubt = grown(np.abs(z) @ (error + np.abs(rest) * gamma(size)), size) / square
        along = -float(z @ rest) / square
        a = grown(max(along + doubt, 0.0) + c * (abs(square - 1) + 2 * gamma(size)), size)
        t = grown(length_within(rest, error) / math.sqrt(square) + norm, size)
        b = grown(c + abs(along) + doubt + norm, size)
        share = t / b
        dip = grown(a + 2 * t / (share + math.sqrt(share * share + 4)), 16)
        least = min(float(dip), float(grown(c * square, size)))
        norm, trace = sum_up([norm, least]), sum_up([trace, least])
    return norm, trace


def subtracted(S: "DeflatedCovariance", rounding: float) -> float:
    """Return an upper bound on the norm of the sum of c zz' that Hotelling's deflation subtracts, plus rounding."""
    return sum_up([rounding, *(grown(max(c, 0.0) * length_up(z) ** 2, 4) for z, _, c in S.steps)])


def largest_after_projections(A: Floats, S: "DeflatedCovariance") -> ProvedEigenvalue | None:
    """Bound lmax(A P_1 ... P_j P_j ... P_1 A'), and add the distance from what was really subtracted.

    A step u - z (z'u) has an error of at most gamma_{n+8} (1 + |z|^2) |u|. As |z|^2 <= 2, no P_i makes it larger.
    """
    away, _ = after_projections(S, 0.0)
    if not math.isfinite(away):
        return None
    directions = [step.direction for step in S.steps]
    n, length = A.shape[1], length_up(A.ravel())
    images, weights, error = [], [], 0.0
    for place, z in enumerate(directions):
        u = z.copy()
        for earlier in directions[:place][::-1]:
            u -= earlier * float(earlier @ u)
        images.append(A @ u)
        weights.append(max(float(down(2.0 - grown(z @ z, n + 1))), 0.0))
        # |u| is below 1.5, so each step has an error of at most five gamma, and A u of 1.5 gamma.
        error += length * (5 * place + 2) * gamma(n + 8)
    H, moved = np.stack(images, axis=1), float(grown(error, len(images) + 4))
    value, estimate = proved_largest_by_rows(A, H, np.diag(weights), moved)
    return ProvedEigenvalue(sum_up([value, away]), estimate)


@dataclass(frozen=True)
class Rule:
    """How one step subtracts a component, and the proofs after several steps."""

    # From a step to its columns of W and its block of C.
    correction: Callable[[Step], tuple[Floats, Floats]]
    # Whether a semidefinite matrix stays semidefinite.
    semidefinite: bool
    # From the steps and a shift before them to the shift and the trace after them.
    distance_from_semidefinite: Callable[["DeflatedCovariance", float], tuple[float, float]]


def _projection(step: Step) -> tuple[Floats, Floats]:
    return np.stack([step.direction, step.image], axis=1), np.array([[-step.value, 1.0], [1.0, 0.0]])


HOTELLING = Rule(lambda step: (step.direction[:, None], np.array([[step.value]])), False, after_hotelling)
PROJECTION = Rule(_projection, True, after_projections)
SCHUR = Rule(lambda step: (step.image[:, None], np.array([[1.0 / step.value]])), True, after_schur_complements)
# The rule of each deflation, and whether directions are made orthogonal to the earlier ones first.
DEFLATIONS: dict[str, tuple[Rule, bool]] = {
    "hotelling": (HOTELLING, False),
    "projection": (PROJECTION, False),
    "schur": (SCHUR, False),
    "orthogonalized-hotelling": (HOTELLING, True),
    "orthogonalized-projection": (PROJECTION, True),
}


class DeflatedCovariance(Covariance):
    """S - WCW' after some steps of a rule, kept as an operator. W and C are taken as the numbers that they are.

    Entries have the errors of S, of the two products, and of the subtraction. For these the columns of W are scaled by
    powers of two to entries of at most one, and C is scaled back. Then (|W||C||W|')_ij <= max |C_ab| r_i r_j, with r
    the row sums of |W|, is not much too large.
    """

    base: Covariance

    def __init__(self, base: Covariance, rule: Rule, steps: tuple[Step, ...]) -> None:
        self.base, self.rule, self.steps = base, rule, steps
        columns, blocks = zip(*(rule.correction(step) for step in steps), strict=True)
        W = np.concatenate(columns, axis=1)
        powers = np.frexp(np.abs(W).max(axis=0, initial=0.0))[1]
        self.factors: Floats = np.ldexp(W, -powers)
        self.core: Floats = np.ldexp(np.asarray(block_diag(*blocks)), powers + powers[:, None])
        self.n_features, self.at_hand, self.entry_cost = base.n_features, base.at_hand, base.entry_cost
        self.written_out, self.slack, self.factor_error = base.written_out, base.slack, base.factor_error
        self.semidefinite = rule.semidefinite and base.semidefinite

    def part(self, keep: Indices) -> Covariance:
        if not self.factors[keep].any():
            # The components that were taken out have no loadings on these features.
            return self.base.part(keep)
        hand = self.at_hand
        if hand is not None and np.isin(keep, hand).all() and not np.array_equal(keep, hand):
            return self.on_hand().part(np.searchsorted(hand, keep))
        left_out = np.ones(self.n_features, dtype=bool)
        left_out[keep] = False
        if any(step.direction[left_out].any() for step in self.steps):
            return SubsetCovariance(self, keep)
        return self._on(keep)

    def _on(self, keep: Indices) -> "DeflatedCovariance":
        """Return the same on some features, on which all components lie."""
        steps = tuple(Step(z[keep], y[keep], v) for z, y, v in self.steps)
        return DeflatedCovariance(self.base.part(keep), self.rule, steps)

    @cached_property
    def _deflated(self) -> "DeflatedCovariance":
        """The same on the features at hand."""
        return self if self.at_hand is None else self._on(self.at_hand)

    def distance(self, y: Floats, z: Floats, step: int) -> tuple[Floats, Floats]:
        """Return Tz - y as computed, and bounds on its errors, with T the matrix before a step.

        Nothing is assumed about the numbers of a step: proofs compute how far the image is from Tz.
        """
        used: Indices = np.flatnonzero(z)
        n, count = self.n_features, step * len(self.core) // len(self.steps)
        if len(used) * n > MOST_ENTRIES:
            return np.zeros(n), np.full(n, math.inf)
        part, spread = z[used], self.base.spread
        size = np.abs(part)
        factors, core = self.factors[:, :count], self.core[:count, :count]
        rest = -y - factors @ (core @ (factors[used].T @ part))
        sizes = np.abs(y) + np.abs(factors) @ (np.abs(core) @ (np.abs(factors[used]).T @ size))
        height = max(1, BLOCK_ENTRIES // max(len(used), 1))
        for begin in range(0, n, height):
            rows = np.arange(begin, min(begin + height, n))
            block = self.base.block(rows, used)
            rest[rows] += block @ part
            sizes[rows] += np.abs(block, out=block) @ size
        operations = len(used) + 2 * count + 18
        error = sizes * gamma(operations) + spread * float(spread[used] @ size)
        return rest, np.asarray(grown(error, operations))

    def row_parts(self) -> Iterator[tuple[Floats, Floats]] | None:
        parts = self.base.row_parts()
        if parts is None:
            return None
        # WC and W, each with about the root of the largest entry of C in it.
        power = math.frexp(float(np.abs(self.core).max(initial=0.0)))[1] // 2
        own = np.ldexp(self.core.T @ -self.factors.T, -power), np.ldexp(self.factors.T, power)
        return chain(parts, [own])

    def _look_at_pairs(self, count: int, monitor: Monitor) -> Pairs:
        changed = np.flatnonzero(np.any([step.direction != 0 for step in self.steps], axis=0))
        # The deflations of Schur change every entry.
        if self.rule is SCHUR or not few_differ(self.n_features, len(changed)):
            return super()._look_at_pairs(count, monitor)
        return revised(self, self.base, np.arange(self.n_features), changed, count, monitor)

    def _diagonal(self) -> Floats:
        return np.asarray(self.base.diagonal - np.einsum("ij,ij->i", self.factors @ self.core, self.factors))

    @cached_property
    def rounding_unit(self) -> float:
        return max(float(np.abs(self.diagonal).max()), self.base.rounding_unit)

    @cached_property
    def size(self) -> Floats:
        height = math.sqrt(float(np.abs(self.core).max(initial=0.0)))
        taken = grown(np.abs(self.factors).sum(axis=1) * height, len(self.core) + 4)
        return np.asarray(up(self.base.size + taken))

    @cached_property
    def spread(self) -> Floats:
        rounding = math.sqrt(gamma(2 * len(self.core) + 8))
        return np.asarray(up(self.base.spread + grown(self.size * rounding, 3)))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return np.asarray(self.base.block(rows, columns) - self.factors[rows] @ self.core @ self.factors[columns].T)

    def submatrices(self, supports: Indices) -> Floats:
        rows = self.factors[supports]
        correction = rows @ self.core @ rows.transpose(0, 2, 1)
        return self.base.submatrices(supports) - 0.5 * (correction + correction.transpose(0, 2, 1))

    def columns(self, indices: Indices) -> Floats:
        return self.base.columns(indices) - self.factors @ (self.core @ self.factors[indices].T)

    def product(self, block: Floats) -> Floats:
        return self.base.product(block) - self.factors @ (self.core @ (self.factors.T @ block))

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        if self.n_features <= CHEAP_EIGENVALUES:
            return None
        if self.rule is not PROJECTION:
            # S - WCW' is at most S. This is weak, so a matrix that is not too large is written out instead.
            weak = self.n_features > WRITE_OUT_COLUMNS and (self.core.diagonal() > 0).all()
            return self.base.largest_by_rows if weak else None
        factor = self.base.factor
        if factor is None and self.base.largest_by_rows is not None:
            factor = self.base.rows_as_factor(np.arange(self.n_features))
        if factor is None or len(factor) >= self.n_features:
            return None
        found = largest_after_projections(factor, self._deflated)
        return None if found is None else ProvedEigenvalue(sum_up([found.value, self.factor_error]), found.estimate)

    @cached_property
    def _shift_and_trace(self) -> tuple[float, float]:
        before = self.base.known_semidefinite_shift
        if before is None:
            return math.inf, math.inf
        if self.rule.semidefinite or self.at_hand is None:
            return self.rule.distance_from_semidefinite(self._deflated, before)
        # The sum of c zz' makes the whole matrix of Hotelling's deflation semidefinite again.
        excess = subtracted(self._deflated, before)
        return excess, excess

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        shift, trace = self._shift_and_trace
        # After Hotelling's deflation the known shift may be far too large. For a small matrix the least is cheap.
        far_too_large = math.isfinite(trace) and self.n_features <= CHEAP_EIGENVALUES and self.at_hand is None
        return shift if math.isfinite(shift) and not far_too_large else None

    @cached_property
    def semidefinite_trace(self) -> float:
        return self._shift_and_trace[1]

    def excess(self, features: Indices) -> float | None:
        before = self.base.excess(features)
        if before is None or any(step.direction[features].any() for step in self.steps):
            return None
        if not self.rule.semidefinite:
            return subtracted(self._deflated, before)
        hidden = self.at_hand is not None and not np.isin(features, self.at_hand).any()
        return self.rule.distance_from_semidefinite(self._deflated, before)[0] if hidden else None


class Deflation:
    """Takes components out of a covariance, one after the other, in one of the five ways."""

    def __init__(self, covariance: Covariance, kind: str) -> None:
        if kind not in DEFLATIONS:
            raise ValueError(f"deflation={kind!r} is not known; choose one of {', '.join(DEFLATIONS)}.")
        self._rule, self._orthogonalized = DEFLATIONS[kind]
        self._base = covariance
        self._steps: tuple[Step, ...] = ()
        self._directions: list[Floats] = []
        self.current: Covariance = covariance

    def remove(self, z: Floats) -> Covariance:
        """Take the unit vector z out, and return the covariance that is left."""
        direction = self._orthogonal_part(z) if self._orthogonalized else z
        if direction is None:
            return self.current
        hand = slice(None) if self._base.at_hand is None else self._base.at_hand
        image = np.zeros(len(direction))
        image[hand] = self.current.on_hand().product(direction[hand])
        value = float(direction @ image)
        if value > 0:
            self._steps = (*self._steps, Step(direction, image, value))
            self.current = DeflatedCovariance(self._base, self._rule, self._steps)
        return self.current

    def _orthogonal_part(self, z: Floats) -> Floats | None:
        """Return z less its part along the directions taken out before, or None if nothing is left."""
        q = z.copy()
        for _ in range(2):  # a second pass removes what rounding left in the first
            for earlier in self._directions:
                q -= (earlier @ q) * earlier
        length = float(np.linalg.norm(q))
        if length < SHORTEST:
            return None
        q /= length
        self._directions.append(q)
        return q
