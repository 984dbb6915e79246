"""The search with a penalty for each feature: supports of any size."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from laconic.bounds.prove import Exact, check_tree, prove
from laconic.bounds.reduction import kept_by_penalty
from laconic.core.arrays import Indices
from laconic.covariance import SubsetCovariance
from laconic.relaxations.elementary import elementary_bounds
from laconic.search.auto import Auto
from laconic.search.problem import Abilities, Problem, Solution, Status, how_it_ended


@dataclass(frozen=True)
class Penalized:
    """Maximise z'Sz minus a penalty for each feature, over supports of any size, by branch and bound.

    Attributes
    ----------
    penalty
        The price of a feature, in units of variance.
    gap, node_limit, workers
        When to stop, and how many nodes are processed at the same time, as in `Exact`.
    seed
        The seed of the search for the first supports.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Penalized, Problem
    >>> Penalized(0.4).solve(Problem(load_pitprops().covariance, 13)).support
    array([0, 1, 6, 8, 9])
    """

    penalty: float
    gap: float = 1e-7
    node_limit: int | None = None
    workers: int | None = None
    seed: int = 0

    name: ClassVar[str] = "penalized"
    abilities: ClassVar[Abilities] = Abilities(seed=True, penalty=True)

    def __post_init__(self) -> None:
        check_tree(self.gap, self.node_limit, self.workers)
        if not self.penalty > 0:
            raise ValueError(f"penalty={self.penalty} must be above zero.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Find the best support of at most the problem's cardinality. `start` is not used.

        Each cardinality is searched only for supports better than the best so far. The most promising ones come first.
        """
        rho, largest = self.penalty, float(problem.covariance.diagonal.max())
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
                first = found[k - 1].support if k - 1 in found else None
                found[k] = Auto(seed=self.seed).solve(part.with_cardinality(k), start=first)
            if problem.monitor.stopped is not None:
                last = k
                break
        best = max(found, key=lambda k: found[k].value - rho * k)
        exact = Exact(self.gap, self.node_limit, self.workers)
        worst = max((caps[k - least] - rho * k for k in range(last + 1, part.cardinality + 1)), default=-np.inf)
        for k in sorted(found, key=lambda k: rho * k - found[k].value):
            objective = found[best].value - rho * best
            cap = caps[k - least] - rho * k
            if cap > objective:
                again, bound = prove(part.with_cardinality(k), found[k], exact, target=objective + rho * k)
                cap = min(cap, max(bound.value, objective + rho * k) - rho * k)
                found[k] = again if again.value > found[k].value else found[k]
                if found[k].value - rho * k > objective:
                    best = k
            worst = max(worst, cap)
        solution = found[best]
        if not problem.covariance.semidefinite and not len(problem.forced) and solution.value <= rho * best:
            raise _nothing_is_worth(rho)
        estimate = max(worst + rho * best, solution.value)
        otherwise = Status.GAP_REACHED if self.node_limit is None else Status.NODE_LIMIT
        status = how_it_ended(solution.value, estimate, self.gap, problem.monitor.stopped, otherwise)
        return replace(
            solution,
            method=self.name,
            support=worth[solution.support],
            estimate=estimate,
            witness=None,
            status=status,
            reason=f"branch and bound over {len(found)} cardinalities",
        )


def _nothing_is_worth(rho: float) -> ValueError:
    return ValueError(f"penalty={rho} costs more than any feature adds: the solution is zero; choose a smaller one.")
