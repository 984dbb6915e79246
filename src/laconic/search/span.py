"""The variance that several components hold together.

A `Problem` has S, the features that every support must contain, and the clock. The numbers of nonzeros that are
allowed, one for each component, are given beside it. Let u_1, ..., u_r be components, with at most k_1, ..., k_r
nonzeros, and P the orthogonal projection on their span. The data projected on the span have the variance

    Tr(PS) = Tr( (U'U)^{-1} U'SU ),    U = (u_1, ..., u_r).

The components need not be orthogonal, and their supports may overlap. Replacing S by S + d I adds d r for components
that are independent, so that the best components stay the same.

Components that hold the most variance together: many quick starts, and the best of them improved to the end.
The starts are

    the components found one after the other, and better ones that are disjoint or orthogonal,
    the ordinary components, rotated by varimax or not: the objective does not change under rotation,
    some random rotations of the ordinary components, and the rotated ones with random weights on their loadings.

Alternating regressions bring each start to the numbers of nonzeros allowed, at once or step by step. A few rounds of
exchanges follow. The best ones are then improved until no component gains.

Alternating regressions: the rows are fitted by scores times components, and each side is solved for in turn.
With X the centred rows, S = X'X up to a factor, the variance outside the span of v_1, ..., v_r is the least value of

    | X - Z V' |^2    over scores Z (one column for each component),    V = (v_1, ..., v_r).

For fixed V the best scores are Z = XV (V'V)^{-1}. For fixed Z and fixed other components, the best v_t without a limit
on its nonzeros is w = (X - sum_{s != t} z_s v_s')' z_t / |z_t|^2, and the objective grows by |z_t|^2 times the squared
distance from w. So the best v_t with k_t nonzeros has the k_t largest entries of w: no support is better. The variance
that the components hold together never falls. Scores are never computed: X'Z = SV (V'V)^{-1} is enough, one product
with S for each round.

scikit-learn's SparsePCA solves the same regressions with an l1 penalty in place of the number of nonzeros.

Exchanges of features, one component at a time, while the components hold more together.
Let Q be an orthonormal basis of the span of the other components, and A = I - QQ'. The component u adds

    u'ASAu / u'Au

to the variance that the others hold. On a support T the most that it can add is the largest eigenvalue of the pencil
(M_TT, A_TT), M = ASA. If feature i leaves and feature j joins, it is at least that on the plane of z without i and e_j,
which is the larger root of a quadratic equation. The exchanges that are best by this number are evaluated exactly. An
exchange is made only if the value grows, so the value never falls.

Directions of T that lie nearly in the span of the others (`APART`) are left out: they are the eigenvectors of A_TT with
the smallest eigenvalues.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices, Mask
from laconic.core.eigenvalues import eigh
from laconic.covariance import Covariance, largest_eigenpairs
from laconic.search.problem import Problem
from laconic.search.support import MOST_IN_BLOCK
from laconic.search.swaps import EXCHANGES_IF_LARGE, LARGE, TESTED

# Components count as independent of each other if the squared part of each unit vector outside the span of the others
# is at least this. Components that nearly coincide would hold more in the limit, and nobody could tell them apart.
APART = 0.01
# Directions in which the Gram matrix of unit components has an eigenvalue below this are rounding.
DEPENDENT_DIRECTION = 1e-6


def basis_of_span(components: Floats, images: Floats) -> tuple[Floats, Floats]:
    """Return Q and SQ, the columns of Q an orthonormal basis of the span of unit vectors U, given `images` = SU.

    Directions of the span in which the components hardly differ (`DEPENDENT_DIRECTION`) are left out.
    """
    values, vectors = np.linalg.eigh(components.T @ components)
    usable = values > DEPENDENT_DIRECTION
    change = vectors[:, usable] / np.sqrt(values[usable])
    return components @ change, images @ change


def variance_of_span(components: Floats, images: Floats) -> float:
    """Return Tr(PS) for unit vectors in the columns of U, given `images` = SU."""
    basis, image = basis_of_span(components, images)
    return float(np.einsum("ij,ij->", basis, image))


# The number of features falls from all to k_t by this factor at a time. Entries that are small at first may so grow
# before they are dropped.
SHRINK = 0.5
# Rounds at each number of features on the way, and at most at the last.
ROUNDS_ON_THE_WAY, ROUNDS_AT_THE_END = 2, 40


def alternate(problem: Problem, cardinalities: tuple[int, ...], start: Floats, *, gradually: bool) -> Floats:
    """Return components, one in each column, from those in `start`, which may have more nonzeros than allowed.

    With `gradually` the number of nonzeros falls from that of all features to the one allowed, step by step.
    """
    V: Floats = start / np.linalg.norm(start, axis=0)
    allowed = np.array(cardinalities)
    sizes = np.full(len(allowed), problem.n_features) if gradually else allowed
    while gradually and (sizes > allowed).any():
        sizes = np.maximum((sizes * SHRINK).astype(int), allowed)
        for _ in range(ROUNDS_ON_THE_WAY):
            V = _round(problem, V, sizes)
    before = V != 0
    for _ in range(ROUNDS_AT_THE_END):
        V = _round(problem, V, allowed)
        now = V != 0
        if np.array_equal(now, before):
            break
        before = now
    return V


def _round(problem: Problem, V: Floats, sizes: Indices) -> Floats:
    """Solve for the scores, then for each component in turn."""
    problem.monitor.tick("alternating regressions")
    S = problem.covariance
    images = S.product(V)
    shift = 0.0 if S.semidefinite else S.semidefinite_shift
    if shift and np.isfinite(shift):
        images = images + shift * V
    values, vectors = np.linalg.eigh(V.T @ V)
    inverse = (vectors / np.where(values > DEPENDENT_DIRECTION, values, np.inf)) @ vectors.T
    with_scores = images @ inverse  # X'Z
    among = inverse @ (V.T @ with_scores)  # Z'Z
    V = V.copy()
    for t in range(V.shape[1]):
        before, of_size = V[:, t].copy(), problem.with_cardinality(int(sizes[t]))
        best = before
        if among[t, t] > 0:
            best = before + (with_scores[:, t] - V @ among[:, t]) / among[t, t]
        chosen = of_size.top(best[:, None])[:, 0]
        if not best[chosen].any():
            best, chosen = before, of_size.top(before[:, None])[:, 0]
        # Scores of zero tell nothing about a component. Even so it keeps no more features than allowed.
        V[:, t] = 0.0
        V[chosen, t] = best[chosen]
    lengths = np.linalg.norm(V, axis=0)
    return np.asarray(V / np.where(lengths > 0, lengths, 1.0))


# Steps of varimax at most, and the relative change at which it ends.
VARIMAX_STEPS, VARIMAX_TOLERANCE = 100, 1e-6


def varimax(loadings: Floats) -> Floats:
    """Return the columns rotated so that the sum of the variances of their squared entries is a local maximum.

    Kaiser (1958), by steps of the singular value decomposition: with L the rotated loadings, the gradient is
    L^3 - L diag(mean of L^2), and the next rotation is the orthogonal factor of the loadings times it.
    """
    n, r = loadings.shape
    rotation, before = np.eye(r), 0.0
    for _ in range(VARIMAX_STEPS):
        rotated = loadings @ rotation
        gradient = loadings.T @ (rotated**3 - rotated * ((rotated**2).sum(axis=0) / n))
        left, values, right = np.linalg.svd(gradient)
        rotation = left @ right
        if values.sum() <= before * (1 + VARIMAX_TOLERANCE):
            break
        before = float(values.sum())
    return np.asarray(loadings @ rotation)


def assigned(loadings: Floats, cardinalities: tuple[int, ...]) -> Floats:
    """Return the columns in the order that fits the cardinalities best.

    With k features a column keeps its k largest squares. The sum that all columns keep is the largest possible.
    """
    if len(set(cardinalities)) == 1:
        return loadings
    squares = -np.sort(-(loadings**2), axis=0)
    kept = np.cumsum(squares, axis=0)[np.array(cardinalities) - 1].T  # column, cardinality
    chosen, place = linear_sum_assignment(-kept)
    return np.asarray(loadings[:, chosen[np.argsort(place)]])


# An exchange must raise the value by this share of it. That is far above rounding.
GAIN = 1e-8
# A gain of a component below this share of the value is not worth another round: loadings converge step by step.
WORTH = 1e-6
# Squared lengths below this are rounding.
NO_LENGTH = 1e-30
# Rounds over all components at most.
ROUNDS_OF_EXCHANGES = 50


@dataclass(eq=False)
class State:
    """Components in the columns of `vectors`, unit vectors, their images SU, and the variance they hold together."""

    vectors: Floats
    images: Floats
    value: float


def state_of(covariance: Covariance, vectors: Floats) -> State:
    """Return the state with these components."""
    images = covariance.product(vectors)
    return State(vectors, images, variance_of_span(vectors, images))


def exchange(
    problem: Problem,
    cardinalities: tuple[int, ...],
    state: State,
    *,
    rounds: int = ROUNDS_OF_EXCHANGES,
    worth: float = WORTH,
    tested: int = TESTED,
) -> None:
    """Improve a state until no component gains more than `worth`, or for some rounds over all components.

    `tested` is the number of exchanges that are evaluated exactly if no estimate promises a gain.
    """
    r = state.vectors.shape[1]
    since, done = 0, 0
    while since < r and done < rounds * r:
        problem.monitor.tick("components together", best=state.value)
        before, place = state.value, done % r
        _improve(problem.with_cardinality(cardinalities[place]), state, place, tested)
        since = 0 if state.value > before + worth * abs(before) else since + 1
        done += 1


class _Others:
    """The span of the other components: Q, SQ, and what follows for M = ASA and A = I - QQ'."""

    def __init__(self, covariance: Covariance, state: State, place: int) -> None:
        keep = np.arange(state.vectors.shape[1]) != place
        self.basis, images = basis_of_span(state.vectors[:, keep], state.images[:, keep])
        middle = self.basis.T @ images
        # M = S - R Q' - Q R' with R = SQ - Q (Q'SQ) / 2
        self.rest = images - 0.5 * self.basis @ middle
        self.value = float(middle.trace())
        self.variances = covariance.diagonal - 2 * np.einsum("ij,ij->i", self.rest, self.basis)
        self.lengths = 1.0 - np.einsum("ij,ij->i", self.basis, self.basis)

    def columns(self, S_columns: Floats, support: Indices) -> tuple[Floats, Floats]:
        """Return M[:, T] and A[:, T]."""
        own = self.basis[support]
        M = S_columns - self.rest @ own.T - self.basis @ self.rest[support].T
        A = -self.basis @ own.T
        A[support, np.arange(len(support))] += 1.0
        return M, A


