"""The l1 relaxation by splitting: the fast solver."""

from dataclasses import dataclass, field, replace

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import largest_off_diagonal
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.problem.status import Status, stopped_or
from laconic.relaxations.acceleration import Anderson
from laconic.relaxations.elimination import by_penalty_l1
from laconic.relaxations.l1 import CardinalityForm, L1Form, L1Solution, PenaltyForm, above_largest_eigenvalue
from laconic.relaxations.rank_one import at_once
from laconic.relaxations.spectrahedron import SpectrahedronProjection

# Stiffness to begin with, in units of the largest variance.
STIFFNESS = 3.0
STIFFNESS_RANGE = 1e5
OVER_RELAXATION = 1.6
# The two residuals may differ by this factor before the stiffness is moved, and it is left alone after so many steps.
BALANCE, BALANCE_EVERY, BALANCE_UNTIL = 2.0, 10, 500
# Up to this size the memory that acceleration takes, ten matrices, is spent.
ACCELERATED = 1000
TINY = float(np.finfo(float).tiny)
# Steps between two looks at the gap.
CHECK_EVERY = 5
# A good start is seen to be one at once.
EARLY_CHECKS = (1, 3)
# Up to this size no features are set aside.
SMALL = 200


@dataclass
class _State:
    """The iterates, on the features kept."""

    keep: Indices
    u: Floats
    stiffness: float
    threshold: float = 0.0
    projection: SpectrahedronProjection = field(default_factory=SpectrahedronProjection)
    anderson: Anderson = field(default_factory=Anderson)

    def grown(self, S: Floats, keep: Indices) -> "_State":
        """Return the state on more features of S: what is new starts as it was set aside, its rows cancelled."""
        places = np.searchsorted(keep, self.keep)
        u = np.clip(S[np.ix_(keep, keep)] / self.stiffness, -self.threshold, self.threshold)
        np.fill_diagonal(u, 0.0)
        u[np.ix_(places, places)] = self.u
        return _State(keep, u, self.stiffness, self.threshold, self.projection.grown(len(keep), places))

    def mean(self, S: Floats, form: L1Form, other: "_State", other_form: L1Form, share: float) -> "_State":
        """Return the mean of two states, `share` of it this one."""
        keep = np.union1d(self.keep, other.keep)
        first, second = self.grown(S, keep), other.grown(S, keep)
        (Y, taken), (Y_other, taken_other) = first.split(form), second.split(other_form)
        # For a neighbouring rho the stiffness that runs have moved to is a guide; for another k, whose level differs
        # too, it is none.
        known = isinstance(form, PenaltyForm)
        stiffness = float(np.sqrt(self.stiffness * other.stiffness)) if known else _stiffness(S)
        L = (share * self.stiffness) * taken + ((1 - share) * other.stiffness) * taken_other
        u = share * Y + (1 - share) * Y_other + L / stiffness
        threshold = float(np.abs(L).max(initial=0.0)) / stiffness
        return _State(keep, u, stiffness, threshold, first.projection)

    def split(self, form: L1Form) -> tuple[Floats, Floats]:
        """Return Y and L / q with Y + L / q = u: what is left of u after shrinking, and what was taken off."""
        size = np.abs(self.u)
        np.fill_diagonal(size, 0.0)
        t = self.threshold = form.threshold(size, self.stiffness, self.threshold)
        taken = np.clip(self.u, -t, t)
        np.fill_diagonal(taken, 0.0)
        return self.u - taken, taken


def _stiffness(S: Floats) -> float:
    """Return the stiffness to begin with."""
    return STIFFNESS * (float(np.abs(S.diagonal()).max()) or 1.0)


def between(S: Floats, first: L1Solution, second: L1Solution, share: float) -> L1Solution:
    """Return a start for a rho or k between those of two solutions, `share` of the way to the first."""
    state = _state_of(S, first).mean(S, first.form, _state_of(S, second), second.form, share)
    return replace(first, keep=state.keep, state=state)


def on_more_features(S: Floats, solution: L1Solution, places: Indices, n: int) -> L1Solution:
    """Return a start for a matrix of n features, of which those at `places` are the ones of S, solved for."""
    state = _state_of(S, solution)
    return replace(solution, keep=np.arange(n), state=replace(state, keep=places[state.keep]))


