"""The l1 relaxation with a level for each feature, and its companion with row norms.

A unit vector z with k nonzeros gives X = zz' with |X_i|_1^2 / X_ii = |z|_1^2 <= k and |X_i|_2^2 / X_ii = 1 in the rows
i of its support, and nothing in the others. So the value of every support is at most

    max  Tr SX    over X >= 0, Tr X = 1,  sum_i |X_i|_1^2 / X_ii <= k^2  (levels),  sum_i |X_i|_2^2 / X_ii <= k
    (norms)

(Li and Xie have both constraints in their strongest relaxation; the l1 relaxation has what the first implies, sum
|X_ij| <= k). If a set I of s features is known to be in the support each of their rows obeys its constraint alone,
with right sides k and 1, and the others share k(k - s) and k - s.

For *any* matrices L and N, row by row <L_i, X_i> <= g_i |X_i|_1^2 / X_ii with c = L_ii, m = max_j |L_ij| (j != i), g_i
= c if m <= 2c and m^2 / (4(m - c)) otherwise; and <N_i, X_i> <= g_i |X_i|_2^2 / X_ii with g_i = (c + sqrt(c^2 +
|q|^2))/2, c = N_ii and q the rest of the row. Hence the dual bound, which holds however far the iteration is from its
limit:

    z'Sz <= lmax(S - sym L - sym N) + k^2 max_i g_i(L) + k max_i g_i(N)

with g cut at zero, and with k (sum_I g_i + (k - s) max g_i) and sum_I g_i + (k - s) max g_i if I is known.

Features set aside. With G = max g_i(L) a feature j may have its whole row of S cancelled: L_ij takes what m_i allows
free of charge, L_ji the rest, m_j = max_i (2|S_ij| - m_i)_+ (for two features aside, S_jl each). What stays is the
diagonal S_jj - c_j with c_j = G if m_j <= 2G and m_j - m_j^2 / (4G) otherwise. While that is below lmax of the
features kept, j changes nothing: the solve works on the few features that compete, and takes in those that turn out
to.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.linalg import EPS, estimated_largest_eigenvalue_bound
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.problem.status import Status, stopped_or
from laconic.proof.witness import DualWitness
from laconic.relaxations.compiling import compiling

# Stiffness of the splitting, in units of the value to be expected.
STIFFNESS = 1.5
CHECK_EVERY = 10
# Up to this size all features are kept from the start.
SMALL = 40
# Above this size an eigenvalue takes too long when time is up.
HURRY = 1000
# Steps at most, and so many when more features than these compete.
STEPS, STEPS_IF_MANY, MANY = 1000, 150, 200
# Rows of the factor below this share of the largest are emptied to get a feasible point.
CUTS = (1e-6, 1e-2, 3e-2)
# Looks at the bound over which progress is judged; with no value known only the tolerance counts, and the bound may
# rest for a while before it falls again.
LOOKS, LOOKS_IF_UNKNOWN = 5, 20


@dataclass
class _State:
    """The iterates on the features kept, in units of the largest variance."""

    keep: Indices
    inside: Mask
    u: Floats
    stiffness: float
    mu: Floats
    ratio: Floats
    d: Floats
    basis: Floats
    residual: float = 1.0
    memory: tuple[Any, ...] = ()
    Y: Floats = field(default_factory=lambda: np.empty(0))

    def advance(self, S: Floats, k: int, steps: int) -> tuple[Floats, bool]:
        """Take steps; return F with X = FF', and whether all stayed finite."""
        with compiling():
            from laconic.relaxations import row_kernels as kernels

            kernels.warm_up()
        size = self.u.size
        if not self.memory:
            m = kernels.MEMORY
            self.memory = (
                np.zeros((2, size)),
                np.zeros((m, size)),
                np.zeros((m, size)),
                np.zeros((m, m)),
                np.zeros(3, np.int64),
                np.array([np.inf, np.inf]),
            )
            self.Y = np.zeros_like(self.u)
        F, self.basis, self.residual, finite = kernels.advance(
            S, k, self.inside, self.stiffness, steps, self.u, self.Y, self.mu, self.ratio, self.d, self.basis,
            self.residual, *self.memory,
        )  # fmt: skip
        return F, finite

    def multipliers(self) -> Floats:
        """Return L, or L and N, at the last point that was split."""
        before = self.memory[0][0].reshape(self.u.shape)
        return np.asarray(self.stiffness * (before - self.Y))

    def on(self, places: Indices, keep: Indices, inside: Mask) -> "_State":
        """Return the state on some of the features, those at `places`."""
        return _State(
            keep,
            inside,
            np.ascontiguousarray(self.u[:, places][:, :, places]),
            self.stiffness,
            np.ascontiguousarray(self.mu[:, places]),
            self.ratio[places].copy(),
            self.d[places].copy(),
            np.ascontiguousarray(self.basis[places]),
        )

    def stiffened(self, stiffness: float) -> "_State":
        """Return the state with another stiffness: the point that was split and its multipliers stay what they are."""
        if not self.memory:
            return self
        state = self.on(np.arange(len(self.keep)), self.keep, self.inside)
        state.u, state.stiffness = self.Y + self.multipliers() / stiffness, stiffness
        return state

    def grown(self, S: Floats, keep: Indices, inside: Mask, m: Floats, price: float, top: float) -> "_State":
        """Return the state on more features of S: those new start with as much of their rows cancelled as top allows.

        The diagonal that is left to a new feature is `top`, which leaves c, which leaves the level of its row.
        """
        n, places = len(keep), np.searchsorted(keep, self.keep)
        levels = np.zeros(n)
        levels[places] = m
        new = np.setdiff1d(np.arange(n), places)
        c = np.minimum(S.diagonal()[keep[new]] - top, price)
        allowed = 2 * price * (1 + np.sqrt(1 - c / price)) if price > 0 else np.zeros(len(new))
        whole = 2.0 * S[np.ix_(keep, keep)]
        taken = np.clip(whole, -levels[:, None], levels[:, None])
        L = np.zeros((n, n))
        L[:, new] = taken[:, new]
        L[new] = np.clip((whole - taken.T)[new], -allowed[:, None], allowed[:, None])
        L[np.ix_(new, new)] = np.clip(0.5 * whole[np.ix_(new, new)], -allowed[:, None], allowed[:, None])
        L[new, new] = c
        u = np.zeros((len(self.u), n, n))
        u[0] = L / self.stiffness
        for part, own in zip(u, self.u, strict=True):
            part[np.ix_(places, places)] = own
        mu = np.full((len(self.mu), n), 1e-3)
        if not self.inside.all():
            mu[:] = self.mu[:, ~self.inside][:, :1]
        mu[:, places] = self.mu
        ratio, d, basis = np.zeros(n), np.zeros(n), np.zeros((n, self.basis.shape[1]))
        ratio[places], d[places], basis[places] = self.ratio, self.d, self.basis
        return _State(keep, inside, u, self.stiffness, mu, ratio, d, basis)


