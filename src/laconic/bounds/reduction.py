"""Safe elimination: features that belong to no better support are left out.

The contracts of safe elimination.
Let v be a value that some support reaches. A feature is eliminated if no support that contains it has a value above v.
Then only the features kept must be searched. A bound on the features kept has a witness on those features. `lift` makes
a witness on all features from it, which also proves that the elimination was safe.

Elimination of features whose variances, or rows of S, are too small.
Penalty form: maximise z'Sz - rho Card(z). With S = A'A the best value is max_x sum_i ((a_i'x)^2 - rho)_+ over unit x,
and (a_i'x)^2 <= S_ii. A feature with S_ii <= rho never adds anything.

Cardinality form: let some support of size k reach the value v, and let no support of size k - 1 exceed b. Let the
support I contain i, and z = (y cos f, sin f) with y on the rest of I. Then z'Sz = y'Sy cos^2 f + 2 y's_i cos f sin f +
S_ii sin^2 f. Here y'Sy <= b and |y's_i| <= c_i, where c_i^2 is the sum of the k - 1 largest S_ij^2, j != i. Therefore
the value of I is at most

    the larger eigenvalue of [[b, c_i], [c_i, S_ii]].

For a semidefinite S, (y's_i)^2 <= y'Sy S_ii, and the value is also at most b + S_ii (plus d, if only S + d I is
semidefinite). If one of the two is below v, feature i is eliminated. For a semidefinite S the first is never above the
second, because c_i^2 <= b S_ii. So the second only spares some features the look at their rows, and it is used only if
d is known without work. Every comparison keeps a margin above rounding errors, so that features of supports that tie
with the best stay.

Two groups of features: those of large variance, and all others.
Let a_q bound the supports of q features of the first group K, a_0 = 0, and let v_1 >= v_2 >= ... be the variances of
the second group. Consider a support I of k features, j of them in the second group. S is semidefinite, so
lmax(S_I) <= lmax(S_A) + lmax(S_B) for I = A + B, and lmax(S_B) is at most the trace of S_B. Therefore the value of I is
at most

    a_{k-j} + v_1 + ... + v_j.

The largest of these numbers over j bounds the value of all supports. If it is below a known value for every j >= 1, no
better support uses the second group, and all of it is eliminated. The variances of words decay fast: there a few
hundred features decide about tens of thousands.

A matrix that consists of blocks is searched block by block.
If S_ij = 0 between blocks, x'Sx = sum_b x_b'S_b x_b <= max_b |x_b|^2 v_b with v_b the best value of block b.
Therefore some best support lies in one block. If only |S_ij| <= t between blocks, this holds up to
sum_{i != j} t |x_i x_j| <= (k - 1) t. That is safe if the gap asked for leaves room for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance, SubsetCovariance
from laconic.covariance.matrix import column_magnitudes, largest_of_columns
from laconic.proof import Estimate
from laconic.proof.gate import kind_of
from laconic.proof.witness import Witness
from laconic.proof.witness_plain import TraceWitness
from laconic.proof.witness_reduction import BlockWitness, EliminationWitness, TwoGroupsWitness
from laconic.relaxations.elementary import ROUNDING_FACTOR, elementary_bound
from laconic.search import Auto
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import leading

# Searches a problem from a solution of it, with a relative gap at which to stop and a largest number of nodes.
Search: TypeAlias = Callable[[Problem, Solution, float, int | None], Solution]


class Elimination(Protocol):
    """The result of an elimination: the features kept, and the proof that the others do not matter."""

    @property
    def kept(self) -> Indices:
        """The features kept, in increasing order."""

    @property
    def lifts_trees_only(self) -> bool:
        """Whether `lift` needs the witness of a tree search and refuses every other kind."""

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features from one on the features kept, or None if there is none."""


# Values that differ by less than this share of the largest number added are a tie: rounding errors stay below it.
TIE_OF_SUMS = 4e-12
# The number of passes over the features. Later passes remove few features, and each of them computes a bound.
MOST_PASSES = 10