def _state_of(S: Floats, solution: L1Solution) -> _State:
    """Return the state a solve ended in, or that at the solution if it came from elsewhere."""
    if isinstance(solution.state, _State):
        return solution.state
    stiffness = _stiffness(S)
    factor = solution.factor[solution.keep]
    u = factor @ factor.T - solution.multiplier / stiffness
    return _State(solution.keep, u, stiffness, solution.level / stiffness)


@dataclass
class _Best:
    """The best primal and dual points so far."""

    primal: float = -np.inf
    dual: float = np.inf
    factor: Floats | None = None
    shrink: float = 1.0
    multiplier: Floats | None = None

    @property
    def level(self) -> float:
        return 0.0 if self.multiplier is None else float(np.abs(self.multiplier).max(initial=0.0))

    def closed(self, tolerance: float, scale: float) -> bool:
        return bool(np.isfinite(self.dual)) and self.dual - self.primal <= tolerance * max(abs(self.dual), 1e-3 * scale)


def _known(S: Floats, known: L1Solution, keep: Indices) -> _Best:
    """Return the points of a solution as far as they live on some features."""
    multiplier = known.dual_matrix(S)[np.ix_(keep, keep)]
    carries = np.ones(len(S), dtype=bool)
    carries[keep] = False
    if known.factor[carries].any():
        return _Best(dual=known.dual, multiplier=multiplier)
    return _Best(known.primal, known.dual, known.factor[keep], known.shrink, multiplier)


