"""Branch and bound with the row-level relaxation: eliminate features, divide into blocks, grow trees."""

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from os import cpu_count

import numpy as np

from laconic.bounds.fixing import PROBED_FEATURES, PROBED_TOGETHER, Node, Outcome, Processor
from laconic.bounds.reduction import (
    Elimination,
    divide_into_blocks,
    eliminate_by_two_groups,
    kept_by_penalty,
    search_blocks,
)
from laconic.bounds.reduction_by_dual_point import eliminate_by_dual_point
from laconic.core.arrays import PROVED, WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import Monitor, mark_limited, one_thread, warn
from laconic.covariance import DenseCovariance, SubsetCovariance
from laconic.proof import Estimate, ProofError
from laconic.proof.gate import prove_grown
from laconic.proof.witness import Witness
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_tree import Branch
from laconic.relaxations.elementary import elementary_bound, elementary_bounds
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.proposition_2 import proposition_2_bound
from laconic.relaxations.rows import RowLevels, RowLevelSolution
from laconic.search import Auto, Swaps
from laconic.search.problem import Problem, Solution, Status, how_it_ended, stopped_or
from laconic.search.support import EQUAL, Incumbent, values_of

# Up to this size Proposition 2 and the l0 relaxation are tried. Above it the root of a tree takes less time, and the
# first steps of the l0 relaxation, which cannot be stopped, take many seconds.
MOST_FEATURES_FOR_L0 = 600
# The l0 relaxation is solved if Proposition 2 is within this share of the value to beat: it lowers the bound little.
NEAR_VALUE_TO_BEAT = 0.05


def quick_bound(S: Floats, k: int, support: Indices, beat: float, monitor: Monitor) -> Estimate | None:
    """Return a bound that is no more than the value to beat, or None. The support is the best one known.

    Row sums succeed for correlation matrices with blocks of nearly equal columns. Proposition 2 and the l0 relaxation
    succeed where the variances decay.
    """
    dense = DenseCovariance(S, semidefinite=False)
    bound = elementary_bound(dense, k)
    if bound.value <= beat:
        return bound
    if len(S) > MOST_FEATURES_FOR_L0:
        return None
    monitor.tick()
    bound = proposition_2_bound(dense, support, k)
    if beat < bound.value <= beat * (1 + NEAR_VALUE_TO_BEAT):
        monitor.tick()
        relaxed = L0Relaxation(tolerance=1e-8).solve(S, k, monitor=monitor)
        bound = Estimate(relaxed.estimate, "l0", k, relaxed.witness())
    return bound if bound.value <= beat else None


# The relaxation is solved further at the root than below it, where branching lowers the bound faster.
ROOT = RowLevels(tolerance=1e-8, max_iterations=300, least_progress=0.005)
BELOW = RowLevels(tolerance=1e-8, max_iterations=40, least_progress=0.1)