@dataclass(frozen=True, eq=False)
class RowLevelSolution:
    """A primal and a dual point of the relaxation.

    Attributes
    ----------
    cardinality, inside
        k, and the features known to be in the support.
    upper
        The dual bound on every support of size k (that holds those inside), with a margin for rounding.
    primal
        The value of a feasible X: the relaxation's value lies between `primal` and `upper`.
    keep
        The features not set aside.
    levels, norms
        L and N on the features kept, diagonals as large as their price allows.
    price, cost
        max g_i(L) over the features not inside, and what L and N cost together.
    factor
        F with X = FF', on all features.
    status, iterations
        How the solve ended.
    state
        What a later solve starts from.
    """

    cardinality: int
    inside: Indices
    upper: float
    primal: float
    keep: Indices
    levels: Floats
    norms: Floats | None
    price: float
    cost: float
    factor: Floats
    status: Status
    iterations: int
    state: _State | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """(upper - primal) / |upper|: how far the relaxation is from solved."""
        return (self.upper - self.primal) / abs(self.upper) if self.upper else self.upper - self.primal

    def restricted(self, places: Indices) -> "RowLevelSolution":
        """Return the solution as a start for the problem on some of the features, those at `places`."""
        if self.state is None:
            return self
        chosen = np.isin(self.state.keep, places)
        keep = np.searchsorted(places, self.state.keep[chosen])
        state = self.state.on(np.flatnonzero(chosen), keep, self.state.inside[chosen])
        return replace(self, state=state, factor=self.factor[places])

    @property
    def diagonal(self) -> Floats:
        """The diagonal of X: how much each feature is in it."""
        return np.asarray((self.factor**2).sum(axis=1))

    def bent(self, S: Floats) -> Floats:
        """Return S - sym L - sym N on the features kept.

        Parameters
        ----------
        S
            The covariance that was solved for.
        """
        M = _block(S, self.keep) - 0.5 * (self.levels + self.levels.T)
        if self.norms is not None:
            M -= 0.5 * (self.norms + self.norms.T)
        return M

    def witness(self) -> DualWitness:
        """Return what the bound can be computed from again."""
        return DualWitness(
            "row levels",
            levels=self.levels,
            norms=self.norms,
            inside=self.inside,
            kept=self.keep,
            price=self.price,
        )


