"""The l1 relaxation with a level for each row, and its companion with row norms.

A unit vector z with k nonzeros gives X = zz'. In the rows i of its support |X_i|_1^2 / X_ii = |z|_1^2 <= k and
|X_i|_2^2 / X_ii = 1; the other rows are zero. Therefore the value of every support is at most

    max  Tr SX    over X >= 0, Tr X = 1,  sum_i |X_i|_1^2 / X_ii <= k^2  (levels),  sum_i |X_i|_2^2 / X_ii <= k
    (norms)

Li and Xie have both constraints in their strongest relaxation. The constraint of the l1 relaxation, sum |X_ij| <= k,
follows from the first one. If a set I of s features is known to be in the support, each of its rows has a constraint of
its own, with right sides k and 1, and the other rows together have the right sides k(k - s) and k - s.

For *any* matrices L and N and each row, <L_i, X_i> <= g_i |X_i|_1^2 / X_ii with c = L_ii, the level m = max_j |L_ij|
(j != i), and the price g_i = c if m <= 2c, m^2 / (4(m - c)) otherwise. In the same way
<N_i, X_i> <= g_i |X_i|_2^2 / X_ii with g_i = (c + sqrt(c^2 + |q|^2))/2, c = N_ii and q the rest of the row. This gives
the dual bound, which holds at every step of the iteration:

    z'Sz <= lmax(S - sym L - sym N) + k^2 max_i g_i(L) + k max_i g_i(N)

with each g at least zero. If I is known, the costs are k (sum_I g_i + (k - s) max g_i) and sum_I g_i + (k - s) max g_i.

Features set aside. Let G = max g_i(L). The row of S of a feature j can be cancelled: L_ij takes as much as m_i allows
at no cost, L_ji takes the rest, and m_j = max_i (2|S_ij| - m_i)_+. For two features set aside, L_jl = S_jl. Only the
diagonal entry S_jj - c_j remains, with c_j = G if m_j <= 2G and m_j - m_j^2 / (4G) otherwise. While it is below lmax of
the features kept, j does not change the bound. The solve therefore works on few features, and adds others when they
would raise the bound.

The row-level bound after a few steps: for a bound that may take no longer than a fit.
After twenty steps it is mostly one to five per cent above the value of a good support, where a thousand steps reach
half a per cent to two.
"""

from dataclasses import dataclass, replace

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices, Mask
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import Monitor, one_thread, threads_for
from laconic.proof.gate import Estimate
from laconic.proof.witness_dual import DualWitness, level_costs, norm_costs, row_levels
from laconic.relaxations.elementary import RelaxationStatus, estimated_largest_eigenvalue_bound, final_status
from laconic.relaxations.row_steps import RowState, advance, say_if_slow


def free_diagonal(m: Floats, price: float) -> Floats:
    """Return the largest c with g(c, m) <= price for each m."""
    if price <= 0:
        return np.where(m > 0, -np.inf, 0.0)
    return np.asarray(np.where(m <= 2 * price, price, m - m * m / (4 * price) * (1 + 4 * EPS)))


def priced_levels(L: Floats, k: int, inside: Mask) -> tuple[float, float, Floats]:
    """Return the cost of L, max g over the rows not inside, and each row's m; the diagonal is raised where it is free.

    The rows not inside pay for the largest g among them, so each may have the largest c of that price.
    """
    m = row_levels(L)
    g = level_costs(L.diagonal(), m)
    price = float(g[~inside].max(initial=0.0))
    raised = free_diagonal(m, price)
    # At the price zero only a row of zeros has a free diagonal.
    raised = np.where(inside | ~np.isfinite(raised), L.diagonal(), raised)
    np.fill_diagonal(L, raised)
    count = max(k - int(np.count_nonzero(inside)), 0)
    return k * (float(g[inside].sum()) + count * price) * (1 + 8 * EPS), price, m


