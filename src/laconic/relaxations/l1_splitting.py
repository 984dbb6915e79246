"""The l1 relaxation by operator splitting: the fast solver.

The l1 relaxation for many cardinalities or penalties, each solve started from the previous solution.
The path runs from small to large k or rho. The points X and U of one solution are feasible for all later ones, too. If
they close the gap at the next k, no solve is needed. If the time is up, they are returned as they are: the bounds are
then loose, but valid.

Anderson acceleration of a fixed-point iteration.
`laconic.relaxations.row_kernels` has the same method in compiled code, and reads the constants here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import EPS, extreme_eigenpair
from laconic.core.monitor import Monitor, threads_for
from laconic.relaxations.elementary import (
    RelaxationStatus,
    SpectrahedronProjection,
    estimated_largest_eigenvalue_bound,
    final_status,
)
from laconic.relaxations.l1 import CardinalityForm, L1Form, L1Solution, PenaltyForm, primal_point, shrunk

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


class Anderson:
    """An iteration with its own memory, for arrays of any shape. See `next_point` for the method."""

    def __init__(self) -> None:
        self._memory: Memory | None = None

    def restart(self) -> None:
        """Forget all moves, because the map g has changed."""
        self._memory = None

    def next(self, u: Floats, g: Floats) -> Floats:
        """Return the next point. The plain iteration moves from u to u + g."""
        if self._memory is None or self._memory[0].shape[1] != u.size:
            self._memory = empty_memory(u.size)
        return next_point(u.ravel(), g.ravel(), *self._memory).reshape(u.shape)


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
# Steps towards a better sparse vector at each evaluation of the gap. More cost time and gain little.
ASCENT_STEPS = 3
# Supports that are tried to make a solution with a penalty exactly sparse. Most solutions need two or three.
SUPPORTS_TRIED = 20
# Up to this size, the cardinality form begins with all features: elimination would not save time.
ALL_FEATURES_UP_TO = 200


@dataclass
class _State:
    """The iterate u and the settings that adapt to it, on the features kept."""

    keep: Indices
    u: Floats
    stiffness: float
    threshold: float = 0.0
    projection: SpectrahedronProjection = field(default_factory=SpectrahedronProjection)
    anderson: Anderson = field(default_factory=Anderson)

    @classmethod
    def at(cls, S: Floats, keep: Indices, start: L1Solution) -> "_State":
        """Return the state at a solution of another rho or k."""
        stiffness = _first_stiffness(S)
        F, U = start.factor[keep], start.dual_matrix(S)[np.ix_(keep, keep)]
        state = cls(keep, F @ F.T - U / stiffness, stiffness, start.level / stiffness)
        # The eigenvectors of the solution save a full eigendecomposition at the first step.
        state.projection.begin_with(F)
        return state

    def grown(self, S: Floats, keep: Indices) -> "_State":
        """Return the state on more features. The rows of new ones start as U cancels them, as far as it may."""
        places = np.searchsorted(keep, self.keep)
        u = np.clip(S[np.ix_(keep, keep)] / self.stiffness, -self.threshold, self.threshold)
        np.fill_diagonal(u, 0.0)
        u[np.ix_(places, places)] = self.u
        return _State(keep, u, self.stiffness, self.threshold, self.projection.grown(len(keep), places))

    def parts(self, form: L1Form) -> tuple[Floats, Floats]:
        """Return Y, which is u after shrinking, and L / q, the part that shrinking took off: u = Y + L / q."""
        size = np.abs(self.u)
        np.fill_diagonal(size, 0.0)
        t = self.threshold = form.threshold(size, self.stiffness, self.threshold)
        taken = np.clip(self.u, -t, t)
        np.fill_diagonal(taken, 0.0)
        return self.u - taken, taken


@dataclass
class _Best:
    """The best primal point and the best dual point so far, on the features kept."""

    primal: float = -np.inf
    dual: float = np.inf
    factor: Floats | None = None
    shrink: float = 1.0
    multiplier: Floats | None = None
    largest: float = np.inf

    @property
    def level(self) -> float:
        return 0.0 if self.multiplier is None else float(np.abs(self.multiplier).max(initial=0.0))

    def closed(self, tolerance: float, scale: float) -> bool:
        return bool(np.isfinite(self.dual)) and self.dual - self.primal <= tolerance * max(abs(self.dual), 1e-3 * scale)

    def offer_primal(self, S: Floats, form: L1Form, F: Floats) -> None:
        primal, shrink = primal_point(S, form, F)
        if primal > self.primal:
            self.primal, self.factor, self.shrink = primal, F, shrink

    def offer_dual(self, S: Floats, form: L1Form, L: Floats) -> None:
        largest = estimated_largest_eigenvalue_bound(S - L)
        dual = form.dual(largest, float(np.abs(L).max(initial=0.0)))
        if dual < self.dual:
            self.dual, self.multiplier, self.largest = dual, -L, largest


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
        reach = _largest_off_diagonal(S)
        if start is not None and not len(start.keep):
            start = None
        keep = _first_kept(S, form, reach)
        with threads_for(len(S)):
            state = _first_state(S, form, keep) if start is None else _State.at(S, keep, start)
            steps = 0
            while True:
                best = _Best()
                done, status = self._iterate(S[np.ix_(keep, keep)], form, state, best, monitor, steps)
                steps += done
                eliminated = np.setdiff1d(np.arange(len(S)), keep)
                level = best.level if form.fixed_level is None else form.fixed_level
                missing = eliminated[reach[eliminated] > level]
                if not len(missing) or monitor.stopped is not None:
                    break
                keep = np.union1d(keep, missing)
                state = state.grown(S, keep)
            if isinstance(form, PenaltyForm) and best.factor is not None:
                inner = S[np.ix_(keep, keep)]
                sparse = _local_maximum(inner, form.rho, best.factor[:, 0])
                if sparse is not None:
                    best.offer_primal(inner, form, sparse[:, None])
        return _solution(S, form, best, reach, status, steps, state)

    def _iterate(
        self, S: Floats, form: L1Form, state: _State, best: _Best, monitor: Monitor, before: int
    ) -> tuple[int, RelaxationStatus]:
        """Improve both points; return the number of steps and how they ended."""
        n = len(S)
        if n == 0:
            return 0, RelaxationStatus.CONVERGED
        scale = float(np.abs(S).max()) or 1.0
        # Rounding errors of the eigenvalues leave a gap of about this size.
        tolerance = max(self.tolerance, 64 * n * EPS)
        status = RelaxationStatus.ITERATION_LIMIT
        residual = 1.0
        step = 0
        with monitor.watch():
            for step in range(1, self.max_iterations - before + 1):
                Y, taken = state.parts(form)
                q = state.stiffness
                W = S / q
                W += Y
                W -= taken
                F, weights = state.projection(W, 0.1 * min(residual, 0.1))
                if step % CHECK_EVERY == 0 or step in EARLY_CHECKS:
                    monitor.tick("l1 relaxation", bound=best.dual)
                    best.offer_primal(S, form, F)
                    best.offer_primal(S, form, _ascended(S, form, F[:, 0])[:, None])
                    if _worth_an_eigenvalue(S, form, q * taken, F[:, 0], best, tolerance, scale):
                        best.offer_dual(S, form, q * taken)
                    if best.closed(tolerance, scale):
                        exact = tolerance == self.tolerance
                        status = RelaxationStatus.CONVERGED if exact else RelaxationStatus.PRECISION_LIMIT
                        break
                move = F @ F.T
                move -= Y
                residual = float(np.linalg.norm(move)) / max(float(np.linalg.norm(weights)), SMALLEST_NORMAL)
                move *= OVER_RELAXATION
                state.u = state.anderson.next(state.u, move) if n <= ACCELERATED else state.u + move
                if step % BALANCE_EVERY == 0 and step + before <= BALANCE_UNTIL:
                    _balance(form, state, Y, taken, residual, scale)
        if not best.closed(tolerance, scale):
            best.offer_dual(S, form, state.stiffness * state.parts(form)[1])
        return step, final_status(monitor.stopped, status)


def _first_stiffness(S: Floats) -> float:
    return STIFFNESS * (float(np.abs(S).max()) or 1.0)


def _first_kept(S: Floats, form: L1Form, reach: Floats) -> Indices:
    """Return the features to begin with."""
    n = len(S)
    if form.fixed_level is not None:
        return np.flatnonzero(reach > form.fixed_level)
    if n <= ALL_FEATURES_UP_TO:
        return np.arange(n)
    # The features with the largest entries and variances, some more than the cardinality needs.
    assert isinstance(form, CardinalityForm)
    count = min(n, max(ALL_FEATURES_UP_TO // 2, 4 * form.cardinality))
    by_both = np.argsort(-np.maximum(reach, S.diagonal()), kind="stable")[:count]
    return np.union1d(by_both, np.argsort(-reach, kind="stable")[:count])


def _first_state(S: Floats, form: L1Form, keep: Indices) -> _State:
    """Return the state at zz' for a rough sparse component z, with a multiplier that suits it.

    A start at zero would make the first steps have a high rank. If X = zz' is optimal, the features j outside the
    support satisfy |s_j'z| <= t |z|_1. This gives the level t of the cardinality form. L is S cut off at that level.
    """
    stiffness, S = _first_stiffness(S), S[np.ix_(keep, keep)]
    n = len(S)
    if n == 0:
        return _State(keep, S, stiffness)
    z = np.zeros(n)
    z[int(S.diagonal().argmax())] = 1.0
    k = min(form.cardinality, n) if isinstance(form, CardinalityForm) else n
    level = form.fixed_level or 0.0
    image = S @ z
    for _ in range(10):
        image = shrunk(image, level * float(np.abs(z).sum()))
        cut = np.partition(np.abs(image), n - k)[n - k]
        image[np.abs(image) < cut] = 0.0
        if not image.any():
            break
        z = _unit(image)
        image = S @ z
    if form.fixed_level is None:
        level = float(np.abs(image[z == 0]).max(initial=0.0)) / float(np.abs(z).sum())
    multiplier = np.clip(S, -level, level)
    np.fill_diagonal(multiplier, 0.0)
    return _State(keep, np.outer(z, z) + multiplier / stiffness, stiffness)


def _local_maximum(S: Floats, rho: float, z: Floats) -> Floats | None:
    """Return a local maximum of z'Sz - rho |z|_1^2 over unit vectors, near z; None if none is found.

    If the optimal X has rank one, X = zz' with such a z. The iteration leaves small entries where z is exactly zero. A
    shrunk step shows the signs of z, and z is then the leading eigenvector of S - rho ss' on its support.
    """
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


def _ascended(S: Floats, form: L1Form, z: Floats) -> Floats:
    """Return a better sparse unit vector, after a few steps from z.

    The iterates X become feasible only in the limit. Where the optimal X has rank one, such a vector is a much better
    primal point than X shrunk into the l1 ball.
    """
    z = _unit(z)
    for _ in range(ASCENT_STEPS):
        moved = form.ascend(S @ z, z)
        if not moved.any():
            break
        z = _unit(moved)
    return z


def _worth_an_eigenvalue(
    S: Floats, form: L1Form, L: Floats, v: Floats, best: _Best, tolerance: float, scale: float
) -> bool:
    """Return False if a few power steps show that the dual point -L leaves the gap open."""
    for _ in range(3):
        v = _unit(S @ v - L @ v)
    value = form.dual(float(v @ (S @ v) - v @ (L @ v)), float(np.abs(L).max(initial=0.0)))
    return value - best.primal <= tolerance * max(abs(value), 1e-3 * scale)


def _balance(form: L1Form, state: _State, Y_before: Floats, taken: Floats, residual: float, scale: float) -> None:
    """Change the stiffness if the primal and the dual residual differ much."""
    Y, taken_next = state.parts(form)
    dual = float(np.linalg.norm(Y - Y_before)) / max(float(np.linalg.norm(taken)), SMALLEST_NORMAL)
    factor = 2.0 if residual > BALANCE * dual else 0.5 if dual > BALANCE * residual else 1.0
    if factor != 1.0 and 1 / STIFFNESS_RANGE <= state.stiffness * factor / scale <= STIFFNESS_RANGE:
        state.stiffness *= factor
        state.threshold /= factor
        state.u = Y + taken_next / factor
        state.anderson.restart()


def _unit(v: Floats) -> Floats:
    """Return a vector scaled to length one, or zero if it is zero."""
    # Divided by the largest entry first: squares of small numbers vanish, those of large ones overflow.
    v = v / max(float(np.abs(v).max(initial=0.0)), SMALLEST_NORMAL)
    return np.asarray(v / max(float(np.linalg.norm(v)), SMALLEST_NORMAL))


def _solution(
    S: Floats, form: L1Form, best: _Best, reach: Floats, status: RelaxationStatus, steps: int, state: _State
) -> L1Solution:
    """Return the best points on all features: those kept, and those eliminated."""
    keep, variances = state.keep, S.diagonal()
    eliminated = np.setdiff1d(np.arange(len(S)), keep)
    # The largest variance alone is a primal point, too.
    single = int(variances.argmax())
    primal, shrink, factor = form.primal(float(variances[single]), float(variances[single]), 0.0), 1.0, np.eye(1)
    rows = np.array([single])
    if best.factor is not None and best.primal >= primal:
        primal, shrink, factor, rows = best.primal, best.shrink, best.factor, keep
    all_rows = np.zeros((len(S), factor.shape[1]))
    all_rows[rows] = factor
    return L1Solution(
        form=form,
        factor=all_rows,
        primal=primal,
        keep=keep,
        multiplier=np.zeros((len(keep), len(keep))) if best.multiplier is None else best.multiplier,
        # Off the diagonal U cancels the rows of the eliminated features: their variances are eigenvalues of S + U.
        largest=max(best.largest if len(keep) else -np.inf, float(variances[eliminated].max(initial=-np.inf))),
        level=max(best.level, float(reach[eliminated].max(initial=0.0))),
        status=status,
        iterations=steps,
        shrink=shrink,
    )


def solve_cardinalities(
    S: Floats, cardinalities: Iterable[int], settings: Splitting | None = None, monitor: Monitor | None = None
) -> list[L1Solution]:
    """Return a solution of the cardinality form for each k, in increasing order."""
    forms = [CardinalityForm(k) for k in sorted({int(k) for k in cardinalities})]
    return _solve_in_turn(S, forms, settings or Splitting(), monitor or Monitor())


def solve_penalties(
    S: Floats, penalties: Iterable[float], settings: Splitting | None = None, monitor: Monitor | None = None
) -> list[L1Solution]:
    """Return a solution of the penalty form for each rho, in increasing order."""
    forms = [PenaltyForm(rho) for rho in sorted({float(rho) for rho in penalties})]
    return _solve_in_turn(S, forms, settings or Splitting(), monitor or Monitor())


def _solve_in_turn(S: Floats, forms: Sequence[L1Form], settings: Splitting, monitor: Monitor) -> list[L1Solution]:
    solutions: list[L1Solution] = []
    last: L1Solution | None = None
    for form in forms:
        moved = None if last is None else last.at(S, form)
        # With a penalty, the next solution is computed in any case: it may use fewer features, and users count them.
        if moved is not None and moved.gap <= settings.tolerance and isinstance(form, CardinalityForm):
            solutions.append(replace(moved, status=RelaxationStatus.CONVERGED))
        elif moved is not None and monitor.stopped is not None:
            solutions.append(replace(moved, status=final_status(monitor.stopped, moved.status)))
        else:
            found = settings.solve(S, form, start=last, monitor=monitor)
            # A solve that was stopped early may be worse than the points it started from.
            last = found if moved is None or found.gap <= moved.gap else replace(moved, status=found.status)
            solutions.append(last)
    return solutions


def _largest_off_diagonal(S: Floats) -> Floats:
    """Return max_j |S_ij|, j != i, for each row i."""
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))
