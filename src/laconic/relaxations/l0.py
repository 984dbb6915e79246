"""The l0 relaxation (Proposition 1 of the paper): the problem, its dual, and the method that solves it.

Let S = A'A, a_i the columns of A and B_i = a_i a_i' - rho I. Then

    max  z'Sz - rho |z|_0  over |z| = 1  <=  psi(rho) = max  sum_i Tr(X^1/2 B_i X^1/2)_+  over X >= 0, Tr X = 1
                                                      = min  lmax(sum_i Y_i)              over Y_i >= B_i, Y_i >= 0.

A vector z with at most k nonzeros has z'Sz <= min over rho of psi(rho) + rho k. Written out, this is a semidefinite
program with n + 1 matrices. Each term of the maximum is also the root of a scalar equation
(see below), and for any vector w with d = (w'a)^2 - (|a|^2 - rho) |w|^2 > 0 the matrix

    Y = c ww',    c = rho (|a|^2 - rho) / d   (c = 0 if |a|^2 <= rho)

is feasible for B = aa' - rho I. Therefore *any* rho and any directions w_i give a bound on every support,

    z'Sz  <=  lmax(sum_i c_i w_i w_i') + rho k.

The roots give the best directions, w_i = (l_i I + rho X)^-1 a_i. With them sum_i c_i w_i w_i' is the gradient G at X.
At the optimum G <= t I and GX = tX, and the primal and the dual value agree.

The method maximises  f(X) + mu log det X,  X = LL'/|L|^2,  f(X) = min over rho of sum_i l_i + rho k,  by SciPy's L-BFGS
in L. At the maximum G = tI - mu X^-1 is below t I. With t = Tr GX + q mu the two values differ by q mu, and mu is
chosen so that this is a share of the tolerance. The barrier keeps X positive definite, which the dual directions need
even where the optimal X has rank one, and it keeps the number of steps small. A small multiple of the identity is mixed
into X, because L may become singular along a step.

The inner problem is one scalar equation for each feature, and the penalty that suits k.
For X = Q diag(x) Q' > 0, g = Q'a and |a|^2 > rho the term Tr(X^1/2 (aa' - rho I) X^1/2)_+ of the relaxation is the
positive root l of

    h(l) = sum_j x_j g_j^2 / (l + rho x_j) = 1

(if |a|^2 <= rho the term is zero). 1/h is concave and increasing. Newton's method on 1/h(l) = 1 therefore steps to the
left of the root at first, whatever the start, and then increases towards it. With w_j = g_j / (l + rho x_j) the primal
P, 0 <= P <= X, has the trace

    T = -dl/drho = sum_j x_j^2 w_j^2 / sum_j x_j w_j^2.

The function sum_i l_i(rho) + rho k is convex in rho, with slope k - sum_i T_i. Its minimum is where the slope changes
its sign. T_i jumps to zero where rho passes |a_i|^2, so the slope need not be zero there.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, minimize

from laconic.core.arrays import Floats, Mask
from laconic.core.eigenvalues import EPS, eigh, eigvalsh
from laconic.core.monitor import Monitor, threads_for
from laconic.covariance import DenseCovariance
from laconic.proof.witness import no_features
from laconic.proof.witness_dual import DualWitness, l0_bound
from laconic.relaxations.elementary import RelaxationStatus, final_status

# Stop Newton's method for a root when its relative step is below this: the next step would be about its square.
STEP = 1e-8
# The search for rho begins within this factor of the last one, and stops at steps below this share of it.
NEAR, ACCURACY = 1.1, 1e-12
# Relative differences below this are rounding.
ROUNDING_OF_ROOTS = 4 * EPS
# Newton's method for the roots needs about ten steps; this only ends a loop that rounding keeps alive.
MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of the relaxation at one X."""

    rho: float  # the penalty that minimises the value
    value: float  # sum_i l_i + rho k
    least: float  # a lower bound on the value over all rho
    active: Mask  # the features with |a_i|^2 above rho
    roots: Floats  # l_i of these features
    inverse: Floats  # 1 / (l_i + rho x_j), one column for each of these features
    weights: Floats  # c_i, for which sum_i c_i w_i w_i' is the gradient in X


