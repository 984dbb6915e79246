"""Steps of the row-level relaxation where the package was installed without a C compiler.

`row_kernels` has the same steps in compiled code. Here each search for a number runs for all rows at once.
"""

from collections.abc import Callable

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Mask
from laconic.relaxations.elementary import project
from laconic.relaxations.l1_splitting import OVER_RELAXATION, Memory, next_point

# Multipliers are found when the logarithm of their constraint is below this.
EXACT = 1e-11
# The search for a multiplier starts here if no better start is known.
FIRST_MULTIPLIER = 1e-3
# The search for the logarithm of a multiplier stops at steps below this, and at values beyond this.
SAME, FARTHEST_LOG = 1e-14, 60.0
# The search for the root of a row ends at steps below this, relative to the root.
CLOSE = 1e-14


def advance(
    S: Floats,
    k: int,
    inside: Mask,
    stiffness: float,
    steps: int,
    u: Floats,
    Y: Floats,
    mu: Floats,
    ratio: Floats,
    d: Floats,
    basis: Floats,
    residual: float,
    memory: Memory,
) -> tuple[Floats, Floats, float, bool]:
    """Take steps of the splitting in place; return F with X = FF', the basis, the residual, and if all is finite."""
    F = np.zeros((len(S), 1))
    for _ in range(steps):
        project_levels(u[0], k, inside, mu[0], ratio, Y[0])
        if len(u) == 2:
            project_norms(u[1], k, inside, mu[1], d, Y[1])
        half = (Y - 0.5 * u).sum(axis=0)
        W = (S / stiffness + half + half.T) / len(u)
        if not np.isfinite(W).all():
            return F, basis, residual, False
        F, weights, basis = project(W, basis, 0.1 * min(residual, 0.1))
        move = (F @ F.T - Y).ravel()
        residual = float(np.linalg.norm(move)) / max(float(np.linalg.norm(weights)), SMALLEST_NORMAL)
        u[:] = next_point(u.ravel(), OVER_RELAXATION * move, *memory).reshape(u.shape)
    return F, basis, residual, True


def project_levels(Z: Floats, k: int, inside: Mask, mu: Floats, ratio: Floats, Y: Floats) -> None:
    """Project rows on {h_i <= 1 for rows inside, sum of h_i <= k - s over the others}, h_i = |Y_i|_1^2 / (k Y_ii).

    `mu` (a multiplier for each row) and `ratio` are starts and results.
    """
    a = Z.diagonal()
    size = np.abs(Z)
    np.fill_diagonal(size, 0.0)

    def shares(m: Floats) -> Floats:
        ratio[:] = _level_ratios(a, size, m / k, ratio)
        return np.maximum(a - m / k * (1 - ratio**2), 0.0) * (1 + ratio) ** 2 / k

    _find_multipliers(shares, _free_shares(a, size.sum(axis=1), (a + size.sum(axis=1)) ** 2 / k), k, inside, mu)
    t, d = (2 * mu / k * (1 + ratio))[:, None], np.maximum(a - mu / k * (1 - ratio**2), 0.0)
    np.copyto(Y, np.where(mu[:, None] == 0, Z, np.where(d[:, None] > 0, Z - np.clip(Z, -t, t), 0.0)))
    np.fill_diagonal(Y, np.where(mu == 0, a, d))


def project_norms(Z: Floats, k: int, inside: Mask, mu: Floats, d: Floats, Y: Floats) -> None:
    """Project rows on {h_i <= 1 for rows inside, sum of h_i <= k - s over the others}, h_i = |Y_i|_2^2 / Y_ii."""
    a = Z.diagonal()
    np.copyto(Y, Z)
    np.fill_diagonal(Y, 0.0)
    square = np.einsum("ij,ij->i", Y, Y)

    def shares(m: Floats) -> Floats:
        d[:] = _norm_diagonals(a, square, m, d)
        return np.asarray(d + square * d / (d + 2 * m) ** 2)

    _find_multipliers(shares, _free_shares(a, square, a * a + square), k, inside, mu)
    d[:] = np.where(mu == 0, a, d)
    Y *= np.divide(d, d + 2 * mu, out=np.zeros_like(d), where=d > 0)[:, None]
    np.fill_diagonal(Y, d)


