"""From the matrix of a relaxation to a support."""

import numpy as np

from laconic.core.arrays import Floats
from laconic.problem.problem import Problem
from laconic.search.support import Incumbent, values_of
from laconic.search.swaps import improve


def round_to_support(problem: Problem, factor: Floats, *, polish: bool = True) -> Incumbent:
    """Return the best support of k features that the matrix X = FF' suggests, improved by swaps if `polish`.

    The candidates are the k largest entries of each leading eigenvector of X, of its diagonal, and of S times the
    leading eigenvector, which is the first column of F.
    """
    leading = factor[:, : min(factor.shape[1], 8)]
    directions = [leading, (factor**2).sum(axis=1)[:, None], problem.covariance.product(leading[:, :1])]
    if problem.nonnegative:
        directions += [-leading]
    supports = np.unique(problem.top(np.concatenate(directions, axis=1)), axis=1).T
    best = Incumbent(problem)
    for value, support in zip(values_of(problem, supports), supports, strict=True):
        best.offer(float(value), support)
    if polish:
        improve(problem, best, max_rounds=1000)
    return best