def free_diagonal(m: Floats, price: float) -> Floats:
    """Return the largest c with g(c, m) <= price for each m."""
    if price <= 0:
        return np.where(m > 0, -np.inf, 0.0)
    return np.asarray(np.where(m <= 2 * price, price, m - m * m / (4 * price) * (1 + 4 * EPS)))


def own_price(c: Floats, m: Floats) -> Floats:
    """Return g of rows with diagonal c and level m, cut at zero."""
    # m - c is above m/2 where it is divided by.
    g = np.where(m <= 2 * c, c, m * m / (4 * np.maximum(m - c, 0.5 * m + np.finfo(float).tiny)))
    return np.asarray(np.maximum(g, 0.0) * (1 + 8 * EPS))


def row_levels(L: Floats) -> Floats:
    """Return max_j |L_ij|, j != i."""
    size = np.abs(L)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))


def levels_aside(S: Floats, keep: Indices, aside: Indices, m: Floats) -> Floats:
    """Return the level that each feature aside needs for its row to be cancelled."""
    against_kept = (2 * np.abs(S[np.ix_(aside, keep)]) - m).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(against_kept, row_levels(S[np.ix_(aside, aside)])))


@dataclass
class _Best:
    """The best primal and dual points so far, in units of the largest variance."""

    upper: float = np.inf
    primal: float = -np.inf
    keep: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    levels: Floats = field(default_factory=lambda: np.empty((0, 0)))
    norms: Floats | None = None
    price: float = 0.0
    cost: float = 0.0
    top: float = 0.0
    factor: Floats = field(default_factory=lambda: np.empty((0, 1)))


