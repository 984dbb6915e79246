"""The penalised form: every cardinality is searched for supports that are better than the best so far."""

from dataclasses import replace

import numpy as np

from laconic.bounds.elimination.by_variance import kept_by_penalty
from laconic.bounds.tree.search import TreeSearch
from laconic.covariance import SubsetCovariance
from laconic.problem import Problem, Solution
from laconic.problem.status import how_it_ended
from laconic.relaxations.elementary import elementary_bounds
from laconic.search import Auto


def search_penalized(search: TreeSearch, problem: Problem, rho: float) -> Solution:
    """Maximise z'Sz - rho Card(z) over supports of at most the problem's cardinality.

    Each cardinality is searched only for supports better than the best so far. The most promising ones come first.
    """
    largest = float(problem.covariance.diagonal.max())
    if problem.covariance.semidefinite and rho >= largest:
        raise ValueError(
            f"penalty={rho} is not below the largest variance, {largest:.6g}: the solution is zero; "
            "choose a smaller penalty."
        )
    # A feature whose variance is below the penalty adds less than it costs.
    worth = np.union1d(kept_by_penalty(problem.covariance, rho), problem.forced)
    if not len(worth):
        raise _nothing_is_worth(rho)
    part = replace(
        problem,
        covariance=SubsetCovariance(problem.covariance, worth),
        cardinality=min(problem.cardinality, len(worth)),
        forced=np.searchsorted(worth, problem.forced),
    )
    least = max(len(part.forced), 1)
    sizes = range(least, part.cardinality + 1)
    caps = np.array([bound.value for bound in elementary_bounds(part.covariance, sizes)])
    found: dict[int, Solution] = {}
    last = part.cardinality
    for k in sizes:
        # No support of this size can be better if even its cheapest bound is not.
        before = max((s.value - rho * size for size, s in found.items()), default=-np.inf)
        if caps[k - least] - rho * k > before:
            start = found[k - 1].support if k - 1 in found else None
            found[k] = Auto(seed=search.seed).solve(part.with_cardinality(k), start=start)
        if problem.monitor.stopped is not None:
            last = k
            break
    best = max(found, key=lambda k: found[k].value - rho * k)
    nodes, worst = 0, max((caps[k - least] - rho * k for k in range(last + 1, part.cardinality + 1)), default=-np.inf)
    for k in sorted(found, key=lambda k: rho * k - found[k].value):
        objective = found[best].value - rho * best
        cap = caps[k - least] - rho * k
        if cap > objective:
            again = search.search(part.with_cardinality(k), found[k], target=objective + rho * k)
            nodes += again.iterations
            cap = min(cap, again.estimate - rho * k)
            found[k] = again if again.value > found[k].value else found[k]
            if found[k].value - rho * k > objective:
                best = k
        worst = max(worst, cap)
    solution = found[best]
    if not problem.covariance.semidefinite and not len(problem.forced) and solution.value <= rho * best:
        raise _nothing_is_worth(rho)
    estimate = max(worst + rho * best, solution.value)
    limited = search.node_limit is not None
    status = how_it_ended(solution.value, estimate, search.gap, problem.monitor.stopped, limited=limited)
    return replace(
        solution,
        support=worth[solution.support],
        estimate=estimate,
        witness=None,
        status=status,
        iterations=nodes,
        reason=f"branch and bound over {len(found)} cardinalities: {nodes} nodes",
    )


def _nothing_is_worth(rho: float) -> ValueError:
    return ValueError(f"penalty={rho} costs more than any feature adds: the solution is zero; choose a smaller one.")
