"""Sparse components over tens of thousands of tokens: a relaxation on few of them, bounds and elimination on all.

The relaxation is solved on the tokens whose variance exceeds t, and its bounds are made to hold for all of them
(`laconic.relaxations.split`). With t below what a token adds to a bound nothing is lost by leaving out the rest. Given
such bounds `bounds.elimination.by_variance.by_incumbent` says which tokens may belong to a best support at all, and
branch and bound on these settles what it is.
"""

from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.elimination.by_variance import by_incumbent
from laconic.bounds.tree.search import BranchAndBound
from laconic.core.arrays import Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance
from laconic.methods.dspca import Dspca
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.relaxations.split import bounds_over_all, sums_of_largest
from laconic.studies.text import row_level_bounds, show

# Rows of more tokens than this are not looked at.
ROWS = 3000
# More tokens than this are not given to branch and bound.
FEW = 400


@dataclass(frozen=True, eq=False)
class TokenPath:
    """Components for each cardinality 1, ..., K, over all tokens.

    Attributes
    ----------
    looked_at
        The tokens that the relaxation was solved on.
    solutions
        What DSPCA finds, with a bound over all tokens; supports are places among all tokens.
    left_by_variances, left_by_rows
        For each cardinality how many tokens may belong to a best support: by the test on variances alone, and by that
        on rows too.
    """

    looked_at: Indices
    solutions: list[Solution]
    left_by_variances: list[int]
    left_by_rows: list[int]


def find_path(covariance: Covariance, least_variance: float, last: int, monitor: Monitor, *, prove: bool) -> TokenPath:
    """Solve DSPCA for each cardinality, prove bounds over all tokens, eliminate what no best support holds.

    Parameters
    ----------
    covariance
        S of all tokens, semidefinite.
    least_variance
        t.
    last
        The largest cardinality.
    monitor
        Stops in time.
    prove
        Tighten the bounds of the l1 relaxation by row levels, and settle the best support where few tokens are left.
    """
    keep = np.flatnonzero(covariance.diagonal > least_variance)
    inner = DenseCovariance(covariance.submatrix(keep))
    show(monitor, f"DSPCA on {len(keep)} tokens")
    solutions = Dspca(tolerance=1e-3).path(Problem(inner, last, monitor=monitor))
    bounds = [solution.upper for solution in solutions]
    if prove:
        bounds = row_level_bounds(inner.matrix, solutions, monitor)
    outside = np.delete(covariance.diagonal, keep)
    bounds = bounds_over_all(np.array([0.0, *bounds]), sums_of_largest(outside, last)).tolist()
    found = [
        replace(s, support=keep[s.support], estimate=max(b, s.value)) for s, b in zip(solutions, bounds, strict=True)
    ]
    by_variances, by_rows = [], []
    for k, solution in enumerate(found, start=1):
        show(monitor, f"elimination at cardinality {k}")
        before = found[k - 2].upper if k > 1 else 0.0
        left = by_incumbent(covariance, k, solution.value, before, rows=False)
        by_variances.append(len(left))
        if len(left) <= ROWS:
            left = by_incumbent(covariance, k, solution.value, before)
        by_rows.append(len(left))
        if prove and len(left) <= FEW:
            found[k - 1] = _settled(covariance, left, solution, monitor)
    return TokenPath(keep, found, by_variances, by_rows)


def _settled(covariance: Covariance, left: Indices, found: Solution, monitor: Monitor) -> Solution:
    """Return a component with the bound that branch and bound on the tokens left gives: it holds for all tokens."""
    if len(left) <= len(found.support):
        # No other support reaches the value found.
        return found.estimated(found.value * (1 + 1e-9))
    problem = Problem(DenseCovariance(covariance.submatrix(left)), len(found.support), monitor=monitor)
    start = np.searchsorted(left, found.support)
    exact = BranchAndBound(node_limit=5000).solve(problem, start=start)
    return found.estimated(exact.upper)
