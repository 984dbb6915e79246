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
the lower envelope of all lines tried. The pair of z and rho is the witness of a bound
(`laconic.proof.witness_proposition_2`). Every bound returned here is computed from its witness by `laconic.proof`.

The directions are w_i = f_i a_i - h_i x, with f_i = p_i, h_i = rho where p_i^2 > rho, and f_i = 1, h_i = p_i elsewhere.
All their inner products are entries of S and of Sz,

    w_i'w_j = f_i f_j S_ij - f_i p_i h_j - h_i f_j p_j + h_i h_j,

and sum_i Y_i has the largest eigenvalue of the matrix (c_i c_j)^(1/2) w_i'w_j. No factor of S is needed, neither to
find a bound nor to check it. If S = A'A and A has fewer rows than columns, the smaller matrix of the rows is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from laconic.core.arrays import PROVED, SMALLEST_NORMAL, WRITE_OUT_LIMIT, Floats, Indices
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
# Above these sizes Lanczos' method finds an eigenvalue faster than LAPACK, for a matrix and for a factor.
LAPACK_MATRIX, LAPACK_FACTOR = 400, 200


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
# Entries of a working block of the cheap estimates (2 MB), so that they stay in the processor's cache.
ENTRIES_IN_CACHE = 250_000
# Relative accuracy of these eigenvalues and their vectors: that of the value is about its square.
ACCURACY = 1e-4
# Number of eigenvalues computed for a support in search of its best penalty, where more gain nothing visible, and for a
# whole path whose bounds are to improve on known ones.
EVALUATIONS, EVALUATIONS_OF_A_PATH = 4, 32
# The test of optimality halves its bracket each time: after so many, the bracket is as narrow as rounding allows.
EVALUATIONS_OF_A_TEST = 50


class MatrixProducts:
    """S + shift I = A'A, written out. `norms` is its diagonal, |a_i|^2; the shift is zero unless S is indefinite."""

    def __init__(self, S: Floats, semidefinite_shift: float = 0.0) -> None:
        self._S, self.shift = S, 0.0
        if semidefinite_shift > INDEFINITE * float(np.abs(S).max(initial=0.0)):
            self.shift, self._S = semidefinite_shift, S.copy()
            self._S.flat[:: len(S) + 1] += semidefinite_shift
        self.norms = self._S.diagonal()

    def component(self, support: Indices) -> tuple[float, Floats, Floats]:
        """Return the value of a support, its weights z with |Az| = 1 (unless the value is zero), and p = A'Az."""
        columns = self._S[:, support]
        value, z = _unit_image(*extreme_eigenpair(columns[support], -1))
        return value, z, np.asarray(columns @ z)

    def largest(
        self, active: Indices, f: Floats, h: Floats, p: Floats, _: tuple[Indices, Floats], /
    ) -> tuple[float, Floats]:
        """Return about the largest eigenvalue and eigenvector of the matrix of w_i'w_j, from S and p = Sz."""
        S = self._S if len(active) == len(self._S) else self._S[active[:, None], active]
        outer = (0.5 * h - f * p)[:, None] * h
        M = f[:, None] * f * S + (outer + outer.T)
        found = _by_lanczos(M) if len(M) > LAPACK_MATRIX else None
        return extreme_eigenpair(M, -1) if found is None else found


class FactorProducts:
    """S = A'A with fewer rows in A than features. See `MatrixProducts` for the attributes."""

    def __init__(self, A: Floats) -> None:
        self._A, self.shift = A, 0.0
        self.norms = np.einsum("ij,ij->j", A, A)

    def component(self, support: Indices) -> tuple[float, Floats, Floats]:
        """See `MatrixProducts`."""
        chosen = self._A[:, support]
        value, z = _unit_image(*extreme_eigenpair(chosen.T @ chosen, -1))
        return value, z, np.asarray((chosen @ z) @ self._A)

    def largest(
        self, active: Indices, f: Floats, h: Floats, _: Floats, z: tuple[Indices, Floats], /
    ) -> tuple[float, Floats]:
        """Return about the largest eigenvalue and eigenvector of the matrix of w_i'w_j, from A and x = Az."""
        A = self._A if len(active) == self._A.shape[1] else self._A[:, active]
        V = A * f - np.outer(self._A[:, z[0]] @ z[1], h)
        if min(V.shape) > LAPACK_FACTOR:
            operator = LinearOperator((V.shape[1],) * 2, matvec=lambda y: V.T @ (V @ y), dtype=np.float64)
            found = _by_lanczos(operator)
            if found is not None:
                return found
        if len(V) > V.shape[1]:
            return extreme_eigenpair(V.T @ V, -1)
        value, u = extreme_eigenpair(V @ V.T, -1)
        y = u @ V
        length = float(np.linalg.norm(y))
        return value, y / length if length > 0 else y


