"""Prove how good a support is: reduce, relax, divide.

    reduce   which features can be in a better support? First by their variances, then by the rows of S.
    relax    bounds on the features that are left, the cheapest first
    divide   a tree of cases

A proof ends when its bound meets the value found, or its work is used up. Work is counted, not timed, so that results
repeat. The time limit and Ctrl-C end it, too. Everything that was proved by then counts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar

from laconic.bounds.cover_tree import CoverTree
from laconic.bounds.reduction import large_variances, reduced_by_rows
from laconic.bounds.tree import ROOT_STEPS, TreeSearch
from laconic.core.arrays import PROVED, WRITE_OUT_LIMIT, Indices
from laconic.core.monitor import Monitor, one_thread
from laconic.covariance import Covariance
from laconic.proof import Estimate, ProofError, Proved, UpperBound
from laconic.proof.gate import proved_of, upper_bound_of
from laconic.proof.witness import Witness
from laconic.proof.witness_joint import cover_case
from laconic.proof.witness_plain import (
    ExhaustiveWitness,
    RowSumWitness,
    ThresholdWitness,
    TraceWitness,
    shrunk_eigenvalue_bound,
)
from laconic.proof.witness_steps import Again, ByRows, ByVariances, Ledger, Step, hidden_cases
from laconic.relaxations.cover import Cover
from laconic.relaxations.elementary import elementary_bound
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.proposition_2 import proposition_2_below
from laconic.relaxations.rows import RowLevels, quick_row_levels
from laconic.search import Auto, Swaps
from laconic.search.exhaustive import count_supports
from laconic.search.problem import Bound, Problem, Solution, Status, how_it_ended, solve_at_hand, stopped_or
from laconic.search.support import EQUAL, Incumbent, leading

# Trees stop at this gap: well below the gap that counts as optimal, so that the gate's margin fits in between.
GAP = PROVED / 10


@dataclass(frozen=True)
class Effort:
    """How much a proof may do."""

    products: float  # multiplications of one look at all pairs of features
    written: int  # the most features whose matrix is written out for the row levels
    features: int  # the most features that a tree is grown on
    work: float  # of a tree: steps of relaxations, times the square of the number of features; 10^7 take about a second
    l0: int = 0  # the l0 relaxation is solved for at most so many features
    node_limit: int | None = None  # nodes of a tree
    gap: float = GAP  # trees stop at this relative gap
    workers: int | None = None  # nodes of a tree processed at the same time


# The names that `proof=` takes.
EFFORTS = {
    "fast": Effort(products=2e12, written=1600, features=120, work=5e6),
    "tight": Effort(products=1e13, written=WRITE_OUT_LIMIT, features=WRITE_OUT_LIMIT, work=1e9, l0=200),
    "exact": Effort(products=1e14, written=WRITE_OUT_LIMIT, features=WRITE_OUT_LIMIT, work=np.inf),
}


@dataclass(frozen=True)
class Exact:
    """Prove by best-first branch and bound that no support is better: ``SparsePCA(proof=Exact(gap=0.01))``.

    In each node of the tree some features are fixed in, some are excluded, and the others are open. The bound of a node
    is the row-level relaxation. The same dual point fixes or excludes features for good. Features forced in and signs
    of the loadings count. ``proof="exact"`` is this with the default settings.

    Attributes
    ----------
    gap
        Stop when the relative gap is this small. Zero means as small as rounding allows.
    node_limit
        The largest number of nodes; None for no limit.
    workers
        The number of nodes processed at the same time; None for one for each core. The result does not depend on it.

    Examples
    --------
    >>> from laconic import SparsePCA
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Exact
    >>> model = SparsePCA(cardinality=5, proof=Exact(gap=0.01)).fit_covariance(load_pitprops().covariance)
    >>> bool(model.gap_[0] <= 0.01)
    True
    """

    gap: float = 1e-7
    node_limit: int | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        check_tree(self.gap, self.node_limit, self.workers)

    def estimates(self, problem: Problem, solution: Solution) -> Iterator[Estimate]:
        """Yield the bound that is proved."""
        yield prove(problem, solution, self)[1]


def check_tree(gap: float, node_limit: int | None, workers: int | None) -> None:
    """Raise an error unless these are settings of a tree."""
    if not 0 <= gap < 1:
        raise ValueError(f"gap={gap} must be at least 0 and below 1.")
    if node_limit is not None and node_limit < 1:
        raise ValueError(f"node_limit={node_limit} must be at least 1, or None for no limit.")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers} must be at least 1, or None for one for each core.")


#: The values that `proof=` takes.
Proof: TypeAlias = Literal["fast", "tight", "exact"] | Bound


def check_proof(proof: Any) -> None:
    """Raise an error unless a value is one that `proof=` takes."""
    if isinstance(proof, str):
        if proof in EFFORTS:
            return
    elif isinstance(proof, Bound) and not isinstance(proof, type):
        return
    raise ValueError(
        f"proof={proof!r} must be 'fast', 'tight', 'exact', or an object with the method estimates of a `Bound`."
    )


def takes_long(proof: Any) -> bool:
    """Say whether a proof may take much longer than a fit, so that a fast one comes first."""
    return proof in ("tight", "exact") or isinstance(proof, Exact)


# All supports are compared if there are at most this many: that takes a few thousandths of a second.
FEW_SUPPORTS = 2000
# Up to this many features the eigenvalues of S cost little, and variances alone are not used to leave features out.
SMALL = 400
# The l0 relaxation is solved if Proposition 2 is within this share of the value found. Beyond it row levels are lower.
NEAR_FOR_L0 = 0.1
# Supports above this size are left out of Proposition 2: it needs the eigenvalues of their block.
MOST_IN_SUPPORT = 1000
# A threshold is above the floor by this factor, because another container of the data has a slightly different floor.
ABOVE = 1 + 1e-3
# Values of t that are tried for the threshold bound, and the progress of power steps that is worth another one there.
THRESHOLDS, ROUGH = 12, 1e-3
# Features that rows eliminate are left out if they are at least this share.
WORTHWHILE = 0.05
# Exchanges improve this many supports before a tree is grown. A better first support shrinks the tree by more than the
# time that it takes.
POLISH = 20
# A tree may take as long as the look at all pairs of features before it. A unit of its work takes as long as this many
# products.
PRODUCTS_OF_A_UNIT = 4e3
# The cover is tried for supports of at least this size, among so many features: there row levels end far above.
LARGE, LEAST_FOR_COVER, MOST_FOR_COVER, FEW_STEPS = 64, 200, 1600, 60
# A tree for fewer features, which need only be low enough, has at most this many nodes.
NODES_FOR_SMALLER = 300


def prove(
    problem: Problem, solution: Solution, proof: Proof | Effort | None, *, target: float = -np.inf
) -> tuple[Solution, UpperBound]:
    """Return the solution or a better one, and the least bound that is proved; a `ProofError` if there is none.

    A bound on all supports also bounds those that constraints allow. A better solution satisfies them. Supports of at
    most the target value are of no interest. Without `proof` only the bound that the solver gives is proved.
    """
    effort = effort_of(proof)
    work = _Proof(problem, solution, effort or EFFORTS["fast"], target)
    with problem.monitor.watch():
        work.begin()
        if effort is not None:
            work.reduce()
            work.relax()
            work.divide()
        elif isinstance(proof, Bound):
            work.take(proof.estimates(problem, solution))
    return work.end()


def effort_of(proof: "Proof | Effort | None") -> Effort | None:
    """Return the effort that a proof stands for; None if it is the user's own, or none."""
    if isinstance(proof, Exact):
        return replace(EFFORTS["exact"], node_limit=proof.node_limit, gap=proof.gap, workers=proof.workers)
    return EFFORTS[proof] if isinstance(proof, str) else proof if isinstance(proof, Effort) else None