@dataclass(frozen=True)
class RowLevels:
    """The relaxation with row levels, and row norms, by splitting.

    X in the spectrahedron, a copy Y of it that obeys the constraint on the row levels, and another for the row norms;
    each projection is separable by rows but for one multiplier. Over-relaxed and extrapolated as `Splitting` is. The
    bound is valid at every step.

    Attributes
    ----------
    norms
        Whether the companion with row norms joins in: a step costs half as much again, and the bound is better, most
        when k is large against n.
    tolerance
        The relative gap between the primal and the dual value at which to stop.
    max_iterations
        Steps at most; None for 1000, or fewer while many features compete, where a step costs a whole
        eigendecomposition.
    least_progress
        Stop when the last looks at the bound have brought it nearer to the known value by less than this share (or by
        less than a tenth of the tolerance).
    """

    norms: bool = True
    tolerance: float = 1e-5
    max_iterations: int | None = None
    least_progress: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must lie between 0 and 1.")
        if self.max_iterations is not None and self.max_iterations < 1:
            raise ValueError(f"max_iterations={self.max_iterations} must be at least 1.")

    def solve(
        self,
        S: Floats,
        cardinality: int,
        *,
        inside: Indices | None = None,
        start: RowLevelSolution | None = None,
        vector: Floats | None = None,
        known: float = -np.inf,
        monitor: Monitor | None = None,
    ) -> RowLevelSolution:
        """Solve the relaxation, or stop as soon as the bound is down to a known value.

        Parameters
        ----------
        S
            A symmetric matrix.
        cardinality
            k.
        inside
            Features known to be in the support, fewer than k.
        start
            The solution for a neighbouring k of the same S.
        vector
            A sparse component to start from.
        known
            A value that some support reaches.
        monitor
            Stops the solve in time; the best bound so far is returned.
        """
        n = len(S)
        if not 1 <= cardinality <= n:
            raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
        inside = np.empty(0, dtype=np.intp) if inside is None else np.asarray(inside, dtype=np.intp)
        if len(inside) >= cardinality:
            raise ValueError(f"inside names {len(inside)} features; it must be fewer than cardinality={cardinality}.")
        scale = float(np.abs(S).max(initial=0.0)) or 1.0
        with threads_for(n):
            return self._solve(
                S / scale, cardinality, inside, start, vector, known / scale, scale, monitor or Monitor()
            )

    def _solve(
        self,
        S: Floats,
        k: int,
        inside: Indices,
        start: RowLevelSolution | None,
        vector: Floats | None,
        known: float,
        scale: float,
        monitor: Monitor,
    ) -> RowLevelSolution:
        state = self._state(S, k, inside, start, vector)
        best = _Best()
        looks: list[float] = []
        status, step = Status.ITERATION_LIMIT, 0
        inner = _block(S, state.keep)
        with monitor.watch():
            while step < self._limit(state):
                monitor.tick("row levels", best=best.upper * scale)
                steps = min(CHECK_EVERY, self._limit(state) - step)
                F, finite = state.advance(inner, k, steps)
                step += steps
                if not finite:
                    status = Status.PRECISION_LIMIT
                    break
                broken = self._look(S, inner, k, state, F, best)
                looks.append(best.upper)
                if best.upper <= known or best.upper - best.primal <= self.tolerance * abs(best.upper):
                    status = Status.OPTIMAL
                    break
                if self._stalled(looks, known):
                    status = Status.HEURISTIC
                    break
                if len(broken):
                    state = self._taken_in(S, state, broken, best.top)
                    inner = _block(S, state.keep)
        # No eigenvalue is above the Frobenius norm: after so few steps the plain bound is the better one.
        norm = float(np.linalg.norm(S)) * (1 + len(S) * EPS)
        if best.upper > norm:
            best.keep, best.levels, best.norms = np.arange(len(S)), np.zeros_like(S), None
            # Out of time, a large matrix has to do without its eigenvalue.
            hurried = monitor.stopped is not None and len(S) > HURRY
            best.upper, best.price, best.cost = norm if hurried else estimated_largest_eigenvalue_bound(S), 0.0, 0.0
        if not len(best.factor):
            best.factor = np.zeros((len(S), 1))
        return RowLevelSolution(
            cardinality=k,
            inside=inside,
            upper=best.upper * scale,
            primal=best.primal * scale,
            keep=best.keep,
            levels=best.levels * scale,
            norms=None if best.norms is None else best.norms * scale,
            price=best.price * scale,
            cost=best.cost * scale,
            factor=best.factor,
            status=stopped_or(monitor.stopped, status),
            iterations=step,
            state=state,
        )

    def _limit(self, state: _State) -> int:
        if self.max_iterations is not None:
            return self.max_iterations
        return STEPS if len(state.keep) <= MANY else STEPS_IF_MANY

    def _stalled(self, looks: list[float], known: float) -> bool:
        count, now = LOOKS if known > -np.inf else LOOKS_IF_UNKNOWN, looks[-1]
        worth = max(self.least_progress * (now - known) if known > -np.inf else 0.0, 0.1 * self.tolerance * abs(now))
        return len(looks) > count and looks[-1 - count] - now <= worth

    def _look(self, S: Floats, inner: Floats, k: int, state: _State, F: Floats, best: _Best) -> Indices:
        """Evaluate both points; return the features aside that would raise the bound."""
        from laconic.relaxations import row_kernels as kernels

        L = state.multipliers()
        cost, price, m = kernels.priced_levels(L[0], k, state.inside)
        M = inner - 0.5 * (L[0] + L[0].T)
        if len(L) == 2:
            cost += kernels.priced_norms(L[1], k, state.inside)
            M -= 0.5 * (L[1] + L[1].T)
        top = estimated_largest_eigenvalue_bound(M)
        broken, largest = np.empty(0, dtype=np.intp), top
        if len(state.keep) < len(S):
            aside = np.setdiff1d(np.arange(len(S)), state.keep)
            left = S.diagonal()[aside] - free_diagonal(levels_aside(S, state.keep, aside, m), price)
            broken, largest = aside[left > top], max(top, float(left.max()))
        levels, norms = L[0], L[1] if len(L) == 2 else None
        if largest + cost < best.upper:
            # No call in between: Ctrl-C must not leave a bound with another point's price.
            best.upper, best.price, best.cost, best.keep = largest + cost, price, cost, state.keep
            best.levels, best.norms = levels, norms
        best.primal = max(best.primal, _primal(inner, k, state.inside, F, norms=len(L) == 2))
        best.top = top
        best.factor = np.zeros((len(S), F.shape[1]))
        best.factor[state.keep] = F
        return broken

    def _state(
        self, S: Floats, k: int, inside: Indices, start: RowLevelSolution | None, vector: Floats | None
    ) -> _State:
        n, parts = len(S), 2 if self.norms else 1
        if start is not None and start.state is not None and len(start.state.u) == parts:
            before = start.state
            fresh = np.setdiff1d(inside, before.keep)
            if not len(fresh):
                if vector is not None:
                    before = before.stiffened(_stiffness(S, float(vector @ S @ vector)))
                return before.on(np.arange(len(before.keep)), before.keep, np.isin(before.keep, inside))
        z = _rough_component(S, k) if vector is None else vector
        image = S @ z
        outside = z == 0
        level = float(np.abs(image[outside]).max(initial=0.0)) / max(float(np.abs(z).sum()), 1e-300)
        keep = np.arange(n)
        if n > SMALL:
            count = min(n, max(SMALL, 3 * k))
            order = np.argsort(-np.where(outside, np.abs(image), np.inf), kind="stable")
            keep = np.union1d(order[:count], inside)
        stiffness = _stiffness(S, float(z @ image))
        L = np.clip(_block(S, keep), -level, level)
        np.fill_diagonal(L, level * (1 - 0.5 * k))
        u = np.zeros((parts, len(keep), len(keep)))
        u[:] = np.outer(z[keep], z[keep])
        u[0] += L / stiffness
        size = len(keep)
        return _State(
            keep=keep,
            inside=np.isin(keep, inside),
            u=u,
            stiffness=stiffness,
            mu=np.full((parts, size), 1e-3),
            ratio=np.zeros(size),
            d=np.zeros(size),
            basis=np.zeros((size, 0)),
        )

    def _taken_in(self, S: Floats, state: _State, broken: Indices, top: float) -> _State:
        from laconic.relaxations import row_kernels as kernels

        L = state.multipliers()[0]
        _, price, m = kernels.priced_levels(L, 1, state.inside)
        keep = np.union1d(state.keep, broken)
        inside = np.zeros(len(keep), dtype=bool)
        inside[np.searchsorted(keep, state.keep)] = state.inside
        return state.grown(S, keep, inside, m, price, top)