# The products of a covariance, by whichever is smaller.
Products = MatrixProducts | FactorProducts


def products_of(covariance: Covariance) -> Products:
    """Return the products of a covariance, by its factor if that has fewer rows than features."""
    n = covariance.n_features
    if covariance.factor is not None and (len(covariance.factor) < n or n > WRITE_OUT_LIMIT):
        return FactorProducts(covariance.factor)
    S = covariance.submatrix(np.arange(n))
    return MatrixProducts(S, 0.0 if covariance.semidefinite else covariance.semidefinite_shift)


@dataclass(frozen=True, eq=False)
class Line:
    """The bound `largest + rho k` for every k, before rounding is accounted for."""

    witness: Proposition2Witness
    largest: float  # an estimate of lmax(sum_i Y_i)
    source: "Conditions | None" = None  # those of a support, if it needs one

    def at(self, k: Any) -> Any:
        """Return the estimate of the bound for k nonzeros (a number or an array)."""
        return self.largest + self.witness.rho * k


class Conditions:
    """The bounds that a support, which is not empty, gives for every cardinality.

    At first they are estimated for some rho in each gap between two p_i^2 near the size of the support:
    lmax(sum_i Y_i) is at least sum (p_i^2 - rho)_+ = x'(sum_i Y_i)x, and at least every |Y_i|.
    """

    def __init__(self, products: Products, support: Indices) -> None:
        self._products, self._support, self.size = products, support, len(support)
        self.value, self._weights, self.p = products.component(support)
        if not self.value > 0:
            self.p = np.zeros_like(self.p)
        norms, squares = products.norms, self.p * self.p
        #: The largest p_i^2 outside the support and the smallest inside. The conditions ask for a rho between them.
        self.interval = float(np.delete(squares, support).max(initial=0.0)), float(squares[support].min())
        ends = np.concatenate([[float(norms.max())], np.sort(squares)[::-1], [0.0]])
        near = np.arange(max(self.size - GAPS, 0), min(self.size + GAPS, len(norms)) + 1)
        gaps = [_positive(*gap) for gap in zip(ends[near + 1], ends[near], strict=True) if self.value > 0]
        self._gaps = [(low, high) for low, high in gaps if high - low > NARROW * high]
        lows, highs = np.array(self._gaps).reshape(-1, 2).T
        self._rhos = (lows[:, None] * (highs / lows)[:, None] ** BETWEEN).ravel()
        self._share, self._single = np.empty((2, len(self._rhos)))
        active = norms > self._rhos.min(initial=np.inf)
        s, p2 = norms[active], squares[active]
        step = max(1, ENTRIES_IN_CACHE // max(len(s), 1))
        for begin in range(0, len(self._rhos), step):
            part = slice(begin, begin + step)
            rho = self._rhos[part, None]
            excess = p2 - rho
            rest = np.where(excess > 0, p2 * np.maximum(s - p2, 0.0), -rho * np.maximum(s - rho, 0.0)) / excess
            above = np.maximum(excess, 0.0)
            self._share[part], self._single[part] = above.sum(axis=1), (above + rest).max(axis=1, initial=0.0)

    def promised(self, k: int) -> float:
        """Return a cheap estimate; the bound is rarely below it."""
        return float(self.estimates(k).min(initial=np.inf)) - self._products.shift

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
            rho, (low, high) = float(self._rhos[best]), self._gaps[best // SAMPLES]
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

    def best(self, k: int, known: float = np.inf, *, evaluations: int = 2) -> tuple[float, Proposition2Witness] | None:
        """Return an estimate of the lowest bound and its witness; None if no bound is clearly below a known one."""
        shift = self._products.shift
        found = self.lines(k, evaluations=evaluations, limit=known * (1 - WORTHWHILE) + shift)
        line = _lowest(found, k) if found else None
        return None if line is None or line.at(k) - shift >= known else (line.at(k) - shift, line.witness)

    def estimates(self, k: int) -> Floats:
        """Return the cheap estimates at k, with the shift; none if there is no gap to search."""
        return np.asarray(np.maximum(self._share, self._single) + self._rhos * k)

    def _tangent(self, rho: float) -> tuple[float, float]:
        """Return lmax(sum_i Y_i) and its derivative in rho.

        Let y be the eigenvector of the matrix of inner products, and u = sum_i c_i^(1/2) y_i w_i / largest^(1/2) that
        of sum_i Y_i. Then u'w_i = (largest / c_i)^(1/2) y_i, and the derivative of each c_i (u'w_i)^2 is explicit.
        """
        active = np.flatnonzero(self._products.norms > rho)
        if not len(active):
            return 0.0, 0.0
        s, p = self._products.norms[active], self.p[active]
        p2 = p * p
        inside, excess = p2 > rho, p2 - rho
        c = np.where(inside, 1.0, rho * (s - rho) / np.where(inside, 1.0, s - p2)) / np.abs(excess)
        root = np.sqrt(c)
        f, h = np.where(inside, p, 1.0) * root, np.where(inside, rho, p) * root
        largest, y = self._products.largest(active, f, h, p, (self._support, self._weights))
        share = largest * (y * y)
        along = float(y @ (f * p - h))
        by_inside = share * c - 2.0 * along * (y * root)
        by_outside = share * (1 / rho - 1 / (s - rho) - 1 / np.abs(excess))
        return largest, float(np.where(inside, by_inside, by_outside).sum())


def proved_bound(covariance: Covariance, k: int, witness: Proposition2Witness) -> Estimate:
    """Return the proved bound of a witness, an `UpperBound`, or an infinite estimate if it proves nothing."""
    try:
        return prove(covariance, k, witness)
    except ProofError:
        return Estimate(np.inf, "Proposition 2", k, witness)


def _unit_image(value: float, z: Floats) -> tuple[float, Floats]:
    """Return a value, and its component scaled so that |Az| = 1."""
    return value, z / np.sqrt(value) if value > 0 else z


def _positive(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a gap between two penalties; the lower one is positive."""
    return (low if low > 0 else 1e-3 * LEAST_PENALTY * high), high


def _by_lanczos(M: Floats | LinearOperator) -> tuple[float, Floats] | None:
    """Return about the largest eigenvalue and its unit eigenvector, or None if Lanczos' method does not converge."""
    # A fixed start that is neither an eigenvector nor orthogonal to one.
    first = np.cos(np.arange(1.0, M.shape[0] + 1))
    try:
        values, vectors = eigsh(M, k=1, which="LA", v0=first, tol=ACCURACY)
    except ArpackError:
        return None
    return float(values[0]), np.asarray(vectors[:, 0])


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


@dataclass(frozen=True, eq=False, repr=False)
class PathBounds:
    """The lowest bound for each of several cardinalities, over all supports tried: `path_bounds` makes it.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import path_bounds
    >>> found = path_bounds(load_pitprops().covariance, [[0, 1, 5, 6, 7, 8, 9]], [6, 7, 8])
    >>> [round(float(bound), 2) for bound in found.upper]
    [3.87, 4.01, 4.15]
    """

    cardinalities: Indices
    upper: Floats  # the proved bound for each k; infinite where there is none
    witnesses: tuple[Proposition2Witness | None, ...]  # None where there is no bound

    def witness(self, cardinality: int) -> Proposition2Witness:
        """Return the witness of the bound for one of the cardinalities."""
        places = np.flatnonzero(self.cardinalities == cardinality)
        found = self.witnesses[int(places[0])] if len(places) else None
        if found is None:
            known = [int(k) for k, upper in zip(self.cardinalities, self.upper, strict=True) if np.isfinite(upper)]
            raise ValueError(f"cardinality={cardinality} has no bound here; ask for one of {known}.")
        return found


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
    products = products_of(covariance)
    with threads_for(covariance.n_features):
        conditions = Conditions(products, features)
        value = conditions.value - products.shift
        enough = value + tolerance * abs(value)
        lines = conditions.lines(
            k, evaluations=EVALUATIONS_OF_A_TEST, limit=enough + products.shift, gap=conditions.interval
        )
        bound = proved_bound(covariance, k, _lowest(lines, k).witness) if lines else None
        if bound is None or bound.value > enough:
            lines += conditions.lines(k, evaluations=2 * EVALUATIONS) + _without_support(products)
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
    covariance: Covariance | Floats,
    supports: Sequence[Indices],
    cardinalities: Sequence[int],
    *,
    known: Floats | None = None,
) -> PathBounds:
    """Return for every k the lowest bound over all supports and over some penalties for each.

    `known` has a bound for each k that is known already. The search then spends few eigenvalues, where cheap estimates
    promise the most. The bounds are infinite if no estimate promises to be lower.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.relaxations import path_bounds
    >>> S = np.diag([4.0, 2.0, 1.0]) + 0.5
    >>> path_bounds(S, [[0], [0, 1]], [1, 2]).upper.round(4)
    array([4.5   , 4.6338])
    """
    ks = np.asarray([int(k) for k in cardinalities])
    if ks.min(initial=1) < 1:
        raise ValueError(f"cardinalities={ks.tolist()} must be at least 1.")
    covariance = as_covariance(covariance)
    products = products_of(covariance)
    chosen = [Conditions(products, np.asarray(support, dtype=np.intp)) for support in supports if len(support)]
    with threads_for(covariance.n_features):
        if known is not None:
            limits = known + products.shift
            return _proved(covariance, _lines_below(chosen, ks, limits), ks, limits, WORTHWHILE)
        lines = _without_support(products)
        # Each support at the k nearest to its size, then at each k the support of the lowest bound there.
        for conditions in chosen:
            k = int(ks[np.argmin(np.abs(ks - conditions.size))])
            lines += conditions.lines(k, evaluations=EVALUATIONS)
        for k in ks.tolist():
            source = _lowest(lines, k).source
            if source is not None and source.size != k:
                lines += source.lines(k, evaluations=EVALUATIONS)
        return _proved(covariance, lines, ks, np.full(len(ks), np.inf), 0.0)


def proposition_2_bound(
    covariance: Covariance, support: Indices, cardinality: int, *, evaluations: int = EVALUATIONS
) -> Estimate:
    """Return the bound that a support gives by Proposition 2, after at most `evaluations` eigenvalues."""
    products = products_of(covariance)
    with threads_for(covariance.n_features):
        lines = _without_support(products)
        lines += Conditions(products, support).lines(cardinality, evaluations=evaluations)
    return proved_bound(covariance, cardinality, _lowest(lines, cardinality).witness)


def proposition_2_below(
    covariance: Covariance, support: Indices, cardinality: int, known: float, *, evaluations: int = EVALUATIONS
) -> Estimate | None:
    """Return the bound that a support gives by Proposition 2, or None if it is not below a known bound."""
    with threads_for(covariance.n_features):
        conditions = Conditions(products_of(covariance), support)
        if not conditions.promised(cardinality) < known:
            return None
        found = conditions.best(cardinality, known, evaluations=evaluations)
    return None if found is None else proved_bound(covariance, cardinality, found[1])


def _lowest(lines: Sequence[Line], k: int) -> Line:
    return min(lines, key=lambda line: float(line.at(k)))


def _without_support(products: Products) -> list[Line]:
    """Return the two lines of z = 0: all Y_i zero, and w_i = a_i with a very small penalty, which gives lmax(S)."""
    zero = np.zeros(1, dtype=np.intp), np.zeros(1)
    norms = products.norms
    top = max(float(norms.max(initial=0.0)), 0.0) * (1 + 32 * EPS)
    lines = [Line(Proposition2Witness(*zero, top), 0.0)]
    active = np.flatnonzero(norms > 0)
    if len(active):
        ones, zeros = np.ones(len(active)), np.zeros(len(active))
        largest, _ = products.largest(active, ones, zeros, zeros, zero)
        lines.append(Line(Proposition2Witness(*zero, LEAST_PENALTY * largest / len(norms)), largest))
    return lines


def _lines_below(supports: list[Conditions], ks: Indices, limits: Floats) -> list[Line]:
    """Return lines below some limits, from few searches.

    Each search takes the support and the k whose estimate is the farthest below the best bound so far. A support whose
    bound missed its estimate is dropped. Limits and estimates include the shift.
    """
    promised = np.array([[c.estimates(k).min(initial=np.inf) for k in ks] for c in supports]).reshape(-1, len(ks))
    reached, lines = limits, list[Line]()
    while promised.size and len(lines) < EVALUATIONS_OF_A_PATH:
        gain = 1 - promised / np.maximum(reached, SMALLEST_NORMAL)
        place, column = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if not gain[place, column] > (WORTHWHILE if lines else 0.0):
            break
        limit = float(reached[column]) * (1 - WORTHWHILE)
        found = supports[place].lines(int(ks[column]), evaluations=EVALUATIONS, limit=limit)
        lines += found
        reached = np.min([reached, *(line.at(ks) for line in found)], axis=0)
        promised[place, column if reached[column] <= limit else slice(None)] = np.inf
    return lines


def _proved(covariance: Covariance, lines: list[Line], ks: Indices, limits: Floats, loss: float) -> PathBounds:
    """Prove the lines that are lowest at some k, and return for each k the lowest of the proved bounds.

    A line is left out where it is not below the limit, or lower than the lines proved before by no more than a relative
    loss. One proof serves all k, because the bound at k + 1 is the bound at k plus rho.
    """
    upper = np.full(len(ks), np.inf)
    witnesses: list[Proposition2Witness | None] = [None] * len(ks)
    tried: list[Line] = []
    for place, (k, limit) in enumerate(zip(ks.tolist(), limits, strict=True)):
        line = _lowest(lines, k) if lines else None
        if line is None or line in tried or not line.at(k) < min(limit, upper[place] * (1 - loss)):
            continue
        tried.append(line)
        value = proved_bound(covariance, k, line.witness).value
        change = line.witness.rho * (ks - k)
        # Rounded up, unless nothing is added.
        there = np.where(ks == k, value, value + change + 4 * EPS * (abs(value) + np.abs(change)))
        for better in np.flatnonzero(there < upper):
            upper[better], witnesses[better] = there[better], line.witness
    return PathBounds(ks, upper, tuple(witnesses))
