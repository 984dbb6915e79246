"""The l1 relaxation where its solution has rank one: found on a support, then proved by completing the multiplier.

If X = zz' solves the relaxation, with support A, signs s and level t, then on the support U = -t ss' off the diagonal
and z is a leading eigenvector of S_AA - t ss'. So z is found by an active set: an eigenvector in the penalty form, in
the other Newton's method on

    S_AA z = mu z + t |z|_1 s,    |z|_2 = 1,    s'z = sqrt k.

What U is elsewhere is found by `completion`. Nothing is taken on trust: either the gap closes, or there is no result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigh, extreme_eigenpair, largest_off_diagonal
from laconic.problem.status import Status
from laconic.relaxations.completion import WHOLE, Completion, Pushed, completed, pushed_at
from laconic.relaxations.l1 import CardinalityForm, L1Form, L1Solution, PenaltyForm

# Changes of the active set, and Newton steps on each, before giving up.
ACTIVE_SETS, NEWTON_STEPS = 12, 8
# Ascent steps before the first active set.
ASCENT_STEPS = 3
# Entries that enter the active set, beside a unit vector.
ENTERING = 1e-6
# The part of the tolerance that lmax(S + U) may use up, the rest is for rounding.
ROOM = 0.9
# Products with S that make a vector roughly its leading one.
PRODUCTS = 20
# Up to this size all eigenvectors are found sooner than the leading one alone.
SMALL = 32
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class RankOne:
    """A unit vector z that is a local maximum, its level, and the value of X = zz'."""

    vector: Floats
    level: float
    primal: float


def solve_rank_one(S: Floats, form: L1Form, tolerance: float, near: L1Solution | None = None) -> L1Solution | None:
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
        The solution for a neighbouring rho or k, where the search begins; without one, at the leading eigenvector of S.
    """
    found = at_once(S, form, tolerance)
    if found is not None:
        return found
    if near is None:
        start = _leading_or_nearly(S)
    else:
        start = best_pair(S) if np.count_nonzero(near.vector) == 1 else near.vector
    best = best_rank_one(S, form, (start,))
    if best is None:
        return None
    return proved(S, form, tolerance, best, None if near is None else pushed_at(S, near))


def at_once(S: Floats, form: L1Form, tolerance: float) -> L1Solution | None:
    """Return the solution if U = -S off the diagonal, cut off nowhere, proves it to the tolerance; None if it does not.

    S + U is then diagonal. That proves the feature of largest variance if k = 1 or if rho is no less than any |S_ij|,
    and the pair of largest |S_ij| if k = 2 and the variances are alike, as those of a correlation matrix.

    Parameters
    ----------
    S
        A symmetric matrix.
    form
        `PenaltyForm(rho)` or `CardinalityForm(k)`.
    tolerance
        The relative gap to reach.
    """
    level = float(largest_off_diagonal(S).max(initial=0.0))
    if isinstance(form, PenaltyForm) and form.rho >= level:
        level = form.rho
    elif not isinstance(form, CardinalityForm) or form.cardinality > 2:
        return None
    alone = isinstance(form, PenaltyForm) or form.cardinality == 1 or level == 0
    z, dual = _largest_alone(S) if alone else best_pair(S), form.dual(float(S.diagonal().max()), level)
    off_diagonal = float(np.abs(z).sum() ** 2 - 1)
    primal = form.primal(float(z @ S @ z), float(S.diagonal() @ z**2), off_diagonal)
    dual = max(dual, primal)
    if not dual <= primal + tolerance * abs(dual):
        return None
    keep = np.flatnonzero(z)
    U = -S[np.ix_(keep, keep)]
    np.fill_diagonal(U, 0.0)
    shrink = form.shrink(off_diagonal)
    return L1Solution(form, z[:, None], primal, dual, keep, U, level, Status.OPTIMAL, 0, shrink)


def best_rank_one(S: Floats, form: L1Form, starts: Sequence[Floats]) -> RankOne | None:
    """Return the best of the local maxima near the starts; None if none is found."""
    found = []
    for start in starts:
        if isinstance(form, CardinalityForm):
            z, level = _constrained(S, start, form.cardinality)
        else:
            assert isinstance(form, PenaltyForm)
            level = form.rho
            z = penalized_vector(S, start, level)
        if z is not None:
            primal = form.primal(float(z @ S @ z), float(S.diagonal() @ z**2), float(np.abs(z).sum() ** 2 - 1))
            found.append(RankOne(z, level, primal))
    return max(found, key=lambda one: one.primal, default=None)


def proved(S: Floats, form: L1Form, tolerance: float, best: RankOne, pushed: Pushed | None = None) -> L1Solution | None:
    """Return the solution X = zz' with a multiplier that proves it to the tolerance; None if none is found.

    Parameters
    ----------
    S
        A symmetric matrix.
    form
        `PenaltyForm(rho)` or `CardinalityForm(k)`.
    tolerance
        The relative gap to reach.
    best
        z.
    pushed
        What a neighbouring rho or k knows of U.
    """
    z, level, primal = best.vector, best.level, best.primal
    reach = largest_off_diagonal(S)
    kept = (reach > level) | (z != 0)
    keep = np.flatnonzero(kept)
    if len(keep) > WHOLE:
        return None
    on = np.flatnonzero(z[keep])
    off_diagonal = float(np.abs(z).sum() ** 2 - 1)
    signs = np.sign(z[keep[on]])
    U = -level * np.outer(signs, signs)
    np.fill_diagonal(U, 0.0)
    completion = completed(
        S[np.ix_(keep, keep)],
        on,
        z[keep[on], None],
        U,
        level,
        float(z @ S @ z) - level * off_diagonal,
        None if pushed is None else pushed.on(keep),
        ROOM * tolerance * abs(primal),
    )
    if not isinstance(completion, Completion):
        return None
    U = completion.U
    largest = max(completion.largest, float(S.diagonal().max(where=~kept, initial=-np.inf)))
    if isinstance(form, CardinalityForm):
        level = max(float(np.abs(U).max(initial=0.0)), float(reach.max(where=~kept, initial=0.0)))
    dual = max(form.dual(largest, level), primal)
    if not dual <= primal + tolerance * abs(dual):
        return None
    state = Pushed(keep, completion.pushed)
    shrink = form.shrink(off_diagonal)
    return L1Solution(form, z[:, None], primal, dual, keep, U, level, Status.OPTIMAL, completion.turns, shrink, state)


def _largest_alone(S: Floats) -> Floats:
    """Return the unit vector of the feature of largest variance."""
    vector = np.zeros(len(S))
    vector[int(S.diagonal().argmax())] = 1.0
    return vector


def best_pair(S: Floats) -> Floats:
    """Return the leading eigenvector of the two by two block of S that has the largest eigenvalue."""
    a, d = S.diagonal()[:, None], S.diagonal()[None, :]
    largest = 0.5 * (a + d) + np.hypot(0.5 * (a - d), S)
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
    for _ in range(ASCENT_STEPS):
        image = S @ z
        image = np.sign(image) * np.maximum(np.abs(image) - rho * float(np.abs(z).sum()), 0.0)
        z = image / max(float(np.linalg.norm(image)), TINY)
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
