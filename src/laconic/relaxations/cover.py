"""The cover: a convex relaxation for one component or several at once.

Let X be the sum of u_t u_t' over orthonormal components u_t with at most k nonzeros each, and z_i the number of
components that use feature i. The components may have one common support; then z_i is 0 or 1. In all cases

    X >= 0,  Tr X = r,  X <= I,  X <= Diag(z),  |X_i|_1^2 <= k X_ii z_i,  |X_i|_2^2 <= X_ii z_i  for every row i.

*Proof.* u u' is at most the identity of its support. For rows let Y_ti be the square of entry i of u_t. Then
|X_i|_1 <= sum_t (k Y_ti)^(1/2) over the components that use i, which is at most (k X_ii z_i)^(1/2). The same holds for
|X_i|_2 with k replaced by one. With a common support T, X is a projection that lives on T: a row has at most k entries,
and |X_i|_2^2 = X_ii.

The relaxation maximises Tr SX over X and z with 0 <= z_i and sum z_i at most the number of nonzeros of all components.

**Groups.** The components about which the same is known form a group: their number r_g, their size k_g, and the
features that are fixed in or out. Each group has its own X_g and z_g. Groups are coupled by sum_g X_g <= I, or by
sum_g z_g <= 1 if supports are disjoint.

**Dual bound.** For any matrices L_g and N_g, any G_g and F, any d_g >= 0 and e >= 0

    value <= |F|^2 + sum_i e_i + sum_g ( [the sum of the r_g largest eigenvalues of M_g] + [the cost of group g] ),
    M_g = S - sym L_g - sym N_g - G_g G_g' - Diag(d_g) - FF',

where feature i costs c_i = d_i + |G_i|^2 + k_g g(L_i) + h(N_i) - e_i, with g and h as in `laconic.proof.witness_dual`,
and a group costs as much as the features that cost most: those fixed in, and others up to its number of nonzeros. Only
groups without shared features may use e, and F holds for all others.

*Proof.* <GG' + Diag(d), X> <= <GG' + Diag(d), Diag(z)>, <L_i, X_i> <= k g(L_i) z_i and <N_i, X_i> <= h(N_i) z_i. The
last one holds because |X_i|_2^2 <= X_ii z_i makes (X_ii, rest of the row) a vector in a ball of radius z_i / 2 about
(z_i / 2, 0). Further <FF', sum X_g> <= |F|^2 and sum_g e'z_g <= sum e.

Row levels and row norms (`laconic.relaxations.rows`) are the same rows with a z of their own each, and without
X <= Diag(z). Li and Xie (2024) have both kinds of rows for one component. Cory-Wright and Pauphilet (2026) bound
orthogonal components with a matrix for each of them and sum_t X_t <= Diag(w), w = min(1, sum_t z_t). That is stronger
than X <= Diag(z) here; one matrix for components that are alike, and a bound from any dual point, are of this package.
On every matrix that was tried, the bound for one component is at most that of the l0 relaxation
(`laconic.relaxations.l0`).

**Method.** Douglas and Rachford's splitting, with five kinds of copies: X in the set of matrices with eigenvalues from
0 to 1 and the trace r_g, R = Diag(z) - X >= 0, rows on cones for levels and for norms, each with its copy of z, and the
coupling. The copies agree by least squares, in which X and z meet on the diagonal only. Steps are extrapolated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices, Mask
from laconic.core.monitor import Monitor, threads_for
from laconic.proof.witness_cover import CoverCase, CoverPoint, GroupPoint
from laconic.proof.witness_dual import row_levels
from laconic.relaxations.elementary import leading_pairs
from laconic.relaxations.l1_splitting import OVER_RELAXATION, Memory, empty_memory, next_point
from laconic.relaxations.row_steps import say_if_slow, take_cones

# Stiffness of the splitting, in units of the root mean square of the eigenvalues, and at least in units of the largest
# variance. Found by trial on matrices of 13 to 101 features.
STIFFNESS, LEAST_STIFFNESS = 1.6, 1.5
# The stiffness for a matrix of zeros.
SMALLEST_STIFFNESS = 1e-3
# How much the squared distance of a copy of z counts.
WEIGHT = 0.005
# Steps between two computations of the bound.
CHECK_EVERY = 10
# Eigenvalues of features that are out, below all others: S is divided by its largest entry.
FAR_BELOW = 1e3
# Eigenvectors of a large matrix are as accurate as this share of the distance between the copies.
ACCURACY = 0.1
# Parts of P below this share of the largest are rounding errors.
NEGLIGIBLE = 1e-12


def clipped_to_sum(targets: Floats, slope: float, upper: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Return clip((targets - m) / slope, 0, upper) row by row, with the m for which each row has its sum.

    The sum is a falling, piecewise linear function of m. A piece ends where an entry leaves zero or reaches its limit.
    """
    ends = np.concatenate([targets, targets - slope * upper], axis=-1)
    order = np.argsort(-ends, axis=-1)
    ends = np.take_along_axis(ends, order, axis=-1)
    rising = np.cumsum(np.where(order < targets.shape[-1], 1.0, -1.0), axis=-1) / slope
    reached = np.zeros_like(ends)
    np.cumsum(rising[..., :-1] * (ends[..., :-1] - ends[..., 1:]), axis=-1, out=reached[..., 1:])
    # The first piece at whose end the sum is reached, or the last one.
    place = np.minimum((reached < sums[..., None]).sum(axis=-1), ends.shape[-1] - 1)[..., None]
    before = np.maximum(place - 1, 0)
    rise = np.take_along_axis(rising, before, axis=-1)[..., 0]
    missing = sums - np.take_along_axis(reached, before, axis=-1)[..., 0]
    m = np.take_along_axis(ends, before, axis=-1)[..., 0]
    m = m - np.divide(missing, rise, out=np.zeros_like(m), where=rise > 0.5 / slope)
    return np.clip((targets - m[..., None]) / slope, 0.0, upper), m


