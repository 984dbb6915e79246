"""The l1 relaxation where its solution has rank one: found on a support, then proved by completing the multiplier.

If X = zz' solves the relaxation, with support A, signs s and level t, then on the support U = -t ss' off the diagonal
and z is a leading eigenvector of S_AA - t ss'. So z is found by an active set: an eigenvector in the penalty form, in
the other Newton's method on

    S_AA z = mu z + t |z|_1 s,    |z|_2 = 1,    s'z = sqrt k.

What U is elsewhere optimality leaves open but for |U_ij| <= t, (S + U) z = 0 on the rows outside A, and lmax(S + U) =
lmax((S + U)_AA). The first two ask for a projection, here of -S, which is one root for each row; the third is reached
by turns, pushing the eigenvalues that are too large down and projecting again. Begun with what was pushed down for a
neighbouring rho or k, one turn or none is enough. Nothing is taken on trust: either the gap closes, or there is no
result.
"""

from dataclasses import dataclass

import numpy as np

from laconic._typing import Floats, Indices
from laconic.linalg import eigenpairs_above, eigh, extreme_eigenpair, is_below
from laconic.relaxations.l1 import CardinalityForm, L1Form, L1Solution, PenaltyForm, above_largest_eigenvalue
from laconic.screening import largest_off_diagonal
from laconic.solution import Status

# Changes of the active set, and Newton steps on each, before giving up.
ACTIVE_SETS, NEWTON_STEPS = 8, 8
# Ascent steps before the first active set, in the cardinality form.
ASCENT_STEPS = 3
# Entries that enter the active set, beside a unit vector.
ENTERING = 1e-6
# Turns before giving up, and how much of the excess over lmax a turn must remove for the next to be worth it.
TURNS, PROGRESS = 15, 0.7
# Eigenvalues are pushed below lmax by this many times the excess: the box takes part of it back.
PUSH = 2.0
# Steps to find the root of a row.
ROOT_STEPS = 40
# The part of the tolerance that lmax(S + U) may use up, the rest is for rounding; and the part of this that is not
# worth an eigenvalue.
ROOM, NEARLY = 0.9, 0.02
# Products with S that make a vector roughly its leading one.
PRODUCTS = 20
# Up to this size all eigenvectors are found sooner than the leading one alone.
SMALL = 32
# Up to this many features kept, whole eigendecompositions are cheap.
WHOLE = 500
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class _Pushed:
    """What was taken off -S, on the features kept, to bring eigenvalues down."""

    keep: Indices
    push: Floats

    def on(self, keep: Indices) -> Floats:
        """Return it on other features."""
        if np.array_equal(keep, self.keep):
            return self.push
        result = np.zeros((len(keep), len(keep)))
        _, places, own = np.intersect1d(keep, self.keep, assume_unique=True, return_indices=True)
        result[np.ix_(places, places)] = self.push[np.ix_(own, own)]
        return result


def solve_rank_one(
    S: Floats, form: L1Form, tolerance: float, near: L1Solution | None = None, start: Floats | None = None
) -> L1Solution | None:
    """Return a solution of rank one to the tolerance, or None if none is found.

    Parameters
    ----------
    S
        A symmetric matrix.
    form
        `PenaltyForm(rho)` or `CardinalityForm(k)`.
    tolerance
        The relative gap to reach.
    near
        The solution for a neighbouring rho or k.
    start
        The vector at which the search begins: if it is not given, that of `near`, or the leading eigenvector of S.
    """
    reach = largest_off_diagonal(S)
    all_cancelled = float(reach.max())
    if start is None:
        start = _leading_or_nearly(S) if near is None else near.vector
    if isinstance(form, CardinalityForm):
        if form.cardinality == 1:
            return _one_feature(S, form, all_cancelled)
        z, level = _constrained(S, start, form.cardinality)
    else:
        assert isinstance(form, PenaltyForm)
        level = form.rho
        if level >= all_cancelled:
            return _one_feature(S, form, level)
        z = penalized_vector(S, start if near is not None else np.where(reach > level, start, 0.0), level)
    if z is None:
        return None
    kept = (reach > level) | (z != 0)
    keep = np.flatnonzero(kept)
    if len(keep) > WHOLE:
        return None
    variances = S.diagonal()
    inner = np.ix_(keep, keep)
    value, off = float(z @ S @ z), float(np.abs(z).sum() ** 2 - 1)
    known = near.state if near is not None and isinstance(near.state, _Pushed) else None
    primal = form.primal(value, float(variances @ z**2), off)
    room = ROOM * tolerance * abs(primal)
    pushed = None if known is None else known.on(keep)
    completed = _completed(S[inner], z[keep], level, value - level * off, pushed, room)
    if completed is None:
        return None
    U, largest, pushed, turns = completed
    largest = max(largest, float(variances.max(where=~kept, initial=-np.inf)))
    if isinstance(form, CardinalityForm):
        level = max(float(np.abs(U).max(initial=0.0)), float(reach.max(where=~kept, initial=0.0)))
    dual = max(form.dual(largest, level), primal)
    if not dual <= primal + tolerance * abs(dual):
        return None
    state = None if pushed is None else _Pushed(keep, pushed)
    return L1Solution(form, z[:, None], primal, dual, keep, U, level, Status.OPTIMAL, turns, form.shrink(off), state)