def kept_by_penalty(covariance: Covariance, rho: float) -> Indices:
    """Return the features that may enter a solution of the l0-penalised form: S_ii > rho.

    If only S + d I is semidefinite, the test is S_ii + d > rho. It is *not* safe for the l1 relaxation, max Tr SX - rho
    sum_ij |X_ij|. With S = [[100, 9], [9, 0.9]] and rho = 1 the second variance is below rho. But x = (cos f, sin f),
    with f small and positive, gains 2 (9 - 1) f to first order over x = (1, 0) and loses only terms of second order.
    The test of that relaxation is in `laconic.relaxations.l1_splitting.Splitting`.
    """
    if not rho >= 0:
        raise ValueError(f"rho={rho} must not be negative.")
    return np.flatnonzero(covariance.diagonal + covariance.semidefinite_shift > rho * (1 - TIE_OF_SUMS))


def kept_by_value(
    covariance: Covariance,
    cardinality: int,
    value: float,
    before: float,
    *,
    rows: bool = True,
    forced: Indices | tuple[()] = (),
    monitor: Monitor | None = None,
) -> Indices:
    """Return the features that may belong to a support of size k with at least the value v: one pass.

    No support of size k - 1 exceeds b, given as `before`. `rows` tests the features that their variances leave by their
    rows, which computes one column of S for each. Forced features are kept.
    """
    monitor = monitor or Monitor()
    n = covariance.n_features
    if not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
    if np.isnan(value) or np.isnan(before):
        raise ValueError(f"value={value} and before={before} must be numbers.")
    variances = covariance.diagonal
    held = np.isin(np.arange(n), forced)
    if cardinality == 1:
        return np.flatnonzero((variances >= value - _tie(covariance, value, 0.0)) | held)
    if not np.isfinite(before):
        return np.arange(n)
    least = value - _tie(covariance, value, before)
    kept = np.ones(n, dtype=bool)
    if not rows or covariance.known_semidefinite_shift is not None:
        kept = (before + variances + covariance.semidefinite_shift >= least) | held
    if rows:
        free = np.flatnonzero(kept & ~held)
        kept[free[_most_with(covariance, free, cardinality, before, monitor) < least]] = False
    return np.flatnonzero(kept)


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over the features that the passes before have kept."""

    kept: Indices  # numbered among the features that the pass looked at
    before: Estimate  # the bound at cardinality k - 1 on the features that the pass looked at
    rows: bool  # the pass tested rows, and not variances only


@dataclass(frozen=True, eq=False)
class ByVariance:
    """The features that several passes keep."""

    kept: Indices  # in increasing order
    passes: tuple[Pass, ...]  # those that removed features, in order
    lifts_trees_only: ClassVar[bool] = False

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features from one on the features kept, or None if none is given."""
        if witness is None:
            return None
        for done in reversed(self.passes):
            witness = EliminationWitness(done.kept, done.before.witness, done.rows, witness)
        return witness


def eliminate_by_variance(
    covariance: Covariance,
    cardinality: int,
    value: float,
    bound: Callable[[Covariance, int], Estimate],
    *,
    rows: bool = True,
    forced: Indices | tuple[()] = (),
    monitor: Monitor | None = None,
) -> ByVariance:
    """Eliminate features in passes until a pass keeps all: fewer features make rows shorter and the bound lower.

    A pass computes its bound at k - 1 on the features kept so far, K, and not on all. That is safe: every support with
    at least the value v lies in K. If such a support contains i, its other k - 1 features are in K, too.
    """
    kept = np.arange(covariance.n_features)
    passes: list[Pass] = []
    while len(passes) < MOST_PASSES and len(kept) > cardinality:
        part = covariance if not passes else SubsetCovariance(covariance, kept)
        # With k = 1 the rest of a support is empty, and its value is zero.
        before = bound(part, cardinality - 1) if cardinality > 1 else Estimate(0.0, "trace", 0, TraceWitness())
        held = np.flatnonzero(np.isin(kept, forced))
        stay = kept_by_value(part, cardinality, value, before.value, rows=rows, forced=held, monitor=monitor)
        if len(stay) == len(kept):
            break
        passes.append(Pass(stay, before, rows))
        kept = kept[stay]
    return ByVariance(kept, tuple(passes))