@dataclass(frozen=True, eq=False)
class CoverState:
    """The iterates from which a later solve can start, in units of the largest |S_ij|.

    `matrices` holds for each kind of copy and each group a matrix: X, levels, norms, R, and the coupling of groups that
    share features. `vectors` holds the copies of z: levels, norms, and the coupling of disjoint groups.
    """

    matrices: Floats
    vectors: Floats
    searches: Floats  # where the searches of the rows begin
    V: Floats  # on what the copies agreed last
    z: Floats
    above: Floats  # the multipliers of X <= I of one group, and
    excess: Floats  # of z <= 1
    stiffness: float

    def on(self, features: Indices) -> "CoverState":
        """Return the state on some of the features."""
        ix = np.ix_(features, features)
        matrices = {name: getattr(self, name)[..., ix[0], ix[1]] for name in ("matrices", "V", "above")}
        vectors = {name: getattr(self, name)[..., features] for name in ("vectors", "searches", "z", "excess")}
        return replace(self, **matrices, **vectors)

    def divided(self, g: int, count: int, overlap: bool) -> "CoverState":
        """Return the state after one of the `count` components of group g becomes a group; the others come last."""
        W, w, V, z = self.matrices, self.vectors, self.V, self.z
        if len(V) == 1:
            # The limits of one group become the coupling of several.
            if overlap:
                W = np.concatenate([W, V[None] - self.above])
                W[0] += self.above
            else:
                w = np.concatenate([w, z[None] - self.excess / WEIGHT])
        order = [*range(len(V)), g]
        share = np.ones(len(order))
        share[g], share[-1] = 1.0 / count, (count - 1.0) / count
        W, w, searches, V, z = W[:, order], w[:, order], self.searches[:, order], V[order], z[order]
        less = (1.0 - share)[:, None]
        # The multipliers stay, and the point is divided.
        change = less[..., None] * V
        W = W - change
        W[3] += 2 * change - _diagonals(less * z)
        return replace(self, matrices=W, vectors=w - less * z, searches=searches.copy(), V=V - change, z=z - less * z)


def _diagonals(z: Floats) -> Floats:
    """Return the diagonal matrices of some vectors."""
    result = np.zeros((*z.shape, z.shape[-1]))
    np.einsum("...ii->...i", result)[...] = z
    return result


@dataclass(frozen=True, eq=False)
class CoverSolution:
    """A dual point of the relaxation, and the weights z of its primal point."""

    point: CoverPoint
    estimate: float  # the bound, up to rounding errors
    weights: Floats  # z of each group
    steps: int
    state: CoverState


