"""Bounds for the price of a fit: of a small matrix, and of many features by the few that vary most."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from laconic.core.arrays import Indices
from laconic.core.linalg import EPS, extreme_eigenpair
from laconic.core.wording import PROVED
from laconic.covariance import Covariance, DenseCovariance
from laconic.covariance.enclosure import Enclosure
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof import prove
from laconic.proof.estimate import Estimate
from laconic.proof.witness import ComponentWitness
from laconic.relaxations.component import Conditions
from laconic.relaxations.elementary import ROUNDING, elementary_bound
from laconic.relaxations.split import split_bound
from laconic.search.support import leading

# Features of large variance that are looked at, where the others vary so many times less than the first.
LARGEST, SMALLER = 200, 2
# Sizes of other supports, relative to the cardinality, that may prove more of it by Proposition 2 than the one found.
SIZES = (0.5, 1.0, 1.25, 2.0, 3.0)


def bounds_of_small(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the fast bounds of a small matrix: Proposition 2 first if it may end the work.

    Parameters
    ----------
    problem
        The problem, of a size that can be written out.
    solution
        The best support found.
    """
    covariance, k = problem.covariance, problem.cardinality
    dense, away = covariance, 0.0
    if not isinstance(dense, DenseCovariance):
        known = problem.enclosed
        if isinstance(known, Enclosure):
            S, away = known.matrix, known.away
        else:
            S, away = covariance.submatrix(np.arange(problem.n_features)), k * ROUNDING * EPS * covariance.scale
        dense = DenseCovariance(S, semidefinite=covariance.semidefinite)
    conditions = Conditions(dense.matrix, solution.support, k, 0.0 if covariance.semidefinite else dense.deficit)
    enough = solution.value * (1 + PROVED)
    if conditions.promised <= enough and conditions.least() <= enough:
        yield conditions.bound(problem.enclosed)
    cheap = elementary_bound(dense, k)
    if away:
        # The entries of a matrix that is not written out are known up to rounding.
        cheap = replace(cheap, value=cheap.value + away)
    yield cheap
    if conditions.promised < cheap.value and conditions.least(cheap.value) < cheap.value:
        yield conditions.bound(problem.enclosed)


def split_bounds(problem: Problem, solution: Solution) -> Iterator[Estimate]:
    """Yield the bound from few features of large variance, unless the others vary as much.

    Parameters
    ----------
    problem
        The problem, of any number of features.
    solution
        The best support found.
    """
    k = problem.cardinality
    kept = most_varying(problem.covariance, k)
    if kept is None:
        return
    part = part_of(problem, kept)
    first = min(bounds_of_small(part, in_part(part, kept, solution)), key=float)
    first = _by_other_supports(part, first)
    bounds = [first]
    for q in (k - 2**power for power in range(k.bit_length()) if 2**power < k):
        smaller = part.with_cardinality(q)
        tried = list(bounds_of_small(smaller, in_part(smaller, kept, solution)))
        if isinstance(first.witness, ComponentWitness):
            tried.append(prove(part.enclosed, q, first.witness, kind=first.kind))
        bounds.append(min(tried, key=float))
    yield split_bound(problem.covariance, kept, k, bounds)


def _by_other_supports(problem: Problem, known: Estimate) -> Estimate:
    """Return what the weightiest features of the dense component prove, if that is below a bound that is known."""
    covariance, k, n = problem.covariance, problem.cardinality, problem.n_features
    assert isinstance(covariance, DenseCovariance)
    ranked = np.argsort(-np.abs(extreme_eigenpair(covariance.matrix, -1)[1]), kind="stable")
    best: Conditions | None = None
    least = known.value
    for size in sorted({min(n, int(np.ceil(share * k))) for share in SIZES}):
        conditions = Conditions(covariance.matrix, np.sort(ranked[:size]), k, covariance.deficit)
        if conditions.promised < least and conditions.least(least) < least:
            best, least = conditions, conditions.least()
    return known if best is None else min(best.bound(problem.enclosed), known, key=float)


def most_varying(covariance: Covariance, cardinality: int) -> Indices | None:
    """Return the features of the largest variances; None if they are no fewer, or the others vary as much.

    Parameters
    ----------
    covariance
        S.
    cardinality
        k.
    """
    if not cardinality <= LARGEST < covariance.n_features:
        return None
    order = np.argsort(-covariance.diagonal, kind="stable")
    decay = SMALLER * covariance.diagonal[order[LARGEST]] < covariance.diagonal[order[0]]
    return np.sort(order[:LARGEST]) if decay else None


def part_of(problem: Problem, kept: Indices) -> Problem:
    """Return the problem of some of the features, with nothing forced.

    Parameters
    ----------
    problem
        The problem.
    kept
        These features.
    """
    covariance = problem.covariance
    inner = DenseCovariance(covariance.submatrix(kept), semidefinite=covariance.semidefinite)
    return Problem(inner, problem.cardinality, monitor=problem.monitor)


def in_part(part: Problem, kept: Indices, solution: Solution) -> Solution:
    """Return a support of the part: the weightiest features that a solution has there, then those that vary most.

    Parameters
    ----------
    part
        The problem of some of the features.
    kept
        These features.
    solution
        A solution on all features.
    """
    weight = np.zeros(part.n_features)
    own = np.isin(solution.support, kept)
    weight[np.searchsorted(kept, solution.support[own])] = solution.loadings[own] ** 2
    support = np.sort(np.lexsort((-part.covariance.diagonal, -weight))[: part.cardinality])
    value, z = leading(part.covariance.submatrix(support))
    return Solution(support, z, value, Status.HEURISTIC)
