"""The estimates of `proof="fast"`: a few eigenvalues, for the price of a fit.

up to 400 features     trace, row sums, largest eigenvalue, Proposition 2 at the support found
more features          those of them that need no written-out matrix, and two groups: the 200 features of largest
variance, and the others
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from laconic.bounds.elimination.by_two_groups import two_groups_bound
from laconic.bounds.elimination.by_variance import ByVariance, eliminate_by_variance
from laconic.bounds.elimination.contract import Elimination
from laconic.core.arrays import Indices
from laconic.core.linalg import extreme_eigenpair
from laconic.core.thresholds import PROVED, WRITE_OUT_LIMIT
from laconic.covariance import Covariance, DenseCovariance
from laconic.problem import Problem, Solution, Status
from laconic.proof import Estimate, prove
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.relaxations.elementary import elementary_bound, largest_eigenvalue_bound, trace_bound
from laconic.relaxations.proposition_2.conditions import proposition_2_below
from laconic.relaxations.proposition_2.support import Conditions, MatrixProducts, proved_bound
from laconic.search.support import leading

# Up to this size a matrix is written out for a fast bound: its eigenvalues take hundredths of a second.
MOST_WRITTEN_OUT = 400
# Proposition 2 is left out for supports above this size: it needs their block of S, and the eigenvalues of that.
MOST_SUPPORT_FEATURES = 1000
# Above this size an eigenvalue takes seconds and cannot be stopped, so it is not begun after the time limit.
LARGE_EIGENPROBLEM = 1000
# The number of features of large variance that form the first of two groups.
FIRST_GROUP = 200
# The second group is too strong for a useful bound if the largest variance is at most this many times its own.
DECAY = 2
# Proposition 2 also looks at supports of these sizes, relative to the cardinality: another may give a lower bound.
SIZES = (0.5, 1.0, 1.25, 2.0, 3.0)


def fast_estimates(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield estimates for any number of features, the cheapest first. Forced features and signs are ignored."""
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    wide = covariance.factor is not None
    if not wide and not writing_out_is_cheap(covariance):
        yield from large_estimates(problem, solution)
        yield from _after_elimination(problem, solution)
        return
    if n <= MOST_WRITTEN_OUT and not (wide and 2 * covariance.eigenproblem_size < n):
        yield from small_estimates(problem, solution)
        return
    cheap = cheap_estimates(problem)
    yield from cheap
    if wide and len(solution.support) <= MOST_SUPPORT_FEATURES:
        evaluations = 1 if n > WRITE_OUT_LIMIT else 2
        below = proposition_2_below(covariance, solution.support, k, cheap[0].value, evaluations=evaluations)
        if below is not None:
            yield below
    yield from two_groups_estimates(problem, solution)


def writing_out_is_cheap(covariance: Covariance) -> bool:
    """Whether the n x n matrix is small, or held as an array already."""
    n = covariance.n_features
    return n <= WRITE_OUT_LIMIT and (n <= MOST_WRITTEN_OUT or covariance.written_out)


def cheap_estimates(problem: Problem) -> list[Estimate]:
    """Return the bounds that need no support, the least first: if time is up, only the first may be used."""
    covariance, k = problem.covariance, problem.cardinality
    if covariance.eigenproblem_size > LARGE_EIGENPROBLEM:
        problem.monitor.tick()
    wide = covariance.factor is not None and problem.n_features > MOST_WRITTEN_OUT
    kinds = (trace_bound, largest_eigenvalue_bound) if wide else (elementary_bound,)
    return sorted((kind(covariance, k) for kind in kinds), key=float)


