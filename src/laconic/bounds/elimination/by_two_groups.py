"""Two groups of features: those of large variance, and all others.

Let a_q bound the supports of q features of the first group K, a_0 = 0, and let v_1 >= v_2 >= ... be the variances of
the second group. Consider a support I of k features, j of them in the second group. S is semidefinite, so
lmax(S_I) <= lmax(S_A) + lmax(S_B) for I = A + B, and lmax(S_B) is at most the trace of S_B. Therefore the value of I is
at most

    a_{k-j} + v_1 + ... + v_j.

The largest of these numbers over j bounds the value of all supports. If it is below a known value for every j >= 1, no
better support uses the second group, and all of it is eliminated. The variances of words decay fast: there a few
hundred features decide about tens of thousands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.bounds.elimination.contract import Search
from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.covariance import Covariance, DenseCovariance
from laconic.problem import Problem, Solution
from laconic.proof import Estimate
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.registry import kind_of
from laconic.proof.witnesses.two_groups import TwoGroupsWitness
from laconic.relaxations.elementary import ROUNDING, elementary_bound
from laconic.search import Auto
from laconic.search.support import leading

# A variance below this share of the value that the last feature adds is small. The gaps of the a_q may use the rest.
SHARE = 0.5
# The first group has at least this many features: so few cost nothing, and more of them make the second group weaker.
FEWEST = 200
# Give up if the first group would be larger: the searches in it would take longer than the elimination saves.
MOST = 1500
# A search for a bound a_q stops halfway between the value found and the limit that a_q must stay below.
HALFWAY = 0.5
# It gives up after this many nodes. A bound that needs more is rarely low enough.
NODES = 300


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
    if _size_of_first_group(covariance, value - leading(covariance.submatrix(smaller))[0]) > MOST:
        return None
    one_less = Auto(polish=1).solve(Problem(covariance, k - 1, monitor=problem.monitor), start=smaller)
    count = max(FEWEST, _size_of_first_group(covariance, value - one_less.value))
    if count > MOST:
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
    return float(np.count_nonzero(covariance.diagonal > SHARE * added)) if added > 0 else np.inf


def _bound_below(search: Search, problem: Problem, limit: float) -> Estimate | None:
    """Return a bound below a limit, or None if there is none or it takes too long."""
    cheap = elementary_bound(problem.covariance, problem.cardinality)
    if cheap.value < limit:
        return cheap
    first = Auto().solve(problem)
    if not 0 < first.value < limit:
        return None
    found = search(problem, first, HALFWAY * (limit / first.value - 1), NODES)
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
    return ROUNDING * EPS * covariance.rounding_unit