@dataclass(frozen=True)
class Splitting:
    """Alternating directions between the spectrahedron and the l1 term, accelerated.

    With X in the spectrahedron, Y the copy that carries the l1 norm and L the multiplier of X = Y (scaled augmented
    Lagrangian of stiffness q):

        X <- projection of Y + (S - L)/q on the spectrahedron
        Y <- X + L/q shrunk off the diagonal: by rho/q, or onto the l1 ball of radius k - 1
        L <- L + q (X - Y)

    which is a fixed-point iteration in u = Y + L/q (Douglas-Rachford). It is over-relaxed, extrapolated by Anderson's
    method, and q is moved to keep the primal and the dual residual alike. -L, zero on the diagonal, is a dual point at
    every step, and X a primal one: the gap is the difference of two bounds that hold however far the iteration is from
    its limit.

    Features are set aside first whose row U may cancel altogether: |S_ij| <= t for all j != i. In the penalty form t
    = rho is known; in the cardinality form it is that of the solution on the features kept, and features that turn
    out to break the rule are taken back. They leave their own variance as a candidate.

    Attributes
    ----------
    tolerance
        The relative gap between the primal and the dual value at which to stop.
    max_iterations
        Steps at most.
    """

    tolerance: float = 1e-4
    max_iterations: int = 5000

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must lie between 0 and 1.")

    def solve(
        self,
        S: Floats,
        form: L1Form,
        *,
        start: L1Solution | None = None,
        known: L1Solution | None = None,
        monitor: Monitor | None = None,
    ) -> L1Solution:
        """Solve the relaxation.

        Parameters
        ----------
        S
            A symmetric matrix.
        form
            `PenaltyForm(rho)` or `CardinalityForm(k)`.
        start
            The solution for a neighbouring rho or k of the same S.
        known
            Primal and dual points of this very problem, to be bettered.
        monitor
            Stops the solve in time; the best primal and dual points so far are returned.
        """
        with threads_for(len(S)):
            return self._solve(S, form, start, known, monitor or Monitor())

    def _solve(
        self, S: Floats, form: L1Form, start: L1Solution | None, known: L1Solution | None, monitor: Monitor
    ) -> L1Solution:
        found = at_once(S, form, self.tolerance)
        if found is not None:
            return found
        reach = largest_off_diagonal(S)
        keep = self._first_kept(S, form, reach, start)
        state = self._state(S, form, keep, start)
        steps = 0
        while True:
            best = _Best() if known is None else _known(S, known, keep)
            done, status = self._iterate(S[np.ix_(keep, keep)], form, state, best, monitor, steps)
            steps += done
            aside = np.setdiff1d(np.arange(len(S)), keep)
            # What is set aside is covered by the dual point only if U may cancel its row.
            level = form.rho if isinstance(form, PenaltyForm) else best.level
            broken = aside[reach[aside] > level]
            if not len(broken) or monitor.stopped is not None:
                break
            keep = np.union1d(keep, broken)
            state = state.grown(S, keep)
        level = max(level, float(reach[aside].max(initial=0.0)))
        return self._solution(S, form, best, level, status, steps, state)

    def _solution(
        self,
        S: Floats,
        form: L1Form,
        best: _Best,
        level: float,
        status: Status,
        steps: int,
        state: _State,
    ) -> L1Solution:
        """Put the kept features and those set aside together."""
        keep, variances = state.keep, S.diagonal()
        aside = np.setdiff1d(np.arange(len(S)), keep)
        multiplier = np.zeros((len(keep), len(keep))) if best.multiplier is None else best.multiplier
        largest = max(
            above_largest_eigenvalue(S[np.ix_(keep, keep)] + multiplier) if len(keep) else -np.inf,
            float(variances[aside].max(initial=-np.inf)),
        )
        primal, factor, shrink = best.primal, np.zeros((len(S), 1)), best.shrink
        single = int(variances.argmax())
        alone = form.primal(float(variances[single]), float(variances[single]), 0.0)
        if best.factor is not None and best.primal >= alone:
            factor = np.zeros((len(S), best.factor.shape[1]))
            factor[keep] = best.factor
        else:
            primal, factor[single, 0], shrink = alone, 1.0, 1.0
        dual = max(form.dual(largest, level), primal)
        return L1Solution(form, factor, primal, dual, keep, multiplier, level, status, steps, shrink, state)

    def _first_kept(self, S: Floats, form: L1Form, reach: Floats, start: L1Solution | None) -> Indices:
        n = len(S)
        if isinstance(form, PenaltyForm):
            return by_penalty_l1(S, form.rho)
        if start is not None:
            return start.keep
        if n <= SMALL:
            return np.arange(n)
        # As many as the cardinality suggests, by largest entries and variances; more come if they are needed.
        assert isinstance(form, CardinalityForm)
        count = min(n, max(SMALL // 2, 4 * form.cardinality))
        order = np.argsort(-np.maximum(reach, S.diagonal()), kind="stable")
        by_both = np.concatenate([order[:count], np.argsort(-reach, kind="stable")[:count]])
        return np.unique(by_both)

    def _state(self, S: Floats, form: L1Form, keep: Indices, start: L1Solution | None) -> _State:
        if start is not None:
            before = _state_of(S, start)
            union = np.union1d(keep, before.keep)
            grown = before.grown(S, union)
            if len(union) == len(keep):
                return grown
            places = np.searchsorted(union, keep)
            inner = np.ix_(places, places)
            return _State(keep, grown.u[inner], before.stiffness, before.threshold)
        stiffness = _stiffness(S)
        return _State(keep, _first_point(S[np.ix_(keep, keep)], form, stiffness), stiffness)

    def _iterate(
        self, S: Floats, form: L1Form, state: _State, best: _Best, monitor: Monitor, before: int
    ) -> tuple[int, Status]:
        """Better the primal and the dual point, and return the steps that took and how it ended."""
        n = len(S)
        if n == 0:
            return 0, Status.OPTIMAL
        scale = float(np.abs(S.diagonal()).max())
        # What rounding in the eigenvalues of S leaves of a gap.
        reachable = 64 * n * float(np.finfo(float).eps)
        tolerance = max(self.tolerance, reachable)
        status = Status.ITERATION_LIMIT
        residual = 1.0
        step = 0
        with monitor.watch():
            for step in range(1, self.max_iterations - before + 1):
                Y, taken = state.split(form)
                q = state.stiffness
                W = S / q
                W += Y
                W -= taken
                F, weights = state.projection(W, 0.1 * min(residual, 0.1))
                if step % CHECK_EVERY == 0 or step in EARLY_CHECKS:
                    monitor.tick("l1 relaxation", best=best.dual)
                    self._look(S, form, q * taken, F, best, tolerance, scale)
                    if best.closed(tolerance, scale):
                        status = Status.OPTIMAL if tolerance == self.tolerance else Status.PRECISION_LIMIT
                        break
                move = F @ F.T
                move -= Y
                residual = float(np.linalg.norm(move)) / max(float(np.linalg.norm(weights)), TINY)
                move *= OVER_RELAXATION
                state.u = state.anderson.next(state.u, move) if n <= ACCELERATED else state.u + move
                if step % BALANCE_EVERY == 0 and step + before <= BALANCE_UNTIL:
                    self._balance(form, state, Y, taken, residual, scale)
        if not best.closed(tolerance, scale):
            # The last point has not been worth an eigenvalue so far, but it is the one to leave with.
            self._bound(S, form, state.stiffness * state.split(form)[1], best)
        return step, stopped_or(monitor.stopped, status)

    def _look(self, S: Floats, form: L1Form, L: Floats, F: Floats, best: _Best, tolerance: float, scale: float) -> None:
        """Evaluate the primal point, and the dual one if an estimate says that it is worth an eigenvalue."""
        inner = float(np.einsum("ij,ij->", F, S @ F))
        on_diagonal = (F**2).sum(axis=1)
        off = float(np.abs(F @ F.T).sum() - on_diagonal.sum())
        primal = form.primal(inner, float(S.diagonal() @ on_diagonal), off)
        if primal > best.primal:
            best.primal, best.factor, best.shrink = primal, F, form.shrink(off)
        v = F[:, 0]
        for _ in range(3):
            v = S @ v - L @ v
            v = _unit(v)
        estimate = form.dual(float(v @ (S @ v) - v @ (L @ v)), float(np.abs(L).max(initial=0.0)))
        if estimate - best.primal <= tolerance * max(abs(estimate), 1e-3 * scale):
            self._bound(S, form, L, best)

    def _bound(self, S: Floats, form: L1Form, L: Floats, best: _Best) -> None:
        level = float(np.abs(L).max(initial=0.0))
        dual = form.dual(above_largest_eigenvalue(S - L), level)
        if dual < best.dual:
            best.dual, best.multiplier = dual, -L

    def _balance(
        self, form: L1Form, state: _State, Y_before: Floats, taken: Floats, residual: float, scale: float
    ) -> None:
        """Move the stiffness so that the primal and the dual residual stay alike."""
        Y, taken_next = state.split(form)
        dual = float(np.linalg.norm(Y - Y_before)) / max(float(np.linalg.norm(taken)), TINY)
        factor = 2.0 if residual > BALANCE * dual else 0.5 if dual > BALANCE * residual else 1.0
        if factor != 1.0 and 1 / STIFFNESS_RANGE <= state.stiffness * factor / scale <= STIFFNESS_RANGE:
            state.stiffness *= factor
            state.threshold /= factor
            state.u = Y + taken_next / factor
            state.anderson.restart()


def _unit(v: Floats) -> Floats:
    """Return a vector brought to length one; of zero, zero."""
    # By way of its largest entry: squares of small numbers vanish and those of large ones overflow.
    v = v / max(float(np.abs(v).max(initial=0.0)), TINY)
    return np.asarray(v / max(float(np.linalg.norm(v)), TINY))


def _first_point(S: Floats, form: L1Form, stiffness: float) -> Floats:
    """Return zz' + L/q for a rough sparse component z and the multiplier that goes with it.

    Started from nothing, the first steps would have a high rank. With X = zz' optimality asks of the features j
    outside that |s_j'z| <= t |z|_1, which tells the level t of the cardinality form; L is then S cut off at that
    level.
    """
    n = len(S)
    if n == 0:
        return np.zeros((0, 0))
    z = np.zeros(n)
    z[int(S.diagonal().argmax())] = 1.0
    k = min(form.cardinality, n) if isinstance(form, CardinalityForm) else n
    level = form.rho if isinstance(form, PenaltyForm) else 0.0
    image = S @ z
    for _ in range(10):
        if isinstance(form, PenaltyForm):
            image = np.sign(image) * np.maximum(np.abs(image) - level * np.abs(z).sum(), 0.0)
        cut = np.partition(np.abs(image), n - k)[n - k]
        image[np.abs(image) < cut] = 0.0
        if not image.any():
            break
        z = _unit(image)
        image = S @ z
    if isinstance(form, CardinalityForm):
        level = float(np.abs(image[z == 0]).max(initial=0.0)) / float(np.abs(z).sum())
    multiplier = np.clip(S, -level, level)
    np.fill_diagonal(multiplier, 0.0)
    return np.outer(z, z) + multiplier / stiffness
