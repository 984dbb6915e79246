"""Search for a penalty that gives about k nonzeros."""

from collections.abc import Callable

import numpy as np

# Number of fits of a bisection. More would take too long on the large problems.
TRIES = 4


def tuned(loadings: Callable[[float], np.ndarray], k: int) -> float:
    """Bisect on a logarithmic scale for the largest alpha with at least k nonzeros. This search is not timed."""
    low, high, best = 1e-3, 1e3, 1e-3
    for _ in range(TRIES):
        middle = float(np.sqrt(low * high))
        nonzeros = np.count_nonzero(loadings(middle))
        if nonzeros >= k:
            best = low = middle
        else:
            high = middle
        if k <= nonzeros <= 1.2 * k:
            break
    return best