@dataclass(frozen=True)
class Cover:
    """Bounds the value of components in groups. See the top of this file.

    A solve stops at `most` steps, when the bound is at most a known value, or when the last computations of the bound
    have reduced its distance to that value by less than the share `least_progress`.
    """

    most: int = 1000
    least_progress: float = 0.0
    patience: int = 4  # how many computations of the bound measure the progress

    def solve(
        self,
        S: Floats,
        case: CoverCase,
        *,
        start: CoverState | None = None,
        known: float = -np.inf,
        monitor: Monitor | None = None,
    ) -> CoverSolution | None:
        """Bound the value of the components of a case; return None if there was no time for that.

        S is the matrix on the features that are alive. So are the point, the weights and the state of the result.
        """
        unit = float(np.abs(S).max(initial=0.0)) or 1.0
        monitor = monitor or Monitor()
        say_if_slow()
        with threads_for(len(S)):
            splitting = _Splitting(S / unit, case, start)
            best: CoverPoint | None = None
            estimate, steps, history = np.inf, 0, list[float]()
            with monitor.watch():
                while steps < self.most:
                    monitor.tick("upper bound", bound=estimate * unit)
                    for _ in range(min(CHECK_EVERY, self.most - steps)):
                        splitting.step()
                        steps += 1
                    point, reached = splitting.point()
                    if not np.isfinite(reached):
                        break
                    if reached < estimate:
                        best, estimate = point, reached
                    history.append(estimate)
                    if estimate * unit <= known or self._stalled(history, known / unit):
                        break
        if best is None:
            return None
        return CoverSolution(best.times(unit), estimate * unit, splitting.z, steps, splitting.state())

    def _stalled(self, history: list[float], known: float) -> bool:
        if len(history) <= self.patience:
            return False
        room = history[-1] - known if np.isfinite(known) else abs(history[-1])
        return history[-1 - self.patience] - history[-1] <= self.least_progress * room


def _positive(values: Floats) -> int:
    return int(np.count_nonzero(values > 0))


