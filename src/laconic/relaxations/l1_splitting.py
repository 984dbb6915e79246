"""The l1 relaxation by operator splitting: the fast solver.

Anderson acceleration of a fixed-point iteration, and its memory. `laconic.relaxations.row_kernels` has the same method
in compiled code, and reads the constants here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import EPS, extreme_eigenpair
from laconic.core.monitor import Monitor, threads_for
from laconic.relaxations.elementary import SPARE, RelaxationStatus, final_status, project
from laconic.relaxations.l1 import BestPoints, CardinalityForm, L1Form, L1Solution, PenaltyForm, row_maxima, shrunk

# Moves that are remembered. More cost memory and make the small least-squares problem ill-posed.
MEMORY = 5
# Extrapolation begins once this many moves are known and the residual is below this number. Earlier it does harm.
FIRST, BEGIN_BELOW = 3, 0.5
# The memory is dropped if the residual grows by more than this factor in one step: the old moves mislead.
GROWTH = 2.0
# A correction this many times longer than the plain move comes from rounding errors, and is left out.
FARTHEST = 1e8
# The ridge of the least-squares problem, in units of the trace of its matrix. It keeps the problem well-posed.
RIDGE = 1e-8
# After this many steps without a smaller residual, plain steps are taken for as many.
PATIENCE = 25

Counts: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Memory: TypeAlias = tuple[Floats, Floats, Floats, Floats, Counts, Floats]


def empty_memory(size: int) -> Memory:
    """Return the memory of an iteration on vectors of this size that has not begun.

    It holds six arrays: the last u and g; the rows of dU; the rows of dG; the inner products of the rows of dG; three
    counts (moves known, steps without a smaller residual, and 1 once the last u is known); and two residuals (the
    smallest and the last). The oldest row is overwritten first.
    """
    return (
        np.zeros((2, size)),
        np.zeros((MEMORY, size)),
        np.zeros((MEMORY, size)),
        np.zeros((MEMORY, MEMORY)),
        np.zeros(3, np.int64),
        np.array([np.inf, np.inf]),
    )


def next_point(
    u: Floats, g: Floats, last: Floats, moves: Floats, changes: Floats, gram: Floats, counts: Counts, residuals: Floats
) -> Floats:
    """Return the next point of the iteration u -> u + g(u), extrapolated from its last moves.

    This is Anderson's method of type II. With the differences of the last m steps as rows,

        dG = changes of g,    dU = changes of u + g,    w = argmin |g - w dG|^2 + ridge |w|^2,

    the next point is u + g - w dU. The plain iteration is known to converge; the extrapolated one is not. Extrapolation
    therefore pauses whenever the residual |g| stops falling. All other arguments are the memory (`empty_memory`), which
    is updated.
    """
    size = np.sqrt(np.dot(g, g))
    if counts[2] == 1:
        if size > GROWTH * residuals[1]:
            counts[0] = 0
        else:
            place = counts[0] % MEMORY
            counts[0] += 1
            known = min(counts[0], MEMORY)
            changes[place] = g - last[1]
            moves[place] = u - last[0] + changes[place]
            gram[place, :known] = changes[:known] @ changes[place]
            gram[:known, place] = gram[place, :known]
    last[0], last[1] = u, g
    counts[2] = 1
    counts[1] = 0 if size < residuals[0] else counts[1] + 1
    residuals[0], residuals[1] = min(residuals[0], size), size
    point = u + g
    if counts[1] > PATIENCE:
        if counts[1] > 2 * PATIENCE:
            counts[1] = 0
        return point
    m = min(counts[0], MEMORY)
    if m < FIRST or size >= BEGIN_BELOW:
        return point
    ridge = RIDGE * np.trace(gram[:m, :m])
    if not ridge > 0:
        return point
    weights = np.linalg.solve(gram[:m, :m] + ridge * np.eye(m), changes[:m] @ g)
    correction = weights @ moves[:m]
    if np.sqrt(np.dot(correction, correction)) <= FARTHEST * size:
        point -= correction
    return point


# The first stiffness, in units of the largest variance. Found by trial on matrices of 100 to 2000 features.
STIFFNESS = 3.0
# The stiffness stays within this factor of the largest variance, so that it cannot run away.
STIFFNESS_RANGE = 1e5
# Steps are this much longer than the plain iteration's. Values up to two converge; 1.6 is the usual choice.
OVER_RELAXATION = 1.6
# The stiffness changes if the two residuals differ by more than this factor.
BALANCE = 2.0
# Steps between two such changes, and the step after which there are none: the plain iteration then surely converges.
BALANCE_EVERY, BALANCE_UNTIL = 10, 500
# Extrapolation stores ten matrices. Above this size that is too much memory.
ACCELERATED = 1000
# Steps between two evaluations of the gap, and early steps that have one, too: a good start is noticed at once.
CHECK_EVERY, EARLY_CHECKS = 5, (1, 3)
# Steps towards a better sparse vector: at the start, and at each evaluation of the gap, where more gain little.
FIRST_STEPS, ASCENT_STEPS = 10, 3
# Supports that are tried to make a solution with a penalty exactly sparse. Most solutions need two or three.
SUPPORTS_TRIED = 20
# Up to this size, the cardinality form begins with all features: elimination would not save time.
ALL_FEATURES_UP_TO = 200


@dataclass(frozen=True)
class Splitting:
    """Alternating directions between the spectrahedron and the l1 term, accelerated.

    X lies in the spectrahedron, its copy Y carries the l1 norm, and L is the multiplier of X = Y. The scaled augmented
    Lagrangian has stiffness q. One step is

        X <- projection of Y + (S - L)/q on the spectrahedron
        Y <- X + L/q shrunk off the diagonal: by rho/q, or onto the l1 ball of radius k - 1
        L <- L + q (X - Y)

    This is a fixed-point iteration in u = Y + L/q (Douglas-Rachford). The steps are over-relaxed and extrapolated by
    Anderson's method. q adapts so that the primal and the dual residual stay alike. At every step -L, with a zero
    diagonal, is a dual point, and X is a primal one. Their two values bound the relaxation at every step.

    A feature is eliminated if U may cancel its whole row: |S_ij| <= t for all j != i. Its own variance then remains as
    a candidate. In the penalty form t = rho. In the cardinality form t is known only after a solve on the features
    kept; eliminated features that break the rule are then taken back, and the solve goes on.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import CardinalityForm, Splitting
    >>> found = Splitting(tolerance=1e-6).solve(load_pitprops().covariance, CardinalityForm(5))
    >>> found.gap <= 1e-6, found.tight
    (True, True)
    """

    tolerance: float = 1e-4  # the relative gap between the primal and the dual value at which to stop
    max_iterations: int = 5000

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must lie between 0 and 1.")

    def solve(
        self, S: Floats, form: L1Form, *, start: L1Solution | None = None, monitor: Monitor | None = None
    ) -> L1Solution:
        """Solve the relaxation. A start is a solution for another rho or k of the same S, preferably a close one."""
        monitor = monitor or Monitor()
        reach = row_maxima(S)
        keep, steps = _first_kept(S, form, reach), 0
        with threads_for(len(S)):
            while True:
                found = self._solve_on(S, form, keep, start, monitor)
                steps += found.iterations
                level = form.fixed_level
                if level is None:
                    level = float(np.abs(found.multiplier).max(initial=0.0))
                missing = np.setdiff1d(np.flatnonzero(reach > level), keep)
                if not len(missing) or monitor.stopped is not None:
                    return replace(found, iterations=steps)
                keep, start = np.union1d(keep, missing), found

    def _solve_on(
        self, S: Floats, form: L1Form, keep: Indices, start: L1Solution | None, monitor: Monitor
    ) -> L1Solution:
        """Return the best points on all features, when U cancels the rows of those that are not kept."""
        block = np.ix_(keep, keep)
        inner, best = S[block], BestPoints.none(len(keep))
        steps, status = 0, RelaxationStatus.CONVERGED
        if len(keep):
            if start is None or not len(start.keep):
                F, U = _first_points(inner, form)
            else:
                F, U = start.factor[keep], start.dual_matrix(S)[block]
            steps, status = self._iterate(inner, form, F, U, best, monitor)
            sparse = _local_maximum(inner, form, best.factor[:, 0])
            if sparse is not None and sparse.any():
                best.offer_primal(inner, form, sparse[:, None])
        return best.solution(S, form, keep, status, steps)

    def _iterate(
        self, S: Floats, form: L1Form, F: Floats, U: Floats, best: BestPoints, monitor: Monitor
    ) -> tuple[int, RelaxationStatus]:
        """Improve both points, from X = FF' and U; return the number of steps and how they ended."""
        n = len(S)
        scale = float(np.abs(S).max()) or 1.0
        # Rounding errors of the eigenvalues leave a gap of about this size.
        tolerance = max(self.tolerance, 64 * n * EPS)
        status = RelaxationStatus.ITERATION_LIMIT
        q, residual, step = STIFFNESS * scale, 1.0, 0
        u = F @ F.T - U / q
        basis = np.concatenate([F, np.random.default_rng(0).standard_normal((n, SPARE))], axis=1)
        memory = empty_memory(u.size)
        Y, taken = _parts(u, form, q)
        with monitor.watch():
            for step in range(1, self.max_iterations + 1):
                F, weights, basis = project(S / q + Y - taken, basis, 0.1 * min(residual, 0.1))
                if step % CHECK_EVERY == 0 or step in EARLY_CHECKS:
                    monitor.tick("l1 relaxation", bound=best.dual)
                    best.offer_primal(S, form, F)
                    best.offer_primal(S, form, _ascended(S, form, F[:, 0], ASCENT_STEPS)[:, None])
                    if _worth_an_eigenvalue(S, form, q * taken, F[:, 0], best, tolerance, scale):
                        best.offer_dual(S, form, -q * taken)
                    if best.closed(tolerance, scale):
                        exact = tolerance == self.tolerance
                        status = RelaxationStatus.CONVERGED if exact else RelaxationStatus.PRECISION_LIMIT
                        break
                move = F @ F.T - Y
                residual = float(np.linalg.norm(move)) / max(float(np.linalg.norm(weights)), SMALLEST_NORMAL)
                move *= OVER_RELAXATION
                u = next_point(u.ravel(), move.ravel(), *memory).reshape(n, n) if n <= ACCELERATED else u + move
                before, size = Y, max(float(np.linalg.norm(taken)), SMALLEST_NORMAL)
                Y, taken = _parts(u, form, q)
                if step % BALANCE_EVERY == 0 and step <= BALANCE_UNTIL:
                    dual = float(np.linalg.norm(Y - before)) / size
                    factor = 2.0 if residual > BALANCE * dual else 0.5 if dual > BALANCE * residual else 1.0
                    if factor != 1.0 and 1 / STIFFNESS_RANGE <= q * factor / scale <= STIFFNESS_RANGE:
                        q, taken = q * factor, taken / factor
                        u, memory = Y + taken, empty_memory(u.size)
        if not best.closed(tolerance, scale):
            best.offer_dual(S, form, -q * taken)
        return step, final_status(monitor.stopped, status)

    def path(self, S: Floats, forms: Sequence[L1Form], *, monitor: Monitor | None = None) -> list[L1Solution]:
        """Solve for increasing k, or for increasing rho, each solve started from the one before.

        The points X and U of one solution are feasible for all later ones, too. If they close the gap at the next k, no
        solve is needed. If the time is up, they are returned as they are: the bounds are then loose, but valid.
        """
        monitor = monitor or Monitor()
        solutions: list[L1Solution] = []
        last: L1Solution | None = None
        for form in forms:
            moved = None if last is None else last.at(S, form)
            # With a penalty, the next solution is computed in any case: it may use fewer features, which are counted.
            if moved is not None and moved.gap <= self.tolerance and isinstance(form, CardinalityForm):
                solutions.append(replace(moved, status=RelaxationStatus.CONVERGED))
            elif moved is not None and monitor.stopped is not None:
                solutions.append(replace(moved, status=final_status(monitor.stopped, moved.status)))
            else:
                found = self.solve(S, form, start=last, monitor=monitor)
                # A solve that was stopped early may be worse than the points it started from.
                last = found if moved is None or found.gap <= moved.gap else replace(moved, status=found.status)
                solutions.append(last)
        return solutions


