"""Alternating regressions: the rows are fitted by scores times components, and each side is solved for in turn.

With X the centred rows, S = X'X up to a factor, the variance outside the span of v_1, ..., v_r is the least value of

    | X - Z V' |^2    over scores Z (one column for each component),    V = (v_1, ..., v_r).

For fixed V the best scores are Z = XV (V'V)^{-1}. For fixed Z and fixed other components, the best v_t without a limit
on its nonzeros is w = (X - sum_{s != t} z_s v_s')' z_t / |z_t|^2, and the objective grows by |z_t|^2 times the squared
distance from w. So the best v_t with k_t nonzeros has the k_t largest entries of w: no support is better. The variance
that the components hold together never falls. Scores are never computed: X'Z = SV (V'V)^{-1} is enough, one product
with S for each round.

scikit-learn's SparsePCA solves the same regressions with an l1 penalty in place of the number of nonzeros.
"""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.search.span.question import DEPENDENT, SpanQuestion

# The number of features falls from all to k_t by this factor at a time. Entries that are small at first may so grow
# before they are dropped.
SHRINK = 0.5
# Rounds at each number of features on the way, and at most at the last.
ROUNDS_ON_THE_WAY, ROUNDS = 2, 40


def alternate(question: SpanQuestion, start: Floats, *, gradually: bool) -> Floats:
    """Return components, one in each column, from those in `start`, which may have more nonzeros than allowed.

    With `gradually` the number of nonzeros falls from that of all features to the one allowed, step by step.
    """
    V: Floats = start / np.linalg.norm(start, axis=0)
    allowed = np.array(question.cardinalities)
    sizes = np.full(len(allowed), question.n_features) if gradually else allowed
    while gradually and (sizes > allowed).any():
        sizes = np.maximum((sizes * SHRINK).astype(int), allowed)
        for _ in range(ROUNDS_ON_THE_WAY):
            V = _round(question, V, sizes)
    before = V != 0
    for _ in range(ROUNDS):
        V = _round(question, V, allowed)
        now = V != 0
        if np.array_equal(now, before):
            break
        before = now
    return V


def _round(question: SpanQuestion, V: Floats, sizes: Indices) -> Floats:
    """Solve for the scores, then for each component in turn."""
    question.monitor.tick("alternating regressions")
    S = question.covariance
    images = S.product(V)
    shift = 0.0 if S.semidefinite else S.semidefinite_shift
    if shift and np.isfinite(shift):
        images = images + shift * V
    values, vectors = np.linalg.eigh(V.T @ V)
    inverse = (vectors / np.where(values > DEPENDENT, values, np.inf)) @ vectors.T
    with_scores = images @ inverse  # X'Z
    among = inverse @ (V.T @ with_scores)  # Z'Z
    V = V.copy()
    for t in range(V.shape[1]):
        best = V[:, t].copy()
        if among[t, t] > 0:
            best += (with_scores[:, t] - V @ among[:, t]) / among[t, t]
        chosen = largest_entries(question, best, int(sizes[t]))
        if not best[chosen].any():
            best, chosen = V[:, t].copy(), largest_entries(question, V[:, t], int(sizes[t]))
        # Scores of zero tell nothing about a component. Even so it keeps no more features than allowed.
        V[:, t] = 0.0
        V[chosen, t] = best[chosen]
    lengths = np.linalg.norm(V, axis=0)
    return np.asarray(V / np.where(lengths > 0, lengths, 1.0))


def largest_entries(question: SpanQuestion, direction: Floats, count: int) -> Indices:
    """Return the features of the largest entries, the first of equal ones, and always those forced in."""
    size = np.abs(direction)
    if count >= len(size):
        return np.arange(len(size))
    # Entries that differ by rounding only are equal.
    size = size - np.arange(len(size)) * (1e-11 / len(size)) * size.max()
    size[question.forced] = np.inf
    return np.sort(np.argpartition(size, len(size) - count)[len(size) - count :])
