"""The greedy methods, and two methods that only sort: by variance, and by the loadings of the ordinary component."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import eigh
from laconic.covariance import largest_eigenpair
from laconic.search.problem import TIE, Abilities, Problem, Solution, Status, tie_breaker
from laconic.search.support import Incumbent, added, finish, leading, removed, values_of


def forward_path(problem: Problem, *, candidates: int | None, method: str, whole: bool = True) -> list[Solution]:
    """Grow a support one feature at a time and return a solution for each size, or only for the last if not `whole`.

    The start is the feature of largest variance, or the features forced in. At each step the features outside are
    ranked by (a_i'x)^2 = (Sz)_i^2, a lower bound on the variance that each adds. The best `candidates` of them (None
    for all) are evaluated, and the one with the largest eigenvalue joins. One candidate gives Algorithm 3 of the paper,
    all of them give Algorithm 2. A step costs one column of S.
    """
    covariance = problem.covariance
    variances = covariance.diagonal
    n, k = problem.n_features, problem.cardinality
    chosen = problem.forced if len(problem.forced) else problem.with_cardinality(1).largest_variances()
    columns = np.empty((n, k), order="F")
    columns[:, : len(chosen)] = covariance.columns(chosen)
    outside = np.ones(n, dtype=bool)
    outside[chosen] = False
    support = np.empty(k, dtype=np.intp)
    support[: len(chosen)] = chosen
    tie = tie_breaker(n)[:, 0]
    solutions: list[Solution] = []
    size = len(chosen)
    with problem.monitor.watch():
        while True:
            current = support[:size]
            block = columns[current, :size]
            block = 0.5 * (block + block.T)
            value, z = pair = leading(block, nonnegative=problem.nonnegative)
            if whole or size == k:
                solutions.append(finish(problem, current, Status.HEURISTIC, method=method, iterations=size, pair=pair))
            problem.monitor.tick(f"{method}: {size} of {k} features", best=value)
            if size == k:
                break
            gain = columns[:, :size] @ z
            score = np.maximum(gain, 0.0) if problem.nonnegative else np.abs(gain)
            score -= tie * score.max()
            score[~outside] = -np.inf
            if candidates == 1:
                new = int(score.argmax())
            else:
                count = n - size if candidates is None else min(candidates, n - size)
                tested = np.sort(np.argpartition(-score, count - 1)[:count])
                if problem.nonnegative:
                    reached = values_of(problem, np.column_stack([np.tile(current, (count, 1)), tested]))
                else:
                    eigenvalues, vectors = eigh(block)
                    reached = added(eigenvalues, vectors.T @ columns[tested, :size].T, variances[tested])
                new = int(tested[np.flatnonzero(reached >= reached.max() - TIE * abs(reached.max()))[0]])
            columns[:, size] = covariance.columns(np.array([new]))[:, 0]
            support[size] = new
            outside[new] = False
            size += 1
    if size < k:
        missing = range(len(solutions) + max(len(problem.forced), 1), k + 1) if whole else [k]
        priority = np.where(outside, variances, np.inf)
        solutions += [_by_variance(problem.with_cardinality(m), priority, method) for m in missing]
    return solutions


def _by_variance(problem: Problem, priority: Floats, method: str) -> Solution:
    """Return the better support of two for a size that a stopped run did not reach: by `priority`, or by variance."""
    priority[problem.forced] = np.inf
    best = Incumbent(problem)
    by_priority = np.argsort(-priority, kind="stable")[: problem.cardinality]
    best.offer_all(np.stack([np.sort(by_priority), problem.largest_variances()]))
    return best.solution(Status.HEURISTIC, method=method)


@dataclass(frozen=True)
class Greedy:
    """Algorithm 2 of the paper (after Moghaddam, Weiss and Avidan 2006): add the feature that raises the value most.

    The largest eigenvalue that each feature outside would give is found exactly, for all of them at once, from one
    eigendecomposition of the current block and a scalar equation each: O(n k^2) a step in place of n eigenproblems.

    Attributes
    ----------
    candidates
        How many of the best-ranked features to test exactly at each step; None for all.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Greedy, Problem
    >>> Greedy().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    candidates: int | None = None

    name: ClassVar[str] = "greedy"

    def __post_init__(self) -> None:
        if self.candidates is not None and self.candidates < 1:
            raise ValueError(f"candidates={self.candidates} must be at least 1.")

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Run the path and return its end."""
        return forward_path(problem, candidates=self.candidates, method=self.name, whole=False)[-1]

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for every cardinality up to the problem's."""
        return forward_path(problem, candidates=self.candidates, method=self.name)


