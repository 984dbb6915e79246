"""Upper bounds of the studies. Every number that a study calls proved goes through the gate here."""

from collections.abc import Sequence

import numpy as np

from laconic.bounds.least import bound_support
from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof import Estimate, ProofError, prove
from laconic.relaxations.elementary import trace_bound
from laconic.relaxations.rows import RowLevels, RowLevelSolution
from laconic.search.problem import Problem, Solution

# The pages show bounds to a tenth of a percent. A relative tolerance of 1e-4 is ten times finer.
BOUND = RowLevels(tolerance=1e-4, max_iterations=200, least_progress=0.02)


def proved_by(covariance: Covariance, solution: Solution, estimate: Estimate) -> Solution:
    """Return a component with the bound that an estimate proves, or unchanged if the estimate proves nothing.

    Parameters
    ----------
    covariance
        The covariance on which the component was found.
    solution
        The component.
    estimate
        The estimate with its witness.
    """
    try:
        return solution.proved(prove(covariance, estimate.cardinality, estimate.witness, kind=estimate.kind))
    except ProofError:
        return solution


def proved_by_tree(problem: Problem, solution: Solution, tree: Solution) -> Solution:
    """Return a component with the bound that branch and bound proves.

    Parameters
    ----------
    problem
        The problem that branch and bound solved.
    solution
        The component. It may have less variance than the result of branch and bound.
    tree
        The result of branch and bound. If its tree is too large to be proved, a fast bound is used instead.
    """
    return solution.proved(bound_support(problem, tree, "fast"))


def row_level_estimates(S: Floats, solutions: Sequence[Solution], monitor: Monitor) -> list[Estimate]:
    """Return an estimate for each cardinality 1, 2, ...: that of row levels, or the solver's own if it is smaller.

    Each solve starts from the solution of the cardinality before.

    Parameters
    ----------
    S
        A symmetric matrix.
    solutions
        The components found, one for each cardinality. A solve stops when its bound is as small as the component's
        variance.
    monitor
        Stops at the time limit. The remaining cardinalities get the solver's own estimates.
    """
    estimates: list[Estimate] = []
    last: RowLevelSolution | None = None
    for k, found in enumerate(solutions, start=1):
        own = _own_estimate(S, k, found)
        if monitor.stopped is None:
            last = BOUND.solve(
                S, k, start=last, vector=found.vector(len(S)), known=found.value * (1 + 1e-9), monitor=monitor
            )
            own = min(own, Estimate(last.estimate, "row levels", k, last.witness()), key=float)
        estimates.append(own)
    return estimates


def _own_estimate(S: Floats, k: int, found: Solution) -> Estimate:
    """Return the solver's own estimate, or the sum of the largest variances if it has no witness."""
    if found.witness is None or not np.isfinite(found.estimate):
        return trace_bound(DenseCovariance(S), k)
    return Estimate(found.estimate, "", k, found.witness)