def squares_of_rest(N: Floats) -> Floats:
    """Return the sum of squares of each row without the diagonal."""
    rest = N.copy()
    np.fill_diagonal(rest, 0.0)
    return np.asarray(np.einsum("ij,ij->i", rest, rest))


def priced_norms(N: Floats, k: int, inside: Mask) -> float:
    """Return the cost of N; the diagonal of the rows not inside is raised where it is free."""
    g = norm_costs(N)
    worst = float(g[~inside].max(initial=0.0))
    if worst > 0:
        free = worst - squares_of_rest(N) / (4 * worst) * (1 + 4 * EPS)
        np.fill_diagonal(N, np.where(inside, N.diagonal(), free))
    count = max(k - int(np.count_nonzero(inside)), 0)
    # The sums of squares are off by n EPS at most.
    return (float(g[inside].sum()) + count * worst) * (1 + (2 * len(N) + 8) * EPS)


class Aside:
    """The features that are not kept, and what is needed of their rows to cancel them."""

    def __init__(self, S: Floats, keep: Indices) -> None:
        self.features: Indices = np.setdiff1d(np.arange(len(S)), keep)
        self._S, self._across = S, 2 * np.abs(S[self.features][:, keep])
        self._among, self._partner = np.zeros(len(self.features)), self.features.copy()
        self._look_at(np.arange(len(self.features)), keep)

    def _look_at(self, rows: Indices, keep: Indices) -> None:
        """Find the largest entry of some rows among the features aside, and the feature where it stands."""
        if not len(rows):
            return
        # Whole rows are copied much faster than some entries of each.
        size, places = np.abs(self._S[self.features[rows]]), np.arange(len(rows))
        size[:, keep] = 0.0
        size[places, self.features[rows]] = 0.0
        self._partner[rows] = size.argmax(axis=1)
        self._among[rows] = size[places, self._partner[rows]]

    def keep(self, keep: Indices) -> None:
        """Keep more features. Only rows whose largest entry is lost are looked at again."""
        stay = ~np.isin(self.features, keep)
        self.features, self._among, self._partner = self.features[stay], self._among[stay], self._partner[stay]
        self._across = 2 * np.abs(self._S[self.features][:, keep])
        self._look_at(np.flatnonzero(np.isin(self._partner, keep)), keep)

    def levels(self, m: Floats) -> Floats:
        """Return the level that each feature needs to cancel its row of S, if those kept have the levels m."""
        return np.asarray(np.maximum((self._across - m).max(axis=1, initial=0.0), self._among))

    def left(self, m: Floats, price: float) -> Floats:
        """Return the diagonal that is left to each feature after its row is cancelled at a price, rounded up."""
        variances, free = self._S.diagonal()[self.features], free_diagonal(self.levels(m), price)
        return np.asarray(variances - free + 4 * EPS * (np.abs(variances) + np.abs(free)))


# Rows of the factor shorter than this share of the longest are set to zero. Small rows are noise, but how small they
# are depends on the problem, so three sizes are tried.
CUTS = (1e-6, 1e-2, 3e-2)


def feasible_value(S: Floats, k: int, inside: Mask, F: Floats, *, norms: bool) -> float:
    """Return the value of a feasible point near X = FF'.

    A row counts in full, however small it is. Rows that are noise are therefore set to zero.
    """
    size = np.linalg.norm(F, axis=1)
    best = -np.inf
    for cut in CUTS:
        clean = F * (size > cut * size.max())[:, None]
        best = max(best, _shrunk(S, k, inside, clean / np.linalg.norm(clean), norms=norms))
    return best