@dataclass(frozen=True)
class BackwardGreedy:
    """Start with all features and take out, one at a time, the one whose loss costs least.

    The eigenvalue after each removal is exact: a scalar equation on one eigendecomposition. The method writes out the
    n x n matrix and needs n eigendecompositions of falling size.

    Attributes
    ----------
    limit
        Refuse more features than this.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import BackwardGreedy, Problem
    >>> BackwardGreedy().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    limit: int = 3000

    name: ClassVar[str] = "backward-greedy"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Run down to the problem's cardinality."""
        return self._run(problem, down_to=problem.cardinality)[0]

    def path(self, problem: Problem) -> list[Solution]:
        """Return a solution for every cardinality up to the problem's."""
        return self._run(problem, down_to=max(len(problem.forced), 1))

    def _run(self, problem: Problem, *, down_to: int) -> list[Solution]:
        """Return the solutions for cardinality `down_to`, ..., the problem's."""
        n, k = problem.n_features, problem.cardinality
        if n > self.limit:
            raise ValueError(
                f"method='backward-greedy' starts from all {n} features and would need {n} eigendecompositions; "
                f"use method='auto', or BackwardGreedy(limit={n}) if you mean it."
            )
        support = np.arange(n)
        matrix, variances = problem.covariance.submatrix(support), problem.covariance.diagonal
        found: dict[int, Solution] = {}
        with problem.monitor.watch():
            while True:
                size = len(support)
                if size <= k:
                    status = Status.HEURISTIC
                    at_size = problem.with_cardinality(size)
                    found[size] = finish(at_size, support, status, method=self.name, iterations=n - size)
                if size == down_to:
                    break
                problem.monitor.tick(f"{self.name}: {size} features left")
                left = self._left(problem, matrix[np.ix_(support, support)])
                left[np.isin(support, problem.forced)] = -np.inf
                # Among equal losses remove the last feature, so that the first ones stay.
                out = np.flatnonzero(left >= left.max() - TIE * abs(left.max()))[-1]
                support = np.delete(support, out)
        priority = np.where(np.isin(np.arange(n), support), variances, -np.inf)
        for size in set(range(down_to, k + 1)) - set(found):
            found[size] = _by_variance(problem.with_cardinality(size), priority, self.name)
        return [found[size] for size in range(down_to, k + 1)]

    def _left(self, problem: Problem, block: Floats) -> Floats:
        """Return the value that is left without each feature."""
        if not problem.nonnegative:
            return removed(*eigh(block))
        others = [np.delete(np.arange(len(block)), i) for i in range(len(block))]
        return np.array([leading(block[np.ix_(i, i)], nonnegative=True)[0] for i in others])


@dataclass(frozen=True)
class ApproximateGreedy(Greedy):
    """Algorithm 3 of the paper: add the feature with the largest (a_i'x)^2, x the current component's score direction.

    The variance rises by at least that much (the subgradient inequality of the largest eigenvalue), and one product
    with S ranks all features. The whole path up to k costs k columns of S.

    With `candidates` above one this is the p-best variant of the paper.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import ApproximateGreedy, Problem
    >>> ApproximateGreedy().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    candidates: int | None = 1

    name: ClassVar[str] = "approximate-greedy"


@dataclass(frozen=True)
class VarianceSorting:
    """Take the k features of largest variance (section 3.2 of the paper, "sorting"): O(n log n).

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Problem, VarianceSorting
    >>> VarianceSorting().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 2, 3])
    """

    name: ClassVar[str] = "sorting"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Sort the diagonal."""
        support = problem.largest_variances()
        return finish(problem, support, Status.HEURISTIC, method=self.name)


@dataclass(frozen=True)
class Thresholding:
    """Take the k largest loadings of the leading eigenvector (section 3.2 of the paper, "thresholding").

    The loadings are then those of the best component on that support. With non-negative loadings the eigenvector and
    its negative give two supports, and the better one is taken.

    Attributes
    ----------
    seed
        Seed of the Lanczos start.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Problem, Thresholding
    >>> Thresholding().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 6, 9])
    """

    seed: int = 0

    name: ClassVar[str] = "thresholding"
    abilities: ClassVar[Abilities] = Abilities(seed=True, products=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:  # noqa: ARG002 - the contract
        """Compute the eigenvector and keep its largest entries."""
        best = Incumbent(problem)
        with problem.monitor.watch():
            problem.monitor.tick("leading eigenvector")
            best = cut_off(problem, largest_eigenpair(problem.covariance, seed=self.seed)[1])
        return best.solution(Status.HEURISTIC, method=self.name)


def cut_off(problem: Problem, vector: Floats) -> Incumbent:
    """Return the support of the largest loadings of the leading eigenvector."""
    best = Incumbent(problem)
    best.offer_all(problem.top(problem.both_signs(vector[:, None])).T)
    return best
