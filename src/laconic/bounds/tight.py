"""The estimates of `proof="tight"`: convex relaxations, and where they leave a gap a tree of cases.

    1  the cheap bounds of `proof="fast"`
    2  Proposition 2 at the support found
    3  the l0 relaxation, if Proposition 2 is near the value found
    4  row levels and row norms, and a tree of cases with them

With many features elimination comes first, and steps 1 to 4 see the features kept. The l1 relaxation is not used: row
levels are never worse.

Searches and bounds on a covariance of which only some features are at hand.
The search and every relaxation see the features at hand, K. The hidden features enter a bound through their variances:
they are the second of two groups (`laconic.bounds.reduction`). With a_q a bound on supports of q
features of K, b_j the sum of the j largest hidden variances, e the excess (`laconic.covariance.deflation`), a support
with j hidden features has at most the value

    f(a_{k-j}, b_j),    f(a, b) = the larger eigenvalue of [[a, c], [c, b]], c^2 = (a + e) b,

and f(a, b) <= v if and only if a <= v - b (1 + e/v).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from laconic.bounds.fast import (
    LARGE_EIGENPROBLEM,
    MOST_SUPPORT_FEATURES,
    Proof,
    cheap_estimates,
    keep_large_variances,
    large_estimates,
    lifted,
    on_kept,
)
from laconic.bounds.reduction import Elimination, bounds_below, eliminate_by_two_groups, sums_of_largest
from laconic.bounds.tree import MOST_FEATURES_FOR_L0, TreeSearch
from laconic.core.arrays import PROVED, WRITE_OUT_LIMIT, Indices
from laconic.proof import Estimate, ProofError, prove
from laconic.proof.gate import kind_of
from laconic.proof.witness import Witness
from laconic.proof.witness_reduction import TwoGroupsWitness
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.proposition_2 import proposition_2_below, proposition_2_bound
from laconic.relaxations.rows import RowLevels
from laconic.search.problem import Problem, Solution, Solver, Status

# The l0 relaxation is solved if Proposition 2 is within this share of the value found. Beyond it row levels are lower.
NEAR_FOR_L0 = 0.1
# The l0 relaxation is always solved up to this size: it takes less than a second there.
ALWAYS_L0_UP_TO = 200
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
            conditions = proposition_2_below(covariance, solution.support, k, cheap[0].value)
        else:
            conditions = proposition_2_bound(covariance, solution.support, k)
        if conditions is not None:
            near = conditions.value / solution.value - 1 if solution.value > 0 else np.inf
            yield conditions, solution
    elimination = None if n <= ALWAYS_L0_UP_TO else _eliminate(problem, solution)
    if elimination is not None and (n > WRITE_OUT_LIMIT or 2 * len(elimination.kept) <= n):
        yield from _on_kept(elimination, problem, solution)
    elif n <= WRITE_OUT_LIMIT:
        yield from _relaxed(problem, solution, near)


def _relaxed(problem: Problem, solution: Solution, near: float) -> Iterator[tuple[Estimate, Solution]]:
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    if n <= (MOST_FEATURES_FOR_L0 if near <= NEAR_FOR_L0 else ALWAYS_L0_UP_TO):
        l0 = L0Relaxation().solve(covariance.submatrix(np.arange(n)), k, monitor=problem.monitor)
        yield Estimate(l0.estimate, "l0", k, l0.witness()), solution
    free = replace(problem, forced=np.empty(0, dtype=np.intp), nonnegative=False)
    # A search that is complete with constraints is not complete without them.
    first = replace(solution, status=Status.LOCAL, estimate=np.inf, witness=None)
    found = TreeSearch(gap=GAP, node_limit=NODES).search(free, first, quick=False)
    if found.witness is not None:
        yield own_estimate(found, k, "branch and bound"), replace(found, bound=None)
    else:
        problem.monitor.tick()
        S = covariance.submatrix(np.arange(n))
        levels = RowLevels().solve(S, k, vector=solution.vector(n), known=solution.value, monitor=problem.monitor)
        yield Estimate(levels.estimate, "row levels", k, levels.witness()), found


def own_estimate(found: Solution, k: int, kind: str = "") -> Estimate:
    """Return the estimate of a solver. That of a tree is proved already. `kind` names the others."""
    witness, bound = found.witness, found.bound
    assert witness is not None
    if bound is not None and bound.witness is witness:
        return bound
    return Estimate(found.estimate, kind or kind_of(witness), k, witness)


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


EstimatesOnHand = Callable[[Problem, Solution, Proof], Iterator[tuple[Estimate, Solution]]]


def solve_at_hand(solver: Solver, problem: Problem, *, start: Indices | None = None) -> Solution:
    """Solve a problem among the features at hand, and return the solution in terms of all features."""
    hand = problem.covariance.at_hand
    if hand is None:
        return solver.solve(problem, start=start)
    if start is not None:
        start = np.searchsorted(hand, np.intersect1d(start, hand))
        start = start if len(start) else None
    return on_all(problem, solver.solve(problem.at_hand(), start=start))


def on_all(problem: Problem, found: Solution) -> Solution:
    """Return a solution among the features at hand in terms of all features, with its estimate and witness."""
    hand = problem.covariance.at_hand
    if hand is None:
        return found
    solution = replace(found, support=hand[found.support], estimate=np.inf, bound=None, witness=None)
    if found.witness is None:
        return solution
    own = Estimate(found.estimate, kind_of(found.witness), len(found.support), found.witness)
    estimate = _Hidden(problem).bound([own])
    complete = estimate.value - found.value <= PROVED * abs(found.value)
    status = Status.LOCAL if found.status is Status.COMPLETE and not complete else found.status
    return replace(solution, estimate=estimate.value, witness=estimate.witness, status=status)


def estimates_with_hidden(
    problem: Problem, solution: Solution, proof: Proof, estimates: EstimatesOnHand
) -> Iterator[tuple[Estimate, Solution]]:
    """Yield estimates on all features from `estimates` on the features at hand, each with the best solution so far."""
    hidden = _Hidden(problem)
    part = problem.at_hand()
    own = replace(
        solution, support=np.searchsorted(hidden.kept, solution.support), estimate=np.inf, witness=hidden.own(solution)
    )
    smaller: list[Estimate] = []
    least = np.inf
    for estimate, found in _known_first(part, own, estimates(part, own, proof)):
        closes = estimate.value - found.value <= PROVED * abs(found.value)
        if estimate.value < least:
            least = estimate.value
            # Bounds at smaller cardinalities are worth a tree only if the one at k is tight.
            exclude = closes and (proof == "tight" or own.witness is not None)
            excluded = hidden.below(part, found, found.value) if exclude else None
            smaller = hidden.smaller(part, own, estimate, estimates) if excluded is None else excluded
        yield hidden.bound([estimate, *smaller]), replace(found, support=hidden.kept[found.support])


def _known_first(
    part: Problem, own: Solution, estimates: Iterator[tuple[Estimate, Solution]]
) -> Iterator[tuple[Estimate, Solution]]:
    """Yield the solver's own bound first, if it left one."""
    if own.witness is not None:
        yield prove(part.covariance, part.cardinality, own.witness, inside=part.forced), own
    yield from estimates


