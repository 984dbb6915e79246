"""Branch and bound with the row-level relaxation: eliminate features, divide into blocks, grow trees."""

import heapq
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from os import cpu_count

import numpy as np

from laconic.bounds.fixing import PROBED_FEATURES, PROBED_TOGETHER, Node, Outcome, Processor
from laconic.core.arrays import PROVED, Floats
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import mark_limited, one_thread
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness
from laconic.proof.witness_tree import Decision, TreeNode, TreeWitness
from laconic.relaxations.rows import RowLevels, RowLevelSolution
from laconic.search import Swaps
from laconic.search.problem import Problem, Solution, Status, stopped_or
from laconic.search.support import EQUAL, Incumbent, values_of

# A record holds at most this many numbers (160 MB). Later nodes are left out: the weaker bounds of parents serve.
MOST_NUMBERS = 20_000_000


@dataclass
class _Entry:
    decisions: tuple[Decision, ...] = ()
    bound: DualWitness | ExhaustiveWitness | None = None
    feature: int = -1
    without: int = -1
    within: int = -1


class Record:
    """The tree as it grows. `cut_off` says whether nodes were left out because the record was full."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._size = 0
        self.cut_off = False

    def new(self) -> int:
        """Return the place of a new node."""
        self._entries.append(_Entry())
        return len(self._entries) - 1

    def branched(self, place: int, feature: int) -> tuple[int, int]:
        """Return the places of the children of a node that a feature divides: without the feature, and with it."""
        entry = self._entries[place]
        entry.feature, entry.without, entry.within = feature, self.new(), self.new()
        return entry.without, entry.within

    def put(self, outcome: Outcome) -> None:
        """Keep the decisions and the bound of a node."""
        points = [d.witness for d in outcome.decisions]
        if isinstance(outcome.bound, DualWitness):
            points.append(outcome.bound)
        self._size += sum(part.size for p in points for part in (p.levels, p.norms) if part is not None)
        self.cut_off = self.cut_off or self._size > MOST_NUMBERS
        if not self.cut_off:
            entry = self._entries[outcome.place]
            entry.decisions, entry.bound = outcome.decisions, outcome.bound

    def witness(self) -> TreeWitness | None:
        """Return the tree, or None if its root has no bound. A node has its own bound if a child of it has none."""
        known = self._known()
        if not known or not known[0]:
            return None
        order: dict[int, int] = {}
        pending = [0]
        while pending:
            place = pending.pop()
            order[place] = len(order)
            entry = self._entries[place]
            if self._divided(entry, known):
                pending += [entry.within, entry.without]
        nodes = []
        for place in order:
            entry = self._entries[place]
            if self._divided(entry, known):
                children = order[entry.without], order[entry.within]
                nodes.append(TreeNode(entry.decisions, None, entry.feature, *children))
            else:
                nodes.append(TreeNode(entry.decisions, entry.bound))
        return TreeWitness(tuple(nodes))

    def _known(self) -> list[bool]:
        """Return for each node whether it has a bound: its own, or that of both children, which come after it."""
        known = [False] * len(self._entries)
        for place in reversed(range(len(known))):
            entry = self._entries[place]
            known[place] = entry.bound is not None or self._divided(entry, known)
        return known

    def _divided(self, entry: _Entry, known: list[bool]) -> bool:
        return entry.feature >= 0 and known[entry.without] and known[entry.within]


# The relaxation is solved further at the root than below it, where branching lowers the bound faster.
ROOT = RowLevels(tolerance=1e-8, max_iterations=300, least_progress=0.02)
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
        self.record = Record()
        root = Node(np.arange(n), problem.forced, np.inf, self.record.new())
        self.heap: list[tuple[float, int, Node]] = [(-root.bound, root.place, root)]
        self.nodes = self.relaxations = 0

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

    def run(self) -> Solution:
        """Search, and return the best support with the estimate of the best value and its witness."""
        workers = self.settings.workers or min(cpu_count() or 1, PROBED_FEATURES)
        with ThreadPoolExecutor(workers, initializer=mark_limited) as pool, self.problem.monitor.watch():
            self._process_root()
            self._branch(pool)
        return self._solution()

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
        witness = self.record.witness()
        if self.record.cut_off:
            reason += "; the tree is too large to keep, so only its upper part can be proved"
        return replace(
            found,
            status=status,
            estimate=max(self.estimate * self.unit, found.value),
            # With signs, the tree is not about S.
            witness=None if witness is None or self.problem.nonnegative else _scaled(witness, self.unit),
            reason=reason,
        )


def _scaled(witness: TreeWitness, scale: float) -> TreeWitness:
    """Return a tree of the scaled matrix as one of S."""
    return TreeWitness(tuple(_scaled_node(node, scale) for node in witness.nodes))


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


@dataclass(frozen=True)
class TreeSearch:
    """Search for a better support than a known one, and bound the best possible value."""

    gap: float = 1e-7  # stop when the relative gap is this small; zero means as small as rounding allows
    node_limit: int | None = None
    workers: int | None = None  # nodes processed at the same time, by default one a core; results do not depend on it

    def search(self, problem: Problem, first: Solution, target: float = -np.inf) -> Solution:
        """Return the first solution or a better one, with an estimate of the best value and its witness.

        Supports of at most the target value are of no interest. S is written out.
        """
        with one_thread(), problem.monitor.watch():
            problem.monitor.tick()
            return Run(self, problem, first, problem.covariance.matrix, target).run()
        # The search was stopped before it began.
        return replace(first, status=stopped_or(problem.monitor.stopped, first.status))
