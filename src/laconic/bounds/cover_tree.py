"""A tree of cases on the cover: components in groups, with features fixed in and out.

Each node is relaxed, and its dual point fixes features. What is left is divided by a feature and a group. The node with
the largest bound comes first, so that the bound of the whole tree falls with every node. Every bound and every decision
goes through the gate when it is made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, one_thread
from laconic.proof.witness import NO_BOUND, NO_SUPPORT, Proved, no_features
from laconic.proof.witness_cover import (
    BOUNDED,
    BY_SIZES,
    EMPTY,
    CoverCase,
    CoverDecision,
    CoverPoint,
    CoverWitness,
    Group,
    as_stored,
    restricted,
    written_decision,
    written_point,
)
from laconic.relaxations.cover import Cover, CoverState, plain_point

# The steps at the root, below it, and at a node where nothing is left to decide. Below the root, branching lowers the
# bound faster than more steps.
ROOT = Cover(most=400, least_progress=0.02)
BELOW = Cover(most=150, least_progress=0.1)
LEAF = Cover(most=2000, least_progress=0.01)
# The shares of the diagonal at which features are fixed. With less of it the bound is larger, and features cost less.
SHARES = (0.0, 0.3, 0.7, 1.0)
# A step of a relaxation takes as long as if there were so many features more.
OVERHEAD = 40
# Room for rounding errors when features are fixed; the gate includes them.
MARGIN = 1e-9
# Features are put in, those of the largest weight first, until so many in a row cannot be.
FAILURES = 2
# A node is relaxed again without branching while a round decides at least this share of its open features.
SHRINKS = 0.15
# A bound that misses the value to beat by this share is low enough: rounding and stored digits cost less.
ROUNDING = 3e-7


@dataclass(eq=False)
class _Round:
    """A point, what it proves of a case, and what it decides there."""

    case: CoverCase
    point: CoverPoint
    proved: Proved
    decisions: list[CoverDecision] = field(default_factory=list)
    excluded: Proved = NO_SUPPORT  # the bound of what the decisions exclude


@dataclass(eq=False)
class _Branch:
    """A node as it is stored: what was proved of it, and its children."""

    case: CoverCase  # what the decisions leave
    rounds: list[_Round] = field(default_factory=list)
    end: tuple[int, ...] = (EMPTY,)
    children: list["_Branch"] = field(default_factory=list)

    def written(self) -> tuple[list[int], list[Floats], Proved]:
        """Return the tree below the node as it is stored, with its bound: the least of those that it has.

        A point bounds what earlier rounds leave; the children bound what all rounds leave.
        """
        ways: list[tuple[Proved, int, tuple[int, ...]]] = []
        before = [NO_SUPPORT]
        for part in self.rounds:
            before.append(max(before[-1], part.excluded))
        below = [child.written() for child in self.children]
        if below or self.case.empty:
            bound = max([before[-1], *(proved for _, _, proved in below)])
            ways.append((bound, len(self.rounds), self.end))
        for i, part in enumerate(self.rounds):
            ways.append((max(before[i], part.proved), i + 1, (BOUNDED,)))
        if not ways:
            return [0, EMPTY], [], NO_BOUND
        bound, count, end = min(ways, key=lambda way: way[0].value)
        last = end == (BOUNDED,)
        cases: list[int] = []
        numbers: list[Floats] = []
        kept = 0
        for i, part in enumerate(self.rounds[:count]):
            bounds = last and i == count - 1
            decisions = [] if bounds else part.decisions
            if not (decisions or bounds):
                continue
            kept += 1
            for own in (
                written_point(part.case, part.point),
                ([len(decisions)], []),
                *map(written_decision, decisions),
            ):
                cases += own[0]
                numbers += own[1]
        cases = [kept, *cases, *end]
        for child_cases, child_numbers, _ in [] if last else below:
            cases += child_cases
            numbers += child_numbers
        return cases, numbers, bound


@dataclass(eq=False)
class _Node:
    case: CoverCase
    bound: float
    branch: _Branch
    start: CoverState | None = None
    weights: Floats | None = None  # z of each group on the features of the case


@dataclass(frozen=True, eq=False)
class CoverResult:
    """The bound of a tree, and how far it came."""

    witness: CoverWitness
    proved: Proved
    nodes: int
    complete: bool  # nothing that is left may be better
    stuck: bool  # what is left cannot be divided


class CoverTree:
    """Bounds the value of components in a case, and offers supports that may be better than the best known.

    `offer` takes the features of each group's components, and returns the best value known. `work` limits the steps of
    the relaxations, times about the square of the number of features and the number of groups.
    """

    def __init__(
        self,
        first: CoverCase,
        value: float,
        monitor: Monitor,
        offer: Callable[[list[tuple[Group, Indices]]], float],
        *,
        ways: list[tuple[int, ...]] | None = None,
        gap: float = ROUNDING,
        work: float = np.inf,
        node_limit: int | None = None,
    ) -> None:
        self.first, self.value, self.monitor, self.offer, self.ways = first, value, monitor, offer, ways
        self.gap, self.work, self.node_limit = max(gap, ROUNDING), work, node_limit
        self.S = first.S.matrix
        self.nodes = 0
        self.done = 0.0
        self.root = _Branch(first)
        self.heap: list[tuple[float, int, _Node]] = []

    @property
    def beat(self) -> float:
        """Components of this value or less are of no interest."""
        return self.value + self.gap * abs(self.value)

    @property
    def limited_by_nodes(self) -> bool:
        """Whether there are as many nodes as there may be."""
        return self.node_limit is not None and self.nodes >= self.node_limit

    @property
    def _over(self) -> bool:
        return self.limited_by_nodes or self.done >= self.work or self.monitor.is_over

    def run(self) -> CoverResult:
        """Grow the tree until nothing is left that may be better, or the work is used up."""
        with one_thread(), self.monitor.watch():
            root = _Node(self.first, np.inf, self.root)
            self._process(root, ROOT)
            while self.heap and -self.heap[0][0] > self.beat and not self._over:
                stage = f"components together, {self.nodes} nodes, {len(self.heap)} open"
                self.monitor.tick(stage, best=self.value, bound=-self.heap[0][0])
                with self.monitor.hidden():
                    self._divide(heappop(self.heap)[2])
            if self.monitor.is_over:
                self.monitor.tick()  # notes why it stopped
        cases, numbers, proved = self.root.written()
        witness = CoverWitness(
            np.array(cases, dtype=np.intp), np.concatenate([np.empty(0), *numbers]).astype(np.float32)
        )
        return CoverResult(witness, proved, self.nodes, proved.value <= self.beat * (1 + ROUNDING), not self.heap)

    def _process(self, node: _Node, relaxation: Cover) -> None:
        """Bound a node and fix features, again while that fixes many; keep it if something in it may be better."""
        self.nodes += 1
        node.branch.case = node.case
        while not node.case.empty:
            settled = node.case.settled
            if settled:
                self.value = max(self.value, self.offer([(group, group.alive) for group in node.case.groups]))
            relaxed = self._relax(node, LEAF if settled else relaxation)
            if relaxed and (settled or node.bound <= self.beat):
                # The node holds nothing better, or it cannot be divided and its bound stays.
                return
            before = node.case.open
            # A total budget is divided by sizes first: what features are fixed is known better then.
            if relaxed and not self.monitor.is_over and not self._is_budget(node):
                self._fix(node)
            if not relaxed or self._over or not (node.case.settled or node.case.open <= (1 - SHRINKS) * before):
                heappush(self.heap, (-node.bound, self.nodes, node))
                return
            relaxation = BELOW

    def _is_budget(self, node: _Node) -> bool:
        """Whether a node is to be divided by the numbers of nonzeros."""
        return self.ways is not None and node.case is self.first

    def _relax(self, node: _Node, relaxation: Cover) -> bool:
        """Bound a node by a dual point; return whether there was time for that."""
        case = node.case
        S = np.ascontiguousarray(self.S[np.ix_(case.alive, case.alive)])
        apart = len(case.alive) == sum(group.count * len(group.alive) for group in case.groups)
        if case.settled and (case.common or not case.overlap or apart):
            # The largest eigenvalues of the supports are the value.
            point = plain_point(S, case)
        else:
            known = self.value + 0.5 * self.gap * abs(self.value)
            found = relaxation.solve(S, case, start=node.start, known=known, monitor=self.monitor)
            if found is None:
                return False
            self.done += found.steps * (len(S) + OVERHEAD) ** 2 * len(case.groups)
            point, node.start, node.weights = found.point, found.state, found.weights
        point = as_stored(point)
        proved = case.bounded(point)
        node.bound = min(node.bound, proved.value)
        node.branch.rounds.append(_Round(case, point, proved))
        if not case.settled:
            self._round(node)
        return True

    def _fix(self, node: _Node) -> None:
        """Fix features of each group by the last point."""
        assert node.weights is not None
        last, features, weights = node.branch.rounds[-1], node.case.alive, node.weights
        case, point = node.case, last.point

        def take(decision: CoverDecision) -> bool:
            nonlocal case, point
            excluded = case.decided(point, decision)
            if not excluded.value <= self.beat:
                return False
            last.decisions.append(decision)
            last.excluded = max(last.excluded, excluded)
            after = case.after(decision)
            point, case = restricted(point, case, after), after
            return True

        for share in SHARES:
            for g in range(len(case.groups)):
                if not case.empty:
                    out = self._out(case, point, g, share)
                    if len(out):
                        take(CoverDecision(g, float(np.float32(share)), out, no_features()))
        for g, z in enumerate(weights):
            if case.empty or (case.groups[g].count > 1 and not case.common):
                continue
            group, failed = case.groups[g], 0
            free = group.alive[group.is_free]
            own = z[np.searchsorted(features, free)]
            for place in np.argsort(-own, kind="stable")[: group.left]:
                if case.empty or failed >= FAILURES:
                    break
                failed = 0 if take(CoverDecision(g, 1.0, no_features(), free[[place]])) else failed + 1
        if case is not node.case:
            node.case = node.branch.case = case
            left = np.searchsorted(features, case.alive)
            node.weights = weights[:, left]
            node.start = None if node.start is None or case.empty else node.start.on(left)

    def _out(self, case: CoverCase, point: CoverPoint, g: int, share: float) -> Indices:
        """Return the features that a point puts out of a group, but for rounding errors."""
        group = case.groups[g]
        base, costs = case.priced(point, share)
        cost = costs[g]
        paid = sum(one.paid(own) for one, own in zip(case.groups, costs, strict=True))
        room = self.beat - sum(part.value for part in base) - paid
        return group.alive[group.is_free & (cost - group.level(cost) < room - MARGIN * abs(self.beat))]

    def _round(self, node: _Node) -> None:
        """Offer the features of the largest weights, group by group."""
        assert node.weights is not None
        case, taken, chosen = node.case, no_features(), []
        for group, z in zip(case.groups, node.weights, strict=True):
            own = z[np.searchsorted(case.alive, group.alive)].copy()
            own[~group.is_free] = np.inf
            if not case.overlap:
                own[np.isin(group.alive, taken)] = -1.0
            count = group.size if group.budget == group.size else min(group.budget, len(group.alive))
            some = group.alive[np.argsort(-own, kind="stable")[:count]]
            taken = np.union1d(taken, some)
            chosen.append((group, some))
        self.value = max(self.value, self.offer(chosen))

    def _divide(self, node: _Node) -> None:
        """Divide a node, and process its parts."""
        case, branch = node.case, node.branch
        if self.ways is not None and self._is_budget(node):
            branch.end = (BY_SIZES,)
            branch.children = [_Branch(case.of_sizes(sizes)) for sizes in self.ways]
            for child in branch.children:
                self._process(_Node(child.case, node.bound, child), ROOT)
            return
        g, feature = self._chosen(node)
        branch.end = (int(feature), int(g))
        without, within = case.divided(g, feature)
        features, start = case.alive, node.start
        split = case.groups[g].count > 1 and not case.common
        starts = [start, start.divided(g, case.groups[g].count, case.overlap) if split and start is not None else start]
        # If the work is stopped here, no part is missing.
        branch.children = [_Branch(without), _Branch(within)]
        for child, state in zip(branch.children, starts, strict=True):
            if state is not None and not child.case.empty:
                state = state.on(np.searchsorted(features, child.case.alive))
            self._process(_Node(child.case, node.bound, child, state), BELOW)

    def _chosen(self, node: _Node) -> tuple[int, int]:
        """Return the group and the feature that divide a node: the largest weight that is not settled."""
        assert node.weights is not None
        best, features, contested = (-1.0, 0, 0), node.case.alive, node.case.contested
        for g, group in enumerate(node.case.groups):
            places = np.flatnonzero(group.is_free & (np.isin(group.alive, contested) | (not group.settled)))
            if not len(places):
                continue
            z = node.weights[g][np.searchsorted(features, group.alive)] / group.most
            place = places[int(np.argmax(z[places]))]
            if float(z[place]) > best[0] + 1e-9:
                best = (float(z[place]), g, int(group.alive[place]))
        return best[1], best[2]
