"""Anderson acceleration of a fixed-point iteration.

`laconic.relaxations.rows.kernels` has the same method in compiled code, and reads the constants here.
"""

from typing import TypeAlias

import numpy as np

from laconic.core.arrays import Floats

# Moves that are remembered. More cost memory and make the small least-squares problem ill-posed.
MEMORY = 5
# Extrapolation begins once this many moves are known and the residual is below this number. Earlier it does harm.
FIRST, BEGIN_BELOW = 3, 0.5
# The memory is dropped if the residual grows by more than this factor in one step: the old moves mislead.
GROWTH = 2.0
# A correction this many times longer than the plain move comes from rounding errors, and is left out.
FARTHEST = 1e8
# The ridge of the least-squares problem, in units of the trace of its matrix. It keeps the problem well-posed.
RIDGE = 1e-8
# After this many steps without a smaller residual, plain steps are taken for as many.
PATIENCE = 25

Counts: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Memory: TypeAlias = tuple[Floats, Floats, Floats, Floats, Counts, Floats]


def empty_memory(size: int) -> Memory:
    """Return the memory of an iteration on vectors of this size that has not begun.

    It holds six arrays: the last u and g; the rows of dU; the rows of dG; the inner products of the rows of dG; three
    counts (moves known, steps without a smaller residual, and 1 once the last u is known); and two residuals (the
    smallest and the last). The oldest row is overwritten first.
    """
    return (
        np.zeros((2, size)),
        np.zeros((MEMORY, size)),
        np.zeros((MEMORY, size)),
        np.zeros((MEMORY, MEMORY)),
        np.zeros(3, np.int64),
        np.array([np.inf, np.inf]),
    )


def next_point(
    u: Floats, g: Floats, last: Floats, moves: Floats, changes: Floats, gram: Floats, counts: Counts, residuals: Floats
) -> Floats:
    """Return the next point of the iteration u -> u + g(u), extrapolated from its last moves.

    This is Anderson's method of type II. With the differences of the last m steps as rows,

        dG = changes of g,    dU = changes of u + g,    w = argmin |g - w dG|^2 + ridge |w|^2,

    the next point is u + g - w dU. The plain iteration is known to converge; the extrapolated one is not. Extrapolation
    therefore pauses whenever the residual |g| stops falling. All other arguments are the memory (`empty_memory`), which
    is updated.
    """
    size = np.sqrt(np.dot(g, g))
    if counts[2] == 1:
        if size > GROWTH * residuals[1]:
            counts[0] = 0
        else:
            place = counts[0] % MEMORY
            counts[0] += 1
            known = min(counts[0], MEMORY)
            changes[place] = g - last[1]
            moves[place] = u - last[0] + changes[place]
            gram[place, :known] = changes[:known] @ changes[place]
            gram[:known, place] = gram[place, :known]
    last[0], last[1] = u, g
    counts[2] = 1
    counts[1] = 0 if size < residuals[0] else counts[1] + 1
    residuals[0], residuals[1] = min(residuals[0], size), size
    point = u + g
    if counts[1] > PATIENCE:
        if counts[1] > 2 * PATIENCE:
            counts[1] = 0
        return point
    m = min(counts[0], MEMORY)
    if m < FIRST or size >= BEGIN_BELOW:
        return point
    ridge = RIDGE * np.trace(gram[:m, :m])
    if not ridge > 0:
        return point
    weights = np.linalg.solve(gram[:m, :m] + ridge * np.eye(m), changes[:m] @ g)
    correction = weights @ moves[:m]
    if np.sqrt(np.dot(correction, correction)) <= FARTHEST * size:
        point -= correction
    return point


class Anderson:
    """An iteration with its own memory, for arrays of any shape. See `next_point` for the method."""

    def __init__(self) -> None:
        self._memory: Memory | None = None

    def restart(self) -> None:
        """Forget all moves, because the map g has changed."""
        self._memory = None

    def next(self, u: Floats, g: Floats) -> Floats:
        """Return the next point. The plain iteration moves from u to u + g."""
        if self._memory is None or self._memory[0].shape[1] != u.size:
            self._memory = empty_memory(u.size)
        return next_point(u.ravel(), g.ravel(), *self._memory).reshape(u.shape)
