"""Components that hold the most variance together: many quick starts, and the best of them improved to the end.

The starts are

    the components found one after the other,
    the dense components, rotated by varimax or not: the objective does not change under rotation,
    some random rotations of the dense components, and the rotated ones with random weights on their loadings.

Alternating regressions bring each start to the numbers of nonzeros allowed, at once or step by step. A few rounds of
exchanges follow. The best ones are then improved until no component gains.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance import largest_eigenpairs
from laconic.search.span.exchanges import State, exchange, state_of
from laconic.search.span.question import SpanQuestion, basis_of_span
from laconic.search.span.regressions import alternate
from laconic.search.span.rotation import assigned, varimax

# Relative accuracy of the dense components that starts are made of.
ACCURACY = 1e-6
# Rounds of exchanges of each start, the relative gain of a component below which they end, and the exchanges that are
# evaluated exactly.
FIRST_ROUNDS, FIRST_WORTH, FIRST_TESTED = 3, 1e-3, 3
# A start with the supports of an earlier one is improved only if its value is higher by this share.
HIGHER = 1e-5
# The least variance of a dense component in starts, as a share of the largest.
LEAST = 1e-6
# Values that agree to this relative accuracy are equal, and the earlier start is kept.
EQUAL = 1e-10


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

    def solve(self, question: SpanQuestion, found_before: Floats) -> Floats:
        """Return the components as unit columns, never worse than those in the columns of `found_before`.

        If the search is stopped, they are the best so far.
        """
        best = state_of(question, found_before)
        states: list[State] = []
        with question.monitor.watch():
            seen: dict[bytes, float] = {}
            for start, gradually in self._starts(question, found_before):
                vectors = alternate(question, start, gradually=gradually)
                supports = np.packbits(vectors != 0).tobytes()
                state = state_of(question, vectors)
                if state.value <= seen.get(supports, -np.inf) * (1 + HIGHER):
                    continue
                seen[supports] = state.value
                states.append(state)
                exchange(question, state, rounds=FIRST_ROUNDS, worth=FIRST_WORTH, tested=FIRST_TESTED)
            states.sort(key=lambda state: -state.value)
            for state in states[: self.finished]:
                exchange(question, state)
        for state in states:
            if state.value > best.value + EQUAL * abs(best.value):
                best = state
        return best.vectors

    def _starts(self, question: SpanQuestion, found_before: Floats) -> Iterator[tuple[Floats, bool]]:
        """Yield starts, and whether their number of nonzeros falls step by step."""
        yield found_before, False
        cardinalities = question.cardinalities
        values, dense = largest_eigenpairs(question.covariance, len(cardinalities), tolerance=ACCURACY)
        # Squared loadings of these add up to variances.
        scaled = dense * _deviations(values)
        rotated, turned = varimax(scaled), varimax(dense)
        variances = np.einsum("ij,ij->j", turned, question.covariance.product(turned))
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
    return np.asarray(np.sqrt(np.maximum(variances, LEAST * np.abs(variances).max())))


def canonical(question: SpanQuestion, vectors: Floats) -> Floats:
    """Return components with the same span, in their order and form as a model returns them.

    Components with the same support are replaced by the principal components of the plane or space that they span: any
    other basis of it would do as well. Components of equal cardinality are then ordered: each is the one that adds most
    to those before it.
    """
    vectors = vectors.copy()
    supports = vectors != 0
    images = question.covariance.product(vectors)
    left = list(range(vectors.shape[1]))
    while left:
        group = [t for t in left if np.array_equal(supports[:, t], supports[:, left[0]])]
        left = [t for t in left if t not in group]
        if len(group) > 1:
            basis, image = basis_of_span(vectors[:, group], images[:, group])
            if basis.shape[1] == len(group):
                turn = np.linalg.eigh(basis.T @ image)[1][:, ::-1]
                vectors[:, group], images[:, group] = basis @ turn, image @ turn
    return np.asarray(vectors[:, _order(question.cardinalities, vectors, images)])


def _order(cardinalities: tuple[int, ...], vectors: Floats, images: Floats) -> list[int]:
    chosen: list[int] = []
    for cardinality in cardinalities:
        able = [t for t in range(len(cardinalities)) if cardinalities[t] == cardinality and t not in chosen]
        added = [_value(vectors, images, [*chosen, t]) for t in able]
        chosen.append(able[int(np.argmax(np.round(added, 12)))])
    return chosen


def _value(vectors: Floats, images: Floats, chosen: list[int]) -> float:
    basis, image = basis_of_span(vectors[:, chosen], images[:, chosen])
    return float(np.einsum("ij,ij->", basis, image))
