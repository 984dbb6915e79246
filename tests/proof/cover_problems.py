"""Random questions about several components, their truth by looking at all supports, and random trees of cases."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product

import numpy as np

from laconic.covariance import DenseCovariance
from laconic.proof.witness_cover import (
    BOUNDED,
    BY_SIZES,
    EMPTY,
    CoverDecision,
    CoverPoint,
    CoverWitness,
    GroupPoint,
    as_stored,
    restricted,
    written_decision,
    written_point,
)
from laconic.proof.witness_joint import cover_case
from laconic.relaxations.cover import Cover, plain_point

MATRICES = ("semidefinite", "indefinite", "whole numbers", "twins", "diagonal", "rank one", "equal", "negative")


def random_matrix(rng, n):
    """A symmetric matrix of one of several kinds, large or small."""
    kind = MATRICES[int(rng.integers(len(MATRICES)))]
    B = rng.standard_normal((n, n))
    S = B + B.T
    if kind == "semidefinite":
        S = B @ B.T * np.outer(*[np.geomspace(1, rng.choice([1, 0.1, 0.01]), n)] * 2)
    elif kind == "whole numbers":
        S = rng.integers(-2, 3, (n, n)).astype(float)
        S = S + S.T
    elif kind == "twins":
        chosen = np.sort(rng.integers(0, max(n // 2, 1), n))
        S = (B @ B.T)[np.ix_(chosen, chosen)]
    elif kind == "diagonal":
        S = np.diag(rng.integers(-1, 4, n).astype(float))
    elif kind == "rank one":
        S = np.outer(B[0], B[0])
    elif kind == "equal":
        S = np.full((n, n), rng.choice([0.0, 1.0, -0.5])) + np.eye(n)
    elif kind == "negative":
        S = -B @ B.T
    return S * 10.0 ** rng.choice([0, 0, 0, -8, 8, -20, 20])


class Masks:
    """The largest eigenvalues of all blocks of a matrix; the bits of a number say which features a block has."""

    def __init__(self, S):
        self.S, self.n = S, len(S)
        self.bits = (np.arange(2**self.n)[:, None] >> np.arange(self.n)) & 1
        self.count = self.bits.sum(axis=1)
        self.values = np.full((2**self.n, self.n), -np.inf)
        for size in range(1, self.n + 1):
            masks = np.flatnonzero(self.count == size)
            T = np.array([np.flatnonzero(self.bits[mask]) for mask in masks])
            self.values[masks, :size] = np.linalg.eigvalsh(S[T[:, :, None], T[:, None, :]])[:, ::-1]

    def of(self, features):
        return int((1 << np.asarray(features, dtype=np.int64)).sum())

    def sum_of(self, r, positive=False):
        """The sum of the r largest eigenvalues of each block, -inf if it is too small; or of those above zero."""
        if positive:
            return np.maximum(self.values[:, :r], 0.0).sum(axis=1)
        return self.values[:, :r].sum(axis=1) if r <= self.n else np.full(len(self.values), -np.inf)


@dataclass(eq=False)
class Question:
    """A question about several components."""

    S: np.ndarray
    joint: str
    sizes: tuple
    total: int | None
    inside: np.ndarray

    @cached_property
    def masks(self):
        return Masks(self.S)

    @cached_property
    def tolerance(self):
        """The accuracy of eigenvalues that LAPACK computes."""
        return 1e-13 * len(self.S) * float(np.abs(self.S).max())

    @cached_property
    def covariance(self):
        return DenseCovariance(self.S, semidefinite=False)

    def case(self):
        return cover_case(self.covariance, self.sizes, self.joint, self.total, self.inside)

    @cached_property
    def sampled(self):
        """The supports of disjoint or orthogonal components as masks, a column for each component, and their values.

        All choices of disjoint supports, and some of orthogonal components.
        """
        n, r = len(self.S), len(self.sizes)
        if self.joint == "orthogonal":
            return self._orthogonal()
        choices = np.array(list(product(range(r + 1), repeat=n)))
        supports = np.stack([((choices == t) << np.arange(n)).sum(axis=1) for t in range(r)], axis=1)
        supports = supports[(supports > 0).all(axis=1)]
        return supports, self.masks.values[supports, 0].sum(axis=1)

    def _orthogonal(self):
        """Orthonormal components on random supports, one after the other renewed as long as that helps."""
        rng, n, r, S = np.random.default_rng(0), len(self.S), len(self.sizes), self.S
        supports, values = [], []
        for _ in range(24):
            most = [int(rng.integers(1, min(k, n) + 1)) if rng.random() < 0.3 else min(k, n) for k in self.sizes]
            if self.total is not None:
                while sum(most) > self.total:
                    t = int(rng.integers(r))
                    most[t] -= most[t] > 1
            order = rng.permutation(n)
            T = [np.sort(rng.permutation(n)[:k]) for k in most]
            if rng.random() < 0.3:
                T = [order[:k] if k <= most[0] else T[t] for t, k in enumerate(most)]
            if rng.random() < 0.5 and len(self.inside):
                T = [np.union1d(self.inside, part)[: max(k, len(self.inside))] for part, k in zip(T, most, strict=True)]
            U = np.zeros((n, r))
            held = -np.inf
            for sweep in range(5):
                good = True
                for t, part in enumerate(T):
                    others = np.delete(U[part], t, axis=1)
                    left, sizes, _ = np.linalg.svd(others, full_matrices=True)
                    free = left[:, int((sizes > 1e-10).sum()) :]
                    if not free.shape[1] or (sweep == 0 and t and not np.isfinite(others).all()):
                        good = False
                        break
                    vectors = np.linalg.eigh(free.T @ S[np.ix_(part, part)] @ free)[1]
                    U[:, t] = 0
                    U[part, t] = free @ vectors[:, -1]
                if not good:
                    break
                held = float(np.einsum("it,ij,jt->", U, S, U))
            if good and np.abs(U.T @ U - np.eye(r)).max() < 1e-12:
                supports.append([self.masks.of(part) for part in T])
                values.append(held)
        return np.array(supports, dtype=np.int64).reshape(-1, r), np.array(values)

    def truth(self):
        """The largest value of components that the question is about, or a value that some of them reach."""
        n, r, masks = len(self.S), len(self.sizes), self.masks
        inside = masks.of(self.inside)
        if self.joint in ("common", "span"):
            k = min(max(self.sizes) if self.joint == "common" else sum(self.sizes), n)
            fits = (masks.count <= k) & ((np.arange(2**n) & inside) == inside)
            return float(masks.sum_of(r, positive=self.joint == "span")[fits].max(initial=-np.inf))
        supports, values = self.sampled
        best = -np.inf
        for order in permutations(range(r)):
            T = supports[:, order]
            T = T | inside if self.joint == "orthogonal" else T
            fits = (masks.count[T] <= np.array(self.sizes)).all(axis=1)
            if self.total is not None:
                fits &= masks.count[T].sum(axis=1) <= self.total
            best = max(best, float(values[fits].max(initial=-np.inf)))
        return best

    def choices(self, case):
        """Yield the supports of components of a case, those of each group together, and their values."""
        masks = self.masks
        alive, inside = (
            [masks.of(part) for part in parts]
            for parts in zip(*[(g.alive, g.inside) for g in case.groups], strict=True)
        )
        if case.common:
            group, T = case.groups[0], np.arange(2**masks.n)
            fits = ((T & ~alive[0]) == 0) & ((T & inside[0]) == inside[0]) & (masks.count <= group.size)
            # A support that is smaller counts as one of full size.
            fits &= masks.count >= min(group.size, masks.n)
            values = masks.sum_of(group.count, positive=self.joint == "span")
            yield [T[fits]], values[fits]
            return
        supports, values = self.sampled
        of = np.repeat(np.arange(len(case.groups)), [group.count for group in case.groups])
        for order in permutations(range(len(of))):
            T = supports[:, order].copy()
            fits = np.ones(len(T), dtype=bool)
            for place, g in enumerate(of):
                T[:, place] |= inside[g] if case.overlap else 0
                fits &= (T[:, place] & ~alive[g]) == 0
                fits &= (T[:, place] & inside[g]) == inside[g]
                fits &= masks.count[T[:, place]] <= case.groups[g].size
            for g, group in enumerate(case.groups):
                fits &= masks.count[T[:, of == g]].sum(axis=1) <= group.budget
            yield [np.bitwise_or.reduce(T[fits][:, of == g], axis=1) for g in range(len(case.groups))], values[fits]

    def best_of(self, case, decision=None):
        """The largest value of components of a case, or the largest that a decision excludes and that it leaves."""
        excluded, left = -np.inf, -np.inf
        for used, values in self.choices(case):
            out = np.zeros(len(values), dtype=bool)
            if decision is not None:
                of_group, alive = used[decision.group], self.masks.of(case.groups[decision.group].alive)
                out = (of_group & self.masks.of(decision.out)) != 0
                for i in decision.into:
                    if (alive >> i) & 1:
                        out |= ((of_group >> i) & 1) == 0
            excluded = max(excluded, float(values[out].max(initial=-np.inf)))
            left = max(left, float(values[~out].max(initial=-np.inf)))
        return left if decision is None else (excluded, left)


def random_question(rng, largest=6, joint=None):
    """A question about two or three components, or about one with a common support."""
    joint = joint or str(rng.choice(["common", "disjoint", "orthogonal", "span"]))
    n = int(rng.integers(2, largest + 1))
    r = int(rng.choice([2, 2, 3])) if n > 2 else 2
    if joint == "common" and rng.random() < 0.3:
        r = 1
    same = joint == "common" or rng.random() < 0.5
    top = min(n, 4)
    sizes = (int(rng.integers(1, top + 1)),) * r if same else tuple(rng.integers(1, top + 1, r).tolist())
    total = None
    if joint in ("disjoint", "orthogonal") and rng.random() < 0.4:
        total = int(rng.integers(r, sum(sizes) + 2))
    inside = np.empty(0, dtype=np.intp)
    if joint in ("common", "orthogonal") and rng.random() < 0.3:
        inside = np.sort(rng.choice(n, int(rng.integers(1, min(*sizes, 2) + 1)) if r > 1 else 1, replace=False))
    return Question(random_matrix(rng, n), joint, sizes, total, inside)


def random_point(rng, case):
    """A dual point: that of a relaxation, changed a little, or any numbers."""
    features, size = case.alive, float(np.abs(case.S.matrix).max()) or 1.0
    way = rng.random()
    if case.empty or way < 0.3:
        groups = []
        for group in case.groups:
            n = len(group.alive)
            some = size * 10.0 ** rng.integers(-2, 1)
            T = np.triu(rng.standard_normal((n, n)) * some, 1)
            m, w, d = np.abs(rng.standard_normal((3, n))) * some * (rng.random((3, n)) < 0.8)
            a, b = rng.standard_normal((2, n)) * some
            G = rng.standard_normal((n, int(rng.integers(0, 3)))) * np.sqrt(some)
            K = rng.standard_normal((n, group.count if group.count > 1 else 0)) * np.sqrt(some)
            groups.append(GroupPoint(T + T.T, m, w, a, b, d, G, K))
        n = len(features)
        F = rng.standard_normal((n, int(rng.integers(0, 3)))) * np.sqrt(some)
        return as_stored(CoverPoint(tuple(groups), F, rng.standard_normal(n) * some))
    S = np.ascontiguousarray(case.S.matrix[np.ix_(features, features)])
    found = None
    if way < 0.9 and S.any():
        solver = Cover(most=int(rng.choice([10, 20, 60])))
        found = solver.solve(S, case)
    point = plain_point(S, case) if found is None else found.point
    noise = float(rng.choice([0, 0, 1e-3, 0.1]))

    def changed(x):
        return x * (1 + noise * rng.standard_normal(x.shape))

    parts = []
    for part in point.groups:
        new = {name: changed(value) for name, value in vars(part).items() if name != "parts"}
        new |= {"pairs": np.triu(new["pairs"], 1) + np.triu(new["pairs"], 1).T}
        new |= {name: np.abs(new[name]) for name in ("most", "weights")}
        parts.append(replace(part, **new))
    return as_stored(CoverPoint(tuple(parts), changed(point.shared), changed(point.fees)))


def random_decision(rng, case, n):
    """Any features out, and in where a group has one component or a common support."""
    g = int(rng.integers(len(case.groups)))
    share = float(np.float32(rng.choice([0.0, 0.3, 1.0, rng.random()])))
    out, into = (np.flatnonzero(rng.random(n) < p) for p in (rng.choice([0.0, 0.2, 0.5]), rng.choice([0.0, 0.3])))
    group = case.groups[g]
    if group.count > 1 and not case.common:
        into = np.intersect1d(into, np.setdiff1d(np.arange(n), np.setdiff1d(group.alive, group.inside)))
    return CoverDecision(g, share, out, into)


class Planter:
    """A random tree on a question. Each of its bounds is compared with the truth about the components it is about."""

    def __init__(self, rng, question):
        self.rng, self.question = rng, question
        self.first, self.ways = question.case()
        self.checks = 0

    def witness(self, depth=2):
        cases, numbers = self._node(self.first, depth)
        flat = np.concatenate([np.empty(0), *[np.ravel(part) for part in numbers]]).astype(np.float32)
        return CoverWitness(np.array(cases, dtype=np.intp), flat)

    def _below(self, truth, bound):
        self.checks += 1
        assert bound >= truth - self.question.tolerance, (bound, truth, self.question)

    def _node(self, case, depth):
        rng, question, n = self.rng, self.question, len(self.question.S)
        rounds, cases, numbers, count = int(rng.integers(0, 3)), [], [], 0
        is_first = case is self.first
        for _ in range(rounds):
            point = random_point(rng, case)
            written = written_point(case, point)
            decisions = [random_decision(rng, case, n) for _ in range(int(rng.integers(0, 3)))]
            count += 1
            cases += [*written[0], len(decisions)]
            numbers += written[1]
            self._below(question.best_of(case), case.bounded(point).value)
            for decision in decisions:
                part = written_decision(decision)
                cases += part[0]
                numbers += part[1]
                if not case.empty:
                    excluded, left = question.best_of(case, decision)
                    self._below(excluded, case.decided(point, decision).value)
                    after = case.after(decision)
                    point = restricted(point, case, after)
                    self._below(left, question.best_of(after))
                    case = after
        ended, below = self._end(case, depth, is_first and case is self.first)
        if ended == (BOUNDED,) and not count:
            point = random_point(rng, case)
            written = written_point(case, point)
            self._below(question.best_of(case), case.bounded(point).value)
            cases, numbers, count = [*written[0], 0], written[1], 1
        cases = [count, *cases, *ended]
        for child in below:
            part = self._node(child, depth - 1)
            cases += part[0]
            numbers += part[1]
        return cases, numbers

    def _end(self, case, depth, is_first):
        rng, question = self.rng, self.question
        if case.empty:
            assert question.best_of(case) == -np.inf
            return (EMPTY,), []
        if is_first and self.ways is not None and rng.random() < 0.7:
            return (BY_SIZES,), [case.of_sizes(sizes) for sizes in self.ways]
        spots = [(int(i), g) for g, group in enumerate(case.groups) for i in np.setdiff1d(group.alive, group.inside)]
        if depth > 0 and spots and rng.random() < 0.8:
            i, g = spots[int(rng.integers(len(spots)))]
            without, within = case.divided(g, i)
            self._below(question.best_of(case), max(question.best_of(without), question.best_of(within)))
            return (i, g), [without, within]
        return (BOUNDED,), []
