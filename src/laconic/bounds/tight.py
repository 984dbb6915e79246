"""The least upper bound that an effort buys.

No bound is the best of all. Those that cost little are computed first, and a bound that meets the value found ends the
work: nothing can be below it.

    fast    trace, row sums, largest eigenvalue, Proposition 2 at the support found; of many features, those of the
            largest variances and what the others can add
    tight   these; soft threshold and blocks; the l0 relaxation where Proposition 2 is near; row levels and row norms,
            and where they leave a gap a tree of cases of them

The l1 dual is not among them: row levels are never worse. `every_bound` computes them all, to compare.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from laconic.bounds.elimination.by_two_groups import Apart, set_apart
from laconic.bounds.elimination.by_variance import Screened, screen
from laconic.bounds.fast import bounds_of_small, in_part, most_varying, part_of, split_bounds
from laconic.bounds.tree.search import BranchAndBound
from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor, check_time_limit
from laconic.core.wording import PROVED
from laconic.covariance import (
    Covariance,
    DeflatedCovariance,
    DenseCovariance,
    FactorCovariance,
    Kind,
    SubsetCovariance,
    read_covariance,
)
from laconic.covariance.base import WRITE_OUT_LIMIT
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import stopped_or
from laconic.proof.estimate import Estimate
from laconic.proof.gate import ProofError, prove
from laconic.proof.upper_bound import UpperBound
from laconic.proof.witness import DualWitness, TraceWitness, TreeWitness, kind_of
from laconic.relaxations.combined import combined_bound
from laconic.relaxations.elementary import (
    block_bound,
    eigenvalue_bound,
    elementary_bound,
    elementary_bounds,
    row_sum_bound,
    side,
    soft_threshold_bound,
    trace_bound,
)
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.l1 import CardinalityForm
from laconic.relaxations.optimality import factored, path_bounds, proposition_2_below, proposition_2_bound
from laconic.relaxations.row_levels import RowLevels, RowLevelSolution
from laconic.relaxations.split import added_from_outside, bounds_over_all
from laconic.relaxations.splitting import Splitting
from laconic.search.auto import Auto
from laconic.search.support import EQUAL
from laconic.search.swaps import Swaps

Effort: TypeAlias = Literal["fast", "tight"]
EFFORTS = ("fast", "tight")

# Written-out matrices above this size do without Proposition 2 for a fast bound.
FACTORED = 400
# So do supports above this size, whose own blocks are written out for it.
FACTORED_SUPPORT = 1000
# The l0 relaxation is solved where Proposition 2 comes this near to the value found: elsewhere row levels win.
NEAR = 0.1
# Supports that a path of more features than these applies Proposition 2 to.
FEW_FEATURES, FEW_SUPPORTS = 30, 12
# Largest eigenvalues that a tight bound spends on Proposition 2.
THOROUGH = 4
# Cases that a tight bound may distinguish.
NODES = 100
# Up to this size the bounds that are only sometimes the least are tried as well.
SMALL = 200


def upper_bound(
    X_or_covariance: Any,
    cardinality: int,
    effort: Effort = "tight",
    *,
    kind: Kind = "auto",
    center: bool = True,
    scale: bool = False,
    time_limit: float | None = None,
    progress: bool = False,
) -> UpperBound:
    """Return the least proved upper bound on z'Sz over unit z with at most k nonzeros, and say which one it is.

    Parameters
    ----------
    X_or_covariance
        Rows of data, or a covariance or correlation matrix.
    cardinality
        k.
    effort
        "fast": a few eigenvalues. "tight": convex relaxations, and where they leave a gap a tree of cases.
    kind, center, scale
        As in `cardinality_path`.
    time_limit
        Seconds; then the least bound so far is returned.
    progress
        Show progress, on a terminal only.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r} must be 'fast' or 'tight'.")
    covariance, _ = read_covariance(X_or_covariance, kind, center=center, scale=scale)
    if not is_whole(cardinality) or not 1 <= cardinality <= covariance.n_features:
        raise ValueError(
            f"cardinality={cardinality!r} must be an int from 1 to the number of features, {covariance.n_features}."
        )
    check_time_limit(time_limit)
    with Monitor(time_limit, progress=progress) as monitor:
        problem = Problem(covariance, int(cardinality), monitor=monitor)
        return bound_support(problem, Auto().solve(problem), effort)


