"""The estimates of `proof="fast"`: for the price of a fit.

If S is written out: trace, row sums, largest eigenvalue, Proposition 2 at the support found, and a few steps of the
row-level relaxation. Features that this bound eliminates are left out, and the others are looked at again: if few
supports are left, all of them are compared.

Otherwise: the bounds that need no written-out matrix, two groups (the 200 features of largest variance, and the others)
and, if S comes from few rows, row levels as well.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from laconic.bounds.reduction import (
    ByVariance,
    Elimination,
    Pass,
    eliminate_by_variance,
    kept_by_value,
    two_groups_bound,
)
from laconic.core.arrays import PROVED, WRITE_OUT_LIMIT, Indices
from laconic.core.eigenvalues import extreme_eigenpair, proved_semidefinite_shift
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof import Estimate, prove
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.relaxations.elementary import elementary_bound, largest_eigenvalue_bound, trace_bound
from laconic.relaxations.proposition_2 import Conditions, MatrixProducts, proposition_2_below, proved_bound
from laconic.relaxations.rows import quick_row_levels
from laconic.search.exhaustive import Exhaustive, count_supports
from laconic.search.problem import Bound, Problem, Solution, Status
from laconic.search.support import leading

#: How much work to spend on a bound.
Effort: TypeAlias = Literal["fast", "tight", "exact"]
EFFORTS = ("fast", "tight", "exact")

#: The values that `proof=` takes.
Proof: TypeAlias = Effort | Bound


def check_proof(proof: Any) -> None:
    """Raise an error unless a value is one that `proof=` takes."""
    if isinstance(proof, str):
        if proof in EFFORTS:
            return
    elif isinstance(proof, Bound) and not isinstance(proof, type):
        return
    raise ValueError(
        f"proof={proof!r} must be 'fast', 'tight', 'exact', or an object with the method estimates of a `Bound`."
    )


# Up to this size a matrix is written out for a fast bound: its eigenvalues take hundredths of a second.
MOST_WRITTEN_OUT = 400
# The row-level relaxation sees a core of so many features.
CORE = 1000
# If a matrix of few rows is not written out, every S_ij is looked at once if that takes at most this many
# multiplications: a second or two.
MOST_PRODUCTS = 10**10
# All supports are compared if there are at most this many: that takes a few thousandths of a second.
FEW_SUPPORTS = 2000
# A row-level bound this far above the value found is weak, and other bounds are computed as well.
WEAK = 0.1
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
    if writing_out_is_cheap(covariance):
        yield from written_out_estimates(problem, solution)
        return
    if covariance.factor is None:
        yield from large_estimates(problem, solution)
    else:
        cheap = cheap_estimates(problem)
        yield from cheap
        if len(solution.support) <= MOST_SUPPORT_FEATURES:
            evaluations = 1 if n > WRITE_OUT_LIMIT else 2
            below = proposition_2_below(covariance, solution.support, k, cheap[0].value, evaluations=evaluations)
            if below is not None:
                yield below
        yield from two_groups_estimates(problem, solution)
    rows = covariance.eigenproblem_size
    if rows < n and rows * n * n <= MOST_PRODUCTS:
        levels = _row_levels(problem, solution)
        if levels is not None:
            yield levels
    if covariance.factor is None:
        yield from _after_elimination(problem, solution)


def _row_levels(problem: Problem, solution: Solution) -> Estimate | None:
    """Return the row-level bound after a few steps, or None if there is no time.

    Of many features only a core is looked at: those of large variance, and those that compete most with the support
    found. The gate cancels the rows of the others, for which it looks at every S_ij once. Until then the bound on the
    core is an estimate for all.
    """
    covariance, n = problem.covariance, problem.n_features
    z = solution.vector(n)
    core = np.arange(n)
    if n > CORE:
        image = np.abs(covariance.product(z))
        image[solution.support] = np.inf
        by_image, by_variance = (np.argsort(-size, kind="stable") for size in (image, covariance.diagonal))
        core = np.union1d(by_image[:CORE], by_variance[: CORE // 4])
    S = covariance.submatrix(core)
    levels = quick_row_levels(S, problem.cardinality, z[core], solution.value, monitor=problem.monitor)
    if levels is None:
        return None
    assert isinstance(levels.witness, DualWitness)
    return replace(levels, witness=replace(levels.witness, kept=core[levels.witness.kept]))


def writing_out_is_cheap(covariance: Covariance) -> bool:
    """Whether the n x n matrix is small, or held as an array already."""
    n = covariance.n_features
    return n <= WRITE_OUT_LIMIT and (n <= MOST_WRITTEN_OUT or covariance.written_out)


def written_out_estimates(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the bounds of a matrix that is written out, or may be.

    To sort all rows, or to compute an eigenvalue of all features, takes longer than a fit if there are many features.
    There the row-level relaxation comes first: it works on few features.
    """
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    if n <= MOST_WRITTEN_OUT:
        yield from small_estimates(problem, solution)
    elif covariance.known_semidefinite_shift is not None:
        yield trace_bound(covariance, k)
    free = Problem(covariance, k, monitor=problem.monitor)
    if count_supports(free) <= FEW_SUPPORTS:
        yield Estimate(Exhaustive().solve(free).estimate, "exhaustive", k, ExhaustiveWitness())
        return
    levels = _row_levels(problem, solution)
    if levels is None:
        return
    yield levels
    yield from _on_features_that_matter(problem, solution, levels)
    if n > MOST_WRITTEN_OUT:
        if _proposition_2_closes(problem, solution):
            yield from two_groups_estimates(problem, solution)
        if levels.value > (1 + WEAK) * solution.value:
            yield elementary_bound(covariance, k)


