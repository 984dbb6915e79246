"""Sparse components of tens of thousands of tokens: a relaxation on some tokens, bounds and elimination for all.

1. Find components on the tokens with a variance above t by DSPCA. Row levels bound all supports of these tokens.
2. Add the variances of the other tokens, so that the bounds are valid for all tokens
   (`laconic.bounds.reduction`). This does not change the bounds if t is below their increase from each
   cardinality to the next.
3. Eliminate tokens that belong to no optimal support: first by their variances, then by their rows
   (`laconic.bounds.reduction.kept_by_value`).
4. Solve the problem on the tokens that are left by branch and bound.

The gate proves each bound. For step 4 the witness contains the tree and both eliminations.
"""

from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.dspca import Dspca
from laconic.bounds.exact import BranchAndBound
from laconic.bounds.reduction import kept_by_value, two_groups_bound
from laconic.core.arrays import PROVED, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof import Estimate
from laconic.proof.witness_reduction import EliminationWitness
from laconic.search.problem import Problem, Solution
from laconic.studies.proofs import BOUND, proved_by, row_level_estimates
from laconic.studies.text import show

# Apply the elimination by rows only if at most this many tokens are left: it computes a row of the covariance matrix
# for each of them.
ROWS = 3000
# Run branch and bound only on at most this many tokens, so that a proof takes seconds.
FEW = 400
# A bound on all tokens uses the bounds on the tokens kept at cardinality k - j, for these j. It needs more than one,
# because j tokens may be outside. A few are enough: a bound for k - j is also valid for fewer tokens.
OUTSIDE = (0, 1, 2, 4, 7, 12, 21)


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


def find_path(covariance: Covariance, least_variance: float, last: int, monitor: Monitor, *, tree: bool) -> TokenPath:
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
    tree
        Whether to find the optimal support by branch and bound if few tokens are left.
    """
    keep = np.flatnonzero(covariance.diagonal > least_variance)
    inner = DenseCovariance(covariance.submatrix(keep))
    show(monitor, f"DSPCA on {len(keep)} tokens")
    solutions = Dspca(tolerance=1e-3).path(Problem(inner, last, monitor=monitor))
    show(monitor, f"row levels on {len(keep)} tokens")
    inside = row_level_estimates(inner.matrix, solutions, monitor)
    over_all = [
        two_groups_bound(covariance, keep, k, [inside[k - j - 1] for j in OUTSIDE if j < k]) for k in range(1, last + 1)
    ]
    found: list[Solution] = []
    by_variances, by_rows = [], []
    for k, solution in enumerate(solutions, start=1):
        show(monitor, f"proof and elimination at cardinality {k}")
        # The solver's own estimate and witness are only about the tokens kept.
        best = replace(solution, support=keep[solution.support], estimate=np.inf, witness=None)
        before = found[-1].upper if found else 0.0
        left = kept_by_value(covariance, k, best.value, before, rows=False)
        by_variances.append(len(left))
        if len(left) <= ROWS:
            left = kept_by_value(covariance, k, best.value, before)
        by_rows.append(len(left))
        if tree and k > 1:
            best = _proved_by_elimination(covariance, best, over_all[k - 2], monitor)
        if best.gap > PROVED:
            best = proved_by(covariance, best, over_all[k - 1])
        found.append(best)
    return TokenPath(keep, found, by_variances, by_rows)


def _proved_by_elimination(covariance: Covariance, found: Solution, before: Estimate, monitor: Monitor) -> Solution:
    """Return a component with the bound of branch and bound on the tokens that two eliminations leave.

    The bound is valid for all tokens. If too many tokens are left, the component is returned unchanged.

    Parameters
    ----------
    covariance
        The covariance of all tokens.
    found
        The component.
    before
        The estimate for one token fewer.
    monitor
        Stops at the time limit.
    """
    k = len(found.support)
    some = kept_by_value(covariance, k, found.value, before.value, rows=False)
    if not k <= len(some) <= ROWS:
        return found
    part = DenseCovariance(covariance.submatrix(some))
    fewer = BOUND.solve(part.matrix, k - 1, monitor=monitor)
    few = kept_by_value(part, k, found.value, fewer.estimate)
    if not k <= len(few) <= FEW:
        return found
    problem = Problem(DenseCovariance(part.submatrix(few)), k, monitor=monitor)
    exact = BranchAndBound(node_limit=5000).solve(problem, start=np.searchsorted(some[few], found.support))
    if exact.witness is None:
        return found
    by_rows = EliminationWitness(few, fewer.witness(), True, exact.witness)
    witness = EliminationWitness(some, before.witness, False, by_rows)
    return proved_by(covariance, found, Estimate(exact.estimate, "branch and bound", k, witness))