def bound_support(problem: Problem, solution: Solution, effort: Effort) -> UpperBound:
    """Return the least bound that is proved for a problem to which a solution is known.

    Parameters
    ----------
    problem
        The problem. Features forced in and signs are not used: a bound on all supports bounds those allowed, too.
    solution
        The best support found. Its own estimate counts if it has a witness.
    effort
        "fast" or "tight".

    Raises
    ------
    ProofError
        If no bound passes the gate.
    """
    return bound_and_improve(problem, solution, effort)[0]


def bound_and_improve(problem: Problem, solution: Solution, effort: Effort) -> tuple[UpperBound, Solution]:
    """Return the least bound that is proved, and the solution or a better one that the search for bounds has met.

    A tree of cases looks at supports on its way. It knows neither features forced in nor signs, so a support that it
    finds is taken only if it has them.

    Parameters
    ----------
    problem, solution, effort
        As in `bound_support`.
    """
    estimates: list[Estimate] = []
    best = solution
    if solution.witness is not None and np.isfinite(solution.estimate):
        estimates.append(Estimate(solution.estimate, kind_of(solution.witness), problem.cardinality, solution.witness))
    with problem.monitor.watch():
        if not estimates or not _closes(estimates[0], solution):
            for estimate, found in _bounds(problem, solution, effort):
                estimates.append(estimate)
                if found.value > best.value * (1 + EQUAL) and _allowed(problem, found):
                    best = found
                if _closes(estimate, best):
                    break
                if np.isfinite(estimate.value):
                    problem.monitor.tick("bounds")
    if best is not solution:
        best = _improved(problem, solution, best)
    return least_proved(problem, estimates), best


def least_proved(problem: Problem, estimates: list[Estimate]) -> UpperBound:
    """Return the least of some estimates that passes the gate.

    Parameters
    ----------
    problem
        The problem that the estimates are for.
    estimates
        Estimates, or bounds proved already, in any order. Without any, the sum of the largest variances is proved.

    Raises
    ------
    ProofError
        If none passes, with the reason of the first.
    """
    k, reasons = problem.cardinality, []
    best: UpperBound | None = None
    for estimate in sorted(estimates or [Estimate(np.inf, "trace", k, TraceWitness())], key=float):
        if best is not None and best.value <= estimate.value:
            break
        try:
            if isinstance(estimate, UpperBound):
                bound = estimate
            else:
                bound = prove(problem.enclosed, k, estimate.witness, kind=estimate.kind, inside=problem.forced)
        except ProofError as error:
            reasons.append(str(error))
            continue
        best = bound if best is None else min(best, bound, key=float)
    if best is None:
        raise ProofError(reasons[0])
    return replace(best, others={estimate.kind: estimate.value for estimate in estimates})


def _closes(bound: Estimate, solution: Solution) -> bool:
    return bound.value - solution.value <= PROVED * abs(solution.value)


def _allowed(problem: Problem, found: Solution) -> bool:
    """Whether a solution found without constraints satisfies them."""
    signs = not problem.nonnegative or bool((found.loadings >= 0).all())
    return signs and bool(np.isin(problem.forced, found.support).all())


def _improved(problem: Problem, solution: Solution, found: Solution) -> Solution:
    """Return what exchanges of features make of a better support, as the solution's own method would have."""
    better = Swaps().solve(problem, start=found.support)
    reason = "a better support was found on the way to the proof"
    return replace(
        solution,
        support=better.support,
        loadings=better.loadings,
        value=better.value,
        status=stopped_or(problem.monitor.stopped, better.status),
        estimate=np.inf,
        witness=None,
        reason=f"{solution.reason}; {reason}" if solution.reason else reason,
    )


