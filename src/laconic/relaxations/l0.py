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

The function sum_i l_i(rho) + rho k is convex in rho, with slope k - sum_i T_i. Its minimum is found by Newton's method
within a bracket. T_i jumps to zero where rho passes |a_i|^2, so the slope may change its sign without being zero.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import EPS, eigh, eigvalsh, largest_eigenvalue
from laconic.core.monitor import Monitor, threads_for
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import RelaxationStatus, final_status

# Stop Newton's method for a root when its relative step is below this: the next step would be about its square.
STEP = 1e-8
# Stop the search for rho when the traces add up to k within this share.
TRACES = 1e-8
# Relative differences below this are rounding.
ROUNDING_OF_ROOTS = 4 * EPS
# Newton's method for the roots needs about ten steps; this only ends a loop that rounding keeps alive.
MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of the relaxation at one X."""

    rho: float  # the penalty that minimises the value
    value: float  # sum_i l_i + rho k
    least: float  # a lower bound on the value over all rho: the lowest point of the tangent within the bracket
    roots: Floats  # l_i of the features with |a_i|^2 above rho
    inverse: Floats  # 1 / (l_i + rho x_j), one column for each of these features
    weights: Floats  # c_i, for which sum_i c_i w_i w_i' is the gradient in X


@dataclass
class SecularEquations:
    """The equations of all features. Each call starts from the roots of the call before."""

    norms: Floats  # |a_i|^2, decreasing
    cardinality: float
    rho: float  # the penalty that the next call starts from
    floor: float  # the smallest penalty tried

    def __post_init__(self) -> None:
        self._roots = np.zeros(len(self.norms))

    def __call__(self, x: Floats, squares: Floats) -> Terms:
        """Find the penalty and all roots, from the eigenvalues of X and the g_j^2 (a column for each feature)."""
        k, rho = self.cardinality, self.rho
        weighted = x[:, None] * squares
        # The minimum lies between these two; it is sought above the floor.
        left, high = 0.0, max(float(self.norms[0]), self.floor)
        grounded = False
        while True:
            m = int(np.searchsorted(-self.norms, -rho, side="left"))
            roots, inverse, mass, second = self._solve(x, weighted[:, :m], rho)
            traces = second / mass
            slope = k - float(traces.sum())
            value = float(roots.sum()) + rho * k
            if slope < 0:
                left = max(left, rho)
            else:
                high = min(high, rho)
            least = value - max(slope * (rho - left), -slope * (high - rho), 0.0)
            low = max(left, self.floor)
            if abs(slope) <= TRACES * k or high - low <= ROUNDING_OF_ROOTS * high or (rho <= self.floor and slope >= 0):
                break
            moved = self._newton(x, weighted[:, :m], inverse, mass, traces, slope, rho)
            grounded = grounded or rho <= self.floor
            if moved <= self.floor and not grounded:
                # The floor is the minimum whenever k features are no constraint.
                moved = self.floor
            elif not low < moved < high:
                moved = float(np.sqrt(low * high))
            if moved == rho:
                break
            self._roots[:m] = np.maximum(roots - traces * (moved - rho), 0.0)
            self._roots[m:] = 0.0
            rho = moved
        self.rho = rho
        self._roots[:m], self._roots[m:] = roots, 0.0
        return Terms(rho, value, least, roots, inverse, roots / mass)

    def _solve(self, x: Floats, weighted: Floats, rho: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the roots at this rho, 1 / (l + rho x), sum x w^2 and sum x^2 w^2."""
        roots = self._roots[: weighted.shape[1]].copy()
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

    def _newton(
        self, x: Floats, weighted: Floats, inverse: Floats, mass: Floats, traces: Floats, slope: float, rho: float
    ) -> float:
        """Return the zero of the slope by one Newton step."""
        cubes = weighted * inverse
        cubes *= inverse
        cubes *= inverse
        one, two, three = np.vstack([np.ones_like(x), x, x * x]) @ cubes
        d_second, d_mass = 2 * (traces * two - three), 2 * (traces * one - two)
        curvature = -float(((d_second - traces * d_mass) / mass).sum())
        return rho - slope / curvature if curvature > 0 else -np.inf if slope > 0 else np.inf


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
# The bound costs an eigenvalue. It is computed at least every so many steps, and whenever a cheap test says it is good.
CHECK_EVERY = 25


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """The objective at X = LL'/|L|^2 = Q diag(x) Q', and the parts of the bound.

    `directions` and `gradient` are given in the basis Q.
    """

    height: float  # f + mu log det X
    slope: Floats  # its gradient in L
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
        self._floor = max(LEAST_L0_PENALTY * tolerance, LEAST_SHARE) * self._largest / cardinality
        self._mu, self._share = 0.0, IDENTITY * tolerance
        self._equations = SecularEquations(self._norms, cardinality, 0.5 * float(self._norms[:1].sum()), self._floor)

    def climb(self, max_iterations: int, monitor: Monitor) -> tuple[Best, RelaxationStatus, int]:
        """Return the best points found, why the ascent stopped, and its number of steps."""
        best, status, steps = self._closed_forms(), RelaxationStatus.PRECISION_LIMIT, 0
        if self._is_closed(best):
            return self._unsorted(best), RelaxationStatus.CONVERGED, steps
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
            if self._is_closed(best):
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
        return self._unsorted(best), final_status(monitor.stopped, status), max(steps, 0)

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

    def _look(self, point: _Evaluation, best: Best, *, force: bool) -> None:
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
        W = g[:, : len(terms.roots)] * terms.inverse
        V = W * np.sqrt(terms.weights)
        gradient = V @ V.T
        pull = gradient.copy()
        diagonal = pull.diagonal() + self._mu / x
        np.fill_diagonal(pull, diagonal - float(diagonal @ raw))
        slope = Q @ (pull @ ((2.0 * (1.0 - share) / total) * (Q.T @ L)))
        height = terms.value + self._mu * float(np.log(x).sum())
        return _Evaluation(height, slope, terms, Q, W, gradient)


