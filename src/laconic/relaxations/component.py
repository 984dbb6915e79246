"""What one support proves by Proposition 2, from the entries of S alone.

See `laconic.relaxations.optimality` for the mathematics. The directions w_i are combinations of a_i and x = Az, z the
component, so all their inner products are entries of S and of Sz: with f_i = p_i, h_i = rho where p_i^2 > rho and
f_i = 1, h_i = p_i elsewhere,

    w_i'w_j = f_i f_j S_ij - f_i p_i h_j - h_i f_j p_j + h_i h_j,

and sum_i Y_i has the largest eigenvalue of the matrix (c_i c_j)^(1/2) w_i'w_j. No factor of S is needed, neither to
find a bound nor to check it.
"""

import math

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import extreme_eigenpair
from laconic.covariance import Covariance
from laconic.covariance.enclosure import Enclosure
from laconic.proof import UpperBound, prove
from laconic.proof.witness import ComponentWitness
from laconic.relaxations.dual_lines import Descent, Estimates

# A matrix that lacks more than this, relative to its largest entry, to be semidefinite is made so first.
INDEFINITE = 1e-10
# How much lower than a bound that is known another must be to be searched for.
LOSS = 1e-3


class Conditions(Descent):
    """The bounds that a support proves.

    Parameters
    ----------
    S
        The matrix.
    support
        The features of the support.
    cardinality
        k.
    deficit
        What S lacks to be semidefinite.
    """

    def __init__(self, S: Floats, support: Indices, cardinality: int, deficit: float = 0.0) -> None:
        size = float(np.abs(S).max(initial=0.0))
        # A power of four, so that squares neither overflow nor vanish and the root is exact.
        self._root = 2.0 ** (math.frexp(size)[1] // 2) if size > 0 else 1.0
        self._unit = self._root * self._root
        self._S = S / self._unit
        self._shift = deficit if deficit > INDEFINITE * size else 0.0
        if self._shift:
            self._S.flat[:: len(S) + 1] += self._shift / self._unit
        self._norms = self._S.diagonal()
        self._support, self._k = support, cardinality
        value, z = extreme_eigenpair(self._S[support[:, None], support], -1)
        self._estimates: Estimates | None = None
        if value > 0:
            self._weights = z / np.sqrt(value)
            self._p = self._S[:, support] @ self._weights
            self._estimates = Estimates.of(self._norms, self._p * self._p, len(support))
        self._rho, self._least = 0.0, np.inf

    @property
    def promised(self) -> float:
        """An estimate that the bound will hardly be below."""
        return np.inf if self._estimates is None else self._of(float(self._estimates.promised([self._k])[0]))

    def _of(self, value: float) -> float:
        """Return a value in the units of S, without what was added to its diagonal."""
        return value * self._unit - self._shift

    def least(self, limit: float = np.inf, *, evaluations: int = 2) -> float:
        """Return about the least bound there is, from a search that gives up where none is below a limit.

        Parameters
        ----------
        limit
            The limit.
        evaluations
            How many largest eigenvalues to compute.
        """
        if np.isinf(self._least) and self._estimates is not None:
            rho, low, high = self._estimates.gap(self._k)
            below = (limit * (1 - LOSS) + self._shift) / self._unit
            line = self.lowest(self.descend(self._p, self._k, rho, (low, high), evaluations, below), self._k)
            self._rho, self._least = line.rho, self._of(line.largest + line.rho * self._k)
        return self._least

    def bound(self, covariance: Covariance | Enclosure) -> UpperBound:
        """Return the bound that was found, proved from its witness.

        Parameters
        ----------
        covariance
            What S is the matrix of, or its enclosure.
        """
        witness = ComponentWitness(self._support, self._weights / self._root, self._rho * self._unit)
        return prove(covariance, self._k, witness)

    def squares(self, x: Floats) -> Floats:
        """Return p_i^2, with p in the place of x."""
        return x * x

    def _tangent(self, x: Floats, squares: Floats, rho: float) -> tuple[float, float]:
        """Return lmax(sum_i Y_i) and its derivative, with p in the place of x.

        With y the eigenvector of the matrix above and u = sum_i c_i^(1/2) y_i w_i / largest^(1/2) that of sum_i Y_i,
        u'w_i = (largest / c_i)^(1/2) y_i.
        """
        active = np.flatnonzero(self._norms > rho)
        if not len(active):
            return 0.0, 0.0
        S, s, p, p2 = self._S, self._norms, x, squares
        if len(active) < len(x):
            S, s, p, p2 = S[active[:, None], active], s[active], p[active], p2[active]
        inside, excess = p2 > rho, p2 - rho
        c = np.where(inside, 1.0, rho * (s - rho) / np.where(inside, 1.0, s - p2)) / np.abs(excess)
        root = np.sqrt(c)
        f, h = np.where(inside, p, 1.0) * root, np.where(inside, rho, p) * root
        outer = (0.5 * h - f * p)[:, None] * h
        largest, y = extreme_eigenpair(f[:, None] * f * S + (outer + outer.T), -1)
        share = largest * (y * y)
        along = float(y @ (f * p - h))
        by_inside = share * c - 2.0 * along * (y * root)
        by_outside = share * ((s - 2 * rho) * -excess - rho * (s - rho)) / (rho * (s - rho) * np.abs(excess))
        return largest, float(np.where(inside, by_inside, by_outside).sum())