def _improve(problem: Problem, state: State, place: int, tested: int) -> None:
    """Improve the loadings and the support of one component."""
    S = problem.covariance
    others = _Others(S, state, place)
    support = np.flatnonzero(state.vectors[:, place])
    # The columns of S of a very large support would take too much memory and time.
    if len(support) > MOST_IN_BLOCK or not len(support):
        return
    S_columns = S.columns(support)
    added, z = _on_support(others, S_columns, support)
    if len(support) < problem.cardinality:
        support, S_columns = _filled(problem, others, support, S_columns, z)
        added, z = _on_support(others, S_columns, support)
    movable = ~np.isin(support, problem.forced)
    large = problem.cardinality > LARGE
    for _ in range(EXCHANGES_IF_LARGE if large else 4 * problem.cardinality):
        problem.monitor.tick()
        found = _best_exchange(others, support, S_columns, z, movable, added, 0 if large else tested)
        if found is None:
            break
        gone, join, added, z = found
        support[gone] = join
        S_columns[:, gone] = S.columns(np.array([join]))[:, 0]
    if others.value + added <= state.value:
        return
    state.vectors[:, place] = 0.0
    state.vectors[support, place] = z
    state.images[:, place] = S_columns @ z
    state.value = others.value + added


def _on_support(others: _Others, S_columns: Floats, support: Indices) -> tuple[float, Floats]:
    """Return the most that a component on a support adds, and its loadings."""
    M = others.columns(S_columns, support)[0][support]
    values, vectors = _most_added(M[None], others.basis[support][None])
    return float(values[0]), vectors[0]