def _one_feature(S: Floats, form: L1Form, level: float) -> L1Solution:
    """Return the solution where U may cancel every row: the feature of largest variance."""
    keep = np.array([int(S.diagonal().argmax())])
    factor = np.zeros((len(S), 1))
    factor[keep] = 1.0
    variance = float(S.diagonal()[keep[0]])
    value = form.primal(variance, variance, 0.0)
    return L1Solution(form, factor, value, value, keep, np.zeros((1, 1)), level, Status.OPTIMAL, 0)


def best_pair(S: Floats) -> Floats:
    """Return the leading eigenvector of the two by two block of S that has the largest eigenvalue."""
    a, d = S.diagonal()[:, None], S.diagonal()[None, :]
    largest = 0.5 * (a + d) + np.sqrt(0.25 * (a - d) ** 2 + S**2)
    np.fill_diagonal(largest, -np.inf)
    pair = np.array(np.unravel_index(largest.argmax(), S.shape))
    vector = np.zeros(len(S))
    vector[pair] = extreme_eigenpair(S[np.ix_(pair, pair)], -1)[1]
    return vector


def _leading_or_nearly(S: Floats) -> Floats:
    """Return the leading eigenvector, of a large matrix only roughly."""
    if len(S) <= WHOLE:
        return extreme_eigenpair(S, -1)[1]
    z = S[:, np.linalg.norm(S, axis=0).argmax()]
    for _ in range(PRODUCTS):
        z = S @ (z / max(float(np.linalg.norm(z)), TINY))
    return np.asarray(z / max(float(np.linalg.norm(z)), TINY))


def penalized_vector(S: Floats, z: Floats, rho: float) -> Floats | None:
    """Return a local maximum of z'Sz - rho |z|_1^2 over unit vectors, from a vector near it; None if none is found."""
    for _ in range(ACTIVE_SETS):
        on = np.flatnonzero(z)
        if not 0 < len(on) <= WHOLE:
            return None
        signs = np.sign(z[on])
        v = _leading_vector(S[np.ix_(on, on)] - rho * np.outer(signs, signs), z[on])
        z, settled = _next_active_set(S, on, signs, v, rho)
        if settled:
            return z
    return None


def _constrained(S: Floats, z: Floats, k: int) -> tuple[Floats | None, float]:
    """Return a local maximum of z'Sz over unit vectors with |z|_1^2 <= k, and the level of the constraint."""
    if float(np.abs(z).sum() ** 2) < k and len(S) <= WHOLE:
        leading = extreme_eigenpair(S, -1)[1]
        if float(np.abs(leading).sum() ** 2) <= k:
            return leading, 0.0
    for _ in range(ASCENT_STEPS):
        z = _nearest(S @ z, k)
    for _ in range(ACTIVE_SETS):
        on = np.flatnonzero(z)
        if not 1 < len(on) <= WHOLE:
            return None, 0.0
        signs = np.sign(z[on])
        if len(on) <= k:
            # No vector on k features breaks the constraint: the level is what keeps the others out.
            v = _leading_vector(S[np.ix_(on, on)], z[on])
            image = np.abs(S[:, on] @ v)
            image[on] = 0.0
            level = float(image.max()) / float(np.abs(v).sum())
        else:
            stationary = _newton(S[np.ix_(on, on)], z[on], signs, k)
            if stationary is None:
                return None, 0.0
            v, level = stationary
        z, settled = _next_active_set(S, on, signs, v, level)
        if settled:
            return z, level
    return None, 0.0


def _leading_vector(M: Floats, towards: Floats) -> Floats:
    """Return the leading eigenvector, of the two signs the one that points towards a vector."""
    v = eigh(M)[1][:, -1] if len(M) <= SMALL else extreme_eigenpair(M, -1)[1]
    return v if float(v @ towards) >= 0 else -v


def _next_active_set(S: Floats, on: Indices, signs: Floats, v: Floats, level: float) -> tuple[Floats, bool]:
    """Return v without the entries of a wrong sign, or with those that want to enter; and whether it is settled."""
    z = np.zeros(len(S))
    z[on] = np.where(v * signs > 0, v, 0.0)
    if np.count_nonzero(z) < len(on):
        return z, False
    image = S[:, on] @ v
    image[on] = 0.0
    enter = np.abs(image) > level * float(np.abs(v).sum()) * (1 + ENTERING)
    z[enter] = ENTERING * np.sign(image[enter])
    return z, not enter.any()


