"""The ascent of the l0 relaxation on a given factor: a barrier, a factor of X, quasi-Newton steps, Newton steps.

See `laconic.relaxations.l0` for the mathematics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import eigh, eigvalsh
from laconic.core.monitor import Monitor
from laconic.problem.status import Status, stopped_or
from laconic.relaxations.l0_bound import EPS, above_sum, feasible_directions, l0_bound
from laconic.relaxations.l0_newton import newton_step
from laconic.relaxations.quasi_newton import ALIKE, ascend
from laconic.relaxations.secular import SecularEquations, Terms

# rho k is at least this share of lmax(S), in units of the tolerance, but not so little that rounding would drown it.
LEAST_PENALTY, LEAST_SHARE = 0.1, 1e-12
# The share of the tolerance that the barrier takes.
BARRIER = 0.8
# The share of the identity mixed into X, in units of the tolerance: L may be singular on its way, X must not.
IDENTITY = 0.1
# The share of the identity in a start from the solution of a neighbour.
FRESH = 1e-2
# Steps between two looks at the bound, when nothing says it is good.
CHECK_EVERY = 25
# Steps the curvature is known from.
MEMORY = 7
# Quasi-Newton steps at their first turn, Newton steps at each of theirs, and halved ones in a row that end it.
QUASI_NEWTON, NEWTON, PATIENCE = 15, 20, 2
# The barrier a turn of Newton's method begins with, in units of the gap, and what a good step leaves of it.
FIRST_BARRIER, SHRINK = 0.03, 0.1
# A step is good if it was not halved, or if it promised less than this share of the barrier.
PROMISE = 0.3
# The share of its promise a step must keep, and how often it is halved until it does.
INCREASE, HALVINGS = 1e-4, 8
# The least eigenvalue of X after a Newton step, in units of the least there can be at the top.
LEAST_EIGENVALUE = 0.5


@dataclass(frozen=True, eq=False)
class _Point:
    """X = LL'/|L|^2 = Q diag(x) Q', L the place, with all that the bound needs, in the basis Q."""

    place: Floats
    terms: Terms
    values: Floats
    basis: Floats
    directions: Floats
    gradient: Floats

    def almost(self) -> float:
        """Return a lower bound on lmax(G): its longest column."""
        return float(np.sqrt(np.einsum("ij,ij->j", self.gradient, self.gradient).max()))


@dataclass(frozen=True, eq=False)
class _Slope(_Point):
    """A point with f + mu log det X, and its gradient in L."""

    height: float
    slope: Floats


@dataclass
class Best:
    """The best primal value and dual point so far.

    Attributes
    ----------
    primal, upper
        Their values.
    rho, directions
        The dual point.
    """

    primal: float
    upper: float
    rho: float
    directions: Floats


class Ascent:
    """One solve of the relaxation of A'A.

    Parameters
    ----------
    A
        The factor, of entries around one.
    cardinality
        k, or None for the penalised form.
    rho
        The penalty of the penalised form.
    shift
        What is later taken off the bound: gaps are relative to what is left.
    tolerance
        The relative gap at which to stop.
    """

    def __init__(
        self, A: Floats, cardinality: int | None, rho: float | None, *, shift: float, tolerance: float
    ) -> None:
        norms = np.einsum("ij,ij->j", A, A)
        self._order: Indices = np.argsort(-norms, kind="stable")
        self._A, self._k, self._rho, self._shift, self._tolerance = (
            A[:, self._order],
            cardinality,
            rho,
            shift,
            tolerance,
        )
        self._norms = norms[self._order]
        self._largest = float(np.linalg.norm(A, 2)) ** 2 if A.size else 0.0
        self._floor = max(LEAST_PENALTY * tolerance, LEAST_SHARE) * self._largest / (cardinality or 1)
        self._mu, self._share = 0.0, IDENTITY * tolerance
        first = 0.5 * float(self._norms[:1].sum()) if rho is None else rho
        self._equations = SecularEquations(self._norms, cardinality, first, self._floor)
        self.state: Floats | None = None

    def climb(self, state: Floats | None, max_iterations: int, monitor: Monitor) -> tuple[Best, Status, int]:
        """Return the best points found, how the ascent ended, and its steps.

        Parameters
        ----------
        state
            The state another ascent on the same factor left.
        max_iterations
            Steps at most.
        monitor
            Stops the ascent in time.
        """
        best, status, steps = self._closed_forms(), Status.PRECISION_LIMIT, 0
        self.state = state
        if self._closed(best):
            return self._unsorted(best), Status.OPTIMAL, steps
        point: _Point | None = None
        with monitor.watch():
            monitor.tick("l0 relaxation", best=best.upper)
            start = self._start(state)
            value = max(self._evaluate(start).terms.value, best.primal)
            allowed = self._tolerance * self._scale(value)
            self._mu, self._share = self._barrier(value), IDENTITY * allowed / value
            for steps, point in enumerate(self._points(start, monitor)):
                self.state = point.place
                self._look(point, best, force=steps % CHECK_EVERY == 0 or steps >= max_iterations)
                if self._closed(best):
                    status = Status.OPTIMAL
                    break
                if steps >= max_iterations:
                    status = Status.ITERATION_LIMIT
                    break
                monitor.tick("l0 relaxation", best=best.upper)
        if point is not None and status is Status.PRECISION_LIMIT:
            self._look(point, best, force=True)
        return self._unsorted(best), stopped_or(monitor.stopped, status), steps

    def _points(self, start: Floats, monitor: Monitor) -> Iterator[_Point]:
        """Yield one point after another: quasi-Newton steps, then Newton's while they are good, and so on in turns."""
        for turn in count():
            length, steps = QUASI_NEWTON << turn, 0
            for steps, point in enumerate(islice(self._quasi_newton(start), length + 1)):
                if steps or not turn:
                    yield point
            last: _Point = point
            for last in self._newton(point, monitor):
                yield last
            if steps < length:
                return
            start = last.place

    def _quasi_newton(self, start: Floats) -> Iterator[_Slope]:
        return ascend(self._evaluate, start, first_step=0.1 * float(np.linalg.norm(start)), memory=MEMORY)

    def _newton(self, point: _Point, monitor: Monitor) -> Iterator[_Point]:
        """Yield the points of Newton's method, with a barrier that shrinks to that of the tolerance."""
        q, halved_steps = len(self._A), 0
        self._mu = last = max(self._barrier(point.terms.value), self._mu)
        gap = float(eigvalsh(point.gradient)[-1]) + point.terms.rho * (self._k or 0) - point.terms.value
        mu = max(FIRST_BARRIER * gap / q, last)
        # As much of the identity as this barrier would keep.
        fresh = mu * q / max(point.terms.value, 2 * mu * q)
        point = self._at((1 - fresh) * point.values + fresh / q, point.basis)
        for _ in range(NEWTON):
            x, G = point.values, point.gradient
            step = newton_step(x, point.directions, G, point.terms, mu=mu, cardinality=self._k, tick=monitor.tick)
            if step is None:
                return
            half = np.sqrt(x)
            change = half[:, None] * step.change * half
            height = point.terms.value + mu * float(np.log(x).sum())
            # At the top X = mu (t I - G)^-1 is at least mu / t.
            least = LEAST_EIGENVALUE * mu / (float(G.diagonal() @ x) + q * mu)
            for halvings in range(HALVINGS):
                length = 0.5**halvings
                values, Q = eigh(np.diag(x) + length * change)
                if values[0] <= 0:
                    # The same to first order, but in the square root of X, from where no step leaves the cone: what
                    # left it turns an eigenvector of a large eigenvalue into that of a small one.
                    values, Q = eigh(np.diag(half) + length * change / (half[:, None] + half))
                    values = values**2
                values = np.maximum(values, least)
                there = self._at(values / values.sum(), point.basis @ Q)
                rise = there.terms.value + mu * float(np.log(there.values).sum()) - height
                if rise >= INCREASE * length * step.climb - ALIKE * abs(height):
                    break
            else:
                return
            yield there
            point = there
            halved_steps = halved_steps + 1 if halvings else 0
            if halved_steps == PATIENCE:
                return
            if not halvings or step.climb <= PROMISE * q * mu:
                mu = max(SHRINK * mu, last)

    def _at(self, x: Floats, Q: Floats) -> _Point:
        """Return the point X = Q diag(x) Q'."""
        g = Q.T @ self._A
        terms = self._equations(x, g * g)
        W = g[:, : len(terms.roots)] * terms.inverse
        V = W * np.sqrt(terms.weights)
        return _Point(Q * np.sqrt(x), terms, x, Q, W, V @ V.T)

    def _closed_forms(self) -> Best:
        """Return the better of two dual points known without solving: w_i = a_i, and all Y_i zero."""
        if not self._A.size:
            return Best(0.0, 0.0, 0.0 if self._rho is None else self._rho, self._A.copy())
        alone = float(self._norms[0])
        rhos = (self._floor, alone * (1 + (len(self._A) + 16) * EPS)) if self._rho is None else (self._rho,)
        bounds = [l0_bound(self._A, self._A, rho, self._k or 0) for rho in rhos]
        least = int(np.argmin(bounds))
        # One feature is feasible, X = P_i = aa'/|a|^2; with k = n so is the leading eigenvector, all P_i = X.
        primal = alone if self._rho is None else max(alone - self._rho, 0.0)
        if self._k is not None and self._k >= len(self._norms):
            primal = self._largest
        return Best(min(primal, bounds[least]), bounds[least], rhos[least], self._A.copy())

    def _scale(self, value: float) -> float:
        """Return what gaps are relative to: the value less the shift, if that is not next to nothing."""
        return max(abs(value - self._shift), 1e-3 * max(self._largest, self._shift))

    def _barrier(self, value: float) -> float:
        """Return the weight of the barrier that leaves a share of the tolerance."""
        return BARRIER * self._tolerance * self._scale(value) / len(self._A)

    def _closed(self, best: Best) -> bool:
        return best.upper - best.primal <= self._tolerance * self._scale(best.upper)

    def _unsorted(self, best: Best) -> Best:
        directions = np.empty_like(best.directions)
        directions[:, self._order] = best.directions
        return Best(best.primal, best.upper, best.rho, directions)

    def _start(self, state: Floats | None) -> Floats:
        q = len(self._A)
        if state is not None and state.shape == (q, q):
            fresh = np.sqrt(FRESH / q) * np.eye(q)
            return np.asarray(np.sqrt(1 - FRESH) * state / np.linalg.norm(state) + fresh)
        spectrum = np.einsum("ij,ij->i", self._A, self._A)
        return np.diag(np.sqrt(0.5 * spectrum / spectrum.sum() + 0.5 / q))

    def _look(self, point: _Point, best: Best, *, force: bool) -> None:
        """Compute the bound at a point, if it may be good."""
        best.primal = max(best.primal, point.terms.least)
        rho = point.terms.rho
        price = rho * (self._k or 0)
        if not force:
            hoped = Best(best.primal, point.almost() + price, rho, self._A)
            if not self._closed(hoped):
                return
        if float(eigvalsh(point.gradient)[-1]) + price >= best.upper:
            return
        W = self._A.copy()
        m = point.directions.shape[1]
        W[:, :m] = point.basis @ point.directions
        c, unit = feasible_directions(self._A, W, rho)
        upper = above_sum(c, unit) + price
        if upper < best.upper:
            best.upper, best.rho, best.directions = upper, rho, unit

    def _evaluate(self, L: Floats) -> _Slope:
        q = len(L)
        total = float(np.vdot(L, L))
        # Products of a matrix with its own transpose take half the time of others.
        unit = L / np.sqrt(total)
        raw, Q = eigh(unit @ unit.T)
        raw = np.maximum(raw, 0.0)
        share = self._share
        at = self._at((1.0 - share) * raw + share / q, Q)
        x = at.values
        pull = at.gradient.copy()
        diagonal = pull.diagonal() + self._mu / x
        np.fill_diagonal(pull, diagonal - float(diagonal @ raw))
        slope = Q @ (pull @ ((2.0 * (1.0 - share) / total) * (Q.T @ L)))
        height = at.terms.value + self._mu * float(np.log(x).sum())
        return _Slope(L, at.terms, x, Q, at.directions, at.gradient, height, slope)