def _on_features_that_matter(problem: Problem, solution: Solution, levels: Estimate) -> Iterator[Estimate]:
    """Eliminate features by their rows and the row-level bound. Yield bounds on the others that halve the gap.

    A proof must look at the rows again, which is too much work for a smaller gain. The row-level bound with price G
    holds for k - 1 features, too: the cost k^2 G becomes (k - 1)^2 G.
    """
    k = problem.cardinality
    assert isinstance(levels.witness, DualWitness)
    smaller = replace(levels, value=levels.value - (2 * k - 1) * levels.witness.price, cardinality=k - 1)
    if k == 1 or smaller.value >= solution.value:
        return
    kept = kept_by_value(problem.covariance, k, solution.value, smaller.value, monitor=problem.monitor)
    elimination = ByVariance(kept, (Pass(kept, smaller, rows=True),))
    if _keeps_few(elimination, problem, solution, problem.n_features // 2):
        halfway = 0.5 * (levels.value + solution.value)
        for estimate in written_out_estimates(*on_kept(elimination, problem, solution)):
            if estimate.value <= halfway:
                yield lifted(elimination, estimate, solution.value)


def _proposition_2_closes(problem: Problem, solution: Solution) -> bool:
    """Whether Proposition 2 meets the value found on the features of large variance."""
    k, enough = problem.cardinality, solution.value * (1 + PROVED)
    kept = first_group(problem.covariance, k)
    if kept is None or not np.isin(solution.support, kept).all():
        return False
    S = problem.covariance.submatrix(kept)
    conditions = Conditions(MatrixProducts(S, proved_semidefinite_shift(S)), np.searchsorted(kept, solution.support))
    found = conditions.best(k) if conditions.promised(k) <= enough else None
    return found is not None and found[0] <= enough


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
    return elimination if _keeps_few(elimination, problem, solution, most) else None


def _keeps_few(elimination: Elimination, problem: Problem, solution: Solution, most: int) -> bool:
    """Whether an elimination keeps the support found, and not too many features."""
    kept = elimination.kept
    return bool(np.isin(solution.support, kept).all()) and problem.cardinality <= len(kept) <= most


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
    S, away = covariance.matrix, covariance.away
    dense = covariance if covariance.written_out else DenseCovariance(S, semidefinite=covariance.semidefinite)
    products = MatrixProducts(S, 0.0 if covariance.semidefinite else dense.semidefinite_shift)
    conditions = Conditions(products, solution.support)
    enough = solution.value * (1 + PROVED)
    found = conditions.best(k) if conditions.promised(k) <= enough else None
    if found is not None and found[0] <= enough:
        yield proved_bound(problem.covariance, k, found[1])
    cheap = elementary_bound(dense, k)
    if away:
        # The entries of a matrix that was not held as an array are rounded.
        cheap = replace(cheap, value=cheap.value + away)
    yield cheap
    if found is None and conditions.promised(k) < cheap.value:
        found = conditions.best(k, cheap.value)
    if found is not None and found[0] < cheap.value:
        yield proved_bound(problem.covariance, k, found[1])


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
            tried.append(prove(part.covariance, q, first.witness, kind=first.kind))
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
    return known if best is None else min(proved_bound(covariance, k, best), known, key=float)


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
