"""The smallest cardinality that keeps a share of the dense component's variance."""

from laconic.core.arrays import Floats
from laconic.core.monitor import warn
from laconic.core.words import at_least
from laconic.covariance import largest_eigenpair
from laconic.search import Thresholding
from laconic.search.greedy import cut_off
from laconic.search.problem import Problem, Solution, Solver, Status
from laconic.search.support import Incumbent

# The share may be missed by this, relative to the target: rounding errors of two eigenvalues are smaller.
ROUNDING = 1e-10


def smallest_cardinality(problem: Problem, solver: Solver, share: float) -> tuple[Solution, float]:
    """Return the solution of the smallest cardinality found, and the variance of the dense component.

    The search begins at the smallest cardinality at which the dense component, cut off, still keeps the share. It
    lowers the cardinality by steps that double, then by bisection. At the end the next smaller cardinality has been
    tried and is too small. A search that is stopped keeps the share too, with more features. If all features together
    do not reach the share, which happens with non-negative loadings, the best support found is returned.
    """
    dense, vector = largest_eigenpair(problem.covariance)
    if dense <= 0:
        return solver.solve(problem), dense
    target = share * dense * (1 - ROUNDING)
    n, monitor = problem.n_features, problem.monitor
    low = max(len(problem.forced), 1) - 1
    high, cut = cut_off_where_it_keeps(problem, vector, target)
    solution = solver.solve(problem.with_cardinality(high), start=cut.support)
    if monitor.stopped is not None and solution.value < cut.value:
        solution = cut.solution(Status[monitor.stopped.name], method=Thresholding.name)
    step = 1
    while solution.value < target and high < n and monitor.stopped is None:
        low, high, step = high, min(2 * high, n), n
        solution = solver.solve(problem.with_cardinality(high), start=solution.support)
    while high - low > 1 and monitor.stopped is None:
        middle = max(high - step, (low + high) // 2)
        trial = solver.solve(problem.with_cardinality(middle), start=solution.support)
        if trial.value >= target:
            high, solution, step = middle, trial, 2 * step
        else:
            low = middle
    kept = f"this component keeps {at_least(solution.value / dense, 3)} of the dense component's variance"
    if monitor.stopped is not None:
        warn(f"The search for min_variance={share} was stopped at {len(solution.support)} features; {kept}.")
    elif solution.value < target:
        warn(f"min_variance={share} cannot be reached with these constraints; {kept}.")
    return solution, dense


def cut_off_where_it_keeps(problem: Problem, vector: Floats, target: float) -> tuple[int, Incumbent]:
    """Return the smallest cardinality at which the dense component, cut off, reaches a value, and the support there."""
    n = problem.n_features
    high = max(len(problem.forced), 1)
    low = high - 1
    cut = cut_off(problem.with_cardinality(high), vector)
    while cut.value < target and high < n:
        low, high = high, min(2 * high, n)
        cut = cut_off(problem.with_cardinality(high), vector)
    while high - low > 1:
        middle = (low + high) // 2
        trial = cut_off(problem.with_cardinality(middle), vector)
        if trial.value >= target:
            high, cut = middle, trial
        else:
            low = middle
    return high, cut
