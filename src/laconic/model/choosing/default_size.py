"""The number of features of a component if the user gives neither a number nor a share of variance.

The rule: the smallest number that keeps 90 % of the dense component's variance. If that is more than 30, the sharpest
bend of variance against the number of features is taken instead, if it is sharp and comes earlier; and if it is more
than 100, in any case.

The first part is right for tall data with a strong component. In wide, noisy data the dense component is mostly noise,
and 90 % of it takes hundreds of features that carry nothing: 2085 with 100 rows of 5000 columns and a planted component
of 20 features. There the curve of variance rises steeply as long as features carry the component, and slowly after
that. A bend is sharp if the slope falls by half or more. In pure noise, and along the smooth curves of real tables
without a sparse component, no slope falls by more than 40 % (docs/how-many.md).
"""

import numpy as np

from laconic.bounds.least import with_note
from laconic.core.arrays import PROVED
from laconic.core.monitor import warn
from laconic.covariance import largest_eigenpair
from laconic.model.choosing.criteria import PathValues, hull
from laconic.model.smallest_cardinality import cut_off_where_it_keeps, smallest_cardinality
from laconic.search.auto import FewStarts
from laconic.search.problem import Problem, Solution, Solver

# The share of the dense component's variance to keep.
SHARE = 0.9
# Up to so many features, 90 % is kept whatever the curve looks like: they are easy to read.
FEW = 30
# Not more than this many features are taken by default.
MOST = 100
# The slope before a sharp bend is at least so many times the slope after it.
SHARP = 2.0


def default_size(problem: Problem, solver: Solver) -> tuple[Solution, float]:
    """Return the solution of the number of features that the rule gives, and the variance of the dense component.

    The bend is looked for on a quick path (`FewStarts`), and only if more than `FEW` features seem to be needed.
    """
    dense, vector = largest_eigenpair(problem.covariance)
    least, target = max(1, len(problem.forced)), SHARE * dense * (1 - PROVED)
    last = 0 if dense <= 0 else min(cut_off_where_it_keeps(problem, vector, target)[0], max(MOST, least))
    if last > FEW and last - least >= 2:
        path = FewStarts().path(problem.with_cardinality(last))
        values = np.array([solution.value for solution in path])
        second = float(np.partition(problem.covariance.diagonal, -2)[-2])
        sizes = np.arange(least, last + 1)
        curve = hull(PathValues(sizes, values, problem.covariance.trace, dense, second, problem.n_features, None))
        bend, enough = curve.chosen - least, values >= target
        more = bool(enough.any()) and sizes[np.argmax(enough)] > FEW
        earlier = more and bend < int(np.argmax(enough)) and curve.values[bend] >= SHARP
        if earlier or (last >= MOST and not enough.any()):
            solution = solver.solve(problem.with_cardinality(curve.chosen), start=path[bend].support)
            note = f"{curve.chosen} features are used, where the curve of variance bends most: "
            if earlier:
                note += "90 % of the dense component's variance would take more that add little"
            else:
                note += f"90 % of the dense component's variance would take more than {last}"
            if problem.monitor.stopped is not None:
                warn(f"The search for the number of features was stopped; {curve.chosen} features are used.")
            return with_note(solution, note), dense
    solution, dense = smallest_cardinality(problem, solver, SHARE)
    return with_note(solution, "the number of features is the smallest that keeps 90 % of the dense variance"), dense
