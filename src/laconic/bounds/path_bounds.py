"""Upper bounds for every cardinality of a path, each with its own witness."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from laconic.bounds.fast import MOST_WRITTEN_OUT, Proof, first_group, problem_on, support_in, writing_out_is_cheap
from laconic.bounds.least import least_proved
from laconic.bounds.reduction import added_by_second_group, bounds_on_all, two_groups_bound
from laconic.core.arrays import PROVED, WRITE_OUT_LIMIT, Floats
from laconic.proof import Estimate, ProofError, UpperBound
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import elementary_bounds, trace_bound
from laconic.relaxations.proposition_2 import path_bounds
from laconic.relaxations.rows import RowLevels, RowLevelSolution, quick_row_levels
from laconic.search.problem import Problem, Solution

# Up to this size Proposition 2 looks at the support of every cardinality.
EVERY_SUPPORT_UP_TO = 30
# With more features it looks at this many of them. Each one bounds all cardinalities.
SUPPORTS_LOOKED_AT = 12
# A gap above this share of the value is visible, and worth a few steps of the row-level relaxation.
VISIBLE = 0.02
# A bound from two groups may be weaker than the best one by this share, if its witness is shorter then.
LOSS = 1e-3
# After a stop, a proof may read the rows of this many features: that takes hundredths of a second.
QUICK_TO_READ = 1000


def bound_path(problem: Problem, solutions: list[Solution], proof: Proof) -> list[UpperBound | ProofError]:
    """Return for each cardinality 1, 2, ... the least bound that is proved, or the error that says why none is."""
    sizes = range(1, len(solutions) + 1)
    estimates: list[list[Estimate]] = [[] for _ in sizes]
    with problem.monitor.watch():
        if isinstance(proof, str):
            _add_estimates(problem, solutions, estimates, tight=proof == "tight")
        else:
            for k, solution, found in zip(sizes, solutions, estimates, strict=True):
                for estimate in proof.estimates(problem.with_cardinality(k), solution):
                    found.append(estimate)
                    problem.monitor.tick("bounds")
    return prove_path(problem, estimates)


def prove_path(problem: Problem, estimates: Sequence[Sequence[Estimate]]) -> list[UpperBound | ProofError]:
    """Return for each cardinality the least estimate that passes the gate, or the error that says why none does.

    After the time limit or Ctrl-C, proofs that read a large part of a large matrix are left out.
    """
    bounds: list[UpperBound | ProofError] = []
    for k, found in enumerate(estimates, start=1):
        if problem.monitor.is_over:
            n = problem.n_features
            found = [e for e in found if isinstance(e, UpperBound) or len(e.witness.reads(n)) <= QUICK_TO_READ]
        try:
            bounds.append(least_proved(problem.with_cardinality(k), found))
        except ProofError as error:
            bounds.append(error)
    return bounds


def _add_estimates(problem: Problem, solutions: list[Solution], found: list[list[Estimate]], *, tight: bool) -> None:
    """Add estimates for every cardinality. Stopped at any point, the estimates added so far are valid."""
    covariance, n = problem.covariance, problem.n_features
    if covariance.at_hand is not None:
        for k, at_hand in enumerate(found, start=1):
            at_hand.append(trace_bound(covariance, k))
        _add_two_groups(problem, solutions, found, tight=tight)
        return
    sizes = list(range(1, len(solutions) + 1))
    written_out = n <= WRITE_OUT_LIMIT if tight else writing_out_is_cheap(covariance)
    whole = written_out or covariance.factor is not None
    cheap = elementary_bounds(covariance, sizes) if whole else [trace_bound(covariance, k) for k in sizes]
    for at_hand, estimate in zip(found, cheap, strict=True):
        at_hand.append(estimate)
    problem.monitor.tick("bounds")
    if n <= (WRITE_OUT_LIMIT if tight else MOST_WRITTEN_OUT):
        step = 1 if n <= EVERY_SUPPORT_UP_TO else -(-len(solutions) // SUPPORTS_LOOKED_AT)
        supports = [s.support for s in solutions[::-step]]
        bounds = path_bounds(covariance, supports, sizes, known=np.array([_least(e) for e in found]))
        for k in sizes:
            value = float(bounds.upper[k - 1])
            if value < _least(found[k - 1]):
                found[k - 1].append(Estimate(value, "Proposition 2", k, bounds.witness(k)))
    if tight and n <= WRITE_OUT_LIMIT:
        _add_row_levels(problem, solutions, found)
    elif written_out:
        _add_quick_row_levels(problem, solutions, found)
    elif n > MOST_WRITTEN_OUT:
        _add_two_groups(problem, solutions, found, tight=tight)


def _least(estimates: Sequence[Estimate]) -> float:
    return min((estimate.value for estimate in estimates), default=np.inf)


def _add_two_groups(problem: Problem, solutions: list[Solution], found: list[list[Estimate]], *, tight: bool) -> None:
    """Add the bounds from two groups: the path of the first group, and the variances of the second."""
    covariance, last = problem.covariance, len(solutions)
    kept = first_group(covariance, last) if covariance.at_hand is None else covariance.at_hand
    if kept is None:
        return
    part = problem_on(problem, kept)
    local = [support_in(part.with_cardinality(k), kept, s) for k, s in enumerate(solutions, start=1)]
    inside: list[list[Estimate]] = [[] for _ in solutions]
    _add_estimates(part, local, inside, tight=tight)
    best = [min(estimates, key=float) for estimates in inside]
    added = added_by_second_group(covariance, kept, last)
    limits = bounds_on_all(np.array([0.0, *map(float, best)]), added)
    for k in range(1, last + 1):
        if limits[k - 1] < _least(found[k - 1]):
            chosen = _few_that_do(best, added, k, float(limits[k - 1]) * (1 + LOSS))
            found[k - 1].append(two_groups_bound(covariance, kept, k, chosen))


def _few_that_do(best: list[Estimate], added: Floats, k: int, limit: float) -> list[Estimate]:
    """Return few bounds that keep the bound at k below a limit. Each also serves every smaller cardinality."""
    chosen = [best[k - 1]]
    for j in range(1, min(k, len(added))):
        if chosen[-1].value + added[j] > limit:
            chosen.append(best[k - j - 1])
    return chosen


def _add_quick_row_levels(problem: Problem, solutions: list[Solution], found: list[list[Estimate]]) -> None:
    """Add row levels after a few steps where a visible gap is left. Each dual point bounds all smaller supports, too.

    A point with the price G costs k^2 G at k, so the bound at q is lower by (k^2 - q^2) G.
    """
    n = problem.n_features
    for k in range(len(solutions), 1, -1):
        solution = solutions[k - 1]
        if _least(found[k - 1]) <= (1 + VISIBLE) * solution.value:
            continue
        problem.monitor.tick("bounds")
        matrix = problem.covariance.matrix
        levels = quick_row_levels(matrix, k, solution.vector(n), solution.value, monitor=problem.monitor)
        if levels is None:
            return
        assert isinstance(levels.witness, DualWitness)
        for q in range(2, k + 1):
            value = levels.value - (k * k - q * q) * levels.witness.price + problem.covariance.away
            if value < _least(found[q - 1]):
                found[q - 1].append(replace(levels, value=value, cardinality=q))


def _add_row_levels(problem: Problem, solutions: list[Solution], found: list[list[Estimate]]) -> None:
    """Add row levels where a gap is left, each solve started from the one before."""
    n = problem.n_features
    S = problem.covariance.submatrix(np.arange(n))
    start: RowLevelSolution | None = None
    for k, solution in enumerate(solutions, start=1):
        problem.monitor.tick("bounds")
        if k > 1 and _least(found[k - 1]) - solution.value > PROVED * abs(solution.value):
            start = RowLevels().solve(
                S, k, start=start, vector=solution.vector(n), known=solution.value, monitor=problem.monitor
            )
            found[k - 1].append(Estimate(start.estimate, "row levels", k, start.witness()))
