"""Compiled inner loop of the row-level relaxation. It is imported when first needed, because compiling takes time.

All arrays are float64 and C-contiguous. `u` and `Y` are stacks of one matrix (levels) or of two (levels and norms).

Numba keeps compiled code on disk and compiles again when this file changes. It does not notice a change of
`anderson.py` or `spectrahedron.py`, which are compiled into `advance`: delete `__pycache__` after such a change.
"""

import sys
from threading import Timer

import numpy as np
from numba import njit

from laconic.relaxations.anderson import empty_memory, next_point
from laconic.relaxations.spectrahedron import project

# Each step is this many times as long as the plain one (over-relaxation); it must be below two.
OVER_RELAXATION = 1.6
# The distance from one to the next larger number.
EPS = float(np.finfo(np.float64).eps)
# Multipliers are found when the logarithm of their constraint is below this.
EXACT = 1e-11
# The search for a multiplier starts here if no better start is known.
FIRST_MULTIPLIER = 1e-3
# The search for the logarithm of a multiplier stops at steps below this, and at values beyond this.
SAME, FARTHEST_LOG = 1e-14, 60.0
# Divisors are at least this.
LEAST_DIVISOR = 1e-300
# Say that code is being compiled after this many seconds. Reading it from disk takes less.
PATIENCE = 5.0

_next_point = njit(cache=True, nogil=True)(next_point)
_project = njit(cache=True, nogil=True)(project)