def project_cones(
    Z: Floats, z: Floats, weight: float, k: int, levels: bool, mu: Floats, start: Floats, Y: Floats, y: Floats
) -> None:
    """Project each row and its z on {|Y_i|_1^2 <= k Y_ii y_i} (levels), or on {|Y_i|_2^2 <= Y_ii y_i} (norms).

    The squared distance of z counts `weight` times. `mu` (multipliers) and `start` are starts and results.
    """
    a, size = Z.diagonal(), np.abs(Z)
    np.fill_diagonal(size, 0.0)
    total, square = size.sum(axis=1), (size * size).sum(axis=1)

    def shares(m: Floats) -> tuple[Floats, Floats]:
        if levels:
            start[:] = _level_ratios(a, size, m / k, start)
            d = np.maximum(a - m / k * (1 - start**2), 0.0)
            return d * (1 + start) ** 2 / k, d
        start[:] = _norm_diagonals(a, square, m, start)
        return start + square * start / (start + 2 * m) ** 2, start

    whole = (a + total) ** 2 / k if levels else a * a + square
    zero = _free_shares(a, total, whole) <= z

    def excess(x: Floats) -> Floats:
        """Return the logarithm of h over z + m / weight, a falling function of x = log m."""
        room = z + np.exp(x) / weight
        ratio = np.maximum(shares(np.exp(x))[0], SMALLEST_NORMAL) / np.where(room > 0, room, 1.0)
        return np.where(room > 0, np.log(ratio), 2.0)

    x = _roots_of_logs(excess, np.log(np.where(mu > 0, mu, FIRST_MULTIPLIER)), ~zero)
    d = shares(np.exp(x))[1]
    mu[:], y[:] = np.where(zero, 0.0, np.exp(x)), np.where(zero, z, np.maximum(z + np.exp(x) / weight, 0.0))
    t = (2 * mu / k * (1 + start) if levels else np.zeros_like(mu))[:, None]
    shrink = np.divide(d, d + 2 * mu, out=np.zeros_like(d), where=d > 0) if not levels else (d > 0).astype(float)
    np.copyto(Y, np.where(zero[:, None], Z, (Z - np.clip(Z, -t, t)) * shrink[:, None]))
    np.fill_diagonal(Y, np.where(zero, a, d))


def _free_shares(a: Floats, rest: Floats, whole: Floats) -> Floats:
    """Return h_i of the rows as they are, `whole` over their diagonal; infinite if they cannot stay so."""
    impossible = np.where((rest > 0) | (a < 0), np.inf, 0.0)
    return np.divide(whole, a, out=impossible, where=a > 0)


def _find_multipliers(shares: Callable[[Floats], Floats], free: Floats, k: int, inside: Mask, mu: Floats) -> None:
    """Write the multipliers to `mu`: the same for all rows not inside, and one for each row inside.

    `shares` returns h_i for multipliers, and `free` is h_i for multipliers that are zero. The logarithm of each
    constraint is a falling function of x = log mu.
    """

    def used(h: Floats) -> Floats:
        """Return the share of its limit that each row uses, or all rows that are not inside together."""
        return np.where(inside, h, h[~inside].sum() / max(k - int(np.count_nonzero(inside)), 1))

    def excess(x: Floats) -> Floats:
        return np.log(np.maximum(used(shares(np.exp(x))), SMALLEST_NORMAL))

    zero = used(free) <= 1
    x = _roots_of_logs(excess, np.log(np.where(mu > 0, mu, FIRST_MULTIPLIER)), ~zero)
    mu[:] = np.where(zero, 0.0, np.exp(x))


