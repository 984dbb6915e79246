"""The default: pick by size, try many starts, finish by swaps.

The truncated power method from few starts, for one cardinality or for a whole path.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import eigh
from laconic.covariance import DenseCovariance, largest_eigenpair
from laconic.covariance.matrix import CHEAP_EIGENVALUES
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import TraceWitness
from laconic.search.exhaustive import Exhaustive, count_supports, rounding_margin
from laconic.search.greedy import ApproximateGreedy, VarianceSorting
from laconic.search.power import ACCURACY_OF_START, power_supports
from laconic.search.problem import Abilities, Problem, Solution, Status
from laconic.search.support import EQUAL, MOST_IN_BLOCK, Incumbent, finish, leading_on, values_of
from laconic.search.swaps import LARGE, filled, improve

# Columns of S of each kind to start from: those of the largest variances, and the longest relative to their variance.
COLUMNS = 4
# Steps of one run. Most runs end earlier, at a support that no longer changes.
STEPS_OF_A_RUN = 40
# Supports of one run whose values are computed.
EVALUATED = 4


@dataclass(frozen=True)
class FewStarts:
    """Truncated power from the ordinary component and a few columns of S: for many problems at once.

    A step is one product of S with a few vectors. A path of 50 cardinalities with 250 features takes about a thirtieth
    of the time of the default method. Its values are at most a few thousandths lower.
    """

    name: ClassVar[str] = "few-starts"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Search. `start` is one more support to begin with."""
        best = Incumbent(problem)
        with problem.monitor.watch():
            problem.monitor.tick("few starts")
            given = [] if start is None else [problem.direction_of(start)]
            _run(problem, best, np.hstack([_few_starts(problem), *given]))
        return best.solution(Status.HEURISTIC, method=self.name)

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for each cardinality from 1 (or as many as are forced in) to the problem's.

        Each cardinality starts from the component before it, too; then, downwards, from the component after it. The
        values never fall as the cardinality grows.
        """
        problems = [problem.with_cardinality(k) for k in range(max(1, len(problem.forced)), problem.cardinality + 1)]
        best = [Incumbent(one) for one in problems]
        with problem.monitor.watch():
            problem.monitor.tick("path")
            starts = _few_starts(problem)
            neighbour = np.empty((problem.n_features, 0))
            for directions, order in ((starts, slice(None)), (starts[:, :0], slice(-2, None, -1))):
                for one, incumbent in zip(problems[order], best[order], strict=True):
                    _run(one, incumbent, np.hstack([directions, neighbour]))
                    z = incumbent.solution(Status.HEURISTIC, method=self.name).vector(problem.n_features)
                    neighbour = problem.covariance.product(z)[:, None]
        solutions: list[Solution] = []
        for incumbent in best:
            solution = incumbent.solution(Status.HEURISTIC, method=self.name)
            solutions.append(solutions[-1] if solutions and solution.value < solutions[-1].value else solution)
        return solutions


def _few_starts(problem: Problem, seed: int = 0) -> Floats:
    """Return the ordinary component, and columns of S: of the largest variances, and the longest relative to those."""
    covariance = problem.covariance
    # Deflation leaves variances that are zero but for rounding, or negative ones in an indefinite matrix.
    least = np.finfo(np.float64).eps * covariance.diagonal.max(initial=0.0)
    variances = np.maximum(covariance.diagonal, max(least, SMALLEST_NORMAL))
    lengths = covariance.column_lengths(seed) / variances
    chosen = [np.argsort(-r, kind="stable")[:COLUMNS] for r in (variances, lengths)]
    dense = largest_eigenpair(covariance, seed=seed, tolerance=ACCURACY_OF_START)[1]
    return np.hstack([problem.both_signs(dense[:, None]), covariance.columns(np.unique(np.concatenate(chosen)))])


def _run(problem: Problem, best: Incumbent, directions: Floats) -> None:
    supports, _ = power_supports(problem, directions, max_iterations=STEPS_OF_A_RUN, keep=EVALUATED)
    best.offer_all(supports)


# Random directions from which the leading eigenvectors are estimated.
PROBES = 16
# Power steps of one run. Most runs end earlier, at a support that no longer changes.
POWER_STEPS = 60
# Improve every support whose value is within this share of the best one. Worse starts have never overtaken it.
WORTH_IMPROVING = 0.03
# Look at all pairs of features if S is held as an array, or if there are at most so many features.
FEW_PAIRS = 2000
# With more features of like variance, look at them if that takes at most this many multiplications: 1000 rows of
# 100,000 columns take some minutes.
MOST_PRODUCTS = 10**13
# This many rows of S are starts by each ranking: half of them the strongest rows, half of them the strongest rows of
# different groups. Large supports have fewer.
ROWS, ROWS_IF_LARGE = 64, 16
# Improve up to this many batches of starts, as long as a later start of a batch beats the first.
BATCHES = 8
# From this many features on, a first support from few starts is much faster than the whole search. With more than so
# many, no bound is fast enough to follow it.
STAGED, MOST_STAGED = 100, 4000


@dataclass(frozen=True)
class Auto:
    """Choose a method by the size of the problem and say why (`Solution.reason`).

    One feature, all features, and problems with few supports are solved exactly. Otherwise the truncated power method
    starts from every column at once, and swaps improve the best supports that it finds.

    With more than `core` features, the search begins on a core: the most promising features by variance, by the length
    of their column of S, and by the leading eigenvectors. Supports found in the core are improved on all features. The
    core then grows by the features that turn out to matter, until nothing changes. Other starts are the greedy support
    and, if the variances are alike or S is small, the features with the strongest partners among all pairs. Supports of
    hundreds of features come from power steps on all features from a few directions, which need only products with S.

    Attributes
    ----------
    core
        The largest number of features, and so of starts, that are considered together.
    polish
        The number of supports that swaps improve. More are improved if the order of their values changes.
    exhaustive
        Compare all supports if there are at most this many.
    seed
        Seed of the random directions and of the Lanczos start.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Auto, Problem
    >>> Auto().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    core: int = 512
    polish: int = 5
    exhaustive: int = 2000
    seed: int = 0

    name: ClassVar[str] = "auto"
    abilities: ClassVar[Abilities] = Abilities(seed=True, improvable=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Search. `start` is one more support to improve."""
        n, k = problem.n_features, problem.cardinality
        if k == 1 and not len(problem.forced):
            largest = float(problem.covariance.diagonal.max())
            return replace(
                VarianceSorting().solve(problem),
                status=Status.COMPLETE,
                estimate=largest + rounding_margin(problem, largest),
                witness=TraceWitness(),
                reason="one feature: the largest variance is the answer",
            )
        if k == n and not problem.nonnegative:
            return self._dense(problem)
        if (count := count_supports(problem)) <= self.exhaustive:
            return replace(Exhaustive().solve(problem), reason=f"only {count:,} supports: all of them were compared")
        if n <= self.core:
            search, reason = self._from_every_column, "features: truncated power from every column, then swaps"
        elif k > MOST_IN_BLOCK:
            reason = f"features, {k} in a support: truncated power from the leading directions"
            search = self._from_few_directions
        else:
            search, reason = self._from_core, f"features: starts from a core of {self.core}, improved on all by swaps"
        best = Incumbent(problem)
        rounds = 0
        with problem.monitor.watch():
            if start is not None:
                self._improve(problem, best, filled(problem, start)[None])
            rounds = search(problem, best)
        status = Status.LOCAL if k <= LARGE else Status.HEURISTIC
        return replace(best.solution(status, method=self.name, iterations=rounds), reason=f"{n} {reason}")

    def first(self, problem: Problem) -> Solution | None:
        """Return a support from few starts, or None if `solve` takes hardly longer or no fast bound can follow."""
        n, k = problem.n_features, problem.cardinality
        if not STAGED <= n <= MOST_STAGED or k in (1, n) or k > LARGE or count_supports(problem) <= self.exhaustive:
            return None
        best = Incumbent(problem)
        with problem.monitor.watch():
            _run(problem, best, _few_starts(problem, self.seed))
            improve(problem, best)
        solution = best.solution(Status.LOCAL, method=self.name)
        return replace(solution, reason=f"{n} features: truncated power from a few directions, then swaps")

    def _dense(self, problem: Problem) -> Solution:
        cheap = problem.n_features <= CHEAP_EIGENVALUES
        pair = None if cheap else largest_eigenpair(problem.covariance, seed=self.seed)
        status = Status.COMPLETE if cheap else Status.HEURISTIC
        solution = finish(problem, np.arange(problem.n_features), status, method=self.name, pair=pair)
        solution = replace(solution, reason="all features: the ordinary principal component")
        if not cheap:
            return solution
        margin = rounding_margin(problem, solution.value)
        return replace(solution, estimate=solution.value + margin, witness=DualWitness("largest eigenvalue"))

    def _offer(self, problem: Problem, best: Incumbent, supports: Indices) -> list[tuple[float, Indices]]:
        """Evaluate supports, keep the best, and return those worth improving with their values, best first."""
        values = values_of(problem, supports)
        worth = np.flatnonzero(values >= values.max() - WORTH_IMPROVING * abs(values.max()))
        ranked = [(float(values[i]), supports[i]) for i in worth[np.argsort(-values[worth], kind="stable")]]
        # The incumbent settles ties, so offer every support near the top.
        for value, support in ranked[: 4 * self.polish]:
            best.offer(value, support)
        return ranked

    def _from_every_column(self, problem: Problem, best: Incumbent) -> int:
        # The first step from a unit vector is a column of S.
        return self._from(problem, best, np.arange(problem.n_features), 64 if problem.cardinality <= LARGE else 8)

    def _from(self, problem: Problem, best: Incumbent, features: Indices, keep: int) -> int:
        """Improve the best supports that power steps reach from some columns of S; return the number of steps."""
        columns = problem.covariance.columns(features)
        supports, steps = power_supports(problem, columns, max_iterations=POWER_STEPS, keep=keep)
        self._improve(problem, best, supports)
        return steps

    def _from_few_directions(self, problem: Problem, best: Incumbent) -> int:
        problem.monitor.tick("probing", best=best.value)
        vectors = problem.both_signs(self._leading_vectors(problem))
        deviations = np.sqrt(np.maximum(problem.covariance.diagonal, 0.0))[:, None]
        directions = np.hstack([vectors, deviations])
        supports, steps = power_supports(problem, directions, max_iterations=POWER_STEPS, keep=self.polish)
        best.offer_all(supports)
        return steps

    def _improve(self, problem: Problem, best: Incumbent, supports: Indices) -> None:
        """Improve the first few supports. Go on with more as long as the first of a batch is not the best of it."""
        starts = self._offer(problem, best, supports)
        large = problem.cardinality > LARGE
        few = 1 if large else self.polish
        if problem.cardinality > MOST_IN_BLOCK and problem.n_features > self.core:
            return  # exchanges need the columns of the support
        for begin in range(0, few if large else few * BATCHES, few):
            reached = [self._improved(problem, best, *start) for start in starts[begin : begin + few]]
            if not reached or max(reached) <= reached[0] * (1 + EQUAL) or max(reached) < best.value * (1 - EQUAL):
                return

    def _improved(self, problem: Problem, best: Incumbent, value: float, support: Indices) -> float:
        local = Incumbent(problem)
        local.offer(value, support)
        try:
            improve(problem, local)
        finally:
            best.take(local)
        return local.value

    def _from_core(self, problem: Problem, best: Incumbent) -> int:
        # Improve the core's support on all features even if `start` was better so far.
        own = Incumbent(problem)
        try:
            greedy = ApproximateGreedy().solve(problem)
            self._improve(problem, own, filled(problem, greedy.support)[None])
            steps = self._search_core(problem, own)
            if self._pairs_tell(problem):
                steps += self._from_strong_rows(problem, own)
            return steps
        finally:
            best.take(own)

    def _from_strong_rows(self, problem: Problem, best: Incumbent) -> int:
        """Start from the features with the largest sums of the k largest entries of their row.

        This finds a group of correlated features even if it is far from the leading eigenvectors or outside the core.
        """
        covariance, k = problem.covariance, problem.cardinality
        pairs = covariance.pairs(k - 1, problem.monitor)
        problem.monitor.tick("strong rows", best=best.value)
        strength = np.abs(covariance.diagonal) + pairs.largest.sum(axis=1)
        deviations = np.sqrt(np.maximum(covariance.diagonal, SMALLEST_NORMAL))
        count = ROWS if k <= LARGE else ROWS_IF_LARGE
        chosen = [_strongest(r, pairs.partners, count) for r in (strength, strength / deviations)]
        # The k largest entries of its row are the feature and its partners.
        return self._from(problem, best, np.unique(np.concatenate(chosen)), count)

    def _pairs_tell(self, problem: Problem) -> bool:
        """Whether to look at all pairs. Where the variances decay, groups are in the core anyway."""
        covariance, variances = problem.covariance, problem.covariance.diagonal
        if covariance.written_out or problem.n_features <= FEW_PAIRS:
            return True
        alike = np.median(variances) > 0.5 * variances.max()
        return bool(alike) and covariance.pairs_cost <= MOST_PRODUCTS

    def _search_core(self, problem: Problem, best: Incumbent) -> int:
        steps = 0
        problem.monitor.tick("probing")
        core = self._promising(problem)
        for _ in range(4):
            before = best.value
            S = DenseCovariance(problem.covariance.submatrix(core), semidefinite=problem.covariance.semidefinite)
            inner = replace(problem, covariance=S, forced=np.searchsorted(core, problem.forced))
            found = Incumbent(inner)
            try:
                steps += self._from_every_column(inner, found)
            finally:
                best.take(found, core)
            problem.monitor.tick("core", best=best.value)
            direction = self._improve_everywhere(problem, best)
            if best.value <= before * (1 + 1e-9):
                break
            assert best.support is not None
            near = np.argsort(-np.abs(direction), kind="stable")[: self.core // 4]
            core = np.unique(np.concatenate([core, best.support, near]))
        return steps

    def _improve_everywhere(self, problem: Problem, best: Incumbent) -> Floats:
        """Improve the incumbent on all features by power steps, then by swaps. Return S z of the component before."""
        assert best.support is not None
        z = leading_on(problem, best.support)[1]
        problem.monitor.tick("all features", best=best.value)
        direction = problem.covariance.columns(best.support) @ z
        supports, _ = power_supports(problem, direction[:, None], max_iterations=POWER_STEPS)
        best.offer_all(supports)
        improve(problem, best)
        return direction

    def _leading_vectors(self, problem: Problem) -> Floats:
        """Return estimates of the four leading eigenvectors, the leading one last."""
        covariance = problem.covariance
        probes = np.random.default_rng(self.seed).standard_normal((problem.n_features, PROBES))
        basis = np.linalg.qr(covariance.product(probes))[0]
        images = covariance.product(basis)
        _, inner = eigh(basis.T @ images)
        return np.asarray(images @ inner[:, -4:])

    def _promising(self, problem: Problem) -> Indices:
        covariance = problem.covariance
        vectors = np.abs(self._leading_vectors(problem))
        lengths = covariance.column_lengths(self.seed)
        share = self.core // 8
        rankings = [covariance.diagonal, lengths, *vectors.T]
        quotas = [2 * share, 2 * share, share, share, share, share]
        parts = [np.argsort(-r, kind="stable")[:q] for r, q in zip(rankings, quotas, strict=True)]
        # The core must hold at least one whole support.
        parts.append(problem.top(vectors[:, -1:])[:, 0])
        return np.unique(np.concatenate([problem.forced, *parts]))


def _strongest(strength: Floats, partners: Any, count: int) -> Indices:
    """Return the strongest rows, and as many that are no partners of a row returned before, up to `count` in all."""
    order = np.argsort(-strength, kind="stable")
    near = np.zeros(len(order), dtype=bool)
    apart: list[int] = []
    for row in order.tolist():
        if len(apart) == count // 2:
            break
        if not near[row]:
            apart.append(row)
            near[partners[row]] = True
    return np.concatenate([order[: count // 2], np.array(apart, dtype=np.intp)])
