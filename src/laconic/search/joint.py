"""Several components found together: one support for all, supports that share nothing, or orthonormal loadings.

The search improves many starts by exchanges of features. One mechanism serves the three questions. A *group* is a
support with the components that live on it. With "common" there is one group of r components; otherwise each component
is a group of its own. Let Q hold the components of the other groups if loadings must be orthonormal, and nothing
otherwise. The value of a group on its support T is the sum of the p largest eigenvalues of

    S_TT on the subspace { u : Q_T'u = 0 },    p = r for "common", p = 1 otherwise.

**Exchanges.** Feature i leaves T, and D holds the p largest eigenvalues of what stays, Z their vectors. If feature j
joins, the subspace gains the direction

    w = e_j - Q_T (Q_T'Q_T)^+ q_j,    q_j the row j of Q,

which is orthogonal to Z. The value is then at least the sum of the p largest eigenvalues of the arrowhead matrix
[[D, g], [g', a]], g = Z'Sw/|w| and a = w'Sw/|w|^2. That sum is its trace minus its smallest eigenvalue, the root of a
secular equation. A table of these numbers for all i and j tells which exchanges are promising: of one feature, of two
features between two groups, of a feature that one group takes from another, and, if only the total number of nonzeros
is given, of a nonzero that moves from one group to another. The best by the table are evaluated exactly.

**Starts** are the components given, dense components, their varimax rotation, and random rotations of them. Power steps
turn each into supports: U becomes the nearest orthonormal matrix to SU after its small entries are set to zero.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import eigh
from laconic.core.monitor import Monitor, threads_for
from laconic.covariance import Covariance, DenseCovariance, largest_eigenpairs
from laconic.search.auto import Auto
from laconic.search.power import power_supports
from laconic.search.problem import Problem
from laconic.search.span import assigned, varimax
from laconic.search.support import added, leading, leading_on, values_of
from laconic.search.swaps import REMOVALS

#: What several components have to do with each other.
Question: TypeAlias = Literal["common", "disjoint", "orthogonal", "span"]


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Maximise the variance that several components explain together.

    With u_1, ..., u_r the components as the columns of U, the value is the sum of u_t'Su_t, where

        common      U'U = I, and one support of k features serves all components: the value of the best U on a
                    support T is the sum of the r largest eigenvalues of S_TT
        disjoint    component t has at most k_t nonzeros, and no feature serves two components
        orthogonal  U'U = I, component t has at most k_t nonzeros, and supports may overlap

    and for "span" the value is the variance of the data projected on the span of U; see `laconic.search.span`.

    Attributes
    ----------
    covariance
        The matrix S.
    question
        One of the four.
    cardinalities
        The largest number of nonzeros of each component. With "common" all are the size of the support.
    total
        The largest number of nonzeros of all components together, or None. With it, sizes are chosen: each of the
        `cardinalities` is then the most that one component may have.
    forced
        Features that every component must use; with "common", features of the support.
    nonnegative
        Whether all loadings must be at least zero. Only "disjoint" allows that.
    monitor
        Stops the search at the time limit or at Ctrl-C.
    """

    covariance: Covariance
    question: Question
    cardinalities: tuple[int, ...]
    total: int | None = None
    forced: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    nonnegative: bool = False
    monitor: Monitor = field(default_factory=Monitor)

    @property
    def count(self) -> int:
        """The number of components."""
        return len(self.cardinalities)


def value_of(problem: JointProblem, vectors: Floats) -> float:
    """Return the sum of u_t'Su_t over the columns of `vectors`."""
    return float(np.einsum("ij,ij->", vectors, problem.covariance.product(vectors)))


