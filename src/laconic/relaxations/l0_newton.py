"""Newton's method for the l0 relaxation: the curvature at a point, and the step it asks for.

Where the optimal X has a high rank, first derivatives alone bring the dual point slowly: the primal value is wrong by
the square of what is wrong with G. The second derivatives are as cheap. In the eigenvectors of X = diag(x), with
D = X^1/2 E X^1/2 a change of X and a dash its derivative along D, at a fixed rho and K = l I + rho X,

    l' = c w'Dw,    w' = -K^-1 (rho D + l' I) w,    m' = w'Dw + 2 w'Xw',    c' = (l' - c m') / m,    m = w'Xw = l / c,
    G' = sum_i  c_i' w_i w_i' + c_i (w_i' w_i^T + w_i w_i'^T)

(w^T the transpose), which is two products of matrices for all features together. With rho at its minimum,
f'' = <D, G'> - <J, D>^2 / f_rr, J = dG/drho and f_rr the second derivative in rho. Both are known in the same way, from
l' = -T, w' = -K^-1 (X - T I) w.

The barrier mu log det X has the curvature mu |E|^2. Where X^1/2 S X^1/2 is far from mu I, S = t I - G, that is a poor
model: the step to a smaller mu would leave the cone. As in primal-dual methods the curvature is taken to be <E, ZE>
instead, Z being X^1/2 S X^1/2 with its eigenvalues raised to mu: at the top of f + mu log det X both are the same.

The step solves  (curvature) E = mu I - X^1/2 S X^1/2,  <X, E> = 0,  by conjugate gradients, preconditioned by

    rho x_j x_k sum_i c_i (w_ij^2 / (l_i + rho x_k) + w_ik^2 / (l_i + rho x_j)) + (Z_jj + Z_kk) / 2,

which leaves out what the coordinates of E have to do with each other.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.linalg import eigh
from laconic.relaxations.secular import Terms

# Conjugate gradients end where the residual has shrunk to this share, in the norm of the preconditioner.
RESIDUAL, PRODUCTS = 0.02, 80
# The traces add up to k within this share where rho is a minimum that moves smoothly with X.
SMOOTH = 1e-6


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """A step X^1/2 E X^1/2 in the basis of the eigenvectors of X.

    Attributes
    ----------
    change
        E.
    climb
        What the objective rises by along the whole step, to first order.
    """

    change: Floats
    climb: float


def newton_step(
    x: Floats, W: Floats, G: Floats, terms: Terms, *, mu: float, cardinality: int | None, tick: Callable[[], None]
) -> NewtonStep | None:
    """Return the Newton step of f + mu log det X on Tr X = 1, or None where rounding leaves none.

    Parameters
    ----------
    x
        The eigenvalues of X, positive, adding up to one.
    W
        The directions w_i of the features above the penalty, in the basis of the eigenvectors.
    G
        The gradient of f, in the same basis.
    terms
        The terms at X.
    mu
        The weight of the barrier.
    cardinality
        k, or None where rho is given.
    tick
        Called before every product with the curvature; may raise to stop.
    """
    half = np.sqrt(x)
    rest = -(half[:, None] * G * half)
    np.fill_diagonal(rest, rest.diagonal() + x * (float(G.diagonal() @ x) + len(x) * mu))
    residual = -rest
    np.fill_diagonal(residual, residual.diagonal() + mu)
    values, vectors = eigh(rest)
    Z = (vectors * np.maximum(values, mu)) @ vectors.T
    curvature = Curvature(x, half[:, None] * W, terms, Z, cardinality)
    slope = residual.copy()
    E = np.zeros_like(rest)
    z = curvature.precondition(residual)
    size = first = float(np.vdot(residual, z))
    if not first > 0:
        return None
    p = z
    for _ in range(PRODUCTS):
        tick()
        bent = curvature.times(p)
        along = float(np.vdot(p, bent))
        if not along > 0:
            break
        E += (size / along) * p
        residual -= (size / along) * bent
        z = curvature.precondition(residual)
        last, size = size, float(np.vdot(residual, z))
        if not size > RESIDUAL**2 * first:
            break
        p = z + (size / last) * p
    climb = float(np.vdot(slope, E))
    return NewtonStep(E, climb) if np.isfinite(climb) and climb > 0 else None


class Curvature:
    """Minus the second derivative in E, as an operator.

    Parameters
    ----------
    x
        The eigenvalues of X, positive.
    U
        X^1/2 W, a column for each feature above the penalty.
    terms
        The terms at X.
    Z
        What the barrier adds: <E, ZE>.
    cardinality
        k, or None where rho is given.
    """

    def __init__(self, x: Floats, U: Floats, terms: Terms, Z: Floats, cardinality: int | None) -> None:
        rho, inverse, c = terms.rho, terms.inverse, terms.weights
        self._U, self._Z, self._c = U, Z, c
        self._kept = (rho * x)[:, None] * inverse
        self._cut = inverse * U
        squares = U * U
        self._mass = squares.sum(axis=0)
        self._cut_mass = np.einsum("ij,ij->j", self._cut, U)
        self._kept_U = self._kept * U
        # x_j x_k w_ij^2 / (l_i + rho x_k) = U_ij^2 x_k / (l_i + rho x_k).
        pairs = (squares * c) @ self._kept.T
        self._kept *= c
        traces = (x @ squares) / self._mass
        self._bend: Floats | None = None
        if cardinality is not None and abs(cardinality - float(traces.sum())) <= SMOOTH * cardinality:
            self._bend = self._of_penalty(x, traces)
        middle = 0.5 * Z.diagonal()
        self._inverse = 1.0 / (pairs + pairs.T + (middle[:, None] + middle))
        self._x = x
        self._towards_x = x * self._inverse.diagonal()
        self._towards_x /= float(self._towards_x @ x)

    def _of_penalty(self, x: Floats, traces: Floats) -> Floats | None:
        """Return X^1/2 J X^1/2 over the root of the second derivative in rho, if that is positive."""
        turned = (traces - x[:, None]) * self._cut
        mass = 2 * np.einsum("ij,ij->j", self._U, turned)
        second = 2 * (x @ (self._U * turned))
        curvature = -float(((second - traces * mass) / self._mass).sum())
        if not curvature > 0:
            return None
        half = (self._U * (0.5 * self._change_of_weights(-traces, mass)) + turned * self._c) @ self._U.T
        return np.asarray((half + half.T) / np.sqrt(curvature))

    def _change_of_weights(self, roots: Floats, mass: Floats) -> Floats:
        return np.asarray((roots - self._c * mass) / self._mass)

    def times(self, E: Floats) -> Floats:
        """Return the curvature times a symmetric E.

        Parameters
        ----------
        E
            The change.
        """
        M = E @ self._U
        along = np.einsum("ij,ij->j", self._U, M)
        roots = self._c * along
        # w'Xw' in two sums, without w'.
        mass = along - 2 * (np.einsum("ij,ij->j", self._kept_U, M) + roots * self._cut_mass)
        weights = self._change_of_weights(roots, mass)
        M *= self._kept
        M += self._cut * (roots * self._c)
        M -= self._U * (0.5 * weights)
        half = M @ self._U.T
        half += 0.5 * (self._Z @ E)
        bent = half + half.T
        if self._bend is not None:
            bent += float(np.vdot(self._bend, E)) * self._bend
        return np.asarray(bent)

    def precondition(self, R: Floats) -> Floats:
        """Return R divided by the preconditioner, less what it takes for <X, .> = 0.

        Parameters
        ----------
        R
            A symmetric matrix.
        """
        out = R * self._inverse
        np.fill_diagonal(out, out.diagonal() - float(out.diagonal() @ self._x) * self._towards_x)
        return out
