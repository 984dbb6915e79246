"""Anderson acceleration of a fixed-point iteration."""

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


class Anderson:
    """Extrapolates the iteration u -> u + g(u) from its last few moves (Anderson's method, type II).

    With the differences of the last m steps as rows,

        dG = changes of g,    dU = changes of u + g,    w = argmin |g - w dG|^2 + ridge |w|^2,

    the next point is u + g - w dU. The plain iteration is known to converge; the extrapolated one is not. Extrapolation
    therefore pauses whenever the residual |g| stops falling.
    """

    def __init__(self) -> None:
        self._last: tuple[Floats, Floats, float] | None = None
        # Rows of dU and dG. The oldest row is overwritten first.
        self._moves = np.empty((0, 0))
        self._changes = np.empty((0, 0))
        self._gram = np.zeros((MEMORY, MEMORY))
        self._count = 0
        self._best = np.inf
        self._idle = 0

    def restart(self) -> None:
        """Forget all moves, because the map g has changed."""
        self._last = None
        self._count = 0
        self._best = np.inf
        self._idle = 0

    def next(self, u: Floats, g: Floats) -> Floats:
        """Return the next point.

        Parameters
        ----------
        u
            The present point.
        g
            Its residual: the plain iteration moves to u + g.
        """
        size = float(np.linalg.norm(g))
        self._remember(u, g, size)
        self._idle = 0 if size < self._best else self._idle + 1
        self._best = min(self._best, size)
        plain = u + g
        if self._idle > PATIENCE:
            self._idle = self._idle if self._idle <= 2 * PATIENCE else 0
            return plain
        m = min(self._count, MEMORY)
        if m < FIRST or size >= BEGIN_BELOW:
            return plain
        gram = self._gram[:m, :m].copy()
        ridge = RIDGE * float(gram.trace())
        if ridge == 0:
            return plain
        gram.flat[:: m + 1] += ridge
        weights = np.linalg.solve(gram, self._changes[:m] @ g.ravel())
        correction = (weights @ self._moves[:m]).reshape(u.shape)
        if float(np.linalg.norm(correction)) <= FARTHEST * size:
            plain -= correction
        return plain

    def _remember(self, u: Floats, g: Floats, size: float) -> None:
        if self._last is not None:
            u_last, g_last, size_last = self._last
            if size > GROWTH * size_last:
                self._count = 0
            else:
                if self._moves.shape[1] != u.size:
                    self._moves, self._changes = np.empty((MEMORY, u.size)), np.empty((MEMORY, u.size))
                place = self._count % MEMORY
                self._count += 1
                change = self._changes[place]
                np.subtract(g.ravel(), g_last.ravel(), out=change)
                np.subtract(u.ravel(), u_last.ravel(), out=self._moves[place])
                self._moves[place] += change
                m = min(self._count, MEMORY)
                self._gram[place, :m] = self._gram[:m, place] = self._changes[:m] @ change
        self._last = (u, g, size)