def _bounds(problem: Problem, solution: Solution, effort: Effort) -> Iterator[tuple[Estimate, Solution]]:
    """Yield bounds, the cheapest first, each with the best solution known by then."""
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    wide = isinstance(covariance, FactorCovariance)
    if not wide and not _may_be_written_out(covariance, effort):
        yield trace_bound(covariance, k), solution
        if side(covariance) <= min(n - 1, WRITE_OUT_LIMIT):
            yield eigenvalue_bound(covariance, k), solution
        yield from ((bound, solution) for bound in split_bounds(problem, solution))
        yield from _screened(problem, solution, effort)
        return
    if effort == "fast" and n <= FACTORED and not (wide and 2 * side(covariance) < n):
        yield from ((bound, solution) for bound in bounds_of_small(problem, solution))
        return
    kinds = (trace_bound, eigenvalue_bound) if wide and n > FACTORED else (elementary_bound,)
    # The least comes first: if time is up, it is the one to leave with.
    cheap = sorted((kind(covariance, k) for kind in kinds), key=float)
    yield from ((bound, solution) for bound in cheap)
    if effort == "fast":
        if wide and len(solution.support) <= FACTORED_SUPPORT:
            evaluations = 1 if n > WRITE_OUT_LIMIT else 2
            below = proposition_2_below(covariance, solution.support, k, cheap[0].value, evaluations=evaluations)
            if below is not None:
                yield below, solution
        yield from ((bound, solution) for bound in split_bounds(problem, solution))
    else:
        near = np.inf
        if len(solution.support) <= FACTORED_SUPPORT:
            conditions = proposition_2_bound(covariance, solution.support, k, evaluations=THOROUGH)
            near = conditions.value / solution.value - 1 if solution.value > 0 else np.inf
            yield conditions, solution
        left = None if n <= SMALL else _promising(problem, solution, effort)
        if left is not None and (n > WRITE_OUT_LIMIT or 2 * len(left.kept) <= n):
            yield from _among(left, problem, solution, effort)
        elif n <= WRITE_OUT_LIMIT:
            yield from _tight(problem, solution, near)


def _may_be_written_out(covariance: Covariance, effort: Effort) -> bool:
    """Whether the n x n matrix is there already, or small enough for the effort."""
    n = covariance.n_features
    if n <= FACTORED or effort == "tight":
        return n <= WRITE_OUT_LIMIT
    while isinstance(covariance, DeflatedCovariance | SubsetCovariance):
        covariance = covariance.base
    return isinstance(covariance, DenseCovariance) and n <= WRITE_OUT_LIMIT


def _tight(problem: Problem, solution: Solution, near: float) -> Iterator[tuple[Estimate, Solution]]:
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    S = covariance.submatrix(np.arange(n))
    dense = DenseCovariance(S, semidefinite=covariance.semidefinite)
    if n <= SMALL:
        yield soft_threshold_bound(dense, k), solution
        yield block_bound(dense, k), solution
    if near <= NEAR or n <= SMALL:
        relaxed = L0Relaxation().solve(S, k, monitor=problem.monitor)
        yield Estimate(relaxed.upper, "l0", k, relaxed.witness()), solution
    free = replace(problem, covariance=dense, forced=np.empty(0, dtype=np.intp), nonnegative=False)
    found = BranchAndBound(gap=PROVED / 10, node_limit=NODES).prove(
        free, replace(solution, estimate=np.inf, witness=None), quick=False
    )
    if found.witness is not None:
        yield _of_tree(found, k), found
    else:
        levels = RowLevels().solve(S, k, vector=solution.vector(n), known=solution.value, monitor=problem.monitor)
        yield Estimate(levels.upper, "row levels", k, levels.witness()), found


def _of_tree(found: Solution, k: int) -> Estimate:
    """Return the bound of a tree; one that is its root only is the bound of a relaxation."""
    witness = found.witness
    assert witness is not None
    if isinstance(witness, TreeWitness) and len(witness.nodes) == 1 and not witness.nodes[0].decisions:
        root = witness.nodes[0].bound
        if isinstance(root, DualWitness):
            return Estimate(found.estimate, "row levels", k, root)
    return Estimate(found.estimate, "branch and bound", k, witness)


def _promising(problem: Problem, solution: Solution, effort: Effort) -> Screened | Apart | None:
    """Set aside the features whose variances are too small for a support as good as the one found.

    None if too many are left, or not those of the solution itself.
    """
    k = problem.cardinality
    limit = WRITE_OUT_LIMIT if effort == "tight" else FACTORED
    screened = screen(problem.covariance, k, solution.value, trace_bound, rows=False)
    if np.isin(solution.support, screened.kept).all() and k <= len(screened.kept) <= limit:
        return screened
    if effort == "fast":
        return None
    return set_apart(BranchAndBound(gap=PROVED / 10), problem, solution, solution.value)


def _screened(problem: Problem, solution: Solution, effort: Effort) -> Iterator[tuple[Estimate, Solution]]:
    """Yield the bounds of the features that a support as good as the one found may hold, if they are few enough."""
    left = _promising(problem, solution, effort)
    if left is not None:
        yield from _among(left, problem, solution, effort)


def _among(
    left: Screened | Apart, problem: Problem, solution: Solution, effort: Effort
) -> Iterator[tuple[Estimate, Solution]]:
    """Yield the bounds of the features left."""
    kept = left.kept
    local = replace(solution, support=np.searchsorted(kept, solution.support))
    for bound, found in _bounds(part_of(problem, kept), local, effort):
        witness = left.witness(bound.witness)
        if witness is not None:
            # What was set aside is below the value found.
            value = max(bound.value, solution.value)
            yield Estimate(value, bound.kind, bound.cardinality, witness), replace(found, support=kept[found.support])


