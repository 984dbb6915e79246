"""Searches and bounds on a covariance of which only some features are at hand.

The search and every relaxation see the features at hand, K. The hidden features enter a bound through their variances:
they are the second of two groups (`laconic.bounds.elimination.by_two_groups`). With a_q a bound on supports of q
features of K, b_j the sum of the j largest hidden variances and e the excess (`laconic.covariance.deflation`), a support
with j hidden features has at most the value

    f(a_{k-j}, b_j),    f(a, b) = the larger eigenvalue of [[a, c], [c, b]], c^2 = (a + e) b,

and f(a, b) <= v if and only if a <= v - b (1 + e/v).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from laconic.bounds.elimination.by_two_groups import bounds_below, sums_of_largest
from laconic.bounds.proof_choices import Proof
from laconic.bounds.tight import GAP
from laconic.bounds.tree.search import TreeSearch
from laconic.core.arrays import Floats, Indices
from laconic.core.thresholds import PROVED
from laconic.problem import Problem, Solution, Solver, Status
from laconic.proof import Estimate, ProofError, prove
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.registry import kind_of
from laconic.proof.witnesses.two_groups import TwoGroupsWitness

Estimates = Callable[[Problem, Solution, Proof], Iterator[tuple[Estimate, Solution]]]


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
    solution = replace(found, support=hand[found.support], estimate=np.inf, witness=None)
    if found.witness is None:
        return solution
    own = Estimate(found.estimate, kind_of(found.witness), len(found.support), found.witness)
    estimate = _Hidden(problem).bound([own])
    complete = estimate.value - found.value <= PROVED * abs(found.value)
    status = Status.LOCAL if found.status is Status.COMPLETE and not complete else found.status
    return replace(solution, estimate=estimate.value, witness=estimate.witness, status=status)


def estimates_with_hidden(
    problem: Problem, solution: Solution, proof: Proof, estimates: Estimates
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
        self._added = _sums_of_hidden(covariance.variances[outside], self._k)
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

    def smaller(self, part: Problem, own: Solution, top: Estimate, estimates: Estimates) -> list[Estimate]:
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


def _least_fast(part: Problem, own: Solution, estimates: Estimates) -> Estimate:
    """Return the least fast bound for a smaller cardinality than that of a solution."""
    strongest = np.sort(own.support[np.argsort(-np.abs(own.loadings), kind="stable")[: part.cardinality]])
    # A smaller support serves, too: the estimates hold for any solution.
    start = replace(own, support=strongest, loadings=np.ones(len(strongest)) / np.sqrt(len(strongest)))
    return min((estimate for estimate, _ in estimates(part, start, "fast")), key=float)


def _sums_of_hidden(variances: Floats, count: int) -> Floats:
    return sums_of_largest(np.maximum(variances, 0.0), min(count, len(variances)))
