"""The engine of the exact method: eliminate features, divide into blocks, grow a tree for each."""

from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.elimination.by_blocks import divide_into_blocks, search_blocks
from laconic.bounds.elimination.by_dual_point import eliminate_by_dual_point
from laconic.bounds.elimination.by_two_groups import eliminate_by_two_groups
from laconic.bounds.elimination.contract import Elimination
from laconic.bounds.tree.run import Run
from laconic.core.caller import warn
from laconic.core.threads import one_thread
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance import DenseCovariance
from laconic.problem import Problem, Solution, Status
from laconic.problem.status import how_it_ended, stopped_or
from laconic.search import Auto

# With more features elimination comes first. Up to this size the relaxation of the root takes seconds.
MOST_WITHOUT_ELIMINATION = 1000


@dataclass(frozen=True)
class TreeSearch:
    """Search for a better support than a known one, and estimate the best possible value."""

    gap: float = 1e-7  # stop when the relative gap is this small; zero means as small as rounding allows
    node_limit: int | None = None
    workers: int | None = None  # nodes processed at the same time, by default one a core; results do not depend on it
    seed: int = 0  # of searches for a first support

    def search(self, problem: Problem, first: Solution, target: float = -np.inf, *, quick: bool = True) -> Solution:
        """Return the first solution or a better one, with an estimate of the best value and its witness.

        Supports of at most the target value are of no interest. `quick` first tries bounds that may end the search.
        """
        if first.status is Status.COMPLETE or problem.monitor.stopped is not None:
            return first
        if problem.n_features <= MOST_WITHOUT_ELIMINATION:
            return self.search_all(problem, first, target, quick=quick)
        elimination: Elimination | None = None
        with one_thread(), problem.monitor.watch():
            problem.monitor.tick()
            value = max(first.value, target)
            elimination = eliminate_by_two_groups(self.limited, problem, first, value)
            if elimination is None:
                problem.monitor.tick()
                elimination = eliminate_by_dual_point(problem, first, value)
        if elimination is None:
            return replace(first, status=stopped_or(problem.monitor.stopped, first.status))
        if len(elimination.kept) > WRITE_OUT_LIMIT:
            left = len(elimination.kept)
            reason = f"{left} features may belong to a better support, and at most {WRITE_OUT_LIMIT} are searched"
            warn(f"The exact search did not run: {reason}. The best support found so far is returned.")
            return replace(first, reason=reason)
        return self._search_kept(elimination, problem, first, target, quick=quick)

    def limited(self, problem: Problem, first: Solution, gap: float, node_limit: int | None) -> Solution:
        """Search all features with another gap and node limit, as eliminations do."""
        return replace(self, gap=gap, node_limit=node_limit).search_all(problem, first)

    def search_all(self, problem: Problem, first: Solution, target: float = -np.inf, *, quick: bool = True) -> Solution:
        """Search as `search` does, without elimination. The covariance of all features is written out."""
        with one_thread(), problem.monitor.watch():
            problem.monitor.tick()
            S = problem.covariance.submatrix(np.arange(problem.n_features))
            blocks = divide_into_blocks(S, problem.cardinality, first.value, self.gap)
            if len(blocks.features) == 1 or len(problem.forced):
                return Run(self, problem, first, S, target).run(quick=quick)
            within = replace(self, gap=blocks.gap)
            found = search_blocks(within.search, problem, first, S, blocks, target, self.seed)
            limited = self.node_limit is not None
            stopped = problem.monitor.stopped
            status = how_it_ended(found.value, found.estimate, self.gap, stopped, limited=limited)
            return replace(found, status=status)
        # The search was stopped before it began.
        return replace(first, status=stopped_or(problem.monitor.stopped, first.status))

    def _search_kept(
        self, elimination: Elimination, problem: Problem, first: Solution, target: float, *, quick: bool
    ) -> Solution:
        """Search the features kept. No other support is better than the first solution, or than the target."""
        kept, others = elimination.kept, max(first.value, target)
        if len(kept) < problem.cardinality:
            return replace(first, estimate=others)
        covariance = DenseCovariance(problem.covariance.submatrix(kept), semidefinite=problem.covariance.semidefinite)
        inner = replace(problem, covariance=covariance, forced=np.searchsorted(kept, problem.forced))
        start = (
            replace(first, support=np.searchsorted(kept, first.support))
            if np.isin(first.support, kept).all()
            else Auto(seed=self.seed).solve(inner)
        )
        found = self.search_all(inner, start, target, quick=quick and not elimination.lifts_trees_only)
        better = replace(found, support=kept[found.support])
        if found.value < first.value:
            # The first solution does not exceed the target, so its features were eliminated.
            better = replace(found, support=first.support, loadings=first.loadings, value=first.value)
        return replace(
            better,
            estimate=max(found.estimate, others),
            witness=elimination.lift(found.witness),
            reason=f"{len(kept)} of {problem.n_features} features kept; {found.reason}",
        )
