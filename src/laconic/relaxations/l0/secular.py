"""The inner problem of the l0 relaxation: one scalar equation for each feature, and the penalty that suits k.

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

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.linalg import EPS

# Stop Newton's method for a root when its relative step is below this: the next step would be about its square.
STEP = 1e-8
# Stop the search for rho when the traces add up to k within this share.
TRACES = 1e-8
# Relative differences below this are rounding.
ROUNDING = 4 * EPS
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
            if abs(slope) <= TRACES * k or high - low <= ROUNDING * high or (rho <= self.floor and slope >= 0):
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
            done = np.abs(moved - roots) <= STEP * moved + ROUNDING / fall
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
