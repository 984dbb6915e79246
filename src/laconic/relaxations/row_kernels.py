"""Compiled inner loops of the row-level relaxation. Imported when first needed: a default fit never waits for it.

All arrays are float64 and C-contiguous; `u` and `Y` are stacks of one matrix (levels) or two (levels and norms).
"""

import numpy as np
from numba import njit

# Steps remembered by the extrapolation, as in `laconic.relaxations.acceleration`.
MEMORY = 5
BEGIN_BELOW, GROWTH, RIDGE, PATIENCE = 0.5, 2.0, 1e-8, 25
OVER_RELAXATION = 1.6
# Below this size a whole eigendecomposition is cheaper than following a subspace.
WHOLE, SPARE, SWEEPS = 40, 3, 3
EXACT = 1e-11
EPS = float(np.finfo(np.float64).eps)


@njit(cache=True, nogil=True)
def _clipped(falling, sums, size, t):
    """Return how many of the falling values exceed t and the sum of what they exceed it by."""
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
    """Return d and r = |y|_1/d of argmin (d - a)^2/2 + |y - z|^2/2 + c (d + |y|_1)^2/d, started at r.

    The threshold is 2c(1 + r), d = a - c(1 - r^2), and r is the root of the falling function |y|_1 - r d.
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
    """Return the next trial of a falling function of x = log mu: secant steps inside the bracket, of bounded length.

    Where the function is flat a secant leads far out, and while one end of the bracket is open nothing else stops it.
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
    """Find the multipliers: one that the rows not inside share, and one for each row inside.

    If rows were sorted h_i = |Y_i|_1^2 / (k Y_ii), and `total` holds |z|_1 of each row z; otherwise h_i = |Y_i|_2^2 /
    Y_ii, and it holds |z|_2^2.
    """
    n, levels = len(Z), len(size) > 0
    s, shared = 0, 0.0
    for i in range(n):
        if inside[i]:
            s += 1
        else:
            shared = mu[i]
    for group in range(-1, n):  # -1: the rows that share a multiplier; i: a row inside, with its own
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
        x = np.log(x) if x > 0 else np.log(1e-3)
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
            f = np.log(max(h, 1e-300) / max(target, 1e-300))
            if abs(f) < EXACT:
                break
            if f > 0:
                low = x
            else:
                high = x
            moved = _next_log(step, x, f, low, high, x_last, f_last)
            if abs(moved - x) < 1e-14 or abs(moved) > 60:
                break
            x_last, f_last, x = x, f, moved
        for i in range(first, last):
            if group >= 0 or not inside[i]:
                mu[i] = np.exp(x)


@njit(cache=True, nogil=True)
def _sorted_rows(Z, floor, falling, sums, size, total):
    """Sort what is above a floor in each row, off the diagonal and in absolute value, with its running sums."""
    n = len(Z)
    for i in range(n):
        q, everything = 0, 0.0
        for j in range(n):
            value = abs(Z[i, j])
            if j != i:
                everything += value
                if value > floor[i]:
                    # With its sign turned, so that sorting puts the largest first.
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
    row are not sorted; should the threshold fall among them, all is done again with every entry.
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
        scale = d[i] / (d[i] + 2 * mu[i]) if d[i] > 0 else 0.0
        for j in range(n):
            Y[i, j] = d[i] if j == i else Z[i, j] * scale


@njit(cache=True, nogil=True)
def _simplex(rising):
    """Return the projection of rising values on the simplex, largest first, of the positive ones only."""
    n = len(rising)
    total, shift, used = 0.0, 0.0, 0
    for i in range(n):
        total += rising[n - 1 - i]
        level = (total - 1.0) / (i + 1)
        if rising[n - 1 - i] - level > 0:
            shift, used = level, i + 1
        else:
            break
    weights = np.empty(used)
    for i in range(used):
        weights[i] = max(rising[n - 1 - i] - shift, 0.0)
    return weights


@njit(cache=True, nogil=True)
def _last_columns(M, count):
    """Return the last columns, in reverse."""
    n, m = M.shape
    result = np.empty((n, count))
    for i in range(n):
        for j in range(count):
            result[i, j] = M[i, m - 1 - j]
    return result


@njit(cache=True, nogil=True)
def _scaled(B, weights):
    """Return F with FF' = sum w_j b_j b_j'."""
    n, used = len(B), len(weights)
    F = np.empty((n, used))
    for j in range(used):
        scale = np.sqrt(weights[j])
        for i in range(n):
            F[i, j] = scale * B[i, j]
    return F


@njit(cache=True, nogil=True)
def _spectral(W, basis, accuracy):
    """Project on {X >= 0, Tr X = 1}: F with X = FF', its squared column lengths, and the basis to follow next time."""
    n, b = len(W), basis.shape[1]
    if n > WHOLE and b > 0 and 6 * b < n:
        B = basis
        for _ in range(SWEEPS):
            image = W @ B
            b = B.shape[1]
            both = np.empty((n, 2 * b))
            for i in range(n):
                for j in range(b):
                    both[i, j], both[i, b + j] = B[i, j], image[i, j]
            span = np.ascontiguousarray(np.linalg.qr(both)[0])
            images = W @ span
            inner = span.T @ images
            # Of a matrix symmetric up to rounding LAPACK reads one triangle.
            values, rotation = np.linalg.eigh(inner)
            weights = _simplex(values)
            used = len(weights)
            if used + SPARE > len(values):
                break
            rotation = _last_columns(rotation, used + SPARE)
            B = span @ rotation
            residual = images @ rotation
            worst = 0.0
            for j in range(used):
                square = 0.0
                for i in range(n):
                    square += (residual[i, j] - B[i, j] * values[len(values) - 1 - j]) ** 2
                worst = max(worst, square)
            if np.sqrt(worst) <= accuracy:
                return _scaled(B, weights), weights, B
    values, vectors = np.linalg.eigh(W)
    weights = _simplex(values)
    B = _last_columns(vectors, min(len(weights) + SPARE, n))
    return _scaled(B, weights), weights, B