@njit(cache=True, nogil=True)
def _clipped(falling, sums, size, t):
    """Return how many of the falling values are above t, and the sum of their differences to t."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if falling[middle] > t:
            low = middle + 1
        else:
            high = middle
    return low, (sums[low - 1] - low * t if low > 0 else 0.0)


@njit(cache=True, nogil=True)
def _row(a, falling, sums, size, c, r):
    """Return d and r = |y|_1/d of argmin (d - a)^2/2 + |y - z|^2/2 + c (d + |y|_1)^2/d; the search starts at r.

    The threshold is 2c(1 + r), d = a - c(1 - r^2), and r is the root of the decreasing function |y|_1 - r d.
    """
    low = np.sqrt(1.0 - a / c) if a < c else 0.0
    _, total = _clipped(falling, sums, size, 2 * c * (1 + low))
    d = max(a - c * (1 - low * low), 0.0)
    if total - low * d <= 0:
        return d, low
    high = np.inf
    r = max(r, low)
    for _ in range(200):
        count, total = _clipped(falling, sums, size, 2 * c * (1 + r))
        f = total - r * (a - c * (1 - r * r))
        if f > 0:
            low = r
        else:
            high = r
        slope = -2 * c * count - a + c - 3 * c * r * r
        moved = r - f / slope if slope < 0 else np.inf
        if not (moved > low and moved < high):
            moved = 0.5 * (low + high) if high < np.inf else 2 * r + 1
        if abs(moved - r) <= 4 * EPS * (1 + r):
            r = moved
            break
        r = moved
    return max(a - c * (1 - r * r), 0.0), r


@njit(cache=True, nogil=True)
def _next_log(step, x, f, low, high, x_last, f_last):
    """Return the next trial for the zero of a decreasing function of x = log mu: a secant step inside the bracket.

    Where the function is flat a secant step is very long. While one end of the bracket is open, its length is limited.
    """
    moved = x + max(min(f, 2.0), -2.0)
    if step > 0 and f != f_last:
        moved = x - f * (x - x_last) / (f - f_last)
    bracketed = high < np.inf and low > -np.inf
    if bracketed and (not (moved > low and moved < high) or step % 8 == 7):
        moved = 0.5 * (low + high)
    elif not bracketed and f > 0:
        moved = min(moved, x + 4.0) if moved > x else x + 2.0
    elif not bracketed:
        moved = max(moved, x - 4.0) if moved < x else x - 2.0
    return moved


@njit(cache=True, nogil=True)
def _norm_row(a, square, mu, d):
    """Return d of argmin (d - a)^2/2 + |y - z|^2/2 + mu (d^2 + |y|^2)/d, given |z|^2; y = z d/(d + 2 mu)."""
    low, high = 2 * mu, np.inf
    if low - a - mu - mu * square / (low * low) >= 0:
        return 0.0
    e = max(d, 0.0) + 2 * mu
    for _ in range(200):
        f = e - a - mu - mu * square / (e * e)
        if f < 0:
            low = e
        else:
            high = e
        moved = e - f / (1 + 2 * mu * square / (e * e * e))
        if not (moved > low and moved < high):
            moved = 0.5 * (low + high) if high < np.inf else 2 * e
        if abs(moved - e) <= 4 * EPS * e:
            e = moved
            break
        e = moved
    return max(e - 2 * mu, 0.0)


@njit(cache=True, nogil=True)
def _solve_rows(Z, k, inside, mu, ratio, d, falling, sums, size, total):
    """Find the multipliers: one for all rows not inside, and one for each row inside.

    For sorted rows h_i = |Y_i|_1^2 / (k Y_ii), and `total` holds |z|_1 of each row z. Otherwise h_i = |Y_i|_2^2 / Y_ii,
    and `total` holds |z|_2^2.
    """
    n, levels = len(Z), len(size) > 0
    s, shared = 0, 0.0
    for i in range(n):
        if inside[i]:
            s += 1
        else:
            shared = mu[i]
    for group in range(-1, n):  # -1: the rows with a common multiplier; i: a row inside, with its own multiplier
        if (group >= 0 and not inside[group]) or (group < 0 and s == n):
            continue
        target = 1.0 if group >= 0 else float(k - s)
        first, last = (0, n) if group < 0 else (group, group + 1)
        x = shared if group < 0 else mu[group]
        h, feasible = 0.0, True
        for i in range(first, last):
            if group < 0 and inside[i]:
                continue
            if Z[i, i] > 0:
                h += (Z[i, i] + total[i]) ** 2 / (k * Z[i, i]) if levels else Z[i, i] + total[i] / Z[i, i]
            elif total[i] > 0 or Z[i, i] < 0:
                feasible = False
        if feasible and h <= target:
            for i in range(first, last):
                if group >= 0 or not inside[i]:
                    mu[i], d[i] = 0.0, Z[i, i]
            continue
        x = np.log(x) if x > 0 else np.log(FIRST_MULTIPLIER)
        low, high, x_last, f_last = -np.inf, np.inf, 0.0, 0.0
        for step in range(100):
            m = np.exp(x)
            h = 0.0
            for i in range(first, last):
                if group < 0 and inside[i]:
                    continue
                if levels:
                    d[i], ratio[i] = _row(Z[i, i], falling[i], sums[i], size[i], m / k, ratio[i])
                    h += d[i] * (1 + ratio[i]) ** 2 / k
                else:
                    d[i] = _norm_row(Z[i, i], total[i], m, d[i])
                    if d[i] > 0:
                        h += d[i] + total[i] * d[i] / (d[i] + 2 * m) ** 2
            f = np.log(max(h, LEAST_DIVISOR) / max(target, LEAST_DIVISOR))
            if abs(f) < EXACT:
                break
            if f > 0:
                low = x
            else:
                high = x
            moved = _next_log(step, x, f, low, high, x_last, f_last)
            if abs(moved - x) < SAME or abs(moved) > FARTHEST_LOG:
                break
            x_last, f_last, x = x, f, moved
        for i in range(first, last):
            if group >= 0 or not inside[i]:
                mu[i] = np.exp(x)


@njit(cache=True, nogil=True)
def _sorted_rows(Z, floor, falling, sums, size, total):
    """Sort the |Z_ij| above a floor in each row, without the diagonal, and compute their running sums."""
    n = len(Z)
    for i in range(n):
        q, everything = 0, 0.0
        for j in range(n):
            value = abs(Z[i, j])
            if j != i:
                everything += value
                if value > floor[i]:
                    # With a minus sign, so that sorting puts the largest first.
                    falling[i, q] = -value
                    q += 1
        falling[i, :q].sort()
        running = 0.0
        for j in range(q):
            falling[i, j] = -falling[i, j]
            running += falling[i, j]
            sums[i, j] = running
        size[i], total[i] = q, everything


@njit(cache=True, nogil=True)
def project_levels(Z, k, inside, mu, ratio, Y):
    """Project rows on {h_i <= 1 for rows inside, sum of h_i <= k - s over the others}, h_i = |Y_i|_1^2 / (k Y_ii).

    `mu` (a multiplier for each row) and `ratio` are starts and results. Entries far below the last threshold of their
    row are not sorted. If the new threshold falls among them, everything is done again with all entries.
    """
    n = len(Z)
    falling, sums = np.empty((n, n)), np.empty((n, n))
    size, total = np.zeros(n, np.int64), np.zeros(n)
    d, floor = np.zeros(n), np.empty(n)
    for i in range(n):
        floor[i] = 1.9 * mu[i] / k * (1 + ratio[i])
    for _ in range(2):
        _sorted_rows(Z, floor, falling, sums, size, total)
        _solve_rows(Z, k, inside, mu, ratio, d, falling, sums, size, total)
        enough = True
        for i in range(n):
            if mu[i] > 0 and 2 * mu[i] / k * (1 + ratio[i]) < floor[i]:
                enough = False
        if enough:
            break
        floor[:] = 0.0
    for i in range(n):
        t = 2 * mu[i] / k * (1 + ratio[i])
        for j in range(n):
            value = abs(Z[i, j]) - t
            if j == i:
                Y[i, i] = d[i]
            elif mu[i] == 0.0:
                Y[i, j] = Z[i, j]
            elif value > 0 and d[i] > 0:
                Y[i, j] = value if Z[i, j] > 0 else -value
            else:
                Y[i, j] = 0.0


@njit(cache=True, nogil=True)
def project_norms(Z, k, inside, mu, d, Y):
    """Project rows on {h_i <= 1 for rows inside, sum of h_i <= k - s over the others}, h_i = |Y_i|_2^2 / Y_ii."""
    n = len(Z)
    square, unsorted = np.zeros(n), np.empty((0, 0))
    for i in range(n):
        for j in range(n):
            if j != i:
                square[i] += Z[i, j] * Z[i, j]
    _solve_rows(Z, k, inside, mu, square, d, unsorted, unsorted, np.zeros(0, np.int64), square)
    for i in range(n):
        shrink = d[i] / (d[i] + 2 * mu[i]) if d[i] > 0 else 0.0
        for j in range(n):
            Y[i, j] = d[i] if j == i else Z[i, j] * shrink


@njit(cache=True, nogil=True)
def advance(
    S, k, inside, stiffness, steps, u, Y, mu, ratio, d, basis, residual, last, moves, changes, gram, counts, residuals
):
    """Take steps of the splitting in place; return F with X = FF', the basis, the residual, and if all is finite."""
    parts, n = u.shape[0], u.shape[1]
    F, W, move = np.zeros((n, 1)), np.empty((n, n)), np.empty((parts, n, n))
    flat, g = u.reshape(parts * n * n), move.reshape(parts * n * n)
    for _ in range(steps):
        project_levels(u[0], k, inside, mu[0], ratio, Y[0])
        if parts == 2:
            project_norms(u[1], k, inside, mu[1], d, Y[1])
        finite = True
        for i in range(n):
            for j in range(i + 1):
                value = S[i, j] / stiffness
                for p in range(parts):
                    value += Y[p, i, j] + Y[p, j, i] - 0.5 * (u[p, i, j] + u[p, j, i])
                W[i, j] = value / parts
                W[j, i] = W[i, j]
                finite = finite and np.isfinite(W[i, j])
        if not finite:
            return F, basis, residual, False
        F, weights, basis = _project(W, basis, 0.1 * min(residual, 0.1))
        X = F @ F.T
        for p in range(parts):
            for i in range(n):
                for j in range(n):
                    move[p, i, j] = X[i, j] - Y[p, i, j]
        residual = np.sqrt(np.dot(g, g) / max(np.dot(weights, weights), LEAST_DIVISOR))
        for i in range(len(g)):
            g[i] *= OVER_RELAXATION
        flat[:] = _next_point(flat, g, last, moves, changes, gram, counts, residuals)
    return F, basis, residual, True


