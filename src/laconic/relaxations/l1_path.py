"""The l1 relaxation for many cardinalities or penalties, from one warm-started run.

As a function of the radius k - 1 the value of the relaxation is concave: a dual point at one k is a line above it at
every k, and the mean of two primal points is feasible for the mean of their radii. As a function of rho it is convex:
a primal point is a line below, and the mean of two dual points is feasible for the mean of their penalties. So two
solved neighbours enclose everything between them. Ends are solved first, then middles, each from its nearest
neighbour, and what is enclosed to the tolerance is not solved at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from laconic._typing import Floats
from laconic.monitor import Monitor
from laconic.relaxations.l1 import CardinalityForm, L1Solution, PenaltyForm
from laconic.relaxations.splitting import Splitting
from laconic.relaxations.splitting import between as start_between
from laconic.solution import Status


def solve_cardinalities(
    S: Floats, cardinalities: Sequence[int], settings: Splitting | None = None, monitor: Monitor | None = None
) -> list[L1Solution]:
    """Return a solution of the cardinality form for each k, in increasing order.

    Parameters
    ----------
    S
        A symmetric matrix.
    cardinalities
        The values of k.
    settings
        The solver; its tolerance is that of every point of the path.
    monitor
        Stops the run in time: what is not solved by then gets what its neighbours prove.
    """
    settings, monitor = settings or Splitting(), monitor or Monitor()

    def solve(k: float, start: L1Solution | None) -> L1Solution:
        return settings.solve(S, CardinalityForm(int(k)), start=start, monitor=monitor)

    def between(left: L1Solution, right: L1Solution, share: float, k: float) -> L1Solution:
        form = CardinalityForm(int(k))
        by_left, by_right = (form.dual(_largest(s), s.level) for s in (left, right))
        dual = left if by_left <= by_right else right
        # Both points shrunk alike are feasible for their own k, so their mean is for the mean.
        shrink = min(left.shrink, right.shrink)
        by_both = (_shrunk_value(S, s.factor, shrink) for s in (left, right))
        return replace(
            dual,
            form=form,
            factor=_mean_factor(left, right, share),
            shrink=shrink,
            primal=float(np.dot([share, 1 - share], list(by_both))),
            dual=min(by_left, by_right),
        )

    return _enclose(S, sorted({int(k) for k in cardinalities}), solve, between, settings.tolerance, monitor)


def solve_penalties(
    S: Floats, penalties: Sequence[float], settings: Splitting | None = None, monitor: Monitor | None = None
) -> list[L1Solution]:
    """Return a solution of the penalty form for each rho, in increasing order.

    Parameters
    ----------
    S
        A symmetric matrix.
    penalties
        The values of rho.
    settings
        The solver; its tolerance is that of every point of the path.
    monitor
        Stops the run in time: what is not solved by then gets what its neighbours prove.
    """
    settings, monitor = settings or Splitting(), monitor or Monitor()

    def solve(rho: float, start: L1Solution | None) -> L1Solution:
        return settings.solve(S, PenaltyForm(rho), start=start, monitor=monitor)

    def between(left: L1Solution, right: L1Solution, share: float, rho: float) -> L1Solution:
        form = PenaltyForm(rho)
        by_left, by_right = (_penalized_value(S, s.factor, rho) for s in (left, right))
        primal = left if by_left >= by_right else right
        return replace(
            primal,
            form=form,
            primal=max(by_left, by_right),
            dual=share * left.dual + (1 - share) * right.dual,
            keep=np.arange(len(S)),
            multiplier=share * left.dual_matrix(S) + (1 - share) * right.dual_matrix(S),
            level=rho,
        )

    return _enclose(S, sorted({float(rho) for rho in penalties}), solve, between, settings.tolerance, monitor)


def _enclose(
    S: Floats,
    points: Sequence[float],
    solve: Callable[[float, L1Solution | None], L1Solution],
    between: Callable[[L1Solution, L1Solution, float, float], L1Solution],
    tolerance: float,
    monitor: Monitor,
) -> list[L1Solution]:
    last = len(points) - 1
    solved: dict[int, L1Solution] = {last: solve(points[last], None)}
    if last:
        solved[0] = solve(points[0], None)
    intervals = [(0, last)]
    while intervals:
        i, j = intervals.pop()
        left, right = solved[i], solved[j]
        inner = {
            m: between(left, right, (points[j] - points[m]) / (points[j] - points[i]), points[m])
            for m in range(i + 1, j)
        }
        if all(s.gap <= tolerance for s in inner.values()) or monitor.stopped is not None:
            for m, s in inner.items():
                reached = Status.OPTIMAL if s.gap <= tolerance else monitor.stopped
                solved[m] = replace(s, status=reached or s.status)
            continue
        middle = (i + j) // 2
        share = (points[j] - points[middle]) / (points[j] - points[i])
        solved[middle] = solve(points[middle], start_between(S, left, right, share))
        intervals += [(middle, j), (i, middle)]
    return [replace(solved[m], state=None) for m in range(len(points))]


def _largest(solution: L1Solution) -> float:
    """Return lmax(S + U) of the dual point."""
    assert isinstance(solution.form, CardinalityForm)
    return solution.dual - (solution.form.cardinality - 1) * solution.level


def _shrunk_value(S: Floats, factor: Floats, shrink: float) -> float:
    """Return Tr SX for X = cFF' + (1 - c) diag(FF')."""
    inner = float(np.einsum("ij,ij->", factor, S @ factor))
    return shrink * inner + (1 - shrink) * float(S.diagonal() @ (factor**2).sum(axis=1))


def _mean_factor(left: L1Solution, right: L1Solution, share: float) -> Floats:
    """Return F with FF' the mean of both, its columns orthogonal and the longest first."""
    together = np.concatenate([np.sqrt(share) * left.factor, np.sqrt(1 - share) * right.factor], axis=1)
    vectors, lengths, _ = np.linalg.svd(together, full_matrices=False)
    return np.asarray(vectors[:, lengths > 1e-8] * lengths[lengths > 1e-8])


def _penalized_value(S: Floats, factor: Floats, rho: float) -> float:
    inner = float(np.einsum("ij,ij->", factor, S @ factor))
    return inner - rho * float(np.abs(factor @ factor.T).sum())
