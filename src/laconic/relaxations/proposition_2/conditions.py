"""Conditions for global optimality (Proposition 2 of the paper), and the bounds they give when they fail.

Let S = A'A, I a support, z its component, and x = Az scaled to unit length: the leading eigenvector of
sum_{i in I} a_i a_i'. Its eigenvalue v is the value of the support. Put p_i = a_i'x. For any rho that is not one of the
p_i^2 the l0 bound (`laconic.relaxations.l0.relaxation`) takes the directions

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
(`laconic.proof.witnesses.proposition_2`). Every bound returned here is computed from its witness by `laconic.proof`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.core.threads import threads_for
from laconic.core.thresholds import PROVED
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof.estimate import Estimate
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.relaxations.proposition_2.rho_search import LEAST_PENALTY, Line
from laconic.relaxations.proposition_2.support import WORTHWHILE, Conditions, Products, products_of, proved_bound

# Number of eigenvalues computed for a support in search of its best penalty. More lower the bound by nothing visible.
EVALUATIONS = 4
# Number of eigenvalues computed for a whole path whose bounds are to improve on known ones.
EVALUATIONS_OF_A_PATH = 32
# Divisors are at least this, the smallest normal number.
SMALLEST_NORMAL = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False, repr=False)
class OptimalityConditions:
    """The result of Proposition 2 for one support."""

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
    """The lowest bound for each of several cardinalities, over all supports and penalties tried."""

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
    is at most the tolerance.
    """
    covariance = _covariance_of(covariance)
    features = np.asarray(support, dtype=np.intp)
    if not len(features):
        raise ValueError("support is empty; give at least one feature.")
    k = len(features) if cardinality is None else cardinality
    products = products_of(covariance)
    with threads_for(covariance.n_features):
        conditions = Conditions(products, features)
        lines = _lines(conditions, 0, [k], len(features), 2 * EVALUATIONS)
        value = conditions.value - products.shift
        bound = None if not lines else proved_bound(covariance, k, _lowest(lines, k).witness)
        if bound is None or bound.value > value + tolerance * abs(value):
            line = _lowest([*lines, *_without_support(products, covariance.n_features)], k)
            bound = proved_bound(covariance, k, line.witness)
    assert isinstance(bound.witness, Proposition2Witness)
    squares = conditions.p**2 if conditions.value > 0 else np.zeros(covariance.n_features)
    return OptimalityConditions(
        support=features,
        cardinality=k,
        value=value,
        lower_rho=float(np.delete(squares, features).max(initial=0.0)),
        upper_rho=float(squares[features].min()),
        rho=bound.witness.rho,
        upper=bound.value,
        optimal=bound.value - value <= tolerance * abs(value),
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
    """
    ks = [int(k) for k in cardinalities]
    if min(ks, default=1) < 1:
        raise ValueError(f"cardinalities={ks} must be at least 1.")
    covariance = _covariance_of(covariance)
    products = products_of(covariance)
    chosen = [Conditions(products, np.asarray(support, dtype=np.intp)) for support in supports if len(support)]
    with threads_for(covariance.n_features):
        if known is not None:
            lines = _lines_below(chosen, ks, known + products.shift)
            return _proved(covariance, lines, ks, known + products.shift, WORTHWHILE)
        lines = _without_support(products, covariance.n_features)
        for place, (conditions, support) in enumerate(zip(chosen, (s for s in supports if len(s)), strict=True)):
            lines += _lines(conditions, place, ks, len(support), EVALUATIONS)
        # A support may give the lowest bound at other sizes than its own. There the penalty is improved as well.
        for k in ks:
            first = _lowest(lines, k)
            if first.support >= 0 and first.target != k:
                start = (first.rho, first.gap)
                lines += _lines(chosen[first.support], first.support, [k], k, EVALUATIONS, start=start)
        return _proved(covariance, lines, ks, np.full(len(ks), np.inf), 0.0)


def proposition_2_bound(
    covariance: Covariance, support: Indices, cardinality: int, *, evaluations: int = EVALUATIONS
) -> Estimate:
    """Return the bound that a support gives by Proposition 2, after at most `evaluations` eigenvalues."""
    products = products_of(covariance)
    with threads_for(covariance.n_features):
        lines = _without_support(products, covariance.n_features)
        lines += _lines(Conditions(products, support), 0, [cardinality], len(support), evaluations)
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


def _covariance_of(covariance: Covariance | Floats) -> Covariance:
    return DenseCovariance(covariance, semidefinite=False) if isinstance(covariance, np.ndarray) else covariance


def _lowest(lines: Sequence[Line], k: int) -> Line:
    return min(lines, key=lambda line: line.at(k))


def _without_support(products: Products, n: int) -> list[Line]:
    """Return the two lines of z = 0: all Y_i zero, and w_i = a_i with a very small penalty, which gives lmax(S)."""
    zero = np.zeros(1, dtype=np.intp), np.zeros(1)
    norms = products.norms
    top = max(float(norms.max(initial=0.0)), 0.0) * (1 + 32 * EPS)
    lines = [Line(Proposition2Witness(*zero, top), 0.0)]
    active = np.flatnonzero(norms > 0)
    if len(active):
        ones, zeros = np.ones(len(active)), np.zeros(len(active))
        largest, _ = products.largest(active, ones, zeros, zeros, zero)
        lines.append(Line(Proposition2Witness(*zero, LEAST_PENALTY * largest / n), largest))
    return lines


def _lines(
    conditions: Conditions,
    place: int,
    ks: Sequence[int],
    size: int,
    evaluations: int,
    *,
    start: tuple[float, tuple[float, float]] | None = None,
    limit: float = np.inf,
) -> list[Line]:
    """Return one line for each penalty tried in a search for the k nearest to a size."""
    k = min(ks, key=lambda other: abs(other - size))
    found, gap = conditions.search(k, evaluations=evaluations, start=start, limit=limit)
    return [Line(conditions.witness(rho), largest, place, k, gap) for rho, largest in found]


def _lines_below(supports: list[Conditions], ks: list[int], limits: Floats) -> list[Line]:
    """Return lines below some limits, from few searches.

    Each search takes the support and the k whose estimate is the farthest below the best bound so far. Limits and
    estimates include the shift.
    """
    promised = np.array([conditions.promised_path(ks) for conditions in supports]).reshape(len(supports), len(ks))
    reached = limits.copy()
    lines: list[Line] = []
    while promised.size and len(lines) < EVALUATIONS_OF_A_PATH:
        gain = 1 - promised / np.maximum(reached, SMALLEST_NORMAL)
        place, column = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if not gain[place, column] > (WORTHWHILE if lines else 0.0):
            break
        k, limit = ks[column], float(reached[column]) * (1 - WORTHWHILE)
        found = _lines(supports[place], int(place), [k], k, EVALUATIONS, limit=limit)
        lines += found
        reached = np.minimum(reached, np.min([line.largest + line.rho * np.asarray(ks) for line in found], axis=0))
        # A support whose bound missed its estimate is dropped.
        promised[place, column if reached[column] <= limit else slice(None)] = np.inf
    return lines


def _proved(covariance: Covariance, lines: list[Line], ks: list[int], limits: Floats, loss: float) -> PathBounds:
    """Prove the lines that are lowest at some k, and return for each k the lowest of the proved bounds.

    A line is left out where it is not below the limit, or lower than the lines proved before by no more than a relative
    loss. One proof serves all k, because the bound at k + 1 is the bound at k plus rho.
    """
    proved: dict[int, tuple[Line, int, float]] = {}
    for k, limit in zip(ks, limits, strict=True):
        if not lines:
            break
        line = _lowest(lines, k)
        reached = min((other.at(k) for other, _, _ in proved.values()), default=np.inf)
        if id(line) not in proved and line.at(k) < limit and line.at(k) < reached * (1 - loss):
            proved[id(line)] = (line, k, proved_bound(covariance, k, line.witness).value)
    upper = np.full(len(ks), np.inf)
    witnesses: list[Proposition2Witness | None] = [None] * len(ks)
    for place, k in enumerate(ks):
        for line, own, value in proved.values():
            there = _moved(value, line.rho, k - own)
            if there < upper[place]:
                upper[place], witnesses[place] = there, line.witness
    return PathBounds(np.asarray(ks, dtype=np.intp), upper, tuple(witnesses))


def _moved(value: float, rho: float, steps: int) -> float:
    """Return value + rho * steps, rounded up."""
    change = rho * steps
    return value if not steps else value + change + 4 * EPS * (abs(value) + abs(change))
