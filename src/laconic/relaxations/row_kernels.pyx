# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, freethreading_compatible=True
"""Compiled inner loop of the row-level relaxation. `row_kernels_plain` has the same steps without a compiler.

All arrays are float64 and C-contiguous. `u` and `Y` are stacks of one matrix (levels) or of two (levels and norms).
Small eigenvectors are kept as rows, because LAPACK stores matrices by columns.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, isfinite, log, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport ddot, dgemm, dgemv
from scipy.linalg.cython_lapack cimport dgeqrf, dgesv, dlasrt, dorgqr, dsyevd

from laconic.relaxations import l1_splitting, elementary

cdef:
    # Each step is this many times as long as the plain one (over-relaxation); it must be below two.
    double OVER_RELAXATION = 1.6
    # The search for a row ends at steps below this, relative to the number searched.
    double CLOSE = 1e-15
    # Multipliers are found when the logarithm of their constraint is below this.
    double EXACT = 1e-11
    # The search for a multiplier starts here if no better start is known.
    double FIRST_MULTIPLIER = 1e-3
    # The search for the logarithm of a multiplier stops at steps below this, and at values beyond this.
    double SAME = 1e-14, FARTHEST_LOG = 60.0
    # Divisors are at least this.
    double LEAST_DIVISOR = 1e-300
    # `l1_splitting` and `elementary` describe these.
    int MEMORY = l1_splitting.MEMORY, FIRST = l1_splitting.FIRST, PATIENCE = l1_splitting.PATIENCE
    double BEGIN_BELOW = l1_splitting.BEGIN_BELOW, GROWTH = l1_splitting.GROWTH
    double FARTHEST = l1_splitting.FARTHEST, RIDGE = l1_splitting.RIDGE
    int WHOLE = elementary.WHOLE, SPARE = elementary.SPARE, SWEEPS = elementary.SWEEPS
    double ZERO = 0.0, ONE = 1.0
    int UNIT = 1
    # More features than this are refused: LAPACK and the places in the workspace are counted in 32 bits.
    int MOST_FEATURES = 15_000


cdef struct Rows:
    # The rows to project, and the workspace of the projections.
    int n, k
    const unsigned char* inside
    double* falling  # n x n: the |Z_ij| of a row above a floor, largest first
    double* sums  # n x n: their running sums
    double* total  # |z|_1 of each row z (levels), or |z|_2^2 (norms)
    double* floor
    double* diagonal
    int* size  # how many entries of a row are sorted


cdef inline int clipped(const double* falling, const double* sums, int size, double t, double* total) noexcept nogil:
    """Return how many of the falling values are above t, and write the sum of their differences to t to `total`."""
    cdef int low = 0, high = size, middle
    while low < high:
        middle = (low + high) // 2
        if falling[middle] > t:
            low = middle + 1
        else:
            high = middle
    total[0] = sums[low - 1] - low * t if low > 0 else 0.0
    return low


cdef double level_row(
    double a, const double* falling, const double* sums, int size, double c, double* ratio
) noexcept nogil:
    """Return d and r = |y|_1/d of argmin (d - a)^2/2 + |y - z|^2/2 + c (d + |y|_1)^2/d; the search starts at r.

    The threshold is 2c(1 + r), d = a - c(1 - r^2), and r is the root of the decreasing function |y|_1 - r d.
    """
    cdef double low = sqrt(1.0 - a / c) if a < c else 0.0
    cdef double high = INFINITY, total, d, r, f, slope, moved
    cdef int count, step
    clipped(falling, sums, size, 2 * c * (1 + low), &total)
    d = max(a - c * (1 - low * low), 0.0)
    if total - low * d <= 0:
        ratio[0] = low
        return d
    r = max(ratio[0], low)
    for step in range(200):
        count = clipped(falling, sums, size, 2 * c * (1 + r), &total)
        f = total - r * (a - c * (1 - r * r))
        if f > 0:
            low = r
        else:
            high = r
        slope = -2 * c * count - a + c - 3 * c * r * r
        moved = r - f / slope if slope < 0 else INFINITY
        if fabs(moved - r) <= CLOSE * (1 + r):
            break
        if not (moved > low and moved < high):
            moved = 0.5 * (low + high) if high < INFINITY else 2 * r + 1
        r = moved
    ratio[0] = r
    return max(a - c * (1 - r * r), 0.0)


cdef double norm_row(double a, double square, double mu, double d) noexcept nogil:
    """Return d of argmin (d - a)^2/2 + |y - z|^2/2 + mu (d^2 + |y|^2)/d, given |z|^2; y = z d/(d + 2 mu)."""
    cdef double low = 2 * mu, high = INFINITY, e, f, moved
    cdef int step
    if low - a - mu - mu * square / (low * low) >= 0:
        return 0.0
    e = max(d, 0.0) + 2 * mu
    for step in range(200):
        f = e - a - mu - mu * square / (e * e)
        if f < 0:
            low = e
        else:
            high = e
        moved = e - f / (1 + 2 * mu * square / (e * e * e))
        if fabs(moved - e) <= CLOSE * e:
            break
        if not (moved > low and moved < high):
            moved = 0.5 * (low + high) if high < INFINITY else 2 * e
        e = moved
    return max(e - 2 * mu, 0.0)


cdef double next_log(
    int step, double x, double f, double low, double high, double x_last, double f_last
) noexcept nogil:
    """Return the next trial for the zero of a decreasing function of x = log mu: a secant step inside the bracket.

    Where the function is flat a secant step is very long. While one end of the bracket is open, its length is limited.
    """
    cdef double moved = x + max(min(f, 2.0), -2.0)
    cdef bint bracketed = high < INFINITY and low > -INFINITY
    if step > 0 and f != f_last:
        moved = x - f * (x - x_last) / (f - f_last)
    if bracketed:
        return 0.5 * (low + high) if not (moved > low and moved < high) or step % 8 == 7 else moved
    if f > 0:
        return min(moved, x + 4.0) if moved > x else x + 2.0
    return max(moved, x - 4.0) if moved < x else x - 2.0


cdef inline double free_share(Rows* rows, int i, double a, bint levels) noexcept nogil:
    """Return h_i of row i as it is; infinite if it cannot stay so."""
    cdef double total = rows.total[i]
    if a > 0:
        return (a + total) * (a + total) / (rows.k * a) if levels else a + total / a
    return INFINITY if total > 0 or a < 0 else 0.0


cdef double row_share(Rows* rows, int i, double a, bint levels, double m, double* ratio, double* d) noexcept nogil:
    """Return h_i of row i for the multiplier m > 0, and write its diagonal to d."""
    cdef double total = rows.total[i]
    if levels:
        d[0] = level_row(a, &rows.falling[i * rows.n], &rows.sums[i * rows.n], rows.size[i], m / rows.k, ratio)
        return d[0] * (1 + ratio[0]) * (1 + ratio[0]) / rows.k
    d[0] = norm_row(a, total, m, d[0])
    return d[0] + total * d[0] / ((d[0] + 2 * m) * (d[0] + 2 * m)) if d[0] > 0 else 0.0


cdef void solve_rows(
    Rows* rows, const double* Z, bint levels, double* mu, double* ratio, double* d
) noexcept nogil:
    """Find the multipliers: one for all rows not inside, and one for each row inside.

    For levels h_i = |Y_i|_1^2 / (k Y_ii), and for norms h_i = |Y_i|_2^2 / Y_ii, where `ratio` is not used.
    """
    cdef int n = rows.n, k = rows.k, s = 0, i, group, first, last, step
    cdef double shared = 0.0, target, x, m, h, f, low, high, x_last, f_last, moved
    cdef const unsigned char* inside = rows.inside
    for i in range(n):
        if inside[i]:
            s += 1
        else:
            shared = mu[i]
    for group in range(-1, n):  # -1: the rows with a common multiplier; i: a row inside, with its own multiplier
        if (group >= 0 and not inside[group]) or (group < 0 and s == n):
            continue
        target = 1.0 if group >= 0 else <double>(k - s)
        first = max(group, 0)
        last = group + 1 if group >= 0 else n
        x = shared if group < 0 else mu[group]
        h = 0.0
        for i in range(first, last):
            if group >= 0 or not inside[i]:
                h += free_share(rows, i, Z[i * n + i], levels)
        if h <= target:
            for i in range(first, last):
                if group >= 0 or not inside[i]:
                    mu[i], d[i] = 0.0, Z[i * n + i]
            continue
        x = log(x) if x > 0 else log(FIRST_MULTIPLIER)
        low, high, x_last, f_last = -INFINITY, INFINITY, 0.0, 0.0
        for step in range(100):
            m = exp(x)
            h = 0.0
            for i in range(first, last):
                if group >= 0 or not inside[i]:
                    h += row_share(rows, i, Z[i * n + i], levels, m, &ratio[i], &d[i])
            f = log(max(h, LEAST_DIVISOR) / max(target, LEAST_DIVISOR))
            if fabs(f) < EXACT:
                break
            if f > 0:
                low = x
            else:
                high = x
            moved = next_log(step, x, f, low, high, x_last, f_last)
            if fabs(moved - x) < SAME or fabs(moved) > FARTHEST_LOG:
                break
            x_last, f_last, x = x, f, moved
        for i in range(first, last):
            if group >= 0 or not inside[i]:
                mu[i] = exp(x)


cdef void sort_rows(Rows* rows, const double* Z) noexcept nogil:
    """Sort the |Z_ij| above a floor in each row, without the diagonal, and compute their running sums."""
    cdef int n = rows.n, i, j, q, info
    cdef double value, running, everything
    cdef double* falling
    for i in range(n):
        falling = &rows.falling[i * n]
        q, everything = 0, 0.0
        for j in range(n):
            if j != i:
                value = fabs(Z[i * n + j])
                everything += value
                if value > rows.floor[i]:
                    falling[q] = value
                    q += 1
        dlasrt("D", &q, falling, &info)
        running = 0.0
        for j in range(q):
            running += falling[j]
            rows.sums[i * n + j] = running
        rows.size[i], rows.total[i] = q, everything


cdef void levels_into(Rows* rows, const double* Z, double* mu, double* ratio, double* Y) noexcept nogil:
    """Project rows on {h_i <= 1 for rows inside, sum of h_i <= k - s over the others}, h_i = |Y_i|_1^2 / (k Y_ii).

    `mu` (a multiplier for each row) and `ratio` are starts and results. Entries far below the last threshold of their
    row are not sorted. If the new threshold falls among them, everything is done again with all entries.
    """
    cdef int n = rows.n, k = rows.k, i, j, attempt
    cdef double t, value
    cdef bint enough
    cdef double* d = rows.diagonal
    for i in range(n):
        rows.floor[i] = 1.9 * mu[i] / k * (1 + ratio[i])
    for attempt in range(2):
        sort_rows(rows, Z)
        solve_rows(rows, Z, True, mu, ratio, d)
        enough = True
        for i in range(n):
            if mu[i] > 0 and 2 * mu[i] / k * (1 + ratio[i]) < rows.floor[i]:
                enough = False
        if enough:
            break
        for i in range(n):
            rows.floor[i] = 0.0
    for i in range(n):
        t = 2 * mu[i] / k * (1 + ratio[i])
        if mu[i] == 0.0:
            memcpy(&Y[i * n], &Z[i * n], n * sizeof(double))
        else:
            for j in range(n):
                value = fabs(Z[i * n + j]) - t
                if value > 0 and d[i] > 0:
                    Y[i * n + j] = value if Z[i * n + j] > 0 else -value
                else:
                    Y[i * n + j] = 0.0
        Y[i * n + i] = d[i]


cdef void norms_into(Rows* rows, const double* Z, double* mu, double* d, double* Y) noexcept nogil:
    """Project rows on {h_i <= 1 for rows inside, sum of h_i <= k - s over the others}, h_i = |Y_i|_2^2 / Y_ii."""
    cdef int n = rows.n, i, j
    cdef double square, shrink
    for i in range(n):
        square = 0.0
        for j in range(n):
            if j != i:
                square += Z[i * n + j] * Z[i * n + j]
        rows.total[i] = square
    solve_rows(rows, Z, False, mu, d, d)
    for i in range(n):
        shrink = d[i] / (d[i] + 2 * mu[i]) if d[i] > 0 else 0.0
        for j in range(n):
            Y[i * n + j] = Z[i * n + j] * shrink
        Y[i * n + i] = d[i]


cdef void solve_cones(
    Rows* rows, const double* Z, const double* z, double weight, bint levels, double* mu, double* ratio, double* d,
    double* y
) noexcept nogil:
    """Find the multiplier of each row with a z of its own, and that z: the root of h_i = z_i + m / weight."""
    cdef int i, step
    cdef double a, h, x, m, f, low, high, x_last, f_last, moved
    for i in range(rows.n):
        a = Z[i * rows.n + i]
        if free_share(rows, i, a, levels) <= z[i]:
            mu[i], d[i], y[i] = 0.0, a, z[i]
            continue
        x = log(mu[i]) if mu[i] > 0 else log(FIRST_MULTIPLIER)
        low, high, x_last, f_last = -INFINITY, INFINITY, 0.0, 0.0
        for step in range(100):
            m = exp(x)
            h = row_share(rows, i, a, levels, m, &ratio[i], &d[i])
            f = log(max(h, LEAST_DIVISOR) / (z[i] + m / weight)) if z[i] + m / weight > 0 else 2.0
            if fabs(f) < EXACT:
                break
            if f > 0:
                low = x
            else:
                high = x
            moved = next_log(step, x, f, low, high, x_last, f_last)
            if fabs(moved - x) < SAME or fabs(moved) > FARTHEST_LOG:
                break
            x_last, f_last, x = x, f, moved
        mu[i], y[i] = m, max(z[i] + m / weight, 0.0)


cdef class Workspace:
    """Memory for the steps on n features."""

    cdef Rows rows
    cdef double[::1] doubles
    cdef int[::1] integers
    cdef const unsigned char[::1] inside
    # Where the parts of `doubles` and `integers` begin.
    cdef double* W
    cdef double* vectors
    cdef double* span
    cdef double* images
    cdef double* basis
    cdef double* values
    cdef double* weights
    cdef double* work
    cdef int* iwork
    cdef int n, n_work, n_iwork, b, used

    def __cinit__(self, inside, int k):
        if len(inside) > MOST_FEATURES:
            raise MemoryError(f"{len(inside)} features are kept; the row-level relaxation takes at most {MOST_FEATURES}.")
        cdef int n = len(inside)
        self.n, self.n_work, self.n_iwork, self.b, self.used = n, 1 + 38 * n + 2 * n * n, 3 + 5 * n, 0, 0
        self.inside = np.asarray(inside, dtype=np.bool_).view(np.uint8)
        self.doubles = np.empty(7 * n * n + 5 * n + self.n_work)
        self.integers = np.empty(n + self.n_iwork, dtype=np.intc)
        cdef double* place = &self.doubles[0]
        self.rows.n, self.rows.k, self.rows.inside = n, k, &self.inside[0]
        self.rows.falling, self.rows.sums, self.W = place, place + n * n, place + 2 * n * n
        self.vectors, self.span, self.images = place + 3 * n * n, place + 4 * n * n, place + 5 * n * n
        self.basis = place + 6 * n * n
        place += 7 * n * n
        self.rows.total, self.rows.floor, self.rows.diagonal = place, place + n, place + 2 * n
        self.values, self.weights, self.work = place + 3 * n, place + 4 * n, place + 5 * n
        self.rows.size, self.iwork = &self.integers[0], &self.integers[n]

    cdef int eigen(self, double* A, int n) noexcept nogil:
        """Write the eigenvectors of A over it, as rows, and its eigenvalues to `values`, largest last."""
        cdef int info
        dsyevd("V", "L", &n, A, &n, self.values, self.work, &self.n_work, self.iwork, &self.n_iwork, &info)
        return info

    cdef void choose(self, int n) noexcept nogil:
        """Write the positive entries of the nearest point of the simplex to the n `values` to `weights`."""
        cdef double level = 0.0, total = -1.0
        cdef int i
        self.used = 0
        for i in range(n):
            total += self.values[n - 1 - i]
            if (i + 1) * self.values[n - 1 - i] <= total:
                break
            level, self.used = total / (i + 1), i + 1
        for i in range(self.used):
            self.weights[i] = self.values[n - 1 - i] - level

    cdef void normalize(self) noexcept nogil:
        """Make the sum of the weights one. Large eigenvalues leave a rounding error in it."""
        cdef double total = 0.0
        cdef int i
        for i in range(self.used):
            total += self.weights[i]
        for i in range(self.used):
            self.weights[i] /= total

    cdef bint follow(self, double accuracy) noexcept nogil:
        """Update the basis by Rayleigh-Ritz. Return whether it is accurate enough."""
        cdef int n = self.n, b, twice, rank, sweep, i, j, info
        cdef double worst, residual, value
        for sweep in range(SWEEPS):
            b = self.b
            twice = 2 * b
            memcpy(self.span, self.basis, n * b * sizeof(double))
            dgemm("N", "N", &n, &b, &n, &ONE, self.W, &n, self.basis, &n, &ZERO, &self.span[n * b], &n)
            dgeqrf(&n, &twice, self.span, &n, self.values, self.work, &self.n_work, &info)
            dorgqr(&n, &twice, &twice, self.span, &n, self.values, self.work, &self.n_work, &info)
            dgemm("N", "N", &n, &twice, &n, &ONE, self.W, &n, self.span, &n, &ZERO, self.images, &n)
            dgemm("T", "N", &twice, &twice, &n, &ONE, self.span, &n, self.images, &n, &ZERO, self.vectors, &twice)
            if self.eigen(self.vectors, twice) != 0:
                return False
            self.choose(twice)
            rank = self.used + SPARE
            # The span has twice as many vectors as the basis, so the rank can grow.
            if rank > twice:
                return False
            self.reverse(twice, twice)
            dgemm("N", "N", &n, &rank, &twice, &ONE, self.span, &n, self.vectors, &twice, &ZERO, self.basis, &n)
            dgemm("N", "N", &n, &self.used, &twice, &ONE, self.images, &n, self.vectors, &twice, &ZERO, self.span, &n)
            self.b = rank
            worst = 0.0
            for j in range(self.used):
                value, residual = self.values[twice - 1 - j], 0.0
                for i in range(n):
                    residual += (self.span[j * n + i] - value * self.basis[j * n + i]) ** 2
                worst = max(worst, residual)
            if sqrt(worst) <= accuracy:
                return True
        return False

    cdef void reverse(self, int count, int length) noexcept nogil:
        """Reverse the order of the rows of `vectors`: the largest eigenvalue comes first."""
        cdef int i, j
        cdef double* V = self.vectors
        for i in range(count // 2):
            for j in range(length):
                V[i * length + j], V[(count - 1 - i) * length + j] = V[(count - 1 - i) * length + j], V[i * length + j]

    cdef bint project(self, double accuracy) noexcept nogil:
        """Project W as `laconic.relaxations.elementary.project` does: F has the rows sqrt(weight) times basis."""
        cdef int n = self.n, i
        if not (n > WHOLE and 0 < 6 * self.b < n and self.follow(accuracy)):
            memcpy(self.vectors, self.W, n * n * sizeof(double))
            if self.eigen(self.vectors, n) != 0:
                return False
            self.choose(n)
            self.b = min(self.used + SPARE, n)
            for i in range(self.b):
                memcpy(&self.basis[i * n], &self.vectors[(n - 1 - i) * n], n * sizeof(double))
        self.normalize()
        return True


cdef class Memory:
    """The memory of `laconic.relaxations.l1_splitting`."""

    cdef double[:, ::1] last, moves, changes, gram
    cdef long long[::1] counts
    cdef double[::1] residuals

    def __cinit__(self, last, moves, changes, gram, counts, residuals):
        self.last, self.moves, self.changes, self.gram = last, moves, changes, gram
        self.counts, self.residuals = counts, residuals

    cdef void extrapolate(self, double* u, double* g, int size) noexcept nogil:
        """Write the next point of the iteration u -> u + g(u) to u, as `next_point` does; g is overwritten."""
        cdef int i, j, place, m, info
        cdef int pivots[16]
        cdef double A[256]
        cdef double weights[16]
        cdef double ridge = 0.0, length = sqrt(ddot(&size, g, &UNIT, g, &UNIT))
        cdef double* change
        cdef double* move
        cdef double* u_last = &self.last[0, 0]
        cdef double* g_last = &self.last[1, 0]
        if self.counts[2] == 1:
            if length > GROWTH * self.residuals[1]:
                self.counts[0] = 0
            else:
                place = <int>(self.counts[0] % MEMORY)
                self.counts[0] += 1
                change, move = &self.changes[place, 0], &self.moves[place, 0]
                for i in range(size):
                    change[i] = g[i] - g_last[i]
                    move[i] = u[i] - u_last[i] + change[i]
                for i in range(<int>min(self.counts[0], MEMORY)):
                    self.gram[place, i] = ddot(&size, &self.changes[i, 0], &UNIT, change, &UNIT)
                    self.gram[i, place] = self.gram[place, i]
        memcpy(u_last, u, size * sizeof(double))
        memcpy(g_last, g, size * sizeof(double))
        self.counts[2] = 1
        self.counts[1] = 0 if length < self.residuals[0] else self.counts[1] + 1
        self.residuals[0], self.residuals[1] = min(self.residuals[0], length), length
        for i in range(size):
            u[i] += g[i]
        if self.counts[1] > PATIENCE:
            if self.counts[1] > 2 * PATIENCE:
                self.counts[1] = 0
            return
        m = <int>min(self.counts[0], MEMORY)
        if m < FIRST or length >= BEGIN_BELOW:
            return
        for i in range(m):
            ridge += RIDGE * self.gram[i, i]
        if not ridge > 0:
            return
        for i in range(m):
            for j in range(m):
                A[i * m + j] = self.gram[i, j] + (ridge if i == j else 0.0)
            weights[i] = ddot(&size, &self.changes[i, 0], &UNIT, g, &UNIT)
        dgesv(&m, &UNIT, A, &m, pivots, weights, &m, &info)
        if info != 0:
            return
        dgemv("N", &size, &m, &ONE, &self.moves[0, 0], &size, weights, &UNIT, &ZERO, g, &UNIT)
        if sqrt(ddot(&size, g, &UNIT, g, &UNIT)) <= FARTHEST * length:
            for i in range(size):
                u[i] -= g[i]


def project_cones(
    const double[:, ::1] Z, const double[::1] z, double weight, int k, bint levels, double[::1] mu, double[::1] start,
    double[:, ::1] Y, double[::1] y,
):
    """Project each row and its z on {|Y_i|_1^2 <= k Y_ii y_i} (levels), or on {|Y_i|_2^2 <= Y_ii y_i} (norms).

    The squared distance of z counts `weight` times. `mu` (multipliers) and `start` are starts and results.
    """
    cdef Workspace space = Workspace(np.zeros(Z.shape[0], dtype=bool), k)
    cdef Rows* rows = &space.rows
    cdef int n = rows.n, i, j
    cdef double t, value, square, shrink
    cdef double* d = rows.diagonal
    with nogil:
        for i in range(n):
            rows.floor[i], square = 0.0, 0.0
            for j in range(n):
                if j != i:
                    square += Z[i, j] * Z[i, j]
            rows.total[i], d[i] = square, start[i]
        if levels:
            sort_rows(rows, &Z[0, 0])
        solve_cones(rows, &Z[0, 0], &z[0], weight, levels, &mu[0], &start[0], d, &y[0])
        for i in range(n):
            if mu[i] == 0.0:
                memcpy(&Y[i, 0], &Z[i, 0], n * sizeof(double))
                continue
            t = 2 * mu[i] / k * (1 + start[i]) if levels else 0.0
            shrink = 1.0 if levels else d[i] / (d[i] + 2 * mu[i])
            for j in range(n):
                value = fabs(Z[i, j]) - t
                value = value * shrink if value > 0 and d[i] > 0 else 0.0
                Y[i, j] = value if Z[i, j] > 0 else -value
            Y[i, i] = d[i]
        if not levels:
            memcpy(&start[0], d, n * sizeof(double))


def advance(
    const double[:, ::1] S, int k, inside, double stiffness, int steps, double[:, :, ::1] u, double[:, :, ::1] Y,
    double[:, ::1] mu, double[::1] ratio, double[::1] d, basis, double residual, memory,
):
    """Take steps of the splitting in place; return F with X = FF', the basis, the residual, and if all is finite."""
    cdef int parts = u.shape[0], n = u.shape[1], size = parts * n * n, step, i, j, p, a, b
    cdef double value, weight
    cdef bint finite = True
    cdef Workspace space = Workspace(inside, k)
    cdef Memory past = Memory(*memory)
    cdef double[::1] moves = np.empty(size)
    cdef double* g = &moves[0]
    cdef double* point = &u[0, 0, 0]
    cdef double* copies = &Y[0, 0, 0]
    cdef const double* target = &S[0, 0]
    cdef double* W = space.W
    cdef double[:, ::1] rows = np.ascontiguousarray(basis.T)
    space.b = rows.shape[0]
    if space.b:
        memcpy(space.basis, &rows[0, 0], space.b * n * sizeof(double))
    with nogil:
        for step in range(steps):
            levels_into(&space.rows, point, &mu[0, 0], &ratio[0], copies)
            if parts == 2:
                norms_into(&space.rows, &point[n * n], &mu[1, 0], &d[0], &copies[n * n])
            for i in range(n):
                for j in range(i + 1):
                    value = target[i * n + j] / stiffness
                    for p in range(parts):
                        a, b = p * n * n + i * n + j, p * n * n + j * n + i
                        value += copies[a] + copies[b] - 0.5 * (point[a] + point[b])
                    value /= parts
                    W[i * n + j] = value
                    W[j * n + i] = value
                    finite = finite and isfinite(value)
            finite = finite and space.project(0.1 * min(residual, 0.1)) and space.used > 0
            if not finite:
                break
            # `vectors` becomes F, and W becomes X.
            weight = 0.0
            for i in range(space.used):
                value = sqrt(space.weights[i])
                weight += space.weights[i] * space.weights[i]
                for j in range(n):
                    space.vectors[i * n + j] = value * space.basis[i * n + j]
            dgemm("N", "T", &n, &n, &space.used, &ONE, space.vectors, &n, space.vectors, &n, &ZERO, W, &n)
            for p in range(parts):
                for i in range(n * n):
                    g[p * n * n + i] = W[i] - copies[p * n * n + i]
            residual = sqrt(ddot(&size, g, &UNIT, g, &UNIT) / max(weight, LEAST_DIVISOR))
            for i in range(size):
                g[i] *= OVER_RELAXATION
            past.extrapolate(point, g, size)
    if not finite:
        return np.zeros((n, 1)), basis, residual, False
    F, following = np.empty((space.used, n)), np.empty((space.b, n))
    cdef double[:, ::1] factor = F, kept = following
    memcpy(&factor[0, 0], space.vectors, space.used * n * sizeof(double))
    memcpy(&kept[0, 0], space.basis, space.b * n * sizeof(double))
    return np.ascontiguousarray(F.T), np.ascontiguousarray(following.T), residual, True