def _nearest(v: Floats, k: int) -> Floats:
    """Return the unit vector z with |z|_1^2 <= k of largest v'z: v shrunk by a threshold, and scaled.

    With the j largest entries left, of mean a and variance b, the threshold is a - sqrt(b k / (j - k)).
    """
    size = np.sort(np.abs(v))[::-1]
    length = float(np.linalg.norm(v))
    if float(size.sum()) <= np.sqrt(k) * length:
        return v / max(length, TINY)
    counts = np.arange(1, len(v) + 1)
    means = np.cumsum(size) / counts
    variances = np.maximum(np.cumsum(size**2) / counts - means**2, 0.0)
    more = counts > k
    thresholds = means[more] - np.sqrt(k * variances[more] / (counts[more] - k))
    below = np.append(size[1:], 0.0)[more]
    fits = np.flatnonzero((thresholds >= below) & (thresholds < size[more]))
    if not len(fits):
        return np.where(np.abs(v) >= size[k - 1], v, 0.0) / float(np.linalg.norm(size[:k]))
    z = np.sign(v) * np.maximum(np.abs(v) - thresholds[fits[0]], 0.0)
    return np.asarray(z / np.linalg.norm(z))


def _newton(S: Floats, v: Floats, signs: Floats, k: int) -> tuple[Floats, float] | None:
    """Return v and t with S v = mu v + t |v|_1 s, |v|_2 = 1 and s'v = sqrt k."""
    m, radius = len(v), float(np.sqrt(k))
    v = v / np.linalg.norm(v)
    mu = float(v @ S @ v)
    pull = float(signs @ (S @ v - mu * v)) / m
    scale = float(np.abs(S).max())
    system = np.zeros((m + 2, m + 2))
    system[m + 1, :m] = system[:m, m + 1] = -signs
    residual = np.empty(m + 2)
    for _ in range(NEWTON_STEPS):
        residual[:m] = S @ v - mu * v - pull * signs
        residual[m:] = 0.5 * (1 - v @ v), radius - signs @ v
        if float(np.abs(residual).max()) <= 1e-10 * scale:
            break
        system[:m, :m] = S
        system.flat[: m * (m + 2) : m + 3] -= mu
        system[m, :m] = system[:m, m] = -v
        try:
            step = np.linalg.solve(system, -residual)
        except np.linalg.LinAlgError:
            return None
        step *= min(1.0, 0.5 / max(float(np.linalg.norm(step[:m])), TINY))
        v, mu, pull = v + step[:m], mu + float(step[m]), pull + float(step[m + 1])
    level = pull / radius
    return (v / np.linalg.norm(v), level) if level > 0 else None


def _completed(
    S: Floats, z: Floats, level: float, leading: float, pushed: Floats | None, room: float
) -> tuple[Floats, float, Floats | None, int] | None:
    """Return U, a bound on lmax(S + U) up to `room` beyond `leading`, what was pushed for it, and the turns it took."""
    on, off = np.flatnonzero(z), np.flatnonzero(z == 0)
    signs = np.sign(z[on])
    support, rows, columns = np.ix_(on, on), np.ix_(off, on), np.ix_(on, off)
    wanted = -S[rows] @ z[on]
    W = -S if pushed is None else -S - pushed
    last = np.inf
    for turn in range(TURNS):
        U = np.clip(W, -level, level)
        across = _with_products(W[rows], z[on], wanted, level, 1e-3 * room)
        U[support] = -level * np.outer(signs, signs)
        U[rows], U[columns] = across, across.T
        np.fill_diagonal(U, 0.0)
        M = S + U
        if is_below(M, leading + NEARLY * room):
            return U, leading + NEARLY * room, pushed, turn
        largest = above_largest_eigenvalue(M)
        excess = largest - leading
        if excess <= room:
            return U, largest, pushed, turn
        if excess > PROGRESS * last:
            return None
        last = excess
        goal = leading - PUSH * excess
        values, vectors = eigenpairs_above(M, goal)
        apart = np.abs(z @ vectors) < 0.7
        push = (vectors[:, apart] * (2 * (values[apart] - goal))) @ vectors[:, apart].T
        pushed = push if pushed is None else pushed + push
        W = U - push
    return None


def _with_products(rows: Floats, z: Floats, wanted: Floats, level: float, accuracy: float) -> Floats:
    """Return the nearest rows with entries up to the level whose products with z are the wanted ones.

    They are u + c z cut off at the level. The product rises with c and is piecewise linear: Newton's method, with
    bisection where it leaves the bracket.
    """
    ends = (np.abs(rows) + level) / np.maximum(np.abs(z), 1e-12)
    upper = ends.max(axis=1, initial=0.0)
    lower = -upper
    c = np.zeros(len(rows))
    result = np.clip(rows, -level, level)
    for _ in range(ROOT_STEPS):
        error = result @ z - wanted
        if float(np.abs(error).max(initial=0.0)) <= accuracy:
            break
        lower, upper = np.where(error < 0, c, lower), np.where(error > 0, c, upper)
        slope = (np.abs(result) < level) @ z**2
        newton = c - np.divide(error, slope, out=np.full_like(error, np.inf), where=slope > 0)
        inside = (newton > lower) & (newton < upper)
        c = np.where(error == 0, c, np.where(inside, newton, 0.5 * (lower + upper)))
        result = np.clip(rows + c[:, None] * z, -level, level)
    return result