class _Hidden:
    """The hidden features of a problem, and the bounds that they add to."""

    def __init__(self, problem: Problem) -> None:
        covariance = problem.covariance
        assert covariance.at_hand is not None
        self.kept: Indices = covariance.at_hand
        self._k = problem.cardinality
        outside = np.delete(np.arange(covariance.n_features), self.kept)
        self._excess = covariance.excess(outside) or 0.0
        self._added = sums_of_largest(np.maximum(covariance.variances[outside], 0.0), min(self._k, len(outside)))
        self._among = sums_of_largest(covariance.diagonal[self.kept], self._k)
        self._least_at: dict[int, Estimate] = {}  # the least fast bound at smaller cardinalities, where it was needed

    def own(self, solution: Solution) -> Witness | None:
        """Return the witness on the features at hand from which a solver's own bound was made, if there is one."""
        witness = solution.witness
        lifted = isinstance(witness, TwoGroupsWitness) and np.array_equal(witness.kept, self.kept)
        return witness.bounds[0][1] if lifted and isinstance(witness, TwoGroupsWitness) else None

    def bound(self, bounds: list[Estimate]) -> Estimate:
        """Return the bound on all features from bounds on those at hand, at k first and at smaller cardinalities."""
        k = self._k
        inside = np.append(self._among, np.full(k + 1 - len(self._among), np.inf))
        for bound in bounds:
            inside[1 : bound.cardinality + 1] = np.minimum(inside[1 : bound.cardinality + 1], bound.value)
        inside[1:] = np.maximum(inside[1:], 0.0)
        value = max(self._with(inside[k - j], j) for j in range(len(self._added)))
        witness = TwoGroupsWitness(self.kept, tuple((bound.cardinality, bound.witness) for bound in bounds))
        return Estimate(value, bounds[0].kind, k, witness)

    def _with(self, a: float, j: int) -> float:
        """Return f(a, b_j)."""
        b = float(self._added[j])
        if not j:
            return float(a)
        return float((a + b) / 2 + np.hypot((a - b) / 2, np.sqrt((a + self._excess) * b)))

    def smaller(self, part: Problem, own: Solution, top: Estimate, estimates: EstimatesOnHand) -> list[Estimate]:
        """Return cheap bounds at smaller cardinalities, as long as they keep the bound on all features down."""
        bounds: list[Estimate] = []
        j = 1
        while j < min(self._k, len(self._added)) and self._with(top.value, j) > top.value * (1 + PROVED / 10):
            part.monitor.tick("bounds")
            q = self._k - j
            # The witness at k also bounds smaller supports. Other bounds are computed only if it is not low enough.
            bound = _at(part, q, top)
            if self._with(bound.value, j) > top.value * (1 + PROVED / 10):
                if q not in self._least_at:
                    self._least_at[q] = _least_fast(part.with_cardinality(q), own, estimates)
                bound = min(bound, self._least_at[q], key=float)
            bounds.append(bound)
            levels = np.array([self._with(bounds[-1].value, i) for i in range(j, len(self._added))])
            high = np.flatnonzero(levels > max(top.value, levels[0]))
            if levels[0] > top.value or not len(high):
                break
            j += int(high[0])
        return bounds

    def below(self, part: Problem, found: Solution, value: float) -> list[Estimate] | None:
        """Return bounds at smaller cardinalities that show that no hidden feature is in a better support, or None."""
        added = self._added * (1 + self._excess / value) if value > 0 else self._added
        return bounds_below(TreeSearch(gap=GAP).limited, part, found, added, value)


def _at(part: Problem, cardinality: int, top: Estimate) -> Estimate:
    """Return the bound that a witness gives at a smaller cardinality. Not every witness gives one."""
    try:
        return prove(part.covariance, cardinality, top.witness)
    except ProofError:
        return Estimate(np.inf, top.kind, cardinality, top.witness)


def _least_fast(part: Problem, own: Solution, estimates: EstimatesOnHand) -> Estimate:
    """Return the least fast bound for a smaller cardinality than that of a solution."""
    strongest = np.sort(own.support[np.argsort(-np.abs(own.loadings), kind="stable")[: part.cardinality]])
    # A smaller support serves, too: the estimates hold for any solution.
    start = replace(own, support=strongest, loadings=np.ones(len(strongest)) / np.sqrt(len(strongest)))
    return min((estimate for estimate, _ in estimates(part, start, "fast")), key=float)