def _tie(covariance: Covariance, value: float, before: float) -> float:
    """Return the margin for rounding errors: it is relative to the largest of the numbers compared."""
    return TIE_OF_SUMS * max(abs(number) for number in (value, before, covariance.rounding_unit) if np.isfinite(number))


def _most_with(covariance: Covariance, features: Indices, k: int, before: float, monitor: Monitor) -> Floats:
    """Return the larger eigenvalue of [[b, c_i], [c_i, S_ii]] for each of some features."""
    found = [np.empty(0)]
    for part, magnitudes in column_magnitudes(covariance, features):
        monitor.tick("eliminating features")
        top = largest_of_columns(magnitudes, k - 1)
        # Divided by the largest entry, so that squares do not underflow.
        unit = np.where(top[0] > 0, top[0], 1.0)
        length = unit * np.linalg.norm(top / unit, axis=0)
        variances = covariance.diagonal[part]
        found.append(0.5 * (before + variances + np.hypot(before - variances, 2 * length)))
    return np.concatenate(found)


# A variance below this share of the value that the last feature adds is small. The gaps of the a_q may use the rest.
SMALL_SHARE = 0.5
# The first group has at least this many features: so few cost nothing, and more of them make the second group weaker.
SMALLEST_FIRST_GROUP = 200
# Give up if the first group would be larger: the searches in it would take longer than the elimination saves.
LARGEST_FIRST_GROUP = 1500
# A search for a bound a_q stops halfway between the value found and the limit that a_q must stay below.
HALFWAY = 0.5
# It gives up after this many nodes. A bound that needs more is rarely low enough.
NODES_IN_FIRST_GROUP = 300


