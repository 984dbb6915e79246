"""The multiplier of the l1 relaxation on all features, given the solution on those that X is about.

If X = FF' is zero but on features A, where U solves the relaxation with level t, then what U is elsewhere optimality
leaves open but for |U_ij| <= t, (S + U) F = 0 on the rows outside A, and lmax(S + U) = lmax((S + U)_AA). The first two
ask for a projection, here of -S, which is a root in as many unknowns as F has columns for each row; the third is
reached by turns, pushing the eigenvalues that are too large down and projecting again, extrapolated by Anderson's
method. Begun with what was pushed down for a neighbouring rho or k, few turns or none are enough.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigenpairs_above, is_below, orthonormal
from laconic.relaxations.acceleration import Anderson
from laconic.relaxations.l1 import L1Solution, above_largest_eigenvalue

# Turns before giving up. For the next to be worth it a turn must leave no more than this part of the excess over lmax;
# of the first, before anything is extrapolated, less is asked.
TURNS, PROGRESS, AT_FIRST = 20, 0.77, 0.97
# Eigenvalues are pushed below lmax by this many times the excess: the box takes part of it back.
PUSH = 2.0
# Steps to find the root of a row in one unknown before it is found by sorting.
NEWTON_STEPS = 6
# Steps to find it in several unknowns; the ridge to begin with, and the smallest.
ROOT_STEPS, RIDGE, SMALLEST = 40, 1e-4, 1e-10
# Entries of unit vectors that count as none, and slopes.
NO_ENTRY, NO_SLOPE = 1e-12, 1e-30
# The part of the room that products may be off by.
ACCURACY = 0.05
# The part of the room that is not worth an eigenvalue.
NEARLY = 0.02
# Features taken in at once: this many times those present, and the share of the eigenvectors that one must carry.
INTAKE, SHARE = 4, 1e-3
TINY = float(np.finfo(float).tiny)
# Up to this many features kept, eigenvalues of all of them are cheap: nothing larger is completed.
WHOLE = 500
# An entry this close to the level is at it.
AT_LEVEL = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Pushed:
    """What was taken off -S, on the features kept, to bring eigenvalues down."""

    keep: Indices
    push: Floats

    def on(self, keep: Indices) -> Floats:
        """Return it on other features."""
        if np.array_equal(keep, self.keep):
            return self.push
        result = np.zeros((len(keep), len(keep)))
        if not len(self.keep):
            return result
        own = np.minimum(np.searchsorted(self.keep, keep), len(self.keep) - 1)
        places = np.flatnonzero(self.keep[own] == keep)
        result[np.ix_(places, places)] = self.push[np.ix_(own[places], own[places])]
        return result

    def mean(self, other: "Pushed", share: float) -> "Pushed":
        """Return the mean of two, `share` of it this one."""
        keep = np.union1d(self.keep, other.keep)
        return Pushed(keep, share * self.on(keep) + (1 - share) * other.on(keep))


def pushed_at(S: Floats, solution: L1Solution) -> Pushed:
    """Return what was taken off -S at a solution, however it was found."""
    if isinstance(solution.state, Pushed):
        return solution.state
    few, U, level = S[np.ix_(solution.keep, solution.keep)], solution.multiplier, solution.level
    push = -few - U
    # Where -S is cut off at the level nothing was pushed.
    push[(np.abs(U) >= AT_LEVEL * level) & (np.abs(few) >= level) & (U * few <= 0)] = 0.0
    np.fill_diagonal(push, 0.0)
    return Pushed(solution.keep, push)


@dataclass(frozen=True, eq=False)
class Completion:
    """U, a bound on lmax(S + U), what was taken off -S for it, and the turns it took."""

    U: Floats
    largest: float
    pushed: Floats
    turns: int


def completed(
    S: Floats,
    features: Indices,
    factor: Floats,
    U: Floats,
    level: float,
    leading: float,
    pushed: Floats | None,
    room: float,
) -> Completion | Indices:
    """Return U with lmax(S + U) up to `room` beyond `leading`, or the features that are missing if none is found.

    Parameters
    ----------
    S
        A symmetric matrix.
    features
        The features that X is about.
    factor
        F on these, with X = FF'.
    U
        The multiplier on these.
    level
        What |U_ij| may be.
    leading
        The largest eigenvalue of S + U on these features.
    pushed
        What to take off -S to begin with.
    room
        How far beyond it lmax(S + U) may be.
    """
    admissible = _Admissible(S, features, factor, U, level, ACCURACY * room)
    W = -S if pushed is None else -S - pushed
    anderson = Anderson(begin_below=np.inf, first=1)
    last = np.inf
    for turn in range(TURNS):
        U = admissible.nearest(W)
        if float(admissible.errors.max()) > room:
            return _most(admissible.errors, room, features)
        M = S + U
        if is_below(M, leading + NEARLY * room):
            return Completion(U, leading + NEARLY * room, -S - W, turn)
        largest = above_largest_eigenvalue(M)
        excess = largest - leading
        if excess <= room:
            return Completion(U, largest, -S - W, turn)
        goal = leading - PUSH * excess
        values, vectors = eigenpairs_above(M, goal)
        apart = admissible.apart(vectors)
        values, vectors = values[apart], vectors[:, apart]
        if excess > (AT_FIRST if turn == 1 else PROGRESS) * last:
            return _carrying(vectors, values - goal, features)
        push = (vectors * (2 * (values - goal))) @ vectors.T
        W, last = anderson.next(U, admissible.nearest(U - push) - U), excess
    return _carrying(vectors, values - goal, features)


def _carrying(vectors: Floats, excess: Floats, features: Indices) -> Indices:
    """Return the features beside those given that carry most of the vectors, each counted by its excess."""
    weights = vectors**2 @ (excess / max(float(excess.sum()), TINY))
    weights[features] = 0.0
    return _most(weights, SHARE, features)


def _most(weights: Floats, least: float, features: Indices) -> Indices:
    """Return the features of the largest weights above the least, in measure of those given."""
    order = np.argsort(-weights, kind="stable")[: INTAKE * len(features)]
    return np.asarray(order[weights[order] > least])


class _Admissible:
    """The matrices U that optimality allows for X = FF', whatever the eigenvalues of S + U.

    `errors` says for each feature how far off its row is from what is asked of it.
    """

    def __init__(self, S: Floats, on: Indices, factor: Floats, U: Floats, level: float, accuracy: float) -> None:
        outside = np.ones(len(S), dtype=bool)
        outside[on] = False
        off = np.flatnonzero(outside)
        self._on, self._off, self._basis = on, off, orthonormal(factor)
        self._U, self._level, self._accuracy = U, level, accuracy
        self._support, self._rows, self._columns = np.ix_(on, on), np.ix_(off, on), np.ix_(on, off)
        self._wanted = -S[self._rows] @ self._basis
        self.errors = np.zeros(len(S))

    def nearest(self, W: Floats) -> Floats:
        result = np.clip(W, -self._level, self._level)
        across, self.errors[self._off] = _with_products(
            W[self._rows], self._basis, self._wanted, self._level, self._accuracy
        )
        result[self._support] = self._U
        result[self._rows], result[self._columns] = across, across.T
        np.fill_diagonal(result, 0.0)
        return result

    def apart(self, vectors: Floats) -> Floats:
        """Return which vectors lie outside of the span of F, for the greater part."""
        return np.asarray(((self._basis.T @ vectors[self._on]) ** 2).sum(axis=0) < 0.5)


def _with_products(rows: Floats, basis: Floats, wanted: Floats, level: float, accuracy: float) -> tuple[Floats, Floats]:
    """Return the nearest rows with entries up to the level whose products with the basis are the wanted ones.

    They are u + Bc cut off at the level: c is found one entry after the other, and if there are several by going down
    from there. What the products are off by is returned too.

    Parameters
    ----------
    rows
        The rows u.
    basis
        B, with orthonormal columns.
    wanted
        The products with B, a row for each u.
    level, accuracy
        What entries may be, and how far off products may be.
    """
    for z, products in zip(basis.T, wanted.T, strict=True):
        rows = rows + _multiples(rows, z, products, level, accuracy)[:, None] * z
    if basis.shape[1] > 1:
        rows = _descended(rows, basis, wanted, level, accuracy)
    result = np.clip(rows, -level, level)
    return result, np.abs(result @ basis - wanted).max(axis=1, initial=0.0)


def _descended(rows: Floats, basis: Floats, wanted: Floats, level: float, accuracy: float) -> Floats:
    """Return the rows with the multiples of the basis added that bring them to the wanted products.

    Newton's method on the convex function whose gradient the products are, with a ridge for each row that grows where
    the function does not fall and shrinks where it does: where it is one the step is one along the gradient.
    """
    r = basis.shape[1]
    squares = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), r * r)
    rows, ridge = rows.copy(), np.full(len(rows), RIDGE)
    for _ in range(ROOT_STEPS):
        cut = np.clip(rows, -level, level)
        error = cut @ basis - wanted
        left = np.flatnonzero(np.abs(error).max(axis=1, initial=0.0) > accuracy)
        if not len(left):
            break
        curvature = (np.abs(cut[left]) < level) @ squares
        systems = curvature.reshape(-1, r, r) + ridge[left, None, None] * np.eye(r)
        step = np.linalg.solve(systems, error[left, :, None])[:, :, 0]
        moved = rows[left] - step @ basis.T
        cut_moved = np.clip(moved, -level, level)
        # The integral of what is cut off at t is x^2 / 2 within the box and t |x| - t^2 / 2 beyond it.
        rise = (cut_moved * (moved - 0.5 * cut_moved) - cut[left] * (rows[left] - 0.5 * cut[left])).sum(axis=1)
        falls = rise + (step * wanted[left]).sum(axis=1) < 0
        rows[left[falls]] = moved[falls]
        ridge[left] = np.clip(np.where(falls, 0.1, 10.0) * ridge[left], SMALLEST, 1.0)
    return rows


def _multiples(rows: Floats, z: Floats, wanted: Floats, level: float, accuracy: float) -> Floats:
    """Return for each row u the c with which u + cz, cut off at the level, has the wanted product with z.

    The product rises with c and is piecewise linear: most rows need a few steps of Newton's method. Of rows whose
    product is out of reach all is cut off.
    """
    result, squares = np.zeros(len(rows)), z**2
    left, moved = np.arange(len(rows)), rows
    for _ in range(NEWTON_STEPS):
        cut = np.clip(moved, -level, level)
        error = wanted[left] - cut @ z
        off = np.abs(error) > accuracy
        if not off.any():
            return result
        left, free = left[off], (cut == moved)[off]
        result[left] += error[off] / np.maximum(free @ squares, NO_SLOPE)
        moved = rows[left] + result[left, None] * z
    result[left] = _sorted_multiples(rows[left], z, wanted[left], level)
    return result


def _sorted_multiples(rows: Floats, z: Floats, wanted: Floats, level: float) -> Floats:
    """Return the same by sorting the break points.

    Each entry adds z_j^2 to the slope from where it is no longer cut off below to where it is cut off above.
    """
    some = np.abs(z) > NO_ENTRY
    if not some.any():
        return np.zeros(len(rows))
    z, middle = z[some], -rows[:, some] / z[some]
    reach = level / np.abs(z)
    points = np.concatenate([middle - reach, middle + reach], axis=1)
    order = np.argsort(points, axis=1)
    points = np.take_along_axis(points, order, axis=1)
    slopes = np.concatenate([z**2, -(z**2)])[order].cumsum(axis=1)
    products = (slopes[:, :-1] * np.diff(points, axis=1)).cumsum(axis=1) - level * float(np.abs(z).sum())
    segment = np.minimum((products < wanted[:, None]).sum(axis=1), products.shape[1] - 1)
    at = np.arange(len(rows))
    end, slope = points[at, segment + 1], slopes[at, segment]
    back = (products[at, segment] - wanted) / np.maximum(slope, NO_SLOPE)
    return np.asarray(np.clip(end - back, points[at, segment], end))
