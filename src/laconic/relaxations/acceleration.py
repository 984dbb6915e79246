"""Anderson acceleration of a fixed-point iteration."""

import numpy as np

from laconic.core.arrays import Floats

MEMORY = 5
# Moves are extrapolated only once the residual is this small and so many are known, unless told otherwise; the memory
# is dropped when the residual grows by this factor.
BEGIN_BELOW, FIRST, GROWTH = 0.5, 3, 2.0
# Nothing is extrapolated this many times as far as it moves: residuals that stay the same tell nothing but rounding.
FARTHEST = 1e8
# Ridge that keeps the small least-squares problem well posed.
RIDGE = 1e-8
# After so many steps without a better residual the plain iteration takes over for as many.
PATIENCE = 25


class Anderson:
    """Extrapolates u -> u + g(u) from the last few moves (type II: least squares on the differences of residuals).

    The plain iteration is known to converge, extrapolation is not; so it pauses when the residual stops falling.

    Parameters
    ----------
    begin_below
        The residual from which on moves are extrapolated.
    first
        The number of moves from which on they are.
    """

    def __init__(self, begin_below: float = BEGIN_BELOW, first: int = FIRST) -> None:
        self._begin_below, self._first = begin_below, first
        self._last: tuple[Floats, Floats, float] | None = None
        # Rows: change of u + g from one step to the next, and change of g; filled in turn.
        self._moves = np.empty((0, 0))
        self._changes = np.empty((0, 0))
        self._gram = np.zeros((MEMORY, MEMORY))
        self._count = 0
        self._best = np.inf
        self._idle = 0

    def restart(self) -> None:
        """Forget the past, as when the map has changed."""
        self._last = None
        self._count = 0
        self._best = np.inf
        self._idle = 0

    def next(self, u: Floats, g: Floats) -> Floats:
        """Return the next point, given the present one and its residual."""
        size = float(np.linalg.norm(g))
        self._remember(u, g, size)
        self._idle = 0 if size < self._best else self._idle + 1
        self._best = min(self._best, size)
        result = u + g
        if self._idle > PATIENCE:
            self._idle = self._idle if self._idle <= 2 * PATIENCE else 0
            return result
        m = min(self._count, MEMORY)
        if m < self._first or size >= self._begin_below:
            return result
        gram = self._gram[:m, :m].copy()
        ridge = RIDGE * float(gram.trace())
        if ridge == 0:
            return result
        gram.flat[:: m + 1] += ridge
        weights = np.linalg.solve(gram, self._changes[:m] @ g.ravel())
        correction = (weights @ self._moves[:m]).reshape(u.shape)
        if float(np.linalg.norm(correction)) > FARTHEST * size:
            return result
        result -= correction
        return result

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
