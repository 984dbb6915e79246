"""The default: pick by size, try many starts, finish by swaps."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigh
from laconic.covariance import DenseCovariance, largest_eigenpair
from laconic.covariance.spectrum import WRITE_OUT
from laconic.problem.contract import Abilities
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof.witness import DualWitness, TraceWitness
from laconic.search.approximate_greedy import ApproximateGreedy
from laconic.search.exhaustive import Exhaustive, count_supports, rounding_margin
from laconic.search.support import EQUAL, MANY, Incumbent, finish, leading, values_of
from laconic.search.swaps import LARGE, filled, improve
from laconic.search.truncated_power import power_supports
from laconic.search.variance_sorting import VarianceSorting

# Random directions used to find out which features vary together.
PROBES = 16
POWER_STEPS = 60
# Supports within this share of the best are improved too; those further off have never overtaken it.
WORTH_IMPROVING = 0.03
# Up to this size all of S is looked at to find features that go together, and so many of them are starts of their own.
LOOK_AT_ALL, STARTS = 3000, 64
# So many times as many are improved if those further down the list overtake those at its top.
BATCHES = 8
# Exchanges at most.
ROUNDS, ROUNDS_IF_LARGE = 1000, 5


@dataclass(frozen=True)
class Auto:
    """Choose a method by the size of the problem and say why (`Solution.reason`).

    One feature, all features, and problems small enough to look at every support have exact answers. Otherwise the
    truncated power method runs from every column at once, as products of matrices, and the best supports it finds are
    improved by swaps. With more than `core` features the starts come from a core of the most promising ones (by
    variance, by the length of their column of S, by the leading eigenvectors), from the greedy support and, where S is
    small enough to look at, from the features that vary most with k others; what they find is improved on all
    features, and the core grows by the features that turn out to matter until nothing changes.
    Supports of many features, for which a single exchange means little, come from power steps on all features from a
    few directions: products with S are all they cost, and no submatrix is formed.

    Attributes
    ----------
    core
        Features, hence starts, considered together at most.
    polish
        Distinct supports improved by swaps; more where the best of them before is not the best after.
    exhaustive
        Look at every support if there are no more than this.
    seed
        Of the probing directions and the Lanczos start.
    """

    core: int = 512
    polish: int = 5
    exhaustive: int = 1500
    seed: int = 0

    name: ClassVar[str] = "auto"
    abilities: ClassVar[Abilities] = Abilities(seed=True, improvable=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Solve; `start` is one more support to improve."""
        n, k = problem.n_features, problem.cardinality
        if k == 1 and not len(problem.forced):
            solution = VarianceSorting().solve(problem)
            largest = float(problem.covariance.diagonal.max())
            return replace(
                solution,
                status=Status.COMPLETE,
                estimate=largest + rounding_margin(problem, largest),
                witness=TraceWitness(),
                reason="one feature: the largest variance is the answer",
            )
        if k == n and not problem.nonnegative:
            return self._dense(problem)
        count = count_supports(problem)
        if count <= self.exhaustive:
            return replace(Exhaustive().solve(problem), reason=f"only {count:,} supports: every one was looked at")
        few_starts = n > self.core and k > MANY
        if n <= self.core:
            reason = f"{n} features: truncated power from every column, then swaps"
        elif few_starts:
            reason = f"{n} features, {k} in a support: truncated power from the leading directions"
        else:
            reason = f"{n} features: starts from a core of {self.core}, improved on all by swaps"
        best = Incumbent(problem)
        rounds = 0
        with problem.monitor.watch():
            if few_starts:
                rounds = self._from_few_directions(problem, best, start)
            else:
                if start is not None:
                    self._improve(problem, best, self._offer(problem, best, filled(problem, start)[None]))
                rounds = self._from_every_column(problem, best) if n <= self.core else self._from_core(problem, best)
        status = Status.LOCAL if k <= LARGE else Status.HEURISTIC
        return replace(best.solution(status, method=self.name, iterations=rounds), reason=reason)

    def _dense(self, problem: Problem) -> Solution:
        everything = np.arange(problem.n_features)
        reason = "all features: the dense principal component"
        if problem.n_features > WRITE_OUT:
            pair = largest_eigenpair(problem.covariance, seed=self.seed)
            solution = finish(problem, everything, Status.HEURISTIC, method=self.name, pair=pair)
            return replace(solution, reason=reason)
        solution = finish(problem, everything, Status.COMPLETE, method=self.name)
        return replace(
            solution,
            estimate=solution.value + rounding_margin(problem, solution.value),
            witness=DualWitness("largest eigenvalue"),
            reason=reason,
        )

    def _offer(self, problem: Problem, best: Incumbent, supports: Indices) -> list[tuple[float, Indices]]:
        """Evaluate supports, keep the best, and return those worth improving with their values, best first."""
        values = values_of(problem, supports)
        worth = np.flatnonzero(values >= values.max() - WORTH_IMPROVING * abs(values.max()))
        ranked = [(float(values[i]), supports[i]) for i in worth[np.argsort(-values[worth], kind="stable")]]
        # Ties in value are settled by the incumbent itself, so every support near the top is offered.
        for value, support in ranked[: 4 * self.polish]:
            best.offer(value, support)
        return ranked

    def _from_every_column(self, problem: Problem, best: Incumbent) -> int:
        # The first step from a unit vector is a column of S.
        columns = problem.covariance.columns(np.arange(problem.n_features))
        keep = 64 if problem.cardinality <= LARGE else 8
        supports, steps = power_supports(problem, columns, max_iterations=POWER_STEPS, keep=keep)
        self._improve(problem, best, self._offer(problem, best, supports))
        return steps

    def _from_few_directions(self, problem: Problem, best: Incumbent, start: Indices | None) -> int:
        if start is not None:
            self._offer(problem, best, filled(problem, start)[None])
        problem.monitor.tick("probing", best=best.value)
        vectors = self._leading_vectors(problem)
        directions = [vectors, np.sqrt(np.maximum(problem.covariance.diagonal, 0.0))[:, None]]
        if problem.nonnegative:
            directions.append(-vectors)
        supports, steps = power_supports(problem, np.hstack(directions), max_iterations=POWER_STEPS, keep=self.polish)
        self._offer(problem, best, supports)
        return steps

    def _improve(self, problem: Problem, best: Incumbent, starts: list[tuple[float, Indices]]) -> None:
        """Improve the first few starts, and more for as long as it is not the first of them that leads furthest."""
        # A large support has little to gain from one exchange, and each costs more.
        large = problem.cardinality > LARGE
        few = 1 if large else self.polish
        for begin in range(0, few if large else few * BATCHES, few):
            reached = [self._improved(problem, best, *start, large=large) for start in starts[begin : begin + few]]
            if not reached or max(reached) <= reached[0] * (1 + EQUAL) or max(reached) < best.value * (1 - EQUAL):
                return

    def _improved(self, problem: Problem, best: Incumbent, value: float, support: Indices, *, large: bool) -> float:
        local = Incumbent(problem)
        local.offer(value, support)
        try:
            improve(problem, local, max_rounds=ROUNDS_IF_LARGE if large else ROUNDS)
        finally:
            assert local.support is not None
            best.offer(local.value, local.support)
        return local.value

    def _from_core(self, problem: Problem, overall: Incumbent) -> int:
        # A record of its own: what the core finds is improved on all features even if a start given was better so far.
        best = Incumbent(problem)
        try:
            greedy = ApproximateGreedy().solve(problem)
            self._improve(problem, best, self._offer(problem, best, filled(problem, greedy.support)[None]))
            return self._search_core(problem, best)
        finally:
            if best.support is not None:
                overall.offer(best.value, best.support)

    def _from_company(self, problem: Problem, best: Incumbent) -> int:
        """Start, on all features, from those with the largest company: the sum of the k largest entries of their row.

        A group that varies together shows in it even if it is far from the leading eigenvectors, and half outside of
        the core.
        """
        covariance, n, k = problem.covariance, problem.n_features, problem.cardinality
        problem.monitor.tick("company")
        columns = covariance.columns(np.arange(n))
        company = np.partition(np.abs(columns), n - k, axis=0)[n - k :].sum(axis=0)
        deviations = np.sqrt(np.maximum(covariance.diagonal, np.finfo(float).tiny))
        chosen = [np.argsort(-r, kind="stable")[: STARTS // 2] for r in (company, company / deviations)]
        starts = np.ascontiguousarray(columns[:, np.unique(np.concatenate(chosen))])
        supports, steps = power_supports(problem, starts, max_iterations=POWER_STEPS)
        self._improve(problem, best, self._offer(problem, best, supports))
        return steps

    def _search_core(self, problem: Problem, best: Incumbent) -> int:
        steps = self._from_company(problem, best) if problem.n_features <= LOOK_AT_ALL else 0
        problem.monitor.tick("probing")
        core = self._promising(problem)
        for _ in range(4):
            before = best.value
            inner = replace(
                problem,
                covariance=DenseCovariance(
                    problem.covariance.submatrix(core), semidefinite=problem.covariance.semidefinite
                ),
                forced=np.searchsorted(core, problem.forced),
            )
            found = Incumbent(inner)
            try:
                steps += self._from_every_column(inner, found)
            finally:
                if found.support is not None:
                    best.offer(found.value, core[found.support])
            problem.monitor.tick("core", best=best.value)
            direction = self._improve_everywhere(problem, best)
            if best.value <= before * (1 + 1e-9):
                break
            core = self._grown(core, best, direction)
        return steps

    def _improve_everywhere(self, problem: Problem, best: Incumbent) -> Floats:
        """Move the incumbent on all features to a fixed point of power steps, then of swaps; return S z."""
        support = best.support
        assert support is not None
        while True:
            problem.monitor.tick("all features", best=best.value)
            columns = problem.covariance.columns(support)
            value, z = leading(columns[support], nonnegative=problem.nonnegative)
            direction = columns @ z
            best.offer(value, support)
            moved = problem.top(direction[:, None])[:, 0]
            if np.array_equal(moved, support):
                break
            if values_of(problem, moved[None])[0] <= value * (1 + 1e-12):
                break
            support = moved
        improve(problem, best, max_rounds=ROUNDS if problem.cardinality <= LARGE else ROUNDS_IF_LARGE)
        return direction

    def _leading_vectors(self, problem: Problem) -> Floats:
        """Return four directions near the leading eigenvectors, the first of them last."""
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
        # The core must hold a support, whatever the cardinality.
        parts.append(problem.top(vectors[:, -1:])[:, 0])
        return np.unique(np.concatenate([problem.forced, *parts]))

    def _grown(self, core: Indices, best: Incumbent, direction: Floats) -> Indices:
        assert best.support is not None
        near = np.argsort(-np.abs(direction), kind="stable")[: self.core // 4]
        return np.unique(np.concatenate([core, best.support, near]))
