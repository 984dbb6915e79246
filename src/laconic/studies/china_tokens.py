"""Sparse components of tens of thousands of tokens: a relaxation on some tokens, bounds and elimination for all.

1. Solve the relaxation on the tokens with a variance above t.
2. Add the variances of the other tokens, so that the bounds are valid for all tokens
   (`laconic.bounds.elimination.by_two_groups`). This does not change the bounds if t is below their increase from each
   cardinality to the next.
3. Eliminate the tokens that belong to no optimal support (`laconic.bounds.elimination.by_variance.kept_by_value`).
4. Solve the problem on the tokens that are left by branch and bound.
"""

from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.elimination.by_two_groups import bounds_on_all, sums_of_largest
from laconic.bounds.elimination.by_variance import kept_by_value
from laconic.core.arrays import Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance
from laconic.methods.dspca import Dspca
from laconic.methods.exact import BranchAndBound
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.studies.text import row_level_bounds, show

# Apply the elimination by rows only if at most this many tokens are left: it computes a row of the covariance matrix
# for each of them.
ROWS = 3000
# Run branch and bound only on at most this many tokens, so that a proof takes seconds.
FEW = 400


@dataclass(frozen=True, eq=False)
class TokenPath:
    """Components for each cardinality 1, ..., K.

    Attributes
    ----------
    looked_at
        Indices of the tokens on which the relaxation was solved.
    solutions
        The components of DSPCA. Their bounds are valid for all tokens, and their supports are indices among all tokens.
    left_by_variances, left_by_rows
        For each cardinality, how many tokens may belong to an optimal support: after elimination by variances only,
        and after elimination by rows, too.
    """

    looked_at: Indices
    solutions: list[Solution]
    left_by_variances: list[int]
    left_by_rows: list[int]


def find_path(covariance: Covariance, least_variance: float, last: int, monitor: Monitor, *, prove: bool) -> TokenPath:
    """Solve DSPCA for each cardinality, bound all supports of all tokens, and eliminate tokens.

    Parameters
    ----------
    covariance
        The covariance of all tokens, positive semidefinite.
    least_variance
        The variance t. The relaxation is solved on the tokens with a variance above it.
    last
        The largest cardinality.
    monitor
        Stops at the time limit.
    prove
        Whether to improve the bounds of the l1 relaxation by row levels, and to find the optimal support by branch and
        bound if few tokens are left.
    """
    keep = np.flatnonzero(covariance.diagonal > least_variance)
    inner = DenseCovariance(covariance.submatrix(keep))
    show(monitor, f"DSPCA on {len(keep)} tokens")
    solutions = Dspca(tolerance=1e-3).path(Problem(inner, last, monitor=monitor))
    bounds = [solution.upper for solution in solutions]
    if prove:
        bounds = row_level_bounds(inner.matrix, solutions, monitor)
    outside = np.delete(covariance.diagonal, keep)
    bounds = bounds_on_all(np.array([0.0, *bounds]), sums_of_largest(outside, last)).tolist()
    found = [
        replace(s, support=keep[s.support], estimate=max(b, s.value)) for s, b in zip(solutions, bounds, strict=True)
    ]
    by_variances, by_rows = [], []
    for k, solution in enumerate(found, start=1):
        show(monitor, f"elimination at cardinality {k}")
        before = found[k - 2].upper if k > 1 else 0.0
        left = kept_by_value(covariance, k, solution.value, before, rows=False)
        by_variances.append(len(left))
        if len(left) <= ROWS:
            left = kept_by_value(covariance, k, solution.value, before)
        by_rows.append(len(left))
        if prove and len(left) <= FEW:
            found[k - 1] = _with_tree_bound(covariance, left, solution, monitor)
    return TokenPath(keep, found, by_variances, by_rows)


def _with_tree_bound(covariance: Covariance, left: Indices, found: Solution, monitor: Monitor) -> Solution:
    """Return a component with the bound of branch and bound on the tokens left, which is valid for all tokens."""
    if len(left) <= len(found.support):
        # Only one support is left, so no other support reaches the value found.
        return found.estimated(found.value * (1 + 1e-9))
    problem = Problem(DenseCovariance(covariance.submatrix(left)), len(found.support), monitor=monitor)
    start = np.searchsorted(left, found.support)
    exact = BranchAndBound(node_limit=5000).solve(problem, start=start)
    return found.estimated(exact.upper)