class _Splitting:
    """The iteration, in units of the largest |S_ij|."""

    def __init__(self, S: Floats, case: CoverCase, start: CoverState | None) -> None:
        n, overlap = len(S), case.overlap
        self.groups = [group.on(case.alive) for group in case.groups]
        self.S, self.count, several = S, len(self.groups), len(self.groups) > 1
        self.alive: Mask = np.array([np.isin(np.arange(n), group.alive) for group in self.groups])
        self.inside: Mask = np.array([np.isin(np.arange(n), group.inside) for group in self.groups])
        self.r = np.array([float(group.count) for group in self.groups])
        self.budget = np.array([float(min(group.budget, group.most * len(group.alive))) for group in self.groups])
        self.upper = np.where(self.alive, np.array([float(group.most) for group in self.groups])[:, None], 0.0)
        self.by_matrix, self.by_vector = several and overlap, several and not overlap
        self.kinds = 4 + self.by_matrix
        pairs = self.alive[:, :, None] & self.alive[:, None, :]
        self.pairs = pairs if not self.alive.all() else None
        diagonal = float(S.diagonal().max(initial=0.0))
        if start is None:
            root_mean_square = float(np.linalg.norm(S)) / n**0.5
            self.stiffness = max(STIFFNESS * root_mean_square, LEAST_STIFFNESS * diagonal, SMALLEST_STIFFNESS)
            z = self.upper * (self.budget / np.maximum(self.upper.sum(axis=1), 1.0))[:, None]
            V = np.zeros((self.count, n, n))
            V[:, np.arange(n), np.arange(n)] = z * (self.r / self.budget)[:, None]
            self.W = np.stack([V, V, V, _diagonals(z) - V, *([V] if self.by_matrix else [])])
            self.w = np.stack([z, z, *([z] if self.by_vector else [])])
            self.searches = np.zeros((4, self.count, n))
        else:
            self.stiffness = start.stiffness
            self.W, self.w, self.searches = start.matrices.copy(), start.vectors.copy(), start.searches.copy()
        self.memory: Memory | None = None
        # The eigenvectors of X and P that the next step starts from, and how far the copies are from each other.
        self.bases = [[np.zeros((n, 0))] * self.count for _ in range(2)]
        self.residual = 1.0
        self.V, self.z = np.zeros_like(self.W[0]), np.zeros_like(self.w[0])
        self.above, self.excess = np.zeros_like(self.V), np.zeros_like(self.z)

    def state(self) -> CoverState:
        """Return the iterates."""
        parts = (self.W, self.w, self.searches, self.V, self.z, self.above, self.excess)
        return CoverState(*parts, self.stiffness)

    def _agree(self) -> tuple[Floats, Floats]:
        """Return the V and z nearest to all copies."""
        W, w, kinds = self.W, self.w, self.kinds
        E = W[3]
        G = W[0] + W[1] + W[2]
        if self.by_matrix:
            G += W[4]
        g, e = np.einsum("gii->gi", G), np.einsum("gii->gi", E)
        total = WEIGHT * len(w)
        slope = 1.0 - 1.0 / kinds + total
        target = (g - e) / kinds + e + WEIGHT * w.sum(axis=0)
        # Features inside have the largest z; the others share what is left.
        free = np.where(self.inside, 0.0, self.upper)
        left = np.clip(self.budget - (self.upper - free).sum(axis=1), 0.0, free.sum(axis=1))
        z, m = clipped_to_sum(np.where(free > 0, target, 0.0), slope, free, left)
        self.excess = np.maximum(target - m[:, None] - slope * free, 0.0) * (free > 0)
        z = np.where(self.inside, self.upper, z)
        V = (G - E) / kinds
        V = 0.5 * (V + V.transpose(0, 2, 1))
        np.einsum("gii->gi", V)[...] = (g + z - e) / kinds
        if self.pairs is not None:
            V *= self.pairs
        return V, z

    def step(self) -> None:
        """Take one step, and keep what the dual point is made of."""
        V, z = self._agree()
        n, q = V.shape[-1], self.stiffness
        X_in = 2 * V - self.W[0] + self.S / q
        if self.pairs is not None:
            X_in *= self.pairs
            np.einsum("gii->gi", X_in)[...] -= np.where(self.alive, 0.0, FAR_BELOW)
        R_in = 2 * (_diagonals(z) - V) - self.W[3]
        accuracy = ACCURACY * min(self.residual, 1.0)
        X, R, self.P = np.empty_like(V), R_in.copy(), []
        for g in range(self.count):
            values, vectors, self.bases[0][g] = leading_pairs(X_in[g], self.bases[0][g], self._used(g), accuracy)
            p, m = clipped_to_sum(values, 1.0, np.ones_like(values), self.r[g : g + 1][0])
            X[g] = (vectors * p) @ vectors.T
            if not self.by_matrix:
                self.above[g] = (vectors * np.maximum(values - m - 1.0, 0.0)) @ vectors.T
            values, vectors, self.bases[1][g] = leading_pairs(-R_in[g], self.bases[1][g], _positive, accuracy)
            factor = vectors * np.sqrt(np.maximum(values, 0.0))
            R[g] += factor @ factor.T
            self.P.append(np.sqrt(q) * factor)
        moves = np.empty_like(self.W)
        moves[0] = X - V
        rows, ends = 2 * V - self.W[1:3], 2 * z - self.w[:2]
        found, own = np.empty_like(rows), np.empty_like(ends)
        for kind in range(2):
            for g, group in enumerate(self.groups):
                searches = self.searches[2 * kind, g], self.searches[2 * kind + 1, g]
                into = found[kind, g], own[kind, g]
                take_cones(rows[kind, g], ends[kind, g], WEIGHT, group.size, kind == 0, *searches, *into)
        moves[1:3] = found - V
        moves[3] = R - _diagonals(z) + V
        step = np.empty_like(self.w)
        step[:2] = own - z
        self.L, self.N = q * (rows[0] - found[0]), q * (rows[1] - found[1])
        self.F, self.e = np.zeros((n, 0)), np.zeros(n)
        if self.by_matrix:
            Q_in = 2 * V - self.W[4]
            above, turn = np.linalg.eigh(Q_in.sum(axis=0))
            over = np.maximum(above - 1.0, 0.0) / self.count
            moves[4] = Q_in - (turn * over) @ turn.T - V
            kept = over > 0
            self.F = turn[:, kept] * np.sqrt(q * over[kept])
        if self.by_vector:
            ends_of_all = 2 * z - self.w[2]
            fee = np.maximum(ends_of_all.sum(axis=0) - 1.0, 0.0) / self.count
            step[2] = ends_of_all - fee - z
            self.e = q * WEIGHT * fee
        self.V, self.z = V, z
        self.residual = float(np.linalg.norm(moves)) / max(float(np.linalg.norm(X)), SMALLEST_NORMAL)
        self._advance(OVER_RELAXATION * moves, OVER_RELAXATION * step)

    def _used(self, g: int) -> Callable[[Floats], int]:
        """Return the function that counts the largest eigenvalues which X_g has, given all or the largest ones."""
        r = self.r[g]
        return lambda values: int(np.count_nonzero(clipped_to_sum(values, 1.0, np.ones_like(values), r)[0]))

    def _advance(self, moves: Floats, step: Floats) -> None:
        root, size = np.sqrt(WEIGHT), self.W.size
        u = np.concatenate([self.W.ravel(), root * self.w.ravel()])
        g = np.concatenate([moves.ravel(), root * step.ravel()])
        if self.memory is None:
            self.memory = empty_memory(len(u))
        u = next_point(u, g, *self.memory)
        self.W, self.w = u[:size].reshape(self.W.shape), u[size:].reshape(self.w.shape) / root

    def point(self) -> tuple[CoverPoint, float]:
        """Return the dual point of the last step, and its bound."""
        parts, value = [], float((self.F**2).sum()) + float(self.e.sum())
        for g, group in enumerate(self.groups):
            alive = group.alive
            block = np.ix_(alive, alive)
            L, N, P = self.L[g][block], self.N[g][block], self.P[g][alive]
            T = 0.5 * (L + L.T + N + N.T)
            np.fill_diagonal(T, 0.0)
            mu, d = self.searches[2][g, alive], self.searches[3][g, alive]
            part = GroupPoint(
                pairs=T,
                most=row_levels(L),
                weights=_weights(N, mu, d),
                levels=L.diagonal().copy(),
                norms=N.diagonal().copy(),
                diagonal=np.zeros(len(alive)),
                factor=P[:, np.einsum("ij,ij->j", P, P) > NEGLIGIBLE * float((P * P).sum())],
                turn=np.zeros((len(alive), 0)),
            )
            cost = part.costs(group.size) - self.e[alive]
            # A feature that pays less than the last one that is paid may have a larger diagonal for nothing.
            d = np.where(group.is_free, np.maximum(group.level(cost) - cost, 0.0), 0.0)
            M = self.S[block] - T - part.factor @ part.factor.T - self.F[alive] @ self.F[alive].T
            M[np.diag_indices_from(M)] -= part.levels + part.norms + d
            largest, turn = turn_of(M, group.count)
            value += largest + group.paid(cost + d)
            parts.append(replace(part, diagonal=d, turn=turn))
        return CoverPoint(tuple(parts), self.F, self.e), value


