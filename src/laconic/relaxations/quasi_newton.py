"""Limited-memory BFGS, upwards, one accepted point at a time."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from laconic.core.arrays import Floats

# Sufficient increase and curvature (Wolfe's conditions), and how often a step is tried.
INCREASE, CURVATURE, TRIALS = 1e-4, 0.9, 25
# Values closer than this, relatively, are alike: near the top the slope alone says where to go.
ALIKE = 1e-13


class Point(Protocol):
    """A point the objective was evaluated at."""

    @property
    def place(self) -> Floats:
        """Where it is."""
        ...

    @property
    def height(self) -> float:
        """The objective."""
        ...

    @property
    def slope(self) -> Floats:
        """The gradient, shaped as the place."""
        ...


P = TypeVar("P", bound=Point)


def ascend(evaluate: Callable[[Floats], P], start: Floats, *, first_step: float, memory: int = 20) -> Iterator[P]:
    """Yield the start and every accepted point after it, each higher than the last, until no step goes up.

    Parameters
    ----------
    evaluate
        The objective with its gradient.
    start
        The first place, an array of any shape.
    first_step
        The length of the first step.
    memory
        How many steps the model of the curvature is made of.
    """
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=memory)
    here = evaluate(start)
    yield here
    while True:
        direction = _two_loops(here.slope, pairs)
        climb = float(np.vdot(direction, here.slope))
        if not climb > 0:
            return
        t = 1.0 if pairs else first_step / float(np.linalg.norm(direction))
        there = _line_search(evaluate, here, direction, climb, t)
        if there is None:
            if not pairs:
                return
            pairs.clear()
            continue
        moved, bent = there.place - here.place, here.slope - there.slope
        product = float(np.vdot(moved, bent))
        if product > 1e-12 * float(np.linalg.norm(moved)) * float(np.linalg.norm(bent)):
            pairs.append((moved, bent, 1.0 / product))
        here = there
        yield here


def _two_loops(slope: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Return the inverse of the curvature seen so far, times the slope."""
    direction = slope.copy()
    if not pairs:
        return direction
    shares = []
    for moved, bent, inverse in reversed(pairs):
        share = inverse * float(np.vdot(moved, direction))
        direction -= share * bent
        shares.append(share)
    _, bent, inverse = pairs[-1]
    direction *= 1.0 / (inverse * float(np.vdot(bent, bent)))
    for (moved, bent, inverse), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - inverse * float(np.vdot(bent, direction))) * moved
    return direction


def _line_search(evaluate: Callable[[Floats], P], here: P, direction: Floats, climb: float, t: float) -> P | None:
    """Return a point along the direction that is higher, where the climb has eased; None if there is none."""
    low, high = 0.0, np.inf
    low_slope, high_slope = climb, -np.inf
    slack = ALIKE * abs(here.height)
    best: P | None = None
    for _ in range(TRIALS):
        there = evaluate(here.place + t * direction)
        along = float(np.vdot(direction, there.slope))
        risen = there.height >= here.height + INCREASE * t * climb
        # Approximate Wolfe: where values differ by rounding only, the slope must not have turned too far.
        level = there.height >= here.height - slack and along >= -(1 - 2 * INCREASE) * climb
        if not (risen or level):
            high, high_slope = t, along
        else:
            best = there
            if along <= CURVATURE * climb:
                return there
            low, low_slope = t, along
        if high == np.inf:
            t *= 3.0
        else:
            # The zero of the slope between both ends, kept away from them.
            share = low_slope / (low_slope - high_slope) if high_slope < 0 else 0.5
            t = low + (high - low) * min(max(share, 0.1), 0.9)
    return best