@njit(cache=True, nogil=True)
def priced_norms(N, k, inside):
    """Return the cost of N; the diagonal of the rows not inside is raised where it is free."""
    n = len(N)
    worst, s, own = 0.0, 0, 0.0
    square = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if j != i:
                square[i] += N[i, j] * N[i, j]
        c, length = N[i, i], np.sqrt(N[i, i] ** 2 + square[i])
        # The second form is the first without the cancellation.
        g = 0.5 * (c + length) if c >= 0 else 0.5 * square[i] / (length - c)
        if inside[i]:
            s += 1
            own += g
        else:
            worst = max(worst, g)
    for i in range(n):
        if not inside[i] and worst > 0:
            N[i, i] = worst - square[i] / (4 * worst) * (1 + 4 * EPS)
    # The sums of squares are off by n EPS at most.
    return (own + max(k - s, 0) * worst) * (1 + (2 * n + 8) * EPS)


def warm_up() -> None:
    """Compile everything, or read it from disk. If that takes long, a message on standard error says so."""
    if advance.signatures:
        return
    words = "laconic: preparing compiled code; the first time this takes about twenty seconds."
    message = Timer(PATIENCE, print, (words,), {"file": sys.stderr})
    message.start()
    try:
        n = 2
        u, Y, mu, inside = np.zeros((2, n, n)), np.zeros((2, n, n)), np.full((2, n), 1e-3), np.zeros(n, np.bool_)
        memory = empty_memory(u.size)
        advance(np.eye(n), 1, inside, 1.0, 1, u, Y, mu, np.zeros(n), np.zeros(n), np.zeros((n, 0)), 1.0, *memory)
        priced_norms(np.zeros((n, n)), 1, inside)
    finally:
        message.cancel()