@dataclass(frozen=True, eq=False)
class ByTwoGroups:
    """The first group, and the bounds that eliminate the second."""

    kept: Indices  # the first group
    cardinality: int
    smaller: tuple[Estimate, ...]  # bounds on the first group at smaller cardinalities
    lifts_trees_only: ClassVar[bool] = False

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features from one on the first group at cardinality k, or None if none is given."""
        if witness is None:
            return None
        bounds = ((bound.cardinality, bound.witness) for bound in self.smaller)
        return TwoGroupsWitness(self.kept, ((self.cardinality, witness), *bounds))


def eliminate_by_two_groups(search: Search, problem: Problem, first: Solution, value: float) -> ByTwoGroups | None:
    """Eliminate features of small variance for a value to beat; return None if that fails or takes too long.

    The bounds a_q need not be tight, only low enough. Each a_q also bounds every smaller cardinality: few are needed.
    """
    covariance, k = problem.covariance, problem.cardinality
    if k == 1:
        return None
    smaller = np.sort(first.support[np.argsort(-np.abs(first.loadings), kind="stable")[: k - 1]])
    # A cheap test first. A better support of size k - 1 makes the first group larger, not smaller.
    if _size_of_first_group(covariance, value - leading(covariance.submatrix(smaller))[0]) > LARGEST_FIRST_GROUP:
        return None
    one_less = Auto(polish=1).solve(Problem(covariance, k - 1, monitor=problem.monitor), start=smaller)
    count = max(SMALLEST_FIRST_GROUP, _size_of_first_group(covariance, value - one_less.value))
    if count > LARGEST_FIRST_GROUP:
        return None
    order = np.argsort(-covariance.diagonal, kind="stable")
    kept = np.unique(np.concatenate([order[: int(count)], first.support, one_less.support, problem.forced]))
    if len(kept) == problem.n_features:
        return None
    part = DenseCovariance(covariance.submatrix(kept), semidefinite=covariance.semidefinite)
    added = added_by_second_group(covariance, kept, k)
    bounds = bounds_below(search, Problem(part, k, monitor=problem.monitor), first, added, value)
    return None if bounds is None else ByTwoGroups(kept, k, tuple(bounds))


def bounds_below(search: Search, part: Problem, first: Solution, added: Floats, value: float) -> list[Estimate] | None:
    """Return bounds at smaller cardinalities that stay below a value with the features of the second group added.

    `part` is the problem on the first group. Returns None if there are no such bounds, or if they take too long.
    """
    k = part.cardinality
    limit = value - 64 * k * EPS * max(abs(value), part.covariance.rounding_unit)
    if not added[-1] < limit:
        return None
    bounds: list[Estimate] = []
    j = 1
    while j < min(k, len(added)):
        part.monitor.tick("eliminating features", best=first.value)
        inner = Problem(part.covariance, k - j, monitor=part.monitor)
        bound = _bound_below(search, inner, limit - float(added[j]))
        if bound is None:
            return None
        bounds.append(bound)
        too_high = np.flatnonzero(bound.value + added[j:] >= limit)
        j = k if not len(too_high) else j + int(too_high[0])
    return bounds


def _size_of_first_group(covariance: Covariance, added: float) -> float:
    """Return the number of features whose variance is not small beside the value that the last feature adds."""
    return float(np.count_nonzero(covariance.diagonal > SMALL_SHARE * added)) if added > 0 else np.inf


def _bound_below(search: Search, problem: Problem, limit: float) -> Estimate | None:
    """Return a bound below a limit, or None if there is none or it takes too long."""
    cheap = elementary_bound(problem.covariance, problem.cardinality)
    if cheap.value < limit:
        return cheap
    first = Auto().solve(problem)
    if not 0 < first.value < limit:
        return None
    found = search(problem, first, HALFWAY * (limit / first.value - 1), NODES_IN_FIRST_GROUP)
    if found.witness is None or not found.estimate < limit:
        return None
    return Estimate(found.estimate, kind_of(found.witness), problem.cardinality, found.witness)


def two_groups_bound(covariance: Covariance, kept: Indices, cardinality: int, bounds: Sequence[Estimate]) -> Estimate:
    """Return the bound on all features, from bounds on the first group at k and, to make it lower, at smaller sizes."""
    # The trace serves where no bound is given.
    inside = sums_of_largest(covariance.diagonal[kept], cardinality)
    inside[2:] += covariance.semidefinite_cost(np.arange(1, len(inside) - 1))
    for bound in bounds:
        q = bound.cardinality
        inside[1 : q + 1] = np.minimum(inside[1 : q + 1], bound.value)
    # A support cannot have more features of K than there are.
    inside = np.append(inside, np.full(cardinality + 1 - len(inside), inside[-1]))
    # The entries of S may have been rounded when they were written out.
    inside += np.arange(len(inside)) * _rounding(covariance)
    added = added_by_second_group(covariance, kept, cardinality)
    witness = TwoGroupsWitness(kept, tuple((bound.cardinality, bound.witness) for bound in bounds))
    return Estimate(float(bounds_on_all(inside, added)[-1]), "two groups", cardinality, witness)


def sums_of_largest(variances: Floats, count: int) -> Floats:
    """Return the sums of the 0, 1, ..., count largest variances, with a margin for rounding errors."""
    largest = np.sort(variances)[::-1][:count]
    return np.concatenate([[0.0], np.cumsum(largest)]) * (1 + 8 * (count + 1) * EPS)


def added_by_second_group(covariance: Covariance, kept: Indices, cardinality: int) -> Floats:
    """Return the largest value that j = 0, 1, ... features of the second group can add to a_{k-j}.

    If only S + d I is semidefinite, each adds d too, or all together the trace of some E with S + E semidefinite.
    """
    sums = sums_of_largest(np.delete(covariance.diagonal, kept), cardinality)
    counts = np.arange(1, len(sums))
    sums[1:] += covariance.semidefinite_cost(counts) + counts * _rounding(covariance)
    return sums


def bounds_on_all(inside: Floats, added: Floats) -> Floats:
    """Return the bound on all features for each k = 1, 2, ..., from a_0, a_1, ... and what the second group can add."""
    return np.array([(inside[k::-1][: len(added)] + added[: k + 1]).max() for k in range(1, len(inside))])


def _rounding(covariance: Covariance) -> float:
    """Return a bound on the rounding error of a variance."""
    return ROUNDING_FACTOR * EPS * covariance.rounding_unit


# Entries between blocks may use this share of the gap asked for. The searches in the blocks have the rest.
SHARE_BETWEEN_BLOCKS = 0.25

# Searches a block: the problem, a solution of it, and a value; supports of this value or less are of no interest.
BlockSearch: TypeAlias = Callable[[Problem, Solution, float], Solution]


def blocks_of(S: Floats, threshold: float = 0.0) -> list[Indices]:
    """Return the features of each block. Entries of at most the threshold do not connect features."""
    count, label = connected_components(csr_array(np.abs(S) > threshold), directed=False)
    return [np.flatnonzero(label == block) for block in range(count)]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a matrix."""

    features: list[Indices]  # of each block
    threshold: float  # entries between blocks are at most this large in absolute value
    gap: float  # the part of the gap that is left for the searches in the blocks


