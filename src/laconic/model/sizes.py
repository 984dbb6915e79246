"""How many components, and how many features in each: given, a share of variance, or chosen from the data.

If a user gives nothing, the number of features is the smallest that keeps 90 % of the dense component's variance. If
that is more than 30, the sharpest bend of variance against the number of features is taken instead, if it is sharp and
comes earlier; and if it is more than 100, in any case.

The first part is right for tall data with a strong component. In wide, noisy data the dense component is mostly noise,
and 90 % of it takes hundreds of features that carry nothing: 2085 with 100 rows of 5000 columns and a planted component
of 20 features. There the curve of variance rises steeply as long as features carry the component, and slowly after
that. A bend is sharp if the slope falls by half or more. In pure noise, and along the smooth curves of real tables
without a sparse component, no slope falls by more than 40 % (docs/choosing.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from laconic.bounds.least import with_note
from laconic.bounds.methods import get_solver
from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.monitor import Monitor, warn
from laconic.core.words import at_least
from laconic.covariance import largest_eigenpair, rank_at_least
from laconic.covariance.make import Made
from laconic.model.choosing import Choice, choice_in_fit
from laconic.model.criteria import PathValues, hull
from laconic.model.settings import forced_places, is_sequence, is_share, penalty_of
from laconic.search import Thresholding
from laconic.search.auto import FewStarts
from laconic.search.greedy import cut_off
from laconic.search.problem import Problem, Solution, Solver, Status, abilities_of
from laconic.search.support import Incumbent

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# The share may be missed by this, relative to the target: rounding errors of two eigenvalues are smaller.
ROUNDING = 1e-10
# The share of the dense component's variance to keep by default.
SHARE = 0.9
# Up to so many features, 90 % is kept whatever the curve looks like: they are easy to read.
FEW = 30
# Not more than this many features are taken by default.
MOST = 100
# The slope before a sharp bend is at least so many times the slope after it.
SHARP = 2.0


@dataclass(frozen=True, eq=False)
class Sizes:
    """The number of components and of their features."""

    count: int  # of components
    cardinalities: list[int] | None  # one for each component; None to find each by the share, or by the default rule
    share: float | None = None  # of the dense component's variance
    choice: Choice | None = None  # how the numbers were chosen from the data, if they were

    def first(self, count: int) -> "Sizes":
        """Return the sizes of the first components."""
        own = None if self.cardinalities is None else self.cardinalities[:count]
        return replace(self, count=count, cardinalities=own)


def sizes_of(model: "SparsePCA", made: Made, monitor: Monitor) -> Sizes:
    """Return how many components are wanted and of which sizes, checked against the data."""
    solver = get_solver(model.method)
    sizes = _given(model, made, solver)
    if sizes is None:
        choice = choice_in_fit(model, made, monitor)
        chosen = choice.cardinality or [choice.components[0].cardinality]
        sizes = Sizes(len(chosen), chosen, choice=choice)
    forced, ks = forced_places(model, made), sizes.cardinalities
    if ks is not None and len(forced) > min(ks):
        raise ValueError(
            f"forced_in names {len(forced)} features but cardinality={min(ks)}: force fewer or raise the cardinality."
        )
    if model.joint is not None and sizes.count > 1:
        _check_joint(model, solver, sizes, forced)
    _check_rank(made, sizes.count)
    if ks is not None and penalty_of(solver) is None:
        _check_enough(model, ks, int((~made.constant).sum()))
    return sizes


def _given(model: "SparsePCA", made: Made, solver: Solver) -> Sizes | None:
    """Return the sizes that the parameters give; None if they are to be chosen from the data."""
    k, n, penalty = model.cardinality, made.covariance.n_features, penalty_of(solver)
    if penalty is not None and k is not None:
        raise ValueError(
            f"cardinality={k!r} and a penalty of {penalty} are given; the penalty decides on the number of features: "
            "leave out cardinality=."
        )
    if isinstance(k, str) or model.n_components == "parallel":
        if is_share(k) or penalty is not None:
            given = f"cardinality={k!r}" if penalty is None else f"a penalty of {penalty}"
            raise ValueError(
                f"n_components='parallel' and {given} are given; give a number of features or of components."
            )
        return None
    count = len(k) if is_sequence(k) and model.n_components is None else int(model.n_components or 1)
    if penalty is not None:
        return Sizes(count, [n] * count)
    if k is None:
        return Sizes(count, None)
    if is_share(k):
        return Sizes(count, None, float(k))
    sizes = [int(size) for size in k] if is_sequence(k) else [int(cast("int", k))] * count
    if len(sizes) != count:
        raise ValueError(
            f"cardinality={sizes} has {len(sizes)} entries for n_components={count}; give one number, or one for each "
            "component."
        )
    for size in sizes:
        if not 1 <= size <= n:
            raise ValueError(
                f"cardinality={size} must lie between 1 and the number of features, {n}: {made.name} has {n} "
                "feature(s)."
            )
    return Sizes(count, sizes)


def _check_joint(model: "SparsePCA", solver: Solver, sizes: Sizes, forced: Indices) -> None:
    if model.joint == "disjoint":
        if len(forced):
            raise ValueError(
                f"forced_in puts a feature into each of n_components={sizes.count} components, which joint='disjoint' "
                "forbids; drop one of the two."
            )
        return
    if sizes.cardinalities is None or penalty_of(solver) is not None:
        example = "cardinality=5, or cardinality=[5, 3] for two components"
        raise ValueError(f"joint={model.joint!r} needs a number of features: {example}.")
    if model.nonnegative:
        raise ValueError(
            f"joint={model.joint!r} has no search for loadings of one sign; leave out nonnegative=True or joint=."
        )
    if abilities_of(solver).together:
        raise ValueError(
            f"method={solver.name!r} finds components together in its own way; leave out method= or joint=."
        )


def _check_rank(made: Made, count: int) -> None:
    covariance, n = made.covariance, made.covariance.n_features
    if count > n:
        raise ValueError(f"n_components={count} exceeds the number of features, {n}: {made.name} has {n} feature(s).")
    if not covariance.semidefinite:
        return  # the search says when no positive variance is left
    rank = rank_at_least(covariance.on_hand(), count)
    if rank < count:
        raise ValueError(
            f"n_components={count} exceeds the rank of the covariance, {rank}; ask for at most n_components={rank}."
        )


def _check_enough(model: "SparsePCA", sizes: Sequence[int], varying: int) -> None:
    if max(sizes) > varying:
        warn(f"cardinality={max(sizes)} but only {varying} features may be used; no component uses more.")
    if model.joint == "disjoint" and len(sizes) > 1 and sum(sizes) > varying:
        raise ValueError(
            f"joint='disjoint' needs {sum(sizes)} features for cardinality={list(sizes)} but {varying} may be used; "
            "ask for fewer."
        )


def smallest_that_keeps(problem: Problem, solver: Solver, share: float) -> tuple[Solution, float]:
    """Return the solution of the smallest cardinality found that keeps a share, and the dense component's variance.

    The search begins at the smallest cardinality at which the dense component, cut off, still keeps the share. It
    lowers the cardinality by steps that double, then by bisection. At the end the next smaller cardinality has been
    tried and is too small. A search that is stopped keeps the share too, with more features. If all features together
    do not reach the share, which happens with non-negative loadings, the best support found is returned.
    """
    dense, vector = largest_eigenpair(problem.covariance)
    if dense <= 0:
        return solver.solve(problem), dense
    target = share * dense * (1 - ROUNDING)
    n, monitor = problem.n_features, problem.monitor
    low = max(len(problem.forced), 1) - 1
    high, cut = _cut_off_where_it_keeps(problem, vector, target)
    solution = solver.solve(problem.with_cardinality(high), start=cut.support)
    if monitor.stopped is not None and solution.value < cut.value:
        solution = cut.solution(Status[monitor.stopped.name], method=Thresholding.name)
    step = 1
    while solution.value < target and high < n and monitor.stopped is None:
        low, high, step = high, min(2 * high, n), n
        solution = solver.solve(problem.with_cardinality(high), start=solution.support)
    while high - low > 1 and monitor.stopped is None:
        middle = max(high - step, (low + high) // 2)
        trial = solver.solve(problem.with_cardinality(middle), start=solution.support)
        if trial.value >= target:
            high, solution, step = middle, trial, 2 * step
        else:
            low = middle
    kept = f"this component keeps {at_least(solution.value / dense, 3)} of the dense component's variance"
    if monitor.stopped is not None:
        warn(f"The search for cardinality={share} was stopped at {len(solution.support)} features; {kept}.")
    elif solution.value < target:
        warn(f"cardinality={share} cannot be reached with these constraints; {kept}.")
    return solution, dense


def by_default(problem: Problem, solver: Solver) -> tuple[Solution, float]:
    """Return the solution of the number of features that the default rule gives, and the dense component's variance.

    The bend is looked for on a quick path (`FewStarts`), and only if more than `FEW` features seem to be needed.
    """
    dense, vector = largest_eigenpair(problem.covariance)
    least, target = max(1, len(problem.forced)), SHARE * dense * (1 - PROVED)
    last = 0 if dense <= 0 else min(_cut_off_where_it_keeps(problem, vector, target)[0], max(MOST, least))
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
    solution, dense = smallest_that_keeps(problem, solver, SHARE)
    return with_note(solution, "the number of features is the smallest that keeps 90 % of the dense variance"), dense


def _cut_off_where_it_keeps(problem: Problem, vector: Floats, target: float) -> tuple[int, Incumbent]:
    """Return the smallest cardinality at which the dense component, cut off, reaches a value, and the support there."""
    n = problem.n_features
    high = max(len(problem.forced), 1)
    low = high - 1
    cut = cut_off(problem.with_cardinality(high), vector)
    while cut.value < target and high < n:
        low, high = high, min(2 * high, n)
        cut = cut_off(problem.with_cardinality(high), vector)
    while high - low > 1:
        middle = (low + high) // 2
        trial = cut_off(problem.with_cardinality(middle), vector)
        if trial.value >= target:
            high, cut = middle, trial
        else:
            low = middle
    return high, cut