def _roots_of_logs(function: Callable[[Floats], Floats], x: Floats, searched: Mask) -> Floats:
    """Return the zeros of a falling function for some rows, by secant steps inside a bracket; x for the others."""
    low, high, x_last, f_last = np.full_like(x, -np.inf), np.full_like(x, np.inf), np.zeros_like(x), np.zeros_like(x)
    for step in range(100):
        if not searched.any():
            break
        f = function(x)
        low, high = np.where(f > 0, x, low), np.where(f > 0, high, x)
        moved = _next_logs(step, x, f, low, high, x_last, f_last)
        searched = searched & (np.abs(f) >= EXACT) & (np.abs(moved - x) >= SAME) & (np.abs(moved) <= FARTHEST_LOG)
        x_last, f_last, x = x, f, np.where(searched, moved, x)
    return x


def _next_logs(step: int, x: Floats, f: Floats, low: Floats, high: Floats, x_last: Floats, f_last: Floats) -> Floats:
    """Return the next trials. While one end of a bracket is open, the length of a step is limited."""
    moved = x + np.clip(f, -2.0, 2.0)
    if step > 0:
        moved = np.where(f != f_last, x - f * (x - x_last) / np.where(f != f_last, f - f_last, 1.0), moved)
    bracketed = np.isfinite(low) & np.isfinite(high)
    between = (moved > low) & (moved < high) & (step % 8 != 7)
    up = np.where(moved > x, np.minimum(moved, x + 4.0), x + 2.0)
    down = np.where(moved < x, np.maximum(moved, x - 4.0), x - 2.0)
    middle = 0.5 * (np.where(bracketed, low, 0.0) + np.where(bracketed, high, 0.0))
    return np.where(bracketed, np.where(between, moved, middle), np.where(f > 0, up, down))


def _level_ratios(a: Floats, size: Floats, c: Floats, start: Floats) -> Floats:
    """Return r = |y|_1/d of argmin (d - a)^2/2 + |y - z|^2/2 + c (d + |y|_1)^2/d for each row.

    The threshold is 2c(1 + r), d = a - c(1 - r^2), and r is the root of the decreasing function |y|_1 - r d, or the
    least r with d >= 0.
    """

    def function(q: Floats) -> tuple[Floats, Floats]:
        r, above = q - 1, np.maximum(size - (2 * c * q)[:, None], 0.0)
        slope = 2 * c * np.count_nonzero(above, axis=1) + a - c + 3 * c * r * r
        return above.sum(axis=1) - r * (a - c * (1 - r * r)), slope

    return _root(function, 1 + np.sqrt(np.maximum(1 - a / c, 0.0)), 1 + start) - 1


def _norm_diagonals(a: Floats, square: Floats, m: Floats, d: Floats) -> Floats:
    """Return d of argmin (d - a)^2/2 + |y - z|^2/2 + m (d^2 + |y|^2)/d for each row, given |z|^2; y = z d/(d + 2 m)."""

    def function(e: Floats) -> tuple[Floats, Floats]:
        return a + m + m * square / e**2 - e, 1 + 2 * m * square / e**3

    return np.asarray(np.maximum(_root(function, 2 * m, np.maximum(d, 0.0) + 2 * m) - 2 * m, 0.0))


def _root(function: Callable[[Floats], tuple[Floats, Floats]], least: Floats, start: Floats) -> Floats:
    """Return the root of a decreasing function for each row, or `least` if that is larger. All are positive.

    `function` returns values and falls: how much the function falls for each unit. Newton steps stay inside a bracket.
    """
    settled = function(least)[0] <= 0
    x, low, high = np.where(settled, least, np.maximum(start, least)), least, np.full_like(least, np.inf)
    for _ in range(200):
        f, fall = function(x)
        step = f / np.maximum(fall, SMALLEST_NORMAL)
        settled |= np.abs(step) <= CLOSE * x
        if settled.all():
            break
        low, high = np.where(f > 0, x, low), np.where(f > 0, high, x)
        moved, middle = x + step, np.where(high < np.inf, 0.5 * (low + high), 2 * x)
        x = np.where(settled, x, np.where((moved > low) & (moved < high), moved, middle))
    return x
