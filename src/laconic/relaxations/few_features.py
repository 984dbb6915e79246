"""The l1 relaxation on few features, proved for all of them."""

from dataclasses import replace

import numpy as np

from laconic._typing import Floats, Indices
from laconic.linalg import eigenpairs_above
from laconic.monitor import Monitor
from laconic.relaxations.l1 import L1Form, L1Solution, above_largest_eigenvalue
from laconic.relaxations.splitting import Splitting, on_more_features
from laconic.screening import largest_off_diagonal
from laconic.solution import Status

# Rounds before giving up, and steps in one of them: beyond these a solve is stuck.
ROUNDS, STEPS = 10, 1000
# Each round is solved to this part of the gap that the last one left, the first to this many times the tolerance.
ACCURACY, FIRST = 0.2, 10.0
# The part of the tolerance that the last round may use up.
LAST = 0.95
# Features taken in at once: this many times those present, and the share of the eigenvectors that one must carry.
INTAKE, SHARE = 4, 1e-5
# Up to this many features kept, whole eigendecompositions are cheap.
WHOLE = 500
TINY = float(np.finfo(float).tiny)


def solve_on_few_features(
    S: Floats, form: L1Form, features: Indices, settings: Splitting, monitor: Monitor, near: L1Solution | None = None
) -> tuple[L1Solution, Indices] | None:
    """Return a solution whose X lives on few features, and these; or None if none is found.

    The relaxation is solved on the given features alone. Its U, and S cut off at the level everywhere else, is a dual
    point for all features; if the gap is closed with it, that is the solution. Otherwise the eigenvectors of S + U
    that are in the way say which features were missing, and they are taken in.

    Parameters
    ----------
    S
        A symmetric matrix.
    form
        `PenaltyForm(rho)` or `CardinalityForm(k)`.
    features
        The features to begin with, increasing.
    settings
        The solver on few features; its tolerance is that of the solution.
    monitor
        Stops the solve in time.
    near
        Primal and dual points of all features, to begin with.
    """
    reach = largest_off_diagonal(S)
    start = None if near is None else _on_few_features(S, near, features)
    accuracy, steps = min(FIRST * settings.tolerance, ACCURACY), 0
    for _ in range(ROUNDS):
        few = S[np.ix_(features, features)]
        inside = replace(settings, tolerance=accuracy, max_iterations=min(settings.max_iterations, STEPS))
        found = inside.solve(few, form, start=start, monitor=monitor)
        steps += found.iterations
        keep = np.union1d(features, np.flatnonzero(reach > found.level))
        if found.status is not Status.OPTIMAL or len(keep) > WHOLE:
            return None
        places = np.searchsorted(keep, features)
        all_kept = S[np.ix_(keep, keep)]
        U = -np.clip(all_kept, -found.level, found.level)
        U[np.ix_(places, places)] = found.dual_matrix(few)
        np.fill_diagonal(U, 0.0)
        kept = np.isin(np.arange(len(S)), keep)
        outside = float(S.diagonal().max(where=~kept, initial=-np.inf))
        largest = max(above_largest_eigenvalue(all_kept + U), outside)
        factor = np.zeros((len(S), found.factor.shape[1]))
        factor[features] = found.factor
        solution = replace(
            found,
            factor=factor,
            dual=max(form.dual(largest, found.level), found.primal),
            keep=keep,
            multiplier=U,
            iterations=steps,
            state=None,
        )
        if solution.gap <= settings.tolerance:
            return solution, features
        missing = _in_the_way(all_kept + U, found.dual - form.dual(0.0, found.level), places)
        last = LAST * settings.tolerance
        if not len(missing) and accuracy <= last:
            return None
        accuracy = max(min(accuracy, ACCURACY * solution.gap), last) if len(missing) else last
        before, features = features, np.union1d(features, keep[missing])
        start = on_more_features(found, np.searchsorted(features, before), len(features))
    return None


def _on_few_features(S: Floats, solution: L1Solution, features: Indices) -> L1Solution:
    """Return primal and dual points restricted to some features, as a start for them."""
    U = solution.dual_matrix(S)[np.ix_(features, features)]
    return replace(solution, factor=solution.factor[features], keep=np.arange(len(features)), multiplier=U, state=None)


def _in_the_way(M: Floats, largest: float, places: Indices) -> Indices:
    """Return the features not at `places` that carry the eigenvectors of M beyond an eigenvalue."""
    values, vectors = eigenpairs_above(M, largest)
    excess = values - largest
    weights = vectors**2 @ (excess / max(float(excess.sum()), TINY))
    weights[places] = 0.0
    order = np.argsort(-weights, kind="stable")[: INTAKE * len(places)]
    return np.asarray(order[weights[order] > SHARE])
