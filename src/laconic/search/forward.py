"""Forward selection: the loop that the full and the approximate greedy methods share."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigh
from laconic.problem.problem import TIE, Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.search.bordered import added
from laconic.search.support import Incumbent, finish, leading, values_of


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
    tie = np.arange(n) * (TIE / n)
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
                    reached = _values_when_added(problem, current, tested)
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
        solutions += [_filled(problem.with_cardinality(m), support[:size], method) for m in missing]
    return solutions


def _values_when_added(problem: Problem, current: Indices, tested: Indices) -> Floats:
    supports = np.concatenate([np.repeat(current[None], len(tested), axis=0), tested[:, None]], axis=1)
    return np.array([leading(b, nonnegative=True)[0] for b in problem.covariance.submatrices(supports)])


def _filled(problem: Problem, support: Indices, method: str) -> Solution:
    """Fill the support of a stopped run by variance, or take the features of largest variance if they are better."""
    order = problem.covariance.diagonal.copy()
    order[support] = np.inf
    best = Incumbent(problem)
    for candidate in (np.argsort(-order, kind="stable")[: problem.cardinality], problem.largest_variances()):
        best.offer(float(values_of(problem, candidate[None])[0]), candidate)
    return best.solution(Status.HEURISTIC, method=method)
