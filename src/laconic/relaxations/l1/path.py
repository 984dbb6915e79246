"""The l1 relaxation for many cardinalities or penalties, each solve started from the previous solution.

The path runs from small to large k or rho. The points X and U of one solution are feasible for all later ones, too. If
they close the gap at the next k, no solve is needed. If the time is up, they are returned as they are: the bounds are
then loose, but valid.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.relaxations.l1.relaxation import CardinalityForm, L1Form, L1Solution, PenaltyForm
from laconic.relaxations.l1.splitting import Splitting
from laconic.relaxations.status import RelaxationStatus, final_status


def solve_cardinalities(
    S: Floats, cardinalities: Iterable[int], settings: Splitting | None = None, monitor: Monitor | None = None
) -> list[L1Solution]:
    """Return a solution of the cardinality form for each k, in increasing order."""
    forms = [CardinalityForm(k) for k in sorted({int(k) for k in cardinalities})]
    return _solve_in_turn(S, forms, settings or Splitting(), monitor or Monitor())


def solve_penalties(
    S: Floats, penalties: Iterable[float], settings: Splitting | None = None, monitor: Monitor | None = None
) -> list[L1Solution]:
    """Return a solution of the penalty form for each rho, in increasing order."""
    forms = [PenaltyForm(rho) for rho in sorted({float(rho) for rho in penalties})]
    return _solve_in_turn(S, forms, settings or Splitting(), monitor or Monitor())


def _solve_in_turn(S: Floats, forms: Sequence[L1Form], settings: Splitting, monitor: Monitor) -> list[L1Solution]:
    solutions: list[L1Solution] = []
    last: L1Solution | None = None
    for form in forms:
        moved = None if last is None else last.at(S, form)
        # With a penalty, the next solution is computed in any case: it may use fewer features, and users count them.
        if moved is not None and moved.gap <= settings.tolerance and isinstance(form, CardinalityForm):
            solutions.append(replace(moved, status=RelaxationStatus.CONVERGED))
        elif moved is not None and monitor.stopped is not None:
            solutions.append(replace(moved, status=final_status(monitor.stopped, moved.status)))
        else:
            found = settings.solve(S, form, start=last, monitor=monitor)
            # A solve that was stopped early may be worse than the points it started from.
            last = found if moved is None or found.gap <= moved.gap else replace(moved, status=found.status)
            solutions.append(last)
    return solutions