def bound_path(problem: Problem, solutions: list[Solution], effort: Effort) -> list[float]:
    """Return a bound for every cardinality, from the supports found for all of them.

    Every dual point bounds all cardinalities, so each has the least of all; row levels are warm-started from one k to
    the next.

    Parameters
    ----------
    problem
        The problem, for any cardinality.
    solutions
        The solutions for cardinality 1, 2, ...
    effort
        "fast" or "tight".
    """
    covariance, n = problem.covariance, problem.n_features
    cardinalities = list(range(1, len(solutions) + 1))
    best = np.full(len(solutions), np.inf)
    with problem.monitor.watch():
        if _may_be_written_out(covariance, effort) or isinstance(covariance, FactorCovariance):
            best[:] = [bound.value for bound in elementary_bounds(covariance, cardinalities)]
        else:
            best[:] = [trace_bound(covariance, k).value for k in cardinalities]
        problem.monitor.tick("bounds")
        if n <= (WRITE_OUT_LIMIT if effort == "tight" else FACTORED):
            # Every support bounds all cardinalities; of large matrices a few of them must do.
            step = 1 if n <= FEW_FEATURES else -(-len(solutions) // FEW_SUPPORTS)
            supports = [s.support for s in solutions[::-step]]
            found = path_bounds(factored(covariance), supports, cardinalities, known=best)
            np.minimum(best, found.upper, out=best)
        if effort == "tight" and n <= WRITE_OUT_LIMIT:
            _lower_by_row_levels(problem, solutions, best)
        elif n > FACTORED:
            _lower_by_split(problem, solutions, best, effort)
    return [float(value) for value in best]


def _lower_by_split(problem: Problem, solutions: list[Solution], best: Floats, effort: Effort) -> None:
    """Bound the path of few features of large variance, and what the others can add to it."""
    last = len(solutions)
    kept = most_varying(problem.covariance, last)
    if kept is None:
        return
    part = part_of(problem, kept)
    local = [in_part(part.with_cardinality(k), kept, s) for k, s in enumerate(solutions, start=1)]
    inside = np.array([0.0, *bound_path(part, local, effort)])
    found = bounds_over_all(inside, added_from_outside(problem.covariance, kept, last))
    np.minimum(best, found, out=best)


def _lower_by_row_levels(problem: Problem, solutions: list[Solution], best: Floats) -> None:
    n = problem.n_features
    S = problem.covariance.submatrix(np.arange(n))
    start: RowLevelSolution | None = None
    for place, solution in enumerate(solutions):
        if problem.monitor.stopped is not None:
            return
        if place > 0 and best[place] - solution.value > PROVED * abs(solution.value):
            start = RowLevels().solve(
                S,
                place + 1,
                start=start,
                vector=solution.vector(n),
                known=solution.value,
                monitor=problem.monitor,
            )
            best[place] = min(best[place], start.upper)


def every_bound(covariance: Covariance, cardinality: int, solution: Solution | None = None) -> dict[str, Estimate]:
    """Return all bounds by name, to compare them: nothing is left out because another is better.

    Parameters
    ----------
    covariance
        S, of a size that can be written out.
    cardinality
        k.
    solution
        The best support found; by default it is sought.
    """
    n, k = covariance.n_features, cardinality
    problem = Problem(covariance, k)
    found = Auto().solve(problem) if solution is None else solution
    S = covariance.submatrix(np.arange(n))
    dense = DenseCovariance(S, semidefinite=covariance.semidefinite)
    l1 = Splitting().solve(S, CardinalityForm(k))
    U = l1.dual_matrix(S)
    l0 = L0Relaxation().solve(S, k)
    levels = RowLevels().solve(S, k, vector=found.vector(n))
    bounds = [
        trace_bound(dense, k),
        row_sum_bound(dense, k),
        eigenvalue_bound(dense, k),
        soft_threshold_bound(dense, k),
        block_bound(dense, k),
        proposition_2_bound(dense, found.support, k),
        Estimate(l1.estimate(k), "l1 dual", k, DualWitness("l1 dual", multiplier=U)),
        Estimate(l0.upper, "l0", k, l0.witness()),
        combined_bound(S, k, U),
        Estimate(levels.upper, "row levels", k, levels.witness()),
    ]
    return {bound.kind: bound for bound in bounds}