def _parts(u: Floats, form: L1Form, stiffness: float) -> tuple[Floats, Floats]:
    """Return Y, which is u after shrinking, and L / q, the part that shrinking took off."""
    size = np.abs(u)
    np.fill_diagonal(size, 0.0)
    t = form.threshold(size, stiffness)
    taken = np.clip(u, -t, t)
    np.fill_diagonal(taken, 0.0)
    return u - taken, taken


def _first_kept(S: Floats, form: L1Form, reach: Floats) -> Indices:
    """Return the features to begin with."""
    n, level = len(S), form.fixed_level
    if level is not None:
        return np.flatnonzero(reach > level)
    assert isinstance(form, CardinalityForm)
    # Up to some size all. Else those with the largest entries and variances, some more than the cardinality needs.
    count = n if n <= ALL_FEATURES_UP_TO else min(n, max(ALL_FEATURES_UP_TO // 2, 4 * form.cardinality))
    by_both = np.argsort(-np.maximum(reach, S.diagonal()), kind="stable")[:count]
    return np.union1d(by_both, np.argsort(-reach, kind="stable")[:count])


def _first_points(S: Floats, form: L1Form) -> tuple[Floats, Floats]:
    """Return a rough sparse component z as a column, and a multiplier that suits it.

    A start at zero would make the first steps have a high rank. If X = zz' is optimal, the features j outside the
    support satisfy |s_j'z| <= t |z|_1. This gives the level t of the cardinality form. -U is S cut off at that level.
    """
    z = _ascended(S, form, np.eye(len(S))[int(S.diagonal().argmax())], FIRST_STEPS)
    level = form.fixed_level
    if level is None:
        level = float(np.abs(S @ z)[z == 0].max(initial=0.0)) / float(np.abs(z).sum())
    U = np.clip(-S, -level, level)
    np.fill_diagonal(U, 0.0)
    return z[:, None], U


def _ascended(S: Floats, form: L1Form, z: Floats, steps: int) -> Floats:
    """Return a better sparse unit vector, after a few steps from z.

    The iterates X become feasible only in the limit. Where the optimal X has rank one, such a vector is a much better
    primal point than X shrunk into the l1 ball.
    """
    z = _unit(z)
    for _ in range(steps):
        moved = form.ascend(S @ z, z)
        if not moved.any():
            break
        z = _unit(moved)
    return z


def _local_maximum(S: Floats, form: L1Form, z: Floats) -> Floats | None:
    """Return a local maximum of z'Sz - rho |z|_1^2 over unit vectors, near z; None if none is found.

    If the optimal X has rank one, X = zz' with such a z. The iteration leaves small entries where z is exactly zero. A
    shrunk step shows the signs of z, and z is then the leading eigenvector of S - rho ss' on its support. The form with
    a cardinality has no such maximum.
    """
    if not isinstance(form, PenaltyForm):
        return None
    rho = form.rho
    signs = np.zeros(len(S))
    for _ in range(SUPPORTS_TRIED):
        image = shrunk(S @ z, rho * float(np.abs(z).sum()))
        if np.array_equal(np.sign(image), signs):
            return z
        signs = np.sign(image)
        on = np.flatnonzero(signs)
        if not len(on):
            return None
        v = extreme_eigenpair(S[np.ix_(on, on)] - rho * np.outer(signs[on], signs[on]), -1)[1]
        z = np.zeros(len(S))
        z[on] = np.maximum(signs[on] * v * np.sign(v @ image[on]), 0.0) * signs[on]
        z = _unit(z)
    return None


def _worth_an_eigenvalue(
    S: Floats, form: L1Form, L: Floats, v: Floats, best: BestPoints, tolerance: float, scale: float
) -> bool:
    """Return False if a few power steps show that the dual point -L leaves the gap open."""
    for _ in range(3):
        v = _unit(S @ v - L @ v)
    value = form.dual(float(v @ (S @ v) - v @ (L @ v)), float(np.abs(L).max(initial=0.0)))
    return value - best.primal <= tolerance * max(abs(value), 1e-3 * scale)


def _unit(v: Floats) -> Floats:
    """Return a vector scaled to length one, or zero if it is zero."""
    # Divided by the largest entry first: squares of small numbers vanish, those of large ones overflow.
    v = v / max(float(np.abs(v).max(initial=0.0)), SMALLEST_NORMAL)
    return np.asarray(v / max(float(np.linalg.norm(v)), SMALLEST_NORMAL))
