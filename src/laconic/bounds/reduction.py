"""Which features can be in a better support? The others are left out.

Let v be the value of a known support. A feature is left out if no support that contains it has a value above v. The
proofs are in `laconic.proof.witness_steps`: what a feature that was left out could reach is computed again there.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Indices
from laconic.covariance import Covariance
from laconic.proof.witness_steps import reach_by_rows
from laconic.search.problem import Solution
from laconic.search.support import leading

# Set a feature aside if its variance is below this share of what the last feature of the support adds. The rest of that
# is room for the bounds on fewer features.
SMALL_SHARE = 0.5
# The features of large variance are at least this many: so few cost nothing.
FEWEST = 200
# A feature is left out by its row if what it reaches is below the value by more than this share of it. The difference
# is room for other containers of the data, whose entries are rounded otherwise.
MARGIN = 2e-4
# With more strong rows than this, anchors are not used: most features are near one of so many rows.
MOST_STRONG = 2000
# Values that differ by less than this share of the largest number added are a tie: rounding errors stay below it.
TIE = 4e-12


def large_variances(S: Covariance, among: Indices, solution: Solution, value: float) -> Indices | None:
    """Return the features of large variance among some, or None if these are nearly all.

    A feature i that is in a support of k features with at least the value v has b + S_ii >= v, with b a bound on k - 1
    features. The sum of the largest variances is such a bound. Where they decay, the value of the k - 1 strongest
    features of the support is a guess at a much lower one; the proof finds out whether it holds.
    """
    variances, k = S.diagonal, len(solution.support)
    if k == 1 or S.known_semidefinite_shift is None:
        return None
    strongest = np.sort(solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")[: k - 1]])
    added = value - leading(S.submatrix(strongest))[0]
    sure = value - float(np.sort(variances)[::-1][: k - 1].sum()) - S.semidefinite_cost(1)
    count = int(np.count_nonzero(variances >= max(SMALL_SHARE * added, sure * (1 - TIE))))
    order = among[np.argsort(-variances[among], kind="stable")]
    kept = np.union1d(order[: max(FEWEST, count)], solution.support)
    return kept if 2 * len(kept) <= len(among) else None


@dataclass(frozen=True, eq=False)
class Reduced:
    """What rows leave: the features, the strong rows, and what the features that were left out reach."""

    kept: Indices
    strong: Indices
    reach: float


def reduced_by_rows(S: Covariance, k: int, value: float, smaller: float, solution: Solution) -> Reduced | None:
    """Leave out features that no support above a value contains; None if a feature of the solution would be lost.

    `smaller` is a bound on supports of k - 1 features.
    """
    n = S.n_features
    circles = S.variances + np.asarray(S.pairs(k - 1).largest).sum(axis=1)
    strong = np.flatnonzero(circles >= value * (1 - MARGIN))
    if len(strong) > min(MOST_STRONG, n // 2):
        strong = strong[:0]
    reach = reach_by_rows(S, k, smaller, np.arange(n), strong)
    stays = reach >= value * (1 - MARGIN)
    stays[solution.support] = True
    if np.count_nonzero(stays) < k:
        return None
    return Reduced(np.flatnonzero(stays), strong, float(reach[~stays].max(initial=-np.inf)))


def kept_by_penalty(covariance: Covariance, rho: float) -> Indices:
    """Return the features that may enter a solution of the l0-penalised form: S_ii > rho.

    With S = A'A the best value is max_x sum_i ((a_i'x)^2 - rho)_+ over unit x, and (a_i'x)^2 <= S_ii. If only S + d I
    is semidefinite, the test is S_ii + d > rho. It is *not* safe for the l1 relaxation, max Tr SX - rho sum_ij |X_ij|.
    With S = [[100, 9], [9, 0.9]] and rho = 1 the second variance is below rho. But x = (cos f, sin f), with f small and
    positive, gains 2 (9 - 1) f to first order over x = (1, 0) and loses only terms of second order. The test of that
    relaxation is in `laconic.relaxations.l1_splitting.Splitting`.
    """
    if not rho >= 0:
        raise ValueError(f"rho={rho} must not be negative.")
    return np.flatnonzero(covariance.diagonal + covariance.semidefinite_shift > rho * (1 - TIE))
