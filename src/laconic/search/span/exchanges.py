"""Exchanges of features, one component at a time, while the components hold more together.

Let Q be an orthonormal basis of the span of the other components, and A = I - QQ'. The component u adds

    u'ASAu / u'Au

to the variance that the others hold. On a support T the most that it can add is the largest eigenvalue of the pencil
(M_TT, A_TT), M = ASA. If feature i leaves and feature j joins, it is at least that on the plane of z without i and e_j,
which is the larger root of a quadratic equation. The exchanges that are best by this number are evaluated exactly. An
exchange is made only if the value grows, so the value never falls.

Directions of T that lie nearly in the span of the others (`APART`) are left out: they are the eigenvectors of A_TT with
the smallest eigenvalues.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.linalg import eigh
from laconic.search.span.question import APART, SpanQuestion, basis_of_span, variance_of_span

# Evaluate this many exchanges exactly.
TESTED = 8
# An exchange must raise the value by this share of it. That is far above rounding.
GAIN = 1e-8
# A gain of a component below this share of the value is not worth another round: loadings converge step by step.
WORTH = 1e-6
# Squared lengths below this are rounding.
NOTHING = 1e-30
# Rounds over all components at most.
ROUNDS = 50
# A component of more features than this gains little from one exchange, and each costs more: only a few are made, and
# only those whose estimate promises a gain.
LARGE, EXCHANGES_IF_LARGE = 64, 5
# Above this many features a component keeps its support: its columns of S would take too much memory and time.
MOST_EXCHANGED = 256


@dataclass(eq=False)
class State:
    """Components in the columns of `vectors`, unit vectors, their images SU, and the variance they hold together."""

    vectors: Floats
    images: Floats
    value: float

    def copy(self) -> "State":
        """Return a copy that may be changed."""
        return State(self.vectors.copy(), self.images.copy(), self.value)


def state_of(question: SpanQuestion, vectors: Floats) -> State:
    """Return the state with these components."""
    images = question.covariance.product(vectors)
    return State(vectors, images, variance_of_span(vectors, images))


def exchange(
    question: SpanQuestion, state: State, *, rounds: int = ROUNDS, worth: float = WORTH, tested: int = TESTED
) -> None:
    """Improve a state until no component gains more than `worth`, or for some rounds over all components.

    `tested` is the number of exchanges that are evaluated exactly if no estimate promises a gain.
    """
    r = state.vectors.shape[1]
    since, done = 0, 0
    place = 0
    while since < r and done < rounds * r:
        question.monitor.tick("components together", best=state.value)
        before = state.value
        _improve(question, state, place, tested)
        since = 0 if state.value > before + worth * abs(before) else since + 1
        place, done = (place + 1) % r, done + 1


class _Others:
    """The span of the other components: Q, SQ, and what follows for M = ASA and A = I - QQ'."""

    def __init__(self, question: SpanQuestion, state: State, place: int) -> None:
        keep = np.arange(state.vectors.shape[1]) != place
        self.basis, images = basis_of_span(state.vectors[:, keep], state.images[:, keep])
        middle = self.basis.T @ images
        # M = S - R Q' - Q R' with R = SQ - Q (Q'SQ) / 2
        self.rest = images - 0.5 * self.basis @ middle
        self.value = float(middle.trace())
        self.variances = question.covariance.diagonal - 2 * np.einsum("ij,ij->i", self.rest, self.basis)
        self.lengths = 1.0 - np.einsum("ij,ij->i", self.basis, self.basis)

    def columns(self, S_columns: Floats, support: Indices) -> tuple[Floats, Floats]:
        """Return M[:, T] and A[:, T]."""
        own = self.basis[support]
        M = S_columns - self.rest @ own.T - self.basis @ self.rest[support].T
        A = -self.basis @ own.T
        A[support, np.arange(len(support))] += 1.0
        return M, A


def _improve(question: SpanQuestion, state: State, place: int, tested: int) -> None:
    """Improve the loadings and the support of one component."""
    S = question.covariance
    others = _Others(question, state, place)
    support = np.flatnonzero(state.vectors[:, place])
    cardinality = question.cardinalities[place]
    if len(support) > MOST_EXCHANGED or not len(support):
        return
    S_columns = S.columns(support)
    added, z = _on_support(others, S_columns, support)
    if len(support) < cardinality:
        support, S_columns = _filled(question, others, support, S_columns, z, cardinality)
        added, z = _on_support(others, S_columns, support)
    movable = ~np.isin(support, question.forced)
    large = cardinality > LARGE
    for _ in range(EXCHANGES_IF_LARGE if large else 4 * cardinality):
        question.monitor.tick()
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
    squares = np.clip(squares, NOTHING, 1.0)
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
    return reached, z / np.maximum(np.linalg.norm(z, axis=1), np.finfo(float).tiny)[:, None]


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
    question: SpanQuestion, others: _Others, support: Indices, S_columns: Floats, z: Floats, cardinality: int
) -> tuple[Indices, Floats]:
    """Add features until the support has as many as allowed: those of the largest gradient."""
    M, A = others.columns(S_columns, support)
    M_z, A_z = M @ z, A @ z
    gradient = np.abs(M_z - (z @ M_z[support]) / max(float(z @ A_z[support]), APART) * A_z)
    gradient[support] = -1.0
    gradient[question.forced] = np.where(gradient[question.forced] < 0, -1.0, np.inf)
    new = np.argsort(-gradient, kind="stable")[: cardinality - len(support)]
    return np.concatenate([support, new]), np.hstack([S_columns, question.covariance.columns(new)])
