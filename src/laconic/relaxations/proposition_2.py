"""Conditions for global optimality (Proposition 2 of the paper), and the bounds they give when they fail.

Let S = A'A, I a support, z its component, and x = Az scaled to unit length: the leading eigenvector of
sum_{i in I} a_i a_i'. Its eigenvalue v is the value of the support. Put p_i = a_i'x. For any rho that is not one of the
p_i^2 the l0 bound (`laconic.relaxations.l0`) takes the directions

    w_i = B_i x = p_i a_i - rho x        where p_i^2 > rho,    Y_i = w_i w_i' / (p_i^2 - rho)
    w_i = b_i = (I - xx') a_i            where p_i^2 < rho,    Y_i = e_i b_i b_i',
                                                               e_i = rho (|a_i|^2 - rho)_+ / ((rho - p_i^2) |b_i|^2)

Then every support of size k, not only I, has a value of at most lmax(sum_i Y_i) + rho k. If

    max_{i not in I} p_i^2  <  rho  <  min_{i in I} p_i^2    and    lmax(sum_i Y_i)  <=  sum_{i in I} (p_i^2 - rho)

this bound is v for k = |I|, and I is globally optimal. The same rho stands in both conditions and in the Y_i. The set
of such rho, if not empty, is an interval. There x is an eigenvector of sum_i Y_i with the eigenvalue v - rho |I|, and
the second condition is about the directions orthogonal to x. If it fails, the bound is still an upper bound on the
optimal value.

Between two neighbouring p_i^2 the bound is convex in rho, because 1 / (p^2 - rho) and rho (s - rho) / (rho - p^2) are.
It is minimised there by intersecting tangents. One pair of z and rho bounds all k at once, by a line in k. A path takes
the lowest of all lines tried. The pair of z and rho is the witness of a bound
(`laconic.proof.witness_proposition_2`). Every bound returned here is computed from its witness by `laconic.proof`.

The directions are w_i = f_i a_i - h_i x, with f_i = p_i, h_i = rho where p_i^2 > rho, and f_i = 1, h_i = p_i elsewhere.
All their inner products are entries of S and of Sz,

    w_i'w_j = f_i f_j S_ij - f_i p_i h_j - h_i f_j p_j + h_i h_j,

and sum_i Y_i has the largest eigenvalue of the matrix (c_i c_j)^(1/2) w_i'w_j. Neither to find a bound nor to check it
A is needed, only products with S.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.eigenvalues import EPS, extreme_eigenpair
from laconic.core.monitor import threads_for
from laconic.covariance import Covariance
from laconic.proof import ProofError, prove
from laconic.proof.gate import Estimate
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.relaxations.elementary import as_covariance

# If S + d I is semidefinite only for d above this share of the largest entry of S, then d is added to its diagonal.
# A smaller d is rounding.
INDEFINITE = 1e-10
# A search stops unless it can lower the known bound by this share. A smaller improvement is not visible.
WORTHWHILE = 1e-3
# Above this size Lanczos' method finds an eigenvalue faster than LAPACK.
LAPACK = 400
# Cheap estimates are computed at so many values of rho in each gap between two p_i^2, in so many gaps on each side of
# the size of the support. The best rho is rarely farther away.
SAMPLES, GAPS = 9, 3
BETWEEN = np.linspace(0.0, 1.0, SAMPLES + 2)[1:-1]
# Gaps whose width is below this share of their upper end are skipped: rho would be next to a pole.
NARROW = 1e-9
# Estimates that agree to this share are equal.
SAME = 1e-9
# Relative to k, a slope below this is zero.
FLAT_SLOPE = 1e-9
# Steps keep this share of the bracket away from its ends.
AWAY_FROM_ENDS = 0.05
# Stop when the tangents allow an improvement of at most this share of the bound, far below a visible gap.
WORTHLESS = 0.01 * PROVED
# Smallest penalty, times n and relative to lmax(S). The bound is then lmax(S) up to this share.
LEAST_PENALTY = 1e-7
# Relative accuracy of these eigenvalues and their vectors: that of the value is about its square.
ACCURACY = 1e-4
# Number of eigenvalues computed for a support in search of its best penalty. More gain nothing visible.
EVALUATIONS = 4
# The test of optimality halves its bracket each time: after so many, the bracket is as narrow as rounding allows.
EVALUATIONS_OF_A_TEST = 50


@dataclass(frozen=True, eq=False)
class Line:
    """The bound `largest + rho k` for every k, before rounding is accounted for."""

    witness: Proposition2Witness
    largest: float  # an estimate of lmax(sum_i Y_i)
    source: "Conditions | None" = None  # those of a support, if it needs one

    def at(self, k: int) -> float:
        """Return the estimate of the bound for k nonzeros."""
        return self.largest + self.witness.rho * k


class Conditions:
    """The bounds that a support, which is not empty, gives for every cardinality.

    At first they are estimated for some rho in each gap between two p_i^2 near the size of the support:
    lmax(sum_i Y_i) is at least sum (p_i^2 - rho)_+ = x'(sum_i Y_i)x, and at least every |Y_i|. S + `shift` I is
    semidefinite; values and bounds include the shift.
    """

    def __init__(self, S: Covariance, support: Indices) -> None:
        self._S, self._support, self.size, self.shift = S, support, len(support), shift_of(S)
        self._norms = norms = S.diagonal + self.shift
        block = S.submatrix(support)
        block.flat[:: self.size + 1] += self.shift
        self.value, self._weights = extreme_eigenpair(block, -1)
        self.p = np.zeros_like(norms)
        if self.value > 0:
            self._weights /= np.sqrt(self.value)  # so that |Az| = 1
            z = np.zeros_like(norms)
            z[support] = self._weights
            self.p = S.product(z) + self.shift * z
        squares = self.p * self.p
        #: The largest p_i^2 outside the support and the smallest inside. The conditions ask for a rho between them.
        self.interval = float(np.delete(squares, support).max(initial=0.0)), float(squares[support].min())
        ends = np.concatenate([[float(norms.max())], np.sort(squares)[::-1], [0.0]])
        near = np.arange(max(self.size - GAPS, 0), min(self.size + GAPS, len(norms)) + 1)
        gaps = [_positive(*gap) for gap in zip(ends[near + 1], ends[near], strict=True) if self.value > 0]
        self._gaps = [(low, high) for low, high in gaps if high - low > NARROW * high]
        self._rhos, self._share, self._single = np.empty((3, len(self._gaps), SAMPLES))
        for place, (low, high) in enumerate(self._gaps):
            active = norms > low
            s, p2, rho = norms[active], squares[active], (low * (high / low) ** BETWEEN)[:, None]
            excess = p2 - rho
            rest = np.where(excess > 0, p2 * np.maximum(s - p2, 0.0), -rho * np.maximum(s - rho, 0.0)) / excess
            above = np.maximum(excess, 0.0)
            self._rhos[place] = rho[:, 0]
            self._share[place], self._single[place] = above.sum(axis=1), (above + rest).max(axis=1, initial=0.0)

    def estimates(self, k: int) -> Floats:
        """Return the cheap estimates at k, a row for each gap that may be searched."""
        return np.asarray(np.maximum(self._share, self._single) + self._rhos * k)

    def lines(
        self, k: int, *, evaluations: int, limit: float = np.inf, gap: tuple[float, float] | None = None
    ) -> list[Line]:
        """Search a gap between two p_i^2, by default that of the lowest estimate, for the lowest bound at k.

        The bound is convex there, and for k at least the size of the support it is never below the value. The next
        penalty is the one where the tangents at both ends of a bracket meet. If they meet below the value, it is the
        middle of the penalties where both tangents are below the value: every penalty that reaches the value is among
        them. The search stops when no bound, with the shift, can be below the limit.
        """
        if not self._gaps:
            return []
        floor = self.value if k >= self.size else 0.0
        if gap is None:
            # Where the first estimate is the larger one over a range of rho, the second selects its middle. Penalties
            # that may reach the value come first.
            estimates = self.estimates(k)
            score = estimates + 1e-3 * (self._single + self._rhos * k)
            reaching = estimates <= floor * (1 + SAME)
            best = int(np.argmin(np.where(reaching, score, np.inf) if reaching.any() else score))
            rho, (low, high) = float(self._rhos.flat[best]), self._gaps[best // SAMPLES]
        else:
            low, high = _positive(*gap)
            rho = float(np.sqrt(low * high))
        found: list[Line] = []
        below: tuple[float, float] | None = None
        above: tuple[float, float] | None = None
        while len(found) < evaluations and low < rho < high:
            largest, slope = self._tangent(rho)
            found.append(Line(Proposition2Witness(self._support, self._weights, rho), largest, self))
            # The tangent at this rho is the line height + rise rho.
            height, rise = largest - slope * rho, slope + k
            if abs(rise) <= FLAT_SLOPE * k or height + rise * (low if rise > 0 else high) >= limit:
                break
            if rise > 0:
                high, above = rho, (height, rise)
            else:
                low, below = rho, (height, rise)
            if below is None or above is None:
                rho = float(np.sqrt(low * high))
                continue
            rho = (below[0] - above[0]) / (above[1] - below[1])
            least = below[0] + below[1] * rho
            if min(line.at(k) for line in found) - max(least, floor) <= WORTHLESS * least:
                break
            if least < floor:
                rho = 0.5 * ((floor - below[0]) / below[1] + (floor - above[0]) / above[1])
            margin = AWAY_FROM_ENDS * (high - low)
            rho = min(max(rho, low + margin), high - margin)
        return found

    def _tangent(self, rho: float) -> tuple[float, float]:
        """Return lmax(sum_i Y_i) and its derivative in rho.

        Let y be the eigenvector of the matrix of inner products, and u = sum_i c_i^(1/2) y_i w_i / largest^(1/2) that
        of sum_i Y_i. Then u'w_i = (largest / c_i)^(1/2) y_i, and the derivative of each c_i (u'w_i)^2 is explicit.
        """
        active = np.flatnonzero(self._norms > rho)
        if not len(active):
            return 0.0, 0.0
        s, p = self._norms[active], self.p[active]
        p2 = p * p
        inside, excess = p2 > rho, p2 - rho
        c = np.where(inside, 1.0, rho * (s - rho) / np.where(inside, 1.0, s - p2)) / np.abs(excess)
        root = np.sqrt(c)
        f, h = np.where(inside, p, 1.0) * root, np.where(inside, rho, p) * root
        largest, y = self._largest(active, f, h, f * p)
        share = largest * (y * y)
        along = float(y @ (f * p - h))
        by_inside = share * c - 2.0 * along * (y * root)
        by_outside = share * (1 / rho - 1 / (s - rho) - 1 / np.abs(excess))
        return largest, float(np.where(inside, by_inside, by_outside).sum())

    def _largest(self, active: Indices, f: Floats, h: Floats, fp: Floats) -> tuple[float, Floats]:
        """Return about the largest eigenvalue and eigenvector of the matrix of w_i'w_j of some features."""
        S = self._S

        def product(y: Floats) -> Floats:
            z = np.zeros(S.n_features)
            z[active] = f * y
            along = float(h @ y)
            return np.asarray(f * (S.product(z) + self.shift * z)[active] + h * (along - float(fp @ y)) - fp * along)

        if len(active) > LAPACK:
            # A fixed start that is neither an eigenvector nor orthogonal to one.
            first = np.cos(np.arange(1.0, len(active) + 1))
            operator = LinearOperator((len(active),) * 2, matvec=product, dtype=np.float64)
            with suppress(ArpackError):
                values, vectors = eigsh(operator, k=1, which="LA", v0=first, tol=ACCURACY)
                return float(values[0]), np.asarray(vectors[:, 0])
        outer = (0.5 * h - fp)[:, None] * h
        M = S.submatrix(active)
        M.flat[:: len(active) + 1] += self.shift
        return extreme_eigenpair(f[:, None] * f * M + (outer + outer.T), -1)


