"""Several components found together: one support for all, supports that share nothing, or orthonormal loadings.

One search serves the three questions. With "common" there is one support, with all r components on it; otherwise each
component has a support of its own. With orthonormal loadings, see `laconic.search.orthonormal` for what depends on
that. For the others, the value of a support T is the sum of the p largest eigenvalues of S_TT, with p = r for "common"
and p = 1 for "disjoint".

**Exchanges.** Feature i leaves T. Let D hold the p largest eigenvalues of what stays, and Z their vectors. If feature j
joins, the value is at least the sum of the p largest eigenvalues of

    [[D, g], [g', S_jj]],    g = Z'S_Tj.

That is the trace minus the smallest eigenvalue, which is the root of a secular equation. A table of these estimates
for all i and j tells which changes are promising: a feature for another in one support, features swapped between two
supports, a feature that one support takes from another, which finds a new one. If the sizes are to be chosen, a nonzero
may also move from one support to another. The best changes by their estimates are evaluated, and the first that raises
the value is made.

**Starts.** They are the components given, ordinary components, their varimax rotations, random rotations of them, and
components found one after the other among the features left. Orthonormal ones start from disjoint ones, too. Power
steps improve a start: U is the orthonormal matrix nearest to W with its small entries set to zero, and SU is the next
W. In the end the best components are changed at random and improved again, until several such changes in succession
fail.
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
from laconic.search.orthonormal import Orthonormal
from laconic.search.power import power_supports
from laconic.search.problem import Problem
from laconic.search.span import assigned, varimax
from laconic.search.support import MOST_IN_BLOCK, added, leading, leading_on, values_of
from laconic.search.swaps import EXCHANGES_IF_LARGE, LARGE, REMOVALS

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
    """Return the sum of u_t'Su_t over the columns of `vectors`, which use features at hand."""
    hand = problem.covariance.at_hand
    own = vectors if hand is None else np.ascontiguousarray(vectors[hand])
    return float(np.einsum("ij,ij->", own, problem.covariance.on_hand().product(own)))


# Search among at most this many features first. What is found there is improved on all features.
CORE, ROUNDS_OF_CORE = 512, 3


# Attempts to find components one after the other, random rotations of the ordinary components, random changes of the
# best components in succession that may fail before the search ends, and their size relative to equal loadings.
USUAL = (12, 24, 100, (0.4, 0.8))
# Orthonormal loadings take longer. They start from the best disjoint ones, too, and gain most from random changes.
ORTHONORMAL = (3, 4, 25, (0.2, 0.5))
# Large supports take longer: this many nonzeros are changed in all before the search ends.
NONZEROS_CHANGED = 1000
# With more than so many features, only this share of the starts and of the changes, and exchanges from the best few.
MANY, SHARE_IF_MANY, IMPROVED_IF_MANY = 200, 0.25, 8
# Power steps of one start at most. Most starts end earlier, at supports that no longer change.
POWER_STEPS = 30
# Accuracy of the ordinary components. Starts need no more.
ACCURACY_OF_DENSE = 1e-4
# Evaluate this many changes in a row, and take into account this many of each kind.
TESTED, TESTED_OF_A_KIND = 24, 12
# Changes of one start at most.
CHANGES = 200
# A change must raise the value by this share of the largest variance. That is far above rounding.
GAIN = 1e-9
# Newton steps on given supports, and as many to evaluate a change.
NEWTON_STEPS, NEWTON_STEPS_OF_A_TRIAL = 30, 3
# With more entries than this a Newton step takes too long: orthonormal components are then only renewed in turn.
MOST_ENTRIES, RENEWALS = 600, 3
# Singular values below this are rounding.
DEPENDENT = 1e-13

# Places of a support, which leave, or features, which join. Nothing does where it is -1.
_Part: TypeAlias = Indices | int


@dataclass(eq=False)
class _State:
    """Supports, the components as columns, and their value."""

    supports: list[Indices]
    vectors: Floats
    value: float