@dataclass
class SecularEquations:
    """The equations of all features. Each call starts from the roots of the call before."""

    norms: Floats  # |a_i|^2
    cardinality: float
    rho: float  # the penalty that the next call starts from
    floor: float  # the smallest penalty tried

    def __post_init__(self) -> None:
        self._roots = np.zeros(len(self.norms))

    def __call__(self, x: Floats, squares: Floats) -> Terms:
        """Find the penalty and all roots, from the eigenvalues of X and the g_j^2 (a column for each feature)."""
        found: Terms | None = None

        def slope(rho: float) -> float:
            """Return the slope at rho, and keep the terms there."""
            nonlocal found
            active = self.norms > rho
            roots, inverse, mass, second = self._solve(x, x[:, None] * squares[:, active], rho, self._roots[active])
            self._roots[:] = 0.0
            self._roots[active] = roots
            value = float(roots.sum()) + rho * self.cardinality
            found = Terms(rho, value, value, active, roots, inverse, roots / mass)
            return self.cardinality - float((second / mass).sum())

        # The minimum is sought near the last one first, and between the floor and the largest |a_i|^2 in any case.
        low, high = self.floor, max(float(self.norms.max()), self.floor)
        near = [min(max(self.rho * factor, low), high) for factor in (1 / NEAR, NEAR)]
        rises = [slope(rho) for rho in near]
        if rises[0] >= 0:
            near = [low, near[0]]
        elif rises[1] < 0:
            near = [near[1], high]
        if near[0] > low or slope(low) < 0:
            rho = float(brentq(slope, *near, xtol=ACCURACY * near[0], rtol=ROUNDING_OF_ROOTS))
            within = ACCURACY * near[0] + ROUNDING_OF_ROOTS * rho
        else:
            # The floor is the minimum whenever k features are no constraint.
            rho = within = low
        rise = slope(rho)
        assert found is not None
        self.rho = rho
        return replace(found, least=found.value - abs(rise) * within)

    def _solve(self, x: Floats, weighted: Floats, rho: float, roots: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the roots at this rho, 1 / (l + rho x), sum x w^2 and sum x^2 w^2."""
        shifts = (rho * x)[:, None]
        for _ in range(MOST_STEPS):
            inverse = 1.0 / (roots + shifts)
            terms = weighted * inverse
            h = terms.sum(axis=0)
            fall = np.einsum("ij,ij->j", terms, inverse)
            step = h * (h - 1.0) / fall
            moved = np.maximum(roots + step, 0.0)
            done = np.abs(moved - roots) <= STEP * moved + ROUNDING_OF_ROOTS / fall
            roots = moved
            if done.all():
                break
        inverse = 1.0 / (roots + shifts)
        terms = weighted * inverse
        terms *= inverse
        return roots, inverse, terms.sum(axis=0), x @ terms


# Number of past steps in the quasi-Newton model of the curvature.
PAST_STEPS = 7
# |L| at the start. The first step of L-BFGS has length one, so this makes it a tenth of |L|.
FIRST_LENGTH = 10.0
# Smallest value of rho k tried, relative to lmax(S): a tenth of the tolerance, but never so small that rounding
# dominates it.
LEAST_L0_PENALTY, LEAST_SHARE = 0.1, 1e-12
# The barrier may use this share of the tolerance; the rest is left for steps that stop early.
BARRIER = 0.8
# The share of the identity mixed into X, in units of the tolerance. It is smaller than the barrier's own effect.
IDENTITY = 0.1
# The bound is proved at least every so many steps, and whenever an estimate says that it closes the gap.
CHECK_EVERY = 25
# Eigenvalues of S below this share of the largest are left out of the factor. The proof pays for them, and the share is
# small enough for that to be invisible.
NUMERICAL_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """The objective at X = LL'/|L|^2 = Q diag(x) Q', and the parts of the bound."""

    height: float  # f + mu log det X
    slope: Floats  # its gradient in L
    terms: Terms
    directions: Floats  # of the features with |a_i|^2 above rho
    largest: float  # about lmax(G)


@dataclass
class _Best:
    """The best primal value and the best dual point so far."""

    primal: float
    estimate: float  # the value of the dual point
    rho: float  # the dual point: rho and directions
    directions: Floats


class _Ascent:
    """One solve of the relaxation of A'A. Gaps are relative to the bound on S, which is lower by the shift."""

    def __init__(self, A: Floats, cardinality: int, *, shift: float, tolerance: float) -> None:
        self._A, self._norms = A, np.einsum("ij,ij->j", A, A)
        self._k, self._shift, self._tolerance = cardinality, shift, tolerance
        self._largest = float(np.linalg.norm(A, 2)) ** 2
        self._floor = max(LEAST_L0_PENALTY * tolerance, LEAST_SHARE) * self._largest / cardinality
        self._mu, self._share = 0.0, IDENTITY * tolerance
        self._equations = SecularEquations(self._norms, cardinality, 0.5 * float(self._norms.max()), self._floor)

    def climb(self, max_iterations: int, monitor: Monitor) -> tuple[_Best, RelaxationStatus, int]:
        """Return the best points found, why the ascent stopped, and its number of steps."""
        best, status, steps = self._closed_forms(), RelaxationStatus.PRECISION_LIMIT, 0
        if self._is_closed(best.primal, best.estimate):
            return best, RelaxationStatus.CONVERGED, steps
        here: _Evaluation | None = None

        def falling(entries: Floats) -> tuple[float, Floats]:
            """Return what SciPy minimises: minus the height, and its gradient, in units of the first value."""
            nonlocal here
            here = self._evaluate(entries.reshape(start.shape))
            return -here.height / value, here.slope.ravel() / -value

        def look(_: Floats) -> None:
            """Look at the point accepted last; end the ascent if the gap is closed or the steps are used up."""
            nonlocal status, steps
            steps += 1
            assert here is not None
            self._look(here, best, force=steps % CHECK_EVERY == 0 or steps >= max_iterations)
            if self._is_closed(best.primal, best.estimate):
                status = RelaxationStatus.CONVERGED
            elif steps >= max_iterations:
                status = RelaxationStatus.ITERATION_LIMIT
            if status is not RelaxationStatus.PRECISION_LIMIT:
                raise StopIteration
            monitor.tick("l0 relaxation", bound=best.estimate)

        with monitor.watch(), suppress(StopIteration):
            monitor.tick("l0 relaxation", bound=best.estimate)
            spectrum = np.einsum("ij,ij->i", self._A, self._A)
            start = np.diag(np.sqrt(0.5 * spectrum / spectrum.sum() + 0.5 / len(spectrum)))
            start *= FIRST_LENGTH / np.linalg.norm(start)
            value = max(self._evaluate(start).terms.value, best.primal)
            allowed = self._tolerance * self._reference(value)
            self._mu, self._share = BARRIER * allowed / len(self._A), IDENTITY * allowed / value
            here, steps = self._evaluate(start), -1
            look(start)
            # No tolerance of SciPy's own ends the ascent: the gap does, or a step that rounding keeps from going up.
            options = {"maxcor": PAST_STEPS, "ftol": 0.0, "gtol": 0.0, "maxiter": max_iterations + 1, "maxfun": 10**9}
            minimize(falling, start.ravel(), jac=True, method="L-BFGS-B", callback=look, options=options)
        if here is not None and status is RelaxationStatus.PRECISION_LIMIT:
            self._look(here, best, force=True)
        return best, final_status(monitor.stopped, status), max(steps, 0)

    def _closed_forms(self) -> _Best:
        """Return the better of two dual points that need no solve: w_i = a_i with a small rho, and all Y_i zero."""
        alone = float(self._norms.max())
        rhos = (self._floor, alone * (1 + (len(self._A) + 16) * EPS))
        bounds = [l0_bound(self._A, self._A, rho, self._k).value for rho in rhos]
        least = int(np.argmin(bounds))
        # X = P_i = aa'/|a|^2 is feasible. With k = n so is the leading eigenvector, all P_i = X.
        primal = self._largest if self._k >= len(self._norms) else alone
        return _Best(min(primal, bounds[least]), bounds[least], rhos[least], self._A)

    def _reference(self, value: float) -> float:
        """Return the number that gaps are relative to: the value less the shift, unless that is nearly zero."""
        return max(abs(value - self._shift), 1e-3 * max(self._largest, self._shift))

    def _is_closed(self, primal: float, estimate: float) -> bool:
        return estimate - primal <= self._tolerance * self._reference(estimate)

    def _look(self, point: _Evaluation, best: _Best, *, force: bool) -> None:
        """Update the primal value, and prove the bound at a point if it may be good enough or `force` is set."""
        best.primal = max(best.primal, point.terms.least)
        rho = point.terms.rho
        expected = point.largest + rho * self._k
        if expected >= best.estimate or not (force or self._is_closed(best.primal, expected)):
            return
        W = self._A.copy()
        W[:, point.terms.active] = point.directions
        estimate = l0_bound(self._A, W, rho, self._k).value
        if estimate < best.estimate:
            best.estimate, best.rho, best.directions = estimate, rho, W

    def _evaluate(self, L: Floats) -> _Evaluation:
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
        W = g[:, terms.active] * terms.inverse
        V = W * np.sqrt(terms.weights)
        gradient = V @ V.T
        largest = float(eigvalsh(gradient)[-1])
        diagonal = gradient.diagonal() + self._mu / x
        np.fill_diagonal(gradient, diagonal - float(diagonal @ raw))
        slope = Q @ (gradient @ ((2.0 * (1.0 - share) / total) * (Q.T @ L)))
        height = terms.value + self._mu * float(np.log(x).sum())
        return _Evaluation(height, slope, terms, Q @ W, largest)


def _factored(S: Floats) -> tuple[Floats, float]:
    """Return A and the shift with S + shift I = A'A up to rounding, for a matrix that may be indefinite.

    The shift is minus the smallest eigenvalue of S if S is indefinite beyond rounding, else zero.
    """
    values, vectors = eigh(S)
    indefinite = values[0] < -NUMERICAL_RANK * np.abs(values).max()
    shift = -float(values[0]) if indefinite else 0.0
    values = values + shift
    keep = values > NUMERICAL_RANK * max(float(values[-1]), 0.0)
    keep[-1] = True  # the factor of zero is a row of zeros
    return np.ascontiguousarray((vectors[:, keep] * np.sqrt(np.maximum(values[keep], 0.0))).T), shift


@dataclass(frozen=True, eq=False, repr=False)
class L0Solution:
    """A primal value and a dual point of the l0 relaxation.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import L0Relaxation
    >>> found = L0Relaxation().solve(load_pitprops().covariance, 5)
    >>> found.gap <= 1e-6, found.status.name
    (True, 'CONVERGED')
    """

    primal: float  # the value at a feasible X; no l0 bound from this factor is below it
    estimate: float  # the proved value of the dual point: an upper bound on z'Sz
    cardinality: int
    rho: float  # the penalty at the dual point
    factor: Floats  # A, one column for each feature
    directions: Floats  # W, one column for each feature
    shift: float  # S + shift I = A'A up to rounding
    status: RelaxationStatus
    iterations: int

    def __repr__(self) -> str:
        return (
            f"L0Solution(cardinality={self.cardinality}, primal={self.primal:.6g}, estimate={self.estimate:.6g},\n"
            f"           gap={self.gap:.2g}, status={self.status.name}, iterations={self.iterations})"
        )

    @property
    def gap(self) -> float:
        """(estimate - primal) / |estimate|: the relative distance between the primal and the dual value."""
        return (self.estimate - self.primal) / abs(self.estimate) if self.estimate else self.estimate - self.primal

    def witness(self) -> DualWitness:
        """Return the dual point, from which the bound can be computed again."""
        return DualWitness(kind="l0", factor=self.factor, directions=self.directions, rho=self.rho, shift=self.shift)


@dataclass(frozen=True)
class L0Relaxation:
    """The l0 relaxation. A step costs an eigendecomposition of the size of the rank of S and a few products.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import L0Relaxation
    >>> round(L0Relaxation().solve(load_pitprops().covariance, 7).estimate, 3)
    3.996
    """

    tolerance: float = 1e-6  # the relative gap between the primal and the dual value at which to stop
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must lie between 0 and 1.")
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations={self.max_iterations} must not be negative.")

    def solve(self, S: Floats, cardinality: int, *, monitor: Monitor | None = None) -> L0Solution:
        """Bound z'Sz over unit z with at most k nonzeros. If the monitor stops, it is the best so far."""
        if cardinality < 1:
            raise ValueError(f"cardinality={cardinality} must be at least 1.")
        k = min(cardinality, len(S))
        with threads_for(len(S)):
            A, shift = _factored(S)
            ascent = _Ascent(A, k, shift=shift, tolerance=self.tolerance)
            best, status, steps = ascent.climb(self.max_iterations, monitor or Monitor())
            found = L0Solution(best.primal - shift, np.inf, k, best.rho, A, best.directions, shift, status, steps)
            value, _ = found.witness().bound(DenseCovariance(S), k, no_features())
        return replace(found, estimate=max(value, found.primal) if S.any() else 0.0)
