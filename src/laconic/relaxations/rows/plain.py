"""Steps of the row-level relaxation without compiled code, for a bound that must come at once.

They are the steps of `kernels`, without row norms and without features inside. The projection on the levels is only
approximate here. Its multiplier and ratios follow the iteration, with a few Newton steps each time. The price of a row
does not depend on its ratio (with the threshold 2c(1 + r) and the diagonal c(1 - r^2) it is c for every r), and the
bound is valid at any point. So the approximation costs little.
"""

import numpy as np

from laconic.core.arrays import Floats
from laconic.relaxations.anderson import empty_memory, next_point
from laconic.relaxations.rows.state import RowState
from laconic.relaxations.spectrahedron import project

# Each step is this many times as long as the plain one (over-relaxation); it must be below two.
OVER_RELAXATION = 1.6
# Newton steps for the ratios in one projection. The multiplier changes after each but the last.
ROUNDS = 2
# The multiplier changes by this power of the error of its constraint, and by at most this factor. Found by trial: with
# the whole power it oscillates.
POWER, MOST = 0.5, np.e
# Divisors are at least this.
LEAST_DIVISOR = 1e-300


def advance(state: RowState, S: Floats, k: int, steps: int) -> bool:
    """Take steps of the splitting on S, the matrix on the features kept. Return whether all numbers stayed finite."""
    if state.memory is None:
        state.memory, state.Y = empty_memory(state.u.size), np.zeros_like(state.u)
    u, Y = state.u[0], state.Y[0]
    scaled = S / state.stiffness
    for _ in range(steps):
        state.mu[0], state.ratio = project_levels(u, k, float(state.mu[0, 0]), state.ratio, Y)
        half = Y - 0.5 * u
        W = scaled + half + half.T
        if not np.isfinite(W).all():
            return False
        F, weights, state.basis = project(W, state.basis, 0.1 * min(state.residual, 0.1))
        move = F @ F.T - Y
        state.residual = float(np.linalg.norm(move)) / max(float(np.linalg.norm(weights)), LEAST_DIVISOR)
        u[:] = next_point(u.ravel(), OVER_RELAXATION * move.ravel(), *state.memory).reshape(u.shape)
    return True


def project_levels(Z: Floats, k: int, mu: float, ratio: Floats, Y: Floats) -> tuple[float, Floats]:
    """Write the rows of Z, projected about on {sum_i |Y_i|_1^2 / Y_ii <= k^2}, to Y; return the multiplier and ratios.

    With c = mu / k and r the ratio |Y_i|_1 / Y_ii, without the diagonal in |Y_i|_1, a row has the threshold 2c(1 + r)
    and the diagonal d = Z_ii - c(1 - r^2). r is the root of a decreasing function, |Y_i|_1 - r d, or the least r with
    d >= 0. The search starts at the multiplier and the ratios given.
    """
    a = Z.diagonal()
    size = np.abs(Z)
    np.fill_diagonal(size, 0.0)
    c, r = mu / k, ratio
    for last in [False] * (ROUNDS - 1) + [True]:
        least = _least_ratios(a, c)
        r = np.maximum(r, least)
        above = np.maximum(size - (2 * c * (1 + r))[:, None], 0.0)
        slope = 2 * c * np.count_nonzero(above, axis=1) + a - c + 3 * c * r**2
        error = above.sum(axis=1) - r * (a - c * (1 - r**2))
        r = np.maximum(r + error / np.maximum(slope, LEAST_DIVISOR), least)
        if not last:
            used = float(((a - c * (1 - r**2)) * (1 + r) ** 2).sum()) / (k * k)
            c *= min(max(max(used, 0.0) ** POWER, 1 / MOST), MOST)
    r = np.maximum(r, _least_ratios(a, c))
    t = (2 * c * (1 + r))[:, None]
    np.subtract(Z, np.clip(Z, -t, t), out=Y)
    np.fill_diagonal(Y, np.maximum(a - c * (1 - r**2), 0.0))
    return c * k, r


def _least_ratios(a: Floats, c: float) -> Floats:
    """Return the least r >= 0 with a - c(1 - r^2) >= 0 for each a."""
    return np.asarray(np.sqrt(np.maximum(1 - a / c, 0.0)))