def _most_added(M: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """Return the largest eigenvalue of the pencil (M, I - QQ') and its unit vector, for each pencil of a stack.

    With Q'Q = W diag(s) W', the root of I - QQ' is the identity except on the columns of Y = QW diag(s)^(-1/2), where
    it is (1 - s)^(1/2). Directions in the span of the others, 1 - s < `APART`, are left out. If there are no other
    directions, nothing can be added.
    """
    squares, turn = eigh(np.swapaxes(Q, 1, 2) @ Q)
    squares = np.clip(squares, NO_LENGTH, 1.0)
    usable = 1.0 - squares >= APART
    root = np.sqrt(np.where(usable, 1.0 - squares, 1.0))
    # The inverse root is I + Y diag(f) Y'. For small s the quotient f/s is about 1/2.
    factor = np.where(usable, 1.0 / (root * (1.0 + root)), -1.0 / squares)
    Y = Q @ turn
    whitening = (Y * factor[:, None, :]) @ np.swapaxes(Y, 1, 2)
    k = M.shape[1]
    whitening[:, np.arange(k), np.arange(k)] += 1.0
    inner = whitening @ M @ whitening
    if not usable.all():
        # The directions left out get a value below all others, which are at least -|M| / APART if M is indefinite.
        below = np.where(usable, 0.0, (1.0 + 2 * np.abs(M).sum() / APART) / squares)
        inner -= (Y * below[:, None, :]) @ np.swapaxes(Y, 1, 2)
    values, vectors = eigh(0.5 * (inner + np.swapaxes(inner, 1, 2)))
    z = (whitening @ vectors[:, :, -1:])[:, :, 0]
    reached = np.where((~usable).sum(axis=1) < k, values[:, -1], -np.inf)
    return reached, z / np.maximum(np.linalg.norm(z, axis=1), SMALLEST_NORMAL)[:, None]


def _larger_root(v: Floats, a: Floats, m: Floats, b: Floats, variances: Floats, lengths: Floats) -> Floats:
    """Return the largest eigenvalue of the pencil ([[v, m], [m, M_jj]], [[a, b], [b, A_jj]]).

    It is minus infinity if the plane is nearly in the span of the others.
    """
    square = a * lengths - b * b
    usable = (square > APART * a) & (a > 0)
    square = np.where(usable, square, 1.0)
    half = 0.5 * (v * lengths + a * variances - 2 * m * b)
    root = np.sqrt(np.maximum(half * half - square * (v * variances - m * m), 0.0))
    return np.where(usable, (half + root) / square, -np.inf)


def _best_exchange(
    others: _Others, support: Indices, S_columns: Floats, z: Floats, movable: Mask, added: float, tested: int
) -> tuple[int, int, float, Floats] | None:
    """Return the place that leaves, the feature that joins, what is added then, and the loadings; None if no gain."""
    n, k = S_columns.shape
    leave = np.flatnonzero(movable)
    if k == n or not len(leave):
        return None
    M, A = others.columns(S_columns, support)
    M_z, A_z = M @ z, A @ z
    out = z[leave]
    v = z @ M_z[support] - 2 * out * M_z[support[leave]] + out**2 * others.variances[support[leave]]
    a = z @ A_z[support] - 2 * out * A_z[support[leave]] + out**2 * others.lengths[support[leave]]
    if k == 1:
        reached = np.repeat((others.variances / np.maximum(others.lengths, APART))[:, None], len(leave), axis=1)
        reached[others.lengths < APART] = -np.inf
    else:
        m = M_z[:, None] - M[:, leave] * out
        b = A_z[:, None] - A[:, leave] * out
        reached = _larger_root(v, a, m, b, others.variances[:, None], others.lengths[:, None])
    reached[support] = -np.inf
    count = min(max(tested, 1), reached.size - 1)
    best = np.argpartition(-reached.ravel(), count)[:count]
    join, gone = np.unravel_index(best[np.argsort(-reached.ravel()[best], kind="stable")], reached.shape)
    usable = reached[join, gone] > -np.inf
    join, gone = join[usable], gone[usable]
    if not len(join):
        return None
    # The first exchange is sure to help if its estimate, which is reached, is above the value.
    enough = added + GAIN * abs(added) if np.isfinite(added) else added
    sure = reached[join[0], gone[0]] > enough
    if not sure and not tested:
        return None
    for part in (slice(0, 1), slice(1, None)) if sure else (slice(0, None),):
        new, place = join[part], leave[gone[part]]
        if not len(new):
            break
        tried = np.arange(len(new))
        supports = np.repeat(support[None], len(new), axis=0)
        supports[tried, place] = new
        blocks = np.repeat(M[support][None], len(new), axis=0)
        blocks[tried, place] = blocks[tried, :, place] = M[new]
        blocks[tried, place, place] = others.variances[new]
        values, vectors = _most_added(blocks, others.basis[supports])
        best_of = int(values.argmax())
        if values[best_of] > enough:
            return int(place[best_of]), int(new[best_of]), float(values[best_of]), vectors[best_of]
    return None


def _filled(
    problem: Problem, others: _Others, support: Indices, S_columns: Floats, z: Floats
) -> tuple[Indices, Floats]:
    """Add features until the support has as many as allowed: those of the largest gradient."""
    M, A = others.columns(S_columns, support)
    M_z, A_z = M @ z, A @ z
    gradient = np.abs(M_z - (z @ M_z[support]) / max(float(z @ A_z[support]), APART) * A_z)
    gradient[support] = -1.0
    gradient[problem.forced] = np.where(gradient[problem.forced] < 0, -1.0, np.inf)
    new = np.argsort(-gradient, kind="stable")[: problem.cardinality - len(support)]
    return np.concatenate([support, new]), np.hstack([S_columns, problem.covariance.columns(new)])


# Relative accuracy of the ordinary components that starts are made of.
ACCURACY_OF_DENSE = 1e-6
# Rounds of exchanges of each start, the relative gain of a component below which they end, and the exchanges that are
# evaluated exactly.
FIRST_ROUNDS, FIRST_WORTH, FIRST_TESTED = 3, 1e-3, 3
# A start with the supports of an earlier one is improved only if its value is higher by this share.
HIGHER = 1e-5
# The least variance of an ordinary component in starts, as a share of the largest.
LEAST_DENSE_VARIANCE = 1e-6
# Values that agree to this relative accuracy are equal, and the earlier start is kept.
EQUAL_TOGETHER = 1e-10


@dataclass(frozen=True)
class Span:
    """Maximise the variance that several components hold together.

    Attributes
    ----------
    random
        The number of random rotations, and of starts with random weights, for each component but the first.
    finished
        The number of starts that are improved until nothing changes.
    seed
        The seed of the random starts.
    """

    random: int = 1
    finished: int = 2
    seed: int = 0

    name: ClassVar[str] = "span"

    def solve(self, problem: Problem, cardinalities: tuple[int, ...], *found_before: Floats) -> Floats:
        """Return components of these sizes as unit columns, never worse than those in the columns of `found_before`.

        If the search is stopped, they are the best so far.
        """
        best = max((state_of(problem.covariance, found) for found in found_before), key=lambda state: state.value)
        states: list[State] = []
        with problem.monitor.watch():
            seen: dict[bytes, float] = {}
            for start, gradually in self._starts(problem.covariance, cardinalities, found_before):
                vectors = alternate(problem, cardinalities, start, gradually=gradually)
                supports = np.packbits(vectors != 0).tobytes()
                state = state_of(problem.covariance, vectors)
                if state.value <= seen.get(supports, -np.inf) * (1 + HIGHER):
                    continue
                seen[supports] = state.value
                states.append(state)
                exchange(problem, cardinalities, state, rounds=FIRST_ROUNDS, worth=FIRST_WORTH, tested=FIRST_TESTED)
            states.sort(key=lambda state: -state.value)
            for state in states[: self.finished]:
                exchange(problem, cardinalities, state)
        for state in states:
            if state.value > best.value + EQUAL_TOGETHER * abs(best.value):
                best = state
        return best.vectors

    def _starts(
        self, covariance: Covariance, cardinalities: tuple[int, ...], found_before: Sequence[Floats]
    ) -> Iterator[tuple[Floats, bool]]:
        """Yield starts, and whether their number of nonzeros falls step by step."""
        for found in found_before:
            yield found, False
        values, dense = largest_eigenpairs(covariance, len(cardinalities), tolerance=ACCURACY_OF_DENSE)
        # Squared loadings of these add up to variances.
        scaled = dense * _deviations(values)
        rotated, turned = varimax(scaled), varimax(dense)
        variances = np.einsum("ij,ij->j", turned, covariance.product(turned))
        for loadings in (rotated, turned * _deviations(variances), scaled):
            for gradually in (True, False):
                yield assigned(loadings, cardinalities), gradually
        rng = np.random.default_rng(self.seed)
        for _ in range(self.random * (len(values) - 1)):
            rotation = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
            yield scaled @ rotation, True
            yield assigned(rotated * (1.0 + 0.5 * rng.standard_normal(rotated.shape)), cardinalities), True


def _deviations(variances: Floats) -> Floats:
    """Return the roots of variances. None is zero, even if S is indefinite and its variance is not positive."""
    return np.asarray(np.sqrt(np.maximum(variances, LEAST_DENSE_VARIANCE * np.abs(variances).max())))


def canonical(covariance: Covariance, cardinalities: tuple[int, ...], vectors: Floats) -> Floats:
    """Return components with the same span, in their order and form as a model returns them.

    Components with the same support are replaced by the principal components of the plane or space that they span: any
    other basis of it would do as well. Components of equal cardinality are then ordered: each is the one that adds most
    to those before it.
    """
    vectors = vectors.copy()
    supports = vectors != 0
    images = covariance.product(vectors)
    left = list(range(vectors.shape[1]))
    while left:
        group = [t for t in left if np.array_equal(supports[:, t], supports[:, left[0]])]
        left = [t for t in left if t not in group]
        if len(group) > 1:
            basis, image = basis_of_span(vectors[:, group], images[:, group])
            if basis.shape[1] == len(group):
                turn = np.linalg.eigh(basis.T @ image)[1][:, ::-1]
                vectors[:, group], images[:, group] = basis @ turn, image @ turn
    return np.asarray(vectors[:, _order(cardinalities, vectors, images)])


def _order(cardinalities: tuple[int, ...], vectors: Floats, images: Floats) -> list[int]:
    chosen: list[int] = []
    for cardinality in cardinalities:
        able = [t for t in range(len(cardinalities)) if cardinalities[t] == cardinality and t not in chosen]
        added = [variance_of_span(vectors[:, [*chosen, t]], images[:, [*chosen, t]]) for t in able]
        chosen.append(able[int(np.argmax(np.round(added, 12)))])
    return chosen
