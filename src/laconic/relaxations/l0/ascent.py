"""The ascent of the l0 relaxation on a given factor: a barrier, a factor of X, quasi-Newton steps.

See `laconic.relaxations.l0.relaxation` for the mathematics.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS, eigh, eigvalsh
from laconic.core.monitor import Monitor
from laconic.relaxations.l0.bound import above_sum, feasible_directions, l0_bound
from laconic.relaxations.l0.quasi_newton import Point, ascend
from laconic.relaxations.l0.secular import SecularEquations, Terms
from laconic.relaxations.status import RelaxationStatus, final_status

# Smallest value of rho k tried, relative to lmax(S): a tenth of the tolerance, but never so small that rounding
# dominates it.
LEAST_PENALTY, LEAST_SHARE = 0.1, 1e-12
# The barrier may use this share of the tolerance; the rest is left for steps that stop early.
BARRIER = 0.8
# The share of the identity mixed into X, in units of the tolerance. It is smaller than the barrier's own effect.
IDENTITY = 0.1
# The bound costs an eigenvalue. It is computed at least every so many steps, and whenever a cheap test says it is good.
CHECK_EVERY = 25


@dataclass(frozen=True, eq=False)
class _Point(Point):
    """X = LL'/|L|^2 = Q diag(x) Q' with L as its place, f + mu log det X as its height, and the parts of the bound.

    `directions` and `gradient` are given in the basis Q; `slope` is the gradient of the height in L.
    """

    terms: Terms
    basis: Floats
    directions: Floats
    gradient: Floats

    def at_least(self) -> float:
        """Return a lower bound on lmax(G): the length of its longest column."""
        return float(np.sqrt(np.einsum("ij,ij->j", self.gradient, self.gradient).max()))


@dataclass
class Best:
    """The best primal value and the best dual point so far."""

    primal: float
    estimate: float  # the value of the dual point
    rho: float  # the dual point: rho and directions
    directions: Floats


class Ascent:
    """One solve of the relaxation of A'A. Gaps are relative to the bound on S, which is lower by the shift."""

    def __init__(self, A: Floats, cardinality: int, *, shift: float, tolerance: float) -> None:
        norms = np.einsum("ij,ij->j", A, A)
        self._order: Indices = np.argsort(-norms, kind="stable")
        self._A, self._norms = A[:, self._order], norms[self._order]
        self._k, self._shift, self._tolerance = cardinality, shift, tolerance
        self._largest = float(np.linalg.norm(A, 2)) ** 2 if A.size else 0.0
        self._floor = max(LEAST_PENALTY * tolerance, LEAST_SHARE) * self._largest / cardinality
        self._mu, self._share = 0.0, IDENTITY * tolerance
        self._equations = SecularEquations(self._norms, cardinality, 0.5 * float(self._norms[:1].sum()), self._floor)

    def climb(self, max_iterations: int, monitor: Monitor) -> tuple[Best, RelaxationStatus, int]:
        """Return the best points found, why the ascent stopped, and its number of steps."""
        best, status, steps = self._closed_forms(), RelaxationStatus.PRECISION_LIMIT, 0
        if self._is_closed(best):
            return self._unsorted(best), RelaxationStatus.CONVERGED, steps
        point: _Point | None = None
        with monitor.watch():
            monitor.tick("l0 relaxation", bound=best.estimate)
            spectrum = np.einsum("ij,ij->i", self._A, self._A)
            start = np.diag(np.sqrt(0.5 * spectrum / spectrum.sum() + 0.5 / len(spectrum)))
            value = max(self._evaluate(start).terms.value, best.primal)
            allowed = self._tolerance * self._reference(value)
            self._mu, self._share = BARRIER * allowed / len(self._A), IDENTITY * allowed / value
            points = ascend(self._evaluate, start, first_step=0.1 * float(np.linalg.norm(start)))
            for steps, point in enumerate(points):
                self._look(point, best, force=steps % CHECK_EVERY == 0 or steps >= max_iterations)
                if self._is_closed(best):
                    status = RelaxationStatus.CONVERGED
                    break
                if steps >= max_iterations:
                    status = RelaxationStatus.ITERATION_LIMIT
                    break
                monitor.tick("l0 relaxation", bound=best.estimate)
        if point is not None and status is RelaxationStatus.PRECISION_LIMIT:
            self._look(point, best, force=True)
        return self._unsorted(best), final_status(monitor.stopped, status), steps

    def _closed_forms(self) -> Best:
        """Return the better of two dual points that need no solve: w_i = a_i with a small rho, and all Y_i zero."""
        if not self._A.size:
            return Best(0.0, 0.0, 0.0, self._A.copy())
        alone = float(self._norms[0])
        rhos = (self._floor, alone * (1 + (len(self._A) + 16) * EPS))
        bounds = [l0_bound(self._A, self._A, rho, self._k) for rho in rhos]
        least = int(np.argmin(bounds))
        # X = P_i = aa'/|a|^2 is feasible. With k = n so is the leading eigenvector, all P_i = X.
        primal = self._largest if self._k >= len(self._norms) else alone
        return Best(min(primal, bounds[least]), bounds[least], rhos[least], self._A.copy())

    def _reference(self, value: float) -> float:
        """Return the number that gaps are relative to: the value less the shift, unless that is nearly zero."""
        return max(abs(value - self._shift), 1e-3 * max(self._largest, self._shift))

    def _is_closed(self, best: Best) -> bool:
        return best.estimate - best.primal <= self._tolerance * self._reference(best.estimate)

    def _unsorted(self, best: Best) -> Best:
        directions = np.empty_like(best.directions)
        directions[:, self._order] = best.directions
        return Best(best.primal, best.estimate, best.rho, directions)

    def _look(self, point: _Point, best: Best, *, force: bool) -> None:
        """Update the primal value, and compute the bound at a point if it may be good enough or `force` is set."""
        best.primal = max(best.primal, point.terms.least)
        rho = point.terms.rho
        price = rho * self._k
        if not force and not self._is_closed(Best(best.primal, point.at_least() + price, rho, self._A)):
            return
        if float(eigvalsh(point.gradient)[-1]) + price >= best.estimate:
            return
        W = self._A.copy()
        m = point.directions.shape[1]
        W[:, :m] = point.basis @ point.directions
        c, unit = feasible_directions(self._A, W, rho)
        estimate = above_sum(c, unit) + price
        if estimate < best.estimate:
            best.estimate, best.rho, best.directions = estimate, rho, unit

    def _evaluate(self, L: Floats) -> _Point:
        q = len(L)
        total = float(np.vdot(L, L))
        # NumPy computes the product of a matrix with its own transpose in half the time.
        unit = L / np.sqrt(total)
        raw, Q = eigh(unit @ unit.T)
        raw = np.maximum(raw, 0.0)
        share = self._share
        x = (1.0 - share) * raw + share / q
        g = Q.T @ self._A
        terms = self._equations(x, g * g)
        W = g[:, : len(terms.roots)] * terms.inverse
        V = W * np.sqrt(terms.weights)
        gradient = V @ V.T
        pull = gradient.copy()
        diagonal = pull.diagonal() + self._mu / x
        np.fill_diagonal(pull, diagonal - float(diagonal @ raw))
        slope = Q @ (pull @ ((2.0 * (1.0 - share) / total) * (Q.T @ L)))
        height = terms.value + self._mu * float(np.log(x).sum())
        return _Point(L, height, slope, terms, Q, W, gradient)
