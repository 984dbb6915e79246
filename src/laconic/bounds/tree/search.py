"""Branch and bound on the row-level relaxation: the best support, proved."""

import heapq
import warnings
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from os import cpu_count
from typing import ClassVar

import numpy as np

from laconic.bounds.elimination.by_blocks import prove_apart, safe_blocks
from laconic.bounds.elimination.by_dual_point import Left, eliminate
from laconic.bounds.elimination.by_two_groups import Apart, set_apart
from laconic.bounds.quick import quick_proof
from laconic.bounds.tree.node import PROBES, TOGETHER, Node, Outcome, Processor
from laconic.bounds.tree.penalized import solve_penalized
from laconic.bounds.tree.record import Record
from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.core.threads import mark_limited, one_thread
from laconic.core.wording import PROVED
from laconic.covariance import DenseCovariance
from laconic.problem.contract import Abilities
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status, stopped_or
from laconic.proof.estimate import Estimate
from laconic.proof.witness import DualWitness, TreeNode, TreeWitness, Witness
from laconic.relaxations.row_levels import RowLevels, RowLevelSolution
from laconic.search.auto import Auto
from laconic.search.support import EQUAL, Incumbent, values_of
from laconic.search.swaps import Swaps

# The relaxation is solved further at the root than below it, where branching pays more.
ROOT = RowLevels(tolerance=1e-8, max_iterations=300, least_progress=0.02)
BELOW = RowLevels(tolerance=1e-8, max_iterations=40, least_progress=0.1)
# Supports improved by swaps before the tree is begun.
POLISH = 20
# The largest number of features for which the matrix is written out.
LIMIT = 6000
# Of more features than these some are eliminated first.
MANY = 1000


