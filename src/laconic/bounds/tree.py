"""Branch and bound with the row-level relaxation: a tree of cases."""

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from os import cpu_count

import numpy as np

from laconic.bounds.fixing import PROBED_FEATURES, PROBED_TOGETHER, Node, Outcome, Processor
from laconic.core.arrays import PROVED, Floats
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import mark_limited, one_thread
from laconic.covariance import DenseCovariance
from laconic.proof import ProofError
from laconic.proof.gate import prove_grown
from laconic.proof.witness_tree import Branch
from laconic.relaxations.rows import RowLevels, RowLevelSolution
from laconic.search import Swaps
from laconic.search.problem import Problem, Solution, Status, stopped_or
from laconic.search.support import EQUAL, Incumbent, values_of

# The relaxation is solved further at the root than below it, where branching lowers the bound faster.
ROOT = RowLevels(tolerance=1e-8, least_progress=0.005)
BELOW = RowLevels(tolerance=1e-8, max_iterations=40, least_progress=0.1)
# The steps at the root, if there is work for so many, and otherwise.
ROOT_STEPS, FEWEST_STEPS = 300, 20
# A probe's bound is low if its distance to the value to beat is at most this share of the node's.
LOW = 0.5


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
        self.nodes = self.relaxations = self.work = 0

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

    def run(self) -> Solution:
        """Search, and return the best support with the bound on all."""
        workers = self.settings.workers or min(cpu_count() or 1, PROBED_FEATURES)
        with ThreadPoolExecutor(workers, initializer=mark_limited) as pool, self.problem.monitor.watch():
            self._process_root()
            self._branch(pool)
        return self._solution()

    def _process_root(self) -> None:
        problem, root = self.problem, self.heap[0]
        n, k = problem.n_features, problem.cardinality
        relaxed: RowLevelSolution | None = None
        problem.monitor.tick("exact, first node", best=self.best.value)
        with problem.monitor.hidden():
            if len(problem.forced) < k:
                steps = int(min(ROOT_STEPS, max(self.settings.work // n**2, FEWEST_STEPS)))
                relaxed = replace(ROOT, max_iterations=steps).solve(
                    self.S,
                    k,
                    inside=problem.forced,
                    vector=self.first.vector(n),
                    known=self.beat,
                    monitor=problem.monitor,
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
        while self.heap and self.heap[0].bound > self.beat and self._limit is None:
            stage = f"exact, {self._count()}, {len(self.heap)} open"
            self.problem.monitor.tick(stage, best=self.best.value, bound=self.estimate * self.unit)
            with self.problem.monitor.hidden():
                self._replace_first(self._children(self.heap[0], pool))
        if not self.heap or self.heap[0].bound <= self.beat:
            # The open nodes hold no support worth finding.
            self.settled = max([self.settled, *(node.bound for node in self.heap)])
            self.heap = []

    def _children(self, node: Node, pool: Executor) -> list[Outcome]:
        """Probe a node without each of its weightiest features, a few at a time until none divides it, and divide it.

        If a probe leaves nothing, its feature is in every support worth finding. A feature without which the bound is
        far lower divides the node, too. If there is none, the one with the lowest bound without it does.
        """
        if not len(node.features):
            # All its weightiest features were decided together with its parent's: relax it again, or list it.
            return [self.process(node, self.beat)]
        outcomes: list[Outcome] = []
        bounds: list[float] = []
        low = self.beat + LOW * (node.bound - self.beat)
        for begin in range(0, len(node.features), PROBED_TOGETHER):
            probes = [node.without(int(feature)) for feature in node.features[begin : begin + PROBED_TOGETHER]]
            outcomes += pool.map(self.process, probes, repeat(self.beat))
            bounds = [-np.inf if outcome.node is None else outcome.node.bound for outcome in outcomes]
            if min(bounds[begin:]) > low:
                break
        used = [i for i, bound in enumerate(bounds) if bound <= low] or [int(np.argmin(bounds))]
        chosen = node.features[used]
        for place, i in enumerate(used):
            outcomes[i] = outcomes[i].containing(chosen[:place])
            within = node.within(int(chosen[place]))
            node.branch.divided(int(chosen[place]), outcomes[i].branch, within.branch)
            node = within
        return [*(outcomes[i] for i in used), self.process(node, self.beat)]

    def _replace_first(self, outcomes: list[Outcome]) -> None:
        """Put the outcomes of the first open node, or of its children, in its place."""
        heap = self.heap[1:]
        for outcome in outcomes:
            self.nodes += 1
            self.relaxations += outcome.relaxations
            self.work += outcome.work
            for support in outcome.candidates:
                self.best.offer(float(values_of(self.problem, support[None])[0]), support)
            self.settled = max(self.settled, outcome.settled)
            if outcome.node is not None:
                heap.append(outcome.node)
        # In one step: if Ctrl-C comes before it, the node still counts as open.
        self.heap = sorted(heap, key=lambda node: -node.bound)

    @property
    def _limit(self) -> Status | None:
        """The limit that is reached, if there is one."""
        most = self.settings.node_limit
        if most is not None and self.nodes >= most:
            return Status.NODE_LIMIT
        return Status.WORK_LIMIT if self.work >= self.settings.work else None

    def _count(self) -> str:
        return "1 node" if self.nodes == 1 else f"{self.nodes} nodes"

    def _solution(self) -> Solution:
        value = self.best.value / self.unit
        # A finished search may leave more than a proof allows: the gap asked for, or signs that were not searched.
        complete = self.estimate - value <= max(PROVED * abs(value), self.rounding)
        status = Status.COMPLETE if complete else Status.GAP_REACHED
        if self.heap:
            status = stopped_or(self.problem.monitor.stopped, self._limit or Status.NODE_LIMIT)
        found = self.best.solution(status, method=self.first.method, iterations=self.nodes)
        reason = f"branch and bound: {self._count()}, {self.relaxations} relaxations"
        found = replace(found, estimate=max(self.estimate * self.unit, found.value), reason=reason)
        if self.problem.nonnegative:
            # The tree is not about S.
            return found
        try:
            bound = prove_grown(self.root)
        except ProofError:
            # The search was stopped before the first bound, or the matrix is out of the range of proofs.
            return found
        return replace(found, witness=bound.witness, bound=bound)


@dataclass(frozen=True)
class TreeSearch:
    """Search for a better support than a known one, and bound the best possible value."""

    gap: float = 1e-7  # stop when the relative gap is this small; zero means as small as rounding allows
    node_limit: int | None = None
    work: float = np.inf  # the most steps of relaxations, times the square of the number of features kept
    workers: int | None = None  # nodes processed at the same time, by default one a core; results do not depend on it

    def search(self, problem: Problem, first: Solution, target: float = -np.inf) -> Solution:
        """Return the first solution or a better one, with the bound that was proved.

        Supports of at most the target value are of no interest. S is written out.
        """
        with one_thread(), problem.monitor.watch():
            problem.monitor.tick()
            return Run(self, problem, first, problem.covariance.matrix, target).run()
        # The search was stopped before it began.
        return replace(first, status=stopped_or(problem.monitor.stopped, first.status))
