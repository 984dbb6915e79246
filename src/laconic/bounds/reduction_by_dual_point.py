"""Elimination by a dual point of the row-level relaxation, for thousands of features.

Variances and rows eliminate features first. Then the relaxation is solved on a core: the features that
compete for a support. Its dual point also bounds supports with a feature j outside the core, as in
`laconic.bounds.fixing`. With t = lmax(M), C the cost of the point, G its price, and g_j the price of the row of
j if that row is cancelled and S_jj - c_j = t, such a support has a value of at most

    t + C - k (G - g_j).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.fixing import LARGEST_CODES, packed
from laconic.bounds.reduction import ByVariance, eliminate_by_variance
from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import EPS
from laconic.covariance import Covariance, SubsetCovariance
from laconic.covariance.matrix import column_magnitudes
from laconic.proof import Estimate
from laconic.proof.witness import Witness
from laconic.proof.witness_tree import Decision, Round, TreeNode, TreeWitness
from laconic.relaxations.elementary import elementary_bound, trace_bound
from laconic.relaxations.proposition_2 import proposition_2_bound
from laconic.relaxations.rows import RowLevels, free_diagonal, level_of_each_row, own_price
from laconic.search import Auto
from laconic.search.problem import Problem, Solution

# The point only decides which features to drop, so it may be rough. The bound comes later from a better point.
RELAXATION = RowLevels(tolerance=1e-6, max_iterations=150, least_progress=0.02)
# The size of the core at the beginning: the relaxation takes a second with 400 features.
FIRST_CORE = 400
# The core grows to at most this size: with more features the relaxation takes minutes.
LARGEST_CORE = 2000
# The relaxation is solved again after the core has grown, at most this often.
MOST_SOLVES = 4


@dataclass(frozen=True, eq=False)
class ByDualPoint:
    """The features that variances, rows and one dual point keep."""

    kept: Indices  # in increasing order
    earlier: ByVariance  # the elimination by variances and rows, which came first
    decision: Round | None = None  # the dual point's, on the features that `earlier` keeps; None if it decides none

    @property
    def lifts_trees_only(self) -> bool:
        """Whether a dual point eliminated features: its decision then becomes a part of the tree."""
        return self.decision is not None

    def lift(self, witness: Witness | None) -> Witness | None:
        """Return a witness on all features, or None if there is none."""
        if self.decision is None:
            return self.earlier.lift(witness)
        if not isinstance(witness, TreeWitness):
            return None
        places = np.searchsorted(self.earlier.kept, self.kept)
        root, *others = (_renumbered(node, places) for node in witness.nodes())
        root = replace(root, rounds=(self.decision, *root.rounds))
        return self.earlier.lift(TreeWitness.of([root, *others]))


def _renumbered(node: TreeNode, places: Indices) -> TreeNode:
    """Return a node with feature i renumbered as `places[i]`."""

    def renumbered(part: Round) -> Round:
        point = replace(part.point, kept=places[part.point.kept], inside=places[part.point.inside])
        return Round(point, tuple(replace(d, out=places[d.out], into=places[d.into]) for d in part.decisions))

    end = int(places[node.end]) if node.end >= 0 else node.end
    return TreeNode(tuple(renumbered(part) for part in node.rounds), end)


def eliminate_by_dual_point(problem: Problem, first: Solution, value: float) -> ByDualPoint:
    """Eliminate features that no support above a value uses: by variances and rows, then by a dual point."""
    k = problem.cardinality
    smaller = np.empty(0, dtype=np.intp)
    if k > 1:
        one_less = replace(problem, cardinality=k - 1, forced=problem.forced[: k - 1], nonnegative=False)
        smaller = Auto(polish=1).solve(one_less).support
    bound = _cheapest_bound(smaller)
    earlier = eliminate_by_variance(problem.covariance, k, value, bound, forced=problem.forced, monitor=problem.monitor)
    kept = earlier.kept
    usable = not problem.nonnegative and len(problem.forced) < k and np.isin(first.support, kept).all()
    if len(kept) <= FIRST_CORE or not usable:
        return ByDualPoint(kept, earlier)
    part = replace(
        problem,
        covariance=SubsetCovariance(problem.covariance, kept) if earlier.passes else problem.covariance,
        forced=np.searchsorted(kept, problem.forced),
    )
    decision = _decide(part, replace(first, support=np.searchsorted(kept, first.support)), value)
    if decision is None:
        return ByDualPoint(kept, earlier)
    return ByDualPoint(np.delete(kept, decision.decisions[0].out), earlier, decision)


def _cheapest_bound(support: Indices) -> Callable[[Covariance, int], Estimate]:
    """Return the bound at cardinality k - 1 that the passes use, given a good support of that size."""

    def bound(covariance: Covariance, cardinality: int) -> Estimate:
        kept = np.arange(covariance.n_features) if covariance.keep is None else covariance.keep
        tried = [trace_bound(covariance, cardinality)]
        if covariance.factor is not None:
            if np.isin(support, kept).all():
                tried.append(proposition_2_bound(covariance, np.searchsorted(kept, support), cardinality))
        elif len(kept) <= WRITE_OUT_LIMIT:
            tried.append(elementary_bound(covariance, cardinality))
        return min(tried, key=float)

    return bound


def _decide(problem: Problem, first: Solution, value: float) -> Round | None:
    """Return the features that a dual point eliminates, or None if there are none."""
    covariance, n, k = problem.covariance, problem.n_features, problem.cardinality
    z, variances = first.vector(n), covariance.diagonal
    image = np.abs(covariance.columns(first.support) @ first.loadings)
    image[np.union1d(first.support, problem.forced)] = np.inf
    core = np.sort(np.argsort(-image, kind="stable")[: max(FIRST_CORE, 3 * k)])
    for _ in range(MOST_SOLVES):
        inside = np.searchsorted(core, problem.forced)
        relaxed = RELAXATION.solve(
            covariance.submatrix(core), k, inside=inside, vector=z[core], known=value, monitor=problem.monitor
        )
        problem.monitor.tick("eliminating features", best=first.value)
        if relaxed.price <= 0:
            return None
        kept = core[relaxed.keep]
        outside = np.setdiff1d(np.arange(n), kept)
        level = _levels_outside(problem, kept, outside, level_of_each_row(relaxed.levels))
        diagonal = variances[outside] - free_diagonal(level, relaxed.price)
        top = relaxed.estimate - relaxed.cost
        # These features raise the bound, so they belong into the core.
        too_large = np.setdiff1d(outside[diagonal > top], core)
        if not len(too_large) or len(core) + len(too_large) > LARGEST_CORE:
            break
        core = np.union1d(core, too_large)
    top = max(top, float(diagonal.max(initial=-np.inf)))
    margin = 64 * n * EPS * max(abs(top), covariance.rounding_unit)
    most = top + relaxed.cost - k * (relaxed.price - own_price(variances[outside] - top, level)) + margin
    out = np.setdiff1d(outside[most < value], problem.forced)
    if not len(out):
        return None
    point = packed(relaxed, core, 1.0, LARGEST_CODES[-1])
    return Round(point, (Decision(out, np.empty(0, dtype=np.intp), relaxed.price),))


def _levels_outside(problem: Problem, kept: Indices, outside: Indices, m: Floats) -> Floats:
    """Return the level that each feature outside needs so that its row is cancelled."""
    found = [np.empty(0)]
    for _, sizes in column_magnitudes(problem.covariance, outside):
        problem.monitor.tick("eliminating features")
        against = (2 * sizes[kept] - m[:, None]).max(axis=0, initial=0.0)
        found.append(np.maximum(against, sizes[outside].max(axis=0, initial=0.0)))
    return np.concatenate(found)