@dataclass(frozen=True)
class BranchAndBound:
    """Find the best support and prove it.

    Best-first search. A node holds the supports that contain some features and nothing but some others. Its bound is
    the row-level relaxation with the features inside known; the same dual point puts features out or in for good
    (`laconic.bounds.tree.decisions`). What is left is branched on at the feature that weighs most in the relaxation. A
    node with few supports is looked at support by support. Every bound carries a margin for rounding.

    Attributes
    ----------
    gap
        Stop when the proved relative gap is this small. Zero means as small as rounding allows.
    node_limit
        Nodes at most; None for no limit.
    penalty
        If given, maximise z'Sz less the penalty times the number of features, over all cardinalities up to the
        problem's; the bound of the solution is then one on supports of its own size.
    workers
        Nodes processed at the same time; None for one a core. The answer does not depend on it.
    seed
        Of the search for the first support.
    """

    gap: float = 1e-7
    node_limit: int | None = None
    penalty: float | None = None
    workers: int | None = None
    seed: int = 0

    name: ClassVar[str] = "exact"
    abilities: ClassVar[Abilities] = Abilities(seed=True, penalty=True)

    def __post_init__(self) -> None:
        if not 0 <= self.gap < 1:
            raise ValueError(f"gap={self.gap} must be at least 0 and below 1.")
        if self.node_limit is not None and self.node_limit < 1:
            raise ValueError(f"node_limit={self.node_limit} must be at least 1, or None for no limit.")
        if self.penalty is not None and not self.penalty > 0:
            raise ValueError(f"penalty={self.penalty} must be above zero.")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers={self.workers} must be at least 1, or None for one a core.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Prove the best support; stopped early, return the best found and the bound of the nodes still open.

        Parameters
        ----------
        problem
            What to maximise.
        start
            A support to begin with.
        """
        if self.penalty is not None:
            return solve_penalized(self, problem)
        # A better support to begin with is worth more here than the time to look for it.
        search, first = Auto(seed=self.seed, polish=POLISH), None
        with problem.monitor.watch():
            first = search.solve(problem, start=start)
        # Interrupted while the answer was being written down, the search writes it down again.
        return self.prove(problem, first or search.solve(problem, start=start))

    def prove(self, problem: Problem, first: Solution, target: float = -np.inf, *, quick: bool = True) -> Solution:
        """Start from a solution: return it or a better one, proved.

        Parameters
        ----------
        problem
            What to maximise.
        first
            A solution that some other method has found.
        target
            Supports of this value or less are of no interest either.
        quick
            Whether to try the bounds that close at once where they close at all.
        """
        if first.status is Status.COMPLETE or problem.monitor.stopped is not None:
            return replace(first, method=self.name)
        if problem.n_features <= MANY:
            return self.search(problem, first, target, quick=quick)
        left: Left | Apart | None = None
        with one_thread(), problem.monitor.watch():
            problem.monitor.tick()
            value = max(first.value, target)
            left = set_apart(self, problem, first, value) or eliminate(problem, first, value, LIMIT)
        if left is None:
            return replace(first, method=self.name, status=stopped_or(problem.monitor.stopped, first.status))
        if len(left.kept) > LIMIT:
            return self._unsearched(first, len(left.kept))
        return self._among(left, problem, first, target, quick=quick)

    def _among(self, left: Left | Apart, problem: Problem, first: Solution, target: float, *, quick: bool) -> Solution:
        """Search the features left: no other support is better than the first, or than the target."""
        kept, others = left.kept, max(first.value, target)
        if len(kept) < problem.cardinality:
            return replace(first, method=self.name, estimate=others)
        covariance = DenseCovariance(problem.covariance.submatrix(kept), semidefinite=problem.covariance.semidefinite)
        inner = replace(problem, covariance=covariance, forced=np.searchsorted(kept, problem.forced))
        start = (
            replace(first, support=np.searchsorted(kept, first.support))
            if np.isin(first.support, kept).all()
            else Auto(seed=self.seed).solve(inner)
        )
        found = self.search(inner, start, target, quick=quick and left.any_witness)
        better = replace(found, support=kept[found.support])
        if found.value < first.value:
            # It was worth no more than the target, and its features are gone.
            better = replace(found, support=first.support, loadings=first.loadings, value=first.value)
        return replace(
            better,
            estimate=max(found.estimate, others),
            witness=left.witness(found.witness),
            reason=f"{len(kept)} of {problem.n_features} features left; {found.reason}",
        )

    def search(self, problem: Problem, first: Solution, target: float = -np.inf, *, quick: bool = True) -> Solution:
        """Do as `prove` does, with the covariance of all features written out.

        Parameters
        ----------
        problem, first, target, quick
            As there.
        """
        with one_thread(), problem.monitor.watch():
            problem.monitor.tick()
            S = problem.covariance.submatrix(np.arange(problem.n_features))
            blocks, threshold = safe_blocks(S, problem.cardinality, first.value, self.gap)
            if len(blocks) > 1 and not len(problem.forced):
                return prove_apart(self, problem, first, S, blocks, target, threshold)
            return _Search(self, problem, first, S, target).run(quick=quick)
        # Stopped before the search began.
        return replace(first, method=self.name, status=stopped_or(problem.monitor.stopped, first.status))

    def _unsearched(self, first: Solution, left: int) -> Solution:
        reason = f"{left} features may belong to a better support, more than the {LIMIT} that are searched"
        warnings.warn(
            f"method='exact': {reason}; the best support found is returned with what is proved of it.", stacklevel=3
        )
        return replace(first, method=self.name, reason=reason)


class _Search:
    """One run: the open nodes, the best support, what is settled."""

    def __init__(self, settings: BranchAndBound, problem: Problem, first: Solution, S: Floats, target: float) -> None:
        n = problem.n_features
        self.target = target
        self.settings, self.problem, self.first = settings, problem, first
        self.everything = np.arange(n)
        # A power of two keeps the matrix exactly what it is, and one of four its factor too.
        self.scale = float(4.0 ** np.round(0.5 * np.log2(np.abs(S).max() or 1.0)))
        S = S / self.scale
        if problem.nonnegative:
            # For z >= 0 a negative entry can only hurt: without it the matrix bounds from above.
            S = np.where(np.eye(n, dtype=bool), S, np.maximum(S, 0.0))
        self.S: Floats = S
        self.best = Incumbent(problem)
        self.best.offer(first.value, first.support)
        self.settled = -np.inf
        self.record = Record()
        root = Node(self.everything, problem.forced, np.inf, self.record.new())
        self.heap: list[tuple[float, int, Node]] = [(-root.bound, root.place, root)]
        self.nodes = self.relaxations = 0
        self.closed: Estimate | None = None

    @property
    def beat(self) -> float:
        """Supports of this value or less are of no interest, in the units of the scaled matrix."""
        value = max(self.best.value, self.target) / self.scale
        return value + max(self.settings.gap * abs(value), self.rounding)

    @property
    def rounding(self) -> float:
        """What a bound may be above a value by rounding alone, in the units of the scaled matrix."""
        return 64 * EPS * len(self.S) * max(abs(self.best.value / self.scale), 1.0)

    @property
    def upper(self) -> float:
        """What is proved, in the units of the scaled matrix."""
        open_nodes = max((-bound for bound, _, _ in self.heap), default=-np.inf)
        value = self.best.value / self.scale
        # Of supports that agree to EQUAL the first is kept, not the best; no entry of S is much above one.
        margin = 16 * self.problem.cardinality * EPS + EQUAL * abs(value)
        return max(value + margin, self.settled, open_nodes)

    def run(self, *, quick: bool) -> Solution:
        if quick and self._closed_at_once():
            return self._solution()
        workers = self.settings.workers or min(cpu_count() or 1, PROBES)
        with ThreadPoolExecutor(workers, initializer=mark_limited) as pool, self.problem.monitor.watch():
            self._root()
            self._branch(pool)
        return self._solution()

    def _closed_at_once(self) -> bool:
        """Try the cheap bounds; the tree is then its root, with the bound that closed."""
        k, support = self.problem.cardinality, self.best.support
        assert support is not None
        bound = None
        with self.problem.monitor.watch():
            bound = quick_proof(self.S, k, support, self.beat, self.problem.monitor)
        if bound is None:
            return False
        self.settled, self.heap, self.closed = bound.value, [], bound
        return True

    def _root(self) -> None:
        problem = self.problem
        n, k = problem.n_features, problem.cardinality
        root = self.heap[0][2]
        if len(problem.forced) < k:
            vector = self.first.vector(n)
            relaxed = ROOT.solve(
                self.S, k, inside=problem.forced, vector=vector, known=self.beat, monitor=problem.monitor
            )
            root = replace(root.bounded(relaxed), start=relaxed)
            self.heap = [(-root.bound, root.place, root)]
            if root.bound > self.beat:
                self._round(relaxed)
        self._take([self._processor()(root, self.beat)])

    def _round(self, relaxed: RowLevelSolution) -> None:
        """Improve the support that the relaxation points at by swaps."""
        support = self.problem.top(relaxed.diagonal[:, None])[:, 0]
        found = Swaps().solve(self.problem, start=support)
        self.best.offer(found.value, found.support)

    def _processor(self) -> Processor:
        return Processor(self.S, self.problem, self.scale, BELOW)

    def _branch(self, pool: Executor) -> None:
        process = self._processor()
        limit = self.settings.node_limit
        while self.heap and -self.heap[0][0] > self.beat and (limit is None or self.nodes < limit):
            self.problem.monitor.tick(self._progress(), best=self.best.value)
            self._take(self._parts(self.heap[0][2], process, pool))
        if not self.heap or -self.heap[0][0] <= self.beat:
            # What is still open cannot beat the best support.
            self.settled = max([self.settled, *(-bound for bound, _, _ in self.heap)])
            self.heap = []

    def _parts(self, node: Node, process: Processor, pool: Executor) -> list[Outcome]:
        """Probe what is left of a node without each of its weightiest features, and divide it accordingly.

        Where nothing is left the feature is in. If something is left without each of them, the node is branched on the
        feature without which its bound is least. A few are probed at a time, and no more where none of them is decided.
        """
        outcomes: list[Outcome] = []
        for begin in range(0, len(node.branch), TOGETHER):
            features = node.branch[begin : begin + TOGETHER]
            probes = [node.without(np.array([feature])) for feature in features]
            outcomes += pool.map(process, probes, repeat(self.beat))
            if all(outcome.node is not None for outcome in outcomes[begin:]):
                break
        used = [i for i, outcome in enumerate(outcomes) if outcome.node is None]
        if not used:
            used = [int(np.argmin([o.node.bound for o in outcomes if o.node is not None]))]
        parts = []
        for i in used:
            without, within = self.record.branched(node.place, int(node.branch[i]))
            parts.append(outcomes[i].at(without))
            node = replace(node.within(node.branch[i : i + 1]), place=within)
        return [*parts, process(node, self.beat)]

    def _take(self, outcomes: list[Outcome]) -> None:
        """Put what became of the first open node, or of its parts, in its place."""
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
        # All at once: stopped by Ctrl-C before, the node counts as open.
        self.heap = heap

    def _progress(self) -> str:
        value = self.best.value / self.scale
        gap = 100 * (self.upper - value) / value if value > 0 else np.inf
        return f"exact: {self._count()}, {len(self.heap)} open, within {gap:.2g} %"

    def _count(self) -> str:
        return "1 node" if self.nodes == 1 else f"{self.nodes} nodes"

    def _solution(self) -> Solution:
        stopped = self.problem.monitor.stopped
        value, finished = self.best.value / self.scale, not self.heap
        # A search that ends may leave more than a proof allows: a gap as wide as asked for, or signs not looked into.
        proved = self.upper - value <= max(PROVED * abs(value), self.rounding)
        status = (
            (Status.COMPLETE if proved else Status.GAP_REACHED) if finished else stopped_or(stopped, Status.NODE_LIMIT)
        )
        found = self.best.solution(status, method=self.settings.name, iterations=self.nodes)
        # The tree is about supports that hold the features forced in, or about a matrix that is not S.
        of_s = not len(self.problem.forced) and not self.problem.nonnegative
        witness: Witness | None = rescaled(self.record.witness(), self.scale) if self.closed is None else None
        reason = f"branch and bound: {self._count()}, {self.relaxations} relaxations"
        if self.closed is not None:
            witness = rescaled(self.closed.witness, self.scale)
            reason = f"the bound by {self.closed.kind} meets the value found"
        elif witness is None:
            reason += "; the tree is too large to keep, so that this is a log, not a proof that can be checked"
        return replace(
            found,
            status=status,
            estimate=max(self.upper * self.scale, found.value),
            witness=witness if of_s else None,
            reason=reason,
        )


def rescaled(witness: Witness | None, scale: float) -> Witness | None:
    """Return a witness in the units of S times a scale, a power of four.

    Parameters
    ----------
    witness
        The witness: of a bound that closes at once, or a tree.
    scale
        The scale.
    """
    match witness:
        case DualWitness():
            return _scaled_point(witness, scale)
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
