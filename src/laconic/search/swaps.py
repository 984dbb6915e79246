"""Swap search: exchange one feature of the support for another while that raises the value."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.eigenvalues import eigh
from laconic.search.greedy import ApproximateGreedy
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import EQUAL, MOST_IN_BLOCK, Incumbent, leading, leading_on, leading_values

# Consider at most this many features for removal, those of smallest loading.
REMOVALS = 32
# Evaluate this many exchanges exactly, those of largest Ritz value.
TESTED = 8
# Supports above this size are large. The component without one feature is then estimated by a few power steps, which is
# enough to rank. One exchange gains little and costs more, so only a few are made.
LARGE, POWER_STEPS, EXCHANGES_IF_LARGE, EXCHANGES = 64, 4, 5, 1000


@dataclass(frozen=True)
class Swaps:
    """Make the best exchange of one feature until no exchange raises the value.

    For each feature i that may leave, let (v, z) be the leading pair of the block without it. If feature j joins, the
    value is at least the larger eigenvalue of [[v, s_j'z], [s_j'z, S_jj]]. The best exchanges by this number are
    evaluated exactly. A round uses the k columns of S at hand; an accepted exchange needs one new column.

    Attributes
    ----------
    max_iterations
        The largest number of exchanges.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Problem, Swaps
    >>> Swaps().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    max_iterations: int = EXCHANGES

    name: ClassVar[str] = "swaps"

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Start from `start`, or from the approximate greedy support."""
        best = Incumbent(problem)
        rounds = 0
        with problem.monitor.watch():
            if start is None:
                greedy = ApproximateGreedy().solve(problem)
                start = greedy.support
                best.offer(greedy.value, start)
                problem.monitor.tick()
            support = filled(problem, start)
            best.offer(leading_on(problem, support)[0], support)
            rounds = improve(problem, best, max_rounds=self.max_iterations)
        status = Status.LOCAL if rounds < self.max_iterations else Status.ITERATION_LIMIT
        return best.solution(status, method=self.name, iterations=rounds)


def filled(problem: Problem, support: Indices) -> Indices:
    """Return a support of exactly k features: add the largest entries of S z, or keep the largest loadings."""
    support = np.unique(support)
    if len(support) == problem.cardinality and np.isin(problem.forced, support).all():
        return support
    covariance = problem.covariance
    _, z = leading_on(problem, support)
    direction = np.zeros(problem.n_features)
    direction[support] = z
    if len(support) < problem.cardinality:
        many = len(support) > MOST_IN_BLOCK
        direction = covariance.product(direction) if many else covariance.columns(support) @ z
        # Features given must stay, even where S z is zero and has no sign.
        sign = np.where(direction[support] < 0, -1.0, 1.0)
        if problem.nonnegative:
            sign = np.ones(len(support))
        direction[support] = sign * (np.abs(direction).max() + 1.0)
    return problem.top(direction[:, None])[:, 0]


def improve(problem: Problem, best: Incumbent, *, max_rounds: int | None = None) -> int:
    """Exchange features of the incumbent while that helps; return the number of rounds."""
    covariance = problem.covariance
    if max_rounds is None:
        max_rounds = EXCHANGES if problem.cardinality <= LARGE else EXCHANGES_IF_LARGE
    variances = covariance.diagonal
    assert best.support is not None
    support = best.support.copy()
    if problem.n_features == problem.cardinality:
        return 0
    columns = covariance.columns(support)
    value = best.value
    for done in range(max_rounds):
        problem.monitor.tick("swaps", best=best.value)
        block = columns[support]
        block = 0.5 * (block + block.T)
        leave = _leaving(problem, block, np.isin(support, problem.forced))
        if not len(leave):
            return done
        stay, without, z = _without(problem, block, leave)
        joint = columns @ z
        if problem.nonnegative:
            joint = np.maximum(joint, 0.0)
        half = 0.5 * (without - variances[:, None])
        ritz = 0.5 * (without + variances[:, None]) + np.sqrt(half**2 + joint**2)
        ritz[support] = -np.inf
        count = min(TESTED, ritz.size - 1)
        join, out = np.unravel_index(np.argpartition(-ritz.ravel(), count)[:count], ritz.shape)
        usable = ritz[join, out] > -np.inf
        join, out = join[usable], out[usable]
        blocks = _exchanged(block, columns, variances, stay[out], join)
        reached = leading_values(blocks, nonnegative=problem.nonnegative)
        if not len(reached) or reached.max() <= value + EQUAL * abs(value):
            _offer_ties(best, support, reached, join, leave[out])
            return done
        equal = np.flatnonzero(reached >= reached.max() - EQUAL * abs(reached.max()))
        take = equal[np.lexsort((leave[out[equal]], join[equal]))[0]]
        gone = leave[out[take]]
        value = float(reached[take])
        support[gone] = join[take]
        columns[:, gone] = covariance.columns(join[take : take + 1])[:, 0]
        best.offer(value, support)
    return max_rounds


def _offer_ties(best: Incumbent, support: Indices, reached: Floats, join: Indices, gone: Indices) -> None:
    """Offer exchanges of equal value, so that the order of features and not rounding chooses between them."""
    for value, new, old in zip(reached, join, gone, strict=True):
        if value >= best.value - EQUAL * abs(best.value):
            other = support.copy()
            other[old] = new
            best.offer(float(value), other)


def _leaving(problem: Problem, block: Floats, forced: Mask) -> Indices:
    """Return the places in the support that may leave: at most `REMOVALS`, those of smallest loading."""
    free = np.flatnonzero(~forced)
    if len(free) <= REMOVALS:
        return free
    _, z = leading(block, nonnegative=problem.nonnegative)
    return np.sort(free[np.argsort(np.abs(z[free]), kind="stable")[:REMOVALS]])


@cache
def _others(k: int) -> Indices:
    """Return a row for each of k places with the k - 1 other places."""
    places = np.arange(k - 1)
    return places + (places >= np.arange(k)[:, None])


def _without(problem: Problem, block: Floats, leave: Indices) -> tuple[Indices, Floats, Floats]:
    """Return, for each feature that may leave, the places that stay, the value without it, and the component."""
    k = len(block)
    stay = _others(k)[leave]
    z = np.zeros((k, len(leave)))
    if k == 1:
        return stay, np.zeros(len(leave)), z
    if k > LARGE and not problem.nonnegative:
        return stay, *_nearly_without(block, leave)
    inner = block[stay[:, :, None], stay[:, None, :]]
    if problem.nonnegative:
        pairs = [leading(b, nonnegative=True) for b in inner]
        value = np.array([pair[0] for pair in pairs])
        vectors = np.array([pair[1] for pair in pairs])
    else:
        values, bases = eigh(inner)
        value, vectors = values[:, -1], bases[:, :, -1]
    z[stay.T, np.arange(len(leave))] = vectors.T
    return stay, value, z


def _nearly_without(block: Floats, leave: Indices) -> tuple[Floats, Floats]:
    """Estimate the value and the component without each feature of a large support by a few power steps."""
    _, whole = leading(block)
    z = np.repeat(whole[:, None], len(leave), axis=1)
    which = np.arange(len(leave))
    for _ in range(POWER_STEPS):
        z[leave, which] = 0.0
        z /= np.linalg.norm(z, axis=0)
        image = block @ z
        z, value = image, np.einsum("ij,ij->j", z, image)
    z[leave, which] = 0.0
    z /= np.linalg.norm(z, axis=0)
    return value, z


def _exchanged(block: Floats, columns: Floats, variances: Floats, stay: Indices, join: Indices) -> Floats:
    """Stack the k x k blocks after each exchange, from the columns at hand."""
    k = len(block)
    blocks = np.empty((len(join), k, k))
    blocks[:, :-1, :-1] = block[stay[:, :, None], stay[:, None, :]]
    border = columns[join[:, None], stay]
    blocks[:, :-1, -1] = border
    blocks[:, -1, :-1] = border
    blocks[:, -1, -1] = variances[join]
    return blocks
