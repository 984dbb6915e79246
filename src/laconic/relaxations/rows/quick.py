"""The row-level bound after a few steps: for a bound that may take no longer than a fit.

After twenty steps it is mostly one to five per cent above the value of a good support, where a thousand steps reach
half a per cent to two. See `relaxation` beside this file for the mathematics.
"""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import estimated_largest_eigenvalue_bound
from laconic.core.monitor import Monitor
from laconic.core.threads import one_thread
from laconic.proof.estimate import Estimate
from laconic.proof.witnesses.dual import DualWitness
from laconic.relaxations.rows.prices import Aside, priced_levels
from laconic.relaxations.rows.state import RowState
from laconic.relaxations.rows.steps import advance

# The number of steps, and of steps between two computations of the bound.
STEPS, LOOK_EVERY = 20, 5
# As many steps again if the bound is still this far above the known value, relative to it, and few features are kept.
FAR, FEW_KEPT = 0.05, 150
# Keep no more features than this: a step would take too long.
MOST_KEPT = 400
# If the bound is this close to the known value, relative to it, go on only while the distance halves at each look.
NEAR = 0.03


@dataclass(frozen=True, eq=False)
class _Point:
    """A dual point, in units of the largest |S_ij|."""

    estimate: float
    keep: Indices
    levels: Floats
    price: float
    m: Floats  # the level of each row kept
    top: float  # the largest eigenvalue on the features kept
    added: Indices  # the features set aside that raise the bound


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
        for step in range(0, 2 * STEPS, LOOK_EVERY):
            if step >= STEPS and (last <= FAR * known or len(state.keep) > FEW_KEPT):
                break
            monitor.tick("upper bound", bound=np.inf if best is None else best.estimate * unit)
            inner = S[np.ix_(state.keep, state.keep)]
            if not advance(state, inner, cardinality, LOOK_EVERY)[1]:
                break
            point = _point(inner, cardinality, state, aside)
            if best is None or point.estimate < best.estimate:
                best = point
            distance = best.estimate - known
            if distance <= 0 or (distance <= NEAR * known and 2 * distance > last):
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


def _point(inner: Floats, k: int, state: RowState, aside: Aside) -> _Point:
    """Return the dual point of a state."""
    L = state.multipliers()[0]
    cost, price, m = priced_levels(L, k, state.inside)
    top = estimated_largest_eigenvalue_bound(inner - 0.5 * (L + L.T))
    left = aside.left(m, price)
    largest = max(top, float(left.max(initial=-np.inf)))
    return _Point(largest + cost, state.keep, L, price, m, top, aside.features[left > top])


def _with(S: Floats, state: RowState, aside: Aside, added: Indices, m: Floats, price: float, top: float) -> RowState:
    """Return the state with more features kept, none of them known to be inside."""
    keep = np.union1d(state.keep, added)
    aside.keep(keep)
    return state.grown(S, keep, np.zeros(len(keep), dtype=bool), m, price, top)