def solve_jointly(problem: JointProblem, starts: Sequence[Floats] = (), *, seed: int = 0) -> Floats:
    """Return the best components found, one unit vector in each column of an (n, r) array.

    Column t has at most as many nonzeros as cardinality t allows, and the variance u'Su falls among columns of equal
    cardinality. If the sizes are to be chosen, the number of nonzeros falls from column to column, and the variance
    among columns with equally many; the largest cardinality is then about the first column, and so on. A forced
    feature counts as a nonzero even if its loading is zero.

    Parameters
    ----------
    problem
        The question: "common", "disjoint" or "orthogonal".
    starts
        Arrays of r columns to start from. If they do not answer the question, their largest entries tell the supports.
        The result is never below what is on these supports.
    seed
        The seed of random starts and changes.
    """
    n = problem.covariance.n_features
    search = _Search(problem, seed)
    with problem.monitor.watch(), threads_for(min(n, CORE)):
        search.offer(search.simple())
        for start in starts:
            search.offer(search.on_largest(start))
        search.run(starts) if n <= CORE else _from_core(search, starts)
    return search.result()


# Components from a start are improved by exchanges if their value is at least this share of the one to beat.
WORTH_IMPROVING = 0.98


def components_from(problem: JointProblem, start: Floats, beat: float) -> Floats | None:
    """Return the best components found near a start, if their value is above that to beat."""
    search = _Search(problem, 0)
    with problem.monitor.watch():
        search.offer(search.on_largest(start))
        if search.found is not None and search.found.value >= WORTH_IMPROVING * beat:
            search.improved(search.found)
    return search.result() if search.found is not None and search.found.value > beat + search.least_gain else None


def _from_core(search: "_Search", starts: Sequence[Floats]) -> None:
    """Search among promising features, improve on all, and add what that brings, until it brings nothing new."""
    problem = search.problem
    core = search.promising(starts)
    for _ in range(ROUNDS_OF_CORE):
        S = DenseCovariance(problem.covariance.submatrix(core), semidefinite=problem.covariance.semidefinite)
        inner = _Search(replace(problem, covariance=S, forced=np.searchsorted(core, problem.forced)), search.seed)
        try:
            inner.run([start[core] for start in (*starts, search.best.vectors)])
        finally:
            if inner.found is not None:
                vectors = np.zeros_like(search.best.vectors)
                vectors[core] = inner.found.vectors
                search.offer(_State([core[T] for T in inner.found.supports], vectors, inner.found.value))
        search.offer(search.improved(search.best))
        used = np.concatenate(search.best.supports)
        if np.isin(used, core).all():
            return
        core = np.union1d(core, used)