def large_estimates(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the bounds of a matrix that is too large to write out."""
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    yield trace_bound(covariance, k)
    if covariance.eigenproblem_size <= min(n - 1, WRITE_OUT_LIMIT):
        yield largest_eigenvalue_bound(covariance, k)
    yield from two_groups_estimates(problem, solution)


def _after_elimination(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the estimates on the features of large variance, if they are few."""
    elimination = keep_large_variances(problem, solution, MOST_WRITTEN_OUT)
    if elimination is not None:
        for estimate in fast_estimates(*on_kept(elimination, problem, solution)):
            yield lifted(elimination, estimate, solution.value)


def keep_large_variances(problem: Problem, solution: Solution, most: int) -> ByVariance | None:
    """Eliminate features of small variance; return None if too many stay, or if the support found would be lost."""
    k = problem.cardinality
    elimination = eliminate_by_variance(problem.covariance, k, solution.value, trace_bound, rows=False)
    safe = np.isin(solution.support, elimination.kept).all() and k <= len(elimination.kept) <= most
    return elimination if safe else None


def on_kept(elimination: Elimination, problem: Problem, solution: Solution) -> tuple[Problem, Solution]:
    """Return the problem on the features kept, and the solution on them."""
    local = replace(solution, support=np.searchsorted(elimination.kept, solution.support))
    return problem_on(problem, elimination.kept), local


def lifted(elimination: Elimination, estimate: Estimate, value: float) -> Estimate:
    """Return an estimate on the features kept as one on all features. Supports with others do not exceed the value."""
    witness = elimination.lift(estimate.witness)
    assert witness is not None
    # A bound that is proved for the features kept is only an estimate for all features.
    return Estimate(max(estimate.value, value), estimate.kind, estimate.cardinality, witness)


def small_estimates(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the bounds of a matrix that is written out. Proposition 2 comes first if it may meet the value found."""
    covariance, k = problem.covariance, problem.cardinality
    S, away = covariance.enclosure.matrix, covariance.enclosure.away
    dense = covariance if covariance.matrix is S else DenseCovariance(S, semidefinite=covariance.semidefinite)
    products = MatrixProducts(S, 0.0 if covariance.semidefinite else dense.semidefinite_shift)
    conditions = Conditions(products, solution.support)
    enough = solution.value * (1 + PROVED)
    found = conditions.best(k) if conditions.promised(k) <= enough else None
    if found is not None and found[0] <= enough:
        yield proved_bound(problem.covariance.enclosure, k, found[1])
    cheap = elementary_bound(dense, k)
    if away:
        # The entries of a matrix that was not held as an array are rounded.
        cheap = replace(cheap, value=cheap.value + away)
    yield cheap
    if found is None and conditions.promised(k) < cheap.value:
        found = conditions.best(k, cheap.value)
    if found is not None and found[0] < cheap.value:
        yield proved_bound(problem.covariance.enclosure, k, found[1])


def two_groups_estimates(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the bound from two groups, if the variances decay enough."""
    k = problem.cardinality
    kept = first_group(problem.covariance, k)
    if kept is None:
        return
    part = problem_on(problem, kept)
    first = min(small_estimates(part, support_in(part, kept, solution)), key=float)
    first = _by_other_supports(part, first)
    bounds = [first]
    for q in (k - 2**power for power in range(k.bit_length()) if 2**power < k):
        problem.monitor.tick()
        smaller = part.with_cardinality(q)
        tried = list(small_estimates(smaller, support_in(smaller, kept, solution)))
        if isinstance(first.witness, Proposition2Witness):
            tried.append(prove(part.covariance.enclosure, q, first.witness, kind=first.kind))
        bounds.append(min(tried, key=float))
    yield two_groups_bound(problem.covariance, kept, k, bounds)


def _by_other_supports(problem: Problem, known: Estimate) -> Estimate:
    """Return the bound that supports of the dense component's largest loadings give, if it is below a known one."""
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    S = covariance.submatrix(np.arange(n))
    ranked = np.argsort(-np.abs(extreme_eigenpair(S, -1)[1]), kind="stable")
    products = MatrixProducts(S, covariance.semidefinite_shift)
    best: Proposition2Witness | None = None
    least = known.value
    for size in sorted({min(n, int(np.ceil(share * k))) for share in SIZES}):
        conditions = Conditions(products, np.sort(ranked[:size]))
        if conditions.promised(k) < least and (found := conditions.best(k, least)) is not None:
            least, best = found
    return known if best is None else min(proved_bound(covariance.enclosure, k, best), known, key=float)


def first_group(covariance: Covariance, cardinality: int) -> Indices | None:
    """Return the features of largest variance; None if there are not enough others, or these vary as much."""
    if not cardinality <= FIRST_GROUP < covariance.n_features:
        return None
    order = np.argsort(-covariance.diagonal, kind="stable")
    decays = DECAY * covariance.diagonal[order[FIRST_GROUP]] < covariance.diagonal[order[0]]
    return np.sort(order[:FIRST_GROUP]) if decays else None


def problem_on(problem: Problem, kept: Indices) -> Problem:
    """Return the problem on some of the features, without forced features and signs."""
    covariance = problem.covariance
    inner = DenseCovariance(covariance.submatrix(kept), semidefinite=covariance.semidefinite)
    return Problem(inner, problem.cardinality, monitor=problem.monitor)


def support_in(part: Problem, kept: Indices, solution: Solution) -> Solution:
    """Return a support among the features kept: those of the solution with the largest loadings, then by variance."""
    weight = np.zeros(part.n_features)
    own = np.isin(solution.support, kept)
    weight[np.searchsorted(kept, solution.support[own])] = solution.loadings[own] ** 2
    support = np.sort(np.lexsort((-part.covariance.diagonal, -weight))[: part.cardinality])
    value, z = leading(part.covariance.submatrix(support))
    return Solution(support, z, value, Status.HEURISTIC)