def closes(bound: Estimate | None, solution: Solution) -> bool:
    """Say whether a bound, once it is proved, shows that a solution is optimal."""
    return bound is not None and bound.value - solution.value <= PROVED * abs(solution.value)


def with_note(solution: Solution, note: str) -> Solution:
    """Return the solution with a note added to its reason."""
    return replace(solution, reason=f"{solution.reason}; {note}" if solution.reason else note)


@dataclass(eq=False)
class _Level:
    """Some of the features, which hold all better supports, and the steps about supports of them."""

    features: Indices | None
    steps: list[int] = field(default_factory=list)  # for k features
    smaller: list[int] = field(default_factory=list)  # for fewer
    # How the level before was reduced to this one: by rows, with the place of a step for k - 1 features there, and the
    # strong rows. None means by variances.
    rows: tuple[int, Indices] | None = None
    reach: float = -np.inf  # what supports with a feature that the rows eliminated reach


class _Proof:
    """The best support and all steps so far."""

    def __init__(self, problem: Problem, solution: Solution, effort: Effort, target: float) -> None:
        self.problem, self.first, self.best = problem, solution, solution
        self.effort, self.target = effort, target
        self.monitor: Monitor = problem.monitor
        self.k = problem.cardinality
        self.ledger = Ledger(problem.covariance, self.k, problem.forced)
        self.levels = [_Level(None)]
        self.again: set[tuple[int, int]] = set()
        self.looked = 0.0  # the work of the look at all pairs of features
        self.failed: list[str] = []
        self.status: Status | None = None

    @property
    def level(self) -> _Level:
        return self.levels[-1]

    @property
    def part(self) -> Covariance:
        """S on the features that are left."""
        return self.ledger.part(self.level.features)

    @property
    def kept(self) -> Indices:
        features = self.level.features
        return np.arange(self.problem.n_features) if features is None else features

    @property
    def beat(self) -> float:
        """Supports of this value or less are of no interest."""
        return max(self.best.value, self.target)

    @property
    def closed(self) -> bool:
        """Whether the bound meets the value found. It is proved, so little room for rounding is needed."""
        return self._bound(0) - self.beat <= (PROVED / 2 if self.effort.gap else GAP) * abs(self.beat)

    def _bound(self, place: int) -> float:
        """Return the bound on supports of the features of a level."""
        level = self.levels[place]
        direct = min((self.ledger.proved[step].value for step in level.steps), default=np.inf)
        if place + 1 == len(self.levels):
            return direct
        return min(direct, max(self._reach(place + 1), self._bound(place + 1)))

    def _reach(self, place: int) -> float:
        """Return what supports with a feature that is left out at a level reach."""
        level = self.levels[place]
        if level.rows is not None:
            return level.reach
        return max((bound.value for j, bound in self._hidden(place).items() if j), default=-np.inf)

    def _hidden(self, place: int) -> dict[int, Proved]:
        """Return the bounds on supports with j features that variances leave out at a level."""
        level, before = self.levels[place], self.levels[place - 1].features
        own = np.arange(self.problem.n_features) if before is None else before
        steps, proved = self.ledger.steps, self.ledger.proved
        given = [(steps[at].cardinality, proved[at], self._is_asked(at)) for at in (*level.steps, *level.smaller)]
        assert level.features is not None
        return hidden_cases(self.problem.covariance, own, level.features, self.k, given)

    def _is_asked(self, place: int) -> bool:
        return bool(len(self.problem.forced)) and self.ledger.steps[place].cardinality == self.k

    def add(self, how: Any, cardinality: int | None = None, proved: Proved | None = None) -> int | None:
        """Add a step about the features that are left. Return its place, or None if it proves nothing."""
        q = self.k if cardinality is None else cardinality
        try:
            place = self.ledger.add(Step(q, self.level.features, how), proved)
        except ValueError as error:
            self.failed.append(str(error))
            return None
        if not np.isfinite(self.ledger.proved[place].value):
            return None
        (self.level.steps if q == self.k else self.level.smaller).append(place)
        return place

    def begin(self) -> None:
        """Take the solver's own bound."""
        if self.first.witness is None or not np.isfinite(self.first.estimate):
            return
        if self.add(self.first.witness) is None and self.failed:
            self.first = self.best = with_note(self.first, f"a proof failed: {self.failed[0]}")

    def take(self, estimates: Iterable[Estimate]) -> None:
        """Take the estimates of a bound of the user's own."""
        for estimate in estimates:
            if isinstance(estimate, UpperBound) and estimate.cardinality == self.k:
                self.add(estimate.witness, proved=Proved(estimate.value, estimate.margin))
            else:
                self.add(estimate.witness)
            if self.closed:
                return
            self.monitor.tick("bounds")

    # Reduce.

    def reduce(self) -> None:
        """Leave features out by their variances, and then by the rows of S.

        Features whose rows are not at hand are left out, too: only their variances are known.
        """
        if self.closed:
            return
        whole, hand = self.problem.covariance, self.problem.covariance.at_hand
        kept = np.arange(whole.n_features) if hand is None else hand
        if len(kept) > SMALL and self.k > 1:
            large = large_variances(whole, kept, self.best, self.beat)
            kept = kept if large is None else large
        if len(kept) < whole.n_features:
            self.levels.append(_Level(kept))
        self._look_at_all_pairs()

    def _look_at_all_pairs(self) -> None:
        """Bound the features that are left by row sums and thresholds, and leave features out by their rows."""
        part, k = self.part, self.k
        if len(self.kept) <= SMALL:
            return
        self.add(TraceWitness())
        if self.closed or k == 1 or part.pairs_cost > self.effort.products:
            return
        part.pairs(k - 1, self.monitor)
        self.looked = part.pairs_cost / PRODUCTS_OF_A_UNIT
        self.add(RowSumWitness())
        if self.closed:
            return
        self._add_threshold(part, k)
        smaller = self._add_threshold(part, k - 1)
        if not self.closed and smaller is not None:
            self._eliminate_by_rows(smaller)

    def _add_threshold(self, part: Covariance, q: int) -> int | None:
        """Add the lowest of some threshold bounds."""
        pairs = part.pairs(max(self.k - 1, 1))
        largest = float(pairs.large.data.max(initial=pairs.floor))

        def at(t: float) -> float:
            self.monitor.tick("bounds")
            return shrunk_eigenvalue_bound(pairs.large, part.variances, t, ROUGH) + (q - 1) * t

        # The bound is convex in t: the entries of C are, and the largest eigenvalue is convex and grows with them.
        ends = (pairs.floor * ABOVE, max(largest, pairs.floor * ABOVE))
        found = minimize_scalar(at, bounds=ends, method="bounded", options={"maxiter": THRESHOLDS})
        return self.add(ThresholdWitness(float(found.x)), q)

    def _eliminate_by_rows(self, smaller: int) -> bool:
        """Leave features out that no better support contains, by a step for k - 1; return whether that was worth it."""
        found = reduced_by_rows(self.part, self.k, self.beat, self.ledger.proved[smaller].value, self._on_level())
        if found is None or len(found.kept) > (1 - WORTHWHILE) * len(self.kept):
            return False
        level = _Level(self.kept[found.kept], rows=(smaller, found.strong), reach=found.reach)
        self.levels.append(level)
        return True

    def _on_level(self) -> Solution:
        """Return the best solution on the features that are left."""
        return replace(self.best, support=np.searchsorted(self.kept, self.best.support))

    # Relax.

    def relax(self) -> None:
        """Bound the features that are left. Eliminate more of them by the rows as long as that is worth it."""
        while not self.closed and len(self.kept) <= self.effort.written:
            point = self._direct(self.k, self._on_level())
            self._cover_hidden()
            if self.closed or point is None or self.k == 1 or len(self.kept) <= self.k:
                return
            smaller = self.add(Again(point), self.k - 1)
            if smaller is None or self.ledger.proved[smaller].value >= self.beat:
                return
            self.monitor.tick("bounds")
            if not self._eliminate_by_rows(smaller):
                return

    def _direct(self, q: int, solution: Solution, enough: float | None = None) -> int | None:
        """Add bounds on supports of q of the features that are left, until one is low enough.

        Return the place of the dual point of the row levels, if they were needed.
        """
        part, n = self.part, len(self.kept)
        problem = Problem(part, min(q, n), monitor=self.monitor)
        enough = self.beat * (1 + GAP) if enough is None else enough
        q = problem.cardinality
        if count_supports(problem) <= FEW_SUPPORTS:
            self.add(ExhaustiveWitness(), q)
            return None
        least = np.inf

        def low(place: int | None) -> bool:
            nonlocal least
            if place is not None:
                least = min(least, self.ledger.proved[place].value)
            return least <= enough

        known = None
        if low(self.add(elementary_bound(part, q).witness if n <= SMALL else TraceWitness(), q)):
            return None
        semidefinite = part.known_semidefinite_shift == 0.0 or n <= SMALL
        if semidefinite and len(solution.support) <= MOST_IN_SUPPORT:
            known = proposition_2_below(part, solution.support, q, least)
            if known is not None and np.isfinite(known.value) and low(self.add(known.witness, q)):
                return None
        self.monitor.tick("bounds")
        if known is not None and n <= self.effort.l0 and least <= enough * (1 + NEAR_FOR_L0):
            relaxed = L0Relaxation().solve(part.matrix, q, monitor=self.monitor)
            if low(self.add(relaxed.witness(), q)):
                return None
        z = np.zeros(n)
        z[solution.support] = solution.loadings
        levels = quick_row_levels(part.matrix, q, z, enough, monitor=self.monitor)
        return None if levels is None else self.add(levels.witness, q)

    def _cover_hidden(self) -> None:
        """Bound smaller supports until hidden features no longer raise the bound, or nothing more can be done."""
        place = 1 if len(self.levels) > 1 and self.levels[1].rows is None else 0
        if not place:
            return
        enough = max(self.beat, self._bound(place)) * (1 + GAP)
        whole, self.levels = self.levels, self.levels[: place + 1]
        try:
            tried: set[int] = set()
            while True:
                cases = {j: bound.value for j, bound in self._hidden(place).items() if 0 < j < self.k}
                worst = max(cases, key=lambda j: cases[j], default=0)
                if not worst or cases[worst] <= enough or worst in tried:
                    return
                tried.add(worst)
                self.monitor.tick("bounds")
                self._bound_smaller(place, worst, enough)
        finally:
            self.levels = whole

    def _bound_smaller(self, place: int, hidden: int, enough: float) -> None:
        """Bound supports with some hidden features: by the numbers at hand, by new ones, and by a tree."""
        q = self.k - hidden
        for step in self.level.steps:
            if isinstance(self.ledger.steps[step].how, Witness) and (step, q) not in self.again:
                self.again.add((step, q))
                self.add(Again(step), q)
        own = self._on_level()
        strongest = np.sort(own.support[np.argsort(-np.abs(own.loadings), kind="stable")[:q]])
        value, z = leading(self.part.submatrix(strongest))
        start = replace(own, support=strongest, loadings=z, value=value)
        for bound in (self._direct, self._divide_for):
            reached = self._hidden(place)[hidden].value
            if reached <= enough or (bound == self._divide_for and self.effort.features <= SMALL):
                return
            bound(q, start, self._least(q) - (reached - enough))

    def _least(self, q: int) -> float:
        """Return the least bound on q of the features that are left."""
        steps, own = self.ledger.steps, (*self.level.steps, *self.level.smaller)
        return min((self.ledger.proved[at].value for at in own if steps[at].cardinality >= q), default=np.inf)

    # Divide.

    def divide(self) -> None:
        """Grow a tree of cases on the features that are left."""
        n = len(self.kept)
        if self.closed or self.k >= n:
            return
        hidden_alone = self._hidden_alone()
        if hidden_alone or n > max(self.effort.features, np.sqrt(self.looked / ROOT_STEPS)):
            if self.effort.features > SMALL:
                self.status = Status.TOO_MANY
                note = f"{n:,} features may be in a better support, and a tree is grown on at most {WRITE_OUT_LIMIT:,}"
                if hidden_alone:
                    note = "features of which only the variances are used may be in a better support, and no tree helps"
                self.best = with_note(self.best, note)
            return
        forced = np.searchsorted(self.kept, self.problem.forced)
        problem = replace(self.problem, covariance=self.part, forced=forced)
        first = replace(self._on_level(), status=Status.LOCAL, estimate=np.inf, witness=None)
        if self.effort.features > SMALL and not self.problem.nonnegative:
            better = Auto(polish=POLISH).solve(problem, start=first.support)
            first = better if better.value > first.value * (1 + EQUAL) else first
        work = max(self.effort.work, self.looked)
        if self._cover_is_lower(problem, first):
            found = self._divide_by_cover(problem, first, work)
        else:
            tree = TreeSearch(self.effort.gap, self.effort.node_limit, work, self.effort.workers)
            found = tree.search(problem, first, self.target)
        if found.value > self.best.value * (1 + EQUAL):
            self.best = replace(found, support=self.kept[found.support], bound=None)
        self._add_bound(found, self.k)
        self.status = found.status
        self.best = with_note(self.best, found.reason)
        self._cover_hidden()

    def _cover_is_lower(self, problem: Problem, first: Solution) -> bool:
        """Whether a few steps of the cover give a lower bound than a few of row levels. Only large supports are tried.

        A step of the cover takes longer.
        """
        n, k = problem.n_features, problem.cardinality
        if problem.nonnegative or self.effort.features <= SMALL:
            return False
        if k < LARGE or not LEAST_FOR_COVER <= n <= MOST_FOR_COVER:
            return False
        S, vector = problem.covariance.matrix, first.vector(n)
        rows = RowLevels(max_iterations=FEW_STEPS).solve(S, k, vector=vector, known=first.value, monitor=self.monitor)
        with one_thread():
            cover = Cover(most=FEW_STEPS).solve(
                S, cover_case(problem.covariance, (k,), "common", None, problem.forced)[0], monitor=self.monitor
            )
        return cover is not None and cover.estimate < rows.estimate

    def _divide_by_cover(self, problem: Problem, first: Solution, work: float) -> Solution:
        """Grow a tree on the cover, and return the best solution with its bound."""
        best = Incumbent(problem)
        best.offer(first.value, first.support)

        def offer(chosen: list[tuple[Any, Indices]]) -> float:
            best.offer_all(chosen[0][1][None])
            return max(best.value, self.target)

        case, _ = cover_case(problem.covariance, (problem.cardinality,), "common", None, problem.forced)
        limit, gap = self.effort.node_limit, self.effort.gap
        tree = CoverTree(case, self.beat, problem.monitor, offer, gap=gap, work=work, node_limit=limit)
        result = tree.run()
        limit_status = Status.NODE_LIMIT if tree.limited_by_nodes else Status.WORK_LIMIT
        status = how_it_ended(best.value, result.proved.value, gap, problem.monitor.stopped, limit_status)
        found = best.solution(status, method=first.method, iterations=result.nodes)
        found = with_note(found, f"branch and bound on the cover: {result.nodes} nodes")
        if not np.isfinite(result.proved.value):
            return found
        return replace(found, bound=upper_bound_of(result.witness, problem.cardinality, result.proved))

    def _hidden_alone(self) -> bool:
        """Whether supports of hidden features alone reach as much as all others: no tree lowers the bound then."""
        if len(self.levels) < 2 or self.levels[1].rows is not None:
            return False
        alone = self._hidden(1).get(self.k)
        return alone is not None and alone.value >= self._bound(1)

    def _divide_for(self, q: int, start: Solution, enough: float) -> None:
        """Grow a tree for a smaller number of features, until its bound is low enough."""
        problem = Problem(self.part, q, monitor=self.monitor)
        start = Auto(polish=1).solve(problem, start=start.support)
        if start.value < enough:
            gap = 0.5 * (enough - start.value) / start.value
            found = TreeSearch(min(gap, 0.5), NODES_FOR_SMALLER, self.effort.work).search(problem, start)
            self._add_bound(found, q)

    def _add_bound(self, found: Solution, q: int) -> None:
        """Add the bound of a tree, which was proved while the tree grew."""
        if found.bound is not None:
            self.add(found.bound.witness, q, Proved(found.bound.value, found.bound.margin))

    # End.

    def end(self) -> tuple[Solution, UpperBound]:
        """Return the best solution and the bound."""
        last: int | None = None
        for place in reversed(range(len(self.levels))):
            level = self.levels[place]
            if place + 1 < len(self.levels):
                inner = self.levels[place + 1]
                steps = () if last is None else (last,)
                if inner.rows is None and (steps or inner.smaller):
                    level.steps.append(self._step(level, ByVariances((*steps, *inner.smaller))))
                elif inner.rows is not None and last is not None:
                    level.steps.append(self._step(level, ByRows(last, *inner.rows)))
            last = min(level.steps, key=lambda step: self.ledger.proved[step].value, default=None)
        if last is None:
            self.levels = self.levels[:1]
            last = self.add(TraceWitness())
        if last is None:
            raise ProofError(self.failed[0] if self.failed else "Nothing was proved.")
        bound = proved_of(self.ledger, last)
        return self._solution(bound), bound

    def _step(self, level: _Level, how: Any) -> int:
        return self.ledger.add(Step(self.k, level.features, how))

    def _solution(self, bound: UpperBound) -> Solution:
        best = self.best
        if best.value > self.first.value * (1 + EQUAL):
            best = self._improved(best) if self._allowed(best) else with_note(self.first, best.reason)
        stopped, status = self.monitor.stopped, self.status
        if best.status is Status.COMPLETE or (status is None and best.status is not Status.LOCAL):
            return best
        if status is None or self.effort.features <= SMALL:
            # Little work was asked for. The search says what it found.
            ended = status in (Status.COMPLETE, Status.GAP_REACHED)
            return replace(best, status=stopped_or(stopped, status if ended and status else best.status))
        if status is not Status.TOO_MANY and not self.problem.nonnegative:
            limit = status if status in (Status.NODE_LIMIT, Status.WORK_LIMIT) else Status.TOO_MANY
            status = how_it_ended(best.value, bound.value, self.effort.gap, stopped, limit)
        return replace(best, status=stopped_or(stopped, status) if status is Status.TOO_MANY else status)

    def _allowed(self, found: Solution) -> bool:
        """Whether a solution that was found without the constraints satisfies them."""
        signs = not self.problem.nonnegative or bool((found.loadings >= 0).all())
        return signs and bool(np.isin(self.problem.forced, found.support).all())

    def _improved(self, found: Solution) -> Solution:
        """Improve a better support by exchanges, and put it in the place of the solution's own."""
        better = found if self.monitor.stopped else solve_at_hand(Swaps(), self.problem, start=found.support)
        if better.value < found.value:
            better = found
        noted = with_note(self.first, "a better support was found on the way to the proof")
        return replace(
            noted, support=better.support, loadings=better.loadings, value=better.value, estimate=np.inf, witness=None
        )
