"""The l1 relaxation on few features, proved for all of them."""

from dataclasses import replace

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import largest_off_diagonal
from laconic.core.monitor import Monitor
from laconic.problem.status import Status
from laconic.relaxations.completion import WHOLE, Completion, Pushed, completed
from laconic.relaxations.l1 import L1Form, L1Solution
from laconic.relaxations.splitting import Splitting, on_more_features

# Rounds before giving up, and steps in one of them: beyond these a solve is stuck.
ROUNDS, STEPS = 10, 1000
# The features are looked for at this many times the tolerance.
FIRST = 10.0
# The part of the tolerance that the features alone may use up, and that which all of them may.
INSIDE, ROOM = 0.7, 0.98
# Eigenvectors of X that carry less than this are left out.
NEGLIGIBLE = 1e-5


def solve_on_few_features(
    S: Floats,
    form: L1Form,
    features: Indices,
    settings: Splitting,
    monitor: Monitor,
    near: L1Solution,
    pushed: Pushed,
    most: int,
) -> tuple[L1Solution, Indices] | None:
    """Return a solution whose X lives on few features, and these; or None if none is found.

    The relaxation is solved on the given features alone, and its multiplier completed for all of them. Where that is
    not possible, the features in the way are taken in.

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
    pushed
        What neighbours know of U on all features.
    most
        With more features than this it is given up.
    """
    reach = largest_off_diagonal(S)
    start = _on_few_features(S, near, features)
    tolerance, steps = min(FIRST * settings.tolerance, 0.1), 0
    for _ in range(ROUNDS):
        few = S[np.ix_(features, features)]
        inside = replace(settings, tolerance=INSIDE * tolerance, max_iterations=min(settings.max_iterations, STEPS))
        found = inside.solve(few, form, start=start, monitor=monitor)
        steps += found.iterations
        kept = reach > found.level
        kept[features] = True
        keep = np.flatnonzero(kept)
        if found.status is not Status.OPTIMAL or len(keep) > WHOLE:
            return None
        target = found.primal + ROOM * tolerance * abs(found.primal)
        used = (found.factor**2).sum(axis=0) > NEGLIGIBLE
        completion = completed(
            S[np.ix_(keep, keep)],
            np.searchsorted(keep, features),
            found.factor[:, used],
            found.dual_matrix(few),
            found.level,
            found.largest,
            pushed.on(keep),
            target - found.dual,
        )
        if isinstance(completion, Completion):
            outside = float(S.diagonal().max(where=~kept, initial=-np.inf))
            largest = max(completion.largest, outside)
            factor = np.zeros((len(S), found.factor.shape[1]))
            factor[features] = found.factor
            solution = replace(
                found,
                factor=factor,
                dual=max(form.dual(largest, found.level), found.primal),
                keep=keep,
                multiplier=completion.U,
                iterations=steps,
                state=Pushed(keep, completion.pushed),
            )
            if solution.gap <= settings.tolerance:
                return solution, features
            if tolerance == settings.tolerance:
                return None
            tolerance, pushed, start = settings.tolerance, solution.state, found
            continue
        if not len(completion):
            return None
        before, features = features, np.union1d(features, keep[completion])
        if len(features) > most:
            return None
        start = on_more_features(few, found, np.searchsorted(features, before), len(features))
    return None


def _on_few_features(S: Floats, solution: L1Solution, features: Indices) -> L1Solution:
    """Return primal and dual points restricted to some features, as a start for them."""
    U = solution.dual_matrix(S)[np.ix_(features, features)]
    return replace(solution, factor=solution.factor[features], keep=np.arange(len(features)), multiplier=U, state=None)
