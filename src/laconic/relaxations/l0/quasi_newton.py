"""Maximisation by the limited-memory BFGS method, one accepted point at a time."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from laconic.core.arrays import Floats

# Constants of Wolfe's conditions (sufficient increase, curvature), in their usual sizes.
INCREASE, CURVATURE = 1e-4, 0.9
# The line search gives up after so many trials; a few are enough unless rounding dominates.
TRIALS = 25
# Relative differences of the objective below this are rounding; then the slope alone decides.
ROUNDING = 1e-13
# A step is left out of the curvature model if its curvature is below this share of the largest possible.
FLAT = 1e-12
# Number of past steps in the quasi-Newton model of the curvature.
MEMORY = 7


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at one place."""

    place: Floats
    height: float
    slope: Floats  # the gradient, an array of the same shape as the place


P = TypeVar("P", bound=Point)


def ascend(evaluate: Callable[[Floats], P], start: Floats, *, first_step: float) -> Iterator[P]:
    """Yield the start and then every accepted point, each higher than the one before, until no step goes up."""
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
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
        if product > FLAT * float(np.linalg.norm(moved)) * float(np.linalg.norm(bent)):
            pairs.append((moved, bent, 1.0 / product))
        here = there
        yield here


def _two_loops(slope: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Return the inverse of the curvature model, times the slope (the usual two-loop recursion)."""
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
    """Return a higher point along the direction that satisfies Wolfe's conditions; None if no trial is higher."""
    low, high = 0.0, np.inf
    low_slope, high_slope = climb, -np.inf
    slack = ROUNDING * abs(here.height)
    best: P | None = None
    for _ in range(TRIALS):
        there = evaluate(here.place + t * direction)
        along = float(np.vdot(direction, there.slope))
        risen = there.height >= here.height + INCREASE * t * climb
        # Approximate Wolfe conditions: where values differ by rounding only, the slope decides.
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
            # Take the zero of the slope between both ends, but not too close to either.
            share = low_slope / (low_slope - high_slope) if high_slope < 0 else 0.5
            t = low + (high - low) * min(max(share, 0.1), 0.9)
    return best