# Eigenvalues of S below this share of the largest are left out of the factor. The error of the factor accounts for
# them, and the share is small enough for that error to be invisible.
NUMERICAL_RANK = 1e-12


def dual_weights(A: Floats, W: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return c_i and the unit directions w_i, such that Y_i = c_i w_i w_i' is feasible in spite of rounding.

    A and W are q x n. With |w| = 1 and r = w - (w'a/|a|^2) a the denominator is d = rho - |a|^2 |r|^2. It is computed
    in this form because it is much smaller than the squares in (w'a)^2 - |a|^2 + rho; a rounded multiple of `a` makes
    it smaller, never larger. c_i is infinite where d is not positive beyond rounding.
    """
    q = len(A)
    # Errors of sums of q terms, relative to the sum of absolute values.
    gamma = (q + 8) * EPS
    norms = np.einsum("ij,ij->j", A, A) * (1 + gamma)
    peaks = np.abs(W).max(axis=0, initial=0.0)
    W = W / np.where(peaks > 0, peaks, 1.0)
    lengths = np.sqrt(np.einsum("ij,ij->j", W, W))
    W /= np.where(lengths > 0, lengths, 1.0)
    above = norms > rho
    c = np.zeros(A.shape[1])
    if above.any():
        a, w, s = A[:, above], W[:, above], norms[above]
        rest = w - (np.einsum("ij,ij->j", a, w) / s) * a
        length = np.sqrt(np.einsum("ij,ij->j", rest, rest)) * (1 + gamma) + 4 * EPS
        with np.errstate(divide="ignore", over="ignore"):
            # d / rho; |w|^2 is one up to gamma.
            share = 1.0 - (s / rho) * length**2 * (1 + 4 * EPS) - 2 * gamma if rho > 0 else np.full(len(s), -np.inf)
            c[above] = np.where(share > 0, (s - rho) * (1 + 4 * EPS) / np.where(share > 0, share, 1.0), np.inf)
    return c, W


def feasible_directions(A: Floats, W: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return c_i and unit directions as `dual_weights` does, with w_i = a_i where rounding leaves no d_i > 0.

    That direction is always feasible for rho > 0: d_i = rho |a_i|^2.
    """
    c, unit = dual_weights(A, W, rho)
    lost = ~np.isfinite(c)
    if lost.any():
        c[lost], unit[:, lost] = dual_weights(A[:, lost], A[:, lost], rho)
    return c, unit


def above_sum(c: Floats, W: Floats) -> float:
    """Return an upper bound on lmax(sum_i c_i w_i w_i') for c >= 0 and unit w_i, with a margin for rounding."""
    if not np.isfinite(c).all():
        return float(np.inf)
    some = c > 0
    V = W[:, some] * np.sqrt(c[some])
    if V.size == 0:
        return 0.0
    M = V @ V.T if V.shape[0] <= V.shape[1] else V.T @ V
    # The product and the eigenvalue are rounded. Both errors are below a multiple of the trace, because M >= 0.
    return largest_eigenvalue(M) + (sum(V.shape) + 24) * EPS * float(M.trace())


def l0_bound(A: Floats, W: Floats, rho: float, cardinality: float) -> float:
    """Return lmax(sum_i c_i w_i w_i') + rho k, an upper bound on z'A'Az over unit z with at most k nonzeros.

    It holds for every rho >= 0 and every W. It is infinite if some w_i has d_i <= 0.
    """
    if A.shape[1] == 0:
        return 0.0
    return above_sum(*dual_weights(A, W, rho)) + rho * cardinality * (1 + EPS)


def total_bound(largest: float, price: float, error: float, shift: float) -> float:
    """Return lmax(sum_i c_i w_i w_i') + rho k + the error of the factor - shift, rounded up."""
    return largest + price + error - shift + 4 * EPS * (largest + price + error + abs(shift))


@dataclass(frozen=True, eq=False)
class FactoredMatrix:
    """S + shift I = A'A, up to an error."""

    A: Floats  # in units of the square root of S
    shift: float  # minus the smallest eigenvalue of S if S is indefinite beyond rounding, else zero
    error: float  # an upper bound on lmax(S + shift I - A'A)

    @classmethod
    def of(cls, S: Floats) -> "FactoredMatrix":
        """Factor a symmetric matrix, which may be indefinite, by its eigendecomposition."""
        values, vectors = eigh(S)
        top = max(float(values[-1]), 0.0)
        indefinite = values[0] < -NUMERICAL_RANK * max(top, -float(values[0]))
        shift = -float(values[0]) if indefinite else 0.0
        values = values + shift
        keep = values > NUMERICAL_RANK * max(float(values[-1]), 0.0)
        keep[-1] = True  # the factor of zero is a row of zeros
        A = np.ascontiguousarray((vectors[:, keep] * np.sqrt(values[keep])).T)
        rest = S - A.T @ A
        rest[np.diag_indices(len(S))] += shift
        rounding = (len(A) + 4) * EPS * float(np.einsum("ij,ij->", A, A)) + 4 * EPS * abs(shift)
        return cls(A, shift, float(np.linalg.norm(rest)) * (1 + len(S) * EPS) + rounding)


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
    estimate: float  # the value of the dual point with a margin for rounding: an upper bound on z'Sz
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
            factored = FactoredMatrix.of(S)
            ascent = Ascent(factored.A, k, shift=factored.shift, tolerance=self.tolerance)
            best, status, steps = ascent.climb(self.max_iterations, monitor or Monitor())
            largest = l0_bound(factored.A, best.directions, best.rho, 0)
        primal = best.primal - factored.shift
        return L0Solution(
            primal=primal,
            estimate=max(total_bound(largest, best.rho * k, factored.error, factored.shift), primal),
            cardinality=k,
            rho=best.rho,
            factor=factored.A,
            directions=best.directions,
            shift=factored.shift,
            status=status,
            iterations=steps,
        )
