"""The estimates of `proof="tight"`: convex relaxations, and where they leave a gap a tree of cases.

    1  the cheap bounds of `proof="fast"`
    2  Proposition 2 at the support found
    3  the l0 relaxation, if Proposition 2 is near the value found
    4  row levels and row norms, and a tree of cases with them

With many features elimination comes first, and steps 1 to 4 see the features kept. The l1 relaxation is not used: row
levels are never worse.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from laconic.bounds.elimination.by_two_groups import eliminate_by_two_groups
from laconic.bounds.elimination.contract import Elimination
from laconic.bounds.fast import (
    LARGE_EIGENPROBLEM,
    MOST_SUPPORT_FEATURES,
    cheap_estimates,
    keep_large_variances,
    large_estimates,
    lifted,
    on_kept,
)
from laconic.bounds.tree.search import TreeSearch
from laconic.core.thresholds import PROVED, WRITE_OUT_LIMIT
from laconic.problem import Problem, Solution, Status
from laconic.proof import Estimate
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.tree import TreeWitness
from laconic.relaxations.l0.relaxation import L0Relaxation
from laconic.relaxations.proposition_2.conditions import proposition_2_below, proposition_2_bound
from laconic.relaxations.rows.relaxation import RowLevels

# The l0 relaxation is solved if Proposition 2 is within this share of the value found. Beyond it row levels are lower.
NEAR = 0.1
# The l0 relaxation is always solved up to this size: it takes less than a second there.
FEW_FEATURES = 200
# It is never solved above this size: it cannot be stopped in its first steps, which take many seconds there.
MOST_FEATURES_OF_L0 = 600
# The number of eigenvalues that Proposition 2 may compute in search of the best penalty.
EVALUATIONS = 4
# The tree of cases ends after this many nodes, within minutes for a thousand features. The exact method has no limit.
NODES = 100
# The gap at which trees stop: well below the gap that counts as optimal, so that the gate's margin fits in between.
GAP = PROVED / 10


def tight_estimates(problem: Problem, solution: Solution) -> Iterator[tuple[Estimate, Solution]]:
    """Yield estimates for any number of features, the cheapest first, each with the best solution known by then.

    Forced features and signs are ignored.
    """
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    if n > WRITE_OUT_LIMIT and covariance.factor is None:
        yield from ((estimate, solution) for estimate in large_estimates(problem, solution))
        elimination = _eliminate(problem, solution)
        if elimination is not None:
            yield from _on_kept(elimination, problem, solution)
        return
    cheap = cheap_estimates(problem)
    yield from ((estimate, solution) for estimate in cheap)
    near, conditions = np.inf, None
    if len(solution.support) <= MOST_SUPPORT_FEATURES:
        if covariance.eigenproblem_size > LARGE_EIGENPROBLEM:
            # This computes eigenvalues only if a cheap estimate promises a lower bound than the one at hand.
            conditions = proposition_2_below(covariance, solution.support, k, cheap[0].value, evaluations=EVALUATIONS)
        else:
            conditions = proposition_2_bound(covariance, solution.support, k, evaluations=EVALUATIONS)
        if conditions is not None:
            near = conditions.value / solution.value - 1 if solution.value > 0 else np.inf
            yield conditions, solution
    elimination = None if n <= FEW_FEATURES else _eliminate(problem, solution)
    if elimination is not None and (n > WRITE_OUT_LIMIT or 2 * len(elimination.kept) <= n):
        yield from _on_kept(elimination, problem, solution)
    elif n <= WRITE_OUT_LIMIT:
        yield from _relaxed(problem, solution, near)


def _relaxed(problem: Problem, solution: Solution, near: float) -> Iterator[tuple[Estimate, Solution]]:
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    if n <= (MOST_FEATURES_OF_L0 if near <= NEAR else FEW_FEATURES):
        l0 = L0Relaxation().solve(covariance.submatrix(np.arange(n)), k, monitor=problem.monitor)
        yield Estimate(l0.estimate, "l0", k, l0.witness()), solution
    free = replace(problem, forced=np.empty(0, dtype=np.intp), nonnegative=False)
    # A search that is complete with constraints is not complete without them.
    first = replace(solution, status=Status.LOCAL, estimate=np.inf, witness=None)
    found = TreeSearch(gap=GAP, node_limit=NODES).search(free, first, quick=False)
    if found.witness is not None:
        yield _estimate_of(found, k), found
    else:
        problem.monitor.tick()
        S = covariance.submatrix(np.arange(n))
        levels = RowLevels().solve(S, k, vector=solution.vector(n), known=solution.value, monitor=problem.monitor)
        yield Estimate(levels.estimate, "row levels", k, levels.witness()), found


def _estimate_of(found: Solution, k: int) -> Estimate:
    """Return the estimate of a tree. A tree that has only its root is named after the relaxation of the root."""
    witness = found.witness
    assert witness is not None
    if isinstance(witness, TreeWitness) and len(witness.nodes) == 1 and not witness.nodes[0].decisions:
        root = witness.nodes[0].bound
        if isinstance(root, DualWitness):
            return Estimate(found.estimate, "row levels", k, root)
    return Estimate(found.estimate, "branch and bound", k, witness)


def _eliminate(problem: Problem, solution: Solution) -> Elimination | None:
    """Eliminate features of small variance; return None if too many stay, or if the support found would be lost."""
    by_variance = keep_large_variances(problem, solution, WRITE_OUT_LIMIT)
    if by_variance is not None:
        return by_variance
    problem.monitor.tick()
    return eliminate_by_two_groups(TreeSearch(gap=GAP).limited, problem, solution, solution.value)


def _on_kept(elimination: Elimination, problem: Problem, solution: Solution) -> Iterator[tuple[Estimate, Solution]]:
    """Yield the estimates on the features kept, as estimates on all features."""
    for estimate, found in tight_estimates(*on_kept(elimination, problem, solution)):
        yield lifted(elimination, estimate, solution.value), replace(found, support=elimination.kept[found.support])