class _Search:
    """The search on one covariance, and the best components so far."""

    def __init__(self, problem: JointProblem, seed: int) -> None:
        self.problem, self.S, self.seed = problem, problem.covariance, seed
        self.n, self.count = self.S.n_features, problem.count
        self.common, self.disjoint = problem.question == "common", problem.question == "disjoint"
        self.orthogonal = problem.question == "orthogonal"
        sizes = problem.cardinalities[:1] if self.common else problem.cardinalities
        # The most that each support may have, and all together.
        self.sizes = sizes if problem.total is None else tuple(sorted(sizes, reverse=True))
        limits = [sum(sizes), *([problem.total] if problem.total else []), *([self.n] if self.disjoint else [])]
        self.room = min(limits)
        self.chooses_sizes = self.room < sum(sizes)
        self.rng = np.random.default_rng(seed)
        share = SHARE_IF_MANY if self.n > MANY else 1.0
        *counts, self.noise = ORTHONORMAL if self.orthogonal else USUAL
        self.one_by_one, self.rotations, patience = (int(share * count) for count in counts)
        self.patience = min(patience, NONZEROS_CHANGED // self.room)
        self.least_gain = GAIN * float(np.abs(self.S.diagonal).max())
        self.known: dict[bytes, tuple[float, Floats]] = {}
        self.improved_before: set[bytes] = set()
        self.found: _State | None = None

    @property
    def best(self) -> _State:
        """The best components so far."""
        if self.found is None:
            raise ValueError("No orthonormal components of these sizes use the features forced in; force fewer.")
        return self.found

    def offer(self, state: _State | None) -> None:
        """Take components if they are better than the best so far."""
        if state is not None and (self.found is None or state.value > self.found.value + self.least_gain):
            self.found = state

    def tick(self) -> None:
        """Stop if the time is over."""
        self.problem.monitor.tick("components together", best=None if self.found is None else self.found.value)

    def of(self, t: int) -> slice:
        """Return the columns of the components on support t."""
        return slice(None) if self.common else slice(t, t + 1)

    def chosen(self, W: Floats, *, disjoint: bool = False) -> list[Indices]:
        """Return supports of the largest entries of W that the sizes allow. Each has one feature that is not forced."""
        forced, disjoint = self.problem.forced, disjoint or self.disjoint
        squares = (np.maximum(W, 0.0) if self.problem.nonnegative else W) ** 2
        if self.common:
            squares = squares.sum(axis=1, keepdims=True)
        squares[forced] = -1.0
        count = squares.shape[1]
        supports: list[list[int]] = [forced.tolist() for _ in range(count)]
        empty = {t for t in range(count) if self.sizes[t] > len(forced)}
        room = self.room - count * len(forced)
        room = min(room, self.n - len(forced)) if disjoint else room
        used = np.zeros(self.n, dtype=bool)
        used[forced] = True
        for entry in np.argsort(-squares, axis=None, kind="stable")[: count * (self.n - len(forced))].tolist():
            i, t = divmod(entry, count)
            if room == 0:
                break
            if len(supports[t]) == self.sizes[t] or (disjoint and used[i]) or (t not in empty and room <= len(empty)):
                continue
            supports[t].append(i)
            used[i] = True
            empty.discard(t)
            room -= 1
        return [np.sort(np.array(T, dtype=np.intp)) for T in supports]

    def after_power_steps(self, W: Floats) -> Floats:
        """Return W after power steps."""
        before = b""
        for _ in range(POWER_STEPS):
            self.tick()
            supports = self.chosen(W)
            if (now := _key(supports)) == before:
                break
            before, U = now, np.zeros_like(W)
            for t, T in enumerate(supports):
                U[T, self.of(t)] = W[T, self.of(t)]
            values, turn = np.linalg.eigh(U.T @ U)
            U = U @ (turn / np.sqrt(np.maximum(values, 1e-9 * values[-1] + SMALLEST_NORMAL))) @ turn.T
            W = self.S.product(U) + self.S.power_shift * U
        return W

    def on_largest(self, W: Floats) -> _State | None:
        """Return components on supports of the largest entries of W; None if none are found."""
        if self.problem.total is not None:
            W = W[:, np.argsort(-(W != 0).sum(axis=0), kind="stable")]
        return self.on(self.chosen(W), W) or self.on(self.chosen(W, disjoint=True), W)

    def on(
        self, supports: list[Indices], U: Floats, steps: int = NEWTON_STEPS, least: float = -np.inf
    ) -> _State | None:
        """Return the best components found on these supports, from the columns of U; None if none are found.

        Orthonormal ones may end early if they are not going to reach a value of `least`.
        """
        if self.orthogonal:
            return self._orthonormal(supports, U, steps, least)
        vectors, value = np.zeros_like(U), 0.0
        for t, T in enumerate(supports):
            one, vectors[T, self.of(t)] = self._alone(T)
            value += one
        return _State(supports, vectors, value)

    def _alone(self, T: Indices) -> tuple[float, Floats]:
        """Return the value of a support and its components as columns."""
        key = T.tobytes()
        if key not in self.known:
            block = self.S.submatrix(T)
            if self.problem.nonnegative:
                value, z = leading(block, nonnegative=True)
                self.known[key] = value, z[:, None]
            else:
                p = self.count if self.common else 1
                values, vectors = eigh(block)
                self.known[key] = float(values[-p:].sum()), vectors[:, : -p - 1 : -1]
        return self.known[key]

    def _orthonormal(self, supports: list[Indices], U: Floats, steps: int, least: float) -> _State | None:
        entries = Orthonormal(self.S, supports)
        x = entries.corrected(entries.entries(U))
        if x is None:
            vectors = self._renewed(supports, np.zeros_like(U))
            x = None if vectors is None else entries.corrected(entries.entries(vectors))
        if x is None:
            return None
        if len(x) <= MOST_ENTRIES:
            x = entries.ascended(x, steps, self.least_gain, least)
        else:
            for _ in range(RENEWALS):
                vectors = self._renewed(supports, entries.matrix(x))
                x = x if vectors is None else entries.entries(vectors)
        return _State(supports, entries.matrix(x), entries.value(x))

    def _renewed(self, supports: list[Indices], U: Floats) -> Floats | None:
        """Return the columns replaced in turn, each by the best one orthogonal to the others; None if there is none.

        Small supports come first: they have the least choice.
        """
        vectors = U.copy()
        for t in sorted(range(self.count), key=lambda t: len(supports[t])):
            vectors[:, t] = 0.0
            T = supports[t]
            left, values, _ = np.linalg.svd(vectors[T])
            free = left[:, int((values > DEPENDENT).sum()) :]
            if not free.shape[1]:
                return None
            vectors[T, t] = free @ leading(free.T @ self.S.submatrix(T) @ free)[1]
        return vectors

    def improved(self, state: _State) -> _State:
        """Make changes, the most promising first, until none of those tried raises the value."""
        largest = max(len(T) for T in state.supports)
        if largest > MOST_IN_BLOCK or (self.orthogonal and self.room > MOST_ENTRIES):
            return state
        for _ in range(CHANGES if largest <= LARGE else EXCHANGES_IF_LARGE):
            self.tick()
            if (key := _key(state.supports)) in self.improved_before:
                return state
            self.improved_before.add(key)
            least = state.value + self.least_gain
            for supports in self._changes(state):
                tried = self.on(supports, state.vectors, NEWTON_STEPS_OF_A_TRIAL, least)
                if tried is not None and tried.value > least:
                    break
            else:
                return state
            state = (self.on(tried.supports, tried.vectors) or tried) if self.orthogonal else tried
            self.offer(state)
        return state

    def _changes(self, state: _State) -> Iterator[list[Indices]]:
        """Yield changed supports, those of the largest estimated gains first."""
        supports, n = state.supports, self.n
        leaving = [self._leaving(state, t) for t in range(len(supports))]
        tables = self._gains(state, leaving)
        free = np.ones(n, dtype=bool)
        if self.disjoint:
            free[np.concatenate(supports)] = False
        found: list[tuple[float, int, Floats, tuple[tuple[int, _Part, _Part], ...]]] = []

        def add(gains: Floats, *changes: tuple[int, _Part, _Part]) -> None:
            """Add the largest gains: in support t some places leave and some features join."""
            flat, count = gains.ravel(), min(TESTED_OF_A_KIND, gains.size)
            best = np.argpartition(-flat, count - 1)[:count] if count else np.empty(0, dtype=np.intp)
            found.extend((float(flat[i]), int(i), gains, changes) for i in best if flat[i] > -np.inf)

        for t, leave in enumerate(leaving):
            open_to_t, rows = np.where(free, tables[t][:, :n], -np.inf), leave[:, None]
            add(open_to_t[:-1], (t, rows, np.arange(n)))
            if sum(map(len, supports)) < self.room and len(supports[t]) < self.sizes[t]:
                add(open_to_t[-1], (t, -1, np.arange(n)))
            for s in range(len(supports)):
                if s == t:
                    continue
                given, taken = supports[t][leave], supports[s][leaving[s]]
                open_to_s, into_t = np.where(free, tables[s][:, :n], -np.inf), tables[t][:-1, taken]
                if t < s:
                    add(into_t + tables[s][:-1, given].T, (t, rows, taken), (s, leaving[s], given[:, None]))
                if self.disjoint and into_t.size:
                    new = open_to_s[:-1].argmax(axis=1)
                    add(into_t + open_to_s[:-1].max(axis=1), (t, rows, taken), (s, leaving[s], new))
                if self.chooses_sizes and len(supports[t]) > 1 and len(supports[s]) < self.sizes[s]:
                    out = tables[t][:-1, n]
                    add(out[:, None] + open_to_s[-1], (t, rows, -1), (s, -1, np.arange(n)))
                    add(out + tables[s][-1, given], (t, leave, -1), (s, -1, given))
        found.sort(key=lambda one: -one[0])
        for _, i, gains, changes in found[:TESTED]:
            changed = list(supports)
            for t, *parts in changes:
                place, feature = (int(np.broadcast_to(part, gains.shape).flat[i]) for part in parts)
                T = np.delete(supports[t], place) if place >= 0 else supports[t]
                changed[t] = np.sort(np.append(T, feature)) if feature >= 0 else T
            yield changed

    def _leaving(self, state: _State, t: int) -> Indices:
        """Return the places of support t that may leave: not forced, and not too many, those of smallest loadings."""
        T = state.supports[t]
        free = np.flatnonzero(~np.isin(T, self.problem.forced))
        lengths = (state.vectors[T[free], self.of(t)] ** 2).sum(axis=1)
        return np.sort(free[np.argsort(lengths, kind="stable")[:REMOVALS]])

    def _gains(self, state: _State, leaving: list[Indices]) -> list[Floats]:
        """Return a table of estimated gains for each support.

        In row a place `leaving[t][a]` leaves, in the last row none. In column j feature j joins, in the last one none.
        """
        if self.orthogonal:
            return Orthonormal(self.S, state.supports).gains(state.vectors, leaving)
        return [self._gains_of_one(state, t, leave) for t, leave in enumerate(leaving)]

    def _gains_of_one(self, state: _State, t: int, leave: Indices) -> Floats:
        T, rows = state.supports[t], len(leave) + 1
        columns, z = self.S.columns(T), state.vectors[T, self.of(t)]
        p, block = z.shape[1], 0.5 * (columns[T] + columns[T].T)
        stay = np.ones((rows, len(T)))
        stay[np.arange(len(leave)), leave] = 0.0
        # A feature that leaves gets an eigenvalue below all others, and its own vector.
        apart = block * stay[:, :, None] * stay[:, None, :]
        apart[:, np.arange(len(T)), np.arange(len(T))] -= (1.0 - stay) * (2.0 * np.linalg.norm(block) + SMALLEST_NORMAL)
        D, Z = eigh(apart)
        D, Z = D[:, : -p - 1 : -1], Z[:, :, : -p - 1 : -1] * stay[:, :, None]
        if self.problem.nonnegative and len(T) > 1:
            for a, place in enumerate(leave):
                D[a], Z[a, stay[a] > 0] = self._alone(np.delete(T, place))
            D[-1], Z[-1] = self._alone(T)
        g = (columns @ Z).transpose(2, 0, 1).reshape(p, -1)
        if self.problem.nonnegative:
            g = np.maximum(g, 0.0)
        variances, known = np.tile(self.S.diagonal, rows), np.repeat(D.T, self.n, axis=1)
        # Minus the smallest eigenvalue is the largest one of the matrix with all signs changed.
        joined = (known.sum(axis=0) + variances + added(-known, g, -variances)).reshape(rows, self.n)
        joined[:, T] = -np.inf
        value = float(np.einsum("ip,ij,jp->", z, block, z))
        return np.hstack([joined, D.sum(axis=1, keepdims=True)]) - value

    def run(self, starts: Sequence[Floats]) -> None:
        """Search from these starts, from others, and from random changes of the best components."""
        self.offer(self.simple())
        problem, every = self.problem, len(self.problem.forced)
        if self.orthogonal and min(self.sizes) > every and self.room >= (every + 1) * self.count:
            # Disjoint supports without features forced in are the simpler question, and a good start.
            sizes = tuple(size - every for size in problem.cardinalities)
            total = None if problem.total is None else problem.total - every * self.count
            simpler = replace(problem, question="disjoint", cardinalities=sizes, total=total, forced=problem.forced[:0])
            disjoint = _Search(simpler, self.seed)
            try:
                disjoint.run(starts)
            finally:
                if disjoint.found is not None:
                    self.offer(self.on_largest(disjoint.found.vectors))
            self.offer(self.improved(self.best))
        states: dict[bytes, _State] = {}
        for W in (*starts, *self.starts()):
            for state in (self.on_largest(W), self.on_largest(self.after_power_steps(W))):
                if state is not None:
                    self.offer(state)
                    states.setdefault(_key(state.supports), state)
        best_first = sorted(states.values(), key=lambda state: -state.value)
        for state in best_first if self.n <= MANY else best_first[:IMPROVED_IF_MANY]:
            self.offer(self.improved(state))
        failures = 0
        while failures < self.patience:
            self.tick()
            before, U = self.best, self.best.vectors
            change = self.rng.standard_normal(U.shape) / np.sqrt(np.maximum((U != 0).sum(axis=0), 1))
            state = self.on_largest(U + self.rng.uniform(*self.noise) * change)
            if state is not None:
                self.offer(self.improved(state))
            failures = 0 if self.best is not before else failures + 1

    def simple(self) -> _State | None:
        """Return components on the features of largest variance, no feature twice."""
        W = np.repeat(np.sqrt(np.maximum(self.S.diagonal, SMALLEST_NORMAL))[:, None], self.count, axis=1)
        return self.on(self.chosen(W, disjoint=True), np.zeros_like(W))

    def starts(self) -> Iterator[Floats]:
        """Yield directions to start from."""
        dense = self._more_than_leading()
        leading_ones = dense[:, : self.count]
        yield leading_ones
        yield assigned(varimax(leading_ones), self.sizes * self.count if self.common else self.sizes)
        for attempt in range(self.one_by_one):
            yield self._one_after_the_other(attempt)
        for attempt in range(self.rotations):
            among = dense[:, : self.count + attempt % 3]
            yield among @ np.linalg.qr(self.rng.standard_normal((among.shape[1], self.count)))[0]

    def _more_than_leading(self) -> Floats:
        """Return the ordinary components, and two more if there are any."""
        return largest_eigenpairs(self.S, min(self.count + 2, self.n), tolerance=ACCURACY_OF_DENSE)[1]

    def _one_after_the_other(self, attempt: int) -> Floats:
        """Return components found one after the other on features left. After the first attempt, chance has a part."""
        most = np.array(self.sizes * self.count if self.common else self.sizes)
        sizes = most
        if self.common or self.chooses_sizes:
            # Equal sizes at first, then any.
            shares = self.rng.dirichlet(np.ones(self.count)) if attempt else np.full(self.count, 1.0 / self.count)
            sizes = np.clip((shares * self.room).astype(int), 1, most)
        W, left = np.zeros((self.n, self.count)), np.arange(self.n)
        for t in self.rng.permutation(self.count).tolist() if attempt else range(self.count):
            if not len(left):
                break
            one = self._single(left, int(sizes[t]))
            columns = one.covariance.columns(np.arange(len(left)))
            supports, _ = power_supports(one, columns, max_iterations=POWER_STEPS, keep=8)
            rank = min(int(self.rng.geometric(0.4)) - 1, len(supports) - 1) if attempt else 0
            support = supports[np.argsort(-values_of(one, supports), kind="stable")[rank]]
            W[left[support], t] = leading_on(one, support)[1]
            left = np.delete(left, support)
        return W

    def _single(self, features: Indices, size: int) -> Problem:
        """Return the question about one component on some features."""
        S, problem = self.S.part(features), self.problem
        size = min(size, len(features))
        return Problem(S, size, nonnegative=problem.nonnegative, monitor=problem.monitor)

    def promising(self, starts: Sequence[Floats]) -> Indices:
        """Return features among which the best supports may be.

        They have large variance, long columns or large entries in ordinary components, or are in the starts. If there
        are none, the best supports for single components among the features left take their place.
        """
        self.tick()
        rankings = [self.S.diagonal, self.S.column_lengths(), *np.abs(self._more_than_leading()).T]
        parts = [self.problem.forced, *[np.argsort(-ranking, kind="stable")[: CORE // 8] for ranking in rankings]]
        parts += [np.flatnonzero(start.any(axis=1)) for start in starts]
        left = np.arange(self.n)
        for t in range(0 if starts else self.count):
            self.tick()
            parts.append(left[Auto().solve(self._single(left, self.sizes[t % len(self.sizes)])).support])
            left = np.setdiff1d(left, parts[-1])
        return np.asarray(np.unique(np.concatenate([*parts, *self.best.supports])))

    def result(self) -> Floats:
        """Return the best components, ordered, the largest loading of each positive."""
        self.offer(self.simple() if self.found is None else None)
        U = self.best.vectors
        variances = np.einsum("ij,ij->j", U, self.S.product(U))
        if self.common or self.problem.total is not None:
            sizes = np.zeros(self.count) if self.common else (U != 0).sum(axis=0)
            places = np.arange(self.count)
        else:
            sizes = np.array(self.sizes)
            places = np.argsort(-sizes, kind="stable")
        order = np.empty(self.count, dtype=np.intp)
        order[places] = np.lexsort((-variances, -sizes))
        U = U[:, order]
        first = (np.abs(U) >= (1 - 1e-9) * np.abs(U).max(axis=0)).argmax(axis=0)
        return np.asarray(U * np.sign(U[first, np.arange(self.count)]))


def _key(supports: list[Indices]) -> bytes:
    return b"|".join(T.tobytes() for T in supports)