# Search among at most this many features at first; supports found there are improved on all features.
CORE = 512
# Rounds of a search in the core and an improvement on all features, at most.
ROUNDS_OF_CORE = 3
# Random rotations of the dense components to start from, and fewer with more than so many features.
ROTATIONS, ROTATIONS_IF_MANY, MANY = 24, 8, 200
# Random changes of the best components in succession that may fail before the search ends.
PATIENCE = 8
PROJECTED_STEPS = 5
TRIAL_NEWTON = 0
ONE_BY_ONE = 8
# Power steps of one start, at most. Most starts end earlier, at supports that no longer change.
POWER_STEPS = 30
# Exchanges by each kind that are evaluated exactly, those of the largest estimates.
TESTED = 12
# Exchanges of one start, at most.
EXCHANGES = 200
# An exchange must raise the value by this share of the largest variance. That is far above rounding.
GAIN = 1e-9
# Renewals of orthonormal components on given supports: at most so many rounds, and so many to try an exchange.
RENEWALS, RENEWALS_OF_A_TRIAL = 60, 2
# Singular values of Q_T below this are rounding.
DEPENDENT = 1e-13
# In estimates, singular values of Q_T below this count as zero: their directions would amplify errors.
NEARLY_DEPENDENT = 1e-7

# A group that changes: its place, what leaves (a place in its support) and what joins (a feature). -1 means nothing.
_Change: TypeAlias = tuple[int, int, int]


@dataclass(eq=False)
class _State:
    """Supports of the groups, the components as columns, and their value."""

    supports: list[Indices]
    vectors: Floats
    value: float


def solve_jointly(problem: JointProblem, starts: Sequence[Floats] = (), *, seed: int = 0) -> Floats:
    """Return the best components found, one unit vector in each column of an (n, r) array.

    Column t has at most as many nonzeros as cardinality t allows. Among equal cardinalities the variance u'Su falls.
    If only the total is given, the number of nonzeros falls from column to column, and among equal ones the variance.
    Then the largest cardinality limits the first column, and so on.

    Parameters
    ----------
    problem
        The question; one of "common", "disjoint" and "orthogonal".
    starts
        Arrays of r columns to start from. They need not answer the question: entries are dropped, and loadings
        computed again. The result is never below any of these.
    seed
        The seed of random starts.
    """
    whole = _Search(problem, seed)
    with problem.monitor.watch(), threads_for(min(problem.covariance.n_features, CORE)):
        whole.offer(whole.simple_start())
        for start in starts:
            whole.offer(whole.feasible(whole.ordered(start)))
        if problem.covariance.n_features <= CORE:
            whole.run(starts)
        else:
            _from_core(whole, starts, seed)
    return whole.result()


def _from_core(whole: "_Search", starts: Sequence[Floats], seed: int) -> None:
    """Search among promising features, improve on all features, and add what that brings, until nothing new comes."""
    problem = whole.problem
    core = np.unique(np.concatenate([whole.promising(), *[np.flatnonzero(start.any(axis=1)) for start in starts]]))
    for _ in range(ROUNDS_OF_CORE):
        S = DenseCovariance(problem.covariance.submatrix(core), semidefinite=problem.covariance.semidefinite)
        inner = _Search(replace(problem, covariance=S, forced=np.searchsorted(core, problem.forced)), seed)
        try:
            inner.run([start[core] for start in (*starts, whole.best.vectors)])
        finally:
            if inner.found is not None:
                vectors = np.zeros_like(whole.best.vectors)
                vectors[core] = inner.found.vectors
                whole.offer(_State([core[T] for T in inner.found.supports], vectors, inner.found.value))
        whole.offer(whole.improved(whole.best))
        used = np.unique(np.concatenate(whole.best.supports))
        if np.isin(used, core).all():
            return
        core = np.union1d(core, np.concatenate([used, whole.near()]))


def _nearly_leading(block: Floats, z: Floats, stay: Floats) -> tuple[Floats, Floats]:
    """Return values and non-negative vectors after a few projected power steps from z without what leaves."""
    shift = max(-float(np.linalg.eigvalsh(block)[0]), 0.0)
    Z = (z + z.max() / len(z)) * stay
    for _ in range(PROJECTED_STEPS):
        Z = np.maximum(block @ Z + shift * Z, 0.0) * stay
        Z = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), SMALLEST_NORMAL)
    return np.einsum("bkp,kl,blp->bp", Z, block, Z), Z


