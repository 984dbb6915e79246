"""One tree: best-first branch and bound on a matrix that is written out."""

import heapq
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from os import cpu_count
from typing import TYPE_CHECKING

import numpy as np

from laconic.bounds.tree.node import PROBED_FEATURES, PROBED_TOGETHER, Node, Outcome, Processor
from laconic.bounds.tree.quick import quick_bound
from laconic.bounds.tree.record import Record
from laconic.core.arrays import Floats
from laconic.core.linalg import EPS
from laconic.core.threads import mark_limited
from laconic.core.thresholds import PROVED
from laconic.problem import Problem, Solution, Status
from laconic.problem.status import stopped_or
from laconic.proof import Estimate
from laconic.proof.witnesses.contract import Witness
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.proposition_2 import Proposition2Witness
from laconic.proof.witnesses.tree import TreeNode, TreeWitness
from laconic.relaxations.rows.relaxation import RowLevels, RowLevelSolution
from laconic.search import Swaps
from laconic.search.support import EQUAL, Incumbent, values_of

if TYPE_CHECKING:
    from laconic.bounds.tree.search import TreeSearch

# The relaxation is solved further at the root than below it, where branching lowers the bound faster.
ROOT = RowLevels(tolerance=1e-8, max_iterations=300, least_progress=0.02)
BELOW = RowLevels(tolerance=1e-8, max_iterations=40, least_progress=0.1)


class Run:
    """The state of a search: the open nodes, the best support, and the bound of everything else.

    In each node some features are in every support, some in none, and the others are open. The row-level relaxation
    bounds a node. Its dual point also decides features for good (`laconic.bounds.tree.fixing`). The
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
        self.record = Record()
        root = Node(np.arange(n), problem.forced, np.inf, self.record.new())
        self.heap: list[tuple[float, int, Node]] = [(-root.bound, root.place, root)]
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
        open_nodes = max((-bound for bound, _, _ in self.heap), default=-np.inf)
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
        problem = self.problem
        n, k = problem.n_features, problem.cardinality
        root = self.heap[0][2]
        if len(problem.forced) < k:
            vector = self.first.vector(n)
            problem.monitor.tick("exact, first node", best=self.best.value)
            with problem.monitor.hidden():
                relaxed = ROOT.solve(
                    self.S, k, inside=problem.forced, vector=vector, known=self.beat, monitor=problem.monitor
                )
            root = replace(root.bounded(relaxed), start=relaxed)
            self.heap = [(-root.bound, root.place, root)]
            if root.bound > self.beat:
                self._round(relaxed)
        with problem.monitor.hidden():
            self._replace_first([self.process(root, self.beat)])

    def _round(self, relaxed: RowLevelSolution) -> None:
        """Improve the support of the largest weights in the relaxation by exchanges."""
        support = self.problem.top(relaxed.diagonal[:, None])[:, 0]
        found = Swaps().solve(self.problem, start=support)
        self.best.offer(found.value, found.support)

    def _branch(self, pool: Executor) -> None:
        limit = self.settings.node_limit
        while self.heap and -self.heap[0][0] > self.beat and (limit is None or self.nodes < limit):
            stage = f"exact, {self._count()}, {len(self.heap)} open"
            self.problem.monitor.tick(stage, best=self.best.value, bound=self.estimate * self.unit)
            with self.problem.monitor.hidden():
                self._replace_first(self._children(self.heap[0][2], pool))
        if not self.heap or -self.heap[0][0] <= self.beat:
            # The open nodes hold no support worth finding.
            self.settled = max([self.settled, *(-bound for bound, _, _ in self.heap)])
            self.heap = []

    def _children(self, node: Node, pool: Executor) -> list[Outcome]:
        """Probe a node without each of its weightiest features, a few at a time until none is decided, and divide it.

        If a probe leaves nothing, its feature is in every support worth finding. If every probe leaves something, the
        feature with the lowest bound without it divides the node.
        """
        outcomes: list[Outcome] = []
        for begin in range(0, len(node.branch), PROBED_TOGETHER):
            features = node.branch[begin : begin + PROBED_TOGETHER]
            probes = [node.without(np.array([feature])) for feature in features]
            outcomes += pool.map(self.process, probes, repeat(self.beat))
            if all(outcome.node is not None for outcome in outcomes[begin:]):
                break
        used = [i for i, outcome in enumerate(outcomes) if outcome.node is None]
        if not used:
            used = [int(np.argmin([o.node.bound for o in outcomes if o.node is not None]))]
        children = []
        for i in used:
            without, within = self.record.branched(node.place, int(node.branch[i]))
            children.append(outcomes[i].at(without))
            node = replace(node.within(node.branch[i : i + 1]), place=within)
        return [*children, self.process(node, self.beat)]

    def _replace_first(self, outcomes: list[Outcome]) -> None:
        """Put the outcomes of the first open node, or of its children, in its place."""
        heap = self.heap[1:]
        for outcome in outcomes:
            self.nodes += 1
            self.relaxations += outcome.relaxations
            self.record.put(outcome)
            for support in outcome.candidates:
                self.best.offer(float(values_of(self.problem, support[None])[0]), support)
            self.settled = max(self.settled, outcome.settled)
            if outcome.node is not None:
                heap.append((-outcome.node.bound, outcome.place, outcome.node))
        heapq.heapify(heap)
        # In one step: if Ctrl-C comes before it, the node still counts as open.
        self.heap = heap

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
            witness: Witness | None = _scaled(self.closed.witness, self.unit)
            reason = f"the bound by {self.closed.kind} meets the value found"
        else:
            witness = _scaled(self.record.witness(), self.unit)
            if self.record.cut_off:
                reason += "; the tree is too large to keep, so only its upper part can be proved"
        # With features forced in, or signs, the tree is not about all supports of S.
        of_all_supports = not len(self.problem.forced) and not self.problem.nonnegative
        return replace(
            found,
            status=status,
            estimate=max(self.estimate * self.unit, found.value),
            witness=witness if of_all_supports else None,
            reason=reason,
        )


def _scaled(witness: Witness | None, scale: float) -> Witness | None:
    """Return a witness of the scaled matrix as one of S."""
    match witness:
        case DualWitness():
            return _scaled_point(witness, scale)
        case Proposition2Witness():
            return replace(witness, weights=witness.weights / np.sqrt(scale), rho=witness.rho * scale)
        case TreeWitness():
            return TreeWitness(tuple(_scaled_node(node, scale) for node in witness.nodes))
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


def _scaled_node(node: TreeNode, scale: float) -> TreeNode:
    decisions = tuple(replace(d, witness=_scaled_point(d.witness, scale)) for d in node.decisions)
    bound = _scaled_point(node.bound, scale) if isinstance(node.bound, DualWitness) else node.bound
    return replace(node, decisions=decisions, bound=bound)