def _shrunk(S: Floats, k: int, inside: Mask, F: Floats, *, norms: bool) -> float:
    """Return Tr S(cX + (1 - c) diag X) with the largest c in [0, 1] for which every constraint holds."""
    X = F @ F.T
    # Rows of zeros are left out, but features known to be in the support keep their part of the right sides.
    d, free_count = X.diagonal().copy(), k - int(inside.sum())
    used = d > 0
    X, d, inside = X[np.ix_(used, used)], d[used], inside[used]
    rest, free = np.abs(X).sum(axis=1) - d, ~inside
    # The rows not inside: sum (d + c r)^2 / d <= k (k - s), a quadratic in c. A row inside: d + c r <= sqrt(k d).
    d_free, r = d[free], rest[free]
    c = _root(float((r**2 / d_free).sum()), 2 * float(r.sum()), float(d_free.sum()) - k * free_count)
    room = (np.sqrt(k * d) - d) / np.maximum(rest, SMALLEST_NORMAL)
    c = min(c, float(room[inside].min(initial=np.inf)))
    if norms:
        square = ((X**2).sum(axis=1) - d**2) / d
        c = min(c, _root(float(square[free].sum()), 0.0, float(d_free.sum()) - free_count))
        room = np.sqrt(np.maximum(1 - d, 0) / np.maximum(square, SMALLEST_NORMAL))
        c = min(c, float(room[inside].min(initial=np.inf)))
    c = min(max(c, 0.0), 1.0)
    inner, on_diagonal = float(np.einsum("ij,ij->", S[np.ix_(used, used)], X)), float(S.diagonal()[used] @ d)
    return c * inner + (1 - c) * on_diagonal


def _root(a: float, b: float, c: float) -> float:
    """Return the positive root of a x^2 + b x + c with a, b >= 0; zero if c > 0, infinite if there is no root."""
    if c > 0:
        return 0.0
    if a <= 0:
        return -c / b if b > 0 else np.inf
    return (-b + float(np.sqrt(b * b - 4 * a * c))) / (2 * a)


# Steps between two computations of the bound, which costs an eigenvalue.
CHECK_EVERY = 10
# If the time is up, matrices above this size get the Frobenius norm as bound: an eigenvalue would take too long.
EIGENVALUE_AFTER_TIME = 1000
# The default number of steps, and the number while more features than MANY are kept, where a step costs a whole
# eigendecomposition.
STEPS, STEPS_IF_MANY, MANY = 1000, 150, 200
# Progress is measured over so many computations of the bound. If no value is known, only the tolerance counts, and the
# bound may rest for a while before it falls again: then more are needed.
CHECKS, CHECKS_IF_UNKNOWN = 5, 20


@dataclass(frozen=True, eq=False, repr=False)
class RowLevelSolution:
    """A primal and a dual point of the relaxation.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import RowLevels
    >>> found = RowLevels().solve(load_pitprops().covariance, 5)
    >>> found.primal <= found.estimate
    True
    """

    cardinality: int
    inside: Indices  # the features known to be in the support
    estimate: float  # the bound on every support of size k that contains them, with a margin for rounding
    primal: float  # the value of a feasible X
    keep: Indices  # the features that are not set aside
    levels: Floats  # L on the features kept, its diagonal as large as the price allows
    norms: Floats | None  # N on the features kept, likewise
    price: float  # max g_i(L) over the features not inside
    cost: float  # the cost of L and N together
    factor: Floats  # F with X = FF', on all features
    status: RelaxationStatus
    iterations: int
    state: RowState | None = None  # the iterates that a later solve can start from

    @property
    def gap(self) -> float:
        """(estimate - primal) / |estimate|: the relative distance between the primal and the dual value."""
        return (self.estimate - self.primal) / abs(self.estimate) if self.estimate else self.estimate - self.primal

    @property
    def diagonal(self) -> Floats:
        """The diagonal of X: the weight of each feature."""
        return np.asarray((self.factor**2).sum(axis=1))

    def restricted(self, places: Indices) -> "RowLevelSolution":
        """Return the solution as a start for the problem on some of the features, given in increasing order."""
        if self.state is None:
            return self
        chosen = np.isin(self.state.keep, places)
        keep = np.searchsorted(places, self.state.keep[chosen])
        state = self.state.on(np.flatnonzero(chosen), keep, self.state.inside[chosen])
        return replace(self, state=state, factor=self.factor[places])

    def shifted(self, S: Floats) -> Floats:
        """Return S - sym L - sym N on the features kept."""
        M = _block(S, self.keep) - 0.5 * (self.levels + self.levels.T)
        if self.norms is not None:
            M -= 0.5 * (self.norms + self.norms.T)
        return M

    def witness(self) -> DualWitness:
        """Return the dual point, from which the bound can be computed again."""
        return DualWitness(
            "row levels", levels=self.levels, norms=self.norms, inside=self.inside, kept=self.keep, price=self.price
        )