class Run:
    """The state of a search: the open nodes, the best support, and the bound of everything else.

    In each node some features are in every support, some in none, and the others are open. The row-level relaxation
    bounds a node. Its dual point also decides features for good (`laconic.bounds.fixing`). The
    weightiest open features of a node are probed, and the node is divided by the one without which the bound is lowest.
    If a node has few supports, each of them is evaluated. Every bound has a margin for rounding errors. Supports of at
    most the target value are of no interest.
    """

    def __init__(self, settings: "TreeSearch", problem: Problem, first: Solution, S: Floats, target: float) -> None:
        n = problem.n_features
        self.settings, self.problem, self.first, self.target = settings, problem, first, target
        # A power of four: S and its square root are scaled without rounding.
        self.unit = float(4.0 ** np.round(0.5 * np.log2(np.abs(S).max() or 1.0)))
        S = S / self.unit
        if problem.nonnegative:
            # For z >= 0 a negative entry only lowers the value. Without it the matrix gives an upper bound.
            S = np.where(np.eye(n, dtype=bool), S, np.maximum(S, 0.0))
        self.S: Floats = S
        self.process = Processor(S, problem, self.unit, BELOW)
        self.best = Incumbent(problem)
        self.best.offer(first.value, first.support)
        # The largest bound of the supports that are in no open node.
        self.settled = -np.inf
        # The gate bounds the parts of the tree on the covariance itself, or on S if that is another matrix.
        matrix = DenseCovariance(S * self.unit, semidefinite=False) if problem.nonnegative else problem.covariance
        self.root = Branch.root(matrix, problem.cardinality, problem.forced)
        self.heap: list[Node] = [Node.of(self.root, np.inf)]
        self.nodes = self.relaxations = 0
        self.closed: Estimate | None = None

    @property
    def beat(self) -> float:
        """Supports of this value or less are of no interest, in units of the scaled matrix."""
        value = max(self.best.value, self.target) / self.unit
        return value + max(self.settings.gap * abs(value), self.rounding)

    @property
    def rounding(self) -> float:
        """The difference between a bound and a value that rounding alone may cause, in units of the scaled matrix."""
        return 64 * EPS * len(self.S) * max(abs(self.best.value / self.unit), 1.0)

    @property
    def estimate(self) -> float:
        """The bound of the whole tree, in units of the scaled matrix."""
        open_nodes = max((node.bound for node in self.heap), default=-np.inf)
        value = self.best.value / self.unit
        # If the values of two supports differ by at most EQUAL, the first is kept and not the better one.
        margin = 16 * self.problem.cardinality * EPS + EQUAL * abs(value)
        return max(value + margin, self.settled, open_nodes)

    def run(self, *, quick: bool) -> Solution:
        """Search, and return the best support with the estimate of the best value and its witness."""
        if quick and self._closed_by_quick_bound():
            return self._solution()
        workers = self.settings.workers or min(cpu_count() or 1, PROBED_FEATURES)
        with ThreadPoolExecutor(workers, initializer=mark_limited) as pool, self.problem.monitor.watch():
            self._process_root()
            self._branch(pool)
        return self._solution()

    def _closed_by_quick_bound(self) -> bool:
        """Try the quick bounds. One that succeeds stands for the whole tree."""
        k, support = self.problem.cardinality, self.best.support
        assert support is not None
        bound = None
        with self.problem.monitor.watch(), self.problem.monitor.hidden():
            bound = quick_bound(self.S, k, support, self.beat, self.problem.monitor)
        if bound is None:
            return False
        self.settled, self.heap, self.closed = bound.value, [], bound
        return True

    def _process_root(self) -> None:
        problem, root = self.problem, self.heap[0]
        n, k = problem.n_features, problem.cardinality
        relaxed: RowLevelSolution | None = None
        problem.monitor.tick("exact, first node", best=self.best.value)
        with problem.monitor.hidden():
            if len(problem.forced) < k:
                vector = self.first.vector(n)
                relaxed = ROOT.solve(
                    self.S, k, inside=problem.forced, vector=vector, known=self.beat, monitor=problem.monitor
                )
                if relaxed.estimate > self.beat and not problem.monitor.is_over:
                    self._round(relaxed)
            self._replace_first([self.process(root, self.beat, relaxed)])

    def _round(self, relaxed: RowLevelSolution) -> None:
        """Improve the support of the largest weights in the relaxation by exchanges."""
        support = self.problem.top(relaxed.diagonal[:, None])[:, 0]
        found = Swaps().solve(self.problem, start=support)
        self.best.offer(found.value, found.support)

    def _branch(self, pool: Executor) -> None:
        limit = self.settings.node_limit
        while self.heap and self.heap[0].bound > self.beat and (limit is None or self.nodes < limit):
            stage = f"exact, {self._count()}, {len(self.heap)} open"
            self.problem.monitor.tick(stage, best=self.best.value, bound=self.estimate * self.unit)
            with self.problem.monitor.hidden():
                self._replace_first(self._children(self.heap[0], pool))
        if not self.heap or self.heap[0].bound <= self.beat:
            # The open nodes hold no support worth finding.
            self.settled = max([self.settled, *(node.bound for node in self.heap)])
            self.heap = []

    def _children(self, node: Node, pool: Executor) -> list[Outcome]:
        """Probe a node without each of its weightiest features, a few at a time until none is decided, and divide it.

        If a probe leaves nothing, its feature is in every support worth finding. If every probe leaves something, the
        feature with the lowest bound without it divides the node.
        """
        outcomes: list[Outcome] = []
        for begin in range(0, len(node.features), PROBED_TOGETHER):
            probes = [node.without(int(feature)) for feature in node.features[begin : begin + PROBED_TOGETHER]]
            outcomes += pool.map(self.process, probes, repeat(self.beat))
            if all(outcome.node is not None for outcome in outcomes[begin:]):
                break
        used = [i for i, outcome in enumerate(outcomes) if outcome.node is None]
        if not used:
            used = [int(np.argmin([o.node.bound for o in outcomes if o.node is not None]))]
        features = node.features
        for i in used:
            feature = int(features[i])
            within = node.within(feature)
            node.branch.divided(feature, outcomes[i].branch, within.branch)
            node = within
        return [*(outcomes[i] for i in used), self.process(node, self.beat)]

    def _replace_first(self, outcomes: list[Outcome]) -> None:
        """Put the outcomes of the first open node, or of its children, in its place."""
        heap = self.heap[1:]
        for outcome in outcomes:
            self.nodes += 1
            self.relaxations += outcome.relaxations
            for support in outcome.candidates:
                self.best.offer(float(values_of(self.problem, support[None])[0]), support)
            self.settled = max(self.settled, outcome.settled)
            if outcome.node is not None:
                heap.append(outcome.node)
        # In one step: if Ctrl-C comes before it, the node still counts as open.
        self.heap = sorted(heap, key=lambda node: -node.bound)

    def _count(self) -> str:
        return "1 node" if self.nodes == 1 else f"{self.nodes} nodes"

    def _solution(self) -> Solution:
        value = self.best.value / self.unit
        # A finished search may leave more than a proof allows: the gap asked for, or signs that were not searched.
        complete = self.estimate - value <= max(PROVED * abs(value), self.rounding)
        status = Status.COMPLETE if complete else Status.GAP_REACHED
        if self.heap:
            status = stopped_or(self.problem.monitor.stopped, Status.NODE_LIMIT)
        found = self.best.solution(status, method=self.first.method, iterations=self.nodes)
        reason = f"branch and bound: {self._count()}, {self.relaxations} relaxations"
        if self.closed is not None:
            reason = f"the bound by {self.closed.kind} meets the value found"
        found = replace(found, estimate=max(self.estimate * self.unit, found.value), reason=reason)
        # With features forced in, or signs, the tree is not about all supports of S.
        if len(self.problem.forced) or self.problem.nonnegative:
            return found
        if self.closed is not None:
            return replace(found, witness=_scaled(self.closed.witness, self.unit))
        try:
            bound = prove_grown(self.root)
        except ProofError:
            # The search was stopped before the first bound, or the matrix is out of the range of proofs.
            witness, proved = self.root.tree()
            return replace(found, witness=witness if proved.value < np.inf else None)
        return replace(found, witness=bound.witness, bound=bound)


def _scaled(witness: Witness, scale: float) -> Witness:
    """Return a witness of the scaled matrix as one of S."""
    match witness:
        case DualWitness():
            return _scaled_point(witness, scale)
        case Proposition2Witness():
            return replace(witness, weights=witness.weights / np.sqrt(scale), rho=witness.rho * scale)
    return witness


def _scaled_point(point: DualWitness, scale: float) -> DualWitness:
    def by(values: Floats | None, factor: float) -> Floats | None:
        return None if values is None else values * factor

    return replace(
        point,
        levels=by(point.levels, scale),
        norms=by(point.norms, scale),
        price=point.price * scale,
        factor=by(point.factor, float(np.sqrt(scale))),
        rho=point.rho * scale,
        shift=point.shift * scale,
    )


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
            bound=None,
            witness=elimination.lift(found.witness),
            reason=f"{len(kept)} of {problem.n_features} features kept; {found.reason}",
        )


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
        bound=None,
        witness=None,
        status=status,
        iterations=nodes,
        reason=f"branch and bound over {len(found)} cardinalities: {nodes} nodes",
    )


def _nothing_is_worth(rho: float) -> ValueError:
    return ValueError(f"penalty={rho} costs more than any feature adds: the solution is zero; choose a smaller one.")