def turn_of(M: Floats, r: int) -> tuple[float, Floats]:
    """Return the sum of the r largest eigenvalues of M, and K with r lmax(M - KK') + |K|^2 equal to it.

    For one eigenvalue K has no columns.
    """
    values, vectors = np.linalg.eigh(M)
    if r == 1:
        return float(values[-1]), np.zeros((len(M), 0))
    # Any theta between the eigenvalues r and r + 1 will do.
    theta = 0.5 * (values[-r] + values[-r - 1]) if len(values) > r else values[0]
    turn = vectors[:, -r:] * np.sqrt(np.maximum(values[-r:] - theta, 0.0))
    return float(values[-r:].sum()), np.hstack([turn, np.zeros((len(M), r - turn.shape[1]))])


def plain_point(S: Floats, case: CoverCase) -> CoverPoint:
    """Return the dual point that bounds each group of a case by the largest eigenvalues of S alone."""
    parts, n = [], len(S)
    for group in (one.on(case.alive) for one in case.groups):
        m, block = len(group.alive), S[np.ix_(group.alive, group.alive)]
        none, turn = np.zeros(m), turn_of(block, group.count)[1]
        parts.append(GroupPoint(np.zeros((m, m)), none, none, none, none, none, np.zeros((m, 0)), turn))
    return CoverPoint(tuple(parts), np.zeros((n, 0)), np.zeros(n))


def _weights(N: Floats, mu: Floats, d: Floats) -> Floats:
    """Return w with N_ij : N_ji = w_i : w_j, given the multipliers of the rows and the diagonal of their projections.

    A row with d_i > 0 is 2 mu_i / d_i times its projection, which is symmetric in the limit. A row that is projected on
    zero gets the ratio of its own entries to those of its column, without the weights of the rows in which they stand.
    """
    live, size = (d > 0) & (mu > 0), np.abs(N)
    np.fill_diagonal(size, 0.0)
    w = np.divide(mu, d, out=np.zeros_like(mu), where=live)
    column = np.divide(size[live], w[live, None]).sum(axis=0)
    other = np.divide(size[:, live].sum(axis=1), column, out=np.zeros_like(mu), where=column > 0)
    return np.where(live | (mu == 0), w, other)
