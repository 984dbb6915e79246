"""Many features: those that provably belong to no better support are set aside before anything is written out."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from laconic._typing import Indices
from laconic.covariance import Covariance, DenseCovariance, FactorCovariance, SubsetCovariance
from laconic.problem import Problem
from laconic.relaxations.elementary import elementary_bound, trace_bound
from laconic.relaxations.optimality import proposition_2_bound
from laconic.screening import Screened, screen
from laconic.solution import Solution
from laconic.solvers.auto import Auto
from laconic.witness import UpperBound

if TYPE_CHECKING:
    from laconic.exact.branch_and_bound import BranchAndBound


def eliminate(problem: Problem, value: float, limit: int) -> Screened:
    """Return what is left of the features if supports of some value or less are of no interest.

    Parameters
    ----------
    problem
        The problem.
    value
        A value that supports are to exceed.
    limit
        The most features for which the covariance may be written out.
    """
    k = problem.cardinality
    support = np.empty(0, dtype=np.intp)
    if k > 1:
        smaller = replace(problem, cardinality=k - 1, forced=problem.forced[: k - 1], nonnegative=False)
        support = Auto(polish=1).solve(smaller).support
    bound = _bound_by(support, limit)
    return screen(problem.covariance, k, value, bound, rows=True, forced=problem.forced)


def _bound_by(support: Indices, limit: int) -> Callable[[Covariance, int], UpperBound]:
    """Return a bound for supports of one feature less, given a good one of them: the least that is cheap."""

    def bound(covariance: Covariance, cardinality: int) -> UpperBound:
        kept = covariance.keep if isinstance(covariance, SubsetCovariance) else np.arange(covariance.n_features)
        base = covariance.base if isinstance(covariance, SubsetCovariance) else covariance
        tried = [trace_bound(covariance, cardinality)]
        if isinstance(base, FactorCovariance):
            if np.isin(support, kept).all():
                part = FactorCovariance(base.factor[:, kept])
                tried.append(proposition_2_bound(part, np.searchsorted(kept, support), cardinality))
        elif len(kept) <= limit:
            tried.append(elementary_bound(covariance, cardinality))
        return min(tried, key=float)

    return bound


def prove_on(
    settings: "BranchAndBound", problem: Problem, first: Solution, target: float, screened: Screened
) -> Solution:
    """Prove the best support among the features left; no other is better than the first, or than a target.

    Parameters
    ----------
    settings
        Of the search.
    problem
        The problem, on all features.
    first
        A solution of it.
    target
        Supports of this value or less are of no interest.
    screened
        What is left of the features.
    """
    kept = screened.kept
    others = max(first.value, target)
    if not np.isin(first.support, kept).all():
        # Only supports better than the target were kept.
        return replace(first, method=settings.name, upper=max(others, first.upper))
    inner = replace(
        problem,
        covariance=DenseCovariance(problem.covariance.submatrix(kept), semidefinite=problem.covariance.semidefinite),
        forced=np.searchsorted(kept, problem.forced),
    )
    found = settings.search(inner, replace(first, support=np.searchsorted(kept, first.support)), target)
    return replace(
        found,
        support=kept[found.support],
        upper=max(found.upper, others),
        witness=None if found.witness is None else screened.witness(found.witness),
        reason=f"{len(kept)} of {problem.n_features} features are left; {found.reason}",
    )