def divide_into_blocks(S: Floats, cardinality: int, value: float, gap: float) -> Blocks:
    """Return the blocks. Entries that the gap, relative to a value, leaves room for may lie between them."""
    blocks = blocks_of(S)
    threshold = SHARE_BETWEEN_BLOCKS * gap * max(value, 0.0) / max(cardinality - 1, 1)
    if len(blocks) > 1 or not threshold:
        return Blocks(blocks, 0.0, gap)
    return Blocks(blocks_of(S, threshold), threshold, (1 - SHARE_BETWEEN_BLOCKS) * gap)


def search_blocks(
    search: BlockSearch, problem: Problem, first: Solution, S: Floats, blocks: Blocks, target: float, seed: int
) -> Solution:
    """Search each block only for supports that are better than the best so far, and than the target value.

    S is the problem's matrix. No features are forced in. The caller judges the status, which stays that of `first`.
    """
    alone = np.concatenate([block for block in blocks.features if len(block) == 1] or [np.empty(0, dtype=np.intp)])
    largest = float(S.diagonal()[alone].max(initial=-np.inf))
    best, estimate, nodes = first, largest, 0
    if largest > best.value:
        single = alone[[int(S.diagonal()[alone].argmax())]]
        best = Solution(single, np.ones(1), largest, Status.LOCAL)
    parts: list[tuple[Indices, Witness]] | None = []
    connected = [block for block in blocks.features if len(block) > 1]
    covariances = [DenseCovariance(S[np.ix_(block, block)], semidefinite=False) for block in connected]
    bounds = [elementary_bound(part, min(problem.cardinality, part.n_features)) for part in covariances]
    # The block with the largest bound comes first: its support may make searches in the others needless.
    for place in sorted(range(len(connected)), key=lambda p: -bounds[p].value):
        block, bound = connected[place], bounds[place]
        beat = max(best.value, target)
        witness: Witness | None = bound.witness
        reached = bound.value
        if bound.value > beat + max(blocks.gap, 64 * EPS) * abs(beat):
            inner, start = _problem_of(problem, first, S, block, seed)
            found = search(inner, start, beat)
            nodes += found.iterations
            reached, witness = found.estimate, found.witness
            if found.value > best.value:
                best = replace(found, support=block[found.support])
        estimate = max(estimate, reached)
        parts = None if parts is None or witness is None else [*parts, (block, witness)]
    between = (problem.cardinality - 1) * blocks.threshold * (1 + 4 * EPS)
    return replace(
        best,
        status=first.status,
        estimate=max(estimate + between, best.value),
        bound=None,
        # No entry within a block was set to zero, so the threshold of the witness is zero.
        witness=None if parts is None or problem.nonnegative else BlockWitness(0.0, tuple(parts)),
        iterations=nodes,
        reason=f"branch and bound in {len(connected)} blocks: {nodes} nodes",
    )


def _problem_of(problem: Problem, first: Solution, S: Floats, block: Indices, seed: int) -> tuple[Problem, Solution]:
    """Return the problem of a block, and a solution of it."""
    inner = replace(
        problem,
        covariance=DenseCovariance(S[np.ix_(block, block)], semidefinite=problem.covariance.semidefinite),
        cardinality=min(problem.cardinality, len(block)),
    )
    if np.isin(first.support, block).all() and len(first.support) == inner.cardinality:
        return inner, replace(first, support=np.searchsorted(block, first.support))
    return inner, Auto(seed=seed).solve(inner)