@dataclass(frozen=True, eq=False)
class _Point:
    """A dual point on the features kept, in units of the largest |S_ij|."""

    estimate: float
    keep: Indices
    levels: Floats
    norms: Floats | None
    price: float
    cost: float
    m: Floats  # the level of each row kept
    top: float  # the largest eigenvalue on the features kept
    added: Indices  # the features set aside that raise the bound

    @classmethod
    def of(cls, inner: Floats, k: int, state: RowState, aside: Aside) -> "_Point":
        """Return the dual point of a state. `inner` is the matrix on the features kept."""
        L = state.multipliers()
        cost, price, m = priced_levels(L[0], k, state.inside)
        M = inner - 0.5 * (L[0] + L[0].T)
        if len(L) == 2:
            cost += priced_norms(L[1], k, state.inside)
            M -= 0.5 * (L[1] + L[1].T)
        top = estimated_largest_eigenvalue_bound(M)
        left = aside.left(m, price)
        largest, added = max(top, float(left.max(initial=-np.inf))), aside.features[left > top]
        return cls(largest + cost, state.keep, L[0], L[1] if len(L) == 2 else None, price, cost, m, top, added)


def _with(S: Floats, state: RowState, aside: Aside, added: Indices, m: Floats, price: float, top: float) -> RowState:
    """Return the state with more features kept. None of them is known to be inside."""
    keep = np.union1d(state.keep, added)
    aside.keep(keep)
    return state.grown(S, keep, np.isin(keep, state.keep[state.inside]), m, price, top)


