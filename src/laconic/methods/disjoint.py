"""Several components at once with disjoint supports, exactly, for small problems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigvalsh
from laconic.core.monitor import Monitor
from laconic.problem.contract import Abilities
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status, stopped_or
from laconic.proof.witnesses.plain import ExhaustiveWitness
from laconic.search.exhaustive import Exhaustive, rounding_margin
from laconic.search.support import finish

# Supports evaluated in one stack.
STACK = 4096


@dataclass(frozen=True)
class DisjointExact:
    """Maximise the sum of z_j'Sz_j over components with disjoint supports of given sizes, all together.

    If components are found one after the other, the first one takes features that would serve a later one better. Here
    every support of every size is evaluated. A depth-first search finds the best disjoint choice: it tries the supports
    of a component by falling value, and leaves a branch if its value and the best values of the later components
    together do not exceed the best choice so far. Loadings on disjoint supports are orthogonal, so the sum is the
    variance that the components explain together.

    The search is complete for the sum only. The estimate of a single component is the value of the best support of its
    size, shared features or not. Its gap says how much the component gives up for the others. It may be above zero at
    the optimum.

    Attributes
    ----------
    limit
        Refuse to compare more supports than this.
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
            raise ValueError("Components with disjoint supports are found together without forced_in or nonnegative.")
        if sum(cardinalities) > n:
            raise ValueError(f"Disjoint supports of {list(cardinalities)} features need more than the {n} there are.")
        count = sum(comb(n, k) for k in set(cardinalities))
        if count > self.limit:
            raise ValueError(
                f"All disjoint supports together would take a look at {count:,} supports (limit {self.limit:,}); "
                "find components one after the other with disjoint=True, or raise the limit: DisjointExact(limit=...)."
            )
        ranked = {k: _ranked(problem, k) for k in sorted(set(cardinalities))}
        # The largest components first: they leave the least choice.
        order = sorted(range(len(cardinalities)), key=lambda j: -cardinalities[j])
        search = _Search(ranked, [cardinalities[j] for j in order])
        with problem.monitor.watch():
            search.extend(problem.monitor, 0, 0.0, [])
        status = stopped_or(problem.monitor.stopped, Status.JOINTLY_COMPLETE)
        solutions = {}
        for j, support in zip(order, search.best, strict=True):
            found = finish(problem, support, status, method=self.name, iterations=search.looked)
            most = float(ranked[cardinalities[j]][0][0])
            upper = max(most + rounding_margin(problem.with_cardinality(cardinalities[j]), most), found.value)
            solutions[j] = replace(found, estimate=upper, witness=ExhaustiveWitness())
        return [solutions[j] for j in range(len(cardinalities))]


def _ranked(problem: Problem, k: int) -> tuple[Floats, Indices]:
    """Return the values of all supports of a size, falling, and the supports."""
    supports = np.array(list(combinations(range(problem.n_features), k)), dtype=np.intp)
    parts = np.array_split(supports, len(supports) // STACK + 1)
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
        # The most that the components from each place on can add.
        tops = [float(values[0]) for values in self.values]
        self.most = [sum(tops[j:]) for j in range(len(sizes) + 1)]
        self.best: list[Indices] = []
        self.value = -np.inf
        self.looked = 0

    def extend(self, monitor: Monitor, taken: int, total: float, places: list[int]) -> None:
        """Try all supports for the next component, after those at `places`, which use the features in `taken`."""
        j = len(places)
        if j == len(self.sizes):
            # The test below has shown that the total is above the best one.
            self.value, self.best = total, [self.supports[i][place] for i, place in enumerate(places)]
            return
        # If two components have the same size, the better one comes first.
        first = places[-1] if j > 0 and self.sizes[j] == self.sizes[j - 1] else 0
        for place in range(first, len(self.masks[j])):
            longer, mask = total + float(self.values[j][place]), self.masks[j][place]
            if longer + self.most[j + 1] <= self.value:
                return
            self.looked += 1
            # The first choice takes the best supports one after the other. It is always made, so there is a result.
            if self.best and self.looked % 1000 == 0:
                monitor.tick("disjoint supports", best=self.value)
            if not mask & taken:
                self.extend(monitor, taken | mask, longer, [*places, place])