@njit(cache=True, nogil=True)
def _remember(u, g, size, last, moves, changes, gram, counts, sizes):
    """Take the last move into the memory of the extrapolation."""
    if counts[2] == 1:
        if size > GROWTH * sizes[1]:
            counts[0] = 0
        else:
            place = counts[0] % MEMORY
            counts[0] += 1
            for i in range(len(u)):
                changes[place, i] = g[i] - last[1, i]
                moves[place, i] = u[i] - last[0, i] + changes[place, i]
            for other in range(min(counts[0], MEMORY)):
                value = np.dot(changes[other], changes[place])
                gram[place, other] = value
                gram[other, place] = value
    for i in range(len(u)):
        last[0, i], last[1, i] = u[i], g[i]
    counts[2] = 1
    sizes[1] = size


@njit(cache=True, nogil=True)
def _extrapolate(u, g, last, moves, changes, gram, counts, sizes):
    """Move u to the next point of u -> u + g by Anderson's method; plain when the residual stops falling."""
    size = np.sqrt(np.dot(g, g))
    _remember(u, g, size, last, moves, changes, gram, counts, sizes)
    counts[1] = 0 if size < sizes[0] else counts[1] + 1
    sizes[0] = min(sizes[0], size)
    for i in range(len(u)):
        u[i] += g[i]
    if counts[1] > PATIENCE:
        if counts[1] > 2 * PATIENCE:
            counts[1] = 0
        return
    m = min(counts[0], MEMORY)
    if m < 3 or size >= BEGIN_BELOW:
        return
    small, right, ridge = np.empty((m, m)), np.empty(m), 0.0
    for i in range(m):
        ridge += RIDGE * gram[i, i]
    if ridge <= 0:
        return
    for i in range(m):
        for j in range(m):
            small[i, j] = gram[i, j] + (ridge if i == j else 0.0)
        right[i] = np.dot(changes[i], g)
    values, vectors = np.linalg.eigh(small)
    weights = vectors @ ((vectors.T @ right) / values)
    for j in range(m):
        for i in range(len(u)):
            u[i] -= weights[j] * moves[j, i]


@njit(cache=True, nogil=True)
def advance(
    S, k, inside, stiffness, steps, u, Y, mu, ratio, d, basis, residual, last, moves, changes, gram, counts, sizes
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
        F, weights, basis = _spectral(W, basis, 0.1 * min(residual, 0.1))
        X = F @ F.T
        for p in range(parts):
            for i in range(n):
                for j in range(n):
                    move[p, i, j] = X[i, j] - Y[p, i, j]
        residual = np.sqrt(np.dot(g, g) / max(np.dot(weights, weights), 1e-300))
        for i in range(len(g)):
            g[i] *= OVER_RELAXATION
        _extrapolate(flat, g, last, moves, changes, gram, counts, sizes)
    return F, basis, residual, True


@njit(cache=True, nogil=True)
def priced_levels(L, k, inside):
    """Return the cost of L, max g over the rows not inside, and each row's m; the diagonal is raised to what is free.

    With c the diagonal and m the largest |L_ij| of the rest, g = c if m <= 2c, else m^2/(4(m - c)). The rows not inside
    pay for the largest g among them, so each may have the largest c of that price.
    """
    n = len(L)
    m = np.zeros(n)
    worst, s, own = 0.0, 0, 0.0
    for i in range(n):
        for j in range(n):
            if j != i:
                m[i] = max(m[i], abs(L[i, j]))
        c = L[i, i]
        g = c if m[i] <= 2 * c else m[i] * m[i] / (4 * (m[i] - c))
        if inside[i]:
            s += 1
            own += max(g, 0.0)
        else:
            worst = max(worst, g)
    for i in range(n):
        if inside[i]:
            continue
        if m[i] <= 2 * worst:
            L[i, i] = worst
        elif worst > 0:
            # A quotient rounded down keeps g at or below the price paid.
            L[i, i] = m[i] - m[i] * m[i] / (4 * worst) * (1 + 4 * EPS)
    return k * (own + max(k - s, 0) * worst) * (1 + 8 * EPS), worst, m


@njit(cache=True, nogil=True)
def priced_norms(N, k, inside):
    """Return the cost of N; the diagonal of the rows not inside is raised to what is free."""
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
    # The sums of squares are off by n eps at most.
    return (own + max(k - s, 0) * worst) * (1 + (2 * n + 8) * EPS)


def warm_up() -> None:
    """Compile, or read from disk what was compiled before, unless that is done."""
    if advance.signatures:
        return
    n, size = 2, 8
    u, Y, mu = np.zeros((2, n, n)), np.zeros((2, n, n)), np.full((2, n), 1e-3)
    memory = np.zeros((2, size)), np.zeros((MEMORY, size)), np.zeros((MEMORY, size)), np.zeros((MEMORY, MEMORY))
    counts, sizes, inside = np.zeros(3, np.int64), np.full(2, np.inf), np.zeros(n, np.bool_)
    advance(
        np.eye(n), 1, inside, 1.0, 1, u, Y, mu, np.zeros(n), np.zeros(n), np.zeros((n, 0)), 1.0, *memory, counts, sizes
    )
    priced_levels(np.zeros((n, n)), 1, inside)
    priced_norms(np.zeros((n, n)), 1, inside)