@dataclass(frozen=True)
class RowLevels:
    """The relaxation with row levels and row norms, solved by a splitting method.

    X lies in the spectrahedron. One copy of it satisfies the constraint on the row levels, another that on the row
    norms. Each projection separates by rows except for one multiplier. The steps are over-relaxed and extrapolated, as
    in `Splitting`. The bound is valid at every step. With row norms a step costs half as much again. The bound is then
    better, mostly when k is large compared with n.

    A solve stops early when the last computations of the bound have reduced its distance to the known value by less
    than the share `least_progress`, or the bound by less than a tenth of the tolerance.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import RowLevels
    >>> round(RowLevels().solve(load_pitprops().covariance, 5).estimate, 2)
    3.41
    """

    norms: bool = True  # use row norms as well as row levels
    tolerance: float = 1e-5  # the relative gap between the primal and the dual value at which to stop
    max_iterations: int | None = None  # None: 1000, or 150 while more than 200 features are kept
    least_progress: float = 0.0  # of the distance between the bound and the known value; see above

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
        """Bound z'Sz over unit z with at most k nonzeros, among them the features `inside` (fewer than k).

        The solve starts from the solution for a neighbouring k of the same S, or from a sparse component. It stops when
        the bound reaches `known`, the value of a support. If the monitor stops it, the best bound so far is returned.
        """
        n = len(S)
        if not 1 <= cardinality <= n:
            raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
        inside = np.empty(0, dtype=np.intp) if inside is None else np.asarray(inside, dtype=np.intp)
        if len(inside) >= cardinality:
            raise ValueError(f"inside names {len(inside)} features; it must be fewer than cardinality={cardinality}.")
        unit = float(np.abs(S).max(initial=0.0)) or 1.0
        say_if_slow()
        with threads_for(n):
            return self._solve(S / unit, cardinality, inside, start, vector, known / unit, unit, monitor or Monitor())

    def _solve(
        self,
        S: Floats,
        k: int,
        inside: Indices,
        start: RowLevelSolution | None,
        vector: Floats | None,
        known: float,
        unit: float,
        monitor: Monitor,
    ) -> RowLevelSolution:
        state = self._state(S, k, inside, start, vector)
        best: _Point | None = None
        primal, factor = -np.inf, np.zeros((len(S), 1))
        bounds: list[float] = []
        status, step = RelaxationStatus.ITERATION_LIMIT, 0
        inner, aside = _block(S, state.keep), Aside(S, state.keep)
        with monitor.watch():
            while step < self._limit(state):
                monitor.tick("upper bound", bound=np.inf if best is None else best.estimate * unit)
                steps = min(CHECK_EVERY, self._limit(state) - step)
                F, finite = advance(state, inner, k, steps)
                step += steps
                if not finite:
                    status = RelaxationStatus.PRECISION_LIMIT
                    break
                point = _Point.of(inner, k, state, aside)
                if best is None or point.estimate < best.estimate:
                    best = point
                primal = max(primal, feasible_value(inner, k, state.inside, F, norms=self.norms))
                factor = np.zeros((len(S), F.shape[1]))
                factor[state.keep] = F
                bounds.append(best.estimate)
                end = self._end(bounds, primal, known)
                if end is not None:
                    status = end
                    break
                if len(point.added):
                    state = _with(S, state, aside, point.added, point.m, point.price, point.top)
                    inner = _block(S, state.keep)
        # No eigenvalue is above the Frobenius norm. A bound above it comes from too few steps.
        norm = float(np.linalg.norm(S)) * (1 + len(S) * EPS)
        if best is None or best.estimate > norm:
            no_time = monitor.stopped is not None and len(S) > EIGENVALUE_AFTER_TIME
            largest = norm if no_time else estimated_largest_eigenvalue_bound(S)
            everything, nothing = np.arange(len(S)), np.empty(0, dtype=np.intp)
            zero = np.zeros_like(S)
            best = _Point(largest, everything, zero, None, 0.0, 0.0, zero.diagonal(), largest, nothing)
        return RowLevelSolution(
            cardinality=k,
            inside=inside,
            estimate=best.estimate * unit,
            primal=primal * unit,
            keep=best.keep,
            levels=best.levels * unit,
            norms=None if best.norms is None else best.norms * unit,
            price=best.price * unit,
            cost=best.cost * unit,
            factor=factor,
            status=final_status(monitor.stopped, status),
            iterations=step,
            state=state,
        )

    def _limit(self, state: RowState) -> int:
        if self.max_iterations is not None:
            return self.max_iterations
        return STEPS if len(state.keep) <= MANY else STEPS_IF_MANY

    def _end(self, bounds: list[float], primal: float, known: float) -> RelaxationStatus | None:
        """Return the status if the solve ends here, given all bounds so far; else None."""
        now = bounds[-1]
        if now - primal <= self.tolerance * abs(now):
            return RelaxationStatus.CONVERGED
        if now <= known:
            return RelaxationStatus.TARGET_REACHED
        count = CHECKS if known > -np.inf else CHECKS_IF_UNKNOWN
        worth = max(self.least_progress * (now - known) if known > -np.inf else 0.0, 0.1 * self.tolerance * abs(now))
        stalled = len(bounds) > count and bounds[-1 - count] - now <= worth
        return RelaxationStatus.STALLED if stalled else None

    def _state(
        self, S: Floats, k: int, inside: Indices, start: RowLevelSolution | None, vector: Floats | None
    ) -> RowState:
        """Return the first state: that of a start if it fits, else one from a sparse component."""
        parts = 2 if self.norms else 1
        if start is not None and start.state is not None and len(start.state.u) == parts:
            before = start.state
            if np.isin(inside, before.keep).all():
                return before.on(np.arange(len(before.keep)), before.keep, np.isin(before.keep, inside))
        return RowState.around(S, k, inside, _rough_component(S, k) if vector is None else vector, parts)