class _Entries:
    """The entries x of orthonormal components on given supports, one component after the other."""

    def __init__(self, supports: list[Indices], U: Floats) -> None:
        self.shape, self.r = U.shape, U.shape[1]
        self.rows = np.concatenate(supports)
        self.of = np.repeat(np.arange(self.r), [len(T) for T in supports])
        self.first, self.second = np.triu_indices(self.r)

    def values(self, U: Floats) -> Floats:
        return U[self.rows, self.of]

    def vectors(self, x: Floats) -> Floats:
        U = np.zeros(self.shape)
        U[self.rows, self.of] = x
        return U

    def constraints(self, x: Floats) -> tuple[Floats, Floats]:
        """Return u_s'u_t - [s = t] for s <= t, and its derivatives, a row each."""
        U = self.vectors(x)
        U_rows = U[self.rows]
        off = (U.T @ U - np.eye(self.r))[self.first, self.second]
        J = (self.of == self.first[:, None]) * U_rows[:, self.second].T
        J = J + (self.of == self.second[:, None]) * U_rows[:, self.first].T
        return off, J

    def corrected(self, x: Floats) -> Floats | None:
        """Return entries near x with U'U = I, by Gauss and Newton's method; None if it fails."""
        for _ in range(12):
            off, J = self.constraints(x)
            if np.abs(off).max() < 1e-14:
                break
            step = np.linalg.lstsq(J, off, rcond=1e-10)[0]
            x = x - step
        off, _ = self.constraints(x)
        return x if np.abs(off).max() < 1e-13 else None

    def maximised(self, x: Floats, blocks: list[Floats], steps: int, least: float) -> Floats:
        N = len(x)
        A = np.zeros((N, N))
        at = 0
        for block in blocks:
            A[at : at + len(block), at : at + len(block)] = block
            at += len(block)
        same = self.rows[:, None] == self.rows
        value = float(x @ A @ x)
        for _ in range(steps):
            _, J = self.constraints(x)
            left, sing, _ = np.linalg.svd(J.T)
            rank = int((sing > 1e-9 * sing[0]).sum())
            Z = left[:, rank:]
            if not Z.shape[1]:
                break
            g = A @ x
            multipliers = np.linalg.lstsq(J.T, g, rcond=1e-10)[0]
            L = np.zeros((self.r, self.r))
            L[self.first, self.second] = multipliers
            L = L + L.T
            H = A - L[self.of[:, None], self.of] * same
            w, V = eigh(Z.T @ H @ Z)
            slope = V.T @ (Z.T @ g)
            floor = 1e-3 * float(np.abs(w).max()) + 1e-9 * float(np.abs(A).max()) + SMALLEST_NORMAL
            d = Z @ (V @ (slope / np.maximum(np.abs(w), floor)))
            length = np.linalg.norm(d)
            if slope @ slope / floor < least:
                break
            d = d * min(1.0, 0.5 / float(length))
            for _ in range(6):
                new = self.corrected(x + d)
                gained = -np.inf if new is None else float(new @ A @ new) - value
                if gained > 0:
                    break
                d = 0.3 * d
            if new is None or gained <= 0:
                break
            x, value = new, value + gained
            if gained < least:
                break
        return x


