"""The least upper bound that a proof gives for one problem.

There is no bound that is always the least. The estimates come in order of their cost, and the work ends when one meets
the value found: no bound can be lower. The gate then proves the least estimate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from laconic.bounds.exact import is_exact, proof_of
from laconic.bounds.fast import Proof, fast_estimates
from laconic.bounds.tight import estimates_with_hidden, own_estimate, solve_at_hand, tight_estimates
from laconic.core.arrays import PROVED
from laconic.proof import Estimate, ProofError, UpperBound, prove
from laconic.proof.witness_plain import TraceWitness
from laconic.search import Swaps
from laconic.search.problem import Problem, Solution, stopped_or
from laconic.search.support import EQUAL


def bound_support(problem: Problem, solution: Solution, proof: Proof) -> UpperBound:
    """Return the least bound that is proved for a problem with a known solution; raise `ProofError` if there is none.

    A bound on all supports also bounds those that constraints allow. The solution's own estimate counts, too.
    """
    return bound_and_improve(problem, solution, proof)[0]


def bound_and_improve(problem: Problem, solution: Solution, proof: Proof) -> tuple[UpperBound, Solution]:
    """Return the bound of `bound_support`, and the solution or a better one that was found on the way.

    A tree of cases ignores forced features and signs. A support that it finds is taken only if it satisfies them.
    """
    proof = proof_of(proof)
    if is_exact(proof):
        found = proof.search(problem, solution)
        # The bound of the tree is the solution's own now. If it leaves a gap, fast bounds may be lower.
        return bound_and_improve(problem, found, "fast")[0], replace(found, bound=None)
    estimates: list[Estimate] = []
    best = solution
    if solution.witness is not None and np.isfinite(solution.estimate):
        estimates.append(own_estimate(solution, problem.cardinality))
    with problem.monitor.watch():
        if not estimates or not closes(estimates[0], solution):
            for estimate, found in _estimates(problem, solution, proof):
                estimates.append(estimate)
                if found.value > best.value * (1 + EQUAL) and _allowed(problem, found):
                    best = found
                if closes(estimate, best):
                    break
                if np.isfinite(estimate.value):
                    problem.monitor.tick("bounds")
    if best is not solution:
        best = _improved(problem, solution, best)
    return least_proved(problem, estimates), best


def least_proved(problem: Problem, estimates: Sequence[Estimate]) -> UpperBound:
    """Return the least of some estimates that passes the gate. Bounds proved already may be among them.

    If there are none, the sum of the largest variances is proved. If none passes, the error is that of the least one.
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
                bound = prove(problem.covariance, k, estimate.witness, kind=estimate.kind, inside=problem.forced)
        except ProofError as error:
            reasons.append(str(error))
            continue
        best = bound if best is None else min(best, bound, key=float)
    if best is None:
        raise ProofError(reasons[0])
    return replace(best, others={estimate.kind: estimate.value for estimate in estimates})


def _estimates(problem: Problem, solution: Solution, proof: Proof) -> Iterator[tuple[Estimate, Solution]]:
    """Yield estimates, the cheapest first, each with the best solution known by then."""
    if problem.covariance.at_hand is not None:
        yield from estimates_with_hidden(problem, solution, proof, _estimates)
    elif proof == "tight":
        yield from tight_estimates(problem, solution)
    else:
        estimates = fast_estimates(problem, solution) if isinstance(proof, str) else proof.estimates(problem, solution)
        yield from ((estimate, solution) for estimate in estimates)


def closes(bound: Estimate | None, solution: Solution) -> bool:
    """Say whether a bound, once it is proved, shows that a solution is optimal."""
    return bound is not None and bound.value - solution.value <= PROVED * abs(solution.value)


def with_note(solution: Solution, note: str) -> Solution:
    """Return the solution with a note added to its reason."""
    return replace(solution, reason=f"{solution.reason}; {note}" if solution.reason else note)


def _allowed(problem: Problem, found: Solution) -> bool:
    """Whether a solution that was found without the constraints satisfies them."""
    signs = not problem.nonnegative or bool((found.loadings >= 0).all())
    return signs and bool(np.isin(problem.forced, found.support).all())


def _improved(problem: Problem, solution: Solution, found: Solution) -> Solution:
    """Improve a better support by exchanges, and put it in the place of the solution's own."""
    better = solve_at_hand(Swaps(), problem, start=found.support)
    return replace(
        with_note(solution, "a better support was found on the way to the proof"),
        support=better.support,
        loadings=better.loadings,
        value=better.value,
        status=stopped_or(problem.monitor.stopped, better.status),
        estimate=np.inf,
        witness=None,
    )