def _block(S: Floats, keep: Indices) -> Floats:
    return np.ascontiguousarray(S[np.ix_(keep, keep)])


def _rough_component(S: Floats, k: int) -> Floats:
    """Return a sparse component: a few steps of the truncated power method, started at the longest column."""
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


# The number of steps, and of steps between two computations of the bound.
FEW_STEPS, LOOK_EVERY = 20, 5
# As many steps again if the bound is still this far above the known value, relative to it, and few features are kept.
FAR_FROM_KNOWN_VALUE, FEW_KEPT = 0.05, 150
# Keep no more features than this: a step would take too long.
MOST_KEPT = 400
# If the bound is this close to the known value, relative to it, go on only while the distance halves at each look.
NEAR_KNOWN_VALUE = 0.03


def quick_row_levels(
    S: Floats, cardinality: int, vector: Floats, known: float, *, monitor: Monitor | None = None
) -> Estimate | None:
    """Bound z'Sz over unit z with at most k nonzeros; return None if there was no time for the first steps.

    `vector` is a sparse component to start from, and `known` its value. The steps end early if the bound reaches that
    value, or if it is near and falls slowly.
    """
    monitor = monitor or Monitor()
    unit = max(float(S.max(initial=0.0)), -float(S.min(initial=0.0))) or 1.0
    S, known = S / unit, known / unit
    best: _Point | None = None
    # Its eigenproblems are small, even if S is not.
    with one_thread(), monitor.watch():
        state, aside = _first(S, cardinality, vector)
        last = np.inf
        for step in range(0, 2 * FEW_STEPS, LOOK_EVERY):
            if step >= FEW_STEPS and (last <= FAR_FROM_KNOWN_VALUE * known or len(state.keep) > FEW_KEPT):
                break
            monitor.tick("upper bound", bound=np.inf if best is None else best.estimate * unit)
            inner = S[np.ix_(state.keep, state.keep)]
            if not advance(state, inner, cardinality, LOOK_EVERY)[1]:
                break
            point = _Point.of(inner, cardinality, state, aside)
            if best is None or point.estimate < best.estimate:
                best = point
            distance = best.estimate - known
            if distance <= 0 or (distance <= NEAR_KNOWN_VALUE * known and 2 * distance > last):
                break
            last = distance
            if len(point.added):
                if len(state.keep) + len(point.added) > MOST_KEPT:
                    break
                state = _with(S, state, aside, point.added, point.m, point.price, point.top)
    if best is None:
        return None
    witness = DualWitness("row levels", levels=best.levels * unit, kept=best.keep, price=best.price * unit)
    return Estimate(best.estimate * unit, "row levels", cardinality, witness)


def _first(S: Floats, k: int, z: Floats) -> tuple[RowState, Aside]:
    """Return the first state. Features that raise its bound are kept from the start: few steps follow."""
    state = RowState.around(S, k, np.empty(0, dtype=np.intp), z, parts=1)
    aside = Aside(S, state.keep)
    # The dual point of the start is one of the l1 relaxation, with one level for all rows.
    price = float(state.mu[0, 0]) * state.stiffness / k
    m, top = np.full(len(state.keep), 2 * k * price), float(z @ S @ z)
    left = aside.left(m, price)
    worst = np.argsort(-left, kind="stable")[: max(MOST_KEPT - len(state.keep), 0)]
    added = aside.features[worst[left[worst] > top]]
    return (_with(S, state, aside, added, m, price, top) if len(added) else state), aside
