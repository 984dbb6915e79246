"""Several components with disjoint supports, found together by exhaustive search, for small problems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import eigvalsh
from laconic.core.monitor import Monitor
from laconic.proof.witness_plain import ExhaustiveWitness
from laconic.search.exhaustive import Exhaustive, rounding_margin
from laconic.search.problem import Abilities, Problem, Solution, Status, stopped_or
from laconic.search.support import finish

# The number of supports whose eigenvalues are computed together: their blocks of S take a few megabytes.
SUPPORTS_TOGETHER = 4096
# The clock is looked at after this many choices, which take about a millisecond.
TICK = 1000


@dataclass(frozen=True)
class DisjointExact:
    """Maximise the sum of z_j'Sz_j over components with disjoint supports of given sizes.

    If components are found one after the other, the first one may take features that a later one needs more. Here all
    supports of each size are evaluated. A depth-first search then finds the best disjoint choice. It tries the supports
    of a component in order of their values, the largest first. A branch ends if its total, with the best values of the
    later components added, is no better than the best choice so far. Components with disjoint supports are orthogonal,
    so the sum is the variance that they explain together.

    The search is complete for the sum. The upper bound of one component is the best value of all supports of its size,
    including those that share features. A component may have a gap, because it gave up variance for the others.

    Attributes
    ----------
    limit
        The largest number of supports to evaluate. The method refuses problems with more.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import DisjointExact, Problem
    >>> found = DisjointExact().solve_jointly(Problem(load_pitprops().covariance, 3), [3, 2])
    >>> [solution.support.tolist() for solution in found]
    [[0, 1, 8], [2, 3]]
    """

    limit: int = 500_000

    name: ClassVar[str] = "exact-disjoint"
    abilities: ClassVar[Abilities] = Abilities(together=True, disjoint=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Find one component by exhaustive search. `start` is not used."""
        return replace(Exhaustive(self.limit).solve(problem, start=start), method=self.name)

    def solve_jointly(self, problem: Problem, cardinalities: Sequence[int]) -> list[Solution]:
        """Find one component for each cardinality. The cardinality of the problem is not used."""
        n = problem.n_features
        if problem.nonnegative or len(problem.forced):
            raise ValueError(
                "DisjointExact takes neither forced_in nor nonnegative; leave them out, or find components one after "
                "the other with joint='disjoint' and another method."
            )
        if sum(cardinalities) > n:
            raise ValueError(
                f"Disjoint supports of {list(cardinalities)} features need more than the {n} there are; ask for fewer."
            )
        count = sum(comb(n, k) for k in set(cardinalities))
        if count > self.limit:
            raise ValueError(
                f"DisjointExact would evaluate {count:,} supports (limit {self.limit:,}); find components one after "
                "the other with joint='disjoint' and another method, or raise the limit: DisjointExact(limit=...)."
            )
        ranked = {k: _ranked(problem, k) for k in sorted(set(cardinalities))}
        # The largest components come first, because they have the fewest disjoint choices.
        order = sorted(range(len(cardinalities)), key=lambda j: -cardinalities[j])
        search = _Search(ranked, [cardinalities[j] for j in order])
        with problem.monitor.watch():
            search.extend(problem.monitor, 0, 0.0, [])
        status = stopped_or(problem.monitor.stopped, Status.JOINTLY_COMPLETE)
        solutions = {}
        for j, support in zip(order, search.best, strict=True):
            found = finish(problem, support, status, method=self.name, iterations=search.choices)
            most = float(ranked[cardinalities[j]][0][0])
            estimate = max(most + rounding_margin(problem.with_cardinality(cardinalities[j]), most), found.value)
            solutions[j] = replace(found, estimate=estimate, witness=ExhaustiveWitness())
        return [solutions[j] for j in range(len(cardinalities))]


def _ranked(problem: Problem, k: int) -> tuple[Floats, Indices]:
    """Return the values of all supports of a size, the largest first, and the supports in the same order."""
    supports = np.array(list(combinations(range(problem.n_features), k)), dtype=np.intp)
    parts = np.array_split(supports, len(supports) // SUPPORTS_TOGETHER + 1)
    values = np.concatenate([eigvalsh(problem.covariance.submatrices(part))[:, -1] for part in parts])
    order = np.argsort(-values, kind="stable")
    return values[order], supports[order]


class _Search:
    """Depth-first search for the best disjoint choice."""

    def __init__(self, ranked: dict[int, tuple[Floats, Indices]], sizes: list[int]) -> None:
        self.sizes = sizes
        self.values = [ranked[k][0] for k in sizes]
        self.supports = [ranked[k][1] for k in sizes]
        self.masks = [[sum(1 << int(i) for i in support) for support in part] for part in self.supports]
        # The largest total of the components from each place on, if they could share features.
        tops = [float(values[0]) for values in self.values]
        self.most = [sum(tops[j:]) for j in range(len(sizes) + 1)]
        self.best: list[Indices] = []
        self.value = -np.inf
        self.choices = 0

    def extend(self, monitor: Monitor, taken: int, total: float, places: list[int]) -> None:
        """Try all supports for the next component, after those at `places`, which use the features in `taken`."""
        j = len(places)
        if j == len(self.sizes):
            # The test below has shown that the total is above the best one.
            self.value, self.best = total, [self.supports[i][place] for i, place in enumerate(places)]
            return
        # Two components of one size may be exchanged, so the better one comes first.
        first = places[-1] if j > 0 and self.sizes[j] == self.sizes[j - 1] else 0
        for place in range(first, len(self.masks[j])):
            longer, mask = total + float(self.values[j][place]), self.masks[j][place]
            if longer + self.most[j + 1] <= self.value:
                return
            self.choices += 1
            # The first choice takes the best supports one after the other. It is always made, so there is a result.
            if self.best and self.choices % TICK == 0:
                monitor.tick("disjoint supports", best=self.value)
            if not mask & taken:
                self.extend(monitor, taken | mask, longer, [*places, place])