class _Search:
    """The search on one covariance, and the best state so far."""

    def __init__(self, problem: JointProblem, seed: int) -> None:
        self.problem, self.S = problem, problem.covariance
        self.common, self.apart = problem.question == "common", problem.question == "disjoint"
        self.orthogonal = problem.question == "orthogonal"
        # The largest size of each group, and what all groups may have together.
        most = problem.cardinalities if problem.total is None else tuple(sorted(problem.cardinalities, reverse=True))
        self.sizes = most[:1] if self.common else most
        n = self.S.n_features
        self.room = min(sum(self.sizes), problem.total or n * len(most), n if self.apart else n * len(most))
        self.movable_sizes = sum(self.sizes) > self.room
        self.rng = np.random.default_rng(seed)
        self.least_gain = GAIN * float(np.abs(self.S.diagonal).max())
        self.found: _State | None = None
        self.known: dict[bytes, tuple[float, Floats]] = {}

    @property
    def best(self) -> _State:
        assert self.found is not None
        return self.found

    def offer(self, state: _State | None) -> None:
        """Take a state if it is better than the best so far."""
        if state is not None and (self.found is None or state.value > self.found.value + self.least_gain):
            self.found = state

    def columns(self, group: int) -> slice:
        """Return the columns of the components of a group."""
        return slice(None) if self.common else slice(group, group + 1)

    # Supports

    def ordered(self, start: Floats) -> Floats:
        """Return columns in the order of the sizes: by falling number of nonzeros if sizes are to be chosen."""
        if self.problem.total is None:
            return start
        return start[:, np.argsort(-(start != 0).sum(axis=0), kind="stable")]

    def chosen(self, W: Floats, *, apart: bool = False) -> list[Indices]:
        """Return the supports of the largest entries of W that the sizes allow; no feature twice if they are `apart`.

        Each group gets one feature at least.
        """
        squares = W**2
        if self.problem.nonnegative:
            squares = np.maximum(W, 0.0) ** 2
        if self.common:
            squares = squares.sum(axis=1, keepdims=True)
        forced = self.problem.forced
        squares[forced] = -1.0
        n, groups = squares.shape
        apart = apart or self.apart
        room = self.room - groups * len(forced)
        room = min(room, n - len(forced)) if apart else room
        supports: list[list[int]] = [forced.tolist() for _ in range(groups)]
        empty = {t for t in range(groups) if self.sizes[t] > len(forced)}
        used = np.zeros(n, dtype=bool)
        for entry in np.argsort(-squares, axis=None, kind="stable")[: groups * (n - len(forced))].tolist():
            i, t = divmod(entry, groups)
            if len(supports[t]) == self.sizes[t] or (t not in empty and room <= len(empty)) or (apart and used[i]):
                continue
            if room == 0:
                break
            empty.discard(t)
            room -= 1
            supports[t].append(i)
            used[i] = True
        return [np.sort(np.array(T, dtype=np.intp)) for T in supports]

    def after_power_steps(self, W: Floats) -> Floats:
        """Return W after power steps: U is the orthonormal matrix nearest to W on its supports, and SU the next W."""
        before = None
        for _ in range(POWER_STEPS):
            self.tick()
            supports = self.chosen(W)
            if before is not None and all(np.array_equal(T, B) for T, B in zip(supports, before, strict=True)):
                break
            before, U = supports, np.zeros_like(W)
            for t, T in enumerate(supports):
                U[T, self.columns(t)] = W[T, self.columns(t)]
            values, turn = np.linalg.eigh(U.T @ U)
            U = U @ (turn / np.sqrt(np.maximum(values, NEARLY_DEPENDENT * values[-1] + SMALLEST_NORMAL))) @ turn.T
            W = self.S.product(U) + self.S.power_shift * U
        return W

    # Components on given supports

    def feasible(self, W: Floats) -> _State | None:
        """Return components on the supports of the largest entries of W; a W that answers the question stays."""
        for supports in (self.chosen(W), self.chosen(W, apart=True)):
            state = self.fitted(supports, W)
            if state is not None:
                return state
        return None

    def fitted(self, supports: list[Indices], U: Floats, renewals: int = 3, newton: int = 30) -> _State | None:
        """Return the best components found on these supports, from the columns of U; None if there are none."""
        if self.orthogonal:
            vectors = self._orthonormal(supports, U)
            return None if vectors is None else self._renewed(supports, vectors, renewals, newton)
        vectors, value = np.zeros_like(U), 0.0
        for t, T in enumerate(supports):
            one, vectors[T, self.columns(t)] = self._alone(T)
            value += one
        return _State(supports, vectors, value)

    def _alone(self, T: Indices) -> tuple[float, Floats]:
        """Return the best value of a group on a support, and its components as columns."""
        key = T.tobytes()
        if key not in self.known:
            block = self.S.submatrix(T)
            if self.problem.nonnegative:
                value, z = leading(block, nonnegative=True)
                self.known[key] = value, z[:, None]
            else:
                r = self.problem.count if self.common else 1
                values, vectors = eigh(block)
                self.known[key] = float(values[-r:].sum()), vectors[:, : -r - 1 : -1]
        return self.known[key]

    def _orthonormal(self, supports: list[Indices], U: Floats) -> Floats | None:
        """Return orthonormal columns on these supports, near U if there are some; None if none are found."""
        entries = _Entries(supports, U)
        x = entries.corrected(entries.values(U))
        if x is not None:
            return entries.vectors(x)
        vectors = np.zeros_like(U)
        # Small supports are served first: they have the least choice.
        for t in sorted(range(len(supports)), key=lambda t: len(supports[t])):
            renewed = self._best_beside(supports[t], vectors)
            if renewed is None:
                return None
            vectors[supports[t], t] = renewed[1]
        return vectors

    def _renewed(self, supports: list[Indices], vectors: Floats, renewals: int, newton: int) -> _State:
        """Renew one component after the other, each the best beside the others. The value does not fall."""
        before, vectors = -np.inf, vectors.copy()
        for _ in range(renewals):
            value = 0.0
            for t, T in enumerate(supports):
                vectors[:, t] = 0.0
                renewed = self._best_beside(T, vectors)
                assert renewed is not None
                one, vectors[T, t] = renewed
                value += one
            if value <= before + self.least_gain:
                break
            before = value
        if newton:
            entries = _Entries(supports, vectors)
            blocks = [self.S.submatrix(T) for T in supports]
            vectors = entries.vectors(entries.maximised(entries.values(vectors), blocks, newton, self.least_gain))
        value = float(np.einsum("ij,ij->", vectors, self.S.product(vectors)))
        return _State(supports, vectors, value)

    def _best_beside(self, T: Indices, others: Floats) -> tuple[float, Floats] | None:
        """Return the largest u'Su over unit u on a support, orthogonal to the columns given, and u."""
        block, Q = self.S.submatrix(T), others[T]
        Q = Q[:, Q.any(axis=0)]
        if not Q.shape[1]:
            return leading(block)
        left, values, _ = np.linalg.svd(Q)
        free = left[:, int((values > DEPENDENT).sum()) :]
        if not free.shape[1]:
            return None
        value, z = leading(free.T @ block @ free)
        return value, free @ z

    # Exchanges

    def improved(self, state: _State) -> _State:
        """Make exchanges, the most promising first, until none of those tried raises the value."""
        for _ in range(EXCHANGES):
            self.tick()
            for changes in self._promising_changes(state):
                supports = list(state.supports)
                for t, gone, join in changes:
                    T = supports[t]
                    T = np.delete(T, gone) if gone >= 0 else T
                    supports[t] = np.sort(np.append(T, join)) if join >= 0 else T
                tried = self.fitted(supports, state.vectors, 1, TRIAL_NEWTON)
                if tried is not None and tried.value > state.value + self.least_gain:
                    break
            else:
                return state
            state = (self.fitted(supports, tried.vectors) or tried) if self.orthogonal else tried
            self.offer(state)
        return state

    def _promising_changes(self, state: _State) -> list[tuple[_Change, ...]]:
        """Return the changes of the largest estimated gains, the largest first."""
        n, supports = self.S.n_features, state.supports
        tables = [self._table(state, t) for t in range(len(supports))]
        free = np.ones(n, dtype=bool)
        if self.apart:
            free[np.concatenate(supports)] = False
        found: list[tuple[float, tuple[_Change, ...]]] = []

        def add(estimates: Floats, *changes: tuple[int, Indices | int, Indices | int]) -> None:
            """Add the best entries of a table; what leaves and joins are numbers, or arrays that broadcast to it."""
            flat = estimates.ravel()
            count = min(TESTED, flat.size)
            if not count:
                return
            full = [[np.broadcast_to(part, estimates.shape).ravel() for part in change] for change in changes]
            for place in np.argpartition(-flat, count - 1)[:count].tolist():
                if flat[place] > -np.inf:
                    found.append(
                        (float(flat[place]), tuple((int(t[place]), int(i[place]), int(j[place])) for t, i, j in full))
                    )

        features = np.arange(n)
        lacking = sum(len(T) for T in supports) < self.room
        for t, (leave, gains) in enumerate(tables):
            open_gains = np.where(free, gains[:, :n], -np.inf)
            add(open_gains[:-1], (t, leave[:, None], features))
            if lacking and len(supports[t]) < self.sizes[t]:
                add(open_gains[-1], (t, -1, features))
            for s, (other, others_gains) in enumerate(tables):
                if s == t:
                    continue
                T, taken = supports[t][leave], supports[s][other]
                others_open = np.where(free, others_gains[:, :n], -np.inf)
                if self.movable_sizes and len(supports[t]) > 1 and len(supports[s]) < self.sizes[s]:
                    # A nonzero moves from one group to another.
                    out = gains[:-1, n]
                    add(out[:, None] + others_open[-1], (t, leave[:, None], -1), (s, -1, features))
                    add(out + others_gains[-1, T], (t, leave, -1), (s, -1, T))
                into = gains[:-1, taken]
                if t < s:
                    swapped = into + others_gains[:-1, T].T
                    add(swapped, (t, leave[:, None], taken), (s, other, T[:, None]))
                if self.apart and free.any() and len(other):
                    add(
                        into + others_open[:-1].max(axis=1),
                        (t, leave[:, None], taken),
                        (s, other, others_open[:-1].argmax(axis=1)),
                    )
        found.sort(key=lambda pair: -pair[0])
        return [changes for _, changes in found[: 2 * TESTED]]

    def _table(self, state: _State, group: int) -> tuple[Indices, Floats]:
        """Return the places that may leave, and the estimated gains.

        In row a the place a leaves, in the last row none. In column j feature j joins, in the last column none.
        """
        T, own = state.supports[group], self.columns(group)
        U = state.vectors[:, own]
        k, p = len(T), U.shape[1]
        leave = np.flatnonzero(~np.isin(T, self.problem.forced))
        if len(leave) > REMOVALS:
            sizes = (U[T[leave]] ** 2).sum(axis=1)
            leave = np.sort(leave[np.argsort(sizes, kind="stable")[:REMOVALS]])
        stay = np.ones((len(leave) + 1, k))
        stay[np.arange(len(leave)), leave] = 0.0
        columns = self.S.columns(T)
        block = 0.5 * (columns[T] + columns[T].T)
        Q = np.delete(state.vectors, group, axis=1) if self.orthogonal else np.zeros((len(U), 0))
        V, values, W = np.linalg.svd(Q[T] * stay[:, :, None], full_matrices=False)
        usable = values > NEARLY_DEPENDENT
        V, W = V * usable[:, None, :], W * usable[:, :, None]
        inverse = (V / np.where(usable, values, 1.0)[:, None, :]) @ W
        inner = -V @ V.swapaxes(1, 2)
        inner[:, np.arange(k), np.arange(k)] += stay
        # Directions outside of the subspace get a value below all others.
        below = 4.0 * np.linalg.norm(block) + SMALLEST_NORMAL
        M = inner @ block @ inner + below * inner
        D, Z = eigh(0.5 * (M + M.swapaxes(1, 2)))
        D, Z = D[:, : -p - 1 : -1] - below, Z[:, :, : -p - 1 : -1]
        Z = Z * stay[:, :, None]
        if self.problem.nonnegative:
            D, Z = _nearly_leading(block, U[T], stay[:, :, None])
        BR = block @ inverse
        g = np.swapaxes(columns @ Z - Q @ (BR.swapaxes(1, 2) @ Z), 1, 2)  # row, p, n
        a = self.S.diagonal - 2 * np.einsum("bnm,nm->bn", columns @ inverse, Q)
        a += np.einsum("nm,bml,nl->bn", Q, inverse.swapaxes(1, 2) @ BR, Q)
        lengths = 1.0 + np.einsum("nm,bml,nl->bn", Q, inverse.swapaxes(1, 2) @ inverse, Q)
        lost = (Q**2).sum(axis=1) - ((Q @ W.swapaxes(1, 2)) ** 2).sum(axis=2) > NEARLY_DEPENDENT
        a, g = a / lengths, g / np.sqrt(lengths)[:, None, :]
        g *= (0.5 * below + D > 0)[:, :, None]
        if self.problem.nonnegative:
            g = np.maximum(g, 0.0)
        rows, n = a.shape
        spread = np.repeat(D.T[:, :, None], n, axis=2).reshape(p, -1)
        least = -added(-spread, g.transpose(1, 0, 2).reshape(p, -1), -a.ravel()).reshape(rows, n)
        sums = D.sum(axis=1)[:, None]
        reached = np.where(lost, sums, sums + a - least)
        reached[:, T] = -np.inf
        value = float(np.einsum("ij,ij->", U[T], block @ U[T]))
        return leave, np.hstack([reached, sums]) - value

    # Starts

    def tick(self) -> None:
        self.problem.monitor.tick("components together", best=None if self.found is None else self.found.value)

    def simple_start(self) -> _State | None:
        """Return components on the features of largest variance, no feature twice if there are enough."""
        deviations = np.sqrt(np.maximum(self.S.diagonal, SMALLEST_NORMAL))
        W = np.repeat(deviations[:, None], self.problem.count, axis=1)
        return self.fitted(self.chosen(W, apart=True), np.zeros_like(W))

    def starts(self) -> Iterator[Floats]:
        r, n = self.problem.count, self.S.n_features
        values, dense = largest_eigenpairs(self.S, min(r + 2, n), tolerance=1e-6)
        scaled = dense * np.sqrt(np.maximum(values, 1e-6 * np.abs(values).max()))
        sizes = self.sizes * r if self.common else self.sizes
        for W in (dense[:, :r], varimax(dense[:, :r]), varimax(scaled[:, :r])):
            yield assigned(W, sizes)
        if not self.common:
            for attempt in range(ONE_BY_ONE):
                yield self.one_after_the_other(attempt)
        for count in range(ROTATIONS if n <= MANY else ROTATIONS_IF_MANY):
            among = min(r + count % 3, n)
            turn = np.linalg.qr(self.rng.standard_normal((among, r)))[0]
            yield dense[:, :among] @ turn

    def one_after_the_other(self, attempt: int) -> Floats:
        """Return components on disjoint supports, found one after the other; at random but for the first attempt."""
        n, r = self.S.n_features, self.problem.count
        sizes = np.array(self.sizes)
        if self.movable_sizes:
            cuts = (
                np.sort(self.rng.choice(np.arange(1, self.room), r - 1, replace=False))
                if self.room > r
                else np.arange(1, r)
            )
            sizes = np.minimum(sizes, np.diff(np.concatenate([[0], cuts, [self.room]])))
            if attempt == 0:
                sizes = np.minimum(np.array(self.sizes), max(self.room // r, 1))
        order = self.rng.permutation(r) if attempt else np.arange(r)
        W, left = np.zeros((n, r)), np.arange(n)
        for t in order.tolist():
            self.tick()
            if not len(left):
                break
            one = Problem(
                self.S.part(left),
                min(int(sizes[t]), len(left)),
                nonnegative=self.problem.nonnegative,
                monitor=self.problem.monitor,
            )
            supports, _ = power_supports(
                one, one.covariance.columns(np.arange(len(left))), max_iterations=POWER_STEPS, keep=8
            )
            values = values_of(one, supports)
            rank = min(int(self.rng.geometric(0.4)) - 1, len(supports) - 1) if attempt else 0
            support = supports[np.argsort(-values, kind="stable")[rank]]
            W[left[support], t] = leading_on(one, support)[1]
            left = np.delete(left, support)
        return W

    def run(self, starts: Sequence[Floats]) -> None:
        """Search from these starts and from many others."""
        self.offer(self.simple_start())
        for start in starts:
            self.offer(self.feasible(self.ordered(start)))
        if self.orthogonal and not len(self.problem.forced):
            # Disjoint supports are the simpler question, and its answer is a good start.
            disjoint = _Search(replace(self.problem, question="disjoint"), seed=0)
            try:
                disjoint.run(starts)
            finally:
                if disjoint.found is not None:
                    self.offer(self.feasible(disjoint.found.vectors))
            self.offer(self.improved(self.best))
        seen = set()
        for W in (*starts, *self.starts()):
            for start in (W, self.after_power_steps(W)):
                state = self.feasible(start)
                if state is None:
                    continue
                key = tuple(T.tobytes() for T in state.supports)
                if key in seen:
                    continue
                seen.add(key)
                self.offer(state)
                self.offer(self.improved(state))
        failures = 0
        while failures < PATIENCE:
            before = self.best.value
            W = self.S.product(self.best.vectors) + self.S.power_shift * self.best.vectors
            state = self.feasible(W * (self.rng.random(W.shape) > 0.3))
            if state is not None:
                self.offer(self.improved(state))
            failures = 0 if self.best.value > before else failures + 1

    def promising(self) -> Indices:
        """Return features among which the best supports may be."""
        S, problem = self.S, self.problem
        share = CORE // 8
        rankings = [
            S.diagonal,
            S.column_lengths(),
            *np.abs(largest_eigenpairs(S, problem.count + 2, tolerance=1e-3)[1]).T,
        ]
        parts = [problem.forced, *[np.argsort(-ranking, kind="stable")[:share] for ranking in rankings]]
        left = np.arange(S.n_features)
        for t in range(problem.count + 1):
            self.tick()
            one = Problem(S.part(left), min(self.sizes[t % len(self.sizes)], len(left)), monitor=problem.monitor)
            taken = left[Auto().solve(one).support]
            parts.append(taken)
            left = np.setdiff1d(left, taken)
        return np.unique(np.concatenate(parts))

    def near(self) -> Indices:
        """Return the features of the largest entries of SU."""
        strength = (self.S.product(self.best.vectors) ** 2).sum(axis=1)
        return np.argsort(-strength, kind="stable")[: CORE // 4]

    def result(self) -> Floats:
        U = self.best.vectors
        variances = np.einsum("ij,ij->j", U, self.S.product(U))
        nonzeros = (U != 0).sum(axis=0)
        if self.common:
            order = np.argsort(-variances, kind="stable")
        elif self.problem.total is not None:
            order = np.lexsort((-variances, -nonzeros))
        else:
            sizes = np.array(self.sizes)
            order = np.empty(len(sizes), dtype=np.intp)
            for size in set(self.sizes):
                places = np.flatnonzero(sizes == size)
                order[places] = places[np.argsort(-variances[places], kind="stable")]
        U = U[:, order]
        first = (np.abs(U) >= (1 - 1e-9) * np.abs(U).max(axis=0)).argmax(axis=0)
        return np.asarray(U * np.sign(U[first, np.arange(U.shape[1])]))