def shift_of(S: Covariance) -> float:
    """Return a number d with S + d I semidefinite, up to rounding."""
    shift = 0.0 if S.semidefinite else S.semidefinite_shift
    return shift if shift > INDEFINITE * S.rounding_unit else 0.0


def proved_bound(covariance: Covariance, k: int, witness: Proposition2Witness) -> Estimate:
    """Return the proved bound of a witness, an `UpperBound`, or an infinite estimate if it proves nothing."""
    try:
        return prove(covariance, k, witness)
    except ProofError:
        return Estimate(np.inf, "Proposition 2", k, witness)


def _positive(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a gap between two penalties; the lower one is positive."""
    return (low if low > 0 else 1e-3 * LEAST_PENALTY * high), high


@dataclass(frozen=True, eq=False, repr=False)
class OptimalityConditions:
    """The result of Proposition 2 for one support: `optimality_conditions` makes it.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import optimality_conditions
    >>> found = optimality_conditions(load_pitprops().covariance, [0, 1, 5, 6, 7, 8, 9])
    >>> found.value < found.upper < 1.004 * found.value
    True
    """

    support: Indices
    cardinality: int
    value: float
    lower_rho: float  # the largest p_i^2 outside the support
    upper_rho: float  # the smallest p_i^2 inside; the conditions ask for a rho between the two
    rho: float  # the penalty of the bound
    upper: float  # the proved bound on the value of every support of size k
    optimal: bool  # whether the bound equals the value up to the tolerance
    witness: Proposition2Witness

    def __repr__(self) -> str:
        return (
            f"OptimalityConditions(cardinality={self.cardinality}, value={self.value:.6g}, upper={self.upper:.6g},\n"
            f"                     optimal={self.optimal}, rho={self.rho:.6g}, between {self.lower_rho:.6g} "
            f"and {self.upper_rho:.6g})"
        )


def optimality_conditions(
    covariance: Covariance | Floats,
    support: Indices | Sequence[int],
    cardinality: int | None = None,
    *,
    tolerance: float = PROVED,
) -> OptimalityConditions:
    """Test whether a support is globally optimal, and bound the value of every other support.

    k is by default the size of the support. The support is optimal if the relative difference between bound and value
    is at most the tolerance. A penalty for which the conditions hold is found if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.relaxations import optimality_conditions
    >>> S = np.diag([4.0, 4.0, 1.0]) + 0.5
    >>> optimality_conditions(S, [0, 1]).optimal
    True
    """
    covariance = as_covariance(covariance)
    features = np.asarray(support, dtype=np.intp)
    if not len(features):
        raise ValueError("support is empty; give at least one feature.")
    k = len(features) if cardinality is None else cardinality
    with threads_for(covariance.n_features):
        conditions = Conditions(covariance, features)
        value = conditions.value - conditions.shift
        enough = value + tolerance * abs(value)
        lines = conditions.lines(
            k, evaluations=EVALUATIONS_OF_A_TEST, limit=enough + conditions.shift, gap=conditions.interval
        )
        bound = proved_bound(covariance, k, _lowest(lines, k).witness) if lines else None
        if bound is None or bound.value > enough:
            lines += conditions.lines(k, evaluations=2 * EVALUATIONS) + _without_support(covariance)
            bound = proved_bound(covariance, k, _lowest(lines, k).witness)
    assert isinstance(bound.witness, Proposition2Witness)
    return OptimalityConditions(
        support=features,
        cardinality=k,
        value=value,
        lower_rho=conditions.interval[0],
        upper_rho=conditions.interval[1],
        rho=bound.witness.rho,
        upper=bound.value,
        optimal=bound.value <= enough,
        witness=bound.witness,
    )


def path_bounds(
    covariance: Covariance | Floats, supports: Sequence[Indices], cardinalities: Sequence[int]
) -> list[Estimate]:
    """Return for every k the lowest bound over all supports and over some penalties for each.

    The bounds are proved. One is infinite if nothing can be proved about the matrix.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import path_bounds
    >>> found = path_bounds(load_pitprops().covariance, [[0, 1, 5, 6, 7, 8, 9]], [6, 7, 8])
    >>> [round(bound.value, 2) for bound in found]
    [3.87, 4.01, 4.15]
    """
    if min(cardinalities, default=1) < 1:
        raise ValueError(f"cardinalities={list(cardinalities)} must be at least 1.")
    covariance = as_covariance(covariance)
    with threads_for(covariance.n_features):
        lines = _without_support(covariance)
        # Each support at the k nearest to its size, then at each k the support of the lowest bound there.
        for support in supports:
            if len(support):
                near = min(cardinalities, key=lambda k: abs(k - len(support)))
                lines += Conditions(covariance, np.asarray(support)).lines(near, evaluations=EVALUATIONS)
        for k in cardinalities:
            source = _lowest(lines, k).source
            if source is not None and source.size != k:
                lines += source.lines(k, evaluations=EVALUATIONS)
        return [proved_bound(covariance, k, _lowest(lines, k).witness) for k in cardinalities]


def proposition_2_below(covariance: Covariance, support: Indices, cardinality: int, known: float) -> Estimate | None:
    """Return the bound that a support gives by Proposition 2, or None if it is not below a known bound."""
    with threads_for(covariance.n_features):
        conditions = Conditions(covariance, support)
        known += conditions.shift
        # A bound is rarely below its estimate.
        if not conditions.estimates(cardinality).min(initial=np.inf) < known:
            return None
        lines = conditions.lines(cardinality, evaluations=EVALUATIONS, limit=known * (1 - WORTHWHILE))
    line = _lowest(lines, cardinality)
    return proved_bound(covariance, cardinality, line.witness) if line.at(cardinality) < known else None


def _lowest(lines: Sequence[Line], k: int) -> Line:
    return min(lines, key=lambda line: line.at(k))


def _without_support(S: Covariance) -> list[Line]:
    """Return the two lines of z = 0: all Y_i zero, and w_i = a_i with a very small penalty, which gives lmax(S)."""
    zero, shift = (np.zeros(1, dtype=np.intp), np.zeros(1)), shift_of(S)
    top = max(float(S.diagonal.max(initial=0.0)) + shift, 0.0) * (1 + 32 * EPS)
    largest = S.largest.estimate + shift
    lines = [Line(Proposition2Witness(*zero, top), 0.0)]
    if largest > 0:
        lines.append(Line(Proposition2Witness(*zero, LEAST_PENALTY * largest / S.n_features), largest))
    return lines
