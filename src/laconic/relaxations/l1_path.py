"""The l1 relaxation for many cardinalities or penalties, for little more than a few.

Most solutions of a path have rank one. They are found and proved one after the other, from the dense end on and then
from the sparse one, each from its neighbour (`rank_one`), up to the first that has not. The sparse end is a single
feature, wanted or not: it is solved at once. What is left lies between two solved points.

As a function of the radius k - 1 the value of the relaxation is concave: a dual point at one k is a line above it at
every k, and the mean of two primal points is feasible for the mean of their radii. As a function of rho it is convex:
a primal point is a line below, and the mean of two dual points is feasible for the mean of their penalties. So two
solved neighbours enclose everything between them, and what they enclose to the tolerance is not solved at all.
Otherwise the point in the middle is: by the mean of both dual points and a vector near theirs, which is often enough;
by a proof that X has rank one; on few features (`few_features`); or else by splitting from the mean of both.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import is_below, largest_off_diagonal
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.problem.status import Status, stopped_or
from laconic.relaxations.completion import WHOLE, Pushed, pushed_at
from laconic.relaxations.few_features import solve_on_few_features
from laconic.relaxations.l1 import EPS, CardinalityForm, L1Form, L1Solution, PenaltyForm, above_largest_eigenvalue
from laconic.relaxations.rank_one import RankOne, best_rank_one, penalized_vector, proved, solve_rank_one
from laconic.relaxations.splitting import Splitting
from laconic.relaxations.splitting import between as start_between

# Entries of the diagonal of X up to this are left out.
NEGLIGIBLE = 1e-4
# Unit vectors with this product lead to the same maximum.
ALIKE = 0.95
# From this many times the tolerance on few steps are enough, on all features.
ALMOST = 3.0
# Up to this part of the features are few.
FEW = 0.5


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

    def at(left: L1Solution, right: L1Solution, share: float, k: float) -> L1Solution:
        form = CardinalityForm(int(k))
        by_left, by_right = (form.dual(s.largest, s.level) for s in (left, right))
        dual, other = (left, right) if by_left <= by_right else (right, left)
        best = _mixture(S, form, left.factor, right.factor, share)
        # The line of the dual point may touch the value between k and the other's: there X has rank one.
        z = penalized_vector(S, other.vector, dual.level)
        if z is not None:
            start, end = _cardinality(dual), float(np.abs(z).sum() ** 2)
            if min(start, end) < k < max(start, end):
                best = max(
                    best, _mixture(S, form, dual.factor, z[:, None], (end - k) / (end - start)), key=itemgetter(0)
                )
        primal, factor, shrink = best
        return replace(dual, form=form, factor=factor, shrink=shrink, primal=primal, dual=min(by_left, by_right))

    wanted = {int(k) for k in cardinalities}
    path = _Path(sorted(wanted | {1}), lambda k: CardinalityForm(int(k)), lambda *ends: partial(at, *ends), rising=True)
    return _solve(S, path, wanted, settings or Splitting(), monitor or Monitor())


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

    def between(left: L1Solution, right: L1Solution) -> Callable[[float, float], L1Solution]:
        keep = np.union1d(left.keep, right.keep)
        ends = [(s, *_variance_and_norm(S, s.factor), s.dual_on(S, keep)) for s in (left, right)]

        def at(share: float, rho: float) -> L1Solution:
            primal, variance, norm, _ = max(ends, key=lambda end: end[1] - rho * end[2])
            return replace(
                primal,
                form=PenaltyForm(rho),
                primal=variance - rho * norm,
                dual=share * left.dual + (1 - share) * right.dual + 2 * EPS * (abs(left.dual) + abs(right.dual)),
                keep=keep,
                multiplier=share * ends[0][3] + (1 - share) * ends[1][3],
                level=rho,
            )

        return at

    wanted = {float(rho) for rho in penalties}
    all_cancelled = float(largest_off_diagonal(S).max(initial=0.0))
    end = {all_cancelled} if all_cancelled > max(wanted) else set()
    path = _Path(sorted(wanted | end), PenaltyForm, between, rising=False)
    return _solve(S, path, wanted, settings or Splitting(), monitor or Monitor())


@dataclass(frozen=True)
class _Path:
    """What differs between the two forms: `points` run from the sparsest solution on if `rising`, else towards it.

    `between` takes two solutions, and then the share of the first and a point between theirs.
    """

    points: Sequence[float]
    form: Callable[[float], L1Form]
    between: Callable[[L1Solution, L1Solution], Callable[[float, float], L1Solution]]
    rising: bool


def _solve(S: Floats, path: _Path, wanted: Container[float], settings: Splitting, monitor: Monitor) -> list[L1Solution]:
    solved: dict[int, L1Solution] = {}
    indices = range(len(path.points))
    with threads_for(len(S)):
        for order in (reversed(indices), indices) if path.rising else (indices, reversed(indices)):
            _walk(S, path, order, solved, settings, monitor)
        _enclose(S, path, solved, settings, monitor)
    return [replace(solved[m], state=None) for m in indices if path.points[m] in wanted]


def _walk(
    S: Floats,
    path: _Path,
    order: Iterable[int],
    solved: dict[int, L1Solution],
    settings: Splitting,
    monitor: Monitor,
) -> None:
    """Solve from one end on, as long as solutions have rank one; the end itself whatever its rank."""
    passed = range(min(solved), max(solved) + 1) if solved else range(0)
    near: L1Solution | None = None
    with monitor.watch():
        for m in order:
            monitor.tick("l1 relaxation")
            if m in passed:
                break
            form = path.form(path.points[m])
            found = solve_rank_one(S, form, settings.tolerance, near)
            if found is None and near is not None:
                break
            solved[m] = near = found or settings.solve(S, form, monitor=monitor)


@dataclass(frozen=True)
class _Neighbours:
    """Two solved points; what lies between them is `share` of the way to the first."""

    left: L1Solution
    right: L1Solution
    share: float

    def vectors(self) -> tuple[Floats, ...]:
        """Return the leading vectors, one if they are alike."""
        left, right = self.left.vector, self.right.vector
        return (left,) if abs(float(left @ right)) > ALIKE else (left, right)

    def features(self) -> Indices:
        """Return the features that either X is about."""
        return np.union1d(_carrying(self.left), _carrying(self.right))

    def pushed(self, S: Floats) -> Pushed:
        return pushed_at(S, self.left).mean(pushed_at(S, self.right), self.share)

    def bettered(self, S: Floats, between: L1Solution, best: RankOne | None, tolerance: float) -> L1Solution:
        """Return what lies between with a better primal point, if there is one, and with the mean of the dual ones."""
        form = between.form
        if best is not None and best.primal > between.primal:
            shrink = form.shrink(float(np.abs(best.vector).sum() ** 2 - 1))
            between = replace(between, factor=best.vector[:, None], shrink=shrink, primal=best.primal)
        keep = np.union1d(self.left.keep, self.right.keep)
        if len(keep) > WHOLE:
            return between
        U = self.share * self.left.dual_on(S, keep) + (1 - self.share) * self.right.dual_on(S, keep)
        level = self.share * self.left.level + (1 - self.share) * self.right.level
        M = S[np.ix_(keep, keep)] + U
        enough = between.primal + tolerance * abs(between.primal) - form.dual(0.0, level)
        largest = enough if is_below(M, enough) else above_largest_eigenvalue(M)
        aside = float(np.delete(S.diagonal(), keep).max(initial=-np.inf))
        dual = max(form.dual(max(largest, aside), level), between.primal)
        if dual >= between.dual:
            return between
        return replace(between, dual=dual, keep=keep, multiplier=U, level=level, state=None)


def _enclose(S: Floats, path: _Path, solved: dict[int, L1Solution], settings: Splitting, monitor: Monitor) -> None:
    """Solve what lies between the points solved, or take what they prove of it."""
    points, tolerance = path.points, settings.tolerance
    for m in (0, len(points) - 1):
        if m not in solved:
            solved[m] = settings.solve(S, path.form(points[m]), monitor=monitor)
    intervals = list(pairwise(sorted(solved)))
    extra = np.arange(0)
    while intervals:
        i, j = intervals.pop()
        if j == i + 1:
            continue
        left, right = solved[i], solved[j]
        shares = {m: (points[j] - points[m]) / (points[j] - points[i]) for m in range(i + 1, j)}
        at = path.between(left, right)
        inner = {m: at(share, points[m]) for m, share in shares.items()}
        if all(s.gap <= tolerance for s in inner.values()) or monitor.stopped is not None:
            for m, s in inner.items():
                reached = Status.OPTIMAL if s.gap <= tolerance else stopped_or(monitor.stopped, s.status)
                solved[m] = replace(s, status=reached or s.status)
            continue
        middle = (i + j) // 2
        neighbours = _Neighbours(left, right, shares[middle])
        solved[middle], extra = _solve_between(S, neighbours, inner[middle], extra, settings, monitor)
        intervals += [(middle, j), (i, middle)]


def _solve_between(
    S: Floats,
    neighbours: _Neighbours,
    between: L1Solution,
    extra: Indices,
    settings: Splitting,
    monitor: Monitor,
) -> tuple[L1Solution, Indices]:
    """Return a solution, found with as little work as it takes, and features that the next one may be about."""
    form, tolerance = between.form, settings.tolerance
    best = best_rank_one(S, form, neighbours.vectors())
    between = neighbours.bettered(S, between, best, tolerance)
    if between.gap <= tolerance:
        return replace(between, status=Status.OPTIMAL), extra
    pushed = neighbours.pushed(S)
    # If the mean of the neighbours is better than any vector, X has no rank of one.
    if best is not None and best.primal >= between.primal:
        found = proved(S, form, tolerance, best, pushed)
        if found is not None:
            return found, extra
    features, most = np.union1d(neighbours.features(), extra), int(FEW * len(S))
    if between.gap > ALMOST * tolerance and len(features) <= most:
        on_few = solve_on_few_features(S, form, features, settings, monitor, between, pushed, most)
        if on_few is not None:
            return on_few
    start = start_between(S, neighbours.left, neighbours.right, neighbours.share)
    return settings.solve(S, form, start=start, known=between, monitor=monitor), extra


def _cardinality(solution: L1Solution) -> int:
    assert isinstance(solution.form, CardinalityForm)
    return solution.form.cardinality


def _mixture(S: Floats, form: L1Form, first: Floats, second: Floats, share: float) -> tuple[float, Floats, float]:
    """Return the value, F and c of the mean of two X, `share` of it the first; the longest columns come first."""
    together = np.concatenate([np.sqrt(share) * first, np.sqrt(1 - share) * second], axis=1)
    vectors, lengths, _ = np.linalg.svd(together, full_matrices=False)
    factor = np.asarray(vectors[:, lengths > 1e-8] * lengths[lengths > 1e-8])
    factor /= np.linalg.norm(factor)
    on_diagonal = (factor**2).sum(axis=1)
    off = float(np.abs(factor @ factor.T).sum() - on_diagonal.sum())
    inner = float(np.einsum("ij,ij->", factor, S @ factor))
    return form.primal(inner, float(S.diagonal() @ on_diagonal), off), factor, form.shrink(off)


def _variance_and_norm(S: Floats, factor: Floats) -> tuple[float, float]:
    """Return Tr SX and the sum of |X_ij| for X = FF'."""
    used = np.flatnonzero(factor.any(axis=1))
    factor = factor[used]
    inner = float(np.einsum("ij,ij->", factor, S[np.ix_(used, used)] @ factor))
    return inner, float(np.abs(factor @ factor.T).sum())


def _carrying(solution: L1Solution) -> Indices:
    """Return the features that X is about."""
    return np.flatnonzero((solution.factor**2).sum(axis=1) > NEGLIGIBLE)