def _stiffness(S: Floats, value: float) -> float:
    """Return the stiffness for a value to be expected."""
    return STIFFNESS * max(value, float(S.diagonal().max()), 1e-3)


def _block(S: Floats, keep: Indices) -> Floats:
    return np.ascontiguousarray(S[np.ix_(keep, keep)])


def _rough_component(S: Floats, k: int) -> Floats:
    """Return a sparse component: a few steps of the truncated power method from the largest column."""
    n = len(S)
    z = np.zeros(n)
    z[int((S**2).sum(axis=1).argmax())] = 1.0
    for _ in range(10):
        image = S @ z
        chosen = np.argsort(-np.abs(image), kind="stable")[:k]
        length = float(np.linalg.norm(image[chosen]))
        if length == 0:
            break
        z = np.zeros(n)
        z[chosen] = image[chosen] / length
    return z


def _primal(S: Floats, k: int, inside: Mask, F: Floats, *, norms: bool) -> float:
    """Return the value of a feasible point near X = FF'.

    A row counts fully however small it is, so those that are noise are emptied; how small that is has to be tried.
    """
    size = np.linalg.norm(F, axis=1)
    best = -np.inf
    for cut in CUTS:
        clean = F * (size > cut * size.max())[:, None]
        best = max(best, _shrunk(S, k, inside, clean / np.linalg.norm(clean), norms=norms))
    return best


def _shrunk(S: Floats, k: int, inside: Mask, F: Floats, *, norms: bool) -> float:
    """Return Tr S(cX + (1 - c) diag X) with the largest c in [0, 1] that obeys every constraint."""
    X = F @ F.T
    d = X.diagonal().copy()
    used = d > 0
    X, d, inside = X[np.ix_(used, used)], d[used], inside[used]
    rest = np.abs(X).sum(axis=1) - d
    s = int(inside.sum())
    free = ~inside
    # sum (d + c r)^2 / d <= right side, a quadratic in c for the rows that share, and d + c r <= sqrt(k d) for the
    # others.
    c = _root(float((rest[free] ** 2 / d[free]).sum()), 2 * float(rest[free].sum()), float(d[free].sum()) - k * (k - s))
    if s:
        room = np.sqrt(k * d[inside]) - d[inside]
        c = min(c, float(np.where(rest[inside] > 0, room / np.maximum(rest[inside], 1e-300), np.inf).min()))
    if norms:
        square = ((X**2).sum(axis=1) - d**2) / d
        c = min(c, _root(float(square[free].sum()), 0.0, float(d[free].sum()) - (k - s)))
        if s:
            c = min(c, float(np.sqrt(np.maximum(1 - d[inside], 0) / np.maximum(square[inside], 1e-300)).min()))
    c = min(max(c, 0.0), 1.0)
    inner, on_diagonal = float(np.einsum("ij,ij->", S[np.ix_(used, used)], X)), float(S.diagonal()[used] @ d)
    return c * inner + (1 - c) * on_diagonal


def _root(a: float, b: float, c: float) -> float:
    """Return the positive root of a x^2 + b x + c, infinite if there is none to find."""
    if c > 0:
        return 0.0
    if a <= 0:
        return -c / b if b > 0 else np.inf
    return (-b + float(np.sqrt(b * b - 4 * a * c))) / (2 * a)
