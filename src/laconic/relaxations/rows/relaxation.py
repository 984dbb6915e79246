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
"""

from dataclasses import dataclass, field, replace

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS, estimated_largest_eigenvalue_bound
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.proof.witnesses.dual import DualWitness
from laconic.relaxations.rows.prices import Aside, priced_levels, priced_norms
from laconic.relaxations.rows.primal import feasible_value
from laconic.relaxations.rows.state import RowState, stiffness_of
from laconic.relaxations.rows.steps import advance, say_if_slow
from laconic.relaxations.status import RelaxationStatus, final_status

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
    """A primal and a dual point of the relaxation."""

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


@dataclass
class _Best:
    """The best primal and dual points so far, in units of the largest |S_ij|."""

    estimate: float = np.inf
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
    """The relaxation with row levels and row norms, solved by a splitting method.

    X lies in the spectrahedron. One copy of it satisfies the constraint on the row levels, another that on the row
    norms. Each projection separates by rows except for one multiplier. The steps are over-relaxed and extrapolated, as
    in `Splitting`. The bound is valid at every step. With row norms a step costs half as much again. The bound is then
    better, mostly when k is large compared with n.

    A solve stops early when the last computations of the bound have reduced its distance to the known value by less
    than the share `least_progress`, or the bound by less than a tenth of the tolerance.
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
        best = _Best()
        bounds: list[float] = []
        status, step = RelaxationStatus.ITERATION_LIMIT, 0
        inner, aside = _block(S, state.keep), Aside(S, state.keep)
        with monitor.watch():
            while step < self._limit(state):
                monitor.tick("upper bound", bound=best.estimate * unit)
                steps = min(CHECK_EVERY, self._limit(state) - step)
                F, finite = advance(state, inner, k, steps)
                step += steps
                if not finite:
                    status = RelaxationStatus.PRECISION_LIMIT
                    break
                added = self._look(inner, k, state, F, aside, best)
                bounds.append(best.estimate)
                end = self._end(bounds, best.primal, known)
                if end is not None:
                    status = end
                    break
                if len(added):
                    state = self._with_features(S, state, added, best.top)
                    inner = _block(S, state.keep)
                    aside.keep(state.keep)
        # No eigenvalue is above the Frobenius norm. A bound above it comes from too few steps.
        norm = float(np.linalg.norm(S)) * (1 + len(S) * EPS)
        if best.estimate > norm:
            best.keep, best.levels, best.norms = np.arange(len(S)), np.zeros_like(S), None
            no_time = monitor.stopped is not None and len(S) > EIGENVALUE_AFTER_TIME
            best.estimate, best.price, best.cost = norm if no_time else estimated_largest_eigenvalue_bound(S), 0.0, 0.0
        return RowLevelSolution(
            cardinality=k,
            inside=inside,
            estimate=best.estimate * unit,
            primal=best.primal * unit,
            keep=best.keep,
            levels=best.levels * unit,
            norms=None if best.norms is None else best.norms * unit,
            price=best.price * unit,
            cost=best.cost * unit,
            factor=best.factor if len(best.factor) else np.zeros((len(S), 1)),
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

    def _look(self, inner: Floats, k: int, state: RowState, F: Floats, aside: Aside, best: _Best) -> Indices:
        """Evaluate both points; return the features set aside that would raise the bound."""
        L = state.multipliers()
        cost, price, m = priced_levels(L[0], k, state.inside)
        M = inner - 0.5 * (L[0] + L[0].T)
        if len(L) == 2:
            cost += priced_norms(L[1], k, state.inside)
            M -= 0.5 * (L[1] + L[1].T)
        top = estimated_largest_eigenvalue_bound(M)
        left = aside.left(m, price)
        added, largest = aside.features[left > top], max(top, float(left.max(initial=-np.inf)))
        levels, norms = L[0], L[1] if len(L) == 2 else None
        if largest + cost < best.estimate:
            # No call stands between these lines: Ctrl-C must not leave a bound with the price of another point.
            best.estimate, best.price, best.cost, best.keep = largest + cost, price, cost, state.keep
            best.levels, best.norms = levels, norms
        best.primal = max(best.primal, feasible_value(inner, k, state.inside, F, norms=len(L) == 2))
        best.top = top
        best.factor = np.zeros((len(state.keep) + len(aside.features), F.shape[1]))
        best.factor[state.keep] = F
        return added

    def _state(
        self, S: Floats, k: int, inside: Indices, start: RowLevelSolution | None, vector: Floats | None
    ) -> RowState:
        """Return the first state: that of a start if it fits, else one from a sparse component."""
        parts = 2 if self.norms else 1
        if start is not None and start.state is not None and len(start.state.u) == parts:
            before = start.state
            if np.isin(inside, before.keep).all():
                if vector is not None:
                    before = before.stiffened(stiffness_of(S, float(vector @ S @ vector)))
                return before.on(np.arange(len(before.keep)), before.keep, np.isin(before.keep, inside))
        return RowState.around(S, k, inside, _rough_component(S, k) if vector is None else vector, parts)

    def _with_features(self, S: Floats, state: RowState, added: Indices, top: float) -> RowState:
        """Return the state with more features kept."""
        _, price, m = priced_levels(state.multipliers()[0], 1, state.inside)
        keep = np.union1d(state.keep, added)
        inside = np.zeros(len(keep), dtype=bool)
        inside[np.searchsorted(keep, state.keep)] = state.inside
        return state.grown(S, keep, inside, m, price, top)


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
